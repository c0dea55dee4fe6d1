"""clusters/sim/kernel.py: time and order. Everything that happens is one entry of one heap.

In     calls with a time, in integer nanoseconds; one sequence number breaks every tie, so order never depends on anything else
Out    the calls, one after the other; time jumps from one to the next
Keeps  a digest over time and number of every event, and whatever is noted besides: two runs with the same digest did the same
       things at the same times in the same order
Not    what the calls do: nothing in here knows of nodes or messages
"""

from __future__ import annotations

import hashlib
import sys
from array import array
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Any

_NUMBERS_AT_ONCE = 8_192


class Digest:
    """SHA-256 over numbers of 64 bits, taken in large pieces: noting something costs a fraction of a microsecond."""

    def __init__(self) -> None:
        self.numbers = array("q")  # not yet taken
        self._hash = hashlib.sha256()

    def hex(self) -> str:
        self.take()
        return self._hash.hexdigest()

    def take(self) -> None:
        if sys.byteorder == "big":
            self.numbers.byteswap()
        self._hash.update(self.numbers.tobytes())
        del self.numbers[:]


class Kernel:
    """The heap, the clock and the digest."""

    def __init__(self) -> None:
        self.now = 0
        self.steps = 0
        self.digest = Digest()
        self._heap: list[tuple[int, int, Callable[[Any], object], Any]] = []
        self._count = 0

    def at(self, when: int, call: Callable[[Any], object], argument: Any) -> None:
        """Call it then; calls for the same moment come in the order in which they were asked for."""
        self._count = count = self._count + 1
        heappush(self._heap, (when, count, call, argument))

    def move(self, call: Callable[[Any], object], when: Callable[[Any], int]) -> None:
        """Another time, by its argument, for everything that waits to be called so; each keeps its sequence number."""
        self._heap[:] = [(when(entry[3]), *entry[1:]) if entry[2] == call else entry for entry in self._heap]
        heapify(self._heap)

    def note(self, kind: int, node: int, key: int) -> None:
        """Put what happens now into the digest, behind the time and the sequence number that every event has there."""
        self.digest.numbers.extend((kind, node, key))

    def run_until(self, done: Callable[[], bool], end: int) -> bool:
        """Everything up to `end`, or until `done`; whether it was done."""
        heap, steps, numbers = self._heap, 0, self.digest.numbers
        try:
            while not done():
                if not heap or heap[0][0] > end:
                    self.now = end
                    return done()
                when, count, call, argument = heappop(heap)
                numbers.extend((when, count))
                if len(numbers) > _NUMBERS_AT_ONCE:
                    self.digest.take()
                self.now = when
                steps += 1
                call(argument)
            return True
        finally:
            self.steps += steps


class SimTimeline:
    """`model.cluster.Timeline` over the kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    def now_ns(self) -> int:
        return self._kernel.now

    def after(self, delay_ns: int, call: Callable[[], None]) -> None:
        self._kernel.at(self._kernel.now + delay_ns, _call, call)

    def run_until(self, done: Callable[[], bool], limit_ns: int) -> bool:
        return self._kernel.run_until(done, self._kernel.now + limit_ns)


def _call(call: Callable[[], None]) -> None:
    call()
