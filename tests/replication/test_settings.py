"""Settings by Kafka's names: which level wins, what a broker calls a topic's setting, and what cannot be read."""

from __future__ import annotations

import pytest

from replication.image import BROKER, CLUSTER_WIDE, TOPIC, MetadataImage
from replication.settings import UNLIMITED, BrokerSettings, TopicSettings, broker_settings, topic_settings

LEVELS = ("topic", "broker", "cluster", "file")


def in_force(*levels: str, name: str = "min.insync.replicas") -> TopicSettings:
    """Settings of topic t on broker 1 when each of these levels has a value: 2 for the topic's, then 3, 4, 5."""
    values = {level: {name: str(2 + LEVELS.index(level))} for level in levels}
    configs = {
        (TOPIC, "t"): values.get("topic", {}),
        (BROKER, "1"): values.get("broker", {}),
        (BROKER, CLUSTER_WIDE): values.get("cluster", {}),
    }
    return topic_settings(MetadataImage(configs=configs), "t", 1, values.get("file", {}))


@pytest.mark.parametrize("first", range(len(LEVELS)), ids=LEVELS)
def test_the_nearest_level_wins(first: int) -> None:
    """3.14: topic record, broker's own dynamic record, cluster-wide dynamic record, static file, whatever the lower ones say."""
    assert in_force(*LEVELS[first:]).min_insync_replicas == 2 + first


def test_without_any_level_the_default_holds() -> None:
    """Section 11."""
    assert in_force() == TopicSettings()
    defaults = TopicSettings()
    assert (defaults.min_insync_replicas, defaults.flush_messages, defaults.max_message_bytes) == (1, UNLIMITED, 1_048_588)
    assert (defaults.segment_bytes, defaults.segment_ms, defaults.index_interval_bytes) == (1_073_741_824, 604_800_000, 4_096)


def test_the_defaults_of_a_broker_are_kafkas() -> None:
    """Section 11."""
    found = broker_settings({})
    assert (found.replica_lag_time_max_ms, found.replica_fetch_wait_max_ms, found.replica_fetch_backoff_ms) == (
        30_000,
        500,
        1_000,
    )
    assert (found.replica_fetch_max_bytes, found.replica_fetch_response_max_bytes) == (1_048_576, 10_485_760)
    assert (found.replica_high_watermark_checkpoint_interval_ms, found.num_replica_fetchers) == (5_000, 1)


def test_each_setting_looks_for_its_own_level() -> None:
    """3.14: a topic that sets one value of its own takes the others from below."""
    configs = {(TOPIC, "t"): {"flush.messages": "1"}, (BROKER, CLUSTER_WIDE): {"min.insync.replicas": "2"}}
    found = topic_settings(MetadataImage(configs=configs), "t", 1, {"max.message.bytes": "99"})
    assert (found.flush_messages, found.min_insync_replicas, found.max_message_bytes) == (1, 2, 99)


def test_what_belongs_to_others_does_not_count() -> None:
    """3.14: another topic's record, and another broker's."""
    configs = {(TOPIC, "other"): {"min.insync.replicas": "2"}, (BROKER, "2"): {"min.insync.replicas": "3"}}
    assert topic_settings(MetadataImage(configs=configs), "t", 1, {}).min_insync_replicas == 1


@pytest.mark.parametrize(
    ("broker_name", "field"),
    [
        ("log.segment.bytes", "segment_bytes"),
        ("log.roll.ms", "segment_ms"),
        ("log.index.size.max.bytes", "segment_index_bytes"),
        ("log.index.interval.bytes", "index_interval_bytes"),
        ("log.flush.interval.messages", "flush_messages"),
        ("log.flush.interval.ms", "flush_ms"),
        ("message.max.bytes", "max_message_bytes"),
        ("log.message.timestamp.before.max.ms", "message_timestamp_before_max_ms"),
        ("log.message.timestamp.after.max.ms", "message_timestamp_after_max_ms"),
        ("min.insync.replicas", "min_insync_replicas"),
    ],
)
def test_a_broker_has_its_own_name_for_a_topics_setting(broker_name: str, field: str) -> None:
    """3.14: in the file and in dynamic records of brokers."""
    in_file = topic_settings(MetadataImage(), "t", 1, {broker_name: "7"})
    dynamic = topic_settings(MetadataImage(configs={(BROKER, "1"): {broker_name: "7"}}), "t", 1, {broker_name: "8"})
    assert getattr(in_file, field) == getattr(dynamic, field) == 7
    assert getattr(TopicSettings(), field) != 7


def test_a_nearer_level_wins_under_either_name() -> None:
    """3.14: the level decides, not the spelling."""
    configs = {(TOPIC, "t"): {"segment.bytes": "1"}, (BROKER, "1"): {"log.segment.bytes": "2"}}
    properties = {"segment.bytes": "3", "log.segment.bytes": "4"}
    assert topic_settings(MetadataImage(configs=configs), "t", 1, properties).segment_bytes == 1
    assert topic_settings(MetadataImage(configs=configs), "another", 1, properties).segment_bytes == 2


def test_append_time_is_a_word() -> None:
    """6.12"""
    assert topic_settings(MetadataImage(), "t", 1, {"log.message.timestamp.type": "LogAppendTime"}).log_append_time
    assert not topic_settings(MetadataImage(), "t", 1, {"log.message.timestamp.type": "CreateTime"}).log_append_time


@pytest.mark.parametrize("text", ["soon", "", "1.5", "0x10"])
def test_a_value_that_is_no_number_is_refused(text: str) -> None:
    """3.14: at the broker's own settings and at a topic's, with a word that says where."""
    with pytest.raises(ValueError, match="replica_lag_time_max_ms"):
        broker_settings({"replica.lag.time.max.ms": text})
    with pytest.raises(ValueError, match="segment_bytes"):
        topic_settings(MetadataImage(), "t", 1, {"log.segment.bytes": text})


def test_names_that_do_not_concern_a_broker_pass_by() -> None:
    """Section 11: the file of a node also holds what others read."""
    assert broker_settings({"controller.quorum.voters": "what?", "min.insync.replicas": "many"}) == BrokerSettings()
