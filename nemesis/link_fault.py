"""nemesis/link_fault.py: what all faults of links have in common.

In   a verb of model.cluster.Links, as a function of one link and the arguments
Out  a `Fault` that does it to every link of its target, until it heals
"""

from __future__ import annotations

from collections.abc import Callable

from model.cluster import Args, Cluster, Fired, Grip, Link, Links, Steps
from nemesis.fault import Fault

Act = Callable[[Links, Link, Args], Grip]


def link_fault(name: str, act: Act) -> Fault[Link]:
    """The fault of that name; its verb is the ability of the same name (DESIGN 11.10)."""

    def inject(cluster: Cluster, targets: tuple[Link, ...], args: Args) -> Steps[Fired]:
        grips = tuple(act(cluster.links, link, args) for link in targets)
        yield from ()
        return Fired(bit=None, grips=grips) if targets else Fired(bit=False, note="no link lies between them")

    return Fault(name, inject=inject)
