"""The line about a campaign while it runs."""

from __future__ import annotations

import io
import re
from types import SimpleNamespace

import pytest
from rich.console import Console

from harness import progress
from harness.progress import SoLong, SoMany, Telling, written_seconds
from tests.harness.summaries import a_summary, broken, not_executed


class Clock:
    """A monotonic clock that goes as it is told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 100.0
        monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: self.now_s))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def plain() -> Console:
    return Console(file=io.StringIO(), force_terminal=False, width=80)


def printed(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_line_says_how_far_how_fast_how_long_and_what_was_found(clock: Clock) -> None:
    """Verdict classes apart, and ways to fail with their counts."""
    with Telling(plain(), SoMany(1_600)) as telling:
        for number in range(8):
            clock.now_s += 1
            telling.take(a_summary(number) if number % 4 else broken(number))
        telling.take(not_executed(8))
        telling.take(a_summary(9, "unknown"))
        clock.now_s += 2
        line = telling.line()
    assert line.startswith(
        "10 of 1,600 runs, 1.0 a second, 26m30s left: 2 BROKEN, 1 infrastructure, 1 unknown, 6 valid; failing: "
    )
    assert re.search(r"failing: lost_write [0-9a-f]{8} x2$", line)


def test_runs_that_lay_in_the_store_make_nobody_quicker(clock: Clock) -> None:
    """The rate, and so the time left, is that of the runs executed now."""
    with Telling(plain(), SoMany(1_010)) as telling:
        for number in range(1_000):
            telling.take_stored(a_summary(number))
        clock.now_s += 10
        for number in range(1_000, 1_005):
            telling.take(a_summary(number))
        assert telling.line().startswith("1,005 of 1,010 runs, 0.5 a second, 10s left: ")
        assert (telling.already, telling.executed) == (1_000, 5)


def test_a_soak_counts_time_and_not_runs(clock: Clock) -> None:
    """How many runs there will be is not known."""
    with Telling(plain(), SoLong(7_200, lambda: clock.now_s - 100)) as telling:
        clock.now_s += 200
        telling.take(a_summary(0))
        assert telling.line() == "1 runs in 3m20s of 2h00m, 0.0 a second, 1h56m left: 1 valid"


def test_plain_lines_come_every_few_seconds_and_not_for_every_run(clock: Clock) -> None:
    """What CI keeps can be read afterwards."""
    console = plain()
    with Telling(console, SoMany(100)) as telling:
        for number in range(100):
            clock.now_s += 0.25
            telling.take(a_summary(number))
    lines = printed(console).splitlines()
    assert len(lines) == 4
    assert lines[-1] == "84 of 100 runs, 4.0 a second, 4s left: 84 valid"


def test_a_terminal_keeps_one_line_that_is_gone_at_the_end() -> None:
    """However many ways to fail there are, it is one line."""
    console = Console(file=io.StringIO(), force_terminal=True, width=60, _environ={})
    with Telling(console, SoMany(10)) as telling:
        for number in range(9):
            telling.take(broken(number, name=f"an_anomaly_with_a_long_name_{number}"))
    assert printed(console).endswith("\x1b[2K")  # it was erased
    with console.capture() as capture:
        console.print(telling._drawn())
    (line,) = capture.get().splitlines()
    assert "9 of 10 runs" in line


def test_only_who_shows_every_summary_keeps_them() -> None:
    """Else nothing grows with the number of runs."""
    for keeps, kept in ((False, []), (True, [0, 1, 2])):
        telling = Telling(plain(), SoMany(3), keeps=keeps)
        for number in range(3):
            telling.take(a_summary(number))
        assert [each.number for each in telling.kept] == kept


@pytest.mark.parametrize(("seconds", "words"), [(0.4, "0s"), (59.9, "59s"), (60, "1m00s"), (3_599, "59m59s"), (29_100, "8h05m")])
def test_times_are_as_exact_as_somebody_who_waits_needs_them(seconds: float, words: str) -> None:
    assert written_seconds(seconds) == words
