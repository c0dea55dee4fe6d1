"""lossy_kill: a power cut for one node. The process dies and its disk forgets every write that was never synced.

Does   kills each target, then drops what its disk had not synced. Synced bytes stay, byte for byte.
Heals  starts the process again. What was lost stays lost: that is the fault.
Bites  when at least one record was dropped. A kill that lost nothing is recorded, and reported as toothless.
Costs  each target is one lossy unclean restart of the few that rule 8.7 tolerates; checkers/promises.py counts them.
"""

from __future__ import annotations

from model.cluster import Args, Damage, Disks, NodeId
from nemesis.dead_disk_fault import dead_disk_fault
from nemesis.effect import lost_records


def hurt(disks: Disks, node: NodeId, args: Args) -> tuple[Damage, ...]:
    return disks.lose_unsynced(node)


LOSSY_KILL = dead_disk_fault("lossy_kill", hurt, bites=lost_records)
