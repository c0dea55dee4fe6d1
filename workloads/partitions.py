"""workloads/partitions.py: the partitions of a plan, and how requests are spread over them.

In   a plan
Out  every partition once; or as often as it is to be picked
"""

from __future__ import annotations

from model.cluster import TopicPartition
from model.plan import Plan

HOT = 4  # a hot partition gets so many requests for one that each of the others gets together with it


def partitions_of(plan: Plan) -> tuple[TopicPartition, ...]:
    """Every partition of every topic, in the plan's order."""
    return tuple((name, index) for name, topic in plan.topics.items() for index in range(topic.partitions))


def spread_of(plan: Plan) -> tuple[TopicPartition, ...]:
    """To pick from: each partition once, but of a `hot` spread the first so often that it gets four in five."""
    partitions = partitions_of(plan)
    more = HOT * (len(partitions) - 1) - 1 if plan.workload.spread == "hot" else 0
    return partitions[:1] * more + partitions
