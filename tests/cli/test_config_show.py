"""`akotf config show`: every setting once, with value, origin and place; JSON whole, the table within its width."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from akotf.cli.config_command import WIDTH
from akotf.cli.dispatch import dispatch
from akotf.model.origin import Source

KEYS = {"path", "value", "text", "unit", "source", "name", "place", "via"}
LONG = "x" * 3000


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment on a template of its own, whose variables hold what no table can."""
    template = tmp_path / "iac" / "tiny" / "1.0.0"
    (template / "terraform").mkdir(parents=True)
    (template / "template.yaml").write_text(
        "version: 1\nname: tiny\nrelease: 1.0.0\nparameters:\n  cpus: {type: integer, default: 2}\n"
        "  memory: {type: bytes, default: 4 GiB}\n  steps: {type: integer, default: 10}\nroots: {local: terraform}\n"
    )
    (template / "run.yaml").write_text(
        "image: {reference: 'repo@sha256:00'}\n"
        f"command: [python, -c, 'print(1)', {LONG}]\n"
        'environment: {LINES: "one\\ntwo\\e[31m", DIALECTS: "${A} ${{ b }} %{c} $(d)"}\n'
        'limits: {cpus: "{{ cpus }}", memory: "{{ memory }}", wall_time: 90m}\n'
        "checkpoint: {interval_steps: 5}\n"
        "workload: {model: {layers: 1, hidden: 8, heads: 2, vocabulary: 9, sequence: 4}, global_batch: 2, steps: '{{ steps }}'}\n"
    )
    folder = tmp_path / "demo"
    folder.mkdir()
    (folder / "akotf.yaml").write_text(
        "version: 1\nname: demo\nowner: me\ntemplate: tiny@1.0.0\nparameters: {steps: 20}\n"
        "secrets: {TOKEN: 'env:MY_TOKEN'}\nobjective: {budget: 5 USD}\n"
        "scopes:\n  here: {kind: local}\n  campus: {kind: hpc}\n  aws: {kind: cloud, provider: aws, regions: [us-east-1]}\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MY_TOKEN", "the-value-itself")
    return folder


def show(capsys: Any, *words: str, code: int = 0) -> str:
    assert dispatch(["config", "show", "demo", *words]) == code
    said = capsys.readouterr()
    return str(said.out if code == 0 else said.err)


def rows(capsys: Any, *words: str) -> dict[str, Any]:
    data = json.loads(show(capsys, *words, "--json"))
    assert data["schema"] == 1
    return {row["path"]: row for row in data["settings"]}


@pytest.mark.usefixtures("environment")
class TestConfigShow:
    """On the environment above."""

    def test_json_has_every_setting_whole(self, capsys: Any) -> None:
        found = rows(capsys)
        assert all(set(row) == KEYS for row in found.values())
        assert found["run.command.3"]["value"] == LONG
        assert found["run.environment.LINES"]["value"] == "one\ntwo\x1b[31m"
        assert found["run.environment.DIALECTS"]["value"] == "${A} ${{ b }} %{c} $(d)"
        assert found["run.limits.memory"] == {
            "path": "run.limits.memory", "value": 2**32, "text": "4 GiB", "unit": "bytes", "source": "parameter-default",
            "name": "memory", "place": {"file": "iac/tiny/1.0.0/template.yaml", "line": 6, "column": 34},
            "via": [
                {"source": "template", "name": "{{ memory }}", "place": {"file": "iac/tiny/1.0.0/run.yaml", "line": 4, "column": 38}},
                {"source": "parameter-default", "name": "memory", "place": {"file": "iac/tiny/1.0.0/template.yaml", "line": 6, "column": 34}},
            ],
        }  # fmt: skip
        assert (found["run.limits.wall_time"]["value"], found["run.limits.wall_time"]["text"]) == (
            5400.0,
            "1h 30m",
        )
        assert (found["objective.budget"]["value"], found["objective.budget"]["place"]["line"]) == (
            "5 USD",
            7,
        )
        open_files = found["run.limits.open_files"]
        assert (open_files["value"], open_files["source"], open_files["place"]) == (4096, "default", None)

    def test_secrets_are_references_only(self, capsys: Any) -> None:
        assert rows(capsys)["run.secrets.TOKEN"]["value"] == "env:MY_TOKEN"
        for words in ((), ("--json",)):
            assert "the-value-itself" not in show(capsys, *words)

    def test_a_secret_that_was_written_out_is_not_shown(self, environment: Path, capsys: Any) -> None:
        token = "hf_" + "aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zA"  # the form of a Hugging Face token
        run = environment.parent / "iac" / "tiny" / "1.0.0" / "run.yaml"
        run.write_text(run.read_text().replace("environment: {", f"environment: {{TOKEN_OF_ALL: {token}, "))
        for words in ((), ("--json",)):
            said = show(capsys, *words)
            assert token not in said
            assert "a secret is written out" in said

    def test_the_table_fits_and_no_text_breaks_it(self, capsys: Any) -> None:
        text = show(capsys)
        assert all(len(line) <= WIDTH for line in text.splitlines())
        assert "\x1b" not in text
        (lines,) = [line for line in text.splitlines() if line.startswith("  LINES ")]
        assert lines.split()[1] == '"one\\ntwo\\u001b[31m"'
        (long,) = [line for line in text.splitlines() if line.startswith("  3 ")]
        assert long.split()[1].endswith("x…")
        assert sum(line.startswith("  ") for line in text.splitlines()) == len(rows(capsys))

    def test_paths_narrow_and_show_the_way(self, capsys: Any) -> None:
        text = show(capsys, "run.limits.cpus", "objective")
        assert [line.split() for line in text.splitlines() if line][:7] == [
            ["objective"],
            ["budget", "5", "USD", "environment", "akotf.yaml:7:21"],
            ["deadline", "not", "set", "default"],
            ["prefer", "cost", "default"],
            ["run.limits"],
            ["cpus", "2", "default", "of", "cpus", "template.yaml:5:34"],
            ["<-", "{{", "cpus", "}}", "(run.yaml:4:16)"],
        ]
        assert "<- default of cpus  (template.yaml:5:34)" in text
        assert set(rows(capsys, "run.limits")) == {
            f"run.limits.{name}" for name in ("nodes", "gpu", "gpus", "gpus_optional", "cpus", "memory",
                                              "shared_memory", "open_files", "processes", "wall_time")
        }  # fmt: skip

    def test_an_override_is_told_as_one(self, capsys: Any) -> None:
        found = rows(capsys, "run.limits.cpus", "parameters.cpus", "-p", "cpus=8")
        assert {(r["value"], r["source"], r["name"], r["place"]["file"]) for r in found.values()} == {
            (8, "override", "cpus", "override cpus")
        }
        error = show(capsys, "-p", "cpuz=8", code=1)
        assert "override cpuz" in error
        assert "did you mean 'cpus'?" in error

    def test_changed_and_origin_choose_by_who_decided(self, capsys: Any) -> None:
        changed = rows(capsys, "--changed")
        assert {
            "parameters.steps",
            "run.workload.steps",
            "secrets.TOKEN",
            "scopes.aws.provider",
        } <= changed.keys()
        assert not {"run.limits.cpus", "run.limits.open_files", "scopes.campus.backend"} & changed.keys()
        for source in Source:
            assert all(row["source"] == source for row in rows(capsys, "--origin", source.value).values())
        assert set(rows(capsys, "--origin", "parameter")) == {"run.workload.steps"}

    def test_a_scope_ends_with_what_its_kind_decides(self, capsys: Any) -> None:
        found = rows(capsys, "--scope", "campus", "scopes")
        assert {path: row["value"] for path, row in found.items() if row["source"] == "scope"} == {
            "scopes.campus.backend": "slurm", "scopes.campus.partition": "the cluster's own",
            "scopes.campus.queue_wait": "30m", "scopes.campus.price": "unknown",
        }  # fmt: skip
        assert rows(capsys, "--scope", "aws")["scopes.aws.backend"]["value"] == "aws"
        assert "scopes.campus.kind" not in rows(capsys, "--scope", "here")
        assert "did you mean 'campus'?" in show(capsys, "--scope", "campos", code=1)

    @pytest.mark.parametrize(
        ("path", "remedy"),
        [
            ("run.limts.cpus", "did you mean 'limits'?"),
            ("run.limits.cpu", "did you mean 'cpus'?"),
            ("parameter", "did you mean 'parameters'?"),
            ("run.limits.cpus.x", "allowed here"),
        ],
    )
    def test_a_path_that_is_not_there_names_the_near_one(self, path: str, remedy: str, capsys: Any) -> None:
        error = show(capsys, path, code=1)
        assert f"there is no setting '{path}'" in error
        assert remedy.split(" here")[0] in error or path.endswith(".x")

    def test_in_its_folder_an_environment_needs_no_name(
        self, environment: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(environment)
        assert dispatch(["config", "show"]) == 0
        assert capsys.readouterr().out.startswith("environment\n")
        assert dispatch(["config", "show", "run.limits", "owner"]) == 1
        assert "remedy: akotf config show . run.limits owner\n" in capsys.readouterr().err

    def test_a_faulty_environment_tells_its_faults(self, environment: Path, capsys: Any) -> None:
        file = environment / "akotf.yaml"
        file.write_text(file.read_text().replace("owner: me", "ownr: me"))
        error = show(capsys, code=1)
        assert "akotf.yaml:3:1" in error
        assert "did you mean 'owner'?" in error

    def test_nothing_is_written(self, environment: Path, capsys: Any) -> None:
        before = sorted(environment.rglob("*"))
        show(capsys)
        assert sorted(environment.rglob("*")) == before
