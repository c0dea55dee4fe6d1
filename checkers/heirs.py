"""checkers/heirs.py: what lies in the end where something else was: was it there before? (CHECKERS 6.4, 6.5)

In     the final read, with leader epochs; who led when; offsets of what is gone and, where it is known, its epoch
Out    `displaced`: what lies there now is of an earlier leader epoch than what is gone, or may be
Why    an election may give office to a replica whose log went another way before: then not only what lies behind the start of
       the new epoch is cut off, but everything of the epochs that this log never saw, and a bound by that start says nothing
Keeps  what nobody read to its end accuses nobody
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from checkers.columns import NONE
from checkers.final_read import FinalRead
from checkers.found import Flags, Numbers
from checkers.offices import Offices
from checkers.part import Part


class Heirs:
    """Of one partition."""

    def __init__(self, part: Part, final: FinalRead, offices: Offices) -> None:
        self._part, self._final, self._offices = part, final, offices

    def displaced(self, offsets: Numbers, epochs: Numbers, by_ns: Numbers) -> Flags:
        """`epochs`: of what is gone; where that is -1, unknown, it is no later than the one in force at `by_ns`."""
        if not self._final.complete:
            return np.ones(len(offsets), np.bool_)
        at, held = self._in_the_end
        epochs = np.where(epochs == NONE, self._offices.latest_epochs(by_ns), epochs)
        if not len(at):
            return np.zeros(len(offsets), np.bool_)
        found = np.minimum(np.searchsorted(at, offsets), len(at) - 1)
        displaced: Flags = (at[found] == offsets) & (held[found] != NONE) & (held[found] < epochs)
        return displaced

    @cached_property
    def _in_the_end(self) -> tuple[Numbers, Numbers]:
        """Offsets that the final read showed, ascending, and the leader epoch of what lies at each."""
        chosen = np.flatnonzero(self._final.of_record)
        offset, first = np.unique(self._part.records.offset[chosen], return_index=True)
        return offset, self._part.record_epochs[chosen[first]]
