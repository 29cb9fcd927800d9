"""The level-based loop over one live run: observe, decide, act through the pipeline, look again after.

A look never trusts the one before: it reads the backend, the agent and, every `monitor.refresh`, Terraform, and only
the memory of drift keys is carried on. Telemetry that can't be read is told once and is neither drift nor failure.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from akotf.errors import (
    AkotfError,
    ApprovalError,
    Locked,
    PolicyDenied,
    TelemetryUnavailable,
    TransientBackendError,
)
from akotf.model.drift import Action, Decision, Drift, Memory, Observation, Pace, Trend
from akotf.model.run import AttemptStatus, RunState
from akotf.monitor import detect
from akotf.monitor.decide import HealPolicy, decide, policy_of
from akotf.monitor.memory import dated
from akotf.pipeline import healing
from akotf.pipeline.live import Live, status_of
from akotf.pipeline.remedying import run_remedy
from akotf.pipeline.session import Session


@dataclass(frozen=True)
class Look:
    """What one look saw and what follows from it."""

    live: Live
    status: AttemptStatus
    observation: Observation | None
    drifts: tuple[Drift, ...]
    decisions: tuple[Decision, ...]


@dataclass
class Controller:
    """Watches one run. `memory` outlives a look; everything else is read anew."""

    session: Session
    policy: HealPolicy
    telemetry_interval: float  # s
    refresh_interval: float  # s between looks at Terraform
    expectation: detect.Expectation = field(default_factory=detect.Expectation)
    memory: Memory = field(default_factory=Memory)
    trend: Trend = field(default_factory=Trend)
    pace: Pace = field(default_factory=Pace)
    seen: dict[str, Drift] = field(default_factory=dict)
    next_refresh: float = 0.0
    deaf: str = ""  # why the agent could not be read at the last look

    def look(self, live: Live, *, refresh: bool | None = None) -> Look:
        """Observe and decide; changes nothing but the journal."""
        s = self.session
        try:
            status = status_of(s, live)
        except TransientBackendError as error:
            s.emit("note", f"the backend can't be asked: {error.message}")
            status = AttemptStatus(state=RunState.UNKNOWN, reason=error.message)
        observation = self._read(live) if not status.state.final else None
        now = s.clock.now()
        drifts: list[Drift] = []
        if observation is not None:
            drifts += detect.configuration(live.declared, observation, address=live.baseline_address)
            drifts += self._progress(live, observation, now)
        if not status.state.final:
            drifts += healing.cost_drift(live, observation, now)
        found = None
        if not status.state.final and (now >= self.next_refresh if refresh is None else refresh):
            found = healing.terraform_drift(s, live)
            drifts += found or []
            news = any(d.key not in self._shown for d in found or ())  # to be confirmed by the next look
            self.next_refresh = now if news else now + self.refresh_interval
        # What was not looked at is neither there nor gone: it keeps its memory until somebody looks again.
        unseen = {
            key
            for key, drift in self.seen.items()
            if not self._looked_at(drift, observation, now, terraform=found is not None)
        }
        drifts = dated(drifts, self.memory, now)
        decisions, self.memory = decide(
            drifts, self.memory, now=now, policy=self.policy, unseen=unseen, revision=live.run.revision
        )
        self._tell(live, drifts, unseen)
        return Look(live, status, observation, tuple(drifts), decisions)

    def _progress(self, live: Live, observation: Observation, now: float) -> list[Drift]:
        """Performance and liveness: what this look adds to what was learned of the run, and what it shows."""
        predicted = live.predicted_step_time
        self.trend = detect.follow_trend(self.trend, observation)
        self.pace = detect.pace_of(self.pace, observation, now=now, expectation=self.expectation)
        return [
            *detect.performance(observation, predicted),
            *detect.against_past(self.trend, observation),
            *detect.throughput(
                observation, detect.steps_per_second(self.pace), live.inputs.workload.flops, predicted
            ),
            *detect.hang(self.pace, observation, now=now, expectation=self.expectation),
        ]

    def act(self, look: Look) -> Live:
        """Carry out the decisions; a heal that somebody's lease, policy or approval stops is told and left for later."""
        live = look.live
        for decision in look.decisions:
            try:
                if decision.action is Action.HEAL_IN_PLACE:
                    healing.heal_in_place(self.session, live, decision)
                    if any(d.source == "terraform" for d in decision.drifts):
                        self.next_refresh = self.session.clock.now()  # see at once whether it holds
                elif decision.action is Action.RESTART:
                    live = healing.restart(self.session, live, decision)
                    self.pace = Pace()  # of another attempt
                elif decision.action is Action.STOP:
                    return healing.stop(self.session, live, decision)
                elif decision.action is Action.REPLACE:
                    self.session.emit("heal-deferred", (decision, healing.NO_REPLACEMENT))
                elif decision.action is Action.ALERT:
                    self._alert(decision)
                    if decision.hook:
                        run_remedy(self.session, live, decision)
            except (Locked, PolicyDenied, ApprovalError) as error:
                self.session.emit("heal-deferred", (decision, error.message))
            except AkotfError as error:
                healing.heal_failed(self.session, live, decision, error)
        return live

    def follow(self, live: Live) -> Live:
        """Look and act until the run has ended; then record it."""
        while True:
            look = self.look(live)
            self.session.emit("look", look)
            if look.status.state.final:
                ended = healing.attempt_ended(self.session, live, look.status)
                if ended.run.state.final:
                    return ended
                live = ended
                continue
            if healing.outlived(self.session, live):
                return healing.cancel(self.session, live, grace=healing.GRACE)
            live = self.act(look)
            if live.run.state.final:
                return live
            self.session.clock.sleep(self.telemetry_interval)

    def _read(self, live: Live) -> Observation | None:
        try:
            observation: Observation = self.session.telemetry.read(live.node_directory)
        except TelemetryUnavailable as error:
            if self.deaf != error.message:
                self.session.emit("note", f"telemetry is not available: {error.message}")
            self.deaf = error.message
            healing.revive_agent(self.session, live, self.telemetry_interval)
            return None
        self.deaf = ""
        return observation

    def _tell(self, live: Live, drifts: Sequence[Drift], unseen: Collection[str]) -> None:
        """Put what is new and what is gone on record, once for all who watch this run, and show it to ours."""
        now = {d.key: d for d in drifts}
        gone = [key for key in self.seen if key not in now and key not in unseen]
        new = [key for key in now if key not in self._shown]
        on_record = healing.open_drifts(self.session, live.run) if gone or new else {}
        for key in new:
            healing.tell_drift(self.session, live, now[key], known=key in on_record)
            self._shown.add(key)
        for key in gone:
            self._shown.discard(key)
            healing.tell_cleared(self.session, live, self.seen.pop(key), known=key not in on_record)
        self.seen.update(now)

    def _looked_at(
        self, drift: Drift, observation: Observation | None, now: float, *, terraform: bool
    ) -> bool:
        """Whether this look could have seen the drift: neither a deaf agent nor a fact it can't read shows anything."""
        if drift.source == "terraform":
            return terraform
        if drift.source == "prices":
            return True
        if observation is None:
            return False
        if drift.field == "liveness.steps":
            # Only a step ends a hang: until the next attempt has made one, nobody knows.
            return self.pace.moved and detect.judgeable(observation, now=now, expectation=self.expectation)
        if drift.source in {"prediction", "history"}:
            return detect.has_step_time(observation)
        return drift.field in observation.facts

    def _alert(self, decision: Decision) -> None:
        for drift in decision.drifts:
            told = f"{drift.key}:{decision.reason}"
            if told not in self._told:
                self._told.add(told)
                self.session.emit("alert", decision)

    _told: set[str] = field(default_factory=set)  # alerts
    _shown: set[str] = field(default_factory=set)  # drifts that are there, as our own people know


def controller_for(session: Session, live: Live, *, heal: bool | None = None) -> Controller:
    """A controller with the intervals and the heal mode that the run's environment declares."""
    spec = live.state.environment.monitor
    wants = spec.heal == "auto" if heal is None else heal
    return Controller(
        session=session,
        policy=policy_of(spec, heal=wants),
        expectation=detect.Expectation(floor=spec.hang, late=max(30.0, 3 * spec.telemetry)),
        seen=healing.open_drifts(session, live.run),  # of who watched before us
        telemetry_interval=spec.telemetry,
        refresh_interval=spec.refresh,
        next_refresh=session.clock.now() + spec.refresh,
    )
