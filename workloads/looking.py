"""workloads/looking.py: how one process looks at logs of which it knows only what it was told.

In     the rows of its own operations
Out    reads near the end that it knows of, now and then of everything, now and then beyond the end; questions for the end
"""

from __future__ import annotations

from model.chance import Chance, below, between, pick
from model.cluster import TopicPartition
from model.operation import Operation, Row
from model.plan import Plan
from workloads.answers import end_as_told
from workloads.partitions import partitions_of

RECENT = 20  # a read begins at most so far below the end that the process knows of
BEYOND = 5  # or at most so far beyond it
LIMITS = (1, 10, 100)


class Looking:
    """What one process knows of the ends of logs."""

    def __init__(self, plan: Plan, chance: Chance) -> None:
        self._chance = chance
        self._size = plan.workload.value_size.most
        self._ends = dict.fromkeys(partitions_of(plan), 0)

    def learn(self, where: TopicPartition, row: Row) -> None:
        self._ends[where] = end_as_told(row, self._ends[where])

    def read(self, where: TopicPartition) -> Operation:
        end = self._ends[where]
        drawn = below(self._chance, 10)
        if drawn == 0:
            from_offset = 0
        elif drawn == 1:
            from_offset = end + between(self._chance, 1, BEYOND)
        else:
            from_offset = max(0, end - between(self._chance, 0, RECENT))
        most = pick(self._chance, LIMITS)
        topic, partition = where
        return Operation(
            kind="read", topic=topic, partition=partition, from_offset=from_offset, max_records=most, size=self._size
        )

    def end_offset(self, where: TopicPartition) -> Operation:
        return Operation(kind="end_offset", topic=where[0], partition=where[1])
