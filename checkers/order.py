"""checkers/order.py: the one question of the pair rule: who proved more before this began? (CHECKERS 3.4 step 5, 3.5)

In     proofs: operations that ended, each with the least length L that it proved
Out    for any bound U the earliest end, or the first row, or the last before a time, among the proofs of more than U
Keeps  O(n): proven lengths index a table while they are small, else the bounds that are asked for do. No pair is ever enumerated
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from checkers.columns import FOREVER, NONE
from checkers.found import Flags, Numbers
from checkers.part import Part, Rows
from checkers.writers import room


class EarliestEnds:
    """When proofs of more than a bound began to exist."""

    def __init__(self, lengths: Numbers, ends: Numbers) -> None:
        self._lengths, self._ends = lengths, ends
        self._top = int(lengths.max(initial=0))

    @cached_property
    def _table(self) -> Numbers:
        """By length: the least end of a proof of so much or more."""
        least = np.full(self._top + 2, FOREVER, np.int64)
        np.minimum.at(least, self._lengths, self._ends)
        return np.minimum.accumulate(least[::-1])[::-1]

    def beyond(self, bounds: Numbers) -> Numbers:
        """For each bound the least end of a proof of more than it; FOREVER where nobody proved more."""
        if self._top >= room(len(self._lengths)):
            return _least_beyond(self._lengths, self._ends, bounds, FOREVER)
        found: Numbers = self._table[np.minimum(bounds, self._top) + 1]
        return found


def earliest_end_beyond(lengths: Numbers, ends: Numbers, bounds: Numbers) -> Numbers:
    """The same, asked once."""
    return EarliestEnds(lengths, ends).beyond(bounds)


class Proofs:
    """Operations that proved a length, in order of their ends: for the few operations that contradict one of them."""

    def __init__(self, rows: Rows, lengths: Numbers, ends: Numbers) -> None:
        order = np.lexsort((rows, ends))
        self.rows, self.lengths, self.ends = rows[order], lengths[order], ends[order]

    def first_beyond(self, bounds: Numbers) -> Rows:
        """For each bound the first row, by end and then by number, that proved more; -1 = nobody."""
        ranks = _least_beyond(self.lengths, np.arange(len(self.rows)), bounds, FOREVER)
        rows = np.append(self.rows, NONE)
        return rows[np.minimum(ranks, len(self.rows))]

    def last_beyond(self, bounds: Numbers, before_ns: Numbers) -> Rows:
        """For each bound the last row that proved more and ended before that time; -1 = nobody."""
        at = last_above(self.lengths, np.searchsorted(self.ends, before_ns), bounds)
        return np.append(self.rows, NONE)[at]

    def among(self, chosen: Flags) -> Proofs:
        """Only those of chosen rows: a flag for each row of the part."""
        kept = np.flatnonzero(chosen[self.rows])
        return Proofs(self.rows[kept], self.lengths[kept], self.ends[kept])


class OfEachProcess:
    """Acknowledged appends, process by process and in order of their ends: which of one's own was put further up before?"""

    def __init__(self, part: Part, appends: Rows) -> None:
        self._part = part
        self._processes, process = np.unique(part.process[appends], return_inverse=True)
        self._offsets, rank = np.unique(part.offset[appends], return_inverse=True)
        order = np.lexsort((appends, part.end[appends], process))
        self._rows = appends[order]
        self._highest = np.maximum.accumulate((process * (len(self._offsets) + 1) + rank)[order])

    def last_beyond(self, rows: Rows, offsets: Numbers) -> Rows:
        """For each row the last acknowledgement of its process at a higher offset than this, before the row began; -1 = none."""
        part, own = self._part, self._rows
        times = np.unique(part.end[own])
        process = np.unique(np.concatenate([part.process[own], part.process[rows]]), return_inverse=True)[1] * (len(times) + 1)
        ended = process[: len(own)] + np.searchsorted(times, part.end[own])
        begins = process[len(own) :]
        at = last_above(part.offset[own], np.searchsorted(ended, begins + np.searchsorted(times, part.start[rows])), offsets)
        return np.where(at >= np.searchsorted(ended, begins), np.append(own, NONE)[at], np.int64(NONE))

    def first_beyond(self, rows: Rows, offsets: Numbers) -> Rows:
        """For each row the first acknowledgement of its process at a higher offset than this; -1 = none."""
        if not len(self._rows):
            return np.full(len(rows), NONE, np.int64)
        asked = self._part.process[rows]
        process = np.minimum(np.searchsorted(self._processes, asked), len(self._processes) - 1)
        wanted = process * (len(self._offsets) + 1) + np.searchsorted(self._offsets, offsets, side="right")
        at = np.searchsorted(self._highest, wanted)
        found = np.append(self._rows, NONE)[at]
        own = (found != NONE) & (self._part.process[found] == asked)
        return np.where(own, found, np.int64(NONE))


def last_above(numbers: Numbers, ends: Numbers, bounds: Numbers) -> Numbers:
    """For each bound the last index, before an end, of more than it; -1 = none. By the maxima of blocks, each made of two: up
    to the last block before the end that has more, then down in it."""
    at, height = np.full(len(bounds), NONE, np.int64), np.full(len(bounds), NONE, np.int64)
    if not len(numbers):
        return at
    blocks = [numbers]
    while len(blocks[-1]) > 1:
        blocks.append(blocks[-1][: len(blocks[-1]) // 2 * 2].reshape(-1, 2).max(axis=1))
    for level, most in enumerate(blocks):
        last = (ends >> level) - 1
        asked = np.flatnonzero((at == NONE) & (last % 2 == 0))
        found = asked[most[last[asked]] > bounds[asked]]
        at[found], height[found] = last[found], level
    for level in range(len(blocks) - 2, -1, -1):
        inside = np.flatnonzero(height > level)
        second = 2 * at[inside] + 1
        at[inside] = second - (blocks[level][second] <= bounds[inside])
    return at


def _least_beyond(lengths: Numbers, what: Numbers, bounds: Numbers, nothing: int) -> Numbers:
    """For each bound the least of `what` among the proofs of more than it. In memory of the size of the bounds."""
    asked = np.unique(bounds)
    least = np.full(len(asked) + 1, nothing, np.int64)
    at = np.searchsorted(asked, lengths) - 1  # the greatest bound below this length
    beyond = at >= 0
    np.minimum.at(least, at[beyond], what[beyond])
    least = np.minimum.accumulate(least[::-1])[::-1]
    return least[np.searchsorted(asked, bounds)]
