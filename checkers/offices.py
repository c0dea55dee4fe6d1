"""checkers/offices.py: who led a partition, when, and in which leader epoch, as far as it is known (CHECKERS 5.5, 6.5).

In     rows of `changes` (CHECKERS 1.8) of one partition, and whether nothing is missing in them
Out    one `Office` for every leader epoch; questions about nodes and times
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from checkers.columns import FOREVER, NONE
from checkers.found import Numbers
from model.cluster import NodeId, TopicPartition


@dataclass(frozen=True)
class Office:
    """A leader epoch: since when it was committed. Nobody may lead in it."""

    at_ns: int
    leader: NodeId | None
    leader_epoch: int


@dataclass(frozen=True)
class Offices:
    """Of one partition, in order of time."""

    held: tuple[Office, ...] = ()
    complete: bool = False

    @cached_property
    def one_epoch(self) -> bool:
        """3.8 It never had a second leader epoch, so answers about it can always be compared."""
        return self.complete and len({office.leader_epoch for office in self.held}) == 1

    def latest_epochs(self, until_ns: Numbers) -> Numbers:
        """The highest leader epoch that was committed by each of these times; -1 where there was none."""
        times = np.array([office.at_ns for office in self.held], np.int64)
        epochs = np.array([NONE, *(office.leader_epoch for office in self.held)], np.int64)
        latest: Numbers = np.maximum.accumulate(epochs)[np.searchsorted(times, until_ns, side="right")]
        return latest

    def overtaken_ns(self, epochs: Numbers) -> Numbers:
        """When a leader epoch after each of these was committed first; FOREVER where none was, or the epoch is unknown (-1)."""
        known = np.array([office.leader_epoch for office in self.held], np.int64)
        times = np.array([*(office.at_ns for office in self.held), FOREVER], np.int64)
        after = times[np.searchsorted(known, epochs, side="right")]
        return np.where(epochs == NONE, np.int64(FOREVER), after)

    def first_epochs(self, nodes: Numbers) -> Numbers:
        """Of each node the first leader epoch in which it led; -1 = it never did."""
        highest = max((office.leader for office in self.held if office.leader is not None), default=NONE)
        first = np.full(max(highest, int(nodes.max(initial=NONE))) + 2, NONE, np.int64)  # the last entry is for nobody, -1
        for office in reversed(self.held):
            if office.leader is not None:
                first[office.leader] = office.leader_epoch
        return first[nodes]

    def only_epoch(self, node: NodeId, until_ns: int) -> int | None:
        """5.5 The leader epoch in which this node led, if until then it was only one: so are its acknowledgements."""
        led = {office.leader_epoch for office in self.held if office.leader == node and office.at_ns <= until_ns}
        return led.pop() if self.complete and len(led) == 1 else None


UNKNOWN: Final = Offices()


def offices_of(changes: Iterable[Mapping[str, Any]], at: TopicPartition, *, complete: bool) -> Offices:
    """From all rows of `changes`."""
    held: dict[int, Office] = {}
    for row in sorted((row for row in changes if (row["topic"], row["partition"]) == at), key=lambda row: row["at_ns"]):
        held.setdefault(row["leader_epoch"], Office(row["at_ns"], row["leader"], row["leader_epoch"]))
    return Offices(tuple(held.values()), complete)
