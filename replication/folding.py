"""replication/folding.py: the metadata log, folded into images (3.1 to 3.4).

In     an image and the decisions behind it, in order
Out    the next image, which shares with the one before it everything that did not change; an image as records, for snapshots
Keeps  a decision that is folded twice, out of order, or behind a gap is refused: whoever reads the log is wrong
Not    who decides what (controller/), when it counts (quorum/)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from replication.image import BrokerRegistration, MetadataImage, PartitionState, RecoveryState, TopicImage
from replication.records import (
    BrokerRegistrationChange,
    ConfigRecord,
    Decision,
    FeatureLevel,
    LeaderChange,
    MetadataRecord,
    NoOp,
    PartitionChange,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBroker,
    RemoveTopic,
    TopicRecord,
    UnregisterBroker,
)

K = TypeVar("K")
V = TypeVar("V")


class CannotFold(Exception):
    """A record that does not fit the image before it: metadata is broken, and nobody may act on it."""


def fold(image: MetadataImage, decision: Decision) -> MetadataImage:
    """3.1 2.35 The image after one decision, which must be the next one: offsets have no gaps."""
    if decision.base_offset != image.offset + 1:
        raise CannotFold(f"offset {decision.base_offset} comes after {image.offset}")
    if not decision.by_quorum:
        for record in decision.records:
            image = with_record(image, record)
    return msgspec.structs.replace(image, offset=decision.last_offset, epoch=decision.epoch)


def with_record(image: MetadataImage, record: MetadataRecord) -> MetadataImage:
    """The image after one record; its offset stays."""
    return _FOLDS[type(record)](image, record)


# -- brokers ------------------------------------------------------------------------------------------------------------


def _register(image: MetadataImage, record: RegisterBroker) -> MetadataImage:
    known = BrokerRegistration(
        broker_id=record.broker_id,
        broker_epoch=record.broker_epoch,
        incarnation_id=record.incarnation_id,
        fenced=record.fenced,
        in_controlled_shutdown=record.in_controlled_shutdown,
        log_dirs=record.log_dirs,
        host=record.host,
        port=record.port,
        rack=record.rack,
    )
    return _replace(image, brokers=_with(image.brokers, record.broker_id, known))


def _change_registration(image: MetadataImage, record: BrokerRegistrationChange) -> MetadataImage:
    """3.4"""
    known = _registered(image, record.broker_id, record.broker_epoch)
    given = _given(record, "fenced", "in_controlled_shutdown", "log_dirs")
    return _replace(image, brokers=_with(image.brokers, record.broker_id, msgspec.structs.replace(known, **given)))


def _unregister(image: MetadataImage, record: UnregisterBroker) -> MetadataImage:
    _registered(image, record.broker_id, record.broker_epoch)
    return _replace(image, brokers=_without(image.brokers, record.broker_id))


def _registered(image: MetadataImage, broker_id: int, broker_epoch: int) -> BrokerRegistration:
    known = image.brokers.get(broker_id)
    if known is None or known.broker_epoch != broker_epoch:
        registered = "not at all" if known is None else f"with epoch {known.broker_epoch}"
        raise CannotFold(f"broker {broker_id} is registered {registered}, not with epoch {broker_epoch}")
    return known


# -- topics and partitions ------------------------------------------------------------------------------------------------


def _add_topic(image: MetadataImage, record: TopicRecord) -> MetadataImage:
    topic = TopicImage(record.name, record.topic_id, {})
    topics = _with(image.topics, record.topic_id, topic)
    return _replace(image, topics=topics, ids=_with(image.ids, record.name, record.topic_id))


def _remove_topic(image: MetadataImage, record: RemoveTopic) -> MetadataImage:
    """3.16 Its settings go with it."""
    topic = _topic(image, record.topic_id)
    configs = _without(image.configs, ("topic", topic.name))
    return _replace(image, topics=_without(image.topics, record.topic_id), ids=_without(image.ids, topic.name), configs=configs)


def _add_partition(image: MetadataImage, record: PartitionRecord) -> MetadataImage:
    state = PartitionState(
        replicas=record.replicas,
        isr=record.isr,
        leader=record.leader,
        leader_epoch=record.leader_epoch,
        partition_epoch=record.partition_epoch,
        leader_recovery_state=RecoveryState(record.leader_recovery_state),
        adding_replicas=record.adding_replicas,
        removing_replicas=record.removing_replicas,
        elr=record.elr,
        last_known_elr=record.last_known_elr,
        directories=record.directories,
    )
    return _with_partition(image, record.topic_id, record.partition, state)


def _change_partition(image: MetadataImage, record: PartitionChange) -> MetadataImage:
    state = _topic(image, record.topic_id).partitions.get(record.partition)
    if state is None:
        raise CannotFold(f"partition {record.partition} of topic {record.topic_id.hex()} is not there")
    return _with_partition(image, record.topic_id, record.partition, changed(state, record))


def changed(state: PartitionState, change: PartitionChange) -> PartitionState:
    """3.3 What is given is replaced; a leader that is given begins a leader epoch; the partition epoch always steps."""
    given = _given(
        change,
        "isr",
        "leader",
        "replicas",
        "adding_replicas",
        "removing_replicas",
        "elr",
        "last_known_elr",
        "directories",
    )
    if change.leader_recovery_state is not None:
        given["leader_recovery_state"] = RecoveryState(change.leader_recovery_state)
    given["leader_epoch"] = state.leader_epoch + (change.leader is not None)
    given["partition_epoch"] = state.partition_epoch + 1
    return msgspec.structs.replace(state, **given)


def _topic(image: MetadataImage, topic_id: bytes) -> TopicImage:
    topic = image.topics.get(topic_id)
    if topic is None:
        raise CannotFold(f"topic {topic_id.hex()} is not there")
    return topic


def _with_partition(image: MetadataImage, topic_id: bytes, partition: int, state: PartitionState) -> MetadataImage:
    topic = _topic(image, topic_id)
    grown = TopicImage(topic.name, topic_id, _with(topic.partitions, partition, state))
    return _replace(image, topics=_with(image.topics, topic_id, grown))


# -- everything else ------------------------------------------------------------------------------------------------------


def _configure(image: MetadataImage, record: ConfigRecord) -> MetadataImage:
    resource = record.resource_type, record.resource_name
    before = image.configs.get(resource, {})
    after = _without(before, record.name) if record.value is None else _with(before, record.name, record.value)
    return _replace(image, configs=_with(image.configs, resource, after) if after else _without(image.configs, resource))


def _hand_out_producer_ids(image: MetadataImage, record: ProducerIdsRecord) -> MetadataImage:
    return _replace(image, next_producer_id=record.next_producer_id)


def _set_feature(image: MetadataImage, record: FeatureLevel) -> MetadataImage:
    return _replace(image, features=_with(image.features, record.name, record.level))


def _nothing(image: MetadataImage, record: MetadataRecord) -> MetadataImage:
    return image


_FOLDS: Mapping[type, Callable[[MetadataImage, Any], MetadataImage]] = {
    RegisterBroker: _register,
    BrokerRegistrationChange: _change_registration,
    UnregisterBroker: _unregister,
    TopicRecord: _add_topic,
    RemoveTopic: _remove_topic,
    PartitionRecord: _add_partition,
    PartitionChange: _change_partition,
    ConfigRecord: _configure,
    ProducerIdsRecord: _hand_out_producer_ids,
    FeatureLevel: _set_feature,
    NoOp: _nothing,
    LeaderChange: _nothing,
}


def _replace(image: MetadataImage, **changes: Any) -> MetadataImage:
    return msgspec.structs.replace(image, **changes)


def _with(mapping: Mapping[K, V], key: K, value: V) -> Mapping[K, V]:
    return {**mapping, key: value}


def _without(mapping: Mapping[K, V], key: K) -> Mapping[K, V]:
    return {each: value for each, value in mapping.items() if each != key} if key in mapping else mapping


def _given(record: MetadataRecord, *names: str) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(record, name)) is not None}


# -- snapshots ------------------------------------------------------------------------------------------------------------


def records_of(image: MetadataImage) -> tuple[MetadataRecord, ...]:
    """2.43 The whole image as records: folded from nothing, they give it again."""
    return (
        *(FeatureLevel(name, level) for name, level in image.features.items()),
        *(_registration(known) for known in image.brokers.values()),
        *(
            ConfigRecord(kind, name, key, value)
            for (kind, name), settings in image.configs.items()
            for key, value in settings.items()
        ),
        *(record for topic in image.topics.values() for record in _of_topic(topic)),
        ProducerIdsRecord(-1, -1, image.next_producer_id),
    )


def image_of(records: tuple[MetadataRecord, ...], offset: int, epoch: int, cluster_id: str) -> MetadataImage:
    """What a snapshot holds, as of the offset of its last record."""
    image = MetadataImage(cluster_id=cluster_id)
    for record in records:
        image = with_record(image, record)
    return _replace(image, offset=offset, epoch=epoch)


def _registration(known: BrokerRegistration) -> RegisterBroker:
    return RegisterBroker(
        broker_id=known.broker_id,
        incarnation_id=known.incarnation_id,
        broker_epoch=known.broker_epoch,
        log_dirs=known.log_dirs,
        host=known.host,
        port=known.port,
        rack=known.rack,
        fenced=known.fenced,
        in_controlled_shutdown=known.in_controlled_shutdown,
    )


def _of_topic(topic: TopicImage) -> list[MetadataRecord]:
    partitions: list[MetadataRecord] = [
        PartitionRecord(
            topic_id=topic.topic_id,
            partition=index,
            replicas=state.replicas,
            isr=state.isr,
            leader=state.leader,
            leader_epoch=state.leader_epoch,
            partition_epoch=state.partition_epoch,
            leader_recovery_state=int(state.leader_recovery_state),
            adding_replicas=state.adding_replicas,
            removing_replicas=state.removing_replicas,
            elr=state.elr,
            last_known_elr=state.last_known_elr,
            directories=state.directories,
        )
        for index, state in topic.partitions.items()
    ]
    return [TopicRecord(topic.name, topic.topic_id), *partitions]
