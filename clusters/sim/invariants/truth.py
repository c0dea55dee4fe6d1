"""clusters/sim/invariants/truth.py: what is remembered of one partition: what nobody inside the cluster knows as a whole.

In     what replica.py sees, answers as they leave, commits
Out    the invariants read it
Keeps  `true_hw`, `agreed`, `acked`, `served`, who appended in which epoch. All of it is promised while loss is forbidden; once
       loss was allowed what was promised before is forgotten, and only what comes after counts
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusters.sim.invariants.stored import Batch
from replication.identity import Key
from replication.image import PartitionState

if TYPE_CHECKING:
    from clusters.sim.invariants.replica import Replica

Tenant = tuple[int, int]
"""A life of a process: its node and the number of its start."""


class Acked:
    """A batch that a client was told is committed."""

    __slots__ = ("base", "by", "crc", "end")

    def __init__(self, base: int, end: int, crc: int, by: int) -> None:
        self.base, self.end, self.crc, self.by = base, end, crc, by


class PartitionTruth:
    """One partition."""

    def __init__(self, key: Key, topic: str) -> None:
        self.key, self.topic, self.index = key, topic, key[1]
        self.name = f"{topic}/{key[1]}"
        self.state: PartitionState | None = None
        """As the controllers committed it; None before that, and once the topic is deleted."""
        self.before: PartitionState | None = None
        """The same, before the last operation of the controllers."""
        self.candidates: tuple[int, ...] = ()
        """Whoever can be elected cleanly: members of ISR and ELR."""
        self.history: dict[int, PartitionState] = {}
        """Every state that was ever committed, by its partition epoch."""
        self.replicas: dict[int, Replica] = {}
        """Of running processes, by node."""
        self.loss_forbidden = True
        self.true_hw = 0
        self.true_hw_by: int | None = None
        self.agreed: dict[int, tuple[Batch, int]] = {}
        """What lies below somebody's high watermark, by first offset, and who was the first to have it there."""
        self.acked: list[Acked] = []
        self.acked_end = 0
        self.served: dict[int, tuple[Batch, int]] = {}
        """What consumers were given that nobody had below its high watermark, by first offset, and who gave it."""
        self.served_end = 0
        self.appended: dict[int, Tenant] = {}
        """Who appended in which leader epoch."""

    def take(self, state: PartitionState | None) -> None:
        self.state = state
        self.candidates = () if state is None else (*state.isr, *state.elr)
        if state is not None:
            self.history[state.partition_epoch] = state

    def forget(self) -> None:
        """Loss is allowed: nothing that was promised so far need be kept."""
        self.true_hw, self.true_hw_by = 0, None
        self.agreed.clear()
        self.acked.clear()
        self.served.clear()
        self.acked_end = self.served_end = 0
        for replica in self.replicas.values():
            replica.compared = replica.log.leo
