"""What every test shares: folders of its own for home, state and cache, and akotf as a program on a project."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from akotf.wiring.surroundings import PACKAGED

# numpy's OpenBLAS keeps threads from its import on, and beside threads akotf may not fork its limited children: it
# starts an interpreter for each, which makes hundreds of tests slow.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

# No example is judged by its time: a busy machine is no fault. CI looks at the same examples each time.
settings.register_profile(
    "akotf",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("akotf")

REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session", autouse=True)
def own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """No test reads or writes the home, state or cache of who runs it; measurements are shared by the session."""
    base = tmp_path_factory.mktemp("user")
    with pytest.MonkeyPatch.context() as patch:
        for name, folder in (("HOME", "home"), ("XDG_STATE_HOME", "state"), ("XDG_CACHE_HOME", "cache")):
            (base / folder).mkdir()
            patch.setenv(name, str(base / folder))
        for name in [
            n for n in os.environ if n.startswith(("TF_", "AKOTF_")) and not n.startswith("AKOTF_TEST_")
        ]:
            patch.delenv(name)
        for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "CI", "OPENBLAS_NUM_THREADS"):
            patch.delenv(name, raising=False)
        yield base


class Project:
    """A folder with an environment, and akotf run on it as a program."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = folder / "environments" / "trial"
        self.environment.parent.mkdir(parents=True)
        # Leases on this machine's CPUs are the project's own: what one test leaves, no other meets.
        self.variables = {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
        self.started: list[subprocess.Popen[str]] = []

    def akotf(
        self,
        *arguments: str,
        code: int | None = 0,
        cwd: Path | None = None,
        timeout: float = 240,
        **variables: str,
    ) -> subprocess.CompletedProcess[str]:
        """Run to the end; fails, with all that was said, when the exit code is another (None: any will do)."""
        done = subprocess.run(
            [sys.executable, "-m", "akotf", *arguments], cwd=cwd or self.folder, env={**self.variables, **variables},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout, check=False,
        )  # fmt: skip
        assert code is None or done.returncode == code, (
            f"akotf {' '.join(arguments)} exits {done.returncode}\n{done.stdout}\n{done.stderr}"
        )
        return done

    def json(self, *arguments: str, code: int | None = 0, **more: Any) -> Any:
        """The JSON document of a command; stdout holds nothing else."""
        return json.loads(self.akotf(*arguments, "--json", code=code, **more).stdout)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start in the background, in a session of its own; stdout and stderr go to one file beside the environment."""
        with (self.folder / f"akotf-{len(self.started) + 1}.log").open("w") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "akotf", *arguments], cwd=self.folder, env=self.variables, text=True,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        self.started.append(process)
        return process

    def said(self, process: subprocess.Popen[str]) -> str:
        """What a program in the background has said so far."""
        return (self.folder / f"akotf-{self.started.index(process) + 1}.log").read_text()

    def wait(self, process: subprocess.Popen[str], timeout: float = 240) -> int:
        """Its exit code."""
        return process.wait(timeout)

    def until(
        self,
        what: str,
        holds: Callable[[], Any],
        process: subprocess.Popen[str] | None = None,
        limit: float = 120,
    ) -> Any:
        """Wait until something holds, and return it; fails when the program ends before, or after `limit` seconds."""
        end = time.monotonic() + limit
        while not (found := holds()):
            if process is not None and process.poll() is not None:
                found = holds()
                assert found, f"akotf exits {process.returncode} before {what}\n{self.said(process)}"
                return found
            said = self.said(process) if process else ""
            assert time.monotonic() < end, f"waited {limit:.0f} s in vain for: {what}\n{said}"
            time.sleep(0.1)
        return found

    def runs(self) -> list[dict[str, Any]]:
        """The runs on record, oldest first, read without akotf."""
        found = [json.loads(p.read_bytes()) for p in self.environment.glob(".akotf/runs/*/run.json")]
        return sorted(found, key=lambda run: (run["created_at"], run["id"]))

    def heartbeat(self) -> dict[str, Any]:
        """The heartbeat of the last attempt of the last run; {} before its first."""
        for run in self.runs()[-1:]:
            path = Path(run["directory"]) / f"attempt-{run['attempts'][-1]['number']}" / "heartbeat.json"
            with suppress(FileNotFoundError, ValueError):
                beat: dict[str, Any] = json.loads(path.read_bytes())
                return beat
        return {}

    def training_at(self, step: int) -> Callable[[], Any]:
        """Whether the last attempt has come to a step."""
        return lambda: self.heartbeat().get("step", 0) >= step

    def close(self) -> None:
        """End what this project started: programs, the live run, agents."""
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait()
        if any(run["state"] not in {"succeeded", "failed", "cancelled"} for run in self.runs()):
            command = [sys.executable, "-m", "akotf", "cancel", str(self.environment), "--grace", "1s"]
            subprocess.run(command, env=self.variables, capture_output=True, timeout=120, check=False)
        for note in self.environment.glob(".akotf/state/*/*/node/agent.json"):
            with suppress(OSError, ValueError, KeyError):
                agent = json.loads(note.read_bytes())
                stat = Path(f"/proc/{agent['pid']}/stat").read_text().rpartition(")")[2].split()
                if stat[19] == str(agent["pid_start"]):  # field 22: it is that very process
                    os.kill(agent["pid"], signal.SIGTERM)


@pytest.fixture(scope="session")
def new_project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Project]]:
    """Makes projects; what they started is ended with the session."""
    projects: list[Project] = []

    def make(*, quickstart: bool = False, **parameters: Any) -> Project:
        """An environment as `akotf init` writes it, or a copy of the quickstart; parameters replace its own."""
        project = Project(tmp_path_factory.mktemp("project") / "it")
        projects.append(project)
        if quickstart:
            ignored = shutil.ignore_patterns(".akotf", "outputs", "screenshots", "__pycache__")
            shutil.copytree(REPOSITORY / "environments" / "quickstart", project.environment, ignore=ignored)
        else:
            project.akotf("init", str(project.environment))
        for kind in ("iac", "modules", "policies"):
            shutil.copytree(PACKAGED / kind, project.folder / kind)
        edit(project.environment / "akotf.yaml", **parameters)
        return project

    yield make
    for project in projects:
        project.close()


def edit(file: Path, **parameters: Any) -> None:
    """Set template parameters, and look at the run often, in an `akotf.yaml` as it is written here."""
    lines = []
    for line in file.read_text().splitlines():
        key = line.strip().partition(":")[0]
        if key == "monitor":
            line = "monitor:" + (
                "" if line.rstrip().endswith(":") else " {telemetry: 1s, refresh: 5m, heal: auto}"
            )
        elif key == "telemetry":
            line = "  telemetry: 1s"
        if not (line.startswith("  ") and key in parameters):
            lines.append(line)
        if key == "parameters":
            lines += [f"  {name}: {json.dumps(value)}" for name, value in parameters.items()]
    file.write_text("\n".join(lines) + "\n")
