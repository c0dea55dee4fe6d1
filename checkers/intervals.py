"""checkers/intervals.py: what each operation says of the length of the log (CHECKERS 3.4 step 4).

In     a `Part`, its `Places`, the `Mode`
Out    per row: the log has at least `length` records just after it, and at most `bound` just before it; it took place by `end`
Keeps  0 and FOREVER where it says nothing. An append that all did not acknowledge has no end, whatever its client was told
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from checkers.columns import END_OFFSET, FAIL, FOREVER, NONE, READ
from checkers.found import Flags, Numbers
from checkers.mode import Mode
from checkers.order import EarliestEnds, Proofs
from checkers.part import Part, Rows
from checkers.placing import Places


class Intervals:
    """(S, E, L, U) of every operation that counts."""

    def __init__(self, part: Part, places: Places, mode: Mode) -> None:
        self.part, self.places, self.mode = part, places, mode
        self.retry = copies_may_lie_around(part, mode)

    @cached_property
    def placed(self) -> Flags:
        """Appends that lie somewhere at or above the log start."""
        placed: Flags = self.part.is_append & (self.part.outcome != FAIL) & (self.places.place >= 0)
        return placed

    @cached_property
    def length(self) -> Numbers:
        part = self.part
        length = np.where(self.placed, self.places.place, part.spans[1]) + 1
        told = np.flatnonzero((part.kind == END_OFFSET) & part.is_ok)
        length[told] = np.maximum(part.offset[told], 0)
        return length

    @cached_property
    def bound(self) -> Numbers:
        part = self.part
        bound = np.where(self.placed, self.places.place, np.int64(FOREVER))
        told = np.flatnonzero((part.kind == END_OFFSET) & part.is_ok)
        bound[told] = np.maximum(part.offset[told], 0)
        whole = np.flatnonzero(part.at_end & (part.kind == READ) & part.is_ok)
        bound[whole] = self._end_of(whole)
        return bound

    def _end_of(self, reads: Rows) -> Numbers:
        """Where reads that reached the end found it; in a sparse log it may lie as far as the next known offset (3.7)."""
        last, asked = self.part.spans[1][reads], self.part.from_offset[reads]
        end = np.where(last != NONE, last + 1, np.where(asked == NONE, np.int64(FOREVER), asked))
        if self.mode.density == "dense" or not len(self.places.known):
            return end if self.mode.density == "dense" else np.full(len(reads), FOREVER, np.int64)
        known = np.append(self.places.known, FOREVER)
        return known[np.searchsorted(self.places.known, end)]

    @cached_property
    def end(self) -> Numbers:
        """In mode retry an acknowledgement without an offset says nothing of when (3.7)."""
        part = self.part
        acked = part.acked_by_all & (part.offset != NONE) if self.retry else part.acked_by_all
        return np.where(part.is_append & ~acked, np.int64(FOREVER), part.end)

    @cached_property
    def provers(self) -> Rows:
        """Rows that prove a length by their end."""
        return np.flatnonzero((self.length > 0) & (self.end != FOREVER))

    @cached_property
    def earliest_ends(self) -> EarliestEnds:
        return EarliestEnds(self.length[self.provers], self.end[self.provers])

    @cached_property
    def proofs(self) -> Proofs:
        """The same in order of their ends: for the few who are contradicted."""
        return Proofs(self.provers, self.length[self.provers], self.end[self.provers])

    @cached_property
    def longest(self) -> int:
        """N: so many records the log was seen to have."""
        return int(self.length.max(initial=0))


def copies_may_lie_around(part: Part, mode: Mode) -> bool:
    """3.7 Mode retry: some append may have been sent twice, and the log does not recognise it."""
    if mode.copies is not None:
        return mode.copies == "retry"
    return bool(may_be_copied(part).any())


def may_be_copied(part: Part) -> Flags:
    """Appends that were, or may have been, resent without being idempotent."""
    once = (part.number("attempts") == 1) | part.flag("idempotent")
    copied: Flags = part.is_append & (part.outcome != FAIL) & ~once
    return copied
