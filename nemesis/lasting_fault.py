"""nemesis/lasting_fault.py: what faults have in common that change how a node lives, and stop doing so when healed.

In   how it begins on one node
Out  a `Fault` that begins on every target, and keeps a grip of each
Not  faults that end a process (their own files) or act on its directory while it is down (dead_disk_fault.py)
"""

from __future__ import annotations

from collections.abc import Callable

from model.cluster import Args, Cluster, Disks, Fired, Grip, NodeId, Steps
from nemesis.effect import any_runs
from nemesis.fault import Fault, Heal

OnNode = Callable[[Cluster, NodeId, Args], Grip]


def lasting_fault(name: str, begin: OnNode, heal: Heal[NodeId] | None = None) -> Fault[NodeId]:
    """The fault of that name. On a node that does not run it is toothless, unless the node comes back and feels it."""

    def inject(cluster: Cluster, targets: tuple[NodeId, ...], args: Args) -> Steps[Fired]:
        grips = tuple(begin(cluster, node, args) for node in targets)
        yield from ()
        if any_runs(cluster, targets):
            return Fired(bit=None, grips=grips)
        return Fired(bit=False, note="no target runs", grips=grips)

    return Fault(name, inject=inject, heal=heal)


def disk_fault(name: str, act: Callable[[Disks, NodeId, Args], Grip], *, refuses: bool = True) -> Fault[NodeId]:
    """A lasting fault of one directory; its verb is the ability of the same name. A node may give up because a disk refused
    (PROTOCOL 10.4): whoever mends it starts the node again, even one that another fault has ended meanwhile."""

    def start_if_felt(cluster: Cluster, targets: tuple[NodeId, ...], args: Args, effect: bool | None) -> None:
        if effect is not False:
            for node in targets:
                cluster.processes.start(node)

    return lasting_fault(name, lambda cluster, node, args: act(cluster.disks, node, args), start_if_felt if refuses else None)
