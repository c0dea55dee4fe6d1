"""clusters/sim/invariants/story.py: the last things that happened, so that a violation can say how it came to that.

In     what nodes tell, commits, processes that start and end: put down as they are
Out    lines, only when they are asked for
Keeps  the most recent few hundred. It is a watch that passes everything on to the one that was there before
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from typing import Any

import msgspec

from clusters.sim.watch import Watch, Way
from model.cluster import NodeId
from replication.events import MetadataApplied, MetadataLoaded, QuorumHighWatermark

REMEMBERED = 500
OF_THE_METADATA_LOG = (MetadataApplied, MetadataLoaded, QuorumHighWatermark)
TOLD_AT_MOST = 30
_NODE = re.compile(r"n\d+")


class Story(Watch):
    """Listens, remembers a little, and passes on."""

    def __init__(self, behind: Watch, listener: Listener) -> None:
        self.behind, self.listener = behind, listener
        self._recent: deque[tuple[int, str, Any]] = deque(maxlen=REMEMBERED)

    def message(self, at_ns: int, way: Way, ends: tuple[int, int], message: Any) -> None:
        self.behind.message(at_ns, way, ends, message)

    def told(self, at_ns: int, node: NodeId, event: Any) -> None:
        self._recent.append((at_ns, f"n{node}", event))
        self.listener.on_told(node, event)
        self.behind.told(at_ns, node, event)

    def process(self, at_ns: int, node: NodeId, what: Any, why: str) -> None:
        self._recent.append((at_ns, f"n{node}", f"process {what}" + (f": {why}" if why else "")))
        if what == "ends":
            self.listener.on_ended(node)
        self.behind.process(at_ns, node, what, why)

    def committed(self, at_ns: int, change: Mapping[str, Any]) -> None:
        self._recent.append((at_ns, "controllers", change))
        self.behind.committed(at_ns, change)

    def registered(self, at_ns: int, node: NodeId, what: Any) -> None:
        self._recent.append((at_ns, "controllers", f"n{node} {what}"))
        self.behind.registered(at_ns, node, what)

    def lines(self, topic: str | None, partition: int | None) -> tuple[tuple[int, str], ...]:
        """What concerns a partition, and what concerns them all; without a partition only the latter."""
        lines = [(at_ns, f"{who}: {_said(what)}") for at_ns, who, what in self._recent if _concerns(what, topic, partition)]
        return tuple(lines[-TOLD_AT_MOST:])

    def last_kind(self, topic: str | None, partition: int | None) -> str:
        """Of the last of them, without anybody's name or number: `LeaderElected`, `commit`, `process ends`. What speaks of the
        partition itself comes before what concerns everybody: that may have happened to come between."""
        concerned = [what for _, _, what in reversed(self._recent) if _concerns(what, topic, partition)]
        return next((_kind(what) for what in [*filter(_names_a_partition, concerned), *concerned]), "")


class Listener:
    """Who wants to hear of it besides."""

    def on_told(self, node: int, event: Any) -> None: ...

    def on_ended(self, node: int) -> None: ...


def _concerns(what: Any, topic: str | None, partition: int | None) -> bool:
    if type(what) in OF_THE_METADATA_LOG:
        return topic is None  # what it meant for a partition is told by the commit
    if isinstance(what, Mapping):
        where = what.get("topic"), what.get("partition")
    elif hasattr(what, "topic"):
        where = what.topic, what.partition
    else:
        return True
    return where == (topic, partition)


def _names_a_partition(what: Any) -> bool:
    return isinstance(what, Mapping) or hasattr(what, "topic")


def _kind(what: Any) -> str:
    """Of a process or a registration the words in front of the reason."""
    if isinstance(what, str):
        return " ".join(word for word in what.partition(":")[0].split() if not _NODE.fullmatch(word))
    return "commit" if isinstance(what, Mapping) else type(what).__name__


def _said(what: Any) -> str:
    if isinstance(what, str):
        return what
    if isinstance(what, Mapping):
        shown = {key: value for key, value in what.items() if key not in ("at_ns", "topic", "partition") and value is not None}
        return "committed " + ", ".join(f"{key} {value}" for key, value in shown.items())
    if isinstance(what, MetadataApplied):
        kinds = dict.fromkeys(type(record).__name__ for decision in what.decisions for record in decision.records)
        return f"applies metadata up to {what.offset}: {', '.join(kinds)}"
    fields = {key: value for key, value in msgspec.structs.asdict(what).items() if key not in ("topic", "partition")}
    return f"{type(what).__name__} " + ", ".join(f"{key} {value}" for key, value in fields.items())
