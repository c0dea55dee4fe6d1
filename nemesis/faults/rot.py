"""rot: a node dies and some stored bytes of one directory have changed meanwhile.

Does   kills each target and flips bits in its stored records, synced ones too.
Heals  starts the process again. The bytes stay as they are now.
Bites  when a byte of a record changed.
Costs  what it touches is not judged any more (CHECKERS C1, Q1); that clients never see a rotten record still is.
"""

from __future__ import annotations

from model.cluster import Args, Damage, Disks, NodeId
from nemesis.dead_disk_fault import dead_disk_fault


def hurt(disks: Disks, node: NodeId, args: Args) -> tuple[Damage, ...]:
    return disks.rot(node, args["directory"])


ROT = dead_disk_fault("rot", hurt, bites=bool)
