"""checkers/final_read.py: the read of everything, after healing (CHECKERS 5.3).

In     a `Part`
Out    whether it is complete, when it began, up to where it reaches, which appends it returned
Keeps  complete only if its ok rows cover everything from the log start to its end without a gap, and the last is at that end.
       A record that is missing inside what was looked at is no gap in the looking: it is what durability asks about
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from checkers.columns import END_OFFSET, FOREVER, NONE, READ
from checkers.found import Flags, Numbers
from checkers.part import Part, Rows
from checkers.placing import Places


class FinalRead:
    """Of one partition; of a history without one, incomplete."""

    def __init__(self, part: Part, places: Places) -> None:
        self.part, self._places = part, places
        self.rows: Rows = np.flatnonzero(part.final & part.is_ok & (part.kind == READ))

    @cached_property
    def reason(self) -> str:
        """Why it is not complete."""
        part, rows = self.part, self.rows
        if not len(rows):
            tried = bool((part.final & (part.kind == READ)).any())
            return "nobody could read it" if tried else "nobody read it" if not part.final.any() else "its end was never known"
        begin, end = self._looked_at
        order = np.argsort(begin, kind="stable")
        reached = np.maximum.accumulate(end[order])
        if begin[order[0]] > 0 or np.any(begin[order][1:] > reached[:-1]):
            return "it has gaps"
        return "" if part.at_end[rows[-1]] and end[-1] == reached[-1] else "it stopped before the end"

    @cached_property
    def _looked_at(self) -> tuple[Numbers, Numbers]:
        """What each row covers: from where it asked to the last record that it was given."""
        part, rows = self.part, self.rows
        first, last = part.spans[0][rows], part.spans[1][rows]
        asked = part.from_offset[rows]
        begin = np.where(asked == NONE, first, asked)
        return begin, np.where(last == NONE, begin, last + 1)

    @property
    def complete(self) -> bool:
        return not self.reason

    @cached_property
    def end(self) -> int:
        return int(self._looked_at[1].max(initial=0))

    @cached_property
    def begin_ns(self) -> int:
        return int(self.part.start[self.rows].min(initial=FOREVER))

    @cached_property
    def end_ns(self) -> int:
        return int(self.part.end[self.rows].max(initial=NONE))

    @cached_property
    def of_record(self) -> Flags:
        """Which of the part's records it returned."""
        chosen = np.zeros(self.part.count, np.bool_)
        chosen[self.rows] = True
        returned: Flags = chosen[self.part.records.row]
        return returned

    @cached_property
    def returned(self) -> Flags:
        """Of each row: an append whose value it returned."""
        returned = np.zeros(self.part.count + 1, np.bool_)  # the last entry takes those that nobody wrote
        returned[self._places.writers.find(self.part.records.value[self.of_record])] = True
        return returned[:-1]

    def covering(self, offsets: Numbers) -> Rows:
        """Of a complete one: the row that looked at each offset, or the one that found the end below it; of -1 the last."""
        begin, end = self._looked_at
        order = np.argsort(begin, kind="stable")
        at = np.searchsorted(begin[order], offsets, side="right") - 1
        inside = (offsets != NONE) & (offsets < end.max(initial=0))
        return np.where(inside, self.rows[order][np.maximum(at, 0)], self.rows[-1])

    # -- the end, as it was told ----------------------------------------------------------------------------------------

    @cached_property
    def told_ends(self) -> Rows:
        """Final answers about the end of the log."""
        part = self.part
        return np.flatnonzero(part.final & part.is_ok & (part.kind == END_OFFSET))
