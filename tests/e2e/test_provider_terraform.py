"""The provider under the real Terraform: what a person sees who types `terraform plan` in a rendered root."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import signal
import site
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import akotf
from akotf.facts import process
from akotf.facts.files import read_json, write_json_atomic
from akotf.render.provider import INTERPRETER_FILE, LAUNCHER, launcher_paths

TERRAFORM = shutil.which("terraform") or shutil.which("tofu")

pytestmark = [
    pytest.mark.terraform,
    pytest.mark.skipif(TERRAFORM is None, reason="neither terraform nor tofu is on PATH"),
]

MAIN = """
terraform {
  required_providers {
    akotf = {
      source  = "terraform.local/akotf/akotf"
      version = "0.1.0"
    }
  }
}
"""

BASELINE = """
resource "akotf_baseline" "this" {
  deployment      = "env/ws/here"
  node_directory  = "%(node)s"
  hyperparameters = { learning_rate = "%(rate)s", name = "\\"caf\\\\u00e9\\"" }
  environment     = { A = jsonencode("1") }
  limits          = { open_files = "512" }
  libraries       = { torch = jsonencode("2.13.0") }
  gpu_settings    = {}
}
"""

POOL = """
resource "akotf_local_pool" "this" {
  deployment = "%(deployment)s"
  gpus       = 0
  cpus       = %(cpus)s
  registry   = "%(registry)s"
}
"""

CPUS = len(os.sched_getaffinity(0))


@pytest.fixture(scope="module")
def interpreter(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python that finds akotf with -E -P: this one when akotf is installed, else one that is pointed at the tree."""
    asked = subprocess.run(
        [sys.executable, "-E", "-P", "-c", "import akotf.tfprovider"],
        capture_output=True,
        cwd="/",
        check=False,
    )
    if asked.returncode == 0:
        return sys.executable
    folder = tmp_path_factory.mktemp("python")
    venv.create(folder, with_pip=False)
    (packages,) = folder.glob("lib/python*/site-packages")
    paths = [str(Path(akotf.__file__).parents[1]), *site.getsitepackages()]
    (packages / "tree.pth").write_text("\n".join(paths) + "\n")
    return str(folder / "bin" / "python")


class Root:
    """A Terraform root as akotf renders it, and a home that can't be written."""

    def __init__(self, folder: Path, interpreter: str) -> None:
        self.folder = folder / "root"
        self.node = folder / "node"
        self.registry = folder / "pools"
        self.folder.mkdir(parents=True)
        for name in launcher_paths():
            path = self.folder / name
            path.parent.mkdir(parents=True)
            path.write_bytes(LAUNCHER)
            path.chmod(0o755)
        (self.folder / INTERPRETER_FILE).write_text(f"{interpreter}\n")
        configuration = folder / "cli.tfrc"
        configuration.write_text("disable_checkpoint = true\n")
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": "/nonexistent", "TF_IN_AUTOMATION": "1",
            "TF_CLI_CONFIG_FILE": str(configuration),
        }  # fmt: skip

    def write(self, *texts: str, **values: Any) -> None:
        """Make main.tf of these parts."""
        given = {
            "node": self.node, "registry": self.registry, "rate": "1e-3", "deployment": "env/ws/here", "cpus": 1,
            **values,
        }  # fmt: skip
        (self.folder / "main.tf").write_text(MAIN + "".join(text % given for text in texts))

    def run(self, *arguments: str, expect: int | None = 0) -> str:
        """Terraform's words; fails the test when the exit status is another."""
        done = subprocess.run(
            [str(TERRAFORM), *arguments, "-no-color"], cwd=self.folder, env=self.environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        assert expect is None or done.returncode == expect, done.stdout
        return " ".join(done.stdout.split())  # Terraform wraps its lines

    def init(self, *texts: str, **values: Any) -> Root:
        """Write and initialise."""
        self.write(*texts, **values)
        self.run("init")
        return self

    def apply(self, expect: int = 0) -> str:
        """Apply without asking."""
        return self.run("apply", "-auto-approve", expect=expect)

    def plan(self, expect: int) -> str:
        """Plan; 0: no change, 2: changes."""
        return self.run("plan", "-detailed-exitcode", expect=expect)

    def resources(self) -> dict[str, dict[str, Any]]:
        """Attributes in the state, by address."""
        shown = subprocess.run(
            [str(TERRAFORM), "show", "-json"], cwd=self.folder, env=self.environment, text=True,
            capture_output=True, check=True,
        )  # fmt: skip
        found = json.loads(shown.stdout).get("values", {}).get("root_module", {}).get("resources", [])
        return {
            entry["address"]: {**entry["values"], "tainted": entry.get("tainted", False)} for entry in found
        }


@pytest.fixture
def root(tmp_path: Path, interpreter: str) -> Root:
    return Root(tmp_path, interpreter)


@contextmanager
def live_run(node: Path, environment: dict[str, str], **in_use: Any) -> Iterator[int]:
    """A process that stands in for a training: its limit is as approved, its heartbeat says what it uses."""
    with subprocess.Popen(["sleep", "600"], env=environment) as started:
        try:
            process.set_limit(started.pid, "open_files", 512)
            beat = node / "heartbeat.json"
            write_json_atomic(beat, {
                "schema": 1, "step": 3, "time": time.time(), "pid": started.pid, "hyperparameters": in_use,
                "libraries": {"torch": "2.13.0"},
            })  # fmt: skip
            write_json_atomic(node / "live.json", {
                "schema": 1, "run": "r1", "attempt": 1, "pid": started.pid,
                "pid_start": process.process_start(started.pid), "boot_id": process.boot_id(), "heartbeat": str(beat),
                "environment_keys": sorted(environment), "baseline": "sha256:0",
            })  # fmt: skip
            yield started.pid
        finally:
            started.kill()


def test_a_file_that_was_edited_shows_in_the_plan_and_apply_heals_it(root: Root) -> None:
    root.init(BASELINE, POOL)
    root.apply()
    assert "No changes" in root.plan(expect=0)
    write_json_atomic(root.node / "hyperparameters.json", {"learning_rate": 0.5})
    shown = root.plan(expect=2)
    assert "hyperparameters.file.learning_rate: approved 0.001, observed 0.5" in shown
    assert 'hyperparameters.file.name: approved \\"caf\\\\u00e9\\", observed absent' in shown
    assert '~ "learning_rate" = "0.5" -> "1e-3"' in shown
    assert "0 to add, 1 to change, 0 to destroy" in shown
    root.apply()
    assert read_json(root.node / "hyperparameters.json") == {"learning_rate": 0.001, "name": "café"}
    root.plan(expect=0)
    root.run("destroy", "-auto-approve")
    assert not list(root.node.iterdir())
    assert not list(root.registry.glob("*.json"))


def test_a_limit_of_the_live_process_is_shown_and_healed(root: Root) -> None:
    root.init(BASELINE).apply()
    with live_run(root.node, {"A": "1"}, learning_rate=0.001, name="café") as pid:
        root.plan(expect=0)
        process.set_limit(pid, "open_files", 100)
        shown = root.plan(expect=2)
        assert "limits.open_files: approved 512, observed 100" in shown
        assert '~ "open_files" = "100" -> "512"' in shown
        root.apply()
        assert process.limits(pid)["open_files"] == 512
        root.plan(expect=0)


def test_what_the_training_uses_is_shown_and_only_a_restart_heals_it(root: Root) -> None:
    root.init(BASELINE).apply()
    with live_run(root.node, {"A": "other"}, learning_rate=0.02) as pid:
        shown = root.plan(expect=2)
        assert "hyperparameters.in_use.learning_rate: approved 0.001, observed 0.02" in shown
        assert 'environment.A: approved \\"1\\", observed \\"other\\"' in shown
        process.set_limit(pid, "open_files", 100)
        write_json_atomic(root.node / "hyperparameters.json", {"learning_rate": 0.5})
        told = root.apply(expect=1)
        assert "Only a restart from a checkpoint heals" in told
        assert "akotf drift env" in told
        # what could be healed in place is healed, and Terraform will not replace the resource
        assert process.limits(pid)["open_files"] == 512
        assert read_json(root.node / "hyperparameters.json")["learning_rate"] == 0.001
        state = root.resources()["akotf_baseline.this"]
        assert not state["tainted"]
        assert len(state["differences"]) == 2
        assert "1 to change, 0 to destroy" in root.plan(expect=2)
        assert "Run r1 is alive" in root.run("destroy", "-auto-approve", expect=1)
    with live_run(root.node, {"A": "1"}, learning_rate=0.001):  # the restarted run
        root.apply()
        root.plan(expect=0)


def test_a_new_value_in_the_configuration_reaches_the_node(root: Root) -> None:
    root.init(BASELINE).apply()
    root.write(BASELINE, rate="0.001")
    root.plan(expect=0)  # the same number, spelled differently
    root.write(BASELINE, rate="0.0003")
    assert '"1e-3" -> "0.0003"' in root.plan(expect=2)
    root.apply()
    assert read_json(root.node / "hyperparameters.json")["learning_rate"] == 0.0003
    assert read_json(root.node / "baseline.json")["hyperparameters"]["learning_rate"] == 0.0003


def test_drift_that_a_refresh_saved_is_still_healed(root: Root) -> None:
    root.init(BASELINE).apply()
    write_json_atomic(root.node / "hyperparameters.json", {"learning_rate": 0.5})
    root.run("apply", "-refresh-only", "-auto-approve")
    assert "1 to change" in root.plan(expect=2)
    root.apply()
    assert read_json(root.node / "hyperparameters.json")["learning_rate"] == 0.001
    root.plan(expect=0)


def test_a_baseline_and_a_lease_that_are_lost_are_made_again(root: Root) -> None:
    root.init(BASELINE, POOL).apply()
    (root.node / "baseline.json").unlink()
    (lease,) = root.registry.glob("*.json")
    lease.unlink()
    assert "2 to add" in root.plan(expect=2)
    root.apply()
    root.plan(expect=0)


def test_import_takes_over_what_is_there(root: Root) -> None:
    root.init(BASELINE, POOL).apply()
    (root.folder / "terraform.tfstate").unlink()
    root.run("import", "akotf_baseline.this", f"env/ws/here|{root.node}")
    root.run("import", "akotf_local_pool.this", f"env/ws/here|{root.registry}")
    assert "No changes" in root.plan(expect=0)
    assert "Write it as DEPLOYMENT|NODE_DIRECTORY" in root.run(
        "import", "akotf_baseline.other", "nonsense", expect=1
    ) + root.run("state", "rm", "akotf_baseline.this") + root.run(
        "import", "akotf_baseline.this", "x", expect=1
    )


def test_a_fault_is_told_at_its_line(root: Root) -> None:
    root.init(BASELINE)
    root.write(BASELINE, rate="abc")
    told = root.run("validate", expect=1)
    assert "Not a JSON text" in told
    assert re.search(r"on main.tf line \d+, in resource .* \d+: hyperpa", told)


def test_two_deployments_never_share_cpus(root: Root, tmp_path: Path, interpreter: str) -> None:
    root.init(POOL, cpus=CPUS).apply()
    second = Root(tmp_path / "second", interpreter)
    second.registry = root.registry
    second.init(POOL, deployment="other/ws/here")
    told = second.apply(expect=1)
    assert f"1 CPUs asked for, 0 of {CPUS} free on this machine" in told
    assert "env/ws/here (user" in told
    assert "akotf_local_pool.this" not in second.resources()
    root.run("destroy", "-auto-approve")
    second.apply()
    second.plan(expect=0)


@pytest.mark.skipif(CPUS < 2, reason="one CPU only: the lease can't grow")
def test_a_lease_grows_and_shrinks_in_place(root: Root) -> None:
    root.init(POOL).apply()
    first = root.resources()["akotf_local_pool.this"]["cpu_slots"]
    root.write(POOL, cpus=2)
    root.apply()
    grown = root.resources()["akotf_local_pool.this"]["cpu_slots"]
    assert len(grown) == 2 and set(first) < set(grown)
    root.write(POOL)
    assert "1 to change" in root.plan(expect=2)
    root.apply()
    assert len(root.resources()["akotf_local_pool.this"]["cpu_slots"]) == 1
    root.plan(expect=0)


def test_values_known_only_at_apply(root: Root) -> None:
    """`env-${...}` reaches the provider as a refined unknown value."""
    late = """
resource "terraform_data" "name" {
  input = "late"
}
resource "akotf_baseline" "this" {
  deployment      = "env-${terraform_data.name.output}/ws/here"
  node_directory  = "%(node)s"
  hyperparameters = {}
  environment     = { A = jsonencode("v-${terraform_data.name.output}") }
  limits          = {}
  libraries       = {}
  gpu_settings    = {}
}
"""
    root.init(late).apply()
    baseline = read_json(root.node / "baseline.json")
    assert baseline["deployment"] == "env-late/ws/here"
    assert baseline["environment"] == {"A": "v-late"}
    root.plan(expect=0)


class Applying:
    """A `terraform apply` in a process group of its own that waits for the registry's lock in the middle of a create."""

    def __init__(self, root: Root) -> None:
        self.registry = root.registry
        self.registry.mkdir()
        self._lock = (root.registry / "lock").open("a")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.terraform = subprocess.Popen(
            [str(TERRAFORM), "apply", "-auto-approve", "-no-color"], cwd=root.folder, env=root.environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip
        assert self.terraform.stdout is not None
        self.read_until("akotf_local_pool.this: Creating")
        self.providers = process.descendants(self.terraform.pid)
        self._wait_for_the_create()

    def read_until(self, words: str) -> str:
        """What Terraform prints up to the line with these words."""
        assert self.terraform.stdout is not None
        seen = ""
        for line in self.terraform.stdout:
            seen += line
            if words in line:
                return seen
        raise AssertionError(f"Terraform never said {words!r}: {seen}")

    def _wait_for_the_create(self) -> None:
        """Terraform says "Creating" before its call reaches the provider: wait until a provider has the lock's file open."""
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            if any(self._has_open(pid, self.registry / "lock") for pid in self.providers):
                return
            time.sleep(0.02)
        raise AssertionError("no provider asked for the registry's lock")

    @staticmethod
    def _has_open(pid: int, path: Path) -> bool:
        try:
            return any(os.readlink(entry) == str(path) for entry in Path(f"/proc/{pid}/fd").iterdir())
        except OSError:  # it ended, or closed a file while we looked
            return False

    def release(self) -> None:
        """Let the create go on."""
        self._lock.close()

    def wait_until_gone(self) -> bool:
        """True when every provider process ended within 20 s."""
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            if not any((found := process.stat(pid)) and found.state not in "ZX" for pid in self.providers):
                return True
            time.sleep(0.05)
        return False


def test_ctrl_c_loses_nothing_that_was_under_way(root: Root) -> None:
    root.init(POOL)
    applying = Applying(root)
    os.killpg(applying.terraform.pid, signal.SIGINT)  # as a terminal does: Terraform and the provider
    out = applying.read_until("Interrupt received")
    applying.release()
    out += applying.terraform.communicate()[0]
    assert "Plugin did not respond" not in out
    assert applying.wait_until_gone()
    assert root.resources()["akotf_local_pool.this"]["cpu_slots"]
    root.plan(expect=0)


def test_a_killed_terraform_leaves_no_provider_and_no_lost_lease(root: Root) -> None:
    root.init(POOL)
    applying = Applying(root)
    assert applying.providers
    applying.terraform.kill()
    applying.terraform.communicate()
    applying.release()
    assert applying.wait_until_gone()
    assert len(list(root.registry.glob("*.json"))) == 1  # the call under way came to its end
    (root.folder / ".terraform.tfstate.lock.info").unlink(missing_ok=True)
    root.apply()  # takes the lease over
    assert len(list(root.registry.glob("*.json"))) == 1
    root.plan(expect=0)
