"""rolling_restart: one node after the other is stopped and started, as an upgrade does it.

Does   asks a target for its clean stop, waits until it has ended, starts it, waits for `gap`; then the next.
Heals  nothing: it is over when the last one was started. A run that ends first starts the one that is down, and no further one.
Bites  when at least one process ended and was started again.
Costs  no damage. Every leader on the way is handed over, which may lose acks=1 (CHECKERS W3).
"""

from __future__ import annotations

from model.cluster import Args, Cluster, Fired, NodeId, Sleep, Steps, Until
from nemesis.fault import Fault
from nemesis.faults.stop import LIMIT_NS


def inject(cluster: Cluster, targets: tuple[NodeId, ...], args: Args) -> Steps[Fired]:
    restarted = 0
    for node in targets:
        restarted += yield from _restart(cluster, node)
        if not (yield Sleep(args["gap"])):
            break
    return Fired(bit=restarted > 0, note=f"{restarted} of {len(targets)} restarted")


def _restart(cluster: Cluster, node: NodeId) -> Steps[bool]:
    ran = node in cluster.observe().running
    cluster.processes.stop(node)
    ended = yield Until(lambda state: node not in state.running, LIMIT_NS)
    cluster.processes.start(node)
    return ran and ended


ROLLING_RESTART = Fault("rolling_restart", inject=inject)
