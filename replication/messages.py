"""replication/messages.py: the requests and answers of the core, with Kafka's field names.

In     whoever sends one
Out    immutable structs, never validated on the way: a batch inside is the same bytes that the client encoded
Keeps  what Kafka nests as topic and partition is one flat tuple here; `topic` is a name where Kafka's request has the name,
       `topic_id` where
       it has the id. `wire/` translates frames to these and back.
Order  reading and writing; metadata; broker to controller. Administration: admin_messages.py
"""

from __future__ import annotations

import msgspec

from replication.errors import Error
from replication.identity import NO_EPOCH, NO_LEADER

CONSUMER = -1  # the replica id of a fetch that comes from a client
LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4


class Message(msgspec.Struct, frozen=True, gc=False):
    """Anything that travels. Without cycles, so the garbage collector need not look at it."""


class EpochEndOffset(Message, frozen=True):
    """Where a leader epoch ends in a log (5.3). The offset is exclusive."""

    epoch: int
    end_offset: int


class LeaderIdAndEpoch(Message, frozen=True):
    leader_id: int
    leader_epoch: int


# -- produce (section 6) ------------------------------------------------------------------------------------------------


class ProducePartition(Message, frozen=True):
    topic_id: bytes
    index: int
    records: bytes


class ProduceRequest(Message, frozen=True):
    acks: int
    timeout_ms: int
    partitions: tuple[ProducePartition, ...]


class ProducedPartition(Message, frozen=True):
    topic_id: bytes
    index: int
    error_code: Error = Error.NONE
    base_offset: int = -1
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    current_leader: LeaderIdAndEpoch | None = None


class ProduceResponse(Message, frozen=True):
    responses: tuple[ProducedPartition, ...]


# -- fetch (5.13, section 7) ----------------------------------------------------------------------------------------------


class FetchPartition(Message, frozen=True):
    topic_id: bytes
    partition: int
    fetch_offset: int
    partition_max_bytes: int
    current_leader_epoch: int = NO_EPOCH
    last_fetched_epoch: int = NO_EPOCH
    log_start_offset: int = -1


class FetchRequest(Message, frozen=True):
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    partitions: tuple[FetchPartition, ...]
    replica_id: int = CONSUMER
    replica_epoch: int = NO_EPOCH
    session_id: int = 0
    session_epoch: int = -1


class FetchedPartition(Message, frozen=True):
    topic_id: bytes
    partition_index: int
    error_code: Error = Error.NONE
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    records: bytes = b""
    diverging_epoch: EpochEndOffset | None = None
    current_leader: LeaderIdAndEpoch | None = None


class FetchResponse(Message, frozen=True):
    responses: tuple[FetchedPartition, ...]
    error_code: Error = Error.NONE


# -- offsets (7.4, 7.5, 7.9) ----------------------------------------------------------------------------------------------


class ListOffsetsPartition(Message, frozen=True):
    topic: str
    partition_index: int
    timestamp: int
    current_leader_epoch: int = NO_EPOCH


class ListOffsetsRequest(Message, frozen=True):
    partitions: tuple[ListOffsetsPartition, ...]
    replica_id: int = CONSUMER


class ListedOffset(Message, frozen=True):
    topic: str
    partition_index: int
    error_code: Error = Error.NONE
    timestamp: int = -1
    offset: int = -1
    leader_epoch: int = NO_EPOCH


class ListOffsetsResponse(Message, frozen=True):
    partitions: tuple[ListedOffset, ...]


class OffsetForLeaderPartition(Message, frozen=True):
    topic: str
    partition: int
    leader_epoch: int
    current_leader_epoch: int = NO_EPOCH


class OffsetForLeaderEpochRequest(Message, frozen=True):
    partitions: tuple[OffsetForLeaderPartition, ...]
    replica_id: int = CONSUMER


class OffsetForLeaderResult(Message, frozen=True):
    topic: str
    partition: int
    error_code: Error = Error.NONE
    leader_epoch: int = NO_EPOCH
    end_offset: int = -1


class OffsetForLeaderEpochResponse(Message, frozen=True):
    partitions: tuple[OffsetForLeaderResult, ...]


# -- producer ids (6.15) --------------------------------------------------------------------------------------------------


class InitProducerIdRequest(Message, frozen=True):
    transactional_id: str | None = None


class InitProducerIdResponse(Message, frozen=True):
    error_code: Error = Error.NONE
    producer_id: int = -1
    producer_epoch: int = -1


class AllocateProducerIdsRequest(Message, frozen=True):
    broker_id: int
    broker_epoch: int


class AllocateProducerIdsResponse(Message, frozen=True):
    error_code: Error = Error.NONE
    producer_id_start: int = -1
    producer_id_len: int = 0


# -- metadata (3.18, 7.12) ------------------------------------------------------------------------------------------------


class MetadataRequest(Message, frozen=True):
    topics: tuple[str | bytes, ...] | None = None
    """Names or ids; None asks for all."""


class MetadataBroker(Message, frozen=True):
    node_id: int
    host: str
    port: int
    rack: str | None = None


class MetadataPartition(Message, frozen=True):
    partition_index: int
    error_code: Error
    leader_id: int
    leader_epoch: int
    replica_nodes: tuple[int, ...]
    isr_nodes: tuple[int, ...]
    offline_replicas: tuple[int, ...] = ()
    eligible_leader_replicas: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()


class MetadataTopic(Message, frozen=True):
    error_code: Error
    name: str | None
    topic_id: bytes
    partitions: tuple[MetadataPartition, ...] = ()


class MetadataResponse(Message, frozen=True):
    brokers: tuple[MetadataBroker, ...]
    cluster_id: str
    controller_id: int
    topics: tuple[MetadataTopic, ...]


class DescribeTopicPartitionsRequest(Message, frozen=True):
    topics: tuple[str, ...]


class DescribeTopicPartitionsResponse(Message, frozen=True):
    topics: tuple[MetadataTopic, ...]


class DescribeClusterRequest(Message, frozen=True):
    pass


class DescribeClusterResponse(Message, frozen=True):
    cluster_id: str
    controller_id: int
    brokers: tuple[MetadataBroker, ...]


class DescribeConfigsResource(Message, frozen=True):
    resource_type: str  # "topic" or "broker"
    resource_name: str
    configuration_keys: tuple[str, ...] | None = None


class DescribeConfigsRequest(Message, frozen=True):
    resources: tuple[DescribeConfigsResource, ...]


class DescribeConfigsResult(Message, frozen=True):
    error_code: Error
    resource_type: str
    resource_name: str
    configs: tuple[tuple[str, str], ...] = ()


class DescribeConfigsResponse(Message, frozen=True):
    results: tuple[DescribeConfigsResult, ...]


class DescribeLogDirsRequest(Message, frozen=True):
    pass


class DescribedLogDirPartition(Message, frozen=True):
    topic: str
    partition_index: int
    partition_size: int
    offset_lag: int


class DescribedLogDir(Message, frozen=True):
    error_code: Error
    log_dir: str
    partitions: tuple[DescribedLogDirPartition, ...] = ()


class DescribeLogDirsResponse(Message, frozen=True):
    results: tuple[DescribedLogDir, ...]


# -- ISR changes (5.34 to 5.37) -------------------------------------------------------------------------------------------


class IsrMember(Message, frozen=True):
    broker_id: int
    broker_epoch: int


class AlterPartitionItem(Message, frozen=True):
    topic_id: bytes
    partition_index: int
    leader_epoch: int
    partition_epoch: int
    new_isr_with_epochs: tuple[IsrMember, ...]
    leader_recovery_state: int = 0


class AlterPartitionRequest(Message, frozen=True):
    broker_id: int
    broker_epoch: int
    partitions: tuple[AlterPartitionItem, ...]


class AlteredPartition(Message, frozen=True):
    topic_id: bytes
    partition_index: int
    error_code: Error = Error.NONE
    leader_id: int = NO_LEADER
    leader_epoch: int = NO_EPOCH
    isr: tuple[int, ...] = ()
    leader_recovery_state: int = 0
    partition_epoch: int = NO_EPOCH


class AlterPartitionResponse(Message, frozen=True):
    error_code: Error = Error.NONE
    partitions: tuple[AlteredPartition, ...] = ()
