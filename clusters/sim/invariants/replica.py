"""clusters/sim/invariants/replica.py: one replica in one life of a process, as it was when last looked at.

In     `look`, after every event that touched its node
Out    what has changed since, as a sum of the numbers in catalogue.py
Keeps  copies of a few numbers and of what is replaced and never changed in place (ISR, epochs, pending change): `is` finds the
       difference, and nothing has to be compared in depth
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusters.sim.invariants.catalogue import APPENDED, CUT, EPOCHS, HW, ISR, LEADER_HW, NEW, OFFICE, OUT_OF_BOUNDS
from replication.partition import Partition

if TYPE_CHECKING:
    from clusters.sim.invariants.truth import PartitionTruth
    from clusters.sim.invariants.world import Life


AT_ONCE = 16
"""Nobody reads from a follower: what its HW has passed is compared so many records at a time, and at every greater change."""


class Replica:
    """What was seen of it."""

    __slots__ = (
        "compared",
        "epochs",
        "follower",
        "hw",
        "isr",
        "leader",
        "leader_epoch",
        "leo",
        "life",
        "log",
        "maximal_isr",
        "partition",
        "partition_epoch",
        "pending",
        "standing",
        "truth",
        "was_hw",
        "was_leader",
        "was_leader_epoch",
        "was_leo",
        "was_partition_epoch",
    )

    def __init__(self, life: Life, partition: Partition, truth: PartitionTruth) -> None:
        self.life, self.partition, self.truth = life, partition, truth
        self.log, self.standing = partition.log, partition.standing
        self.compared = 0
        """Below this every batch is known to agree with what others have."""
        self._see()
        self._remember()

    @property
    def node(self) -> int:
        return self.life.node

    def _see(self) -> None:
        partition, log, standing = self.partition, self.log, self.standing
        self.leo, self.hw, self.epochs = log.leo, log.hw, log.epochs
        self.leader, self.follower = partition.leader, partition.follower
        self.leader_epoch, self.partition_epoch = standing.leader_epoch, standing.partition_epoch
        leadership = None if self.leader is None else self.leader.state
        self.isr = None if leadership is None else leadership.isr
        self.maximal_isr = None if leadership is None else leadership.maximal_isr
        self.pending = None if leadership is None else leadership.pending

    def _remember(self) -> None:
        self.was_leo, self.was_hw, self.was_leader = self.leo, self.hw, self.leader
        self.was_leader_epoch, self.was_partition_epoch = self.leader_epoch, self.partition_epoch

    def look(self) -> int:
        """What has changed since the last look; `was_*` is what it was then. Nothing, or an offset or two, is the usual case."""
        log, leader = self.log, self.leader
        if (
            self.partition.leader is not leader
            or log.epochs is not self.epochs
            or self.standing.partition_epoch != self.partition_epoch  # a role never changes without it
            or (leader is not None and leader.state.maximal_isr is not self.maximal_isr)  # nor do ISR and pending change
        ):
            return self._look_closely()
        leo, hw, was_leo, was_hw = log.leo, log.hw, self.leo, self.hw
        if leo == was_leo and hw == was_hw:
            return 0
        self.was_leo, self.was_hw, self.was_leader = was_leo, was_hw, leader
        self.leo, self.hw = leo, hw
        return self._moved()

    def _moved(self) -> int:
        changed = 0
        if self.leo > self.was_leo:
            changed = 0 if self.leader is None else APPENDED
        elif self.leo < self.was_leo:
            changed = CUT
            self.compared = min(self.compared, self.leo)
        if self.leader is not None:
            changed |= 0 if self.hw == self.was_hw else HW | LEADER_HW
        elif self.hw - self.compared >= AT_ONCE or changed:
            changed |= HW
        if not self.log.log_start <= self.hw <= self.leo:
            changed |= OUT_OF_BOUNDS
        return changed

    def _look_closely(self) -> int:
        was = (self.leader, self.follower, self.leader_epoch, self.partition_epoch)
        epochs = self.epochs
        self._remember()
        self._see()
        changed = self._moved() | ISR | HW
        if epochs is not self.epochs:
            changed |= EPOCHS
        if (self.leader, self.follower, self.leader_epoch, self.partition_epoch) != was:
            changed |= OFFICE
        return changed


APPEARED = NEW | HW | LEADER_HW | ISR | OFFICE | EPOCHS
"""What is new is looked at from every side."""
