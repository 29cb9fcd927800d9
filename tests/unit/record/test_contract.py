"""The validation contract: each kind of check passes and fails for its own reason."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from akotf.errors import ConfigError
from akotf.model.layout import Layout
from akotf.record.contract import check


def judge(ended: Any, tmp_path: Path, **one: Any) -> tuple[bool, str]:
    folder = tmp_path / "evidence"
    if not folder.exists():
        ended.write(folder)
    contract = {"version": 1, "checks": [{"name": "it", **one}]}
    (result,) = check(contract, folder, ended.outputs, bundle=tmp_path)
    assert result.name == "it"
    return result.passed, result.detail


@pytest.mark.parametrize(
    ("one", "passed", "detail"),
    [
        ({"kind": "run"}, True, "succeeded"),
        ({"kind": "run", "state": "failed"}, False, "the run succeeded, the contract says failed"),
        ({"kind": "artifacts", "paths": ["model.pt", "deep/größe.txt"]}, True, "model.pt"),
        ({"kind": "artifacts", "paths": ["model.pt", "no.txt"]}, False, "missing: no.txt"),
        ({"kind": "digests"}, True, "3 files have their size and SHA-256"),
        ({"kind": "metric", "file": "metrics.json", "metric": "validation_loss", "below": "unigram_entropy", "margin": 0.9}, True,
         "validation_loss 2 is below unigram_entropy 3 by 0.9"),
        ({"kind": "metric", "file": "metrics.json", "metric": "validation_loss", "below": "unigram_entropy", "margin": 1.0}, False,
         "is not below unigram_entropy 3 by 1"),
        ({"kind": "metric", "file": "metrics.json", "metric": "steps", "equals": 100, "above": 99}, True, "steps 100 is above 99 and is equal to 100"),
        ({"kind": "metric", "file": "metrics.json", "metric": "steps", "equals": 101}, False, "is not equal to 101"),
        ({"kind": "metric", "file": "metrics.json", "metric": "nothing", "below": 1}, False, "nothing is None, no finite number"),
        ({"kind": "metric", "file": "none.json", "metric": "steps", "below": 1}, False, "none.json"),
        ({"kind": "metric", "file": "metrics.json", "metric": "steps"}, False, "compares it with nothing"),
        ({"kind": "drifts", "healed": 2, "fields": ["hyperparameters.file.learning_rate"]}, True, "2 of 2 drifts were healed"),
        ({"kind": "drifts", "healed": 3}, False, "the contract asks for 3"),
        ({"kind": "drifts", "healed": 1, "fields": ["limits.open_files"]}, False, "not healed: limits.open_files"),
        ({"kind": "prediction"}, True, "the step time was +20.0% off the prediction"),  # 0.6 s observed, 0.5 s predicted
        ({"kind": "prediction", "max_error": 0.21}, True, "at most 21%"),
        ({"kind": "prediction", "max_error": 0.19}, False, "at most 19%"),
        ({"kind": "evidence"}, True, "integrity only"),
    ],
)  # fmt: skip
def test_checks(ended: Any, tmp_path: Path, one: dict[str, Any], passed: bool, detail: str) -> None:
    result = judge(ended, tmp_path, **one)
    assert result[0] is passed, result
    assert detail in result[1]


def test_a_changed_output_fails_its_digest(ended: Any, tmp_path: Path) -> None:
    judge(ended, tmp_path, kind="digests")
    (ended.outputs / "model.pt").write_bytes(b"other")
    assert judge(ended, tmp_path, kind="digests") == (False, "model.pt was changed after the run")


def test_an_empty_artifact_and_a_metric_that_is_no_number(ended: Any, tmp_path: Path) -> None:
    (ended.outputs / "model.pt").write_bytes(b"")
    (ended.outputs / "metrics.json").write_text('{"loss": NaN, "flag": true}')
    assert judge(ended, tmp_path, kind="artifacts", paths=["model.pt"]) == (False, "empty: model.pt")
    for metric in ("loss", "flag"):
        passed, detail = judge(ended, tmp_path, kind="metric", file="metrics.json", metric=metric, below=9)
        assert (passed, "no finite number" in detail) == (False, True)


def test_evidence_that_was_changed_fails(ended: Any, tmp_path: Path) -> None:
    judge(ended, tmp_path, kind="evidence")
    (tmp_path / "evidence" / "selection.json").write_text("{}")
    passed, detail = judge(ended, tmp_path, kind="evidence")
    assert (passed, "selection.json was changed" in detail) == (False, True)


def test_evidence_that_is_not_there_fails_every_check_that_reads_it(tmp_path: Path) -> None:
    kinds = [
        {"kind": "run"},
        {"kind": "digests"},
        {"kind": "drifts", "healed": 0},
        {"kind": "prediction"},
        {"kind": "evidence"},
    ]
    contract = {"version": 1, "checks": [{"name": str(n), **one} for n, one in enumerate(kinds)]}
    results = check(contract, tmp_path / "none", tmp_path)
    assert [r.passed for r in results] == [False] * 5


def test_the_expected_manifest_of_an_akoflow_bundle(ended: Any, tmp_path: Path) -> None:
    expected = tmp_path / "expected" / "manifest.json"
    expected.parent.mkdir()
    manifest = {"showcase": "quickstart", "artifacts": ["model.pt", "metrics.json"], "status": "success"}
    expected.write_text(json.dumps(manifest))
    assert judge(ended, tmp_path, kind="expected", file="expected/manifest.json")[0]
    expected.write_text(json.dumps({**manifest, "artifacts": ["other.bin"]}))
    assert judge(ended, tmp_path, kind="expected", file="expected/manifest.json") == (
        False,
        "status success; missing: other.bin",
    )
    expected.write_text(json.dumps({**manifest, "status": "failed"}))
    assert not judge(ended, tmp_path, kind="expected", file="expected/manifest.json")[0]


def test_outputs_and_bundle_are_found_where_the_run_left_them(ended: Any, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    folder = ended.write(Layout(environment).run_evidence(ended.run.id))
    (environment / "manifest.json").write_text(
        json.dumps({"showcase": "q", "artifacts": ["model.pt"], "status": "success"})
    )
    checks = [
        {"name": "a", "kind": "digests"},
        {"name": "b", "kind": "expected", "file": "manifest.json"},
    ]
    contract = {"version": 1, "checks": checks}
    assert [r.passed for r in check(contract, folder)] == [True, True]
    shutil.rmtree(ended.outputs)
    assert [r.passed for r in check(contract, folder)] == [False, False]


def test_all_faults_of_a_contract_at_once(tmp_path: Path) -> None:
    contract = {
        "version": 2,
        "checks": [
            {"name": "a", "kind": "artifacts", "paths": ["../../etc/passwd"]},
            {"name": "b", "kind": "guess"},
            {"name": "", "kind": "run", "colour": "red"},
        ],
    }
    with pytest.raises(ConfigError) as caught:
        check(contract, tmp_path, tmp_path)
    wrong = {"version", "checks.0.artifacts.paths.0", "checks.1", "checks.2.run.name", "checks.2.run.colour"}
    assert wrong <= {f.path for f in caught.value.findings}
    with pytest.raises(ConfigError, match="checks"):
        check(
            {"version": 1, "checks": []}, tmp_path, tmp_path
        )  # a contract that checks nothing passes nothing
