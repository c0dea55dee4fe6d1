"""wipe: a node dies and one of its directories comes back empty, as after the swap of a broken disk.

Does   kills each target and empties the directory.
Heals  starts the process again, on an empty directory. What was lost stays lost.
Bites  when something was there to be lost.
Costs  each replica is one lossy restart that lost everything; a majority of wiped voters ends what is promised (CHECKERS Q1).
"""

from __future__ import annotations

from model.cluster import Args, Damage, Disks, NodeId
from nemesis.dead_disk_fault import dead_disk_fault


def hurt(disks: Disks, node: NodeId, args: Args) -> tuple[Damage, ...]:
    return disks.wipe(node, args["directory"])


WIPE = dead_disk_fault("wipe", hurt, bites=bool)
