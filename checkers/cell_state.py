"""checkers/cell_state.py: what many runs of one cell of a matrix say together (CHECKERS 6.7).

In     of each run: its status, its verdict class, its promises with how often each was seen broken
Out    `state_of`: one word for all of them. Whoever shows a matrix asks this and nobody else
Keeps  what a run of class `unknown` did not see may not have been looked at, so only what it saw counts; a run that was never
       judged says nothing. Counters grow with the number of promises, never with that of runs
Order  a forbidden loss is worth more than everything else, and one allowed loss that was seen more than many that were not: it
       proves that the harness can see it. `kept` says that no run was allowed a loss, and none lost anything
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, Literal

import msgspec

from checkers.promises import LOSSES
from model.verdict import Cell, Level, Promised, Status, Valid

State = Literal["FORBIDDEN loss seen", "BROKEN otherwise", "allowed loss seen", "not seen yet", "kept", "not judged", "unknown"]
"""Worst first, as far as that can be said. BROKEN otherwise: a promise was broken and nothing was lost, or nobody saw it: an
invariant, a crash, a cluster that did not come back, records in the wrong order."""
RED: Final[frozenset[State]] = frozenset({"FORBIDDEN loss seen", "BROKEN otherwise"})

_WEAKEST_FIRST: Final[tuple[Promised, ...]] = ("allowed", "forbidden", "not judged")

RunClass = Literal["valid", "unknown", "invalid", "infrastructure", "killed"]


class Promise(msgspec.Struct, frozen=True, order=True):
    """What was promised about one anomaly, whatever the partition."""

    anomaly: str
    level: Level
    rule: str
    promised: Promised

    @property
    def of_a_loss(self) -> bool:
        return self.anomaly in LOSSES


class PromiseSeen(msgspec.Struct, frozen=True):
    """A promise of one run, and how often it was seen broken there."""

    promise: Promise
    times: int


class Count(msgspec.Struct):
    """Of one promise: the runs that made it, and those among them in which it was seen broken."""

    runs: int = 0
    seen: int = 0
    first: int | None = None
    """The least number of these."""


def promises_of(cells: Iterable[Cell]) -> tuple[PromiseSeen, ...]:
    """Of one run, all partitions together."""
    times: dict[Promise, int] = {}
    for cell in cells:
        promise = Promise(cell.anomaly, cell.level, cell.rule, cell.promised)
        times[promise] = times.get(promise, 0) + cell.seen
    return tuple(PromiseSeen(promise, times[promise]) for promise in sorted(times))


def class_of(status: Status, valid: Valid | None) -> RunClass:
    """A broken promise that was seen stays one, whatever became of the run (7.1)."""
    if status == "done" or valid == "invalid":
        return valid or "unknown"
    return status


class RunsOfACell:
    """Counts, as runs come."""

    def __init__(self) -> None:
        self.classes: Counter[RunClass] = Counter()
        self.promises: dict[Promise, Count] = {}
        self.losses: Counter[Promised] = Counter()
        """What each run was promised about losses: `allowed` where any was, `not judged` where none was forbidden either."""
        self.first_broken: int | None = None

    def add(self, number: int, run_class: RunClass, promises: Iterable[PromiseSeen]) -> None:
        self.classes[run_class] += 1
        if run_class == "invalid":
            self.first_broken = _least(self.first_broken, number)
        told = [each for each in promises if each.times or run_class in ("valid", "invalid")]
        for each in told:
            count = self.promises.setdefault(each.promise, Count())
            count.runs += 1
            if each.times:
                count.seen += 1
                count.first = _least(count.first, number)
        self.losses.update(_together(each.promise.promised for each in told if each.promise.of_a_loss))

    @property
    def state(self) -> State:
        return state_of(self.classes, self.promises)


def state_of(classes: Mapping[RunClass, int], promises: Mapping[Promise, Count]) -> State:
    """The one definition."""
    losses = {promise: count for promise, count in promises.items() if promise.of_a_loss}
    seen = {promise.promised for promise, count in losses.items() if count.seen}
    made = {promise.promised for promise in losses}
    if "forbidden" in seen:
        return "FORBIDDEN loss seen"
    if classes.get("invalid"):
        return "BROKEN otherwise"
    if "allowed" in seen:
        return "allowed loss seen"
    if "allowed" in made:
        return "not seen yet"
    if "forbidden" in made:
        return "kept"
    return "not judged" if classes.get("valid") else "unknown"


def _together(promised: Iterable[Promised]) -> list[Promised]:
    """Of the losses of one run: nothing where nothing was promised."""
    made = set(promised)
    return [each for each in _WEAKEST_FIRST if each in made][:1]


def _least(one: int | None, other: int) -> int:
    return other if one is None else min(one, other)
