"""The runner against the real Terraform, on roots of the built-in `terraform_data`."""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from akotf.errors import Interrupted, Locked, TerraformError
from akotf.terraform.runner import TerraformRunner

pytestmark = pytest.mark.terraform

ONE = 'resource "terraform_data" "one" {\n  input = { rate = 0.001, word = "a" }\n}\noutput "word" {\n  value = terraform_data.one.output.word\n}\n'
SLOW = """
resource "terraform_data" "slow" {
  provisioner "local-exec" {
    command = "touch started; sleep 3"
  }
}
resource "terraform_data" "after" {
  input      = 1
  depends_on = [terraform_data.slow]
}
"""

Roots = Callable[..., Path]


def applied(runner: TerraformRunner, root: Path, **options: Any) -> None:
    runner.init(root)
    plan = runner.plan(root, **options)
    runner.apply(plan)
    runner.discard(plan)


def addresses(state: dict[str, Any]) -> list[str]:
    return sorted(r["address"] for r in state.get("values", {}).get("root_module", {}).get("resources", []))


def test_a_saved_plan_is_applied_and_then_there_is_nothing_to_do(
    runner: TerraformRunner, root_of: Roots
) -> None:
    root = root_of(ONE)
    runner.init(root)
    assert runner.state(root) == {}
    plan = runner.plan(root)
    assert [(c.address, c.actions) for c in plan.changes] == [("terraform_data.one", ("create",))]
    assert plan.has_changes and plan.changes[0].after is not None
    assert plan.changes[0].after["input"] == {"rate": 0.001, "word": "a"}
    runner.apply(plan)
    runner.discard(plan)
    assert addresses(runner.state(root)) == ["terraform_data.one"]
    assert runner.outputs(root) == {"word": "a"}
    assert stat.S_IMODE((root.parent / "root.tfstate").stat().st_mode) == 0o600
    again = runner.plan(root)
    runner.discard(again)
    assert not again.has_changes
    assert again.outputs == {"word": "a"}


def test_a_saved_plan_is_private_and_discard_deletes_it(runner: TerraformRunner, root_of: Roots) -> None:
    root = root_of(ONE)
    runner.init(root)
    plan = runner.plan(root)
    path = Path(plan.path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert root not in path.parents
    runner.discard(plan)
    assert not path.parent.exists()
    runner.discard(plan)  # a second time is nothing
    with pytest.raises(TerraformError, match="saved plan is gone"):
        runner.apply(plan)


def test_saved_plans_of_a_killed_akotf_are_swept(
    runner: TerraformRunner, root_of: Roots, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    dead, alive = tmp_path / "akotf-plan-4194399-x", tmp_path / f"akotf-plan-{os.getpid()}-y"  # above pid_max
    recent = tmp_path / "akotf-plan-4194398-z"
    for folder in (dead, alive, recent):
        folder.mkdir()
        (folder / "tfplan").write_text("secret")
    for folder in (dead, alive):
        os.utime(folder, (0, 0))
    root = root_of(ONE)
    runner.init(root)
    runner.discard(runner.plan(root))
    assert not dead.exists()
    assert alive.exists() and recent.exists()


def test_nothing_is_left_in_the_temporary_folder(
    runner: TerraformRunner, root_of: Roots, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    root = root_of(ONE)
    applied(runner, root)
    with pytest.raises(TerraformError):
        runner.plan(root, targets=["not an address"])
    assert list(scratch.iterdir()) == []


def test_targets_destroy_and_refresh_only(runner: TerraformRunner, root_of: Roots) -> None:
    root = root_of('resource "terraform_data" "a" {}\nresource "terraform_data" "b" {}\n')
    applied(runner, root, targets=["terraform_data.a"])
    assert addresses(runner.state(root)) == ["terraform_data.a"]
    plan = runner.plan(root, refresh_only=True)
    runner.discard(plan)
    assert not plan.has_changes
    applied(runner, root, destroy=True)
    assert runner.state(root) == {}


def test_callers_terraform_variables_do_not_reach_terraform(
    binary: Path, surroundings: dict[str, str], root_of: Roots, tmp_path: Path
) -> None:
    # Terraform plans destroys with TF_CLI_ARGS_plan=-destroy, and reads another state with TF_DATA_DIR or TF_WORKSPACE.
    root = root_of(
        'variable "word" {\n  default = "default"\n}\noutput "word" {\n  value = var.word\n}\n'
        + ONE.partition("output")[0]
    )
    hostile = {
        "TF_CLI_ARGS_plan": "-destroy", "TF_CLI_ARGS": "-chdir=/nowhere", "TF_WORKSPACE": "elsewhere", "TF_VAR_word": "smuggled",
        "TF_DATA_DIR": str(tmp_path / "data"), "TF_LOG": "trace", "TF_REATTACH_PROVIDERS": "{broken", "TF_CLI_CONFIG_FILE": "/nowhere",
        "TERRAFORM_CONFIG": "/nowhere",
    }  # fmt: skip
    runner = TerraformRunner(binary, environment={**surroundings, **hostile})
    applied(runner, root)
    plan = runner.plan(root)
    runner.discard(plan)
    assert not plan.has_changes
    assert plan.outputs["word"] == "default"
    assert not (tmp_path / "data").exists()


def test_a_selected_workspace_is_not_used(runner: TerraformRunner, root_of: Roots) -> None:
    root = root_of(ONE)
    applied(runner, root)
    (root / ".terraform" / "environment").write_text("other")
    assert addresses(runner.state(root)) == ["terraform_data.one"]


def test_init_is_skipped_only_while_nothing_it_reads_has_changed(
    runner: TerraformRunner, root_of: Roots
) -> None:
    root = root_of(ONE)
    seen: list[Any] = []
    runner.init(root, seen.append)
    assert seen
    seen.clear()
    runner.init(root, seen.append)
    assert seen == []
    (root / "values.auto.tfvars.json").write_text("{}")  # values are no matter of init
    runner.init(root, seen.append)
    assert seen == []
    (root / "main.tf").write_text(ONE + "# changed\n")
    runner.init(root, seen.append)
    assert seen
    seen.clear()
    root.rename(root.with_name("moved"))
    runner.init(root.with_name("moved"), seen.append)
    assert seen


def test_events_come_while_terraform_works(runner: TerraformRunner, root_of: Roots) -> None:
    root = root_of(SLOW)
    runner.init(root)
    plan = runner.plan(root)
    at: dict[str, float] = {}
    runner.apply(plan, lambda event: at.setdefault(str(event.get("type")), time.monotonic()))
    runner.discard(plan)
    # The provisioner sleeps 3 s between these two: an adapter that reads at the end would see them together.
    assert at["apply_complete"] - at["provision_start"] > 2


def test_faults_carry_terraforms_own_words_and_places(runner: TerraformRunner, root_of: Roots) -> None:
    root = root_of('resource "terraform_data" "a" {\n  inptu = 1\n}\n')
    runner.init(root)
    with pytest.raises(TerraformError) as caught:
        runner.plan(root)
    assert "main.tf:2:3" in caught.value.message
    assert "Unsupported argument" in caught.value.message
    assert 'Did you mean "input"?' in caught.value.message
    assert caught.value.diagnostics[0]["range"]["start"]["line"] == 2
    assert [d["summary"] for d in runner.validate(root)] == ["Unsupported argument"]


def test_a_failing_provisioner_fails_apply_with_its_address(runner: TerraformRunner, root_of: Roots) -> None:
    root = root_of(
        'resource "terraform_data" "bad" {\n  provisioner "local-exec" {\n    command = "exit 7"\n  }\n}\n'
    )
    runner.init(root)
    plan = runner.plan(root)
    with pytest.raises(TerraformError, match="exit status 7") as caught:
        runner.apply(plan)
    runner.discard(plan)
    assert "terraform_data.bad" in caught.value.message


def test_a_stale_plan_is_an_error(runner: TerraformRunner, root_of: Roots) -> None:
    root = root_of(ONE)
    runner.init(root)
    first, second = runner.plan(root), runner.plan(root)
    runner.apply(first)
    with pytest.raises(TerraformError, match="Saved plan is stale"):
        runner.apply(second)
    runner.discard(first)
    runner.discard(second)


def test_a_missing_root_is_told(runner: TerraformRunner, tmp_path: Path) -> None:
    with pytest.raises(TerraformError, match="root is not there"):
        runner.plan(tmp_path / "nowhere")


def test_sensitive_values_are_marked_and_kept_out_of_outputs(runner: TerraformRunner, root_of: Roots) -> None:
    root = root_of(
        'resource "terraform_data" "s" {\n  input = { open = "seen", token = sensitive("hush") }\n}\n'
        'output "token" {\n  value     = terraform_data.s.input.token\n  sensitive = true\n}\n'
    )
    runner.init(root)
    plan = runner.plan(root)
    runner.discard(plan)
    assert plan.changes[0].sensitive == ("input",)
    assert plan.outputs == {}
    assert "hush" not in str(plan.canonical_changes())


def holding(runner: TerraformRunner, root: Path, failures: list[BaseException]) -> threading.Thread:
    """A thread that applies the slow root, started; returns once its provisioner runs."""
    runner.init(root)
    plan = runner.plan(root)

    def work() -> None:
        try:
            runner.apply(plan)
        except BaseException as error:
            failures.append(error)
        finally:
            runner.discard(plan)

    thread = threading.Thread(target=work)
    thread.start()
    deadline = time.monotonic() + 30
    while not (root / "started").exists():
        assert time.monotonic() < deadline and thread.is_alive()
        time.sleep(0.02)
    return thread


def test_a_locked_state_says_who_since_when_doing_what(
    runner: TerraformRunner, binary: Path, surroundings: dict[str, str], root_of: Roots
) -> None:
    root = root_of(SLOW)
    failures: list[BaseException] = []
    thread = holding(runner, root, failures)
    with pytest.raises(Locked) as caught:
        TerraformRunner(binary, environment=surroundings).plan(root)
    thread.join()
    assert failures == []
    assert caught.value.exit_code == 5 and caught.value.retryable
    assert "@" in caught.value.message  # user@host
    assert "since 2" in caught.value.message
    assert "doing apply" in caught.value.message


def test_one_interrupt_ends_gracefully_and_state_keeps_what_was_made(
    runner: TerraformRunner, root_of: Roots
) -> None:
    root = root_of(SLOW)
    failures: list[BaseException] = []
    thread = holding(runner, root, failures)
    runner.interrupt()
    thread.join()
    assert isinstance(failures[0], Interrupted)
    assert failures[0].exit_code == 130
    # Terraform stopped the provisioner and recorded the resource; it did not go on to the next.
    assert "terraform_data.after" not in addresses(runner.state(root))
    assert addresses(runner.state(root)) == ["terraform_data.slow"]
    applied(runner, root)  # and the state is not left locked
    assert addresses(runner.state(root)) == ["terraform_data.after", "terraform_data.slow"]


def test_ctrl_c_in_the_main_thread_is_forwarded_and_terraform_is_waited_for(
    runner: TerraformRunner, root_of: Roots
) -> None:
    root = root_of(SLOW)
    runner.init(root)
    plan = runner.plan(root)

    def press(event: Any) -> None:
        if event.get("type") == "provision_start":
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="interrupted"):
        runner.apply(plan, press)
    runner.discard(plan)
    assert addresses(runner.state(root)) == ["terraform_data.slow"]


def test_a_fault_of_the_listener_ends_terraform_and_is_raised(
    runner: TerraformRunner, root_of: Roots
) -> None:
    root = root_of(SLOW)
    runner.init(root)
    plan = runner.plan(root)

    def broken(event: Any) -> None:
        if event.get("type") == "provision_start":
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        runner.apply(plan, broken)
    runner.discard(plan)
    again = runner.plan(root)  # not locked: Terraform has ended
    runner.discard(again)
    assert again.has_changes


def test_a_cache_for_providers_is_made_and_harmless(
    binary: Path, surroundings: dict[str, str], root_of: Roots, tmp_path: Path
) -> None:
    runner = TerraformRunner(binary, environment=surroundings, cache=tmp_path / "new" / "cache")
    applied(runner, root_of(ONE))
    assert (tmp_path / "new" / "cache").is_dir()


def test_version(runner: TerraformRunner, tmp_path: Path) -> None:
    assert int(runner.version().split(".")[1]) >= 10
    with pytest.raises(TerraformError, match="does not answer"):
        TerraformRunner(tmp_path / "no-such", environment={}).version()
