"""nemesis/aim.py: what one event is handed when it fires: targets of its fault's own kind, and its arguments.

In   an event, the plan, what `observe()` saw
Out  `Aim`: links, nodes or a partition; typed arguments; who is concerned, and what the table of events says about it
Not  who leads (targets.py), which links a shape has (shapes.py)
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from model.cluster import Args, ClusterState
from model.config import SETTINGS, effective
from model.plan import Plan
from model.schedule import Event, sides_of, typed_arguments
from model.vocabulary import FAULTS
from nemesis import names
from nemesis.shapes import Everybody, Sides, links_of
from nemesis.targets import Seen, client_groups, partition_of, resolve, stream_of


class Aim(msgspec.Struct, frozen=True):
    """A resolved target. `sides`: of a fault of links, as they were resolved; a drawn shape has none."""

    targets: tuple[Any, ...]
    concerned: tuple[int, ...]
    args: Args
    sides: Sides = ()


def aim(event: Event, plan: Plan, state: ClusterState) -> Aim:
    """Raises `Unresolved` where nobody answers to the target."""
    args = {**typed_arguments(event), **_what_was_there(event, plan)}
    match FAULTS[event.fault].aim:
        case "links":
            return _at_links(event, plan, state, args)
        case "nodes":
            nodes = _sides(event, plan, state, flat=True)[0]
            return Aim(nodes, tuple(sorted(nodes)), args)
        case "partition":
            return _at_partition(event, plan, state, args)
    return Aim((), (), args)


def _at_links(event: Event, plan: Plan, state: ClusterState, args: Args) -> Aim:
    sides = _sides(event, plan, state)
    everybody = Everybody(plan.nodes.ids, client_groups(plan))
    chance = stream_of(plan.seed, event, "shape")
    links = links_of(args["shape"], sides, everybody, chance, one_way=args["one_way"])
    concerned = {end for link in links for end in (link.dialer, link.node)}
    return Aim(links, tuple(sorted(concerned)), args, sides)


def _at_partition(event: Event, plan: Plan, state: ClusterState, args: Args) -> Aim:
    at = partition_of(plan, event.target if isinstance(event.target, str) else None)
    found = state.partitions.get(at)
    concerned = {*(found.replicas if found else ()), *(names.number(name) for name in args.get("to", ()))}
    return Aim((at,), tuple(sorted(concerned)), args)


def _sides(event: Event, plan: Plan, state: ClusterState, *, flat: bool = False) -> Sides:
    if event.target is None:
        return ()
    seen = Seen(plan, state, stream_of(plan.seed, event, "target"))
    written = sides_of(event.target)
    sides = (tuple(name for side in written for name in side),) if flat else written
    return tuple(resolve(side, seen) for side in sides)


def _what_was_there(event: Event, plan: Plan) -> Mapping[str, str | None]:
    """Of a change of config: what its heal puts back. What the plan does not say is the default, and so None."""
    if event.fault != "change_config":
        return {}
    topic, key = event.args.get("topic"), str(event.args["key"])
    given = plan.config if topic is None else plan.topics[str(topic)].config
    return {"old": _spelled(given[key]) if key in given else None}


def written_args(event: Event, plan: Plan, sides: Sides) -> str:
    """The arguments for the table of events: as the plan says them, and what only the moment of firing knew (CHECKERS 1.7)."""
    said: dict[str, object] = dict(event.args)
    if sides:
        said["sides"] = sides
    if event.fault == "change_config":
        said["old"] = _in_force(event, plan)
    return json.dumps(said, separators=(",", ":"), ensure_ascii=False)


def _in_force(event: Event, plan: Plan) -> str | None:
    topic, key = event.args.get("topic"), str(event.args["key"])
    if key not in SETTINGS:
        return _what_was_there(event, plan)["old"]
    return _spelled(effective(plan.config, {} if topic is None else plan.topics[str(topic)].config, key))


def _spelled(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
