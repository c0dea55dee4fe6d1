"""Conditions: what must hold before an event fires or a phase ends."""

from __future__ import annotations

import pytest

from model.cluster import ClusterState, PartitionState
from model.plan import Plan
from model.schedule import Condition
from nemesis.conditions import Moment, holds


def moment(leader: int | None = 1, isr: tuple[int, ...] = (1, 2), acked: int = 5, fired: tuple[int, ...] = (0,)) -> Moment:
    at = PartitionState("t", 0, leader, 1, 1, (1, 2, 3), isr)
    other = PartitionState("t", 1, 3, 1, 1, (1, 2, 3), (3,))
    return Moment(ClusterState(0, {("t", 0): at, ("t", 1): other}, 4, 1, frozenset()), acked, fired)


@pytest.mark.parametrize(
    ("condition", "now", "held"),
    [
        (Condition(leader="n1"), moment(), True),
        (Condition(leader="n2"), moment(), False),
        (Condition(leader="n1"), moment(leader=None), False),
        (Condition(leaderless=True), moment(), False),
        (Condition(leaderless=True), moment(leader=None), True),
        (Condition(leaderless=False), moment(), True),
        (Condition(leaderless=False), moment(leader=None), False),
        (Condition(isr=("n2", "n1")), moment(), True),
        (Condition(isr=("n1",)), moment(), False),
        (Condition(isr=("n1", "n2", "n3")), moment(), False),
        (Condition(acked=5), moment(), True),
        (Condition(acked=6), moment(), False),
        (Condition(after=0), moment(), True),
        (Condition(after=1), moment(), False),
        (Condition(leader="n3", partition="t/1"), moment(), True),
        (Condition(leader="n1", partition="t/1"), moment(), False),
        (Condition(leaderless=True, partition="t/7"), moment(), False),  # nobody has heard of it: that is not "no leader"
        (Condition(leader="n1", isr=("n1", "n2"), acked=5, after=0), moment(), True),
        (Condition(leader="n1", isr=("n1", "n2"), acked=6, after=0), moment(), False),
        (Condition(leader="n1", isr=("n1",), acked=5, after=0), moment(), False),
    ],
)
def test_a_condition_holds_when_everything_it_says_does(condition: Condition, now: Moment, held: bool) -> None:
    """Each word has its hit and its near miss."""
    assert holds(condition, Plan(tidemark=1), now) is held
