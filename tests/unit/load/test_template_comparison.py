"""Two templates side by side: parameters in their units, run.yaml, files."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from akotf.load.comparison import Change, compare
from akotf.load.specification import Template
from akotf.load.template import find_template


@pytest.fixture
def other(catalogue: Path) -> Path:
    """tiny@1.1.0, the same as 1.0.0 but for its release."""
    folder = catalogue / "tiny" / "1.1.0"
    shutil.copytree(catalogue / "tiny" / "1.0.0", folder)
    edit(folder / "template.yaml", "release: 1.0.0", "release: 1.1.0")
    return folder


def edit(path: Path, old: str, new: str) -> None:
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def both(catalogue: Path) -> tuple[Template, Template]:
    first, second = (find_template(f"tiny@{v}", [catalogue], catalogue / "cache") for v in ("1.0.0", "1.1.0"))
    return first, second


def test_only_the_release_differs(catalogue: Path, other: Path) -> None:
    found = compare(*both(catalogue))
    assert (found.parameters, found.constraints, found.run) == ((), (), ())
    assert [(f.path, f.kind) for f in found.files] == [("template.yaml", "changed")]
    assert "-release: 1.0.0\n+release: 1.1.0\n" in found.files[0].patch
    assert compare(both(catalogue)[0], both(catalogue)[0]).same


def test_parameters_added_removed_and_changed(catalogue: Path, other: Path) -> None:
    edit(other / "template.yaml", "max: 1000}", "max: 2000, help: How long}")
    edit(other / "template.yaml", "default: 1 GiB", "default: 2048 MiB")
    edit(
        other / "template.yaml",
        "  note: {type: string, pattern: '[a-z]+'}\n",
        "  seed: {type: integer, required: true}\n",
    )
    edit(other / "run.yaml", "{{ note }}", "T4")
    found = {p.name: (p.kind, p.fields) for p in compare(*both(catalogue)).parameters}
    assert found == {
        "steps": ("changed", (Change("max", "1000", "2000"), Change("help", None, "How long"))),
        "memory": ("changed", (Change("default", "1 GiB", "2 GiB"),)),
        "note": ("removed", (Change("type", "string", None), Change("pattern", "[a-z]+", None))),
        "seed": ("added", (Change("type", None, "integer"), Change("required", None, "yes"))),
    }  # fmt: skip


def test_the_same_value_in_another_spelling_is_no_change(catalogue: Path, other: Path) -> None:
    edit(other / "template.yaml", "default: 1 GiB", "default: 1024 MiB")
    edit(other / "template.yaml", "default: 1h, min: 60", "default: 60m, min: 1m")
    assert compare(*both(catalogue)).parameters == ()


def test_what_runs_and_constraints(catalogue: Path, other: Path) -> None:
    edit(other / "run.yaml", "LR: 1e-4", "LR: 1e-5")
    edit(other / "run.yaml", "python, train.py", "python, -u, train.py")
    with (other / "template.yaml").open("a") as file:
        file.write("constraints: [{expr: steps > 1, message: more}]\n")
    found = compare(*both(catalogue))
    assert Change("environment.LR", "1e-4", "1e-5") in found.run
    assert Change("command.1", "train.py", "-u") in found.run
    assert found.constraints == (Change("steps > 1", None, "more"),)


def test_files_added_removed_and_binary(catalogue: Path, other: Path) -> None:
    (other / "README.md").write_text("new")
    (other / "blob").write_bytes(b"\xff\x00")
    (other / "terraform" / "local" / "main.tf").unlink()
    files = {f.path: f for f in compare(*both(catalogue)).files}
    assert {path: f.kind for path, f in files.items()} == {
        "README.md": "added", "blob": "added", "template.yaml": "changed", "terraform/local/main.tf": "removed",
    }  # fmt: skip
    assert files["README.md"].patch == (
        "--- /dev/null\n+++ b/README.md\n@@ -0,0 +1 @@\n+new\n\\ No newline at end of file\n"
    )
    assert (
        files["terraform/local/main.tf"].patch
        == "--- a/terraform/local/main.tf\n+++ /dev/null\n@@ -1 +0,0 @@\n-# root\n"
    )
    assert "not text" in files["blob"].patch


def test_a_secret_default_that_is_no_reference_is_not_shown(catalogue: Path, other: Path) -> None:
    edit(
        other / "template.yaml",
        "parameters:\n",
        "parameters:\n  token: {type: string, secret: true, default: hunter2}\n",
    )
    found = compare(*both(catalogue))
    assert "hunter2" not in repr(found.parameters)
    edit(other / "template.yaml", "hunter2", "env:HF_TOKEN")
    (token,) = compare(*both(catalogue)).parameters
    assert Change("default", None, "'env:HF_TOKEN'") in token.fields
