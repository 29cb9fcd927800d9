"""Templates: found, published once and for ever, pinned by digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from akotf.errors import ConfigError, IntegrityError
from akotf.load import publishing, template
from akotf.load.catalogue import content_digest
from akotf.model.finding import Severity


@pytest.fixture
def modules(tmp_path: Path) -> Path:
    folder = tmp_path / "modules" / "pool"
    (folder / ".terraform").mkdir(parents=True)
    (folder / "main.tf").write_text("# pool\n")
    (folder / ".terraform" / "junk").write_text("x")
    return tmp_path / "modules"


def tiny(catalogue: Path) -> Path:
    return catalogue / "tiny" / "1.0.0"


def test_the_content_digest_covers_paths_and_bytes(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").write_bytes(b"1")
    (tmp_path / "y").write_bytes(b"2")
    listing = {p: hashlib.sha256(d).hexdigest() for p, d in (("a/x", b"1"), ("y", b"2"))}
    canonical = json.dumps(listing, sort_keys=True, separators=(",", ":")).encode()
    assert content_digest(tmp_path) == "sha256:" + hashlib.sha256(canonical).hexdigest()
    (tmp_path / "y").rename(tmp_path / "z")
    assert content_digest(tmp_path) != "sha256:" + hashlib.sha256(canonical).hexdigest()


def test_a_link_in_a_template_is_refused(catalogue: Path) -> None:
    (tiny(catalogue) / "secret").symlink_to("/etc/passwd")
    with pytest.raises(IntegrityError, match="link"):
        template.open_template("tiny@1.0.0", [catalogue])


def test_the_first_catalogue_that_has_a_template_wins(catalogue: Path, tmp_path: Path) -> None:
    assert template.locate("tiny@1.0.0", [tmp_path / "none", catalogue]) == tiny(catalogue)
    with pytest.raises(ConfigError, match="no template tiny@2") as caught:
        template.locate("tiny@2.0.0", [catalogue])
    assert "tiny@1.0.0" in caught.value.remedy


@pytest.mark.parametrize(
    "reference", ["tiny", "tiny@1", "../x@1.0.0", "tiny@../1.0.0", "Tiny@1.0.0", "tiny@1.0.0\n", ""]
)
def test_a_reference_is_a_name_and_a_version(reference: str, catalogue: Path) -> None:
    with pytest.raises(ConfigError, match="not a template reference"):
        template.open_template(reference, [catalogue])


def test_publishing_vendors_the_modules_and_fixes_the_digest(catalogue: Path, modules: Path) -> None:
    content = publishing.publish(tiny(catalogue), modules, catalogue)
    vendored = tiny(catalogue) / "modules" / "pool"
    assert sorted(p.name for p in vendored.iterdir()) == ["main.tf"]
    assert content == content_digest(tiny(catalogue))
    assert json.loads((catalogue / "index.lock").read_text()) == {
        "schema": 1,
        "templates": {"tiny@1.0.0": content},
    }
    assert publishing.publish(tiny(catalogue), modules, catalogue) == content  # again: nothing changes
    assert publishing.verify(catalogue) == []
    assert template.list_templates([catalogue])[0].published


def test_a_published_version_is_immutable(catalogue: Path, modules: Path) -> None:
    publishing.publish(tiny(catalogue), modules, catalogue)
    before = (catalogue / "index.lock").read_bytes()
    (modules / "pool" / "main.tf").write_text("# changed\n")
    with pytest.raises(IntegrityError, match="immutable"):
        publishing.publish(tiny(catalogue), modules, catalogue)
    assert (catalogue / "index.lock").read_bytes() == before
    assert (tiny(catalogue) / "modules" / "pool" / "main.tf").read_text() == "# pool\n"


def test_a_changed_published_template_can_not_be_used(catalogue: Path, modules: Path) -> None:
    publishing.publish(tiny(catalogue), modules, catalogue)
    with (tiny(catalogue) / "terraform" / "local" / "main.tf").open("a") as file:
        file.write("# one more line\n")
    with pytest.raises(IntegrityError, match="not what was published"):
        template.open_template("tiny@1.0.0", [catalogue])
    assert [f.rule for f in publishing.verify(catalogue)] == ["template/changed"]


def test_publishing_needs_the_modules_and_the_right_folder(catalogue: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no module pool"):
        publishing.publish(tiny(catalogue), tmp_path, catalogue)
    tiny(catalogue).rename(catalogue / "tiny" / "1.0.1")
    with pytest.raises(ConfigError) as caught:
        publishing.publish(catalogue / "tiny" / "1.0.1", tmp_path, catalogue)
    assert [f.rule for f in caught.value.findings] == ["config/template-name"]


def test_verify_tells_what_is_missing(catalogue: Path, modules: Path) -> None:
    found = publishing.verify(catalogue)
    assert [(f.rule, f.severity, f.path) for f in found] == [
        ("template/unpublished", Severity.WARNING, "tiny@1.0.0"),
        ("template/incomplete", Severity.ERROR, "modules/pool"),
    ]
    publishing.publish(tiny(catalogue), modules, catalogue)
    tiny(catalogue).rename(catalogue / "tiny" / "gone")
    assert [f.rule for f in publishing.verify(catalogue)] == ["template/missing"]


def test_verify_holds_defaults_against_patterns(catalogue: Path) -> None:
    path = tiny(catalogue) / "template.yaml"
    path.write_text(path.read_text().replace("pattern: '[a-z]+'", "pattern: '[a-z]+', default: A1"))
    assert "config/pattern" in [f.rule for f in publishing.verify(catalogue)]


def test_an_index_of_an_unknown_schema_is_refused(catalogue: Path) -> None:
    (catalogue / "index.lock").write_text('{"schema": 2, "templates": {}}')
    with pytest.raises(ConfigError) as caught:
        template.open_template("tiny@1.0.0", [catalogue])
    assert [f.path for f in caught.value.findings] == ["schema"]


def test_an_environment_is_pinned_to_the_digest(catalogue: Path, environment: Callable[..., Path]) -> None:
    folder = environment()
    content = template.lock(folder, "tiny@1.0.0", [catalogue]).content
    pin = json.loads((folder / "akotf.lock").read_text())
    assert pin == {"schema": 1, "template": {"name": "tiny", "version": "1.0.0", "content": content}}
