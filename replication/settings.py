"""replication/settings.py: a broker's settings, by Kafka's names, and the value in force for a topic (3.14).

In     properties (text by name, from the node's file) and the dynamic settings of the metadata image
Out    `BrokerSettings` and `TopicSettings`: numbers, read once, not looked up by name on the way of a record
Order  topic record > broker's own dynamic record > cluster-wide dynamic record > static file > default
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from replication.image import BROKER, CLUSTER_WIDE, TOPIC, MetadataImage

UNLIMITED = 2**63 - 1

_S = TypeVar("_S", bound=msgspec.Struct)


class BrokerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Section 11, what concerns one node. The field is Kafka's name with underscores."""

    replica_lag_time_max_ms: int = 30_000
    replica_fetch_wait_max_ms: int = 500
    replica_fetch_min_bytes: int = 1
    replica_fetch_max_bytes: int = 1_048_576
    replica_fetch_response_max_bytes: int = 10_485_760
    replica_fetch_backoff_ms: int = 1_000
    replica_socket_timeout_ms: int = 30_000
    replica_high_watermark_checkpoint_interval_ms: int = 5_000
    num_replica_fetchers: int = 1
    controller_socket_timeout_ms: int = 30_000
    log_flush_offset_checkpoint_interval_ms: int = 60_000
    log_flush_start_offset_checkpoint_interval_ms: int = 60_000
    tidemark_lag_clock: str = "monotonic"


class TopicSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What a topic may have of its own."""

    min_insync_replicas: int = 1
    segment_bytes: int = 1_073_741_824
    segment_ms: int = 604_800_000
    segment_index_bytes: int = 10_485_760
    index_interval_bytes: int = 4_096
    flush_messages: int = UNLIMITED
    flush_ms: int = UNLIMITED
    max_message_bytes: int = 1_048_588
    message_timestamp_type: str = "CreateTime"
    message_timestamp_before_max_ms: int = UNLIMITED
    message_timestamp_after_max_ms: int = 3_600_000

    @property
    def log_append_time(self) -> bool:
        return self.message_timestamp_type == "LogAppendTime"


_BROKER_NAMES = {
    "segment.bytes": "log.segment.bytes",
    "segment.ms": "log.roll.ms",
    "segment.index.bytes": "log.index.size.max.bytes",
    "index.interval.bytes": "log.index.interval.bytes",
    "flush.messages": "log.flush.interval.messages",
    "flush.ms": "log.flush.interval.ms",
    "max.message.bytes": "message.max.bytes",
    "message.timestamp.type": "log.message.timestamp.type",
    "message.timestamp.before.max.ms": "log.message.timestamp.before.max.ms",
    "message.timestamp.after.max.ms": "log.message.timestamp.after.max.ms",
}
"""A topic's setting by the name it has for a whole broker, where the two differ. Both are read."""


def broker_settings(properties: Mapping[str, str]) -> BrokerSettings:
    """The node's own settings. Names that do not concern a broker pass by unread; a value of the wrong type raises ValueError."""
    return read_settings(BrokerSettings, [properties])


def topic_settings(image: MetadataImage, topic: str, broker_id: int, properties: Mapping[str, str]) -> TopicSettings:
    """3.14 The values in force for one topic on one broker."""
    configs = image.configs
    levels = [configs.get((TOPIC, topic), {}), configs.get((BROKER, str(broker_id)), {}), configs.get((BROKER, CLUSTER_WIDE), {})]
    return read_settings(TopicSettings, [*levels, properties])


def read_settings(kind: type[_S], levels: list[Mapping[str, str]]) -> _S:
    found: dict[str, str] = {}
    for field in kind.__struct_fields__:
        name = field.replace("_", ".")
        for level in levels:
            text = level.get(name, level.get(_BROKER_NAMES.get(name, name)))
            if text is not None:
                found[field] = text
                break
    try:
        return msgspec.convert(found, kind, strict=False)
    except msgspec.ValidationError as error:
        raise ValueError(f"a setting cannot be read: {error}") from None
