"""tear: a node dies in the middle of a write, and half of it is on disk.

Does   kills each target and cuts what one directory had not synced, anywhere: in the middle of a batch, too.
Heals  starts the process again; its recovery has to find the torn batch and cut it off (PROTOCOL 5.5).
Bites  when at least one record was dropped.
Costs  each target is one lossy unclean restart; a tear below the synced end makes what it touches not judged (CHECKERS C1).
"""

from __future__ import annotations

from model.cluster import Args, Damage, Disks, NodeId
from nemesis.dead_disk_fault import dead_disk_fault
from nemesis.effect import lost_records


def hurt(disks: Disks, node: NodeId, args: Args) -> tuple[Damage, ...]:
    return disks.tear(node, args["directory"])


TEAR = dead_disk_fault("tear", hurt, bites=lost_records)
