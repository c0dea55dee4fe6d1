"""workloads/phases.py: which appends a workload may make now (DESIGN 11.4).

In     the plan's phases; appends as they begin and as they are answered; the plan's conditions
Out    leave to append, with the acks of the phase if it has its own; none between two phases and after the last
Keeps  phases in their order. One that counts writes ends when all of them are answered, whatever the answer, so that the next one
       begins on a quiet log; one with a condition ends as soon as that is seen to hold, for its moment may pass
Not    reads, which go on throughout: the workload
"""

from __future__ import annotations

from collections import deque

from model.plan import Phase
from model.workload import Stage

POLL_NS = 10_000_000


class Leave:
    """Leave to append in one phase: taken before appends are made, given back when they are answered."""

    __slots__ = ("acks", "left", "open", "until")

    def __init__(self, phase: Phase) -> None:
        self.acks, self.until = phase.acks, phase.until
        self.left = phase.write
        """So many appends are left to be made; None = any number."""
        self.open = 0

    def take(self, most: int) -> int:
        """How many of so many appends may be made."""
        count = most if self.left is None else min(most, self.left)
        if self.left is not None:
            self.left -= count
        self.open += count
        return count


class Phases:
    """The plan's phases, one after the other; without any, one that never ends."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._coming = deque(Leave(phase) for phase in stage.plan.workload.phases or (Phase(),))
        self._stopped = False

    @property
    def now(self) -> Leave | None:
        """None: all phases are over."""
        return self._coming[0] if self._coming else None

    def start(self) -> None:
        self._watch()

    def stop(self) -> None:
        self._stopped = True

    def answered(self, leave: Leave, count: int) -> None:
        """So many appends under this leave have come back; of a phase with a condition they end nothing."""
        leave.open -= count
        if leave.left == 0 and leave.open == 0:
            self._next()

    def _next(self) -> None:
        self._coming.popleft()
        self._watch()

    def _watch(self) -> None:
        """Look at once, then every 10 ms, whether the condition of this phase holds."""
        leave = self.now
        if self._stopped or leave is None or leave.until is None:
            return
        if self._stage.met(leave.until):
            self._next()
        else:
            self._stage.time.after(POLL_NS, self._watch)
