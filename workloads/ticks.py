"""workloads/ticks.py: when one process acts.

In     a period, and a stream of random numbers for nothing else
Out    calls, about one a period
Keeps  ticks are counted from when the last one was due, so that a late one delays no other; each is drawn, used or not, so that
       slow answers move none
"""

from __future__ import annotations

from collections.abc import Callable

from model.chance import Chance, between
from model.cluster import Timeline


class Ticks:
    """The ticks of one process, until they are stopped."""

    def __init__(self, time: Timeline, chance: Chance, period_ns: int, act: Callable[[], None]) -> None:
        self.stopped = False
        self._time, self._chance, self._period_ns, self._act = time, chance, period_ns, act
        self._skipped = 0

    def start(self) -> None:
        self._due_ns = self._time.now_ns()
        self._wait(between(self._chance, 0, self._period_ns))

    def skip(self, count: int) -> None:
        """Let so many pass: as much as they were for has been done already."""
        self._skipped += count

    def _wait(self, gap_ns: int) -> None:
        self._due_ns += gap_ns
        self._time.after(max(0, self._due_ns - self._time.now_ns()), self._tick)

    def _tick(self) -> None:
        if self.stopped:
            return
        self._wait(between(self._chance, self._period_ns // 2, self._period_ns + self._period_ns // 2))
        if self._skipped:
            self._skipped -= 1
        else:
            self._act()
