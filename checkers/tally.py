"""checkers/tally.py: how many operations of each kind a history has, and how they ended.

In     the table of a history
Out    counts by partition, kind, outcome and acks; what was tried, what succeeded
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pyarrow as pa

from model.cluster import TopicPartition

_COLUMNS = ["topic", "partition", "kind", "type", "acks", "final"]
_LOOKS = ("read", "poll")


class Tally:
    """Of one history."""

    def __init__(self, table: pa.Table) -> None:
        self._of: Counter[tuple[TopicPartition, str, str, int | None]] = Counter()
        self._by_the_workload: set[tuple[str, int | None]] = set()
        for row in table.group_by(_COLUMNS).aggregate([([], "count_all")]).to_pylist():
            self._of[(row["topic"], row["partition"]), row["kind"], row["type"], row["acks"]] += row["count_all"]
            if not row["final"]:
                self._by_the_workload.add((row["kind"], row["acks"]))

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
