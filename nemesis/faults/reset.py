"""reset: live connections of a link are torn down at once.

Does   resets every connection that each link has right now, in both streams or one. New ones may be opened at once.
Heals  nothing: it is over when it has happened.
Bites  when there was a connection to reset.
Costs  no damage. Operations that were under way end as unknown.
"""

from __future__ import annotations

from model.cluster import Args, Cluster, Fired, Link, Steps
from nemesis.effect import bitten
from nemesis.fault import Fault


def inject(cluster: Cluster, targets: tuple[Link, ...], args: Args) -> Steps[Fired]:
    counts = [cluster.links.reset(link, args["streams"]) for link in targets]
    yield from ()
    return Fired(bit=bitten(counts)) if targets else Fired(bit=False, note="no link lies between them")


RESET = Fault("reset", inject=inject)
