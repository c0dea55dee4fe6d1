"""clusters/sim/disks.py: the handle of all log directories (`model.cluster.Disks`).

In     faults, by node and directory
Out    `Damage`, counted by reading the segments before and after
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from clusters.sim.damage import batches_of, losses, rotten, that_counts
from clusters.sim.disk import SimDisk
from clusters.sim.disk_faults import DiskFault, DiskGrip, NoGrip
from model.cluster import Ability, Damage, Grip, How, NodeId
from replication.files import META_PROPERTIES
from replication.records import METADATA_TOPIC


class SimDisks:
    """Directories that do not exist (a number may be too high) have nothing to lose."""

    def __init__(self, disks: dict[NodeId, Sequence[SimDisk]]) -> None:
        self._disks = disks
        self.on_damage: Callable[[NodeId, tuple[Damage, ...]], None] = _nobody
        """Told of whatever was lost, when it is lost."""

    def wipe(self, node: NodeId, directory: int = 0) -> tuple[Damage, ...]:
        """A voter whose log holds nothing yet is another voter afterwards all the same (2.37)."""
        found = self._find(node, directory)
        voted = found is not None and found.votes and META_PROPERTIES in found.files
        damage = self._harm(node, directory, "wipe", SimDisk.wipe)
        if found is None or not voted or any(one.topic == METADATA_TOPIC for one in damage):
            return damage
        return damage + self._told(node, found, (Damage(node, METADATA_TOPIC, 0, "wipe", dropped=0),))

    def lose_unsynced(self, node: NodeId, directory: int = 0) -> tuple[Damage, ...]:
        return self._harm(node, directory, "lossy", SimDisk.lose_unsynced)

    def tear(self, node: NodeId, directory: int = 0) -> tuple[Damage, ...]:
        return self._harm(node, directory, "torn", SimDisk.tear)

    def rot(self, node: NodeId, directory: int = 0) -> tuple[Damage, ...]:
        found = self._find(node, directory)
        if found is None:
            return ()
        before = batches_of(found.content())
        hit = found.rot()
        return () if hit is None else self._told(node, found, rotten(node, before, found.content(), hit[0]))

    def fill(self, node: NodeId, directory: int = 0) -> Grip:
        return self._add(node, directory, DiskFault(Ability.FILL))

    def slow_sync(self, node: NodeId, delay_ns: int, directory: int = 0) -> Grip:
        return self._add(node, directory, DiskFault(Ability.SLOW_SYNC, delay_ns=delay_ns))

    def read_only(self, node: NodeId, directory: int = 0) -> Grip:
        return self._add(node, directory, DiskFault(Ability.READ_ONLY))

    def io_error(self, node: NodeId, on: Literal["read", "write", "sync"], directory: int = 0) -> Grip:
        return self._add(node, directory, DiskFault(Ability.IO_ERROR, on))

    def touched(self, node: NodeId, verb: Ability, directory: int = 0) -> int:
        """By all faults of this verb that are in force."""
        found = self._find(node, directory)
        return 0 if found is None else sum(fault.touched for fault in found.faults.of(verb))

    def heal(self, node: NodeId, verb: Ability | None = None, directory: int = 0) -> None:
        found = self._find(node, directory)
        if found is not None:
            for fault in found.faults.of(verb):
                found.faults.remove(fault)

    def _find(self, node: NodeId, directory: int) -> SimDisk | None:
        disks = self._disks.get(node, ())
        return disks[directory] if directory < len(disks) else None

    def _add(self, node: NodeId, directory: int, fault: DiskFault) -> Grip:
        found = self._find(node, directory)
        if found is None:
            return NoGrip()
        found.faults.add(fault)
        return DiskGrip(found.faults, fault)

    def _harm(self, node: NodeId, directory: int, how: How, harm: Callable[[SimDisk], None]) -> tuple[Damage, ...]:
        found = self._find(node, directory)
        if found is None:
            return ()
        before = batches_of(found.content())
        harm(found)
        return self._told(node, found, losses(node, before, batches_of(found.content()), how))

    def _told(self, node: NodeId, disk: SimDisk, damage: tuple[Damage, ...]) -> tuple[Damage, ...]:
        found = that_counts(damage, votes=disk.votes)
        self.on_damage(node, found)
        return found


def _nobody(node: NodeId, damage: tuple[Damage, ...]) -> None:
    """Nobody wants to know."""
