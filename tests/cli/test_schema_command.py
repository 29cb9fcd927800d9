"""`akotf schema`, and the hooks that pre-commit reads: real commands on the project's own files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from akotf.cli import COMMANDS, main
from akotf.cli.dispatch import parser_of
from akotf.model.schemas import FILES
from akotf.reading import yaml
from akotf.reading.bind import plain

REPOSITORY = Path(__file__).parents[2]
PAGE = REPOSITORY / "docs" / "how-to" / "editors.md"
TEMPLATE = "gpu-training@1.0.0"
NAMES = [*FILES, "report", "policy-config", "policy-selection", "policy-tfplan", "policy-drift"]


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["schema", *arguments]) == 0
    return capsys.readouterr().out


def test_every_schema_is_listed_printed_and_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert printed(capsys).split() == NAMES
    assert json.loads(printed(capsys, "--json"))["schemas"] == NAMES
    printed(capsys, "--out", str(tmp_path / "new" / "folder"))
    for name in NAMES:
        text = (tmp_path / "new" / "folder" / f"{name}.schema.json").read_text(encoding="utf-8")
        assert text == printed(capsys, name)
        schema = json.loads(text)
        jsonschema.validators.validator_for(schema).check_schema(schema)
    printed(capsys, "akotf.yaml", "--out", str(tmp_path / "one"))
    assert [path.name for path in (tmp_path / "one").iterdir()] == ["akotf.yaml.schema.json"]


def test_the_parameters_of_a_template_are_typed(capsys: pytest.CaptureFixture[str]) -> None:
    schema = json.loads(printed(capsys, "akotf.yaml", "--template", TEMPLATE, "--folder", str(REPOSITORY)))
    parameters = schema["properties"]["parameters"]["properties"]
    assert parameters["learning_rate"] == {
        "type": "number", "minimum": 0, "maximum": 1, "default": 0.001, "description": "Peak learning rate.",
    }  # fmt: skip
    document: Any = plain(yaml.read(REPOSITORY / "environments" / "quickstart" / "akotf.yaml"))
    held = jsonschema.Draft7Validator(schema)
    assert list(held.iter_errors(document)) == []
    document["parameters"]["learning_rate"] = 2
    assert [list(error.absolute_path) for error in held.iter_errors(document)] == [
        ["parameters", "learning_rate"]
    ]


def test_a_template_types_akotf_yaml_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "run.yaml", "--template", TEMPLATE]) == 1
    assert "--template is for the schema of akotf.yaml" in capsys.readouterr().err
    assert main(["schema", "nonsense.yaml"]) == 1


def test_the_report_of_validate_holds_to_its_schema(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    schema = json.loads(printed(capsys, "report"))
    main(["validate", str(REPOSITORY / "environments" / "quickstart"), "--json"])
    report = json.loads(capsys.readouterr().out)
    assert list(jsonschema.Draft7Validator(schema).iter_errors(report)) == []
    assert report["environments"][0]["environment"] == "quickstart"


def test_the_settings_of_the_page_name_schemas_that_are_written() -> None:
    text = PAGE.read_text(encoding="utf-8")
    named = set(re.findall(r"\.akotf-schemas/([a-z.]+)\.schema\.json", text))
    assert named == set(FILES)
    (settings,) = re.findall(r"```json\n(.*?)```", text, re.S)
    for schema, pattern in json.loads(settings)["yaml.schemas"].items():
        name = Path(schema).name.removesuffix(".schema.json")
        assert pattern.endswith(name)
        assert list(REPOSITORY.glob(pattern if "/" in pattern else f"environments/*/{pattern}")), pattern


def test_hooks_start_commands_that_are_there() -> None:
    hooks: Any = plain(yaml.read(REPOSITORY / ".pre-commit-hooks.yaml"))
    assert {hook["id"] for hook in hooks} == set(
        re.findall(r"- id: (akotf-[a-z-]+)", PAGE.read_text(encoding="utf-8"))
    )
    for hook in hooks:
        program, command, *words = [*hook["entry"].split(), *hook.get("args", [])]
        assert program == "akotf"
        assert command in COMMANDS
        parser_of(command).parse_args(words)
        assert hook["language"] == "python"
        assert hook["pass_filenames"] is False
        # Somebody's change of what the hook judges starts it.
        files = [path.relative_to(REPOSITORY).as_posix() for path in REPOSITORY.glob("*/*/**/*.yaml")]
        assert any(re.search(hook["files"], path) for path in files)


def test_a_hook_stops_a_fault_and_lets_the_project_pass(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "environments" / "a"
    folder.mkdir(parents=True)
    text = f"version: 1\nname: a\nowner: me\ntemplate: {TEMPLATE}\nobjective: {{budget: $25}}\nscopes: {{desk: {{kind: local}}}}\n"
    (folder / "akotf.yaml").write_text(text, encoding="utf-8")
    hooks: Any = plain(yaml.read(REPOSITORY / ".pre-commit-hooks.yaml"))
    (hook,) = [hook for hook in hooks if hook["id"] == "akotf-validate"]
    words = [*hook["entry"].split()[1:], *hook["args"]]
    monkeypatch.chdir(tmp_path)
    assert main(words) == 1
    out = capsys.readouterr()
    assert "environments/a/akotf.yaml:5:" in out.out + out.err
    assert "write its code instead, as in 25 USD" in out.out + out.err
