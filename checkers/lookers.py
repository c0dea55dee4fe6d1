"""checkers/lookers.py: who looked at an offset: ranges of offsets that operations claim to have shown in full.

In     rows of a part, each with the first and the last offset that it passed over
Out    for any offsets the one whose range holds it and that ended first, of those that began after a time
       What a deposed leader showed counts as said when it was deposed
Keeps  two sorts and a count for offsets that nobody looked at, which are all of them in a healthy run; a sweep for the others
"""

from __future__ import annotations

from bisect import bisect_right, insort
from typing import Final

import numpy as np

from checkers.columns import FOREVER, NONE, POLL
from checkers.found import Numbers
from checkers.part import Part, Rows

NOBODY: Final[Rows] = np.empty(0, np.int64)


class Lookers:
    """Rows and their ranges, both ends included."""

    def __init__(self, part: Part, rows: Rows, first: Numbers, last: Numbers) -> None:
        self._part, self._rows, self._first, self._last = part, rows, first, last

    def first_across(self, offsets: Numbers, after: Numbers) -> Rows:
        """Of each offset who looked at it, beginning after this time, and ended first; -1 = nobody, as for an offset of -1."""
        found = np.full(len(offsets), NONE, np.int64)
        asked = offsets[offsets != NONE]
        if not len(asked):
            return found
        near = (self._first <= asked.max()) & (self._last >= asked.min())
        begun = np.searchsorted(np.sort(self._first[near]), offsets, side="right")
        over = np.searchsorted(np.sort(self._last[near]), offsets)
        looked_at = np.flatnonzero((begun > over) & (offsets != NONE))
        if len(looked_at):
            looked_at = looked_at[np.argsort(offsets[looked_at], kind="stable")]
            found[looked_at] = self._sweep(offsets[looked_at], after[looked_at])
        return found

    def _sweep(self, ascending: Numbers, after: Numbers) -> list[int]:
        """From the lowest offset up: whose range has begun stands in order of the ends of the operations, until it is over."""
        near = np.flatnonzero((self._first <= ascending[-1]) & (self._last >= ascending[0]))
        near = near[np.argsort(self._first[near], kind="stable")]
        rows = self._rows[near]
        queue = list(zip(self._part.end[rows].tolist(), rows.tolist(), self._last[near].tolist(), strict=True))
        begun = np.searchsorted(self._first[near], ascending, side="right").tolist()
        looking: list[tuple[int, int, int]] = []
        found, taken = [], 0
        for offset, until, after_ns in zip(ascending.tolist(), begun, after.tolist(), strict=True):
            while taken < until:
                insort(looking, queue[taken])
                taken += 1
            found.append(self._first_after(looking, offset, after_ns))
        return found

    def _first_after(self, looking: list[tuple[int, int, int]], offset: int, after_ns: int) -> int:
        """Of those who look at this offset; ranges that are over are dropped on the way."""
        at = bisect_right(looking, (after_ns, FOREVER, FOREVER))
        while at < len(looking):
            _, row, last = looking[at]
            if last < offset:
                del looking[at]
            elif self._part.since[row] > after_ns:
                return row
            else:
                at += 1
        return NONE


def reads_that_span(part: Part, without: Rows = NOBODY) -> Lookers:
    """A range read shows everything from where it asked to the last record that it returned."""
    looks = part.ranges
    if len(without):
        others = np.ones(part.count, np.bool_)
        others[without] = False
        looks = looks.only(others[looks.row])
    return Lookers(part, looks.row, looks.begin, looks.last)


def leaps_of_polls(part: Part) -> Lookers:
    """What two consecutive polls of a session leave out between them: shown to be absent by the second one."""
    rows = np.flatnonzero(part.is_ok & (part.kind == POLL) & (part.spans[1] != NONE))
    process, session = part.process[rows], part.number("session")[rows]
    order = np.lexsort((rows, session, process))
    rows, process, session = rows[order], process[order], session[order]
    follows = np.flatnonzero((process[1:] == process[:-1]) & (session[1:] == session[:-1]))
    before, after = rows[follows], rows[follows + 1]
    first, last = part.spans[1][before] + 1, part.spans[0][after] - 1
    leaps = first <= last
    return Lookers(part, after[leaps], first[leaps], last[leaps])
