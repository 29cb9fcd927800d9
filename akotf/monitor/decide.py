"""Decisions: what to do about drift. Pure: drifts, memory and time come in; decisions and new memory go out.

Properties (each has a test of that name): nothing is healed on first sight; an unread fact heals nothing; attempts
are bounded; waits grow exponentially and are reset when the drift clears and by a new revision; reasons that alternate
reset neither timer nor attempts; values that change back and forth stop healing and are named; with `heal: alert` and in
a freeze nothing is healed; no node is replaced under a live run without consent, and never two at a time.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from akotf.model.config import MonitorSpec, Window
from akotf.model.drift import Action, Decision, Drift, DriftClass, HealMemory, Memory, StateMemory
from akotf.monitor import memory as remembering
from akotf.monitor.memory import CLEARED
from akotf.monitor.remedies import IN_PLACE, WHOLE_RUN, remedy_for, state_of
from akotf.monitor.windows import closed

__all__ = ["CLEARED", "IN_PLACE", "HealPolicy", "decide", "policy_of"]

#: Actions in the order in which they are carried out: a restart starts from files that are right by then.
ORDER = (Action.STOP, Action.HEAL_IN_PLACE, Action.REPLACE, Action.RESTART)

#: Values of Terraform's own that make a fight: the same fix needed twice running means that two own the resource.
TERRAFORM_FLIPS = 2


@dataclass(frozen=True)
class HealPolicy:
    """How patient and how stubborn healing is, and what may be done. Times in seconds."""

    heal: bool = True  # False: tell only
    sightings: int = 2  # consecutive looks that must agree before anything is done
    clear: int = 2  # consecutive looks without an unhealthy state after which its attempts are forgotten
    attempts: int = (
        5  # heals of one field, or restarts and replacements for one state, before it is only told
    )
    backoff: float = 2.0  # wait after the first attempt, doubled after each
    backoff_limit: float = 300.0
    flips: int = 6  # changes of the observed value that make it a fight
    settle: float = 86400.0  # how long a cleared drift is remembered, so that a fight is seen
    recovery: float = 1800.0  # a replaced node that is not healthy by then is told
    classes: Mapping[DriftClass, str] = field(default_factory=dict)  # ignore | alert | heal
    ignore: tuple[str, ...] = ()  # fields of somebody else; * stands for any text
    consent: frozenset[str] = frozenset()  # what may be done to a node under a live run
    freeze: tuple[Window, ...] = ()
    allow: tuple[Window, ...] = ()
    hooks: Mapping[DriftClass, str] = field(default_factory=dict)  # scripts of the user's own


def policy_of(spec: MonitorSpec, *, heal: bool) -> HealPolicy:
    """The policy that an environment declares."""
    return HealPolicy(
        heal=heal, classes=spec.classes, ignore=spec.ignore, consent=frozenset(spec.consent), freeze=spec.freeze,
        allow=spec.allow, hooks=spec.remedies,
    )  # fmt: skip


def decide(
    drifts: Sequence[Drift], memory: Memory, *, now: float, policy: HealPolicy, revision: str = "",
    unseen: Collection[str] = (), observed: Collection[str] | None = None,
) -> tuple[tuple[Decision, ...], Memory]:  # fmt: skip
    """Decisions for the drifts that are there now, and the memory for the next look.

    `unseen`: keys that this look could not have seen: they keep their memory and are neither there nor gone. `observed`:
    the nodes that could be read, when only some could. A key that is missing otherwise has cleared: its attempts and
    back-off start anew, but the values it had are remembered for `policy.settle` seconds.
    """
    if memory.revision != revision:
        memory = Memory(revision=revision)
    look = _Look(memory, now, policy, frozenset(unseen), None if observed is None else frozenset(observed))
    look.see(drifts)
    verdicts = [(drift, *look.judge(drift)) for drift in drifts]
    decisions = (*look.acts(verdicts), *look.told(verdicts))
    return decisions, look.memory()


class _Look:
    """One look: what is remembered after it, and what may be done."""

    def __init__(
        self, before: Memory, now: float, policy: HealPolicy, unseen: frozenset[str], observed: frozenset[str] | None
    ) -> None:  # fmt: skip
        self.before, self.now, self.policy, self.unseen, self.observed = before, now, policy, unseen, observed
        self.drifts: dict[str, HealMemory] = {}
        self.states: dict[str, StateMemory] = {}
        self.frozen = closed(policy.freeze, policy.allow, now)

    def see(self, drifts: Sequence[Drift]) -> None:
        """Bring memory up to what is there."""
        before, policy = self.before, self.policy
        reasons: dict[str, list[str]] = {}
        settled: set[str] = set()
        for drift in drifts:
            wanted, _ = remedy_for(drift)
            state = "" if wanted is Action.ALERT else state_of(wanted, drift)
            key = drift.key
            found = remembering.seen(drift, before.drifts.get(key, remembering.FRESH), self.now, state)
            self.drifts[key] = found
            if state:
                reasons.setdefault(state, []).append(key)
                if found.sightings >= policy.sightings:
                    settled.add(state)
        # A node that was replaced is healthy again only when nothing at all is wrong with it.
        held = {f"{d.node}:{Action.REPLACE}" for d in drifts if not self._foreign(d)}
        asleep: set[str] = set()
        if self.observed is not None:
            nodes = {*self.observed, WHOLE_RUN}
            asleep = {key for key in before.states if key.rpartition(":")[0] not in nodes}
        self.states = remembering.of_states(
            before,
            reasons,
            settled,
            asleep=asleep,
            held=held,
            unseen=self.unseen,
            clear=policy.clear,
            now=self.now,
        )

    def _foreign(self, drift: Drift) -> bool:
        ignored = self.policy.classes.get(drift.kind) == "ignore"
        return ignored or any(fnmatchcase(drift.field, pattern) for pattern in self.policy.ignore)

    def judge(self, drift: Drift) -> tuple[Action, str, float]:
        """Action, why, and when to try again."""
        policy, seen = self.policy, self.drifts[drift.key]
        if self._foreign(drift):
            return Action.IGNORE, "somebody else owns it", 0.0
        wanted, reason = remedy_for(drift)
        if wanted is Action.ALERT:
            return wanted, reason, 0.0
        if policy.classes.get(drift.kind) == "alert" or not (policy.heal or wanted is Action.STOP):
            return Action.ALERT, "healing is set to alert", 0.0
        if wanted is Action.REPLACE and "replace" not in policy.consent:
            return Action.ALERT, f"{reason}, and monitor.consent has no `replace`", 0.0
        if fight := _fight(drift, seen, policy):
            return Action.ALERT, fight, 0.0
        state = self.states[seen.state]
        in_place = wanted is Action.HEAL_IN_PLACE
        attempts, not_before = (
            (seen.attempts, seen.not_before) if in_place else (state.attempts, state.not_before)
        )
        if attempts >= policy.attempts:
            done = "healed" if in_place else wanted.value
            return Action.ALERT, f"{done} {attempts} times without lasting effect; not healed again", 0.0
        if seen.sightings < policy.sightings and state.restless < policy.sightings:
            return Action.IGNORE, f"seen {seen.sightings} of {policy.sightings} times", 0.0
        if self.now < not_before:
            wait = f"waiting {not_before - self.now:.0f} s before the next attempt"
            return Action.IGNORE, wait, not_before
        if self.frozen and wanted is not Action.STOP:
            return Action.ALERT, self.frozen, 0.0
        return wanted, reason, 0.0

    def acts(self, verdicts: list[tuple[Drift, Action, str, float]]) -> list[Decision]:
        """What is done now; at most one node is replaced, and none while another has not recovered."""
        grouped: dict[Action, list[int]] = {}
        for index, (_, action, _, _) in enumerate(verdicts):
            if action in ORDER:
                grouped.setdefault(action, []).append(index)
        self._one_at_a_time(grouped.get(Action.REPLACE, []), verdicts)
        made = []
        for action in ORDER:
            group = [index for index in grouped.get(action, []) if verdicts[index][1] is action]
            if not group:
                continue
            these = tuple(verdicts[index][0] for index in group)
            reasons = dict.fromkeys(verdicts[index][2] for index in group)
            addresses = tuple(sorted({d.address for d in these if d.address}))
            made.append(
                Decision(
                    action=action, drifts=these, reason="; ".join(reasons),
                    addresses=addresses if action in {Action.HEAL_IN_PLACE, Action.REPLACE} else (),
                )
            )  # fmt: skip
            self._attempted(these, in_place=action is Action.HEAL_IN_PLACE)
        return made

    def _one_at_a_time(self, group: list[int], verdicts: list[tuple[Drift, Action, str, float]]) -> None:
        """Turn into waiting what would replace a second node."""
        if not group:
            return
        under_way = {
            key.rpartition(":")[0]: state.acted_at
            for key, state in self.states.items()
            if key.endswith(f":{Action.REPLACE}") and state.attempts
        }
        chosen = next(iter(under_way), verdicts[group[0]][0].node)
        for index in group:
            drift = verdicts[index][0]
            if drift.node == chosen:
                continue
            late = self.now - under_way.get(chosen, self.now) > self.policy.recovery
            why = f"one node at a time: {chosen} was replaced and is not healthy yet" if under_way else f"one node at a time: {chosen} first"  # fmt: skip
            verdicts[index] = (drift, Action.ALERT if late else Action.IGNORE, why, 0.0)

    def _attempted(self, drifts: Sequence[Drift], *, in_place: bool) -> None:
        """Count the attempt: for each field in place, else once for the state that all these drifts show."""
        now = self.now
        for key in [d.key for d in drifts] if in_place else []:
            self.drifts[key] = self.drifts[key]._replace(**self._counted(self.drifts[key]))
        for name in {self.drifts[d.key].state for d in drifts}:
            state = self.states[name]
            changes = {} if in_place else {**self._counted(state), "acted_at": now}
            self.states[name] = state._replace(restless=0, **changes)

    def _counted(self, tried: HealMemory | StateMemory) -> dict[str, Any]:
        wait = remembering.wait(tried.attempts, self.policy.backoff, self.policy.backoff_limit)
        return {"attempts": tried.attempts + 1, "not_before": self.now + wait}

    def told(self, verdicts: Iterable[tuple[Drift, Action, str, float]]) -> list[Decision]:
        """One decision for each drift that nothing is done about, with the user's own script where one is due."""
        return [
            Decision.model_construct(
                action=action, drifts=(drift,), reason=reason, addresses=(), retry_at=retry_at,
                hook=self._hook(drift) if action is Action.ALERT else "",
            )
            for drift, action, reason, retry_at in verdicts
            if action in {Action.ALERT, Action.IGNORE}
        ]  # fmt: skip

    def _hook(self, drift: Drift) -> str:
        """The script to run now: as patient and as bounded as a heal of akotf's own."""
        script, key = self.policy.hooks.get(drift.kind, ""), drift.key
        seen, policy = self.drifts[key], self.policy
        patient = seen.sightings >= policy.sightings and self.now >= seen.not_before
        if not script or not policy.heal or self.frozen or not patient:
            return ""
        if seen.attempts >= policy.attempts or _fight(drift, seen, policy):
            return ""
        self.drifts[key] = seen._replace(**self._counted(seen))
        return script

    def memory(self) -> Memory:
        """What the next look is given."""
        now, settle = self.now, self.policy.settle
        drifts = dict(self.drifts)
        for key, before in self.before.drifts.items():
            if key in drifts:
                continue
            if key in self.unseen:
                drifts[key] = before
            elif now - before.last_seen < settle:
                drifts[key] = remembering.cleared(before)
        return Memory.model_construct(revision=self.before.revision, drifts=drifts, states=self.states)


def _fight(drift: Drift, seen: HealMemory, policy: HealPolicy) -> str:
    """Who undoes what, when values go back and forth; empty when they do not."""
    limit = min(policy.flips, TERRAFORM_FLIPS) if drift.source == "terraform" else policy.flips
    if len(seen.flips) <= limit:
        return ""
    names = drift.field
    if isinstance(drift.observed, dict) and drift.kind is DriftClass.INFRASTRUCTURE:
        names = f"{drift.field} ({', '.join(sorted(drift.observed))})"
    values = " and ".join(_shown(drift, v) for v in sorted(set(seen.flips[-4:]), key=CLEARED.__eq__))
    return f"{names} changes back and forth between {values}: somebody else sets it; not healed again"


def _shown(drift: Drift, value: str) -> str:
    if value != CLEARED:
        return value if len(value) <= 80 else value[:77] + "..."
    return f"{json.dumps(drift.approved, sort_keys=True, default=str)[:80]} (approved)"
