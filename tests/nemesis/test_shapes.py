"""Shapes: which links are taken, whatever the topology."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.chance import stream
from model.cluster import Link
from nemesis.names import link_name
from nemesis.shapes import Everybody, Sides, links_of

DRAWN = ("halves", "ring", "bridge")
sizes = st.integers(1, 9)


def everybody(nodes: int, clients: int = 2) -> Everybody:
    return Everybody(tuple(range(1, nodes + 1)), tuple(-group for group in range(1, clients + 1)))


def shaped(shape: str | None, sides: Sides, nodes: int = 4, seed: int = 1, one_way: bool = False) -> tuple[Link, ...]:
    return links_of(shape, sides, everybody(nodes), stream(seed, "shape"), one_way=one_way)  # type: ignore[arg-type]


def written(links: tuple[Link, ...]) -> str:
    return " ".join(link_name(link) for link in links)


def reached(links: tuple[Link, ...], node: int, nodes: int) -> set[int]:
    """Whom a node can still talk to in both directions, itself included."""
    cut = set(links)
    return {other for other in range(1, nodes + 1) if not {Link(node, other), Link(other, node)} & cut}


@st.composite
def any_shape(draw: st.DrawFn) -> tuple[str | None, Sides, int]:
    nodes = draw(sizes)
    ends = st.lists(st.sampled_from([*range(1, nodes + 1), -1, -2]), min_size=1, unique=True).map(tuple)
    shape = draw(st.sampled_from([None, "between", "isolate", *DRAWN]))
    count = {"between": 2, "isolate": 1}.get(shape or "", draw(st.integers(1, 2)))
    return shape, () if shape in DRAWN else tuple(draw(ends) for _ in range(count)), nodes


@given(any_shape(), st.integers(0, 2**32), st.booleans())
def test_links_are_in_order_each_once_and_dialled_by_somebody_else(
    said: tuple[str | None, Sides, int], seed: int, one_way: bool
) -> None:
    """No node dials itself, nobody dials a client, and the same seed says the same."""
    shape, sides, nodes = said
    links = shaped(shape, sides, nodes, seed, one_way)
    assert list(links) == sorted(set(links))
    assert all(link.node > 0 and link.dialer != link.node for link in links)
    assert links == shaped(shape, sides, nodes, seed, one_way)


@given(any_shape(), st.integers(0, 2**32))
def test_one_way_takes_one_direction_of_what_both_ways_take(said: tuple[str | None, Sides, int], seed: int) -> None:
    """With the links that are dialled back, it is the whole shape again."""
    shape, sides, nodes = said
    both, one = shaped(shape, sides, nodes, seed), shaped(shape, sides, nodes, seed, one_way=True)
    assert set(one) <= set(both)
    nodes_only = {link for link in both if link.dialer > 0}
    assert nodes_only == {turned for link in one if link.dialer > 0 for turned in (link, Link(link.node, link.dialer))}


def test_between_two_sides() -> None:
    """The default for two sides; one way, only the first one dials. Clients are never dialled."""
    assert written(shaped(None, ((1, -1), (3,)))) == "c1>n3 n1>n3 n3>n1"
    assert written(shaped("between", ((1,), (3, 4)), one_way=True)) == "n1>n3 n1>n4"
    assert written(shaped(None, ((-1,), (3,)), one_way=True)) == "c1>n3"
    assert written(shaped(None, ((3,), (-1,)), one_way=True)) == ""


def test_isolate_takes_a_side_away_from_everybody() -> None:
    """The default for one side: clients cannot reach it either, but within the side everything passes."""
    assert written(shaped(None, ((1,),), nodes=3)) == "c2>n1 c1>n1 n1>n2 n1>n3 n2>n1 n3>n1"
    assert written(shaped("isolate", ((1, 2),), nodes=3)) == "c2>n1 c2>n2 c1>n1 c1>n2 n1>n3 n2>n3 n3>n1 n3>n2"
    assert written(shaped("isolate", ((1,),), nodes=3, one_way=True)) == "n1>n2 n1>n3"
    assert written(shaped("isolate", ((-1,),), nodes=2)) == "c1>n1 c1>n2"


@given(st.integers(2, 9), st.integers(0, 2**32))
def test_halves_are_two_groups_that_do_not_see_each_other(nodes: int, seed: int) -> None:
    """As equal as they can be; clients see both."""
    links = shaped("halves", (), nodes, seed)
    groups = {frozenset(reached(links, node, nodes)) for node in range(1, nodes + 1)}
    assert sorted(len(group) for group in groups) == [nodes // 2, nodes - nodes // 2]
    assert all(link.dialer > 0 for link in links)


@given(st.integers(3, 9), st.integers(0, 2**32))
def test_a_bridge_is_the_one_node_that_both_halves_see(nodes: int, seed: int) -> None:
    """Everybody else sees their own half and the bridge."""
    links = shaped("bridge", (), nodes, seed)
    seen = {node: reached(links, node, nodes) for node in range(1, nodes + 1)}
    bridges = [node for node, others in seen.items() if len(others) == nodes]
    assert len(bridges) == 1
    assert {len(others) for node, others in seen.items() if node not in bridges} <= {nodes // 2, nodes // 2 + 1}


@given(st.integers(4, 9), st.integers(0, 2**32))
def test_in_a_ring_each_node_sees_another_majority(nodes: int, seed: int) -> None:
    """As in Jepsen: a majority each, and no two the same."""
    links = shaped("ring", (), nodes, seed)
    seen = [frozenset(reached(links, node, nodes)) for node in range(1, nodes + 1)]
    assert all(nodes // 2 < len(others) < nodes for others in seen)
    assert len(set(seen)) == nodes


@pytest.mark.parametrize("shape", DRAWN)
def test_drawn_shapes_differ_from_seed_to_seed(shape: str) -> None:
    """They are drawn, not always the same nodes."""
    assert len({shaped(shape, (), 6, seed) for seed in range(20)}) > 5
