"""As it happened: what was drawn is written down, and hits the same ones whatever else changes."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.shrink.happened import as_it_happened, is_drawn, pinned
from harness.shrink.known import Fate, is_sound
from model.cluster import ClusterState, PartitionState
from model.plan import Nodes, Plan, Topic
from model.schedule import Condition, Event, Target
from nemesis.aim import Aim, aim

PLAN = Plan(tidemark=1, seed=5, nodes=Nodes(brokers=5, controllers=5), topics={"t": Topic(partitions=2), "u": Topic()})
DRAWN: list[Target] = ["follower", "isr-minority", "any-broker", "any-controller", "controller-minority", "follower@u/0"]
SHAPES = ("halves", "bridge")


def state() -> ClusterState:
    t0 = PartitionState("t", 0, 2, 1, 1, (1, 2, 3), (2, 1, 3))
    u0 = PartitionState("u", 0, 5, 1, 1, (4, 5), (5, 4))
    return ClusterState(0, {("t", 0): t0, ("u", 0): u0}, 7, 1, frozenset(PLAN.nodes.ids))


def aimed(event: Event, seed: int) -> Aim:
    return aim(event, msgspec.structs.replace(PLAN, seed=seed), state())


def fate_of(event: Event, seed: int) -> Fate:
    """As harness/shrink/trial.py has it: of nodes the ones that were hit, of links the sides."""
    found = aimed(event, seed)
    nodes = (found.concerned,) if event.fault == "kill" else ()
    return Fate(fired_ns=7, sides=found.sides or nodes)


def events() -> st.SearchStrategy[Event]:
    drawn = st.sampled_from(DRAWN)
    nodes = st.builds(Event, at_ns=st.just(1), fault=st.just("kill"), target=drawn, for_ns=st.just(10))
    one_way = st.sampled_from([{}, {"one_way": True}, {"streams": "answers"}])
    some = drawn | st.tuples(drawn, st.just("clients")) | st.just(("leader", "any-controller"))
    links = st.builds(Event, at_ns=st.just(1), fault=st.just("cut"), target=some, args=one_way)
    shapes = one_way.flatmap(lambda args: st.sampled_from([{**args, "shape": shape} for shape in SHAPES]))
    return nodes | links | st.builds(Event, at_ns=st.just(1), fault=st.just("cut"), args=shapes)


@given(events(), st.integers(0, 2**32), st.integers(0, 2**32))
def test_what_is_written_down_hits_the_same_ones_under_any_seed(event: Event, seed: int, other: int) -> None:
    """Every drawn target and shape, on nodes and links, in one direction or both."""
    told = pinned(event, fate_of(event, seed), msgspec.structs.replace(PLAN, seed=seed))
    assert set(aimed(told, other).targets) == set(aimed(event, seed).targets)
    assert not is_drawn(told)
    assert is_sound(msgspec.structs.replace(PLAN, schedule=(told,)))


def test_a_draw_that_is_not_written_down_is_another_under_another_seed() -> None:
    """The near miss: without it, this file would prove nothing."""
    event = Event(at_ns=1, fault="kill", target="any-broker")
    assert len({aimed(event, seed).targets for seed in range(20)}) > 1


@pytest.mark.parametrize(
    "target", ["leader", "followers", "isr", "active-controller", "brokers", "n3", ("leader", "controllers")]
)
def test_words_that_leave_no_choice_stay(target: Target) -> None:
    """They say why it was that one."""
    event = Event(at_ns=1, fault="cut", target=target)
    assert pinned(event, fate_of(event, 1), PLAN) == event


def test_a_ring_is_more_than_two_sides_and_stays() -> None:
    """No one event says the same."""
    event = Event(at_ns=1, fault="cut", args={"shape": "ring"})
    assert pinned(event, fate_of(event, 1), PLAN) == event


def test_what_never_fired_stays() -> None:
    """Nobody was hit, and there is no time at which it happened."""
    event = Event(when=Condition(leader="n2"), fault="kill", target="any-broker")
    assert pinned(event, Fate(), PLAN) == event
    assert as_it_happened(event, Fate(), PLAN) is None


def test_as_it_happened_is_at_its_time_and_at_whom_it_hit() -> None:
    """Whatever it had waited for."""
    event = Event(when=Condition(leader="n2"), within_ns=99, fault="kill", target="any-broker", for_ns=5)
    fate = Fate(fired_ns=12, sides=((4,),))
    assert as_it_happened(event, fate, PLAN) == Event(at_ns=12, fault="kill", target="n4", for_ns=5)


@pytest.mark.parametrize(
    ("sides", "written"),
    [
        (((1,),), "n1"),
        (((1, 2),), (("n1", "n2"),)),
        (((1,), (-1,)), ("n1", "c1")),
        (((1, 2), (4,)), (("n1", "n2"), "n4")),
    ],
)
def test_sides_of_links_are_written_so_that_they_are_read_as_sides(sides: tuple[tuple[int, ...], ...], written: Target) -> None:
    """A flat list of two would be two sides."""
    event = Event(at_ns=1, fault="cut", target=tuple("follower" for _ in sides) if len(sides) > 1 else "follower")
    assert pinned(event, Fate(fired_ns=1, sides=sides), PLAN).target == written
