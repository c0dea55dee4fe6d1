"""nemesis/conditions.py: whether a condition of a plan holds.

In   a condition, the plan, what `observe()` saw, how many appends were acknowledged, which events have fired
Out  True when everything that is given holds at once. What is not known does not hold
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from model.cluster import ClusterState, PartitionState
from model.plan import Plan
from model.schedule import Condition
from nemesis import names
from nemesis.targets import partition_of


class Moment(msgspec.Struct, frozen=True):
    """What a condition is asked of."""

    state: ClusterState
    acked: int
    fired: Collection[int]


def holds(condition: Condition, plan: Plan, now: Moment) -> bool:
    if condition.acked is not None and now.acked < condition.acked:
        return False
    if condition.after is not None and condition.after not in now.fired:
        return False
    if condition.leader is None and condition.leaderless is None and condition.isr is None:
        return True
    at = now.state.partitions.get(partition_of(plan, condition.partition))
    return at is not None and _holds_of(condition, at)


def _holds_of(condition: Condition, at: PartitionState) -> bool:
    if condition.leader is not None and at.leader != names.number(condition.leader):
        return False
    if condition.leaderless is not None and condition.leaderless != (at.leader is None):
        return False
    return condition.isr is None or {names.number(name) for name in condition.isr} == set(at.isr)
