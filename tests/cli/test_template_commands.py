"""`akotf template` and `akotf upgrade` as people call them: on a project of its own, with a real git repository."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from akotf.cli import main
from akotf.load.init import init
from akotf.model.journal import Actor
from akotf.model.layout import Layout
from akotf.store.journal import SqliteJournal
from akotf.testing.doubles import FakeClock
from akotf.wiring.surroundings import PACKAGED


class Done(NamedTuple):
    """What a command printed."""

    stdout: str
    stderr: str


class Commands:
    """akotf called in this process, on a project with an environment `trial`: a process each would take too long."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys = folder, capsys
        self.environment = folder / "environments" / "trial"
        for kind in ("iac", "modules", "policies"):
            shutil.copytree(PACKAGED / kind, folder / kind)
        init(self.environment, "trial", (folder / "iac",))

    def akotf(self, *arguments: str, code: int | None = 0) -> Done:
        """Run to the end; fails, with all that was said, when the exit code is another (None: any will do)."""
        self.capsys.readouterr()
        returned = main(arguments)
        done = Done(*self.capsys.readouterr())
        assert code is None or returned == code, f"akotf {' '.join(arguments)} exits {returned}\n{done}"
        return done

    def json(self, *arguments: str, code: int | None = 0) -> Any:
        """The JSON document of a command; stdout holds nothing else."""
        return json.loads(self.akotf(*arguments, "--json", code=code).stdout)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Commands:
    (tmp_path / "it").mkdir()
    monkeypatch.chdir(tmp_path / "it")
    monkeypatch.setattr("sys.stdin", io.StringIO())  # no terminal
    return Commands(tmp_path / "it", capsys)


@pytest.fixture
def newer(project: Commands) -> Path:
    """gpu-training@1.1.0, published: another default of `batch`, a new parameter."""
    folder = project.folder / "iac" / "gpu-training" / "1.1.0"
    shutil.copytree(folder.parent / "1.0.0", folder)
    edit(folder / "template.yaml", "release: 1.0.0", "release: 1.1.0")
    edit(folder / "template.yaml", "default: 32,", "default: 64,")
    edit(folder / "template.yaml", "  # The model", "  pause: {type: duration, default: 5m}\n  # The model")
    project.akotf("template", "publish", str(folder))
    return folder


def edit(path: Path, old: str, new: str) -> None:
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def git(folder: Path, *arguments: str) -> str:
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"]}
    names = {
        f"GIT_{who}_{what}": "test@example.org"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], env=own | names, capture_output=True, text=True, check=True
    )  # fmt: skip
    return done.stdout.strip()


def baseline(project: Commands) -> str:
    """The digest that the environment's runs are held to."""
    (told,) = project.json("validate", str(project.environment))["environments"]
    return str(told["baseline"])


@pytest.fixture
def upstream(project: Commands) -> Path:
    """A repository with the template, tagged v1; the project allows it."""
    folder = project.folder / "upstream"
    shutil.copytree(project.folder / "iac" / "gpu-training" / "1.0.0", folder / "gpu")
    git(project.folder, "init", "--quiet", "--initial-branch=main", str(folder))
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "first")
    git(folder, "tag", "v1")
    (project.folder / "iac" / "sources.yaml").write_text(f"version: 1\nallow: ['file://{folder}']\n")
    return folder


def test_a_published_version_that_changed_stops_every_command_that_uses_it(project: Commands) -> None:
    with (project.folder / "iac/gpu-training/1.0.0/terraform/local/main.tf").open("a") as file:
        file.write("# one more line\n")
    environment = str(project.environment)
    found = project.json("template", "verify", code=1)[
        "findings"
    ]  # the version, and the environment pinned to it
    assert {(f["rule"], Path(f["position"]["file"]).name) for f in found} == {
        ("template/changed", "template.yaml"), ("template/changed", "akotf.lock"),
    }  # fmt: skip
    (told,) = project.json("validate", environment, code=1)["environments"]
    assert "not what was published" in json.dumps(told)
    for command in (
        ["plan", environment], ["apply", environment, "-y"], ["template", "lock", environment],
        ["template", "show", "gpu-training@1.0.0"], ["upgrade", environment, "gpu-training@1.0.0"],
    ):  # fmt: skip
        error = project.json(*command, code=1)["error"]
        assert error["code"] == "integrity", command
        assert "not what was published" in error["message"]
        assert error["remedy"]
    assert not (project.environment / ".akotf" / "workstation").exists()


def test_two_versions_are_compared(project: Commands, newer: Path) -> None:
    said = project.akotf("template", "diff", "gpu-training@1.0.0", "gpu-training@1.1.0").stdout
    assert "changed  batch default: 32 sequences -> 64 sequences" in said
    assert "added    pause (duration, default 5m)" in said
    assert "+++" not in said
    patched = project.akotf(
        "template", "diff", "gpu-training@1.0.0", str(newer), "--patch", "--detailed-exitcode", code=2
    )
    assert "-release: 1.0.0\n+release: 1.1.0\n" in patched.stdout
    data = project.json("template", "diff", str(project.environment), "gpu-training@1.1.0")
    assert {p["name"]: p["change"] for p in data["parameters"]} == {"batch": "changed", "pause": "added"}
    assert [f["path"] for f in data["files"]] == ["template.yaml"]
    assert data["same"] is False
    assert project.json(
        "template", "diff", "gpu-training@1.0.0", "gpu-training@1.0.0", "--detailed-exitcode"
    )["same"]


def test_an_upgrade_is_shown_before_it_is_done(project: Commands, newer: Path) -> None:
    environment, file = str(project.environment), project.environment / "akotf.yaml"
    crlf = file.read_bytes().replace(b"\n", b"\r\n")
    file.write_bytes(crlf)
    before = baseline(project)
    shown = project.akotf("upgrade", environment, "gpu-training@1.1.0", "--detailed-exitcode", code=2)
    assert "hyperparameters.batch: 32 -> 64" in shown.stdout
    assert "nothing was written" in shown.stderr
    assert file.read_bytes() == crlf
    project.akotf("upgrade", environment, "gpu-training@1.1.0")
    assert not Layout(project.environment).journal.exists()

    layout = Layout(project.environment)
    layout.base.mkdir(exist_ok=True)
    journal = SqliteJournal(layout.journal, clock=FakeClock(), actor=Actor(user="u", host="h"))
    journal.append("plan.made", {}, environment="trial")
    data = project.json("upgrade", environment, "gpu-training@1.1.0", "-y", "--detailed-exitcode")
    assert (data["upgraded"], data["baseline"]["old"]) == (True, before)
    assert data["changes"]["baseline"] == [{"path": "hyperparameters.batch", "old": 32, "new": 64}]
    assert file.read_bytes() == crlf.replace(
        b"template: gpu-training@1.0.0 ", b"template: gpu-training@1.1.0 "
    )
    assert baseline(project) == data["baseline"]["new"] != before
    (entry,) = journal.entries(kind="environment.upgraded")
    assert (entry.body["from"], entry.body["to"]) == ("gpu-training@1.0.0", "gpu-training@1.1.0")
    assert entry.body["baseline"] == data["baseline"]["new"]
    again = project.akotf("upgrade", environment, "gpu-training@1.1.0", "-y", "--detailed-exitcode")
    assert "nothing to do" in again.stderr
    (project.environment / "akotf.lock").unlink()
    pinned = project.akotf("upgrade", environment, "gpu-training@1.1.0", "-y")
    assert "upgraded to gpu-training@1.1.0" in pinned.stderr
    assert (project.environment / "akotf.lock").is_file()


def test_an_upgrade_that_the_environment_does_not_fit_writes_nothing(project: Commands, newer: Path) -> None:
    edit(newer / "template.yaml", "  heads: ", "  renamed: ")
    edit(newer / "run.yaml", '"{{ heads }}"', '"{{ renamed }}"')
    (project.folder / "iac" / "index.lock").unlink()
    before = (project.environment / "akotf.yaml").read_bytes()
    done = project.akotf("upgrade", str(project.environment), "gpu-training@1.1.0", "-y", code=1)
    assert "has no parameter 'heads'" in done.stderr
    assert "akotf.yaml:" in done.stderr
    assert "removed  heads" in done.stdout
    assert (project.environment / "akotf.yaml").read_bytes() == before


def test_a_template_from_git_is_locked_used_offline_and_held_to_its_tag(
    project: Commands, upstream: Path
) -> None:
    environment, file = str(project.environment), project.environment / "akotf.yaml"
    before = baseline(project)
    edit(file, "gpu-training@1.0.0 ", f"git+file://{upstream}//gpu?ref=v1 ")
    assert "akotf template lock" in project.akotf("validate", environment, code=1).stderr
    first = git(upstream, "rev-parse", "v1")
    locked = project.json("template", "lock", environment)
    assert (locked["commit"], locked["version"]) == (first, "1.0.0")
    assert json.loads((project.environment / "akotf.lock").read_text())["template"]["commit"] == first

    aside = upstream.rename(upstream.with_name("gone"))  # offline
    assert baseline(project) == before
    aside.rename(upstream)

    edit(upstream / "gpu" / "template.yaml", "default: 32,", "default: 64,")
    git(upstream, "commit", "--quiet", "--all", "-m", "second")
    git(upstream, "tag", "--force", "v1")
    second = git(upstream, "rev-parse", "v1")
    (moved,) = project.json("template", "verify", environment, code=1)["findings"]
    assert moved["rule"] == "template/moved"
    assert first in moved["message"]
    assert second in moved["message"]
    assert [f["rule"] for f in project.json("template", "verify", code=1)["findings"]] == ["template/moved"]
    assert first in project.akotf("template", "lock", environment, code=1).stderr
    assert baseline(project) == before
    assert (
        "has moved"
        in project.akotf("upgrade", environment, f"git+file://{upstream}//gpu?ref=v1", "-y", code=1).stderr
    )
    assert project.json("template", "lock", environment, "--accept-moved")["commit"] == second
    assert baseline(project) != before


def test_an_upgrade_to_git_and_what_is_not_allowed(project: Commands, upstream: Path) -> None:
    environment, reference = str(project.environment), f"git+file://{upstream}//gpu?ref=v1"
    said = project.akotf(
        "upgrade", environment, f"git+file://{project.folder}/other//gpu?ref=v1", "-y", code=1
    ).stderr
    assert "may not be fetched" in said
    assert "iac/sources.yaml" in said
    data = project.json("upgrade", environment, reference, "-y")
    assert (data["upgraded"], data["changes"]["baseline"]) == (True, [])
    assert f"template: {reference} " in (project.environment / "akotf.yaml").read_text()
    assert project.akotf("template", "verify", environment).stdout.strip() == "every lock holds"
    assert "commit" in project.akotf("template", "show", environment).stdout


def test_what_must_not_be_shown_is_not_shown(project: Commands) -> None:
    draft = project.folder / "iac" / "gpu-training" / "2.0.0"
    shutil.copytree(draft.parent / "1.0.0", draft)
    edit(draft / "template.yaml", "release: 1.0.0", "release: 2.0.0")
    edit(draft / "template.yaml", "parameters:\n", "parameters:\n  token: {type: string, secret: true}\n")
    (project.environment / "akotf.lock").unlink()
    file = project.environment / "akotf.yaml"
    edit(file, "gpu-training@1.0.0 ", "gpu-training@2.0.0 ")
    edit(file, "parameters:\n", "parameters:\n  token: hunter2-and-more\n")
    environment = str(project.environment)
    done = project.akotf("validate", environment, code=1)
    assert "parameter 'token' is secret" in (done.stdout + done.stderr).replace(": is", " is")
    told = [done.stdout, done.stderr, project.akotf("validate", environment, "--json", code=1).stdout]
    edit(file, "  token: hunter2-and-more\n", "")
    edit(file, "gpu-training@2.0.0 ", "git+https://bob:hunter2@git.example.com/o/r//t?ref=v1 ")
    for command in (
        ["validate", environment],
        ["template", "lock", environment],
        ["upgrade", environment, "gpu-training@1.0.0"],
    ):
        done = project.akotf(*command, code=None)
        told += [done.stdout, done.stderr]
    edit(draft / "template.yaml", "secret: true}", "secret: true, default: hunter2}")
    for command in (["show", "gpu-training@2.0.0"], ["show", "gpu-training@2.0.0", "--json"], ["verify"],
                    ["diff", "gpu-training@1.0.0", "gpu-training@2.0.0"]):  # fmt: skip
        done = project.akotf("template", *command, code=None)
        told += [done.stdout, done.stderr]
    assert [text for text in told if "hunter2" in text] == []


def test_an_environment_without_a_lock_is_told(project: Commands) -> None:
    (project.environment / "akotf.lock").unlink()
    (found,) = project.json("template", "verify", str(project.environment))["findings"]
    assert (found["rule"], found["severity"]) == ("config/unpinned", "warning")


def test_targets_are_counted(project: Commands) -> None:
    for command, words in (
        ("diff gpu-training@1.0.0", "two targets"),
        ("show", "one target"),
        ("list x", "no target"),
    ):
        assert words in project.akotf("template", *command.split(), code=1).stderr


@pytest.mark.parametrize(
    ("answer", "upgraded"), [("yes\n", True), ("y\n", False), ("\n", False), ("", False)]
)
def test_on_a_terminal_it_asks_and_takes_only_yes(
    project: Commands, newer: Path, monkeypatch: pytest.MonkeyPatch, answer: str, upgraded: bool
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Terminal(answer))
    done = project.akotf("upgrade", str(project.environment), "gpu-training@1.1.0")
    assert "Only 'yes' is accepted" in done.stderr
    assert ("template: gpu-training@1.1.0 " in (project.environment / "akotf.yaml").read_text()) is upgraded
    assert ("1.1.0" in (project.environment / "akotf.lock").read_text()) is upgraded


def test_a_folder_is_shown_and_compared_but_no_environment_can_be_moved_to_it(
    project: Commands, newer: Path
) -> None:
    assert "gpu-training@1.1.0" in project.akotf("template", "show", str(newer)).stdout
    before = (project.environment / "akotf.yaml").read_bytes()
    done = project.akotf("upgrade", str(project.environment), str(newer), "-y", code=1)
    assert "is not a template reference" in done.stderr
    assert (project.environment / "akotf.yaml").read_bytes() == before
