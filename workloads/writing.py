"""workloads/writing.py: the records that one process appends.

In     the plan's workload; leave to append (phases.py)
Out    appends without values, all of one batch: with the acks of the phase or else of the process, each as large as the plan says
Keeps  acks are dealt out to those processes that append, in turn
"""

from __future__ import annotations

from typing import cast

from model.chance import Chance, between
from model.cluster import TopicPartition
from model.operation import Acks, Operation
from model.plan import Workload
from workloads.phases import Leave


class Writing:
    """How one process writes. `idempotent`: as part of a producer's session."""

    def __init__(self, workload: Workload, writer: int, chance: Chance, *, idempotent: bool | None = None) -> None:
        """`writer`: which of the processes that append this is, from 0."""
        dealt = workload.acks_of_processes or (workload.acks,)
        self._acks = dealt[writer % len(dealt)]
        self._sizes, self._chance, self._idempotent = workload.value_size, chance, idempotent

    def batch(self, where: TopicPartition, count: int, leave: Leave) -> tuple[Operation, ...]:
        acks = cast(Acks, self._acks if leave.acks is None else leave.acks)
        return tuple(self._append(where, acks) for _ in range(count))

    def _append(self, where: TopicPartition, acks: Acks) -> Operation:
        return Operation(
            kind="append", topic=where[0], partition=where[1], acks=acks, idempotent=self._idempotent, size=self._size()
        )

    def _size(self) -> int:
        """Nothing is drawn where there is no choice."""
        sizes = self._sizes
        return sizes.least if sizes.least == sizes.most else between(self._chance, sizes.least, sizes.most)
