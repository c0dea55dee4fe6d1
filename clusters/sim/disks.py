"""clusters/sim/disks.py: the handle of all log directories (`model.cluster.Disks`).

In     faults, by node and directory
Out    `Damage`, counted by reading the segments before and after
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from clusters.sim.damage import batches_of, losses, rotten
from clusters.sim.disk import SimDisk
from model.cluster import Ability, Damage, How, NodeId


class SimDisks:
    """Directories that do not exist (a controller has none, and a number may be too high) have nothing to lose."""

    def __init__(self, disks: dict[NodeId, Sequence[SimDisk]]) -> None:
        self._disks = disks

    def wipe(self, node: NodeId, directory: int = 0) -> tuple[Damage, ...]:
        return self._harm(node, directory, "wipe", SimDisk.wipe)

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
        return () if hit is None else rotten(node, before, found.content(), hit[0])

    def fill(self, node: NodeId, directory: int = 0) -> None:
        self._add(node, directory, Ability.FILL)

    def slow_sync(self, node: NodeId, delay_ns: int, directory: int = 0) -> None:
        self._add(node, directory, Ability.SLOW_SYNC, delay_ns=delay_ns)

    def read_only(self, node: NodeId, directory: int = 0) -> None:
        self._add(node, directory, Ability.READ_ONLY)

    def io_error(self, node: NodeId, on: Literal["read", "write", "sync"], directory: int = 0) -> None:
        self._add(node, directory, Ability.IO_ERROR, on=on)

    def touched(self, node: NodeId, verb: Ability, directory: int = 0) -> int:
        found = self._find(node, directory)
        return 0 if found is None else found.faults.touched[verb]

    def heal(self, node: NodeId, verb: Ability | None = None, directory: int = 0) -> None:
        found = self._find(node, directory)
        if found is not None:
            found.faults.remove(verb)

    def _find(self, node: NodeId, directory: int) -> SimDisk | None:
        disks = self._disks.get(node, ())
        return disks[directory] if directory < len(disks) else None

    def _add(self, node: NodeId, directory: int, verb: Ability, on: str = "", delay_ns: int = 0) -> None:
        found = self._find(node, directory)
        if found is not None:
            found.faults.add(verb, on, delay_ns)

    def _harm(self, node: NodeId, directory: int, how: How, harm: Callable[[SimDisk], None]) -> tuple[Damage, ...]:
        found = self._find(node, directory)
        if found is None:
            return ()
        before = batches_of(found.content())
        harm(found)
        return losses(node, before, batches_of(found.content()), how)
