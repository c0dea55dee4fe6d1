"""replication/waiting.py: requests that one partition keeps waiting.

In     produces that wait for an offset to be passed, fetches that wait for something to read
Out    `decide` of each produce whose offset was passed, `recheck` of each fetch that may have become ready
Not    what they are told: produces.py and fetches.py ask the rules
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Protocol

from replication.errors import Error


class WaitingProduce(Protocol):
    done: bool

    def decide(self, index: int, error: Error | None) -> None: ...


class WaitingFetch(Protocol):
    def recheck(self) -> None: ...


class OffsetWaiters:
    """Produces that wait until an end offset is passed, in that order (6.4, 6.6)."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, WaitingProduce, int]] = []
        self._count = 0

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, required: int, waiting: WaitingProduce, index: int) -> None:
        self._count += 1
        heappush(self._heap, (required, self._count, waiting, index))

    def passed(self, end: int, verdict: Callable[[], Error | None]) -> None:
        """Decide everything that requires no more than `end`."""
        heap = self._heap
        while heap and heap[0][0] <= end:
            _, _, waiting, index = heappop(heap)
            if not waiting.done:
                waiting.decide(index, verdict())

    def fail(self, error: Error) -> None:
        waiting, self._heap = self._heap, []
        for _, _, produce, index in sorted(waiting, key=lambda entry: entry[1]):
            if not produce.done:
                produce.decide(index, error)

    def forget_done(self) -> None:
        """Drop those at the front that ended otherwise, so that a stuck partition does not collect them."""
        heap = self._heap
        while heap and heap[0][2].done:
            heappop(heap)


class FetchWaiters:
    """Parked fetches, in order of arrival (5.40)."""

    def __init__(self) -> None:
        self._parked: dict[WaitingFetch, None] = {}

    def add(self, fetch: WaitingFetch) -> None:
        self._parked[fetch] = None

    def remove(self, fetch: WaitingFetch) -> None:
        self._parked.pop(fetch, None)

    def wake(self) -> None:
        if self._parked:
            for fetch in tuple(self._parked):
                fetch.recheck()
