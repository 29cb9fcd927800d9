"""Freeze windows: the clock on the wall, across midnight and daylight saving; deny beats allow."""

from __future__ import annotations

import datetime as dt

import pytest
from pydantic import ValidationError

from akotf.model.config import Window
from akotf.monitor.windows import closed, holds


def at(text: str) -> float:
    return dt.datetime.fromisoformat(text).timestamp()


NIGHT = Window(days=("fri",), start="22:00", end="06:00", timezone="Europe/Berlin", reason="backup")
YEAR_END = Window(start="2026-12-20T00:00", end="2027-01-05T00:00")


@pytest.mark.parametrize(
    ("moment", "inside"),
    [  # 2026-12-04 is a Friday; Berlin is one hour ahead of UTC in winter, two in summer
        ("2026-12-04T20:59:59+00:00", False), ("2026-12-04T21:00:00+00:00", True), ("2026-12-05T04:59:59+00:00", True),
        ("2026-12-05T05:00:00+00:00", False), ("2026-12-05T21:30:00+00:00", False), ("2026-12-04T01:00:00+00:00", False),
        ("2026-07-03T20:00:00+00:00", True), ("2026-07-03T19:59:59+00:00", False), ("2026-07-04T04:00:00+00:00", False),
    ],
)  # fmt: skip
def test_a_night_belongs_to_the_day_on_which_it_begins(moment: str, inside: bool) -> None:
    assert holds(NIGHT, at(moment)) is inside


@pytest.mark.parametrize(
    ("moment", "inside"),
    [("2026-12-19T23:59:59+00:00", False), ("2026-12-20T00:00:00+00:00", True), ("2027-01-04T23:59:59+00:00", True),
     ("2027-01-05T00:00:00+00:00", False)],
)  # fmt: skip
def test_an_interval_between_dates_happens_once(moment: str, inside: bool) -> None:
    assert holds(YEAR_END, at(moment)) is inside


def test_deny_beats_allow() -> None:
    office = Window(days=("mon", "tue", "wed", "thu", "fri"), start="09:00", end="17:00")
    wednesday, night, frozen = (
        at("2026-12-02T12:00+00:00"),
        at("2026-12-02T20:00+00:00"),
        at("2026-12-23T12:00+00:00"),
    )
    assert closed((), (), wednesday) == closed((YEAR_END,), (office,), wednesday) == ""
    assert closed((YEAR_END,), (office,), night) == "healing is allowed only from 09:00 to 17:00 UTC"
    assert closed((YEAR_END,), (office,), frozen) == "healing is frozen until 2027-01-05T00:00 UTC"
    assert (
        closed((NIGHT,), (), at("2026-12-04T23:00+00:00"))
        == "healing is frozen until 06:00 Europe/Berlin: backup"
    )


@pytest.mark.parametrize(
    ("window", "said"),
    [
        ({"start": "22:00", "end": "2027-01-01T00:00"}, "both be times of the day"),
        ({"start": "2027-01-02T00:00", "end": "2027-01-01T00:00"}, "comes before its end"),
        ({"start": "2027-01-01T00:00", "end": "2027-01-02T00:00", "days": ["mon"]}, "has no days"),
        ({"start": "22:00", "end": "25:00"}, "hour must be in"), ({"start": "22", "end": "23:00"}, "match pattern"),
        ({"start": "22:00", "end": "23:00", "timezone": "Mars/Base"}, "there is no timezone 'Mars/Base'"),
        ({"start": "22:00", "end": "23:00", "timezone": "../etc/passwd"}, "there is no timezone"),
    ],
)  # fmt: skip
def test_what_names_no_time_is_refused(window: dict, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Window.model_validate(window)
