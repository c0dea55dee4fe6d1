"""nemesis/effect.py: whether a fault had teeth.

In   what handles counted (`touched`), and the damage that they told
Out  True, False, or None where nothing could be counted; the damage of one fault, each replica once
"""

from __future__ import annotations

from collections.abc import Iterable

from model.cluster import Cluster, Damage, NodeId


def bitten(counts: Iterable[int | None]) -> bool | None:
    """True once anything was touched. None when nobody could count."""
    known = [count for count in counts if count is not None]
    return sum(known) > 0 if known else None


def any_runs(cluster: Cluster, nodes: Iterable[NodeId]) -> bool:
    running = cluster.observe().running
    return any(node in running for node in nodes)


def lost_records(damage: Iterable[Damage]) -> bool:
    """A loss that could not be counted is a loss (CHECKERS 6.2)."""
    return any(one.dropped is None or one.dropped > 0 for one in damage)


def told_loss(damage: Iterable[Damage]) -> str:
    """`17 records lost`, for people."""
    counts = [one.dropped for one in damage]
    if None in counts:
        return "an unknown number of records lost"
    return f"{sum(count or 0 for count in counts)} records lost"


def worst(ended: Iterable[Damage], lost: Iterable[Damage]) -> tuple[Damage, ...]:
    """Each replica once: what its disk lost, else that its process ended."""
    kept = tuple(lost)
    named = {(one.node, one.topic, one.partition) for one in kept}
    return (*(one for one in ended if (one.node, one.topic, one.partition) not in named), *kept)
