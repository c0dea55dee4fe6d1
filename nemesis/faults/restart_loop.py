"""restart_loop: a node that crashes, comes back, and crashes again.

Does   kills each target and starts it again at once; again after `every`, until it is healed.
Heals  ends the loop and sees to it that every target runs.
Bites  when a process was running and ended.
Costs  each round is one unclean restart of each target that lost nothing; a new broker epoch every time.
"""

from __future__ import annotations

from model.cluster import Args, Cluster, Damage, Fired, NodeId, Sleep, Steps
from nemesis.effect import any_runs
from nemesis.fault import Fault
from nemesis.restarts import start_again


def inject(cluster: Cluster, targets: tuple[NodeId, ...], args: Args) -> Steps[Fired]:
    ran, rounds, damage = False, 0, list[Damage]()
    goes_on = True
    while goes_on:
        ran = any_runs(cluster, targets) or ran
        for node in targets:
            damage += cluster.processes.kill(node)
            cluster.processes.start(node)
        rounds += 1
        goes_on = yield Sleep(args["every"])
    return Fired(bit=ran, damage=tuple(damage), note=f"restarted {rounds} times")


RESTART_LOOP = Fault("restart_loop", inject=inject, heal=start_again)
