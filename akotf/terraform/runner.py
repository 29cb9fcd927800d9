"""Terraform or OpenTofu as the port `Terraform` wants it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from akotf.errors import Interrupted, TerraformError
from akotf.model.tfplan import TfPlan
from akotf.ports import Event
from akotf.terraform.binary import find_binary, is_supported, unsupported, version_of
from akotf.terraform.diagnostics import errors_of, failure
from akotf.terraform.environment import cli_configuration, scrubbed
from akotf.terraform.initialised import is_initialised, mark
from akotf.terraform.planfile import read_plan
from akotf.terraform.process import Finished, Process

__all__ = ["TerraformRunner", "find_binary"]

_PLANS = "akotf-plan-"
OnEvent = Callable[[Event], None]


class _Output:
    """What one command said: diagnostics, and whatever was not a line of JSON."""

    def __init__(self, on_event: OnEvent | None) -> None:
        self._on_event = on_event
        self.diagnostics: list[dict[str, Any]] = []
        self.raw: list[str] = []
        self.version = ""

    def line(self, data: bytes) -> None:
        try:
            event = json.loads(data)
        except ValueError:
            event = None
        if not isinstance(event, dict):
            self.raw.append(data.decode(errors="replace"))
            return
        if event.get("type") == "version":
            self.version = str(event.get("terraform") or event.get("tofu") or "")
        if isinstance(found := event.get("diagnostic"), dict):
            self.diagnostics.append(found)
        if self._on_event is not None:
            self._on_event(event)


class TerraformRunner:
    """Runs one binary; implements `akotf.ports.Terraform`.

    `environment` is what the process may see, less every `TF_*`. `cache` is a shared folder for downloaded providers.
    """

    def __init__(self, binary: Path, *, environment: Mapping[str, str], cache: Path | None = None) -> None:
        self._binary = binary.absolute()
        self._environment = environment
        self._cache = cache
        self._version = ""
        self._current: Process | None = None

    def version(self) -> str:
        """`1.11.4`; TerraformError when the binary does not answer, MissingDependency when it is too old."""
        self._version = self._version or version_of(self._binary)
        if not self._version:
            raise TerraformError(
                f"{self._binary} does not answer as Terraform does", remedy="see `akotf doctor`"
            )
        if not is_supported(self._version):
            raise unsupported(f"{self._binary} is {self._version}")
        return self._version

    def interrupt(self) -> None:
        """Ask the command that runs now to end: once gracefully, again at once. Safe from another thread."""
        if (process := self._current) is not None:
            process.interrupt()

    def init(self, root: Path, on_event: OnEvent | None = None) -> None:
        """Prepare the root; does nothing when what init reads has not changed since the last time."""
        if is_initialised(root, self._binary_key()):
            return
        if self._cache is not None:
            self._cache.mkdir(parents=True, exist_ok=True)
        # -reconfigure: the backend block is generated, so a moved folder has a new path and its state moved with it.
        self._checked("init", root, ["init", "-reconfigure", "-input=false", "-json"], on_event)
        mark(root, self._binary_key())

    def validate(self, root: Path) -> list[dict[str, Any]]:
        """Terraform's own diagnostics (errors and warnings) of an initialised root."""
        answer = self._json("validate", root, ["validate", "-json"])
        return list(answer.get("diagnostics", ()))

    def plan(
        self, root: Path, *, targets: Sequence[str] = (), destroy: bool = False, refresh_only: bool = False,
        refresh: bool = True, on_event: OnEvent | None = None,
    ) -> TfPlan:  # fmt: skip
        """Plan into a 0600 file in a private folder and read it as JSON. The caller deletes it by `discard`."""
        _sweep_plans()
        folder = Path(tempfile.mkdtemp(prefix=f"{_PLANS}{os.getpid()}-"))
        path = folder / "tfplan"
        argv = ["plan", "-input=false", "-json", f"-out={path}"]
        argv += ["-destroy"] if destroy else []
        argv += ["-refresh-only"] if refresh_only else []
        argv += [] if refresh else ["-refresh=false"]
        argv += [f"-target={address}" for address in targets]
        try:
            self._checked("plan", root, argv, on_event)
            data = self._json("show", root, ["show", "-json", str(path)])
            path.chmod(0o600)
            return read_plan(data, root=root, path=path, destroy=destroy, targets=targets)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def apply(self, plan: TfPlan, on_event: OnEvent | None = None) -> None:
        """Apply exactly that saved plan."""
        if not plan.path or not Path(plan.path).is_file():
            raise TerraformError("the saved plan is gone", where=plan.root, remedy="plan again")
        self._checked("apply", Path(plan.root), ["apply", "-input=false", "-json", plan.path], on_event)

    def discard(self, plan: TfPlan) -> None:
        """Delete the saved plan and its private folder; nothing happens when it is already gone."""
        folder = Path(plan.path).parent
        if plan.path and folder.name.startswith(_PLANS):
            shutil.rmtree(folder, ignore_errors=True)

    def outputs(self, root: Path) -> dict[str, Any]:
        """Output values of the state by name, sensitive ones included."""
        found = self._json("output", root, ["output", "-json"])
        return {name: output["value"] for name, output in found.items()}

    def state(self, root: Path) -> dict[str, Any]:
        """`terraform show -json` of the state; {} when it holds nothing."""
        found = self._json("show", root, ["show", "-json"])
        return found if found.get("values") else {}

    def _binary_key(self) -> str:
        """Tells binaries apart without starting them: another path, size or time needs another init."""
        facts = self._binary.stat()
        return f"{self._binary}:{facts.st_size}:{facts.st_mtime_ns}"

    def _json(self, command: str, root: Path, argv: Sequence[str]) -> dict[str, Any]:
        """The one JSON document that a command prints."""
        chunks: list[bytes] = []
        ended = self._run(root, argv, chunks.append)
        try:
            found = json.loads(b"".join(chunks))
        except ValueError:
            found = None
        # `validate` ends with 1 when the root has errors, and says so in a good document.
        if ended.interrupts:
            raise Interrupted(f"terraform {command} was interrupted", where=str(root), remedy="run it again")
        if not isinstance(found, dict) or (ended.code != 0 and command != "validate"):
            said = b"".join(chunks).decode(errors="replace") if found is None else ""
            raise failure(command, (), code=ended.code, output=ended.stderr + said, root=str(root))
        return found

    def _checked(self, command: str, root: Path, argv: Sequence[str], on_event: OnEvent | None) -> None:
        """Run a streaming command; raise what its diagnostics say, whatever its exit status."""
        output = _Output(on_event)
        ended = self._run(root, argv, output.line)
        failed = ended.code != 0 or bool(errors_of(output.diagnostics))
        version = output.version or (version_of(self._binary) if failed else "")  # an old one knows no -json
        if version and not is_supported(version):
            raise unsupported(f"{self._binary} is {version}")
        if failed:
            said = ended.stderr + "".join(output.raw)
            error = failure(command, output.diagnostics, code=ended.code, output=said, root=str(root))
            if ended.interrupts:
                raise Interrupted(
                    f"terraform {command} was interrupted: {error.message}", where=str(root),
                    remedy="run the same command again: what was finished is in the state",
                ) from error  # fmt: skip
            raise error
        if ended.interrupts:
            raise Interrupted(
                f"interrupted; terraform {command} had finished", where=str(root), remedy="run it again"
            )

    def _run(self, root: Path, argv: Sequence[str], on_line: Callable[[bytes], None]) -> Finished:
        if not root.is_dir():
            raise TerraformError(
                "the Terraform root is not there", where=str(root), remedy="run `akotf plan`"
            )
        with tempfile.TemporaryDirectory(prefix="akotf-terraform-") as folder:
            config = Path(folder) / "akotf.tfrc"
            config.write_text(cli_configuration(root.absolute()), encoding="utf-8")
            environment = scrubbed(self._environment, config=config, cache=self._cache)
            self._current = Process([str(self._binary), *argv], cwd=root, environment=environment)
            try:
                return self._current.follow(on_line)
            finally:
                self._current = None


def _sweep_plans() -> None:
    """Delete saved plans whose akotf was killed before it could: they hold secrets in clear.

    An hour old at least: another container may share the temporary folder, and its processes can't be seen from here.
    """
    for folder in Path(tempfile.gettempdir()).glob(f"{_PLANS}*-*"):
        owner = folder.name.removeprefix(_PLANS).partition("-")[0]
        with contextlib.suppress(OSError):
            facts = folder.stat()
            old = facts.st_mtime < time.time() - 3600
            if old and owner.isdigit() and facts.st_uid == os.getuid() and not Path("/proc", owner).exists():
                shutil.rmtree(folder, ignore_errors=True)
