"""Durations of the command line: the same reader, told as a usage error."""

from __future__ import annotations

import pytest

from akotf.cli import main


@pytest.mark.parametrize(("words", "remedy"), [
    (("apply", "--lock-timeout", "5"), "write 5s, 5m"), (("destroy", "--lock-timeout", "1:99"), "go to 59"), (("cancel", "--grace", "soon"), "write one such as 90m"),
])  # fmt: skip
def test_an_option_that_is_no_duration_is_a_usage_error(
    words: tuple[str, ...], remedy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(list(words)) == 1
    assert remedy in capsys.readouterr().err
