"""replication/rules/configs.py: which settings may be changed, and what else changes with them (3.14, 8.12)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from replication.errors import Error
from replication.image import BROKER, CLUSTER_WIDE, TOPIC, PartitionState

_NUMBER = re.compile(r"-?[0-9]{1,19}")
_LARGEST = 2**63 - 1

MIN_ISR = "min.insync.replicas"
UNCLEAN = "unclean.leader.election.enable"


class ConfigRules:
    """Dynamic settings."""

    def refuse_setting(self, resource: tuple[str, str], name: str, value: str | None, uses_elr: bool) -> Error | None:
        """3.14 A setting that this level has, with a value that can be read."""
        kind, owner = resource
        fits = (_TOPIC_LEVEL if kind == TOPIC else _BROKER_LEVEL).get(name)
        known = fits is not None if kind == TOPIC else kind == BROKER and (owner == CLUSTER_WIDE or owner.isdecimal())
        if not known or (value is not None and fits is not None and not fits(value)):
            return Error.INVALID_CONFIG
        if kind == BROKER and name == MIN_ISR and uses_elr:
            return self.refuse_min_isr_of_brokers(owner, value)
        return None

    def refuse_min_isr_of_brokers(self, owner: str, value: str | None) -> Error | None:
        """3.14, 5.30 With ELR on everybody must mean the same min ISR: no broker has its own, and the cluster always has one
        (B23, its variant)."""
        return None if owner == CLUSTER_WIDE and value is not None else Error.INVALID_CONFIG

    def setting_in_force(self, topic: str | None, cluster: str | None, static: str) -> str:
        """3.14, 5.30 What a controller takes to hold for a topic: never one broker's own value."""
        return topic if topic is not None else cluster if cluster is not None else static

    def steps_epochs_on_min_isr(self, uses_elr: bool) -> bool:
        """8.12 A leader that does not know the new value must not get an ISR change accepted: every partition concerned steps
        its partition epoch in the same batch (B55)."""
        return uses_elr

    def forgets_elr_on_min_isr(self, state: PartitionState) -> bool:
        """8.12 Under another min ISR the ELR means nothing, except where the ISR is empty: there the HW cannot have moved, and
        without it only an unclean election could help."""
        return bool(state.isr)

    def first_settings(self, min_insync_replicas: int, uses_elr: bool) -> Mapping[str, str]:
        """3.12 What a new cluster has for all of it: with ELR on a min ISR that no static file can contradict."""
        return {MIN_ISR: str(min_insync_replicas)} if uses_elr else {}


def _whole(least: int) -> Callable[[str], bool]:
    return lambda text: bool(_NUMBER.fullmatch(text)) and least <= int(text) <= _LARGEST


def _one_of(*words: str) -> Callable[[str], bool]:
    return lambda text: text in words


def _throttled(text: str) -> bool:
    """9.6 Pairs of partition and broker, or everything."""
    pairs = [pair.split(":") for pair in text.split(",")]
    return text in ("", "*") or all(len(pair) == 2 and pair[0].isdigit() and pair[1].isdigit() for pair in pairs)


_TOPIC_LEVEL: Mapping[str, Callable[[str], bool]] = {
    MIN_ISR: _whole(1),
    UNCLEAN: _one_of("true", "false"),
    "retention.ms": _whole(-1),
    "retention.bytes": _whole(-1),
    "segment.bytes": _whole(1),
    "segment.ms": _whole(1),
    "segment.index.bytes": _whole(4),
    "index.interval.bytes": _whole(0),
    "flush.messages": _whole(1),
    "flush.ms": _whole(0),
    "max.message.bytes": _whole(0),
    "message.timestamp.type": _one_of("CreateTime", "LogAppendTime"),
    "message.timestamp.before.max.ms": _whole(0),
    "message.timestamp.after.max.ms": _whole(0),
    "leader.replication.throttled.replicas": _throttled,
    "follower.replication.throttled.replicas": _throttled,
}
"""3.14 What a topic may have of its own, and which texts are values of it."""

_BROKER_LEVEL: Mapping[str, Callable[[str], bool]] = {
    **_TOPIC_LEVEL,
    "log.segment.bytes": _TOPIC_LEVEL["segment.bytes"],
    "log.roll.ms": _TOPIC_LEVEL["segment.ms"],
    "log.index.size.max.bytes": _TOPIC_LEVEL["segment.index.bytes"],
    "log.index.interval.bytes": _TOPIC_LEVEL["index.interval.bytes"],
    "log.flush.interval.messages": _TOPIC_LEVEL["flush.messages"],
    "log.flush.interval.ms": _TOPIC_LEVEL["flush.ms"],
    "message.max.bytes": _TOPIC_LEVEL["max.message.bytes"],
    "log.message.timestamp.type": _TOPIC_LEVEL["message.timestamp.type"],
    "log.message.timestamp.before.max.ms": _TOPIC_LEVEL["message.timestamp.before.max.ms"],
    "log.message.timestamp.after.max.ms": _TOPIC_LEVEL["message.timestamp.after.max.ms"],
    "log.retention.ms": _TOPIC_LEVEL["retention.ms"],
    "log.retention.bytes": _TOPIC_LEVEL["retention.bytes"],
}
"""What a broker, or all of them, may have that topics inherit. Other names pass: nobody reads them."""
