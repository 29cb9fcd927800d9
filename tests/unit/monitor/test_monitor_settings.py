"""`monitor:` of akotf.yaml: the documented settings as they are read, and what is refused, with its place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from akotf.model.config import MonitorSpec
from akotf.model.drift import DriftClass
from akotf.monitor.decide import policy_of
from akotf.reading.bind import bind
from akotf.reading.yaml import parse

HOW_TO = Path(__file__).parents[3] / "docs" / "how-to" / "heal-and-drift.md"


def spec(text: str) -> MonitorSpec:
    bound = bind(parse(text.encode(), "akotf.yaml"), MonitorSpec)
    assert bound.findings == []
    assert bound.value is not None
    return bound.value


def test_the_documented_settings_are_read_as_written() -> None:
    (block,) = re.findall(r"```yaml\nmonitor:\n(.*?)```", HOW_TO.read_text(), re.DOTALL)
    found = spec(re.sub(r"(?m)^  ", "", block))
    policy = policy_of(found, heal=True)
    assert policy.classes == {DriftClass.RUNTIME: "alert"}
    assert (policy.ignore, policy.consent) == (("limits.cpus",), frozenset({"replace"}))
    assert [(w.days, w.start, w.end, w.timezone) for w in policy.freeze] == [
        (("fri", "sat"), "22:00", "06:00", "Europe/Berlin"), ((), "2026-12-20T00:00", "2027-01-05T00:00", "UTC"),
    ]  # fmt: skip
    assert [(w.start, w.end) for w in policy.allow] == [("08:00", "18:00")]
    assert policy.hooks == {DriftClass.RUNTIME: "scripts/power-cap.sh"}
    assert (found.hang, found.warn_at, found.stop_at) == (600.0, 0.8, 1.0)


@pytest.mark.parametrize(
    ("text", "path", "said"),
    [
        ("classes: {speed: alert}", "classes.speed", "'cost'"),
        ("classes: {cost: loudly}", "classes.cost", "loudly"),
        ("consent: [reboot]", "consent.0", "reboot"),
        ("stop_at: 1.0", "stop_at", "has no %"),
        (
            "freeze: [{start: '22:00', end: '23:00', timezone: Mars}]",
            "freeze.0",
            "there is no timezone 'Mars'",
        ),
        ("freeze: [{days: [someday], start: '22:00', end: '23:00'}]", "freeze.0.days.0", "someday"),
    ],
)
def test_what_can_not_be_meant_is_refused_where_it_stands(text: str, path: str, said: str) -> None:
    (fault,) = bind(parse(text.encode(), "akotf.yaml"), MonitorSpec).findings
    assert fault.path == path
    assert said in f"{fault.message} {fault.remedy}"
    assert fault.position is not None
    assert fault.position.line == 1
