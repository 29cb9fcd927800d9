"""The helper that a training script may import: one standard-library file, Python >= 3.9.

It speaks two plain protocols that any framework can write without it: a heartbeat (one JSON file, replaced
atomically) and checkpoint folders whose `manifest.json` is written last. Everything comes from `AKOTF_*`
variables; without them a script runs by itself and keeps its files under `directory`.

    with Training(total_steps=1000) as training:
        for step in range(first, 1000):
            loss = train_step(training.hyperparameters["learning_rate"])
            training.step(step, loss, learning_rate=optimizer.param_groups[0]["lr"])
            if step % 100 == 0 or training.should_stop:
                training.save(step, lambda folder: torch.save(state, folder / "model.pt"))
            if training.should_stop:
                break
"""

import collections
import contextlib
import hashlib
import importlib.metadata
import json
import math
import os
import platform
import shutil
import signal
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Callable, Deque, Dict, Iterator, List, Optional, Type

SCHEMA = 1
STOP_SIGNALS = (signal.SIGTERM, signal.SIGUSR1)


class Training:
    """One process of a training, from its start to its end, as a context manager.

    `defaults` are hyperparameters for a run without akotf (the approved file wins over them), `keep` is how many
    complete checkpoints stay, `heartbeat_interval` the least time between two heartbeats in seconds, `directory`
    where files go when no `AKOTF_*` variable says it. Only rank 0 writes heartbeats and checkpoints.
    """

    def __init__(
        self,
        total_steps: Optional[int] = None,
        *,
        defaults: Optional[Dict[str, Any]] = None,
        keep: Optional[int] = None,
        heartbeat_interval: float = 0.5,
        directory: str = "akotf-run",
    ) -> None:
        keep = int(os.environ.get("AKOTF_CHECKPOINT_KEEP") or 3) if keep is None else keep
        if keep < 1:
            raise ValueError(
                "keep must be at least 1: the newest complete checkpoint is what a restart needs"
            )
        here = Path(directory).absolute()
        self.total_steps = total_steps
        self.keep = keep
        self.heartbeat_interval = heartbeat_interval
        self.rank = int(os.environ.get("RANK", "0"))
        self.local_rank = int(os.environ.get("LOCAL_RANK", "0"))
        self.world_size = int(os.environ.get("WORLD_SIZE", "1"))
        self.is_main = self.rank == 0
        self.baseline = os.environ.get("AKOTF_BASELINE", "")
        self.checkpoints = Path(os.environ.get("AKOTF_CHECKPOINTS") or here / "checkpoints")
        self.outputs = Path(os.environ.get("AKOTF_OUTPUTS") or here / "outputs")
        self.heartbeat = Path(os.environ.get("AKOTF_HEARTBEAT") or here / "heartbeat.json")
        resume = os.environ.get("AKOTF_RESUME_FROM", "")
        self.resume_from: Optional[Path] = Path(resume) if resume else None
        self.hyperparameters: Dict[str, Any] = {**(defaults or {}), **_hyperparameters()}
        self._libraries = _declared_libraries()
        self._stop = False  # a plain flag: a lock taken in a signal handler can deadlock
        self._handlers: Dict[int, Any] = {}
        self._complained = False  # that the heartbeat can't be written
        self._phase = "setup"
        self._durations: Deque[float] = collections.deque(maxlen=20)
        self._train_seconds = 0.0  # of this process, over all its steps
        self._train_steps = 0
        self._mark: Optional[float] = None  # where the current step began; unknown before the first one ends
        self._written = -math.inf  # when the last heartbeat was written
        self._last: Dict[str, Any] = {"step": 0, "loss": None, "hyperparameters": {}}

    def __enter__(self) -> "Training":
        """Take the stop signals (in the main thread), make the folders, tell that the process is there."""
        if threading.current_thread() is threading.main_thread():
            for number in STOP_SIGNALS:
                self._handlers[number] = signal.signal(number, self._on_signal)
        if self.is_main:
            self.outputs.mkdir(parents=True, exist_ok=True)
            self.checkpoints.mkdir(parents=True, exist_ok=True)
            for leftover in self.checkpoints.glob(".step-*"):  # a crash cut these off
                shutil.rmtree(leftover, ignore_errors=True)
            self.heartbeat.parent.mkdir(parents=True, exist_ok=True)
        self._beat()
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        """Put the signal handlers back; a clean end that nobody asked for is phase `done`."""
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self._handlers.clear()
        if kind is None and not self.should_stop:
            self._phase = "done"
        self._beat()

    @property
    def should_stop(self) -> bool:
        """True after SIGTERM or SIGUSR1: save and leave. With several ranks, let all agree on it (all-reduce)."""
        return self._stop

    def step(self, step: int, loss: Any = None, **hyperparameters_in_use: Any) -> None:
        """Tell that `step` is done, with its loss (a number or a one-element tensor) and what is really in use.

        The time of a step runs from the end of the one before; setting up is no part of the first.
        Cheap: the loss is converted and the file written only when `heartbeat_interval` has passed.
        """
        now = time.monotonic()
        if self._mark is not None:
            self._durations.append(now - self._mark)
            self._train_seconds += now - self._mark
            self._train_steps += 1
        self._mark = now
        self._phase = "train"
        self._last["step"] = step
        self._last["loss"] = loss
        if hyperparameters_in_use:
            self._last["hyperparameters"] = hyperparameters_in_use
        if now - self._written >= self.heartbeat_interval:
            self._beat()

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Name what is done now (`evaluate`, `checkpoint`, ...); its time counts in no step."""
        before, self._phase = self._phase, name
        self._beat()
        try:
            yield
        finally:
            self._phase = before
            self._mark = time.monotonic()
            self._beat()

    def save(self, step: int, write: Callable[[Path], Any]) -> Path:
        """Write a complete checkpoint: `write(folder)` puts files into an empty folder; returns its final path.

        The folder appears under its name only when every byte and the manifest are on disk; then the oldest ones
        go until `keep` are left. The newest one that was trained with the approved values stays in any case: a
        restart goes on from it. Other ranks than 0 get the path and write nothing.
        """
        final = self.checkpoints / "step-{:08d}".format(step)
        if not self.is_main:
            return final
        with self.phase("checkpoint"):
            partial = self.checkpoints / (".{}.partial".format(final.name))
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)
            write(partial)
            _seal(
                partial,
                {
                    "schema": SCHEMA,
                    "step": step,
                    "baseline": self.baseline,
                    "hyperparameters": self._in_use(),
                },
            )
            _put_in_place(partial, final)
            others = [path for path in _complete_by_name(self.checkpoints) if path != final]
            approved = [path for path in (*others, final) if self._is_approved(path)]
            for old in others[: max(0, len(others) + 1 - self.keep)]:
                if old not in approved[-1:]:
                    shutil.rmtree(old, ignore_errors=True)
        return final

    def _is_approved(self, folder: Path) -> bool:
        """Whether a checkpoint was trained with the values that this process was started with."""
        try:
            used = (
                json.loads((folder / "manifest.json").read_text(encoding="utf-8")).get("hyperparameters")
                or {}
            )
        except (OSError, ValueError, AttributeError):
            return False  # not one to go on from
        return all(value == self.hyperparameters.get(name, value) for name, value in used.items())

    def _in_use(self) -> Dict[str, Any]:
        """The hyperparameters really in use, as last told."""
        return {name: _plain(value) for name, value in self._last["hyperparameters"].items()}

    def _on_signal(self, *_: Any) -> None:
        self._stop = True

    def _beat(self) -> None:
        """Replace the heartbeat file. No fsync: it need not survive the machine.

        A heartbeat that can't be written (disk full) is told once on stderr and does not end the training.
        """
        if not self.is_main:
            return
        self._written = time.monotonic()
        durations = self._durations
        beat = {
            "schema": SCHEMA,
            "step": self._last["step"],
            "total_steps": self.total_steps,
            "loss": _finite(self._last["loss"]),
            "step_time": sum(durations) / len(durations) if durations else None,
            "train_seconds": self._train_seconds,
            "train_steps": self._train_steps,
            "phase": self._phase,
            "hyperparameters": self._in_use(),
            "libraries": self._libraries,
            "time": time.time(),
            "pid": os.getpid(),
        }
        text = json.dumps(beat, allow_nan=False)
        temporary = self.heartbeat.with_name(".{}.{}".format(self.heartbeat.name, os.getpid()))
        try:
            temporary.write_text(text, encoding="utf-8")
            os.replace(temporary, self.heartbeat)
        except OSError as error:
            if not self._complained:
                print("heartbeat can't be written: {}".format(error), file=sys.stderr, flush=True)
            self._complained = True


def read_manifest(folder: Path) -> Dict[str, Any]:
    """The manifest of a checkpoint folder after its files were checked against it; ValueError when one differs."""
    try:
        manifest = json.loads((Path(folder) / "manifest.json").read_text(encoding="utf-8"))
        files = manifest["files"]
        if manifest["schema"] != SCHEMA:
            raise ValueError("{}: manifest schema {!r} is unknown".format(folder, manifest["schema"]))
        for name, entry in files.items():
            path = Path(folder) / name
            if path.stat().st_size != entry["size"] or _sha256(path) != entry["sha256"]:
                raise ValueError("{}: size or digest differs from the manifest".format(path))
    except (OSError, KeyError, TypeError, AttributeError) as error:
        raise ValueError("{}: no complete checkpoint: {}".format(folder, error)) from error
    return dict(manifest)


def _hyperparameters() -> Dict[str, Any]:
    """The approved values from the file that akotf wrote; {} without akotf."""
    path = os.environ.get("AKOTF_HYPERPARAMETERS")
    if not path:
        return {}
    values = json.loads(Path(path).read_text(encoding="utf-8"))
    if not isinstance(values, dict):
        raise ValueError("{}: hyperparameters must be a JSON object".format(path))
    return values


def _declared_libraries() -> Dict[str, str]:
    """Versions really installed of the libraries that the baseline beside the hyperparameters declares."""
    path = os.environ.get("AKOTF_HYPERPARAMETERS")
    if not path:
        return {}
    try:
        baseline = json.loads(Path(path).with_name("baseline.json").read_text(encoding="utf-8"))
        names = list(baseline.get("libraries", {}))
    except (OSError, ValueError, AttributeError):
        return {}  # a heartbeat without libraries is still a heartbeat
    found = {}
    for name in names:
        if name == "python":
            found[name] = platform.python_version()
            continue
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue  # absent here: there is no version to report
    return found


def _finite(value: Any) -> Optional[float]:
    """The number, or None where JSON has no word for it (NaN, infinity)."""
    if value is None:
        return None
    number = float(value)
    return number if math.isfinite(number) else None


def _plain(value: Any) -> Any:
    """A JSON value: numbers of array libraries become Python's; what has no JSON form becomes its text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    item = getattr(value, "item", None)
    return _plain(item()) if callable(item) else str(value)


def _seal(folder: Path, manifest: Dict[str, Any]) -> None:
    """fsync every file of the folder, then write `manifest.json` last."""
    files = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        _fsync(path)
        files[path.relative_to(folder).as_posix()] = {"size": path.stat().st_size, "sha256": _sha256(path)}
    if not files:
        raise ValueError("{}: the checkpoint's writer left no file".format(folder))
    for inner in [p for p in folder.rglob("*") if p.is_dir()]:
        _fsync(inner)
    path = folder / "manifest.json"
    path.write_text(json.dumps({**manifest, "files": files}, indent=1, sort_keys=True), encoding="utf-8")
    _fsync(path)
    _fsync(folder)


def _put_in_place(partial: Path, final: Path) -> None:
    """Rename the sealed folder to its name.

    One of the same step that is there already makes room first, under a name that still counts as a checkpoint:
    no moment without a complete one.
    """
    old = final.with_name("{}.replaced".format(final.name))
    if final.exists():
        shutil.rmtree(old, ignore_errors=True)
        os.rename(final, old)
    os.rename(partial, final)
    _fsync(final.parent)
    shutil.rmtree(old, ignore_errors=True)


def _complete_by_name(folder: Path) -> List[Path]:
    """Checkpoints that have a manifest, oldest first."""
    return sorted(path.parent for path in folder.glob("step-*/manifest.json"))


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        for block in iter(lambda: stream.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def _fsync(path: Path) -> None:
    descriptor = os.open(str(path), os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
