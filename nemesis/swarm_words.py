"""nemesis/swarm_words.py: what a random event says: its target and its arguments, in the spelling of people.

In   a plan, for what exists in its topology, and a stream of chance
Out  symbolic targets, so that a fault hits whoever leads when it fires; an argument of every type the vocabulary has
Not  which faults there are and when (swarm.py)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import get_args

import msgspec

from model.chance import Chance, below, between, happens, pick, some
from model.cluster import TopicPartition
from model.plan import Plan
from model.quantity import write_bandwidth, write_duration, write_size
from model.schedule import Condition, Target
from model.vocabulary import FAULTS, OF_A_PARTITION, Message

DESTROYING = frozenset({"wipe", "rot", "tear", "lose_unsynced"})
"""Faults after which less is promised: rare, and on one node at a time."""

MOST_MOMENTS = 3
VICTIMS = ("leader", "leader", "follower", "active-controller", "nobody")
"""Whom half of a run's faults of nodes hit, so that one office changes hands again and again; or nobody in particular."""

US, MS = 10**3, 10**6


class Said(msgspec.Struct, frozen=True):
    """A target and arguments; for faults that go from node to node, how long each takes beside its own restart."""

    target: Target | None
    args: dict[str, object]
    rounds_ms: tuple[int, ...] = ()


class Words:
    """Draws what events say about one plan."""

    def __init__(self, plan: Plan, chance: Chance) -> None:
        self.plan = plan
        self.chance = chance
        self._victim = pick(chance, VICTIMS)

    def say(self, fault: str) -> Said:
        if fault in _OWN:
            return _OWN[fault](self)
        if FAULTS[fault].aim == "links":
            target, shape = self._links()
            return Said(target, shape | self._arguments(fault))
        return Said(self._nodes(alone=fault in DESTROYING), self._arguments(fault))

    # -- moments ------------------------------------------------------------------------------------------------------

    def moments(self, target: Target | None, after: int | None) -> list[Condition]:
        """Of the partition aimed at: this broker leads, or that one; or all but one are in sync: these, or those.

        Where all but one are, one has just left, or the last but one has just joined.
        """
        at = self._aimed_at(target)
        written = None if at == self._first else f"{at[0]}/{at[1]}"
        brokers = [f"n{broker}" for broker in self.plan.nodes.broker_ids]
        if self._replicas(at) < 2 or happens(self.chance, 1, 4):
            leaders = some(self.chance, brokers, min(MOST_MOMENTS, len(brokers)))
            return [Condition(leader=leader, after=after, partition=written) for leader in leaders]
        sets = list(combinations(brokers, self._replicas(at) - 1))
        chosen = some(self.chance, sets, min(MOST_MOMENTS, len(sets)))
        return [Condition(isr=members, after=after, partition=written) for members in chosen]

    def leader(self) -> str:
        """Of any partition."""
        return self._of(self._partition(), "leader")

    def _aimed_at(self, target: Target | None) -> TopicPartition:
        """Any, where the target is not a partition's."""
        name, _, written = target.partition("@") if isinstance(target, str) else ("", "", "")
        if name not in OF_A_PARTITION:
            return self._partition()
        topic, _, number = written.rpartition("/")
        return (topic, int(number)) if written else self._first

    # -- targets ------------------------------------------------------------------------------------------------------

    def _nodes(self, *, alone: bool) -> str:
        at = self._partition()
        names = self._few(at)
        if self._victim in names and happens(self.chance, 1, 2):
            return self._of(at, self._victim)
        if not alone and happens(self.chance, 1, 5):
            names = ["isr", "brokers", "controllers", "all", *(["followers"] if self._replicas(at) > 1 else [])]
        return self._of(at, pick(self.chance, names))

    def _few(self, at: TopicPartition) -> list[str]:
        """Targets of one node or a minority, as far as this topology has them."""
        names = ["leader", "any-broker", "any-controller", "active-controller"]
        names += ["follower"] if self._replicas(at) > 1 else []
        names += ["isr-minority"] if self._replicas(at) > 2 else []
        return names + (["controller-minority"] if self.plan.nodes.controllers > 2 else [])

    def _links(self) -> tuple[Target | None, dict[str, object]]:
        drawn = self._drawn_shapes()
        way = below(self.chance, 10)
        if way < 3 and drawn:
            return None, {"shape": pick(self.chance, drawn)}
        at = self._partition()
        if way < 7:
            groups = ["clients", *(f"c{group}" for group in range(1, self.plan.client_groups + 1))]
            name = pick(self.chance, groups) if happens(self.chance, 1, 4) else pick(self.chance, self._few(at))
            return self._of(at, name), {}
        one, other = pick(self.chance, self._pairs(at))
        return (self._of(at, one), self._of(at, other)), {}

    def _drawn_shapes(self) -> list[str]:
        count = len(self.plan.nodes.ids)
        return [shape for shape, least in (("halves", 2), ("bridge", 3), ("ring", 4)) if count >= least]

    def _pairs(self, at: TopicPartition) -> list[tuple[str, str]]:
        pairs = [
            ("leader", "controllers"),
            ("any-broker", "active-controller"),
            ("brokers", "active-controller"),
            ("active-controller", "controllers"),
            ("clients", "leader"),
        ]
        return pairs + ([("leader", "followers"), ("follower", "leader")] if self._replicas(at) > 1 else [])

    def _partition(self) -> TopicPartition:
        topic = pick(self.chance, list(self.plan.topics))
        return topic, below(self.chance, self.plan.topics[topic].partitions)

    def _replicas(self, at: TopicPartition) -> int:
        return self.plan.topics[at[0]].replicas

    def _of(self, at: TopicPartition, name: str) -> str:
        return f"{name}@{at[0]}/{at[1]}" if name in OF_A_PARTITION and at != self._first else name

    @property
    def _first(self) -> TopicPartition:
        """Which a plan need not name."""
        return next(iter(self.plan.topics)), 0

    # -- arguments ----------------------------------------------------------------------------------------------------

    def _arguments(self, fault: str) -> dict[str, object]:
        """All that the fault must have, and some of the others."""
        return {
            name: _DRAWN[f"{fault}.{name}" if f"{fault}.{name}" in _DRAWN else name](self.chance)
            for name, argument in FAULTS[fault].args.items()
            if name not in ("shape", "directory") and (argument.required or happens(self.chance, 1, 3))
        }

    # -- faults whose words hang together -------------------------------------------------------------------------------

    def _rolling_restart(self) -> Said:
        target = pick(self.chance, ("brokers", "controllers", "all"))
        nodes = self.plan.nodes
        count = len({"brokers": nodes.broker_ids, "controllers": nodes.controller_ids, "all": nodes.ids}[target])
        gap_ms = between(self.chance, 200, 2_000)
        return Said(target, {"gap": write_duration(gap_ms * MS)}, (gap_ms,) * count)

    def _elect(self) -> Said:
        topic, number = self._partition()
        kind = "unclean" if happens(self.chance, 1, 8) else "preferred"
        return Said(f"{topic}/{number}", {"kind": kind})

    def _reassign(self) -> Said:
        topic, number = self._partition()
        chosen = list(some(self.chance, self.plan.nodes.broker_ids, self.plan.topics[topic].replicas))
        to = [f"n{chosen.pop(below(self.chance, len(chosen)))}" for _ in range(len(chosen))]  # the first is preferred
        return Said(f"{topic}/{number}", {"to": to})

    def _change_config(self) -> Said:
        topic = pick(self.chance, list(self.plan.topics))
        least = between(self.chance, 1, self.plan.topics[topic].replicas)
        return Said(None, {"key": "min.insync.replicas", "value": least, "topic": topic})


_OWN: Mapping[str, Callable[[Words], Said]] = {
    "rolling_restart": Words._rolling_restart,
    "elect": Words._elect,
    "reassign": Words._reassign,
    "change_config": Words._change_config,
}


def _time(low: int, high: int, unit: int = MS) -> Callable[[Chance], object]:
    return lambda chance: write_duration(between(chance, low, high) * unit)


def _ahead_or_back(*sizes: int) -> Callable[[Chance], object]:
    """A duration of one of these orders of magnitude, in ms, with or without a sign."""

    def draw(chance: Chance) -> object:
        sign = pick(chance, ("", "-"))
        return sign + write_duration(between(chance, 1, pick(chance, sizes)) * MS)

    return draw


def _ppm(chance: Chance) -> object:
    return pick(chance, (-1, 1)) * between(chance, 1, pick(chance, (500, 20_000, 300_000)))


_DRAWN: Mapping[str, Callable[[Chance], object]] = {
    "one_way": lambda chance: happens(chance, 1, 2),
    "streams": lambda chance: pick(chance, ("requests", "answers", "both")),
    "latency": _time(1, 1_000),
    "jitter": _time(1, 300),
    "rate": lambda chance: write_bandwidth(between(chance, 1, 256) * 1_024),
    "size": lambda chance: write_size(between(chance, 16, 2_048)),
    "slice.gap": _time(50, 5_000, US),
    "message": lambda chance: pick(chance, get_args(Message)),
    "action": lambda chance: pick(chance, ("hold", "drop", "repeat")),
    "count": lambda chance: between(chance, 1, 5),
    "share": lambda chance: f"0.{between(chance, 1, 50):02}",  # as text: a plan keeps no fractions
    "restart_loop.every": _time(300, 3_000),
    "strobe.every": _time(10, 500),
    "strobe.by": _time(10, 5_000),
    "offset": _ahead_or_back(100, 5_000, 3_600_000),
    "by": _ahead_or_back(100, 5_000, 3_600_000),
    "ppm": _ppm,
    "delay": _time(5, 1_500),
    "on": lambda chance: pick(chance, ("read", "write", "sync")),
}
