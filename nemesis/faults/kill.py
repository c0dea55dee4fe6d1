"""kill: the process of a node ends at once, as by kill -9.

Does   kills each target. What it had written but not synced stays in the page cache, and is there when it starts again.
Heals  starts the process. Two kills of one node that overlap: the first heal starts it.
Bites  when a process was running and ended.
Costs  each target is one unclean restart that lost nothing: it counts in D, not in l (CHECKERS 6.2).
"""

from __future__ import annotations

from model.cluster import Args, Cluster, Damage, Fired, NodeId, Steps
from nemesis.effect import any_runs
from nemesis.fault import Fault
from nemesis.restarts import start_again


def inject(cluster: Cluster, targets: tuple[NodeId, ...], args: Args) -> Steps[Fired]:
    ran = any_runs(cluster, targets)
    damage: tuple[Damage, ...] = ()
    for node in targets:
        damage += cluster.processes.kill(node)
    yield from ()
    return Fired(bit=ran, damage=damage, note="" if ran else "no target ran")


KILL = Fault("kill", inject=inject, heal=start_again)
