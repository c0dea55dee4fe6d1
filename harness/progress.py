"""harness/progress.py: one line about a campaign while it runs: on a terminal it stays, elsewhere another comes now and then.

In     summaries, as they come; what shall be reached: a number of runs, or the end of a time
Out    how far it is, the rate, the time left, runs by verdict class, ways to fail with their counts; `SoFar`, for the end
Keeps  the rate is that of the runs executed now: those that lay in the store already are counted beside it
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Protocol

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from checkers.cell_state import RunClass
from checkers.signature import short_name
from harness.execute import Summary
from harness.so_far import SoFar

PLAIN_EVERY_S = 5.0
MOST_WAYS = 3
BAR = 20
WORDS: dict[RunClass, str] = {
    "valid": "valid",
    "unknown": "unknown",
    "invalid": "BROKEN",
    "infrastructure": "infrastructure",
    "killed": "killed",
}


class Goal(Protocol):
    """What shall be reached."""

    def share(self, runs: int) -> float: ...
    def words(self, runs: int) -> str: ...
    def left_s(self, runs: int, rate: float) -> float | None: ...


class SoMany:
    """So many runs."""

    def __init__(self, total: int) -> None:
        self.total = total

    def share(self, runs: int) -> float:
        return runs / max(self.total, 1)

    def words(self, runs: int) -> str:
        return f"{runs:,} of {self.total:,} runs"

    def left_s(self, runs: int, rate: float) -> float | None:
        return (self.total - runs) / rate if rate else None


class SoLong:
    """Until a time is used up; `ran_s` says how much of it is."""

    def __init__(self, for_s: float, ran_s: Callable[[], float]) -> None:
        self._for_s, self._ran_s = for_s, ran_s

    def share(self, runs: int) -> float:
        return min(1.0, self._ran_s() / self._for_s)

    def words(self, runs: int) -> str:
        return f"{runs:,} runs in {written_seconds(self._ran_s())} of {written_seconds(self._for_s)}"

    def left_s(self, runs: int, rate: float) -> float | None:
        return max(0.0, self._for_s - self._ran_s())


class Telling:
    """Follows a campaign. Everything goes to `console`, which is standard error where standard output belongs to JSON."""

    def __init__(self, console: Console, goal: Goal, *, quiet: bool = False, keeps: bool = False) -> None:
        """`keeps`: every summary, for whoever shows them all; else nothing grows with the number of runs."""
        self.console, self.goal, self.so_far = console, goal, SoFar()
        self.kept: list[Summary] = []
        self.already = 0
        self._keeps = keeps
        self._found = ""  # made when something is found: the terminal is drawn by another thread
        self._began = self._executing_since = self._last_line = time.monotonic()
        draws = console.is_terminal and not quiet
        self._live = Live(console=console, transient=True, refresh_per_second=4, get_renderable=self._drawn) if draws else None

    def __enter__(self) -> Telling:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._live is not None:
            self._live.stop()

    def take_stored(self, summary: Summary) -> None:
        """A run that lay in the store before anything was executed."""
        self.already += 1
        self._executing_since = time.monotonic()
        self._take(summary)

    def take(self, summary: Summary) -> None:
        self._take(summary)

    def _take(self, summary: Summary) -> None:
        self.so_far.take(summary)
        if self._keeps:
            self.kept.append(summary)
        self._found = found(self.so_far)
        if not self.console.is_terminal and time.monotonic() - self._last_line > PLAIN_EVERY_S:
            self._last_line = time.monotonic()
            self.console.print(self.line(), highlight=False, markup=False, soft_wrap=True)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    @property
    def executed(self) -> int:
        return self.so_far.runs - self.already

    @property
    def rate(self) -> float:
        """Runs per second, of those executed now."""
        return self.executed / max(time.monotonic() - self._executing_since, 1e-3)

    def line(self) -> str:
        """`412 of 1,600 runs, 5.2 a second, 3m48s left: 409 valid, 3 BROKEN; failing: lost_write a7575081 x3`"""
        runs, rate = self.so_far.runs, self.rate
        left_s = self.goal.left_s(runs, rate)
        left = "" if left_s is None else f", {written_seconds(left_s)} left"
        return f"{self.goal.words(runs)}, {rate:.1f} a second{left}{self._found and ': '}{self._found}"

    def _drawn(self) -> Table:
        grid = Table.grid(padding=(0, 1), expand=True)
        grid.add_column(width=BAR)
        grid.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
        bar = ProgressBar(total=1.0, completed=self.goal.share(self.so_far.runs), width=BAR)
        grid.add_row(bar, Text(self.line(), no_wrap=True, overflow="ellipsis"))
        return grid


def found(so_far: SoFar) -> str:
    """`409 valid, 3 BROKEN; failing: lost_write a7575081 x3`"""
    ways = so_far.ways_by_runs
    told = [f"{way.name} {short_name(way.signature)} x{way.runs}" for way in ways[:MOST_WAYS]]
    told += [f"and {len(ways) - MOST_WAYS} more ways"] if len(ways) > MOST_WAYS else []
    return counted(so_far) + (f"; failing: {', '.join(told)}" if told else "")


def counted(so_far: SoFar) -> str:
    """`7 valid, 2 BROKEN, 1 infrastructure`."""
    return ", ".join(f"{count:,} {word}" for word, count in sorted((WORDS[each], n) for each, n in so_far.classes.items()))


def written_seconds(seconds: float) -> str:
    """`45s`, `3m48s`, `2h05m`: as exact as somebody who waits needs it."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    minutes, seconds_left = divmod(whole, 60)
    hours, minutes_left = divmod(minutes, 60)
    return f"{hours}h{minutes_left:02}m" if hours else f"{minutes}m{seconds_left:02}s"
