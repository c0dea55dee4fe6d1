"""lose_unsynced: a node dies and one of its directories forgets every write that was never synced.

Does   kills each target, then drops what that directory had not synced; other directories keep everything.
Heals  starts the process again. What was lost stays lost.
Bites  when at least one record was dropped.
Costs  each target is one lossy unclean restart of the few that rule 8.7 tolerates; checkers/promises.py counts them.
"""

from __future__ import annotations

from model.cluster import Args, Damage, Disks, NodeId
from nemesis.dead_disk_fault import dead_disk_fault
from nemesis.effect import lost_records


def hurt(disks: Disks, node: NodeId, args: Args) -> tuple[Damage, ...]:
    return disks.lose_unsynced(node, args["directory"])


LOSE_UNSYNCED = dead_disk_fault("lose_unsynced", hurt, bites=lost_records)
