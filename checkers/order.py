"""checkers/order.py: the one question of the pair rule: who proved more before this began? (CHECKERS 3.4 step 5, 3.5)

In     proofs: operations that ended, each with the least length L that it proved
Out    for any bound U the earliest end, or the first row, among the proofs of more than U
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


def _least_beyond(lengths: Numbers, what: Numbers, bounds: Numbers, nothing: int) -> Numbers:
    """For each bound the least of `what` among the proofs of more than it. In memory of the size of the bounds."""
    asked = np.unique(bounds)
    least = np.full(len(asked) + 1, nothing, np.int64)
    at = np.searchsorted(asked, lengths) - 1  # the greatest bound below this length
    beyond = at >= 0
    np.minimum.at(least, at[beyond], what[beyond])
    least = np.minimum.accumulate(least[::-1])[::-1]
    return least[np.searchsorted(asked, bounds)]
