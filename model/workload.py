"""model/workload.py: what a workload is given, and what it must be able to do, so that the run loop need not know which it is.

In     a `Stage`: the plan, time, processes that record whatever they submit, streams of random numbers, the plan's conditions
Out    operations, submitted by processes; `idle` once it was stopped and the last one has come back
Not    outcomes, numbers and times of operations: harness/recorder.py
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from model.chance import Chance
from model.cluster import Timeline
from model.operation import Operation, Row
from model.outcome import Outcome
from model.plan import Plan
from model.schedule import Condition


class Attempts(Protocol):
    """Appends that may be sent again: one operation per record, whatever the number of requests for it (CHECKERS 2.2)."""

    @property
    def outcome(self) -> Outcome:
        """What it has come to, by what was told of every attempt so far."""
        ...

    def again(self, batch: tuple[Operation, ...]) -> None:
        """One more attempt, once the last one was told of: perhaps under other sequences, always with the same values."""
        ...

    def end(self) -> tuple[Row, ...]:
        """There will be no more: it is recorded as what it has come to."""
        ...


class Process(Protocol):
    """One process of a history. It has one operation open at a time, or several appends; after one that ended `info` it goes on
    under a new id (CHECKERS 1.1, 2.4)."""

    @property
    def number(self) -> int:
        """Which of the plan's processes this is, from 0; it stays when the id changes."""
        ...

    def submit(self, batch: tuple[Operation, ...], done: Callable[[tuple[Row, ...]], None]) -> None:
        """One request; `done` gets the rows that were recorded, one per operation. A write without a value is given a new one."""
        ...

    def attempt(self, batch: tuple[Operation, ...], told: Callable[[str], None]) -> Attempts:
        """The first attempt of appends that may be sent again. `told` gets the fact of each attempt."""
        ...


class Stage(msgspec.Struct, frozen=True):
    """Everything a workload may touch."""

    plan: Plan
    time: Timeline
    processes: tuple[Process, ...]
    chance: Callable[[str], Chance]
    """The stream of random numbers for one purpose of the workload's own."""
    met: Callable[[Condition], bool]
    """Whether a condition holds now."""


class Workload(Protocol):
    """What clients do during a run."""

    def start(self) -> None: ...
    def stop(self) -> None:
        """Begin nothing more."""
        ...

    @property
    def idle(self) -> bool:
        """Nothing is open."""
        ...
