"""model/pruning.py: combinations of a matrix that need no runs: they cannot be, or say the same as another one.

In     every combination that a document stands for (model/matrix.py)
Out    `Dropped` for each that needs none: why, and which one stands for it
Keeps  sound: a combination is dropped only where PROTOCOL, with the right rules, makes no difference between the two for any
       run; so each step names its rule, and a test runs both and compares them. In doubt a combination stays
Not    alike: acks other than all do not make min.insync.replicas meaningless. The high watermark waits for it whoever asked for
       what (P 5.28), reads wait for the high watermark, and it decides who is in the ELR (P 8.6) and what C5 forbids
A pure function: nothing is read, drawn or remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from model.damage_inputs import MIN_ISR, UNCLEAN, partition_setting
from model.matrix import Cell, Impossible
from model.plan import Plan, Topic, Workload, digest
from model.possible import possible_faults
from model.vocabulary import FAULTS, faults_among

SAME_PLAN = "it is the same plan"


class Dropped(msgspec.Struct, frozen=True):
    """One combination, by its place among all of them; and the place of the one that stands for it, if there is one."""

    number: int
    reason: str
    stands_for_it: int | None = None


def prune(found: Sequence[Cell | Impossible]) -> tuple[Dropped, ...]:
    """The first of those that say the same stays."""
    first: dict[str, int] = {}
    dropped = []
    for number, each in enumerate(found):
        if isinstance(each, Impossible):
            dropped.append(Dropped(number, *_impossible(each, found)))
        elif (stays := first.setdefault(digest(_essence(each.plan)), number)) != number:
            dropped.append(Dropped(number, _why_alike(each.plan, _plan(found, stays)), stays))
    return tuple(dropped)


def _plan(found: Sequence[Cell | Impossible], number: int) -> Plan:
    each = found[number]
    assert isinstance(each, Cell)
    return each.plan


# -- what cannot be ---------------------------------------------------------------------------------------------------


def _impossible(each: Impossible, found: Sequence[Cell | Impossible]) -> tuple[str, int | None]:
    for number, other in enumerate(found):
        if isinstance(other, Cell) and _asks_for_all_there_are(other, each.chosen):
            return f"{each.refusal.problem}, and counts as many as there are (P 5.30)", number
    return f"it cannot be: {each.refusal.problem}", None


def _asks_for_all_there_are(cell: Cell, chosen: Mapping[str, object]) -> bool:
    """5.30 Of min.insync.replicas no more counts than there are replicas: so this cell is what the other one would have been."""
    if cell.chosen.keys() != chosen.keys():
        return False  # of another plan
    other = [path for path, value in cell.chosen.items() if value != chosen[path]]
    if len(other) != 1 or not other[0].endswith(f"config/{MIN_ISR}"):
        return False
    topics = [name for name in cell.plan.topics if _of_this_path(cell.plan, name, other[0])]
    return all(partition_setting(cell.plan, name).min_isr == cell.plan.topics[name].replicas for name in topics)


def _of_this_path(plan: Plan, topic: str, path: str) -> bool:
    """Whether the setting that is meant there is this topic's."""
    return path == f"topics/{topic}/config/{MIN_ISR}" or (
        path == f"config/{MIN_ISR}" and MIN_ISR not in plan.topics[topic].config
    )


# -- what says the same -----------------------------------------------------------------------------------------------


def _the_faults_themselves(plan: Plan) -> Plan:
    """The swarm draws from a set: which families it was told in is not asked (nemesis/swarm.py)."""
    if plan.schedule != "swarm" or plan.faults == "all":
        return plan
    among = faults_among(plan.faults)
    return msgspec.structs.replace(plan, faults="all" if among == frozenset(FAULTS) else tuple(sorted(among)))


def _without_what_nobody_asks_for(plan: Plan) -> Plan:
    """Only idempotent producers keep several batches in flight and send one again (workloads/lane.py)."""
    if plan.workload.name == "idempotent":
        return plan
    usual = Workload()
    workload = msgspec.structs.replace(
        plan.workload, in_flight=usual.in_flight, retries=usual.retries, deliver_within=usual.deliver_within
    )
    return msgspec.structs.replace(plan, workload=workload)


def _who_is_alone_needs_no_permission(plan: Plan) -> Plan:
    """8.2 to 8.4, 8.8, 8.9 The only replica is elected cleanly, or as the last known leader, whenever it may lead at all; an
    unclean election comes after both, and has nobody else to elect. Not where a reassignment may bring a second replica, or a
    change the permission itself; nor where changes may be missing, for then the permission alone is an excuse (C2); nor under
    wrong rules."""
    if plan.cluster != "sim" or plan.mutants or possible_faults(plan) & {"reassign", "change_config"}:
        return plan
    if any(topic.replicas > 1 for topic in plan.topics.values()):
        return plan
    topics = {name: _without(topic, UNCLEAN) for name, topic in plan.topics.items()}
    return msgspec.structs.replace(plan, topics=topics, config={k: v for k, v in plan.config.items() if k != UNCLEAN})


def _without(topic: Topic, key: str) -> Topic:
    return msgspec.structs.replace(topic, config={k: v for k, v in topic.config.items() if k != key})


Step = Callable[[Plan], Plan]
STEPS: Mapping[Step, str] = {
    _the_faults_themselves: "its faults are the same",
    _without_what_nobody_asks_for: "in_flight, retries and deliver_within are asked for by the workload idempotent alone",
    _who_is_alone_needs_no_permission: "a replica that is alone is elected with or without unclean elections (P 8.3, 8.8, 8.9)",
}


def _essence(plan: Plan, left_out: Step | None = None) -> Plan:
    for step in STEPS:
        if step is not left_out:
            plan = step(plan)
    return plan


def _why_alike(one: Plan, other: Plan) -> str:
    """Each step without which the two would differ."""
    reasons = [reason for step, reason in STEPS.items() if digest(_essence(one, step)) != digest(_essence(other, step))]
    return "; ".join(reasons) or SAME_PLAN
