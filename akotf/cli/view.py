"""What people see. Results go to stdout, progress and messages to stderr; with --json stdout carries JSON only."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from akotf.cli.arguments import use_color
from akotf.model.drift import Action, Decision, Drift
from akotf.model.finding import Severity
from akotf.model.policy import Judgement, Outcome
from akotf.model.run import Run, RunState
from akotf.model.units import format_duration
from akotf.report.text import text as findings_text
from akotf.report.verdicts import verdict_text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

    from akotf.controller import Look
    from akotf.model.plan import Chosen, PlanInputs
    from akotf.pipeline.provisioning import Proposal

#: SGR codes of the styles used.
STYLES = {
    "bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "bold red": "1;31", "bold green": "1;32",
    "bold yellow": "1;33", "bold cyan": "1;36",
}  # fmt: skip

#: Events that are shown at the next event, or at the end.
LATER = frozenset({"planned-before", "planned", "judged"})

#: Seconds between progress lines where there is no terminal.
LINE_EVERY = 10.0


class View:
    """Receives the session's events and prints them."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.json = bool(arguments.json)
        self.color = use_color(arguments)
        self._status: Status | None = None
        self._last_line = 0.0
        self.brief = False  # what was planned and shown before is not shown again; nobody is asked about it
        self._planned_before = ""
        self._later: list[Callable[[], None]] = []

    @cached_property
    def out(self) -> Console:
        """Rich on stdout, for tables; loaded when a table is shown."""
        return self._console(stderr=False)

    @cached_property
    def err(self) -> Console:
        """Rich on stderr, for the spinner and prompts."""
        return self._console(stderr=True)

    def _console(self, *, stderr: bool) -> Console:
        from rich.console import Console

        stream = sys.stderr if stderr else sys.stdout
        return Console(
            stderr=stderr,
            no_color=not self.color,
            color_system="auto" if self.color else None,
            highlight=False,
            width=None if stream.isatty() else 120,
        )

    def emit(self, name: str, value: Any) -> None:
        """Show one event; unknown events are of no interest to people."""
        handler = getattr(self, "on_" + name.replace("-", "_"), None)
        if handler is None:
            return
        if name in LATER:
            # Tables take time: they are drawn while Terraform works, at its first word.
            self._later.append(lambda: handler(value))
            return
        self._catch_up()
        handler(value)

    def _catch_up(self) -> None:
        waiting, self._later = self._later, []
        for show_it in waiting:
            show_it()

    def heading(self, title: str) -> None:
        """A heading of one part of the pass."""
        print(file=sys.stderr)
        self.line(f"── {title} {'─' * max(0, 72 - len(title))}", "bold cyan")

    def line(self, text: str, style: str = "") -> None:
        """One line on stderr; markup in it is not interpreted."""
        if self._status is not None:  # rich keeps the spinner below the line
            self.err.print(text, style=style, markup=False, soft_wrap=True)
            return
        colored = style and self.color and sys.stderr.isatty()
        sys.stdout.flush()
        print(f"\x1b[{STYLES[style]}m{text}\x1b[0m" if colored else text, file=sys.stderr, flush=True)

    def result(self, data: Any, text: str) -> None:
        """The result of a command: JSON or text on stdout."""
        if self.json or text:
            print(json.dumps(data, indent=2, ensure_ascii=False) if self.json else text)

    def close(self) -> None:
        """Show what waits, and take the spinner away."""
        self._catch_up()
        if self._status is not None:
            self._status.stop()
            self._status = None

    # -- the pass -------------------------------------------------------------------------------------------------

    def on_validated(self, value: tuple[Any, Any, Judgement]) -> None:
        """Findings and config verdicts."""
        state, findings, judgement = value
        self.heading(f"Validate {state.environment.name}")
        errors = [f for f in findings if f.severity is Severity.ERROR]
        shown = [f for f in findings if f.severity is not Severity.ERROR]
        if shown:
            self.line(findings_text(shown))
        self.line(
            f"{len(errors)} errors, {len(shown)} notes; template {state.template.name}@{state.template.version}, "
            f"baseline {state.baseline().digest()[:19]}"
        )
        self._verdicts(judgement)

    def on_planned_before(self, digest: str) -> None:
        """The same inputs were planned, and shown, before."""
        self._planned_before = digest

    def on_planned(self, value: tuple[PlanInputs, Chosen]) -> None:
        """The candidate table and the selection."""
        inputs, chosen = value
        from akotf.report import candidates

        if self.brief and chosen.selection.inputs == self._planned_before:
            self.heading("Select")
            self.line(f"as planned before, inputs {chosen.selection.inputs}")
            for text in candidates.text_selection(chosen)[:2]:
                self.line(text)
            return
        self.heading("Compare candidates")
        if not self.json:
            self.out.print(candidates.table(chosen, color=self.color))
            print(f"planner {inputs.planner}, inputs {chosen.selection.inputs}", flush=True)
        self.heading("Select")
        for text in candidates.text_selection(chosen):
            self.line(text)

    def on_judged(self, judgement: Judgement) -> None:
        """Verdicts on the selection."""
        self._verdicts(judgement)

    def on_proposed(self, proposal: Proposal) -> None:
        """Terraform's plan."""
        self.heading(f"Terraform plan: {proposal.deployment.id}")
        if not self.json:
            from akotf.report import changes

            known = self.brief and proposal.planned.chosen.selection.inputs == self._planned_before
            print((changes.summary if known else changes.text)(proposal.tfplan), flush=True)
        self._verdicts(proposal.judgement)
        self.line(f"approval binds {proposal.approval.binding()}")

    def on_terraform(self, event: dict[str, Any]) -> None:
        """Terraform's own progress, one line a resource."""
        if event.get("type") in {"apply_complete", "apply_errored"}:
            self.line(f"terraform: {event.get('@message', '')}")

    def on_started(self, run: Run) -> None:
        """An attempt has been submitted."""
        attempt = run.attempts[-1]
        self.heading(f"Train: {run.id}, attempt {attempt.number} on {run.scope} ({run.backend})")
        for why in attempt.passed_over:
            self.line(f"passes over {why}", "yellow")
        if attempt.resumed_from:
            self.line(f"resumes from checkpoints/{attempt.resumed_from.rpartition('/')[2]}")
        elif attempt.number > 1:
            self.line("starts from its first step: there is no checkpoint to go on from", "yellow")

    def on_nothing_to_do(self, run: Run) -> None:
        """The same revision has succeeded."""
        self.line(
            f"nothing to do: run {run.id} of this revision succeeded; `akotf run` starts another", "green"
        )

    def on_already_live(self, run: Run) -> None:
        """A run of this revision lives."""
        self.line(f"run {run.id} of this revision is {run.state}; following it")

    # -- the run --------------------------------------------------------------------------------------------------

    def on_look(self, look: Look) -> None:
        """Progress: a spinner on a terminal, a line every 10 s elsewhere."""
        text = progress_text(look)
        if sys.stderr.isatty():
            if self._status is None:
                self._status = self.err.status(text)
                self._status.start()
            self._status.update(text)
            return
        if time.monotonic() - self._last_line >= LINE_EVERY:
            self._last_line = time.monotonic()
            self.line(text)

    def on_drift(self, drift: Drift) -> None:
        """A drift, from what to what."""
        self.line(
            f"drift  {drift.kind}: {drift.field} on {drift.node}: approved {show(drift.approved)}, "
            f"observed {show(drift.observed)} (seen by {drift.source})",
            "bold yellow",
        )

    def on_cleared(self, drift: Drift) -> None:
        """A drift that is gone."""
        self.line(f"clear  {drift.field} on {drift.node} is {show(drift.approved)} again", "green")

    def on_heal(self, decision: Decision) -> None:
        """What is about to be done."""
        fields = ", ".join(d.field for d in decision.drifts)
        how = (
            "in place through Terraform" if decision.action is Action.HEAL_IN_PLACE else decision.action.value
        )
        self.line(f"heal   {fields}: {how}; {decision.reason}", "bold")

    def on_healed(self, value: tuple[Decision, str]) -> None:
        """What was done."""
        decision, _ = value
        self.line(f"healed {', '.join(d.field for d in decision.drifts)} ({decision.action})", "bold green")

    def on_heal_deferred(self, value: tuple[Decision, str]) -> None:
        """A heal that has to wait, and why."""
        decision, why = value
        self.line(f"defer  {', '.join(d.field for d in decision.drifts)}: {why}", "yellow")

    def on_heal_failed(self, value: tuple[Decision, str]) -> None:
        """A heal that failed, and why."""
        decision, why = value
        self.line(f"FAILED heal of {', '.join(d.field for d in decision.drifts)}: {why}", "bold red")

    def on_alert(self, decision: Decision) -> None:
        """Drift that is only told."""
        for drift in decision.drifts:
            self.line(
                f"alert  {drift.kind}: {drift.field} on {drift.node}: approved {show(drift.approved)}, "
                f"observed {show(drift.observed)}; {decision.reason}",
                "yellow",
            )

    def on_note(self, text: str) -> None:
        """Something worth knowing."""
        self.line(f"note   {text}", "dim")

    def on_ended(self, run: Run) -> None:
        """The run is over."""
        self.close()
        good = run.state is RunState.SUCCEEDED
        self.line(
            f"run {run.id} {run.state} after {len(run.attempts)} attempt(s)",
            "bold green" if good else "bold red",
        )

    def on_recorded(self, value: dict[str, Any]) -> None:
        """Predicted against observed, and where the evidence is."""
        body = value["prediction"]
        self.heading("Predicted and observed")
        currency = body["currency"]
        for title, predicted, observed, error, unit in (
            ("step time", "calibrated_step_time", "observed_step_time", "step_time_error", "s"),
            ("time", "predicted_time", "observed_time", "time_error", "s"),
            ("cost", "predicted_cost", "observed_cost", "cost_error", currency),
        ):
            self.line(
                f"{title:<10} predicted {number(body[predicted], unit):>14}   observed {number(body[observed], unit):>14}"
                f"   error {'-' if body[error] is None else format(body[error], '+.1%')}"
            )
        self.line(f"evidence   {value['evidence']}", "bold")

    def _verdicts(self, judgement: Judgement) -> None:
        others = sum(v.outcome is not Outcome.PASS for v in judgement.verdicts)
        self.line(
            f"policy {judgement.stage}: {judgement.rules} rules, "
            + (f"{others} verdicts are no pass" if others else "all that apply pass")
        )
        for verdict in judgement.verdicts:
            if verdict.outcome is not Outcome.PASS:
                self.line("  " + verdict_text(verdict), "red" if verdict.denies else "yellow")
        for waiver in judgement.waivers:
            self.line(f"  {waiver}", "yellow")


def progress_text(look: Look) -> str:
    """`step 120/300  loss 2.513  31 s left`."""
    progress = look.observation.progress if look.observation else None
    if not progress:
        return f"{look.status.state} ({look.status.native or 'no heartbeat yet'})"
    step, total = progress.get("step", 0), progress.get("total_steps")
    parts = [f"{progress.get('phase', 'train')}: step {step}" + (f"/{total}" if total else "")]
    if progress.get("loss") is not None:
        parts.append(f"loss {progress['loss']:.3f}")
    if progress.get("step_time"):
        parts.append(f"{progress['step_time'] * 1000:.0f} ms a step")
        if total:
            parts.append(f"{format_duration(round((total - step) * progress['step_time']))} left")
    return "  ".join(parts)


def show(value: Any) -> str:
    """A value as people compare it."""
    return "absent" if value is None else json.dumps(value, ensure_ascii=False)


def number(value: float | None, unit: str) -> str:
    """A figure with its unit; `unknown` where there is none."""
    if value is None:
        return "unknown"
    return f"{value:.4f} {unit}" if abs(value) < 1 else f"{value:.2f} {unit}"
