"""nemesis/lasting_fault.py: what faults have in common that change how a node lives, and stop doing so when healed.

In   how it begins and ends on one node, and the handle's count of what it touched
Out  a `Fault` that begins on every target, and at its end asks what was touched before it ends
Not  faults that end a process (their own files) or act on its directory while it is down (dead_disk_fault.py)
"""

from __future__ import annotations

from collections.abc import Callable

from model.cluster import Ability, Args, Cluster, Disks, Fired, NodeId, Steps
from nemesis.effect import any_runs, bitten
from nemesis.fault import Fault

OnNode = Callable[[Cluster, NodeId, Args], None]
Count = Callable[[Cluster, NodeId, Args], int | None]


def lasting_fault(name: str, *, begin: OnNode, end: OnNode, touched: Count) -> Fault[NodeId]:
    """The fault of that name. On a node that does not run it is toothless, unless the node comes back and feels it."""

    def inject(cluster: Cluster, targets: tuple[NodeId, ...], args: Args) -> Steps[Fired]:
        for node in targets:
            begin(cluster, node, args)
        yield from ()
        return Fired(bit=None) if any_runs(cluster, targets) else Fired(bit=False, note="no target runs")

    def heal(cluster: Cluster, targets: tuple[NodeId, ...], args: Args) -> bool | None:
        effect = bitten(touched(cluster, node, args) for node in targets)
        for node in targets:
            end(cluster, node, args)
        return effect

    return Fault(name, inject=inject, heal=heal)


def clock_fault(name: str, act: OnNode) -> Fault[NodeId]:
    """A lasting fault of clocks; its end is the true time, whatever else was done to that clock."""
    return lasting_fault(
        name,
        begin=act,
        end=lambda cluster, node, _: cluster.clocks.restore(node),
        touched=lambda cluster, node, _: cluster.clocks.touched(node),
    )


def disk_fault(name: str, act: Callable[[Disks, NodeId, Args], None], *, refuses: bool = True) -> Fault[NodeId]:
    """A lasting fault of one directory; its verb is the ability of the same name. A node may give up because a disk refused
    (PROTOCOL 10.4): whoever mends it starts the node again."""
    verb = Ability(name)

    def touched(cluster: Cluster, node: NodeId, args: Args) -> int | None:
        return cluster.disks.touched(node, verb, args["directory"])

    def end(cluster: Cluster, node: NodeId, args: Args) -> None:
        felt = refuses and touched(cluster, node, args) != 0
        cluster.disks.heal(node, verb, args["directory"])
        if felt:
            cluster.processes.start(node)

    return lasting_fault(name, begin=lambda cluster, node, args: act(cluster.disks, node, args), end=end, touched=touched)
