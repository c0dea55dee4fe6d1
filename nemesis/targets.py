"""nemesis/targets.py: who a target is, at the moment its fault fires.

In   names as a plan writes them (`leader@t/0`, `follower`, `clients`, `n3`), the plan, what `observe()` saw, a stream of chance
Out  numbers of nodes, and of client groups below zero, in a fixed order and each once; or `Unresolved` with the reason
Why  a drawn target has a stream of its own, made of the seed and the event itself: deleting another event moves nothing
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from random import Random

import msgspec

from model.chance import Chance, pick, some, stream
from model.cluster import ClusterState, NodeId, PartitionState, TopicPartition
from model.plan import Plan
from model.reading import write
from model.schedule import Event
from nemesis import names


class Unresolved(Exception):
    """Nobody answers to that target now; the event is recorded as refused."""


class Seen(msgspec.Struct, frozen=True):
    """Everything a target is resolved from."""

    plan: Plan
    state: ClusterState
    chance: Chance


def stream_of(seed: int, event: Event, purpose: str) -> Random:
    """Chance for one event, whatever its number."""
    content = json.dumps(write(event, Event), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return stream(seed, "event", purpose, content)


def partition_of(plan: Plan, written: str | None) -> TopicPartition:
    """`t/0`; without it, the plan's first partition."""
    if written is None:
        return next(iter(plan.topics)), 0
    topic, _, number = written.rpartition("/")
    return topic, int(number)


def resolve(written: Sequence[str], seen: Seen) -> tuple[NodeId, ...]:
    """All of these names, each number once."""
    return tuple(dict.fromkeys(number for name in written for number in _one(name, seen)))


def _one(written: str, seen: Seen) -> Sequence[NodeId]:
    name, _, partition = written.partition("@")
    if name in _OF_A_PARTITION:
        return _OF_A_PARTITION[name](_partition(seen, partition or None), seen.chance)
    if name in _OF_THE_CLUSTER:
        return _OF_THE_CLUSTER[name](seen)
    return (names.number(name),)


def _partition(seen: Seen, written: str | None) -> PartitionState:
    topic, number = partition_of(seen.plan, written)
    found = seen.state.partitions.get((topic, number))
    if found is None:
        raise Unresolved(f"nothing is known of {topic}/{number} yet")
    return found


def _called(at: PartitionState) -> str:
    return f"{at.topic}/{at.partition}"


# -- of a partition ---------------------------------------------------------------------------------------------------


def _leader(at: PartitionState, chance: Chance) -> Sequence[NodeId]:
    if at.leader is None:
        raise Unresolved(f"{_called(at)} has no leader")
    return (at.leader,)


def _followers(at: PartitionState, chance: Chance) -> Sequence[NodeId]:
    (leader,) = _leader(at, chance)  # where nobody leads, nobody follows
    found = tuple(node for node in at.replicas if node != leader)
    if not found:
        raise Unresolved(f"{_called(at)} has no follower")
    return found


def _isr_minority(at: PartitionState, chance: Chance) -> Sequence[NodeId]:
    count = _minority(len(at.isr))
    if not count:
        raise Unresolved(f"the ISR of {_called(at)} has {len(at.isr)} members, and so no minority")
    return some(chance, [node for node in at.isr if node != at.leader], count)


def _isr(at: PartitionState, chance: Chance) -> Sequence[NodeId]:
    if not at.isr:
        raise Unresolved(f"the ISR of {_called(at)} is empty")
    return at.isr


_OF_A_PARTITION: Mapping[str, Callable[[PartitionState, Chance], Sequence[NodeId]]] = {
    "leader": _leader,
    "follower": lambda at, chance: (pick(chance, _followers(at, chance)),),
    "followers": _followers,
    "isr-minority": _isr_minority,
    "isr": _isr,
}


# -- of the cluster ---------------------------------------------------------------------------------------------------


def _active_controller(seen: Seen) -> Sequence[NodeId]:
    if seen.state.active_controller is None:
        raise Unresolved("no controller is active")
    return (seen.state.active_controller,)


def _controller_minority(seen: Seen) -> Sequence[NodeId]:
    voters = seen.plan.nodes.controller_ids
    count = _minority(len(voters))
    if not count:
        raise Unresolved(f"there are {len(voters)} voters, and so no minority")
    return some(seen.chance, voters, count)


def _clients(seen: Seen) -> Sequence[NodeId]:
    return client_groups(seen.plan)


def client_groups(plan: Plan) -> tuple[int, ...]:
    """c1, c2, ... as numbers: they dial, and are never dialled."""
    return tuple(-group for group in range(1, plan.client_groups + 1))


def _minority(members: int) -> int:
    """The most that are fewer than half."""
    return max(members - 1, 0) // 2


_OF_THE_CLUSTER: Mapping[str, Callable[[Seen], Sequence[NodeId]]] = {
    "active-controller": _active_controller,
    "controller-minority": _controller_minority,
    "any-broker": lambda seen: (pick(seen.chance, seen.plan.nodes.broker_ids),),
    "any-controller": lambda seen: (pick(seen.chance, seen.plan.nodes.controller_ids),),
    "brokers": lambda seen: seen.plan.nodes.broker_ids,
    "controllers": lambda seen: seen.plan.nodes.controller_ids,
    "all": lambda seen: seen.plan.nodes.ids,
    "clients": _clients,
}
