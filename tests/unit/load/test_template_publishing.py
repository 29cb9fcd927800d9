"""Publishing: links and faults are refused, and whatever a kill leaves is named by verify and mended by publish."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from akotf.errors import ConfigError, IntegrityError
from akotf.load import catalogue as books
from akotf.load import publishing, template
from akotf.load.catalogue import content_digest


class Killed(BaseException):
    """Stands for a kill: no handler of ours runs after it."""


@pytest.fixture
def modules(tmp_path: Path) -> Path:
    folder = tmp_path / "modules" / "pool"
    folder.mkdir(parents=True)
    (folder / "main.tf").write_text("# pool\n")
    return tmp_path / "modules"


def tiny(catalogue: Path) -> Path:
    return catalogue / "tiny" / "1.0.0"


def kill_at(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, call: int) -> None:
    """The n-th call of a function never happens, and nothing does after it."""
    real, calls = getattr(owner, name), []

    def call_or_die(*arguments: Any, **more: Any) -> Any:
        calls.append(1)
        if len(calls) == call:
            raise Killed
        return real(*arguments, **more)

    monkeypatch.setattr(owner, name, call_or_die)


@pytest.mark.parametrize(
    ("owner", "name", "call"),
    [
        (Path, "write_bytes", 1),  # while a module is copied
        (Path, "rename", 1),  # before the old modules are put aside
        (Path, "rename", 2),  # between old and new
        (publishing.shutil, "rmtree", 1),  # with the new in place
        (books, "write_index", 1),  # before the digest is fixed
    ],
)
def test_a_kill_at_any_step_is_named_and_mended(
    catalogue: Path, modules: Path, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, call: int
) -> None:
    old = tiny(catalogue) / "modules" / "pool"  # what an earlier draft has vendored
    old.mkdir(parents=True)
    (old / "main.tf").write_text("# older\n")
    with monkeypatch.context() as patch:
        kill_at(patch, owner, name, call)
        with pytest.raises(Killed):
            publishing.publish(tiny(catalogue), modules, catalogue)
    assert books.read_index(catalogue) == {}
    found = {f.rule: f for f in publishing.verify(catalogue)}
    assert "template/unpublished" in found
    if name != "write_index":
        assert found["template/unfinished"].remedy.startswith("akotf template publish ")
    content = publishing.publish(tiny(catalogue), modules, catalogue)
    assert publishing.verify(catalogue) == []
    assert content == content_digest(tiny(catalogue))
    assert (tiny(catalogue) / "modules" / "pool" / "main.tf").read_text() == "# pool\n"
    assert sorted(p.name for p in (catalogue / "tiny").iterdir()) == ["1.0.0"]


@pytest.mark.parametrize("call", [1, 2])
def test_a_published_version_that_lost_its_modules_is_mended_and_a_kill_of_that_too(
    catalogue: Path, modules: Path, monkeypatch: pytest.MonkeyPatch, call: int
) -> None:
    content = publishing.publish(tiny(catalogue), modules, catalogue)
    (tiny(catalogue) / "modules" / "pool" / "main.tf").write_text("# harmed\n")
    with monkeypatch.context() as patch:
        kill_at(patch, Path, "rename", call)
        with pytest.raises(Killed):
            publishing.publish(tiny(catalogue), modules, catalogue)
    with pytest.raises(IntegrityError, match="not what was published"):
        template.open_template("tiny@1.0.0", [catalogue])
    assert {f.rule for f in publishing.verify(catalogue)} == {"template/changed", "template/unfinished"}
    assert publishing.publish(tiny(catalogue), modules, catalogue) == content
    assert publishing.verify(catalogue) == []


def test_publishing_again_touches_nothing(catalogue: Path, modules: Path) -> None:
    publishing.publish(tiny(catalogue), modules, catalogue)
    vendored = tiny(catalogue) / "modules" / "pool" / "main.tf"
    before = vendored.stat().st_ino
    publishing.publish(tiny(catalogue), modules, catalogue)
    assert vendored.stat().st_ino == before


@pytest.mark.parametrize("where", ["module file", "module folder", "module", "template"])
def test_links_are_refused_before_anything_is_written(
    catalogue: Path, modules: Path, tmp_path: Path, where: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "main.tf").write_text("# outside\n")
    if where == "module file":
        (modules / "pool" / "link.tf").symlink_to(outside / "main.tf")
    elif where == "module folder":
        (modules / "pool" / "link").symlink_to(outside)
    elif where == "module":
        shutil.rmtree(modules / "pool")
        (modules / "pool").symlink_to(outside)
    else:
        (tiny(catalogue) / "link").symlink_to(outside)
    with pytest.raises(IntegrityError, match="link"):
        publishing.publish(tiny(catalogue), modules, catalogue)
    assert not (tiny(catalogue) / "modules").exists()
    assert not (catalogue / "index.lock").exists()


def test_links_among_what_is_not_vendored_do_not_matter(catalogue: Path, modules: Path) -> None:
    (modules / "pool" / ".terraform" / "providers").mkdir(parents=True)
    (modules / "pool" / ".terraform" / "providers" / "x").symlink_to("/nowhere")
    publishing.publish(tiny(catalogue), modules, catalogue)
    assert [p.name for p in (tiny(catalogue) / "modules" / "pool").iterdir()] == ["main.tf"]


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("modules: [pool]", "modules: [../pool]", "modules.0"),
        ("modules: [pool]", "modules: [/etc]", "modules.0"),
        ("local: terraform/local", "local: ../../terraform", "roots.local"),
        ("local: terraform/local", "local: /etc", "roots.local"),
    ],
)
def test_roots_and_modules_stay_in_the_template(
    catalogue: Path, modules: Path, old: str, new: str, path: str
) -> None:
    file = tiny(catalogue) / "template.yaml"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(ConfigError) as caught:
        publishing.publish(tiny(catalogue), modules, catalogue)
    assert [(f.rule, f.path) for f in caught.value.findings] == [("config/template", path)]
    assert caught.value.findings[0].position.line


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("constraints: [{expr: 'steps %% 2', message: m}]", "config/template"),
        ("constraints: [{expr: 'stepz > 2', message: m}]", "config/template"),
        ("constraints: [{expr: 'note.size() > 2', message: m}]", "config/template"),  # note has no value
        ("constraints: [{expr: 'steps > 10', message: 'too few'}]", "config/constraint"),  # its own defaults
    ],
)
def test_publish_and_verify_find_faults_of_constraints(
    catalogue: Path, modules: Path, line: str, rule: str
) -> None:
    file = tiny(catalogue) / "template.yaml"
    number = file.read_text().count("\n") + 1
    file.write_text(file.read_text() + line + "\n")
    with pytest.raises(ConfigError) as caught:
        publishing.publish(tiny(catalogue), modules, catalogue)
    assert [(f.rule, f.position.line) for f in caught.value.findings] == [(rule, number)]
    assert rule in [f.rule for f in publishing.verify(catalogue)]
    assert not (catalogue / "index.lock").exists()


def test_a_changed_version_of_one_catalogue_is_not_covered_by_another(catalogue: Path, modules: Path) -> None:
    publishing.publish(tiny(catalogue), modules, catalogue)
    for path, text in ((tiny(catalogue) / "run.yaml", "# x\n"), (tiny(catalogue) / "extra", "x")):
        before = path.read_bytes() if path.exists() else None
        path.write_text(text)
        with pytest.raises(IntegrityError):
            template.open_template("tiny@1.0.0", [catalogue])
        if before is None:
            path.unlink()
        else:
            path.write_bytes(before)
    assert template.open_template("tiny@1.0.0", [catalogue]).ref.name == "tiny"


def test_two_at_once_lose_no_digest_of_the_index(
    catalogue: Path, modules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = catalogue / "tiny" / "1.1.0"
    shutil.copytree(tiny(catalogue), other)
    text = (other / "template.yaml").read_text()
    (other / "template.yaml").write_text(text.replace("release: 1.0.0", "release: 1.1.0"))
    real = books.write_index
    second = threading.Thread(target=publishing.publish, args=(other, modules, catalogue))

    def write_late(folder: Path, templates: dict[str, str]) -> None:
        monkeypatch.setattr(books, "write_index", real)
        second.start()  # it gets all the time that it needs to come in between
        second.join(0.5)
        real(folder, templates)

    monkeypatch.setattr(books, "write_index", write_late)
    publishing.publish(tiny(catalogue), modules, catalogue)
    second.join()
    assert sorted(books.read_index(catalogue)) == ["tiny@1.0.0", "tiny@1.1.0"]
    assert publishing.verify(catalogue) == []


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("run.yaml", "", None, "run.yaml is missing"),
        ("terraform/local", "", None, "terraform/local is missing"),
        ("run.yaml", "{{ steps }}", "{{ stepz }}", "there is no parameter 'stepz'"),
        ("run.yaml", "{{ rate }}", "{{ rate +", "the expression does not end"),
        ("run.yaml", "limits: {", "limitz: {", "unknown key 'run.limitz'"),
        ("run.yaml", "cpus: 1", "cpus: one", "'one' is not a whole number"),
        ("run.yaml", "limits: {", "limits: {{", "run.yaml"),  # no YAML
    ],
)
def test_a_version_that_no_environment_could_use_is_not_published(
    catalogue: Path, modules: Path, file: str, old: str, new: str | None, said: str
) -> None:
    path = tiny(catalogue) / file
    if new is None:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    else:
        path.write_text(path.read_text().replace(old, new))
    with pytest.raises(ConfigError) as caught:
        publishing.publish(tiny(catalogue), modules, catalogue)
    told = [f"{f.position}: {f.message}" for f in caught.value.findings]
    assert any(said in line for line in told), told
    assert all(f.remedy for f in caught.value.findings)
    assert books.read_index(catalogue) == {}


def test_what_only_an_environment_can_give_keeps_no_version_from_being_published(
    catalogue: Path, modules: Path
) -> None:
    for name, old, new in (
        ("template.yaml", "steps: {type: integer, default: 10,", "steps: {type: integer, required: true,"),
        ("run.yaml", '"{{ steps }}"}\n', '"{{ steps * 2 }}"}\n'),
    ):
        path = tiny(catalogue) / name
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))
    publishing.publish(tiny(catalogue), modules, catalogue)
    assert publishing.verify(catalogue) == []


def test_a_folder_without_a_template_is_told_as_that(catalogue: Path, modules: Path) -> None:
    with pytest.raises(ConfigError, match=r"holds no template\.yaml"):
        publishing.publish(catalogue.parent / "nowhere", modules, catalogue)


@pytest.mark.parametrize("kind", ["folder", "pipe", "broken link"])
@pytest.mark.parametrize("name", ["index.lock", "akotf.lock"])
def test_what_stands_in_a_locks_place_is_no_absence(catalogue: Path, name: str, kind: str) -> None:
    path = catalogue / name
    make = {
        "folder": path.mkdir,
        "pipe": lambda: os.mkfifo(path),
        "broken link": lambda: path.symlink_to("x"),
    }
    make[kind]()
    with pytest.raises(ConfigError, match=f"{name} is not a file"):
        books.read_index(catalogue) if name == "index.lock" else books.read_lock(catalogue)


def test_a_file_name_that_is_no_text_is_refused(catalogue: Path, modules: Path) -> None:
    (Path(os.fsdecode(os.fsencode(tiny(catalogue)) + b"/\xff.tf"))).write_text("")
    with pytest.raises(IntegrityError, match="name that is not UTF-8"):
        publishing.publish(tiny(catalogue), modules, catalogue)
