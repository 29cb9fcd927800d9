"""An environment with a template from git: locked by commit and content, offline from then on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from akotf.errors import ConfigError, IntegrityError
from akotf.load import publishing
from akotf.load.catalogue import content_digest
from akotf.load.environment import load
from akotf.load.template import lock
from akotf.model.layout import Layout
from akotf.pipeline import planning

Environment = Callable[[str], Path]


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def pin(folder: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((folder / "akotf.lock").read_text())["template"]
    return data


def test_a_lock_holds_source_commit_and_content(
    repository: Any, iac: Path, environment: Environment, cache: Path
) -> None:
    commit, reference = repository.commit("v1"), repository.reference("v1")
    folder = environment(reference)
    lock(folder, reference, [iac], cache)
    content = content_digest(repository.template)
    assert pin(folder) == {
        "name": "tiny", "version": "1.0.0", "content": content, "source": reference, "commit": commit,
    }  # fmt: skip
    state = load(folder, catalogues=[iac], cache=cache)
    assert state.run.hyperparameters == {"steps": 10}
    assert (state.template.commit, state.template.content) == (commit, content)
    assert content_digest(state.template_folder) == content


def test_without_a_lock_nothing_is_loaded(
    repository: Any, iac: Path, environment: Environment, cache: Path
) -> None:
    repository.commit("v1")
    folder = environment(repository.reference("v1"))
    with pytest.raises(ConfigError) as caught:
        load(folder, catalogues=[iac], cache=cache)
    (found,) = caught.value.findings
    assert "not locked" in found.message
    assert found.remedy.startswith("akotf template lock ")
    assert found.position.line == 4
    assert not cache.exists()


def test_a_locked_environment_loads_offline(
    repository: Any, iac: Path, environment: Environment, cache: Path
) -> None:
    reference = repository.reference("v1")
    repository.commit("v1")
    folder = environment(reference)
    lock(folder, reference, [iac], cache)
    before = load(folder, catalogues=[iac], cache=cache)
    shutil.rmtree(repository.folder)
    assert load(folder, catalogues=[iac], cache=cache) == before


def test_without_the_cache_the_locked_commit_is_fetched_and_never_the_tag(
    repository: Any, iac: Path, environment: Environment, cache: Path
) -> None:
    reference, first = repository.reference("v1"), repository.commit("v1")
    folder = environment(reference)
    lock(folder, reference, [iac], cache)
    (repository.template / "run.yaml").write_text("broken: [\n")
    repository.commit("v1")  # the tag moves
    shutil.rmtree(cache)
    state = load(folder, catalogues=[iac], cache=cache)
    assert state.template.commit == first
    assert state.run.hyperparameters == {"steps": 10}
    shutil.rmtree(cache)
    shutil.rmtree(repository.folder)
    with pytest.raises(ConfigError, match="git can't read"):
        load(folder, catalogues=[iac], cache=cache)


@pytest.mark.parametrize("harm", ["change", "add", "remove", "link"])
def test_a_cache_that_somebody_changed_is_not_used(
    repository: Any, iac: Path, environment: Environment, cache: Path, harm: str
) -> None:
    reference = repository.reference("v1")
    repository.commit("v1")
    folder = environment(reference)
    lock(folder, reference, [iac], cache)
    kept = load(folder, catalogues=[iac], cache=cache).template_folder
    if harm == "change":
        (kept / "run.yaml").write_text((kept / "run.yaml").read_text().replace("train.py", "evil.py"))
    elif harm == "add":
        (kept / "terraform" / "local" / "evil.tf").write_text("# evil\n")
    elif harm == "remove":
        (kept / "run.yaml").unlink()
    else:
        (kept / "terraform" / "local" / "main.tf").unlink()
        (kept / "terraform" / "local" / "main.tf").symlink_to("/etc/passwd")
    state = load(folder, catalogues=[iac], cache=cache)  # fetched again
    assert state.run.command == ("python", "train.py")
    assert content_digest(state.template_folder) == state.template.content
    shutil.rmtree(cache)


def test_a_lock_that_says_another_content_than_its_commit_is_refused(
    repository: Any, iac: Path, environment: Environment, cache: Path
) -> None:
    reference = repository.reference("v1")
    repository.commit("v1")
    folder = environment(reference)
    real = lock(folder, reference, [iac], cache).content
    false = "sha256:" + "0" * 64
    path = folder / "akotf.lock"
    path.write_text(path.read_text().replace(real, false))
    with pytest.raises(IntegrityError) as caught:
        load(folder, catalogues=[iac], cache=cache)
    assert real in caught.value.message
    assert false in caught.value.message


@pytest.mark.parametrize(
    ("key", "value"), [("commit", "../../../etc"), ("content", "sha256:../.."), ("commit", "")]
)
def test_a_lock_can_not_lead_out_of_the_cache(
    repository: Any, iac: Path, environment: Environment, cache: Path, key: str, value: str
) -> None:
    reference = repository.reference("v1")
    repository.commit("v1")
    folder = environment(reference)
    lock(folder, reference, [iac], cache)
    data = json.loads((folder / "akotf.lock").read_text())
    data["template"][key] = value
    (folder / "akotf.lock").write_text(json.dumps(data))
    with pytest.raises(ConfigError, match="no full commit id"):
        load(folder, catalogues=[iac], cache=cache)


def test_a_moved_tag_is_told_with_both_commits(
    repository: Any, iac: Path, environment: Environment, cache: Path
) -> None:
    reference, first = repository.reference("v1"), repository.commit("v1")
    folder = environment(reference)
    lock(folder, reference, [iac], cache)
    assert publishing.verify_lock(folder, reference, [iac], cache) == []
    (repository.template / "run.yaml").write_text(
        (repository.template / "run.yaml").read_text() + "outputs: [x]\n"
    )
    second = repository.commit("v1")
    (found,) = publishing.verify_lock(folder, reference, [iac], cache)
    assert found.rule == "template/moved"
    assert first in found.message
    assert second in found.message
    assert str(found.position).endswith("akotf.lock:1:1")
    before = (folder / "akotf.lock").read_bytes()
    with pytest.raises(ConfigError, match="has moved") as caught:
        lock(folder, reference, [iac], cache)
    assert "--accept-moved" in caught.value.remedy
    assert (folder / "akotf.lock").read_bytes() == before
    assert load(folder, catalogues=[iac], cache=cache).template.commit == first
    lock(folder, reference, [iac], cache, accept_moved=True)
    state = load(folder, catalogues=[iac], cache=cache)
    assert (state.template.commit, state.run.outputs) == (second, ("x",))


def test_a_tag_that_is_gone_is_told(
    repository: Any, iac: Path, environment: Environment, cache: Path
) -> None:
    reference = repository.reference("v1")
    repository.commit("v1")
    folder = environment(reference)
    lock(folder, reference, [iac], cache)
    repository.git("tag", "--delete", "v1")
    (found,) = publishing.verify_lock(folder, reference, [iac], cache)
    assert "has no tag v1" in found.message


def test_another_reference_than_the_locked_one_is_refused(
    repository: Any, iac: Path, environment: Environment, cache: Path
) -> None:
    repository.commit("v1")
    repository.commit("v2")
    folder = environment(repository.reference("v1"))
    lock(folder, repository.reference("v1"), [iac], cache)
    environment(repository.reference("v2"))
    with pytest.raises(ConfigError) as caught:
        load(folder, catalogues=[iac], cache=cache)
    (found,) = caught.value.findings
    assert found.rule == "config/pin"
    assert "?ref=v1" in found.message
    assert "?ref=v2" in found.message


@pytest.mark.parametrize(
    "sources", ["version: 1\nallow: []\n", "version: 1\nallow: [https://h.example]\n", None]
)
def test_what_is_not_allowed_is_neither_fetched_nor_loaded(
    repository: Any, iac: Path, environment: Environment, cache: Path, sources: str | None
) -> None:
    reference = repository.reference("v1")
    repository.commit("v1")
    folder = environment(reference)
    allowed = (iac / "sources.yaml").read_text()
    (iac / "sources.yaml").unlink()
    if sources is not None:
        (iac / "sources.yaml").write_text(sources)
    with pytest.raises(ConfigError, match="may not be fetched"):
        lock(folder, reference, [iac], cache)
    assert not cache.exists()
    (iac / "sources.yaml").write_text(allowed)
    lock(folder, reference, [iac], cache)
    (iac / "sources.yaml").write_text("version: 1\nallow: []\n")  # taken back
    with pytest.raises(ConfigError) as caught:
        load(folder, catalogues=[iac], cache=cache)
    assert "may not be fetched" in caught.value.findings[0].message


def test_a_credential_in_an_environments_template_is_never_shown(
    repository: Any, iac: Path, environment: Environment, cache: Path
) -> None:
    folder = environment("git+https://bob:hunter2@h.example/o/r//t?ref=v1")
    with pytest.raises(ConfigError) as caught:
        load(folder, catalogues=[iac], cache=cache)
    (found,) = caught.value.findings
    assert "hunter2" not in repr(found) + str(caught.value)
    assert found.sensitive


def test_two_folders_of_one_commit_are_two_templates(
    repository: Any, iac: Path, environment: Environment, cache: Path
) -> None:
    shutil.copytree(repository.template, repository.folder / "iac" / "other")
    spec = repository.folder / "iac" / "other" / "template.yaml"
    spec.write_text(spec.read_text().replace("default: 10", "default: 20"))
    repository.commit("v1")
    for inner, steps in (("//iac/tiny", 10), ("//iac/other", 20), ("//iac/tiny", 10)):
        reference = repository.reference("v1", inner)
        folder = environment(reference)
        lock(folder, reference, [iac], cache)
        assert load(folder, catalogues=[iac], cache=cache).run.hyperparameters == {"steps": steps}


def test_faults_of_a_fetched_template_have_their_place(
    repository: Any, iac: Path, environment: Environment, cache: Path
) -> None:
    (repository.template / "template.yaml").write_text(
        "version: 1\nname: tiny\nrelease: 1.0.0\nroots: {local: ../..}\n"
    )
    repository.commit("v1")
    reference = repository.reference("v1")
    with pytest.raises(ConfigError) as caught:
        lock(environment(reference), reference, [iac], cache)
    (found,) = caught.value.findings
    assert (found.rule, found.position.line, found.path) == ("config/template", 4, "roots.local")


def test_a_pass_takes_the_locked_template_out_of_the_sessions_cache(
    repository: Any, iac: Path, environment: Environment, world: Any
) -> None:
    reference = repository.reference("v1")
    commit = repository.commit("v1")
    folder = environment(reference)
    session = replace(world.session, layout=Layout(folder), catalogues=(iac,))
    lock(folder, reference, [iac], session.cache)
    shutil.rmtree(repository.folder)
    assert planning.load(session).template.commit == commit
