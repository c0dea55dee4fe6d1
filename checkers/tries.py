"""checkers/tries.py: how long a partition was asked to accept an append, and did not.

In     a `Part`; which of its appends count
Out    `Stretch`: from the first try to the last, no append was accepted, and at no time was nothing tried for long
Keeps  an append that is open is a try for as long as it is open, whatever became of it. Refusals that are the client's own fault
       are no tries, and an append with acks=0, which nobody ever accepts, is none. One client that fails once proves nothing: its
       connection may have died long ago (silent faults); one that fails, tries again and fails again does
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np

from checkers.columns import FOREVER, INFO, NONE
from checkers.disturbances import BEGINNING
from checkers.found import Flags, Numbers
from checkers.part import Part
from model.outcome import NO_OFFSET, REFUSED_BEFORE_APPEND

TAKEN: Final = frozenset({NO_OFFSET, "DUPLICATE_SEQUENCE_NUMBER"})
"""Errors of an append that is in the log, though nobody says where."""
TOO_FEW_REPLICAS: Final = frozenset({"NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS_AFTER_APPEND"})
CLIENTS_FAULT: Final = REFUSED_BEFORE_APPEND - TOO_FEW_REPLICAS


class Stretch(msgspec.Struct, frozen=True, kw_only=True):
    """Tried all the time, accepted never."""

    from_ns: int
    to_ns: int
    before: int
    """The row that was accepted last before it, -1 = none."""
    after: int
    """The row that was accepted first after it, -1 = none."""


class Tries:
    """Appends of one partition. `counts`: which rows are tries; `ends`: which, once accepted, end a stretch."""

    def __init__(self, part: Part, counts: Flags, ends: Flags) -> None:
        taken = ends & accepted(part)
        self._part = part
        took = self._took_until = part.start + part.number("took_ns")
        rows = np.flatnonzero(taken)
        rows = rows[np.argsort(took[rows], kind="stable")]
        self.accepted_ns, self._accepted = took[rows], rows
        rows = np.flatnonzero(counts & asked_for(part))
        rows = rows[np.argsort(part.start[rows], kind="stable")]
        self._rows, self._starts, self._ends = rows, part.start[rows], took[rows]
        self._failed = ~taken[rows]
        self._open_until = np.maximum.accumulate(self._ends)

    # -- stretches ------------------------------------------------------------------------------------------------------

    def stretches(self, longer_than_ns: int) -> Iterator[Stretch]:
        """A time in which nothing was tried for more than half of that splits a stretch."""
        bounds = np.concatenate([[BEGINNING], self.accepted_ns, [FOREVER]])
        long = bounds[1:] - longer_than_ns > bounds[:-1]
        long[0] = long[-1] = True
        for gap in np.flatnonzero(long):
            before, after = self._accepted_row(int(gap) - 1), self._accepted_row(int(gap))
            for from_ns, to_ns in self._tried(int(bounds[gap]), int(bounds[gap + 1]), longer_than_ns // 2):
                if to_ns - from_ns > longer_than_ns:
                    yield Stretch(from_ns=from_ns, to_ns=to_ns, before=before, after=after)

    def _accepted_row(self, index: int) -> int:
        return int(self._accepted[index]) if 0 <= index < len(self._accepted) else NONE

    def _tried(self, from_ns: int, to_ns: int, hole_ns: int) -> list[tuple[int, int]]:
        """When something was tried between these two, holes of that size closed."""
        near = self._near(from_ns, to_ns)
        if near.stop <= near.start:
            return []
        starts, ends = np.maximum(self._starts[near], from_ns), np.minimum(self._ends[near], to_ns)
        until = np.maximum.accumulate(ends)
        splits = np.flatnonzero(starts[1:] - until[:-1] > hole_ns) + 1
        firsts, lasts = np.append(0, splits), np.append(splits, len(starts)) - 1
        return list(zip(starts[firsts].tolist(), until[lasts].tolist(), strict=True))

    def _near(self, from_ns: int, to_ns: int) -> slice:
        """All tries that were open between these two are among these."""
        first = int(np.searchsorted(self._open_until, from_ns, "right"))
        return slice(first, int(np.searchsorted(self._starts, to_ns)))

    # -- what is known of one -------------------------------------------------------------------------------------------

    def ended(self, row: int) -> int:
        return int(self._took_until[row])

    def accepts(self, from_ns: int, to_ns: int) -> bool:
        """Whether an append was accepted in this time, both ends included."""
        first = np.searchsorted(self.accepted_ns, from_ns)
        return bool(np.searchsorted(self.accepted_ns, to_ns, "right") > first)

    def tried_again(self, from_ns: int, to_ns: int) -> bool:
        """Whether some client failed in this time, then began another try, and failed with that."""
        rows, starts, ends = self._failures(from_ns, to_ns)
        client, names = self._part.words("client")
        first_end, last_start = np.full(len(names) + 1, FOREVER, np.int64), np.full(len(names) + 1, BEGINNING, np.int64)
        np.minimum.at(first_end, client[rows], ends)
        np.maximum.at(last_start, client[rows], starts)
        return bool((last_start > first_end).any())

    def last_failure(self, from_ns: int, to_ns: int) -> int:
        """The row of the try that failed last in this time; -1 = none has ended in it."""
        rows, _, ends = self._failures(from_ns, to_ns)
        inside = ends <= to_ns
        return int(rows[inside][np.argmax(ends[inside])]) if inside.any() else NONE

    def _failures(self, from_ns: int, to_ns: int) -> tuple[Numbers, Numbers, Numbers]:
        near = self._near(from_ns, to_ns)
        kept = np.flatnonzero(self._failed[near] & (self._ends[near] > from_ns)) + near.start
        return self._rows[kept], self._starts[kept], self._ends[kept]


# -- which appends count ------------------------------------------------------------------------------------------------


def accepted(part: Part) -> Flags:
    """Each row: an append that the partition took, and said so."""
    taken: Flags = part.is_append & (part.acks != 0) & (part.is_ok | ((part.outcome == INFO) & errors(part, TAKEN)))
    return taken


def asked_for(part: Part) -> Flags:
    """Each row: an append that the partition should have accepted."""
    asked: Flags = part.is_append & (part.acks != 0) & ~errors(part, CLIENTS_FAULT)
    return asked


def errors(part: Part, names: frozenset[str]) -> Flags:
    """Each row: it ended with one of these, or with what only a client that may not do this is told."""
    codes, words = part.words("error")
    flags = np.array([word in names or (names is CLIENTS_FAULT and _not_permitted(word)) for word in words] + [False], np.bool_)
    found: Flags = flags[codes]
    return found


def _not_permitted(error: str) -> bool:
    return error.endswith("_AUTHORIZATION_FAILED") or error.startswith("UNSUPPORTED_")
