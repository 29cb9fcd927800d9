"""The validation contract of a bundle (`validation.yaml`): what a run has to show, checked on its evidence and outputs.

```yaml
version: 1
checks:
  - {name: the run succeeded, kind: run, state: succeeded}
  - {name: outputs are there, kind: artifacts, paths: [model.pt, metrics.json]}     # files, not empty
  - {name: outputs are the run's, kind: digests}          # size and SHA-256 as outputs.json of the evidence says
  - {name: as expected, kind: expected, file: expected/manifest.json}  # AkôFlow's {showcase, artifacts, status}
  - name: it learned
    kind: metric
    file: metrics.json                                    # an output: an object of numbers
    metric: validation_loss
    below: unigram_entropy                                # below | above | equals: a number, or another metric
    margin: 0.1                                           # value < target - margin, or > target + margin
  - {name: drift was healed, kind: drifts, healed: 3, fields: [limits.open_files]}  # at least; fields: each healed
  - {name: prediction error is on record, kind: prediction, max_error: 0.5}  # of the step time; max_error may be left out
  - {name: evidence is whole, kind: evidence}             # what `akotf verify` says
```

Every check has a name of its own. Paths are relative: of outputs to the output folder, of `expected` to the bundle.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, Field, ValidationError

from akotf.errors import AkotfError, ConfigError
from akotf.model.base import Frozen
from akotf.model.finding import Finding
from akotf.model.layout import Layout
from akotf.model.statement import OutputManifest
from akotf.record.outputs import compare
from akotf.record.verify import verify


class CheckResult(NamedTuple):
    """One check: whether it passed, and the figures that say so."""

    name: str
    passed: bool
    detail: str


def _inside(path: str) -> str:
    if Path(path).is_absolute() or ".." in Path(path).parts:
        raise ValueError("must be a path inside the folder")
    return path


Inside = Annotated[str, AfterValidator(_inside)]


class _Check(Frozen):
    name: str = Field(min_length=1)


class _Run(_Check):
    kind: Literal["run"]
    state: str = "succeeded"


class _Artifacts(_Check):
    kind: Literal["artifacts"]
    paths: tuple[Inside, ...] = Field(min_length=1)


class _Digests(_Check):
    kind: Literal["digests"]


class _Expected(_Check):
    kind: Literal["expected"]
    file: Inside


class _Metric(_Check):
    kind: Literal["metric"]
    file: Inside
    metric: str
    below: float | str | None = None
    above: float | str | None = None
    equals: float | str | None = None
    margin: float = Field(0.0, ge=0)


class _Drifts(_Check):
    kind: Literal["drifts"]
    healed: int = Field(ge=0)
    fields: tuple[str, ...] = ()


class _Prediction(_Check):
    kind: Literal["prediction"]
    max_error: float | None = Field(None, ge=0)


class _Evidence(_Check):
    kind: Literal["evidence"]


_Any = _Run | _Artifacts | _Digests | _Expected | _Metric | _Drifts | _Prediction | _Evidence


class Contract(Frozen):
    """`validation.yaml`."""

    version: Literal[1]
    checks: tuple[Annotated[_Any, Field(discriminator="kind")], ...] = Field(min_length=1)


class _Place(NamedTuple):
    evidence: Path
    outputs: Path
    bundle: Path


def parse(contract: Mapping[str, Any]) -> Contract:
    """The contract; ConfigError with every fault."""
    try:
        return Contract.model_validate(contract)
    except ValidationError as error:
        findings = [
            Finding(
                rule="contract/invalid",
                path=".".join(str(part) for part in fault["loc"]),
                message=fault["msg"],
            )
            for fault in error.errors()
        ]
        raise ConfigError(
            "the validation contract has faults: " + "; ".join(f"{f.path}: {f.message}" for f in findings),
            findings,
            remedy="see the reference of validation.yaml for the kinds of checks and their fields",
        ) from error


def check(
    contract: Mapping[str, Any],
    evidence_folder: Path,
    outputs: Path | None = None,
    *,
    bundle: Path | None = None,
) -> list[CheckResult]:
    """Every check's result, in order; what can't be read fails its check. ConfigError when the contract is none.

    `outputs` defaults to those of the run where it ran; `bundle`, the folder of `validation.yaml` for checks that
    read expected files, to the environment that the evidence lies in, else the current folder.
    """
    checks = parse(contract).checks
    place = _Place(
        evidence_folder, outputs or _outputs_of(evidence_folder), bundle or _bundle_of(evidence_folder)
    )
    results = []
    for one in checks:
        judge: Callable[[Any, _Place], tuple[bool, str]] = _JUDGES[one.kind]
        try:
            passed, detail = judge(one, place)
        except AkotfError as error:
            passed, detail = False, error.message
        except (OSError, ValueError, KeyError, TypeError) as error:
            passed, detail = False, f"can't be judged: {error}"
        results.append(CheckResult(one.name, passed, detail))
    return results


def _outputs_of(evidence: Path) -> Path:
    """Where the run left its outputs; a folder that is not there when the evidence does not say."""
    try:
        return Path(_read(evidence / "run.json")["directory"]) / "outputs"
    except (OSError, ValueError, KeyError, TypeError):
        return evidence / "outputs"


def _bundle_of(evidence: Path) -> Path:
    folder = evidence.resolve()
    return next((p for p in folder.parents if Layout(p).evidence == folder.parent), Path.cwd())


def _read(path: Path) -> Any:
    return json.loads(path.read_bytes())


def _run(one: _Run, place: _Place) -> tuple[bool, str]:
    state = _read(place.evidence / "run.json")["state"]
    return state == one.state, f"the run {state}, the contract says {one.state}"


def _files(paths: tuple[str, ...], outputs: Path) -> tuple[bool, str]:
    absent = [p for p in paths if not (outputs / p).is_file()]
    empty = [p for p in paths if p not in absent and not (outputs / p).stat().st_size]
    said = [f"missing: {', '.join(absent)}"] if absent else []
    said += [f"empty: {', '.join(empty)}"] if empty else []
    return not said, "; ".join(said) or f"{', '.join(paths)}"


def _artifacts(one: _Artifacts, place: _Place) -> tuple[bool, str]:
    return _files(one.paths, place.outputs)


def _digests(_: _Digests, place: _Place) -> tuple[bool, str]:
    manifest = OutputManifest.model_validate(_read(place.evidence / "outputs.json"))
    findings = compare(manifest, place.outputs)
    if findings:
        return False, "; ".join(f.message for f in findings)
    return bool(manifest.files), f"{len(manifest.files)} files have their size and SHA-256"


def _expected(one: _Expected, place: _Place) -> tuple[bool, str]:
    expected = _read(place.bundle / one.file)
    state = _read(place.evidence / "run.json")["state"]
    passed, detail = _files(tuple(expected["artifacts"]), place.outputs)
    status = "success" if state == "succeeded" else state
    if status != expected["status"]:
        return False, f"status is {status}, expected {expected['status']}; {detail}"
    return passed, f"status {status}; {detail}"


def _metric(one: _Metric, place: _Place) -> tuple[bool, str]:
    metrics = _read(place.outputs / one.file)
    value = _number(metrics, one.metric)
    passed, said = True, []
    for word, target in (("below", one.below), ("above", one.above), ("equal to", one.equals)):
        if target is None:
            continue
        bound = _number(metrics, target) if isinstance(target, str) else target
        name = f"{target} {bound:.4g}" if isinstance(target, str) else f"{bound:.4g}"
        margin = f" by {one.margin:g}" if one.margin and word != "equal to" else ""
        if word == "below":
            right = value < bound - one.margin
        elif word == "above":
            right = value > bound + one.margin
        else:
            right = abs(value - bound) <= one.margin
        passed &= right
        said.append(f"{'is' if right else 'is not'} {word} {name}{margin}")
    if not said:
        return False, f"{one.metric} is {value:.4g}, and the contract compares it with nothing"
    return passed, f"{one.metric} {value:.4g} {' and '.join(said)}"


def _number(metrics: Mapping[str, Any], name: str) -> float:
    value = metrics.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"{name} is {value!r}, no finite number")
    return float(value)


def _drifts(one: _Drifts, place: _Place) -> tuple[bool, str]:
    drifts = _read(place.evidence / "drift.json")["drifts"]
    healed = [drift["field"] for drift in drifts if drift["healed"]]
    lacking = [name for name in one.fields if name not in healed]
    said = f"{len(healed)} of {len(drifts)} drifts were healed ({', '.join(healed) or 'none'})"
    if lacking:
        said += f"; not healed: {', '.join(lacking)}"
    return len(healed) >= one.healed and not lacking, f"{said}; the contract asks for {one.healed}"


def _prediction(one: _Prediction, place: _Place) -> tuple[bool, str]:
    error = _number(_read(place.evidence / "prediction.json"), "step_time_error")
    said = f"the step time was {error:+.1%} off the prediction"
    if one.max_error is None:
        return True, said
    return abs(error) <= one.max_error, f"{said}; at most {one.max_error:.0%} is allowed"


def _evidence(_: _Evidence, place: _Place) -> tuple[bool, str]:
    report = verify(place.evidence)
    if report.findings:
        return False, "; ".join(f.message for f in report.findings)
    return True, f"every file and entry is as it was written ({report.level})"


_JUDGES: Mapping[str, Callable[[Any, _Place], tuple[bool, str]]] = {
    "run": _run,
    "artifacts": _artifacts,
    "digests": _digests,
    "expected": _expected,
    "metric": _metric,
    "drifts": _drifts,
    "prediction": _prediction,
    "evidence": _evidence,
}
