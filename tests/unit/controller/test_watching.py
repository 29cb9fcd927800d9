"""What the loop does about hangs, budgets, freezes, missing consent and scripts of the user's own."""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path
from typing import Any

import pytest

from akotf.apply.heal import copy_of
from akotf.model.drift import Action
from akotf.model.run import RunState
from akotf.pipeline import remedying
from akotf.pipeline.live import BASELINE_ADDRESS
from akotf.run import attempts

MONITOR = "{telemetry: 5s, refresh: 5m, heal: auto}"
SCRIPT = """\
#!/bin/sh
cat > asked.json
env > variables
exit 3
"""


def watch(world: Any, controller: Any, live: Any, observation: Any, seconds: float) -> tuple[Any, list[Any]]:
    """Look and act every 5 s at a node that tells the same, dated anew each time."""
    seen, end = [], world.clock.now() + seconds
    while world.clock.now() < end and not live.run.state.final:
        world.sees(observation.model_copy(update={"time": world.clock.now()}))
        look = controller.look(live)
        live = controller.act(look)
        seen.append(look)
        world.clock.advance(5.0)
    return live, seen


def acts(looks: list[Any]) -> list[tuple[int, Action]]:
    return [
        (n, d.action) for n, look in enumerate(looks) for d in look.decisions
        if d.action not in {Action.IGNORE, Action.ALERT}
    ]  # fmt: skip


def test_a_hang_is_restarted_once_it_is_seen_twice_and_again_only_after_a_setup(world: Any) -> None:
    """Eight looks that step, then ten minutes without: the look at 605 s is number 8 + 121, and the next one acts."""
    world.edit("wall_time: 30m", "wall_time: 90m")
    live = world.start()
    controller = world.controller(live)
    busy = {"gpu_0_utilization": 100.0}
    for step in range(8):
        moving = world.healthy(live).model_copy(update={"metrics": busy})
        moving.progress["step"] = step
        live, _ = watch(world, controller, live, moving, 5.0)
    live, seen = watch(world, controller, live, moving, 2500.0)
    # the next attempt's first step may take 1800 s, and until it makes one the hang is not gone: one look is enough
    assert acts(seen) == [(121, Action.RESTART), (122 + 361, Action.RESTART)]
    assert [a.number for a in live.run.attempts] == [1, 2, 3]
    assert "drift.cleared" not in world.kinds()
    drift = next(world.journal.entries(kind="drift.seen")).body
    assert (drift["field"], drift["approved"], drift["observed"]) == ("liveness.steps", 600.0, 605.0)
    assert "GPUs 100% busy" in drift["tolerance"]


def test_steps_end_a_hang_and_its_attempts_are_forgotten(world: Any) -> None:
    live = world.start()
    controller = world.controller(live)
    one = world.healthy(live)
    for step in range(8):
        one.progress["step"] = step
        live, _ = watch(world, controller, live, one, 5.0)
    live, _ = watch(world, controller, live, one, 620.0)
    assert controller.memory.states["*:restart-from-checkpoint"].attempts == 1
    for step in range(3, 8):
        one.progress["step"] = step
        live, _ = watch(world, controller, live, one, 5.0)
    assert "drift.cleared" in world.kinds()
    assert controller.memory.states == {}


def test_a_run_whose_budget_is_spent_saves_and_stops(world: Any) -> None:
    """10 USD at 60 USD an hour last ten minutes; two looks must agree: at 600 and 605 s."""
    world.edit("{kind: local}", "{kind: local, price: 60 USD/node/h}")
    world.edit(MONITOR, "{telemetry: 5s, refresh: 5m, heal: alert, stop_at: 100%}")
    live = world.start()
    ended, seen = watch(world, world.controller(live), live, world.healthy(live), 1000.0)
    assert acts(seen) == [(121, Action.STOP)]
    assert ended.run.state is RunState.CANCELLED
    assert attempts.latest(world.layout).state is RunState.CANCELLED
    assert "decision.stop" in world.kinds()
    fields = [e.body["field"] for e in world.journal.entries(kind="drift.seen")]
    assert fields == ["cost.total", "cost.stop"]  # warned at 8 USD


def test_following_ends_with_the_run_that_was_stopped(world: Any) -> None:
    world.edit("{kind: local}", "{kind: local, price: 60 USD/node/h}")
    live = world.start()
    world.sees(world.healthy(live))
    assert world.controller(live).follow(live).run.state is RunState.CANCELLED
    assert len(world.named("ended")) == 1


def test_a_freeze_of_the_environment_holds_the_heal_back_and_says_why(world: Any, make_change: Any) -> None:
    frozen = "[{start: '00:00', end: '12:00', reason: inventory}, {start: '12:00', end: '00:00', reason: inventory}]"
    world.edit(MONITOR, f"{{telemetry: 5s, refresh: 5m, heal: auto, freeze: {frozen}}}")
    live = world.start()
    world.terraform.planned[str(copy_of(world.root))] = (
        make_change(BASELINE_ADDRESS, "update", before={}, after={}),
    )
    watch(world, world.controller(live), live, world.healthy(live, limits__open_files=512), 30.0)
    assert len(world.terraform.applied) == 1
    (told,) = world.named("alert")
    assert told.reason.endswith("UTC: inventory")
    assert world.named("heal-deferred") == []


def test_a_replacement_that_was_consented_to_is_told_as_what_nobody_here_can_do(
    world: Any, make_change: Any
) -> None:
    world.edit(MONITOR, "{telemetry: 5s, refresh: 10s, heal: auto, consent: [replace]}")
    live = world.start()
    world.terraform.planned[str(world.root)] = (
        make_change(
            "module.local_gpu.aws_instance.node", "delete", "create", before={"ami": "b"}, after={"ami": "a"}
        ),
    )
    watch(world, world.controller(live), live, world.healthy(live), 30.0)
    deferred = world.named("heal-deferred")
    assert deferred[0][0].action is Action.REPLACE
    assert "nothing here replaces a node under a live run" in deferred[0][1]
    assert len(world.terraform.applied) == 1


def scripted(world: Any, script: str = SCRIPT, name: str = "fix.sh") -> Any:
    (world.folder / "fix.sh").write_text(script)
    (world.folder / "fix.sh").chmod(0o755)
    world.edit(
        MONITOR,
        f"{{telemetry: 5s, refresh: 5m, heal: auto, classes: {{configuration: alert}}, remedies: {{configuration: {name}}}}}",
    )
    return world.start()


def test_a_script_of_the_users_own_gets_the_drift_and_its_exit_code_is_recorded(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "tiger")
    live = scripted(world)
    looked = world.healthy(live, limits__open_files=512)
    watch(world, world.controller(live), live, looked, 10.0)
    asked = json.loads((world.folder / "asked.json").read_text())
    assert (asked["schema"], asked["run"], asked["drifts"][0]["field"]) == (
        1,
        live.run.id,
        "limits.open_files",
    )
    assert asked["drifts"][0]["observed"] == 512
    assert "tiger" not in (world.folder / "variables").read_text()
    (done,) = world.journal.entries(kind="remedy.done")
    assert (done.body["script"], done.body["exit_code"]) == ("fix.sh", 3)
    assert done.body["sha256"] == hashlib.sha256(SCRIPT.encode()).hexdigest()
    assert world.kinds()[-2:] == ["remedy.intent", "remedy.done"]


def test_a_script_is_as_bounded_as_a_heal(world: Any) -> None:
    live = scripted(world)
    watch(world, world.controller(live), live, world.healthy(live, limits__open_files=512), 900.0)
    assert len(list(world.journal.entries(kind="remedy.done"))) == 5


def test_a_script_that_takes_too_long_is_killed_with_what_it_started(
    world: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(remedying, "TIME_LIMIT", 0.5)
    pid = tmp_path / "pid"
    live = scripted(world, f"#!/bin/sh\nsleep 300 & echo $! > {pid}\nwait\n")
    watch(world, world.controller(live), live, world.healthy(live, limits__open_files=512), 10.0)
    (done,) = world.journal.entries(kind="remedy.done")
    assert done.body["exit_code"] is None
    state, end = Path(f"/proc/{pid.read_text().strip()}/stat"), time.monotonic() + 10
    while state.exists() and state.read_text().rpartition(")")[2].split()[0] not in "ZX":
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("name", ["../outside.sh", "missing.sh"])
def test_a_script_outside_the_folder_is_never_run(world: Any, name: str) -> None:
    outside = world.folder.parent / "outside.sh"
    outside.write_text("#!/bin/sh\ntouch ran\n")
    outside.chmod(0o755)
    live = scripted(world, name=name)
    watch(world, world.controller(live), live, world.healthy(live, limits__open_files=512), 10.0)
    assert "no such executable file in the environment folder" in world.named("heal-failed")[0][1]
    assert list(world.journal.entries(kind="remedy.done")) == []
    assert not (world.folder / "ran").exists()
