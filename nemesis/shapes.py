"""nemesis/shapes.py: which links a fault of links takes. Pure.

In   a shape, the sides it was given, all nodes and client groups, and chance for the shapes that are drawn
Out  links in ascending order, each once, never from a node to itself; client groups dial and are never dialled
Why  one_way takes only what the first side dials, so that each direction can fail alone. Of a drawn shape the first side is the
     first half, and in a ring whoever stands earlier
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

import msgspec

from model.chance import Chance, below
from model.cluster import Link, NodeId
from model.vocabulary import Shape

Sides = tuple[tuple[NodeId, ...], ...]
Pair = tuple[NodeId, NodeId]


class Everybody(msgspec.Struct, frozen=True):
    """Who there is: nodes, and client groups below zero."""

    nodes: tuple[NodeId, ...]
    clients: tuple[int, ...]


def links_of(shape: Shape | None, sides: Sides, everybody: Everybody, chance: Chance, *, one_way: bool) -> tuple[Link, ...]:
    """The links of a shape. Without one: between two sides, or one side isolated."""
    if shape in ("halves", "ring", "bridge"):
        order = _shuffled(everybody.nodes, chance)
        pairs = {"halves": _halves, "ring": _ring, "bridge": _bridge}[shape](order)
    elif len(sides) == 2:
        pairs = _between(*sides)
    else:
        pairs = _isolate(sides[0], everybody)
    return _links(pairs, one_way)


def _links(pairs: Iterable[Pair], one_way: bool) -> tuple[Link, ...]:
    dialled = [pair for a, b in pairs for pair in (((a, b),) if one_way else ((a, b), (b, a)))]
    return tuple(sorted({Link(dialer, node) for dialer, node in dialled if node > 0 and dialer != node}))


def _between(one: Sequence[NodeId], other: Sequence[NodeId]) -> list[Pair]:
    return [(a, b) for a in one for b in other]


def _isolate(side: Sequence[NodeId], everybody: Everybody) -> list[Pair]:
    others = [one for one in (*everybody.nodes, *everybody.clients) if one not in side]
    return _between(side, others)


def _halves(order: Sequence[NodeId]) -> list[Pair]:
    middle = len(order) // 2
    return _between(order[:middle], order[middle:])


def _bridge(order: Sequence[NodeId]) -> list[Pair]:
    """The last one sees both halves of the others."""
    return _halves(order[:-1])


def _ring(order: Sequence[NodeId]) -> list[Pair]:
    """Each node keeps its nearest neighbours, just enough for a majority with itself; no two keep the same (Jepsen)."""
    count = len(order)
    reach = (count // 2 + 1) // 2  # on either side: half of the majority that a node needs beside itself, rounded up
    return [(order[i], order[j]) for i, j in combinations(range(count), 2) if min(j - i, count - (j - i)) > reach]


def _shuffled(nodes: Sequence[NodeId], chance: Chance) -> list[NodeId]:
    left = list(nodes)
    return [left.pop(below(chance, len(left))) for _ in nodes]
