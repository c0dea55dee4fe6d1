"""harness/shrink/settings.py: less of everything that is not the schedule.

In     what is known of a plan
Out    passes: what only campaigns need; a workload with fewer processes at a lower rate, in smaller batches; fewer topics,
       partitions and settings; fewer nodes, which then have other numbers; a seed that people can remember
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from harness.shrink.deleting import SEEDS
from harness.shrink.known import Known, Pass, first_of, schedule_in
from model.plan import Nodes, Plan, Workload
from model.quantity import Rate
from model.schedule import Target

RATES = (1, 2, 5, 10, 20, 50, 100)
FEW = (1, 2, 3, 4, 5)
_Value = TypeVar("_Value")
PLAIN, PLAIN_PLAN = Workload(), Plan(tidemark=1)


def plainly(known: Known) -> Pass:
    """Nobody draws any more: an event that cannot fire is a doubt from here on."""
    plan = msgspec.structs.replace(known.plan, drawn=False, faults="all", needs=())
    return known if plan == known.plan else (yield iter([plan])) or known


def smaller_workload(known: Known) -> Pass:
    for changes in _workloads():
        known = yield from first_of(known, (_with_workload(known.plan, each) for each in changes))
    return (yield from first_of(known, [msgspec.structs.replace(known.plan, client_groups=1)]))


def _workloads() -> Iterator[list[dict[str, Any]]]:
    yield [{"rate": Rate(count, "s")} for count in RATES]
    yield [{"processes": count} for count in FEW]
    yield [{"batch": count} for count in FEW]
    yield [{"name": PLAIN.name}]
    for name in ("acks_of_processes", "phases", "value_size", "spread", "in_flight", "retries", "deliver_within"):
        yield [{name: getattr(PLAIN, name)}]


def _with_workload(plan: Plan, changes: Mapping[str, Any]) -> Plan:
    return msgspec.structs.replace(plan, workload=msgspec.structs.replace(plan.workload, **changes))


def fewer_settings(known: Known) -> Pass:
    """Defaults if they do; else fewer topics, partitions and settings. One wrong rule, if it does."""
    for section in ("topics", "config"):
        known = yield from first_of(known, [msgspec.structs.replace(known.plan, **{section: getattr(PLAIN_PLAN, section)})])
    known = yield from _smaller_topics(known)
    for key in known.plan.config:
        known = yield from first_of(known, [msgspec.structs.replace(known.plan, config=_without(known.plan.config, key))])
    return (yield from first_of(known, (msgspec.structs.replace(known.plan, mutants=(each,)) for each in known.plan.mutants)))


def _smaller_topics(known: Known) -> Pass:
    for name in known.plan.topics:
        known = yield from first_of(known, [msgspec.structs.replace(known.plan, topics=_without(known.plan.topics, name))])
    for name, topic in known.plan.topics.items():
        known = yield from first_of(known, [_with_topic(known.plan, name, partitions=count) for count in FEW])
        for key in topic.config:
            fewer = _without(known.plan.topics[name].config, key)
            known = yield from first_of(known, [_with_topic(known.plan, name, config=fewer)])
    return known


def _with_topic(plan: Plan, name: str, **changes: Any) -> Plan:
    topic = msgspec.structs.replace(plan.topics[name], **changes)
    return msgspec.structs.replace(plan, topics={**plan.topics, name: topic})


def _without(mapping: Mapping[str, _Value], key: str) -> dict[str, _Value]:
    return {name: value for name, value in mapping.items() if name != key}


def a_plain_seed(known: Known) -> Pass:
    """One that fails with any seed is no accident."""
    return (yield from first_of(known, (msgspec.structs.replace(known.plan, seed=seed) for seed in SEEDS)))


# -- nodes --------------------------------------------------------------------------------------------------------------------


def fewer_nodes(known: Known) -> Pass:
    return (yield from first_of(known, _fewer_nodes(known.plan)))


def _fewer_nodes(plan: Plan) -> Iterator[Plan]:
    """Fewer controllers, and as few brokers as the replicas need; of each the last ones go."""
    least = max(topic.replicas for topic in plan.topics.values())
    for brokers in dict.fromkeys((least, plan.nodes.brokers)):
        for controllers in dict.fromkeys((1, 3, plan.nodes.controllers)):
            if controllers <= plan.nodes.controllers:
                smaller = msgspec.structs.replace(plan.nodes, brokers=brokers, controllers=controllers)
                renamed = _renamed(plan, _new_names(plan.nodes, smaller))
                if renamed is not None:
                    yield msgspec.structs.replace(renamed, nodes=smaller)


def _new_names(nodes: Nodes, fewer: Nodes) -> dict[str, str]:
    """Brokers come first and keep their numbers, so that only targets can name a node whose number changes."""
    pairs = [*zip(nodes.broker_ids, fewer.broker_ids, strict=False)]
    pairs += [*zip(nodes.controller_ids, fewer.controller_ids, strict=False)]
    return {f"n{old}": f"n{new}" for old, new in pairs}


def _renamed(plan: Plan, names: Mapping[str, str]) -> Plan | None:
    """None where a target is a node that is gone."""
    try:
        schedule = [msgspec.structs.replace(event, target=_renamed_target(event.target, names)) for event in schedule_in(plan)]
    except KeyError:
        return None
    return msgspec.structs.replace(plan, schedule=tuple(schedule))


def _renamed_target(target: Target | None, names: Mapping[str, str]) -> Any:
    if isinstance(target, tuple):
        return tuple(_renamed_target(entry, names) for entry in target)
    is_a_node = target is not None and target[0] == "n" and target[1:].isdigit()
    return names[str(target)] if is_a_node else target
