"""jump: the wall clock of a node jumps once.

Does   moves each target's wall clock by `by`, ahead or back, at one moment.
Heals  nothing: it is over when it has happened, and the clock goes on from where it is then.
Bites  when the node runs: its next reading is another one than it would have been.
Costs  no damage, and no excuse: replication must not lean on wall clocks. Timestamps of records are wrong.
"""

from __future__ import annotations

from model.cluster import Args, Cluster, Fired, NodeId, Steps
from nemesis.effect import any_runs
from nemesis.fault import Fault


def inject(cluster: Cluster, targets: tuple[NodeId, ...], args: Args) -> Steps[Fired]:
    for node in targets:
        cluster.clocks.jump(node, args["by"])
    yield from ()
    runs = any_runs(cluster, targets)
    return Fired(bit=runs, note="" if runs else "no target runs")


JUMP = Fault("jump", inject=inject)
