"""clusters/sim/kernel.py: time and order. Everything that happens is one entry of one heap.

In     calls with a time, in integer nanoseconds; one sequence number breaks every tie, so order never depends on anything else
Out    the calls, one after the other; time jumps from one to the next
Keeps  a digest over time and number of every event, and whatever is noted besides: two runs with the same digest did the same
       things at the same times in the same order
Looks  whoever wants to see what an event did puts `touched` and `look` to use: the look comes between two events, never inside
       one, and may end the run
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

Entry = tuple[int, int, Callable[[Any], object], Any]
"""When, the how-manieth, what, with which argument."""


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


class Stuck(RuntimeError):
    """A world in which nothing will ever happen again, or far too much: it says who waits for what."""


class Kernel:
    """The heap, the clock and the digest."""

    def __init__(self) -> None:
        self.now = 0
        self.steps = 0
        self.event = 0
        """The sequence number of what happens now."""
        self.digest = Digest()
        self.stopped = False
        """Somebody has seen enough: nothing happens any more, and time stands still."""
        self.touched: list[Any] = []
        """What the present event has touched, for `look`; whoever appends to it decides what that means."""
        self.look: Callable[[list[Any]], None] = list.clear
        self.waits: Callable[[], str] | None = None
        """Who waits for what. Where it is known, an empty heap and a passed cap are errors (`Stuck`)."""
        self.step_cap = sys.maxsize
        self._heap: list[Entry] = []
        self._sequence = 0

    def at(self, when: int, call: Callable[[Any], object], argument: Any) -> None:
        """Call it then; calls for the same moment come in the order in which they were asked for."""
        self._sequence = count = self._sequence + 1
        heappush(self._heap, (when, count, call, argument))

    def move(self, call: Callable[[Any], object], when: Callable[[Any], int | None]) -> None:
        """Another time, by its argument, for what waits to be called so; each keeps its sequence number. None: it stays."""
        self._heap[:] = [entry if entry[2] != call else self._moved(entry, when(entry[3])) for entry in self._heap]
        heapify(self._heap)

    @staticmethod
    def _moved(entry: Entry, when: int | None) -> Entry:
        return entry if when is None else (when, *entry[1:])

    def note(self, kind: int, node: int, key: int) -> None:
        """Put what happens now into the digest, behind the time and the sequence number that every event has there."""
        self.digest.numbers.extend((kind, node, key))

    def run_until(self, done: Callable[[], bool], end: int) -> bool:
        """Everything up to `end`, or until `done`; whether it was done."""
        heap, steps, numbers, touched = self._heap, 0, self.digest.numbers, self.touched
        try:
            while not done():
                if self.stopped:
                    return False
                if not heap or heap[0][0] > end:
                    self._run_dry(end)
                    return done()
                when, count, call, argument = heappop(heap)
                numbers.extend((when, count))
                if len(numbers) > _NUMBERS_AT_ONCE:
                    self.digest.take()
                    self._count(self.steps + steps)
                self.now, self.event = when, count
                steps += 1
                call(argument)
                if touched:
                    self.look(touched)
            return True
        finally:
            self.steps += steps

    def _run_dry(self, end: int) -> None:
        if not self._heap and self.waits is not None:
            raise Stuck(f"at {self.now / 10**9:.6f} s nothing is left that could happen\n{self.waits()}")
        self.now = end

    def _count(self, steps: int) -> None:
        """Now and then: a world that never comes to its end is found early enough."""
        if steps > self.step_cap:
            waits = "" if self.waits is None else f"\n{self.waits()}"
            raise Stuck(f"at {self.now / 10**9:.6f} s more than {self.step_cap} events had happened{waits}")


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
