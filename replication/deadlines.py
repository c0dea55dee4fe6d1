"""replication/deadlines.py: many deadlines, one timer.

In     things that expire at a time, most of which are done long before
Out    `expire()` of those that are not done when their time comes
Why    a parked fetch or produce nearly always ends early; a timer of its own would be an event for nothing
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Protocol

from replication.env import Env

_FEW = 1_000


class Expiring(Protocol):
    done: bool

    def expire(self) -> None: ...


class Deadlines:
    """The deadlines of one broker, re-armed lazily."""

    def __init__(self, env: Env) -> None:
        self._env = env
        self._heap: list[tuple[int, int, Expiring]] = []
        self._count = 0
        self._armed_for: int | None = None
        self._most = _FEW

    def add(self, delay_ns: int, item: Expiring) -> None:
        deadline = self._env.monotonic_ns() + delay_ns
        self._count += 1
        heappush(self._heap, (deadline, self._count, item))
        if len(self._heap) > self._most:
            self._forget_done()
        if self._armed_for is None or deadline < self._armed_for:
            self._arm(deadline, delay_ns)

    def _forget_done(self) -> None:
        """Those that ended early go before their time once they are the larger half: a long timeout must not hoard them."""
        self._heap = [entry for entry in self._heap if not entry[2].done]
        heapify(self._heap)
        self._most = max(_FEW, 2 * len(self._heap))

    def _arm(self, deadline: int, delay_ns: int) -> None:
        self._armed_for = deadline
        self._env.after(delay_ns, lambda: self._on_timer(deadline))

    def _on_timer(self, armed_for: int) -> None:
        if armed_for != self._armed_for:
            return  # another timer, for an earlier deadline, took over
        self._armed_for = None
        heap, now = self._heap, self._env.monotonic_ns()
        while heap and (heap[0][2].done or heap[0][0] <= now):
            item = heappop(heap)[2]
            if not item.done:
                item.expire()
        if heap:
            self._arm_for_first(now)

    def _arm_for_first(self, now: int) -> None:
        """`expire` may have armed the timer for a later one."""
        first = self._heap[0][0]
        if self._armed_for is None or first < self._armed_for:
            self._arm(first, first - now)
