"""akotf killed at every effect of a pass: before it and after it. The next command makes one whole run of what is left.

The kill is a BaseException at an effect (an entry of the journal, a call of the backend or of Terraform, a lease); from
then on every effect of the dead process raises again, so that its `finally` and `except` blocks do nothing, as after
a real kill. What a kill does to files in the middle of a write is tested where they are written.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from akotf.model.chain import check_chain
from akotf.model.drift import Action, Decision, Drift, DriftClass
from akotf.model.run import AttemptOutcome, Run, RunState
from akotf.model.tfplan import ResourceChange, TfPlan
from akotf.pipeline import healing
from akotf.pipeline.live import BASELINE_ADDRESS, live_of
from akotf.pipeline.provisioning import deployments, is_deployed, tear_down_all
from akotf.pipeline.recovery import recover
from akotf.pipeline.session import Session
from akotf.run import attempts
from akotf.testing.doubles import MemoryTerraform

POOL = "module.local_gpu.akotf_local_pool.this"


class Killed(BaseException):
    """kill -9."""


class Killer:
    """Counts effects and kills at one of them."""

    def __init__(self, at: int) -> None:
        self.at, self.count, self.dead = at, 0, False
        self.names: list[str] = []

    def point(self, name: str) -> None:
        """A moment at which the process can die."""
        if self.dead:
            raise Killed
        self.names.append(name)
        self.count += 1
        if self.count - 1 == self.at:
            self.dead = True
            raise Killed

    def around(self, name: str, effect: Callable[[], Any]) -> Any:
        """Die before the effect, or after it."""
        self.point(f"before {name}")
        result = effect()
        self.point(f"after {name}")
        return result


class Dying:
    """An adapter whose named methods are effects; everything else passes through."""

    def __init__(self, inner: Any, killer: Killer, effects: Sequence[str], name: str) -> None:
        self._inner, self._killer, self._effects, self._name = inner, killer, effects, name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(self._inner, attribute)
        if attribute not in self._effects:
            return value

        def call(*args: Any, **kwargs: Any) -> Any:
            what = f"{self._name}.{attribute}" + (f" {args[0]}" if attribute == "append" else "")
            return self._killer.around(what, lambda: value(*args, **kwargs))

        return call


class DyingLeases:
    """Leases whose release is lost with their process."""

    def __init__(self, inner: Any, killer: Killer, lost: list[Any]) -> None:
        self._inner, self._killer, self._lost = inner, killer, lost

    @contextmanager
    def acquire(self, key: str, operation: str, timeout: float = 0.0) -> Iterator[Any]:
        self._killer.point(f"before lease {operation}")
        held = self._inner.acquire(key, operation, timeout)
        self._lost.append(held)  # collected, it would be given back
        yield held.__enter__()
        if not self._killer.dead:
            held.__exit__(None, None, None)

    def holder(self, key: str) -> Any:
        return self._inner.holder(key)


class StatefulTerraform(MemoryTerraform):
    """Keeps a state file, as Terraform does: creates what is not in it, destroys what is."""

    def __init__(self, root: Path, state: Path) -> None:
        super().__init__()
        self.root, self.state_file = root, state

    def plan(self, root: Path, **options: Any) -> TfPlan:
        present = self._present()
        wanted = () if options.get("destroy") else (POOL, BASELINE_ADDRESS)
        rows = [_change(a, "create", after={"deployment": "trial"}) for a in wanted if a not in present]
        rows += [_change(a, "delete", before={"deployment": "trial"}) for a in present if a not in wanted]
        if self.drift and not options.get("destroy"):
            rows.append(_change(BASELINE_ADDRESS, "update", before={"rate": "3"}, after={"rate": "1"}))
        self.planned[str(root)] = tuple(rows)
        return super().plan(root, **options)

    def apply(self, plan: TfPlan, on_event: Any = None) -> None:
        super().apply(plan, on_event)
        present = [a for a in self._present() if a not in {c.address for c in plan.changes if c.destroys}]
        present += [c.address for c in plan.changes if "create" in c.actions]
        self.drift = {}
        self.state_file.parent.mkdir(parents=True, exist_ok=True)
        self.state_file.write_text(json.dumps({"resources": present}))

    def _present(self) -> list[str]:
        return json.loads(self.state_file.read_text())["resources"] if self.state_file.exists() else []


def _change(address: str, *actions: str, before: Any = None, after: Any = None) -> ResourceChange:
    return ResourceChange(
        address=address, type=address.split(".")[-2], actions=actions, before=before, after=after
    )


class Machine:
    """The world after a boot: sessions of processes that may die, on stores that outlive them."""

    def __init__(self, world: Any) -> None:
        self.world = world
        self.lost: list[Any] = []  # leases that dead processes held
        state = world.layout.base / "state" / "workstation" / "desk" / "terraform.tfstate"
        world.terraform = StatefulTerraform(world.root, state)
        world.terraform.values[str(world.root)] = {"gpu_indices": [], "cpu_slots": [0, 1]}
        self.sound: Session = replace(world.session, terraform=lambda: world.terraform)

    def process(self, at: int) -> tuple[Session, Killer]:
        """A process that dies at its effect number `at`."""
        killer, world = Killer(at), self.world
        journal = Dying(world.journal, killer, ("append",), "journal")
        terraform = Dying(world.terraform, killer, ("apply",), "terraform")
        backend = Dying(world.backend, killer, ("submit", "cancel"), "backend")
        session = replace(
            self.sound, journal=journal, leases=DyingLeases(world.leases, killer, self.lost),
            terraform=lambda: terraform, backend=lambda _: backend,
        )  # fmt: skip
        return session, killer

    def dies(self, work: Callable[[Session], Any], at: int) -> Killer:
        """Do the work in a process that dies at `at`; its leases are found dead by whoever comes next."""
        session, killer = self.process(at)
        try:
            work(session)
        except Killed:
            self.world.leases.dead |= {lease.token for lease in self.world.leases.held.values()}
        return killer


def up(machine: Machine, s: Session) -> Run | None:
    """`akotf apply` up to the submission; the training leaves its outputs."""
    before, machine.world.session = machine.world.session, s
    try:
        return machine.world.up()
    finally:
        machine.world.session = before


def train(machine: Machine, run: Run) -> None:
    """The training ends well, whoever watches; it leaves what it declared."""
    for attempt in attempts.load_run(machine.world.layout, run.id).attempts:
        machine.world.backend.end(f"{run.id}-a{attempt.number}", AttemptOutcome.SUCCEEDED, 0)
    for name in ("model.pt", "metrics.json", "sample.txt"):
        path = Path(run.directory) / "outputs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("what the training left")


def whole(machine: Machine, *, attempts_expected: int = 1) -> Run:
    """The only run, ended, with one record of everything; AssertionError says what is doubled or lost."""
    world = machine.world
    found = attempts.list_runs(world.layout)
    assert [run.state for run in found] == [RunState.SUCCEEDED]
    run = found[0]
    assert world.backend.started == {f"{run.id}-a{n}": 1 for n in range(1, attempts_expected + 1)}
    entries = list(world.journal.entries())
    assert check_chain([entry.to_json() for entry in entries]) == []
    counts = Counter(entry.kind for entry in entries if entry.subject == run.id)
    once = {"run.ended": 1, "prediction.recorded": 1, "evidence.written": 1}
    each = dict.fromkeys(("run.submitted", "attempt.started", "attempt.ended"), attempts_expected)
    assert {kind: counts[kind] for kind in (*once, *each)} == {**once, **each}
    assert counts["run.intent"] >= attempts_expected  # an intent is told again when it is carried out later
    assert (world.layout.run_evidence(run.id) / "manifest.json").is_file()
    assert (
        not is_deployed(machine.sound, deployments(machine.sound)[0]) if deployments(machine.sound) else True
    )
    assert world.leases.held == {}
    return run


def finish(machine: Machine) -> None:
    """What a person does after a crash: `akotf apply` again, to the end."""
    _, run = recover(machine.sound)
    run = up(machine, machine.sound) or run
    assert run is not None
    if not attempts.load_run(machine.world.layout, run.id).state.final:
        train(machine, run)
    healing.settle(machine.sound)
    healing.settle(machine.sound)  # machines that were to go, and evidence, are taken up by the next look


def points(world_of: Callable[[], Any], work: Callable[[Machine, Session], Any]) -> list[str]:
    """The names of all effects of an undisturbed pass."""
    machine = Machine(world_of())
    killer = machine.dies(lambda s: work(machine, s), at=-1)
    return killer.names


def apply_and_end(machine: Machine, s: Session) -> None:
    """A whole pass: submission, training, end, evidence, teardown."""
    run = up(machine, s)
    assert run is not None
    train(machine, run)
    live = live_of(s, attempts.load_run(machine.world.layout, run.id))
    healing.attempt_ended(s, live, s.backend(run.backend).status(live.request, live.handle))


def test_apply_killed_at_every_effect_ends_as_one_run(fresh_world: Callable[[], Any]) -> None:
    names = points(fresh_world, apply_and_end)
    assert len(names) > 40, names
    assert {
        "before terraform.apply",
        "after backend.submit",
        "before journal.append evidence.written",
    } <= set(names)
    for at, name in enumerate(names):
        machine = Machine(fresh_world())
        killer = machine.dies(lambda s, m=machine: apply_and_end(m, s), at)  # type: ignore[misc]
        assert killer.dead, name
        try:
            finish(machine)
            whole(machine)
        except Exception as error:
            raise AssertionError(f"killed {name} (effect {at} of {len(names)}): {error}") from error


DRIFT = Drift(
    kind=DriftClass.CONFIGURATION, field="hyperparameters.file.learning_rate", node="desk",
    approved=0.001, observed=0.003, source="agent", address=BASELINE_ADDRESS,
)  # fmt: skip


def decision(action: Action) -> Decision:
    return Decision(
        action=action, drifts=(DRIFT,), reason="the approved value", addresses=(BASELINE_ADDRESS,)
    )


def healed_and_restarted(machine: Machine, s: Session) -> None:
    """A live run that is healed in place, then restarted from the beginning (it has no checkpoint), then ends."""
    run = attempts.latest(machine.world.layout)
    assert run is not None
    live = live_of(s, run)
    healing.heal_in_place(s, live, decision(Action.HEAL_IN_PLACE))
    live = healing.restart(s, live, decision(Action.RESTART))
    train(machine, live.run)
    healing.attempt_ended(s, live, s.backend(run.backend).status(live.request, live.handle))


def live_with_drift(world: Any) -> Machine:
    """A run that goes on, and a node that drifted."""
    machine = Machine(world)
    assert up(machine, machine.sound) is not None
    machine.world.terraform.drift = {"yes": ()}
    return machine


def test_heal_and_restart_killed_at_every_effect_leave_one_run(fresh_world: Callable[[], Any]) -> None:
    whole_pass = live_with_drift(fresh_world())
    names = whole_pass.dies(lambda s: healed_and_restarted(whole_pass, s), at=-1).names
    assert whole(whole_pass, attempts_expected=2).attempts[0].outcome is AttemptOutcome.RESTARTED
    assert {
        "after terraform.apply",
        "before backend.cancel",
        "after backend.submit",
        "before journal.append heal.done",
    } <= set(names)
    for at, name in enumerate(names):
        machine = live_with_drift(fresh_world())
        killer = machine.dies(lambda s, m=machine: healed_and_restarted(m, s), at)  # type: ignore[misc]
        assert killer.dead, name
        try:
            healing.settle(machine.sound)
            finish(machine)
            run = attempts.latest(machine.world.layout)
            assert run is not None
            # Killed before the restart was begun, the first attempt goes on to its end.
            whole(machine, attempts_expected=len(run.attempts))
            ends = [a.outcome for a in run.attempts]
            assert ends in (
                [AttemptOutcome.SUCCEEDED],
                [AttemptOutcome.RESTARTED, AttemptOutcome.SUCCEEDED],
            ), ends
        except Exception as error:
            raise AssertionError(f"killed {name} (effect {at} of {len(names)}): {error}") from error


def preempted(machine: Machine, s: Session) -> None:
    """Two preemptions, each followed by the next attempt, then a good end."""
    run = attempts.latest(machine.world.layout)
    assert run is not None
    live = live_of(s, run)
    for _ in range(2):
        machine.world.backend.end(live.request.key, AttemptOutcome.PREEMPTED, reason="higher priority")
        live = healing.attempt_ended(s, live, s.backend(run.backend).status(live.request, live.handle))
    train(machine, live.run)
    healing.attempt_ended(s, live, s.backend(run.backend).status(live.request, live.handle))


def test_preemption_killed_at_every_effect_leaves_one_run(fresh_world: Callable[[], Any]) -> None:
    def live() -> Machine:
        machine = Machine(fresh_world())
        assert up(machine, machine.sound) is not None
        return machine

    whole_pass = live()
    names = whole_pass.dies(lambda s: preempted(whole_pass, s), at=-1).names
    whole(whole_pass, attempts_expected=3)
    for at, name in enumerate(names):
        machine = live()
        killer = machine.dies(lambda s, m=machine: preempted(m, s), at)  # type: ignore[misc]
        assert killer.dead, name
        try:
            finish(machine)
            run = attempts.latest(machine.world.layout)
            assert run is not None
            whole(machine, attempts_expected=len(run.attempts))
            assert [a.outcome for a in run.attempts[:-1]] == [AttemptOutcome.PREEMPTED] * (
                len(run.attempts) - 1
            )
        except Exception as error:
            raise AssertionError(f"killed {name} (effect {at} of {len(names)}): {error}") from error


def test_destroy_killed_at_every_effect_ends_destroyed(fresh_world: Callable[[], Any]) -> None:
    def deployed() -> Machine:
        world = fresh_world()
        world.edit("teardown: on-success", "teardown: never")
        machine = Machine(world)
        apply_and_end(machine, machine.sound)
        assert deployments(machine.sound)
        return machine

    machine = deployed()
    names = machine.dies(tear_down_all, at=-1).names
    assert {"before terraform.apply", "after terraform.apply", "before journal.append destroy.done"} <= set(
        names
    )
    for at, name in enumerate(names):
        machine = deployed()
        killer = machine.dies(tear_down_all, at)
        assert killer.dead, name
        account, _ = recover(machine.sound)
        cut_off = [found.what for found in account if not found.settled]
        begun = name in ("after journal.append destroy.intent", "before terraform.apply")
        finished = name in ("after terraform.apply", "before journal.append destroy.done")
        assert bool(cut_off) == begun, (name, account)
        assert ("Terraform had finished; that is on record now" in [f.done for f in account]) == finished, (
            name
        )
        tear_down_all(machine.sound)
        assert deployments(machine.sound) == [], name
        assert machine.world.terraform._present() == [], name
        told = [entry.kind for entry in machine.world.journal.entries() if entry.kind.startswith("destroy.")]
        assert told[-1:] == ["destroy.done"] or name.startswith(("before", "after terraform")), (name, told)


def test_the_account_of_what_a_crash_left_is_plain(fresh_world: Callable[[], Any]) -> None:
    machine = Machine(fresh_world())
    assert recover(machine.sound) == ([], None)
    names = points(fresh_world, apply_and_end)
    killer = machine.dies(lambda s: apply_and_end(machine, s), names.index("after backend.submit"))
    assert killer.dead
    account, run = recover(machine.sound)
    assert run is not None and run.state is RunState.RUNNING
    assert [(found.what, found.done) for found in account] == [
        ("a lease on trial for apply, and tester died", "the lease is free again"),
        (
            f"the submission of attempt 1 of run {run.id} was cut off",
            "it had started and is taken over",
        ),
    ]
    assert recover(machine.sound)[0] == []
    machine.world.backend.end(f"{run.id}-a1", AttemptOutcome.FAILED, 3, "exit code 3")
    account, run = recover(machine.sound)
    assert [(found.what, found.done) for found in account] == [
        (f"run {run.id} ended while nobody watched", "it is on record as failed: exit code 3")
    ]


def test_a_lease_that_somebody_takes_meanwhile_is_his(fresh_world: Callable[[], Any]) -> None:
    """Between the look at what the dead hold and the taking of it, another process may take it."""
    session = Machine(fresh_world()).sound

    class Late:
        def __getattr__(self, name: str) -> Any:
            return getattr(session.leases, name)

        def abandoned(self) -> Any:
            return [(living, "process 1 of ana has ended")]

    with session.leases.acquire("trial", "apply") as living:
        assert recover(replace(session, leases=Late())) == ([], None)
        assert session.leases.holder("trial") == living
