"""Targets: who is hit when the fault fires, and when nobody can be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.cluster import ClusterState, PartitionState
from model.plan import Nodes, Plan, Topic
from model.schedule import Event
from model.vocabulary import TARGETS
from nemesis.aim import aim
from nemesis.targets import Seen, Unresolved, partition_of, resolve, stream_of

PLAN = Plan(tidemark=1, nodes=Nodes(brokers=5, controllers=5), topics={"t": Topic(partitions=2), "u": Topic()})
EVENT = Event(at_ns=0, fault="kill", target="leader")


def state(leader: int | None = 2, isr: tuple[int, ...] = (2, 1, 3), active: int | None = 7) -> ClusterState:
    t0 = PartitionState("t", 0, leader, 1, 1, (1, 2, 3), isr)
    u0 = PartitionState("u", 0, 5, 1, 1, (4, 5), (5, 4))
    return ClusterState(0, {("t", 0): t0, ("u", 0): u0}, active, 1, frozenset(PLAN.nodes.ids))


def resolved(*written: str, at: ClusterState | None = None, seed: int = 1, plan: Plan = PLAN) -> tuple[int, ...]:
    return resolve(written, Seen(plan, at or state(), stream_of(seed, EVENT, "target")))


@pytest.mark.parametrize(
    ("written", "who"),
    [
        ("leader", (2,)),
        ("leader@u/0", (5,)),
        ("followers", (1, 3)),
        ("followers@u/0", (4,)),
        ("isr", (2, 1, 3)),
        ("active-controller", (7,)),
        ("brokers", (1, 2, 3, 4, 5)),
        ("controllers", (6, 7, 8, 9, 10)),
        ("all", tuple(range(1, 11))),
        ("n4", (4,)),
        ("clients", (-1, -2)),
        ("c2", (-2,)),
    ],
)
def test_names_that_leave_no_choice(written: str, who: tuple[int, ...]) -> None:
    """Of the first partition, unless another one is named; client groups are numbers below zero."""
    assert resolved(written) == who


@given(st.integers(0, 2**32))
def test_names_that_are_drawn(seed: int) -> None:
    """One of those who may be meant, whatever the seed."""
    assert resolved("follower", seed=seed) in ((1,), (3,))
    assert resolved("isr-minority", seed=seed) in ((1,), (3,))  # of three the minority is one, and the leader is not in it
    assert resolved("any-broker", seed=seed)[0] in PLAN.nodes.broker_ids
    assert resolved("any-controller", seed=seed)[0] in PLAN.nodes.controller_ids
    minority = resolved("controller-minority", seed=seed)
    assert len(set(minority)) == 2
    assert set(minority) <= set(PLAN.nodes.controller_ids)


@pytest.mark.parametrize("written", ["follower", "isr-minority", "any-broker", "any-controller", "controller-minority"])
def test_draws_reach_everybody_who_may_be_meant(written: str) -> None:
    """A draw that never takes the last one would leave it untested for ever."""
    drawn = {node for seed in range(100) for node in resolved(written, seed=seed)}
    everybody = {
        "any-broker": {1, 2, 3, 4, 5},
        "any-controller": {6, 7, 8, 9, 10},
        "controller-minority": {6, 7, 8, 9, 10},
    }
    assert drawn == everybody.get(written, {1, 3})


def test_every_target_of_the_vocabulary_can_be_resolved() -> None:
    """A plan may name it, so somebody must answer to it."""
    for name in TARGETS:
        assert resolved(name)


def test_several_names_are_each_number_once() -> None:
    """In the order in which they were written."""
    assert resolved("n3", "leader", "brokers", "c1") == (3, 2, 1, 4, 5, -1)


@pytest.mark.parametrize(
    ("written", "at", "reason"),
    [
        ("leader", state(leader=None), "t/0 has no leader"),
        ("follower", state(leader=None), "t/0 has no leader"),
        ("isr-minority", state(isr=(2, 1)), "the ISR of t/0 has 2 members, and so no minority"),
        ("isr-minority", state(isr=()), "the ISR of t/0 has 0 members, and so no minority"),
        ("isr", state(isr=()), "the ISR of t/0 is empty"),
        ("active-controller", state(active=None), "no controller is active"),
        ("leader@t/1", state(), "nothing is known of t/1 yet"),
    ],
)
def test_a_target_nobody_answers_to_says_why(written: str, at: ClusterState, reason: str) -> None:
    """The reason is what the table of events shows."""
    with pytest.raises(Unresolved, match=f"^{reason}$"):
        resolved(written, at=at)


def test_lonely_topologies_have_no_minority_and_no_follower() -> None:
    """One voter, one replica: there is nobody to spare."""
    alone = Plan(tidemark=1, nodes=Nodes(brokers=1, controllers=1), topics={"t": Topic(replicas=1)})
    one = PartitionState("t", 0, 1, 1, 1, (1,), (1,))
    at = ClusterState(0, {("t", 0): one}, 2, 1, frozenset({1, 2}))
    for written in ("controller-minority", "follower", "followers", "isr-minority"):
        with pytest.raises(Unresolved):
            resolved(written, at=at, plan=alone)


def test_the_plans_first_partition_is_meant_where_none_is_named() -> None:
    """And a named one is a topic and a number."""
    assert partition_of(PLAN, None) == ("t", 0)
    assert partition_of(PLAN, "u/12") == ("u", 12)


def test_draws_of_different_events_are_independent() -> None:
    """Forty events with one target do not all hit the same broker."""
    events = [Event(at_ns=at, fault="pause", target="any-broker") for at in range(40)]
    assert {aim(event, PLAN, state()).targets for event in events} == {(broker,) for broker in PLAN.nodes.broker_ids}


def test_an_aim_says_who_is_concerned() -> None:
    """Of links everybody at their ends, sorted, and the sides; of a partition its replicas, old and new."""
    cut = aim(Event(at_ns=0, fault="cut", target=("leader", ("n6", "c1"))), PLAN, state())
    assert (cut.concerned, cut.sides) == ((-1, 2, 6), ((2,), (6, -1)))
    move = aim(Event(at_ns=0, fault="reassign", target="u/0", args={"to": ["n1", "n5"]}), PLAN, state())
    assert (move.targets, move.concerned) == ((("u", 0),), (1, 4, 5))
    kill = aim(Event(at_ns=0, fault="kill", target=("n3", "leader")), PLAN, state())
    assert (kill.targets, kill.concerned) == ((3, 2), (2, 3))
