"""replication/records.py: metadata records (3.2, 3.11) and how a batch of them becomes bytes.

In     what controllers decide, and what the quorum itself writes
Out    v2 record batches, like any other log's: the value of each record is one struct in a compact form; structs again
Keeps  one batch is one decision: it is appended, committed and applied as a whole (3.6)
Not    what a record does to the image: folding.py. Epochs of partitions are not carried, they follow from the change (3.3)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from replication.batch import CONTROL, Header, Record, decode, encode, headers, is_whole
from replication.identity import NO_LEADER

METADATA_TOPIC = "__cluster_metadata"


class MetadataRecord(msgspec.Struct, frozen=True, array_like=True, tag_field="kind", gc=False):
    """One entry of the metadata log."""


class RegisterBroker(MetadataRecord, frozen=True, tag=1):
    """4.2 A process of this broker is known from now on; its broker epoch is the offset at which this record lies (1.4)."""

    broker_id: int
    incarnation_id: bytes
    broker_epoch: int
    log_dirs: tuple[bytes, ...] = ()
    host: str = ""
    port: int = 0
    rack: str | None = None
    fenced: bool = True
    in_controlled_shutdown: bool = False


class BrokerRegistrationChange(MetadataRecord, frozen=True, tag=2):
    """3.4 None: as before."""

    broker_id: int
    broker_epoch: int
    fenced: bool | None = None
    in_controlled_shutdown: bool | None = None
    log_dirs: tuple[bytes, ...] | None = None


class UnregisterBroker(MetadataRecord, frozen=True, tag=3):
    broker_id: int
    broker_epoch: int


class TopicRecord(MetadataRecord, frozen=True, tag=4):
    name: str
    topic_id: bytes


class RemoveTopic(MetadataRecord, frozen=True, tag=5):
    topic_id: bytes


class PartitionRecord(MetadataRecord, frozen=True, tag=6):
    """A partition as a whole: at its creation (both epochs 0, 3.9) and in snapshots."""

    topic_id: bytes
    partition: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int = 0
    partition_epoch: int = 0
    leader_recovery_state: int = 0
    adding_replicas: tuple[int, ...] = ()
    removing_replicas: tuple[int, ...] = ()
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    directories: tuple[bytes, ...] = ()


class PartitionChange(MetadataRecord, frozen=True, tag=7):
    """3.3 None: as before. A leader that is given, also the same one or NO_LEADER, begins a leader epoch."""

    topic_id: bytes
    partition: int
    isr: tuple[int, ...] | None = None
    leader: int | None = None
    leader_recovery_state: int | None = None
    replicas: tuple[int, ...] | None = None
    adding_replicas: tuple[int, ...] | None = None
    removing_replicas: tuple[int, ...] | None = None
    elr: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None
    directories: tuple[bytes, ...] | None = None


class ConfigRecord(MetadataRecord, frozen=True, tag=8):
    """3.14 A value of None takes the setting away from this level."""

    resource_type: str
    resource_name: str
    name: str
    value: str | None


class ProducerIdsRecord(MetadataRecord, frozen=True, tag=9):
    """6.15 Ids below `next_producer_id` have been handed out."""

    broker_id: int
    broker_epoch: int
    next_producer_id: int


class NoOp(MetadataRecord, frozen=True, tag=10):
    """3.10 Nothing, so that time is seen to pass."""


class FeatureLevel(MetadataRecord, frozen=True, tag=11):
    name: str
    level: int


class LeaderChange(MetadataRecord, frozen=True, tag=12):
    """2.17 The first record of every quorum epoch, written by the quorum itself in a control batch."""

    leader_id: int = NO_LEADER
    voters: tuple[int, ...] = ()


AnyRecord = (
    RegisterBroker
    | BrokerRegistrationChange
    | UnregisterBroker
    | TopicRecord
    | RemoveTopic
    | PartitionRecord
    | PartitionChange
    | ConfigRecord
    | ProducerIdsRecord
    | NoOp
    | FeatureLevel
    | LeaderChange
)

_ENCODER = msgspec.msgpack.Encoder()
_DECODER: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(AnyRecord)


class Decision(msgspec.Struct, frozen=True):
    """One batch of the metadata log, as it was written: applied as a whole or not at all."""

    base_offset: int
    last_offset: int
    epoch: int
    """The quorum epoch of the leader that wrote it."""
    records: tuple[MetadataRecord, ...]
    by_quorum: bool = False
    """2.17 A control batch: it moves the offset, and nothing else."""


def batch_of(records: Sequence[MetadataRecord], now_ms: int, *, by_quorum: bool = False) -> bytes:
    """A batch as its writer hands it to the log, which stamps offset and epoch."""
    written = [Record(_ENCODER.encode(record), timestamp=now_ms) for record in records]
    return encode(written, attributes=CONTROL if by_quorum else 0)


def decision(data: bytes, header: Header, position: int = 0) -> Decision:
    """The batch at `position`. Only for batches whose CRC is right; raises ValueError for what no controller wrote."""
    try:
        records = tuple(_DECODER.decode(record.value or b"") for record in decode(data, header, position))
    except msgspec.DecodeError as error:
        raise ValueError(f"a metadata record cannot be read: {error}") from None
    epoch = header.partition_leader_epoch
    return Decision(header.base_offset, header.last_offset, epoch, records, bool(header.attributes & CONTROL))


def decisions(data: bytes) -> Iterator[Decision]:
    """Every whole batch of `data`, up to the first that is not what was written."""
    for position, header in headers(data):
        if not is_whole(data, header, position):
            return
        yield decision(data, header, position)
