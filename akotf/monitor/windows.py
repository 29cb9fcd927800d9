"""Freeze windows: whether healing is allowed at a moment. Pure: time is an argument; deny beats allow."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from zoneinfo import ZoneInfo

from akotf.model.config import Window

_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def closed(freeze: Sequence[Window], allow: Sequence[Window], now: float) -> str:
    """Why nothing is healed at `now` (Unix seconds); empty when healing is allowed.

    Inside any window of `freeze` nothing is, whatever `allow` says. With windows of `allow`, nothing is outside them.
    """
    for window in freeze:
        if holds(window, now):
            why = f": {window.reason}" if window.reason else ""
            return f"healing is frozen until {window.end} {window.timezone}{why}"
    if allow and not any(holds(window, now) for window in allow):
        times = ", ".join(f"{w.start} to {w.end} {w.timezone}" for w in allow)
        return f"healing is allowed only from {times}"
    return ""


def holds(window: Window, now: float) -> bool:
    """Whether the moment is in the window: its start is inside, its end is not.

    Times of the day are the clock's on the wall of that timezone, so the window moves with daylight saving.
    """
    local = dt.datetime.fromtimestamp(now, ZoneInfo(window.timezone)).replace(tzinfo=None)
    if len(window.start) > len("22:00"):
        return dt.datetime.fromisoformat(window.start) <= local < dt.datetime.fromisoformat(window.end)
    start, end = dt.time.fromisoformat(window.start), dt.time.fromisoformat(window.end)
    today, yesterday = local.date(), local.date() - dt.timedelta(days=1)
    if start < end:
        return _begins(window, today) and start <= local.time() < end
    return (_begins(window, today) and local.time() >= start) or (
        _begins(window, yesterday) and local.time() < end
    )


def _begins(window: Window, day: dt.date) -> bool:
    return not window.days or _DAYS[day.weekday()] in window.days
