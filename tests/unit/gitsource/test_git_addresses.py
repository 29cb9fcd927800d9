"""Addresses of git templates: what is allowed is what is fetched, and credentials are refused unseen."""

from __future__ import annotations

from pathlib import Path

import pytest

from akotf.errors import ConfigError
from akotf.gitsource.address import parse_address, parse_prefix
from akotf.gitsource.allow import read_sources, require_allowed

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("reference", "url", "inner", "ref"),
    [
        ("git+https://git.example.com/org/repo//iac/tiny?ref=v1.0.0", "https://git.example.com/org/repo", ("iac", "tiny"), "v1.0.0"),
        ("git+https://GIT.example.com:8443/repo.git?ref=rel/1", "https://git.example.com:8443/repo.git", (), "rel/1"),
        ("git+ssh://git@git.example.com/org/repo//t?ref=v1", "ssh://git@git.example.com/org/repo", ("t",), "v1"),
        (f"git+file:///srv/templates//a/b?ref={COMMIT}", "file:///srv/templates", ("a", "b"), COMMIT),
    ],
)  # fmt: skip
def test_an_address_is_a_repository_a_folder_and_a_ref(
    reference: str, url: str, inner: tuple[str, ...], ref: str
) -> None:
    address = parse_address(reference)
    assert (address.place.url, address.inner, address.ref) == (url, inner, ref)
    assert parse_address(str(address)) == address
    assert address.commit == (ref if ref == COMMIT else "")


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ("git+http://h.example/o/r//p?ref=v1", "uses http, which is not allowed"),
        ("git+git://h.example/o/r//p?ref=v1", "uses git"),
        ("git+ext::sh -c touch% /tmp/x?ref=v1", "uses ext"),
        ("git+fd::17?ref=v1", "uses fd"),
        ("git+git@h.example:o/r?ref=v1", "not allowed"),
        ("git+/srv/templates//p?ref=v1", "uses no scheme"),
        ("git+https:///o/r?ref=v1", "needs a host"),
        ("git+file://h.example/o/r?ref=v1", "names a host"),
        ("git+https://h.example?ref=v1", "names no repository"),
        ("git+https://h.example/o/r//p", "needs ?ref=TAG"),
        ("git+https://h.example/o/r//p?ref=v1&depth=3", "needs ?ref=TAG"),
        ("git+https://h.example/o/r//p?ref=v1&ref=v2", "needs ?ref=TAG"),
        ("git+https://h.example/o/r//p?ref=v1#x", "needs ?ref=TAG"),
        ("git+https://h.example/o/r//p?ref=--upload-pack=x", "starts with '-'"),
        ("git+https://h.example/o/r//p?ref=", "does not take"),
        ("git+https://h.example/o/r//p?ref=a..b", "does not take"),
        ("git+https://h.example/o/r//p?ref=v1^{}", "does not take"),
        ("git+https://h.example/o/r//p?ref=HEAD:x", "does not take"),
        ("git+https://h.example/o/../r//p?ref=v1", "has a path"),
        ("git+https://h.example/o/%2e%2e/r//p?ref=v1", "has a path"),
        ("git+https://h.example/o/r//../p?ref=v1", "has a path"),
        ("git+https://h.example/o/r//a//b?ref=v1", "has a path"),
        ("git+https://h.example/-o/r//p?ref=v1", "has a path"),
        ("git+https://h.example/o\\r//p?ref=v1", "has a path"),
        ("git+ssh://-oProxyCommand=x/o/r//p?ref=v1", "has a host"),
        ("git+ssh://-x@h.example/o/r//p?ref=v1", "has a host"),
        ("git+https://h..example/o/r?ref=v1", "has a host"),
        ("git+https://h.example:0/o/r?ref=v1", "port"),
        ("git+https://h.example:99999/o/r?ref=v1", "is not a URL"),
    ],
)
def test_any_other_address_is_refused_with_what_to_write(reference: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_address(reference)
    assert words in caught.value.message
    assert caught.value.remedy


@pytest.mark.parametrize(
    "reference",
    [
        "git+https://bob:hunter2@h.example/o/r?ref=v1",
        "git+https://hunter2@h.example/o/r?ref=v1",
        "git+ssh://git:hunter2@h.example/o/r?ref=v1",
        "git+https://h.example/o/r?ref=v1&token=hunter2",
    ],
)
def test_a_credential_in_an_address_is_refused_and_never_repeated(reference: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_address(reference)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("prefix", "reference", "covered"),
    [
        ("https://h.example/org", "git+https://h.example/org/repo?ref=v1", True),
        ("https://h.example/org/", "git+https://h.example/org/repo?ref=v1", True),
        ("https://h.example/org/repo", "git+https://h.example/org/repo?ref=v1", True),
        ("https://h.example", "git+https://h.example/org/repo?ref=v1", True),
        ("https://h.example:443/org", "git+https://H.example/org/repo?ref=v1", True),
        ("git+https://h.example/org", "git+https://h.example/org/repo?ref=v1", True),
        ("ssh://h.example/org", "git+ssh://git@h.example/org/repo?ref=v1", True),
        ("https://h.example/org", "git+https://h.example/organisation/repo?ref=v1", False),
        ("https://h.example/org/repo", "git+https://h.example/org/repo2?ref=v1", False),
        ("https://h.example/org/repo", "git+https://h.example/org?ref=v1", False),
        ("https://h.example", "git+https://h.example.evil.example/org?ref=v1", False),
        ("https://h.example", "git+https://sub.h.example/org?ref=v1", False),
        ("https://h.example/org", "git+ssh://h.example/org/repo?ref=v1", False),
        ("https://h.example/org", "git+https://h.example:8443/org/repo?ref=v1", False),
        ("https://h.example/org", "git+https://h.example/Org/repo?ref=v1", False),
        ("ssh://git@h.example/org", "git+ssh://eve@h.example/org/repo?ref=v1", False),
    ],
)
def test_a_prefix_covers_whole_segments_of_the_same_host(prefix: str, reference: str, covered: bool) -> None:
    assert parse_prefix(prefix).covers(parse_address(reference).place) is covered


def test_a_link_does_not_lead_out_of_an_allowed_folder(tmp_path: Path) -> None:
    (tmp_path / "good" / "repo").mkdir(parents=True)
    (tmp_path / "evil" / "repo").mkdir(parents=True)
    (tmp_path / "good" / "way-out").symlink_to(tmp_path / "evil")
    allowed = parse_prefix(f"file://{tmp_path}/good")
    assert allowed.covers(parse_address(f"git+file://{tmp_path}/good/repo?ref=v1").place)
    assert not allowed.covers(parse_address(f"git+file://{tmp_path}/good/way-out/repo?ref=v1").place)


def test_without_an_entry_nothing_is_allowed(tmp_path: Path) -> None:
    address = parse_address("git+https://h.example/org/repo//t?ref=v1")
    for text, words in (
        (None, "version: 1 and allow: [https://h.example/org/repo]"),
        ("version: 1\nallow: []\n", "allow: [https://h.example/org/repo]"),
        ("version: 1\nallow: [https://h.example/other]\n", "allow: [https://h.example/org/repo]"),
    ):
        if text is not None:
            (tmp_path / "sources.yaml").write_text(text)
        with pytest.raises(ConfigError, match="may not be fetched") as caught:
            require_allowed(address, [tmp_path])
        assert "sources.yaml" in caught.value.remedy
        assert words in caught.value.remedy
    (tmp_path / "sources.yaml").write_text("version: 1\nallow: [https://h.example/org]\n")
    require_allowed(address, [tmp_path])


def test_the_projects_own_list_counts_not_a_later_one(tmp_path: Path) -> None:
    for name, prefix in (("own", "https://h.example/mine"), ("packaged", "https://h.example/org")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "sources.yaml").write_text(f"version: 1\nallow: [{prefix}]\n")
    address = parse_address("git+https://h.example/org/repo//t?ref=v1")
    with pytest.raises(ConfigError, match="may not be fetched"):
        require_allowed(address, [tmp_path / "own", tmp_path / "packaged"])


def test_the_list_is_read_strictly(tmp_path: Path) -> None:
    path = tmp_path / "sources.yaml"
    path.write_text(
        "version: 1\nallow:\n  - https://h.example/org\n  - http://h.example\n  - https://u:p@h.example\n"
    )
    with pytest.raises(ConfigError) as caught:
        read_sources(path)
    assert [(f.rule, f.position.line) for f in caught.value.findings] == [
        ("config/source", 4),
        ("config/source", 5),
    ]
    path.write_text("version: 1\nallow: []\nalow: []\n")
    with pytest.raises(ConfigError) as caught:
        read_sources(path)
    assert [f.rule for f in caught.value.findings] == ["config/unknown-key"]
    path.write_text("version: 2\nallow: []\n")
    with pytest.raises(ConfigError):
        read_sources(path)


@pytest.mark.parametrize("kind", ["folder", "broken link"])
def test_what_stands_in_the_place_of_sources_hands_over_to_no_other(tmp_path: Path, kind: str) -> None:
    own, packaged = tmp_path / "own", tmp_path / "packaged"
    own.mkdir()
    packaged.mkdir()
    (packaged / "sources.yaml").write_text("version: 1\nallow: [https://h.example/org]\n")
    path = own / "sources.yaml"
    path.mkdir() if kind == "folder" else path.symlink_to("nowhere")
    address = parse_address("git+https://h.example/org/repo?ref=v1")
    with pytest.raises(ConfigError, match=r"sources\.yaml is not a file"):
        require_allowed(address, [own, packaged])
