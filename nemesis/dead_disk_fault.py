"""nemesis/dead_disk_fault.py: what faults have in common that end a process and then hurt its directory.

In   what happens to the directory, and what must be found in its damage so that the fault had teeth
Out  a `Fault` that kills each target and then hurts its directory; its heal starts the process again
"""

from __future__ import annotations

from collections.abc import Callable

from model.cluster import Args, Cluster, Damage, Disks, Fired, NodeId, Steps
from nemesis.effect import told_loss, worst
from nemesis.fault import Fault
from nemesis.restarts import start_again

Hurt = Callable[[Disks, NodeId, Args], tuple[Damage, ...]]


def dead_disk_fault(name: str, hurt: Hurt, bites: Callable[[tuple[Damage, ...]], bool]) -> Fault[NodeId]:
    def inject(cluster: Cluster, targets: tuple[NodeId, ...], args: Args) -> Steps[Fired]:
        ended: tuple[Damage, ...] = ()
        lost: tuple[Damage, ...] = ()
        for node in targets:
            ended += cluster.processes.kill(node)  # the process first: a live one could still sync
            lost += hurt(cluster.disks, node, args)
        yield from ()
        return Fired(bit=bites(lost), damage=worst(ended, lost), note=told_loss(lost))

    return Fault(name, inject=inject, heal=start_again)
