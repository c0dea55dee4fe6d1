"""replication/describing.py: what a broker tells clients about the cluster, from its own image, possibly stale (3.18, 7.12).

In     Metadata, DescribeCluster, DescribeTopicPartitions, DescribeConfigs, DescribeLogDirs
Out    their answers, at once
"""

from __future__ import annotations

from collections.abc import Mapping

from replication.broker_state import BrokerState
from replication.directory import LogDirectory
from replication.env import Request
from replication.errors import Error
from replication.identity import NO_LEADER, id_text
from replication.image import BROKER, TOPIC, MetadataImage, PartitionState, TopicImage
from replication.messages import (
    DescribeClusterResponse,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribedLogDir,
    DescribedLogDirPartition,
    DescribeLogDirsResponse,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    MetadataBroker,
    MetadataPartition,
    MetadataRequest,
    MetadataResponse,
    MetadataTopic,
)
from replication.settings import TopicSettings, topic_settings


class Describing:
    """Answers from the image."""

    def __init__(self, broker: BrokerState, directories: list[LogDirectory], properties: Mapping[str, str]) -> None:
        self.broker, self.directories, self.properties = broker, directories, properties

    def on_metadata(self, request: Request) -> None:
        message: MetadataRequest = request.message
        image = self.broker.image
        asked = tuple(image.topics) if message.topics is None else message.topics
        answer = MetadataResponse(
            self._brokers(image), image.cluster_id, self._any_alive(image), tuple(self._topic(image, topic) for topic in asked)
        )
        self.broker.env.reply(request, answer)

    def on_describe_cluster(self, request: Request) -> None:
        image = self.broker.image
        self.broker.env.reply(request, DescribeClusterResponse(image.cluster_id, self._any_alive(image), self._brokers(image)))

    def on_describe_topic_partitions(self, request: Request) -> None:
        """7.12 Leader, epoch, replicas, ISR and ELR; offsets of replicas are no metadata."""
        message: DescribeTopicPartitionsRequest = request.message
        topics = tuple(self._topic(self.broker.image, name) for name in message.topics)
        self.broker.env.reply(request, DescribeTopicPartitionsResponse(topics))

    def on_describe_log_dirs(self, request: Request) -> None:
        answers = []
        for directory in self.directories:
            error = Error.NONE if directory.failed is None else Error.KAFKA_STORAGE_ERROR
            held = tuple(
                DescribedLogDirPartition(*log.name, partition_size=log.size, offset_lag=max(0, log.hw - log.leo))
                for log in directory.logs.values()
            )
            answers.append(DescribedLogDir(error, id_text(directory.id), held))
        self.broker.env.reply(request, DescribeLogDirsResponse(tuple(answers)))

    def on_describe_configs(self, request: Request) -> None:
        message: DescribeConfigsRequest = request.message
        self.broker.env.reply(request, DescribeConfigsResponse(tuple(self._configs(asked) for asked in message.resources)))

    # -- parts ----------------------------------------------------------------------------------------------------------

    def _brokers(self, image: MetadataImage) -> tuple[MetadataBroker, ...]:
        return tuple(MetadataBroker(b.broker_id, b.host, b.port, b.rack) for b in image.brokers.values() if not b.fenced)

    def _any_alive(self, image: MetadataImage) -> int:
        return min((b.broker_id for b in image.brokers.values() if not b.fenced), default=NO_LEADER)

    def _topic(self, image: MetadataImage, asked: str | bytes) -> MetadataTopic:
        topic_id = image.ids.get(asked) if isinstance(asked, str) else asked
        topic = image.topics.get(topic_id) if topic_id is not None else None
        if topic is not None:
            return self._known_topic(image, topic)
        if isinstance(asked, str):
            return MetadataTopic(Error.UNKNOWN_TOPIC_OR_PARTITION, asked, bytes(16))
        return MetadataTopic(Error.UNKNOWN_TOPIC_ID, None, asked)

    def _known_topic(self, image: MetadataImage, topic: TopicImage) -> MetadataTopic:
        partitions = tuple(self._partition(image, index, state) for index, state in sorted(topic.partitions.items()))
        return MetadataTopic(Error.NONE, topic.name, topic.topic_id, partitions)

    def _partition(self, image: MetadataImage, index: int, state: PartitionState) -> MetadataPartition:
        shown = self.broker.rules.shows_leader(state, image.brokers.get(state.leader))
        return MetadataPartition(
            index,
            Error.NONE if shown else Error.LEADER_NOT_AVAILABLE,
            state.leader if shown else NO_LEADER,
            state.leader_epoch,
            state.replicas,
            state.isr,
            tuple(r for r in state.replicas if (known := image.brokers.get(r)) is None or known.fenced),
            state.elr,
            state.last_known_elr,
        )

    def _configs(self, asked: DescribeConfigsResource) -> DescribeConfigsResult:
        """3.14 The values in force, by Kafka's names."""
        image, name = self.broker.image, asked.resource_name
        if asked.resource_type == TOPIC:
            if name not in image.ids:
                return DescribeConfigsResult(Error.UNKNOWN_TOPIC_OR_PARTITION, TOPIC, name)
            values = _by_name(topic_settings(image, name, self.broker.node_id, self.properties))
        elif asked.resource_type == BROKER and name in ("", str(self.broker.node_id)):
            values = dict(self.properties)
            for level in ((BROKER, ""), (BROKER, name)):
                values |= image.configs.get(level, {})
        else:
            return DescribeConfigsResult(Error.INVALID_REQUEST, asked.resource_type, name)
        wanted = asked.configuration_keys
        shown = tuple((key, value) for key, value in sorted(values.items()) if wanted is None or key in wanted)
        return DescribeConfigsResult(Error.NONE, asked.resource_type, name, shown)


def _by_name(settings: TopicSettings) -> dict[str, str]:
    return {field.replace("_", "."): str(getattr(settings, field)) for field in settings.__struct_fields__}
