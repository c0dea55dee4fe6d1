"""model/history_together.py: what the rows of a history may not say beside each other (CHECKERS 1.1, 1.2, 1.3, 2.4).

In   a whole history, each of whose rows is well formed
Out  faults: the first row that each sentence finds wrong, and the row that it contradicts
Keeps time n log n in the number of operations, and no loop over them
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import msgspec
import numpy as np

from model.history_rows import Mask, Numbers, Rows
from model.outcome import NO_ACK

NEVER = np.iinfo(np.int64).max


class Fault(msgspec.Struct, frozen=True):
    """Something wrong with one row."""

    row: int
    field: str
    found: str
    expected: str
    beside: int | None = None
    """The row that it contradicts."""


def _numbers_once(rows: Rows) -> Iterator[Fault]:
    first = _first_repeat(rows.numbers("op"))
    if first is not None:
        yield Fault(first[1], "op", str(rows.value("op", first[1])), "a number that no other operation has", first[0])


def _append_values_once(rows: Rows) -> Iterator[Fault]:
    """1.3 Two appends of one value to one log could not be told apart. Another partition is another log (3.3)."""
    appends = np.flatnonzero(rows.is_word("kind", "append"))
    values = rows.numbers("value")[appends]
    if _all_differ(values):
        return
    first = _first_repeat(values, rows.numbers("partition")[appends], rows.codes("topic")[appends])
    if first is not None:
        earlier, later = (int(appends[at]) for at in first)
        found = str(rows.value("value", later))
        yield Fault(later, "value", found, "a value that no other append to this partition has", earlier)


def _one_open_operation(rows: Rows) -> Iterator[Fault]:
    """1.1 Only appends are in flight together; rows of one poll or assign call are one operation in that respect."""
    turns = _Turns(rows)
    for is_open, judged in ((turns.ends_of_others, turns.is_append), (turns.end, ~turns.is_append & ~turns.same_call)):
        latest, by = turns.latest_before(is_open)
        yield from turns.told(judged & (latest > turns.start), by, "a start after its process's earlier operations ended")


def _silent_after_info(rows: Rows) -> Iterator[Fault]:
    """2.4 A process whose operation ended info never acts again; acks=0 is the one exception."""
    retiring = rows.is_word("type", "info")
    if not rows.unused("error"):
        retiring &= ~rows.is_word("error", NO_ACK)
    if not retiring.any():
        return
    turns = _Turns(rows)
    gave_up, by = turns.earliest_of_process(np.where(retiring[turns.order], turns.end, NEVER))
    yield from turns.told(turns.start > gave_up, by, "no operation of a process after its `info`: it goes on under a new number")


TOGETHER_SENTENCES: tuple[Callable[[Rows], Iterator[Fault]], ...] = (
    _numbers_once,
    _append_values_once,
    _one_open_operation,
    _silent_after_info,
)


class _Turns:
    """The rows in the order in which each process made them, one process after the other."""

    def __init__(self, rows: Rows) -> None:
        start, process, kind = rows.numbers("start_ns"), rows.numbers("process"), rows.codes("kind")
        end = start + rows.numbers("took_ns")
        self.rows = rows
        self.order = np.lexsort((kind, end, start, process))
        self.start, self.end = start[self.order], end[self.order]
        self.is_append = rows.is_word("kind", "append")[self.order]
        self._kind, process = kind[self.order], process[self.order]
        self.new_process = _changes(process)

    @cached_property
    def same_call(self) -> Mask:
        """Rows that are one call with the row before: several partitions, one answer."""
        asked = self.rows.is_word("kind", "poll", "assign")[self.order]
        return asked & ~(self.new_process | _changes(self.start) | _changes(self.end) | _changes(self._kind))

    @property
    def ends_of_others(self) -> Numbers:
        """Ends of what is no append: -1 otherwise, which is before every start."""
        return np.where(self.is_append, -1, self.end)

    @cached_property
    def _process_at(self) -> Numbers:
        return np.cumsum(self.new_process) - 1

    def latest_before(self, ends: Numbers) -> tuple[Numbers, Numbers]:
        """For each row the greatest of the process's earlier ends, and the turn that it belongs to; -1: there is none."""
        count = len(ends)
        ranked = np.argsort(ends, kind="stable")
        rank = np.empty(count, np.int64)
        rank[ranked] = np.arange(count)
        base = self._process_at * count  # lifts every process above all earlier ones, so that one running maximum does
        greatest = np.maximum.accumulate(rank + base)
        before = np.full(count, -1)
        before[1:] = greatest[:-1]
        before -= base
        turn = np.where(before < 0, -1, ranked[np.maximum(before, 0)])
        return np.where(turn < 0, -1, ends[turn]), turn

    def earliest_of_process(self, ends: Numbers) -> tuple[Numbers, Numbers]:
        """For each row the least of all its process's ends, and the turn that it belongs to."""
        starts = np.flatnonzero(self.new_process)
        least = np.minimum.reduceat(ends, starts)[self._process_at]
        holders = np.flatnonzero(ends == least)
        turn = np.empty(len(starts), np.int64)
        turn[self._process_at[holders[::-1]]] = holders[::-1]
        return least, turn[self._process_at]

    def told(self, wrong: Mask, by: Numbers, expected: str) -> Iterator[Fault]:
        turns = np.flatnonzero(wrong)
        if len(turns):
            turn = int(turns[self.order[turns].argmin()])
            row, beside = int(self.order[turn]), int(self.order[by[turn]])
            process = self.rows.value("process", row)
            yield Fault(row, "start_ns", f"{self.rows.value('start_ns', row)} (process {process})", expected, beside)


def _changes(column: Any) -> Mask:
    """Where a value differs from the one before."""
    different = np.ones(len(column), bool)
    different[1:] = column[1:] != column[:-1]
    return different


def _all_differ(column: Any) -> bool:
    if len(column) < 2 or bool((column[1:] > column[:-1]).all()):
        return True
    ordered = np.sort(column)
    return bool((ordered[1:] != ordered[:-1]).all())


def _first_repeat(*columns: Any) -> tuple[int, int] | None:
    """The earliest row that repeats an earlier one in all these columns, and that earlier one: (earlier, later)."""
    if len(columns) == 1 and _all_differ(columns[0]):
        return None
    order = np.lexsort(columns)  # stable: equal rows stay in their order
    same = np.ones(len(order), bool)
    for column in columns:
        same &= ~_changes(column[order])
    repeats = np.flatnonzero(same)
    if not len(repeats):
        return None
    at = int(repeats[order[repeats].argmin()])
    return int(order[at - 1]), int(order[at])
