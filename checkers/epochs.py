"""checkers/epochs.py: the leader epochs of one partition: which was committed when, who led it, where it started.

In     the rows of `changes` of one partition, in order of time (CHECKERS 1.8)
Out    whether a later epoch than that of a write was committed (6.5 W1), whether one may have cut an offset (W2)
Keeps  what is not known never accuses anybody: a start that nobody told may be anywhere, and where changes were only sampled
       there may have been any epoch
Room   an epoch without a leader cuts nothing, so it has no start; it is a later epoch all the same
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from checkers.columns import FOREVER, NONE
from checkers.found import Flags, Numbers


class LeaderEpochs:
    """In order, the arrays side by side."""

    def __init__(self, rows: Sequence[Mapping[str, Any]], *, complete: bool) -> None:
        self._complete = complete
        first: dict[int, Mapping[str, Any]] = {}
        starts: dict[int, int] = {}
        for row in rows:
            first.setdefault(row["leader_epoch"], row)
            if row["epoch_start"] is not None:
                starts.setdefault(row["leader_epoch"], row["epoch_start"])
        self._epochs = np.array(sorted(first), np.int64)
        self._committed_ns = np.array([first[epoch]["at_ns"] for epoch in sorted(first)], np.int64)
        unled = {epoch for epoch, row in first.items() if row["leader"] is None}
        starts_at = [FOREVER if epoch in unled else starts.get(epoch, NONE) for epoch in sorted(first)]
        self._starts = np.array(starts_at, np.int64)

    @property
    def only_one(self) -> bool:
        """The partition never had a second leader epoch."""
        return self._complete and len(self._epochs) == 1

    def none_later(self, epochs: Numbers, until_ns: Numbers) -> Flags:
        """W1: the epoch of the write is known, and no later one was committed until then."""
        none: Flags = (epochs != NONE) & (self._after(epochs) >= self._until(until_ns)) & self._complete
        return none

    def may_have_cut(self, epochs: Numbers, until_ns: Numbers, offsets: Numbers) -> Flags:
        """W2: an epoch after that of the write (unknown: after the first) started at or below its offset."""
        if not self._complete:
            return np.ones(len(epochs), np.bool_)
        after, until = self._after(epochs), self._until(until_ns)
        ranges, which = np.unique(np.stack([after, until]), axis=1, return_inverse=True)
        least = [int(self._starts[begin:end].min(initial=FOREVER)) for begin, end in ranges.T.tolist()]
        starts = np.array(least, np.int64)[which.reshape(-1)]
        cut: Flags = (starts != FOREVER) & ((starts <= offsets) | (offsets == NONE))
        return cut

    def _after(self, epochs: Numbers) -> Numbers:
        """Where the epochs after each begin."""
        after = np.searchsorted(self._epochs, epochs, "right")
        return np.where(epochs == NONE, np.int64(1), after)

    def _until(self, until_ns: Numbers) -> Numbers:
        until: Numbers = np.searchsorted(self._committed_ns, until_ns, "right")
        return until
