"""checkers/tally.py: how many operations of each kind a history has, and how they ended.

In     the columns of a history
Out    counts by partition, kind, outcome and acks; what was tried, what succeeded
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from checkers.columns import Columns
from model.cluster import TopicPartition
from model.operation import KINDS, TYPES

_LOOKS = ("read", "poll")
_NOT_SAID = 2  # acks of an operation that has none


class Tally:
    """Of one history."""

    def __init__(self, columns: Columns) -> None:
        self._of: Counter[tuple[tuple[str | None, int | None], str, str, int]] = Counter()
        self._by_the_workload: set[tuple[str, int]] = set()
        topic, names = columns.words("topic")
        acks_said, partitions = columns.number_or("acks", _NOT_SAID), columns.number("partition")
        said = (topic, partitions, columns.kind, columns.outcome, acks_said, columns.flag("final"))
        for (name, partition, kind, outcome, acks, final), count in _counted(said):
            at = names[name] if name >= 0 else None, partition if partition >= 0 else None
            self._of[at, KINDS[kind], TYPES[outcome], acks] += count
            if not final:
                self._by_the_workload.add((KINDS[kind], acks))

    def acknowledged(self, at: TopicPartition, acks: int) -> int:
        return self._of[at, "append", "ok", acks]

    def looked_at(self, at: TopicPartition) -> int:
        """Reads and polls that were answered."""
        return self._sum(kinds=_LOOKS, at=at)

    @property
    def succeeded(self) -> int:
        return self._sum()

    def never_succeeded(self) -> list[str]:
        """Kinds that the workload tried in vain; appends also where it tried none. With acks=0 none can succeed, nor has to."""
        appends = {acks for kind, acks in self._by_the_workload if kind == "append"}
        tried = {kind for kind, _ in self._by_the_workload if kind != "append"}
        if appends != {0}:
            tried.add("append")
        return sorted(kind for kind in tried if not self._sum(kinds=(kind,)))

    def _sum(self, kinds: Iterable[str] | None = None, at: TopicPartition | None = None) -> int:
        """Of those that ended ok."""
        wanted = None if kinds is None else frozenset(kinds)
        return sum(
            count
            for (where, kind, outcome, _), count in self._of.items()
            if outcome == "ok" and (wanted is None or kind in wanted) and (at is None or where == at)
        )


def _counted(columns: Sequence[npt.NDArray[Any]]) -> Iterator[tuple[tuple[int, ...], int]]:
    """Every combination of values, and how often it is there: all columns as one number, because one sort costs less than six."""
    if not len(columns[0]):
        return
    lows = [int(column.min()) for column in columns]
    spans = [int(column.max()) - low + 1 for column, low in zip(columns, lows, strict=True)]
    key = np.ravel_multi_index([column.astype(np.int64) - low for column, low in zip(columns, lows, strict=True)], spans)
    found, counts = np.unique(key, return_counts=True)
    values = [(column + low).tolist() for column, low in zip(np.unravel_index(found, spans), lows, strict=True)]
    yield from zip(zip(*values, strict=True), counts.tolist(), strict=True)
