"""model/schedule_checks.py: what a schedule may not say in this topology.

In   a typed plan, and the document it was read from, for the places
Out  nothing; or the one `Refusal` for the first event that cannot be: its time, condition, arguments or target
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from model.config import SETTINGS
from model.document import Key, Node
from model.plan import Plan
from model.quantity import write_duration
from model.reading import describe, read
from model.refusal import near_miss
from model.schedule import Condition, Event, sides_of
from model.vocabulary import FAULTS, OF_A_PARTITION, TARGETS, FaultName


def events_make_sense(plan: Plan, node: Node) -> None:
    for i, event in enumerate(events_of(plan)):
        at = ("schedule", i)
        one_of(node, (*at, "fault"), event.fault, list(FAULTS), what="fault")
        fault = FAULTS[event.fault]
        _its_time(plan, node, at, event)
        if event.for_ns is not None and not fault.heals:
            problem = f"{event.fault} is over at once, so it cannot last {write_duration(event.for_ns)}"
            raise node.refuse(problem, *at, "for", allowed="no `for`")
        _arguments(plan, node, (*at, "args"), event, fault)
        _target(plan, node, (*at, "target"), event, fault)


def _its_time(plan: Plan, node: Node, at: tuple[Key, ...], event: Event) -> None:
    if (event.at_ns is None) == (event.when is None):
        found = "neither" if event.at_ns is None else "both"
        raise node.refuse(f"an event needs one start, found {found} of at and when", *at, allowed="at: 5s, or when: {...}")
    if event.at_ns is not None and event.at_ns >= plan.for_ns:
        problem = f"{write_duration(event.at_ns)} is not before the end of the run"
        raise node.refuse(problem, *at, "at", allowed=f"less than for: {write_duration(plan.for_ns)}")
    if event.within_ns is not None and event.when is None:
        raise node.refuse("only a condition can be met within a time", *at, "within", allowed="within beside when")
    if event.when is not None:
        check_condition(plan, node, (*at, "when"), event.when, earlier=int(at[-1]))


def check_condition(plan: Plan, node: Node, at: tuple[Key, ...], condition: Condition, earlier: int) -> None:
    said = {name for name in ("leader", "leaderless", "isr", "acked", "after") if getattr(condition, name) is not None}
    if not said:
        raise node.refuse("an empty condition is always met", *at, allowed="leader, leaderless, isr, acked, after")
    if condition.leader is not None and condition.leaderless:
        raise node.refuse("a partition with a leader is not leaderless", *at, "leaderless", allowed="one of the two")
    for name in [condition.leader] if condition.leader is not None else []:
        _broker_name(plan, node, (*at, "leader"), name)
    for i, name in enumerate(condition.isr or ()):
        _broker_name(plan, node, (*at, "isr", i), name)
    if condition.isr == ():
        raise node.refuse(
            "an ISR is never empty in a condition", *at, "isr", allowed="brokers, such as [n1]; or leaderless: true"
        )
    if condition.after is not None and condition.after >= earlier:
        allowed = f"an earlier event, 0 to {earlier - 1}" if earlier else "nothing: no event comes before"
        raise node.refuse(f"event {condition.after} cannot have fired by then", *at, "after", allowed=allowed)
    if condition.partition is not None:
        _partition(plan, node, (*at, "partition"), condition.partition)


def _arguments(plan: Plan, node: Node, at: tuple[Key, ...], event: Event, fault: FaultName) -> None:
    for key in event.args:
        place = node.descend(*at, key)
        if key not in fault.args:
            allowed = ", ".join(fault.args) or "no arguments"
            problem = f"{event.fault} has no argument {key!r}"
            raise node.refuse(problem, *at, key, allowed=allowed, meant=near_miss(key, fault.args))
        read(place, fault.args[key].kind)
    for key, argument in fault.args.items():
        if argument.required and key not in event.args:
            raise node.refuse(f"{event.fault} needs {key!r}", *at, key, allowed=describe(argument.kind))
    if event.fault == "reassign":
        _reassignment(plan, node, (*at, "to"), event)
    if event.fault == "change_config":
        _changed_setting(plan, node, at, event)


def _reassignment(plan: Plan, node: Node, at: tuple[Key, ...], event: Event) -> None:
    to = read(node.descend(*at), tuple[str, ...])
    for i, name in enumerate(to):
        _broker_name(plan, node, (*at, i), name)
        if name in to[:i]:
            raise node.refuse(f"{name} stands here twice", *at, i, allowed="each broker once")
    if not to:
        raise node.refuse("a partition cannot move to no broker", *at, allowed="brokers, such as [n1, n2, n3]")


def _changed_setting(plan: Plan, node: Node, at: tuple[Key, ...], event: Event) -> None:
    topic, key = event.args.get("topic"), str(event.args["key"])
    if topic is not None:
        one_of(node, (*at, "topic"), str(topic), list(plan.topics), what="topic")
    if plan.system != "isr":
        return
    one_of(node, (*at, "key"), key, [k for k, s in SETTINGS.items() if s.topic or topic is None], what="setting")
    read(node.descend(*at, "value"), SETTINGS[key].kind)


def _target(plan: Plan, node: Node, at: tuple[Key, ...], event: Event, fault: FaultName) -> None:
    shape = event.args.get("shape")
    drawn = fault.aim == "links" and shape in ("halves", "ring", "bridge")
    if event.target is None:
        if fault.aim in ("links", "nodes") and not drawn:
            raise node.refuse(f"{event.fault} needs a target", *at, allowed=_target_names(plan, links=fault.aim == "links"))
        return None
    if fault.aim == "cluster" or drawn:
        why = f"shape {shape} is drawn over all nodes" if drawn else f"{event.fault} changes the whole cluster"
        raise node.refuse(f"{why}, so it has no target", *at, allowed="no target")
    if fault.aim == "partition":
        return _partition(plan, node, at, _single(node, at, event))
    sides = sides_of(event.target)
    _sides(node, at, event, fault, sides)
    for i, side in enumerate(sides):
        for j, name in enumerate(side):
            below = () if isinstance(event.target, str) else (i,) if isinstance(event.target[i], str) else (i, j)
            _target_name(plan, node, (*at, *below), name, links=fault.aim == "links")
    return None


def _single(node: Node, at: tuple[Key, ...], event: Event) -> str:
    if not isinstance(event.target, str):
        raise node.refuse(f"{event.fault} acts on one partition", *at, allowed="a partition, such as t/0")
    return event.target


def _sides(node: Node, at: tuple[Key, ...], event: Event, fault: FaultName, sides: tuple[tuple[str, ...], ...]) -> None:
    if not sides or not all(sides):
        raise node.refuse("a target names somebody", *at, allowed="at least one name")
    nested = not isinstance(event.target, str) and any(not isinstance(entry, str) for entry in event.target or ())
    if fault.aim == "nodes" and nested:
        raise node.refuse(f"{event.fault} acts on nodes, which have no sides", *at, allowed="a name, or a list of names")
    for names in sides if fault.aim == "links" else (tuple(name for side in sides for name in side),):
        if twice := [name for i, name in enumerate(names) if name in names[:i]]:
            raise node.refuse(f"{twice[0]} stands here twice", *at, allowed="each name once")
    if fault.aim == "links" and len(sides) > 2:
        raise node.refuse(f"a link has two sides, found {len(sides)}", *at, allowed="[one side, the other]; a side may be a list")
    if fault.aim == "links" and event.args.get("shape") == "isolate" and len(sides) == 2:
        raise node.refuse("isolate has one side: everybody else is the other", *at, allowed="a name, or [[names]]")
    if fault.aim == "links" and event.args.get("shape") == "between" and len(sides) == 1:
        raise node.refuse("shape between needs two sides, found one", *at, allowed="[one side, the other]")
    if fault.aim == "links" and len(sides) == 2 and (both := set(sides[0]) & set(sides[1])):
        raise node.refuse(f"{min(both)} stands on both sides", *at, allowed="each name on one side")


def _target_name(plan: Plan, node: Node, at: tuple[Key, ...], written: str, *, links: bool) -> None:
    name, has_partition, partition = written.partition("@")
    groups = [f"c{i}" for i in range(1, plan.client_groups + 1)]
    if name in _node_names(plan) or name in TARGETS or (links and name in ("clients", *groups)):
        if has_partition and name not in OF_A_PARTITION:
            raise node.refuse(f"{name} belongs to no partition", *at, allowed=name)
        if has_partition:
            _partition(plan, node, at, partition)
        return
    names = [*TARGETS, *_node_names(plan), *(("clients", *groups) if links else ())]
    allowed = _target_names(plan, links=links)
    raise node.refuse(f"no such target: {written!r}", *at, allowed=allowed, meant=near_miss(name, names))


def _target_names(plan: Plan, *, links: bool) -> str:
    clients = f", clients, c1 ... c{plan.client_groups}" if links else ""
    return f"{', '.join(TARGETS)}, {_span(_node_names(plan))}{clients}"


# -- small words ------------------------------------------------------------------------------------------------------


def events_of(plan: Plan) -> tuple[Event, ...]:
    return plan.schedule if isinstance(plan.schedule, tuple) else ()


def _node_names(plan: Plan) -> list[str]:
    return [f"n{i}" for i in plan.nodes.ids]


def _span(names: Sequence[str]) -> str:
    return f"{names[0]} ... {names[-1]}" if len(names) > 1 else names[0]


def _broker_name(plan: Plan, node: Node, at: tuple[Key, ...], name: str) -> None:
    brokers = [f"n{i}" for i in plan.nodes.broker_ids]
    if name not in brokers:
        problem = f"{name} is a controller" if name in _node_names(plan) else f"no such broker: {name!r}"
        raise node.refuse(problem, *at, allowed=_span(brokers), meant=near_miss(name, brokers))


def _partition(plan: Plan, node: Node, at: tuple[Key, ...], written: str) -> None:
    topic, _, number = written.rpartition("/")
    if topic not in plan.topics:
        some = f"{next(iter(plan.topics))}/0"
        raise node.refuse(
            f"no such partition: {written!r}", *at, allowed=f"topic/number, such as {some}", meant=near_miss(written, [some])
        )
    last = plan.topics[topic].partitions - 1
    if number not in (str(one) for one in range(last + 1)):
        raise node.refuse(f"no such partition: {written!r}", *at, allowed=f"{topic}/0 to {topic}/{last}")


def one_of(node: Node, at: tuple[Key, ...], found: str, names: Iterable[str], what: str = "") -> None:
    """`found` is one of `names`, or it is refused with the near miss."""
    names = list(names)
    if found not in names:
        problem = f"no such {what or at[-1]}: {found!r}"
        raise node.refuse(problem, *at, allowed=", ".join(names), meant=near_miss(found, names))
