"""harness/trace_messages.py: messages that arrived, each as one sentence.

In     messages of replication/, as a watch of the simulator sees them
Out    Kafka's name of the request, by which a reader asks for it; `Fetch n2>n1 t/0 from 41`; the partitions it is about
Keeps  names of topics, as far as answers have told which id belongs to which name
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from clusters.sim.kinds import kind_of
from harness.trace_words import acks_word, nodes, place
from model.cluster import TopicPartition
from nemesis import names
from replication import messages as m
from replication import quorum_messages as q
from replication.errors import Error


class Topics:
    """Which topic an id belongs to."""

    def __init__(self, known: tuple[str, ...]) -> None:
        self._only = known[0] if len(known) == 1 else None
        self._names: dict[bytes, str] = {}

    def learn(self, message: Any) -> None:
        if isinstance(message, m.MetadataResponse):
            self._names |= {topic.topic_id: topic.name for topic in message.topics if topic.name is not None}

    def partition_of(self, item: Any) -> TopicPartition | None:
        """Kafka names the same thing in four ways."""
        topic = getattr(item, "topic", None) or self._name(getattr(item, "topic_id", None))
        for field in ("partition", "index", "partition_index"):
            index = getattr(item, field, None)
            if topic is not None and index is not None:
                return topic, index
        return None

    def _name(self, topic_id: bytes | None) -> str | None:
        return None if topic_id is None else self._names.get(topic_id) or self._only or topic_id.hex()[:8]


class Told(msgspec.Struct, frozen=True):
    """A message, in words."""

    name: str
    text: str
    partitions: tuple[TopicPartition, ...]


def of_message(way: str, ends: tuple[int, int], message: Any, topics: Topics) -> Told:
    """`Fetch n2>n1 t/0 from 41`; of an answer, `Fetch answer n1>n2 t/0 HW 41, 96 bytes`."""
    name = name_of(message)
    label = {"answer": f"{name} answer", "copy": f"copy of {name}"}.get(way, name)
    items = [(topics.partition_of(item), item) for item in _items(message)]
    parts = [f"{place(where)}{_part(item)}" if where else _part(item).strip() for where, item in items]
    text = f"{label} {end(ends[0])}>{end(ends[1])} {'; '.join(filter(None, parts))}{_whole(message)}"
    return Told(name, text.rstrip(), tuple(where for where, _ in items if where is not None))


def name_of(message: Any) -> str:
    """Kafka's name of a request, also for its answer."""
    return kind_of(message).removesuffix("Response")


def end(number: int) -> str:
    """Clients of a run are c1, c2; whoever administers is neither."""
    return names.name(number) if number > -100 else "admin"


def _items(message: Any) -> Iterator[Any]:
    for field in ("partitions", "responses"):
        for item in getattr(message, field, None) or ():
            if isinstance(item, m.Message):
                yield item


def _part(item: Any) -> str:
    error = getattr(item, "error_code", Error.NONE)
    if error != Error.NONE:
        return f" {Error(error).name}"
    words = _PARTS.get(type(item))
    return "" if words is None else f" {words(item)}"


def _whole(message: Any) -> str:
    error = getattr(message, "error_code", Error.NONE)
    if error != Error.NONE:
        return f" {Error(error).name}"
    if isinstance(message, m.ProduceRequest):
        return f" acks={acks_word(message.acks)}"
    words = _OF_QUORUM.get(type(message))
    if words is not None:
        return f" {words(message)}"
    fenced = getattr(message, "is_fenced", None)  # of a heartbeat's answer
    return "" if fenced is None else " fenced" if fenced else " not fenced"


def _fetched(item: m.FetchedPartition) -> str:
    if item.diverging_epoch is not None:
        return f"diverges: leader epoch {item.diverging_epoch.epoch} ends at {item.diverging_epoch.end_offset}"
    return f"HW {item.high_watermark}, {len(item.records)} bytes"


def _vote(message: q.VoteRequest) -> str:
    asks = "would it vote" if message.pre_vote else "votes"
    return f"{asks} in quorum epoch {message.replica_epoch}, metadata up to {message.last_offset}"


def _metadata(message: q.QuorumFetchResponse) -> str:
    if message.diverging_epoch is not None:
        return f"metadata diverges: quorum epoch {message.diverging_epoch.epoch} ends at {message.diverging_epoch.end_offset}"
    if message.snapshot_id is not None:
        return f"metadata begins with the snapshot up to {message.snapshot_id.end_offset}"
    return f"metadata HW {message.high_watermark}, {len(message.records)} bytes"


_OF_QUORUM: Mapping[type, Callable[[Any], str]] = {
    q.VoteRequest: _vote,
    q.VoteResponse: lambda message: "yes" if message.vote_granted else "no",
    q.BeginQuorumEpochRequest: lambda message: f"quorum epoch {message.leader_epoch}",
    q.EndQuorumEpochRequest: lambda message: f"quorum epoch {message.leader_epoch}",
    q.QuorumFetchRequest: lambda message: f"metadata from {message.fetch_offset}",
    q.QuorumFetchResponse: _metadata,
}

_PARTS: Mapping[type, Callable[[Any], str]] = {
    m.FetchPartition: lambda item: f"from {item.fetch_offset}",
    m.FetchedPartition: _fetched,
    m.ProducePartition: lambda item: f"{len(item.records)} bytes",
    m.ProducedPartition: lambda item: f"at {item.base_offset}",
    m.ListOffsetsPartition: lambda item: {m.LATEST: "latest", m.EARLIEST: "earliest"}.get(item.timestamp, f"at {item.timestamp}"),
    m.ListedOffset: lambda item: f"{item.offset}",
    m.AlterPartitionItem: lambda item: f"ISR {nodes(member.broker_id for member in item.new_isr_with_epochs)}",
    m.AlteredPartition: lambda item: f"ISR {nodes(item.isr)}",
}
