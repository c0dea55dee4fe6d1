"""checkers/heirs.py: did somebody lead whose log went another way than what is gone? (CHECKERS 6.4, 6.5)

In     everything that was read, with leader epochs; who led when; offsets of what is gone and, where it is known, its epoch
Out    `displaced`: a leader of a later epoch than a record showed, at its offset, one of an earlier epoch, or may have
Why    an election may give office to a replica whose log went another way before: then not only what lies behind the start of
       the new epoch is cut off, but everything of the epochs that this log never saw, and a bound by that start says nothing
Keeps  what nobody read to its end accuses nobody
"""

from __future__ import annotations

import numpy as np

from checkers.columns import FOREVER, NONE
from checkers.final_read import FinalRead
from checkers.found import Flags, Numbers
from checkers.offices import Offices
from checkers.part import Part

_EPOCH_BITS = 32


class Heirs:
    """Of one partition."""

    def __init__(self, part: Part, final: FinalRead, offices: Offices) -> None:
        self._part, self._final, self._offices = part, final, offices

    def displaced(self, offsets: Numbers, epochs: Numbers, until_ns: Numbers) -> Flags:
        """`epochs`: of what is gone; where that is -1, unknown, it is no later than the one in force at `until_ns`, when it was
        last said to be there. Whoever was displaced once may be shown again, by a leader that does not know it: so an offset is
        displaced for all that was ever there."""
        if not self._final.complete:
            return np.ones(len(offsets), np.bool_)
        asked, which = np.unique(offsets, return_inverse=True)
        place, epoch, leader = self._shown_at(asked)
        known = epochs != NONE
        there = np.unique(np.concatenate([_key(place, epoch), _key(which[known], epochs[known])]))
        if not len(there):
            return np.zeros(len(offsets), np.bool_)
        later = there[np.minimum(np.searchsorted(there, _key(place, epoch), side="right"), len(there) - 1)]
        found = np.zeros(len(asked), np.bool_)
        found[place[(later > _key(place, epoch)) & (later < _key(place, leader))]] = True
        earliest = np.full(len(asked), FOREVER, np.int64)
        np.minimum.at(earliest, place, np.where(epoch + 1 < leader, epoch, np.int64(FOREVER)))
        displaced: Flags = found[which] | (~known & (earliest[which] < self._offices.latest_epochs(until_ns)))
        return displaced

    def _shown_at(self, asked: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """Every record of known epoch that was read at one of these offsets: at which, its epoch, the epoch that answered."""
        part = self._part
        record = np.flatnonzero(np.isin(part.records.offset, asked) & (part.record_epochs != NONE))
        leader = part.leader_epoch[part.records.row[record]]
        highest = np.int64(2**_EPOCH_BITS - 1)
        place = np.searchsorted(asked, part.records.offset[record])
        return place, part.record_epochs[record], np.where(leader == NONE, highest, leader)


def _key(place: Numbers, epoch: Numbers) -> Numbers:
    """In order of places and, at each, of epochs."""
    return (place.astype(np.int64) << _EPOCH_BITS) | epoch
