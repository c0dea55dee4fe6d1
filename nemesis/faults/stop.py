"""stop: a clean stop, with controlled shutdown, as an operator would do it.

Does   asks each target for the orderly end, and waits until all of them have ended.
Heals  starts the processes. One that is still on its way down is started once it is there.
Bites  when a process was running and has ended in time.
Costs  no damage: leadership is handed over, logs are synced and marked clean. A planned move may lose acks=1 (CHECKERS W3).
"""

from __future__ import annotations

from model.cluster import Args, Cluster, Fired, NodeId, Steps, Until
from nemesis.fault import Fault
from nemesis.restarts import start_again

LIMIT_NS = 30 * 10**9


def inject(cluster: Cluster, targets: tuple[NodeId, ...], args: Args) -> Steps[Fired]:
    running = cluster.observe().running
    ran = tuple(node for node in targets if node in running)
    for node in targets:
        cluster.processes.stop(node)
    yield Until(lambda state: not state.running.intersection(ran), LIMIT_NS)
    left = cluster.observe().running.intersection(ran)
    note = "no target ran" if not ran else f"{len(left)} of {len(ran)} did not stop in time" if left else ""
    return Fired(bit=len(left) < len(ran), note=note)


STOP = Fault("stop", inject=inject, heal=start_again)
