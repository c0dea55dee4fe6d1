"""nemesis/link_fault.py: what all faults of links have in common.

In   a verb of model.cluster.Links, as a function of one link and the arguments
Out  a `Fault` that does it to every link of its target, and at its end asks what was touched before it takes it away
"""

from __future__ import annotations

from collections.abc import Callable

from model.cluster import Ability, Args, Cluster, Fired, Link, Links, Steps
from nemesis.effect import bitten
from nemesis.fault import Fault

Act = Callable[[Links, Link, Args], None]


def link_fault(name: str, act: Act) -> Fault[Link]:
    """The fault of that name; its verb is the ability of the same name (DESIGN 11.10)."""
    verb = Ability(name)

    def inject(cluster: Cluster, targets: tuple[Link, ...], args: Args) -> Steps[Fired]:
        for link in targets:
            act(cluster.links, link, args)
        yield from ()
        return Fired(bit=None) if targets else Fired(bit=False, note="no link lies between them")

    def heal(cluster: Cluster, targets: tuple[Link, ...], args: Args) -> bool | None:
        effect = bitten(cluster.links.touched(link, verb) for link in targets)
        for link in targets:
            cluster.links.heal(link, verb)
        return effect

    return Fault(name, inject=inject, heal=heal)
