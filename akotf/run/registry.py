"""Runs and their attempts on disk: `run.json` of a run and `request.json` of an attempt, replaced atomically."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from akotf.errors import StoreError
from akotf.facts import heartbeat
from akotf.facts.files import read_json, write_json_atomic
from akotf.model.base import Frozen
from akotf.model.layout import Layout
from akotf.model.run import Run, RunRequest

SCHEMA = 1
Value = TypeVar("Value", bound=Frozen)


def save_run(layout: Layout, run: Run) -> Run:
    """Remember the run durably; returns it."""
    _save(layout.run(run.id) / "run.json", run)
    return run


def load_run(layout: Layout, run_id: str) -> Run:
    """A run by id. StoreError, with the known ids, when there is none or its file can't be read."""
    path = layout.run(run_id) / "run.json"
    if "/" in run_id or not path.is_file():
        known = ", ".join(run.id for run in list_runs(layout)[-5:]) or "none"
        raise StoreError(
            f"there is no run {run_id!r}; the latest are: {known}",
            where=str(layout.runs),
            remedy="akotf records",
        )
    return _load(path, Run)


def list_runs(layout: Layout) -> list[Run]:
    """All runs, oldest first. StoreError when one can't be read: none is left out in silence."""
    try:
        # glob would pass over a folder that we may not read: a run of somebody else's, which lives perhaps
        paths = [folder / "run.json" for folder in layout.runs.iterdir()]
        runs = [_load(path, Run) for path in paths if _is_there(path)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise StoreError(
            f"can't be read: {error.strerror}",
            where=str(error.filename or layout.runs),
            remedy="mend its permissions, or work as the user who started its run",
        ) from error
    return sorted(runs, key=lambda run: (run.created_at, run.id))


def _is_there(path: Path) -> bool:
    """As `exists`, but what may not be looked at is an error."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def latest(layout: Layout) -> Run | None:
    """The run created last, or None."""
    runs = list_runs(layout)
    return runs[-1] if runs else None


def attempt_directory(layout: Layout, run_id: str, number: int) -> Path:
    """Where an attempt's logs and its backend's files lie."""
    return layout.run(run_id) / f"attempt-{number}"


def save_request(request: RunRequest) -> None:
    """Remember what an attempt was started with."""
    _save(Path(request.attempt_directory) / "request.json", request)


def load_request(layout: Layout, run_id: str, number: int) -> RunRequest:
    """What an attempt was started with. StoreError when it can't be read."""
    return _load(attempt_directory(layout, run_id, number) / "request.json", RunRequest)


def _save(path: Path, value: Frozen) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json_atomic(path, {"schema": SCHEMA, **value.to_json()})
    except OSError as error:
        raise StoreError(
            f"can't be written: {error}",
            where=str(path),
            remedy="free space or mend permissions, then run again",
        ) from error


def _load(path: Path, kind: type[Value]) -> Value:
    try:
        data = read_json(path)
        schema = data.pop("schema", None) if isinstance(data, dict) else None
        if schema != SCHEMA:
            raise ValueError(f"schema {schema!r} is unknown; this akotf reads {SCHEMA}")
        return kind.model_validate(data)
    except (OSError, ValueError, ValidationError) as error:
        raise StoreError(
            f"can't be read: {error}", where=str(path), remedy="restore the file from a copy of .akotf/runs"
        ) from error


def train_totals(layout: Layout, run: Run, number: int) -> tuple[float, int]:
    """Seconds spent in steps and steps done by an attempt, by its last heartbeat; (0.0, 0) when it left none."""
    try:
        beat = heartbeat.read(load_request(layout, run.id, number).heartbeat)
    except (OSError, heartbeat.Unreadable):
        return 0.0, 0
    return float(beat.get("train_seconds", 0.0)), int(beat.get("train_steps", 0))
