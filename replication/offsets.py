"""replication/offsets.py: questions about offsets: ListOffsets and OffsetForLeaderEpoch (7.3 to 7.5, 7.9).

In     the two requests, from clients, and from followers that were out of range (5.23)
Out    their answers, at once
"""

from __future__ import annotations

from replication import timestamps
from replication.broker_state import BrokerState
from replication.env import Request
from replication.errors import Error
from replication.messages import (
    CONSUMER,
    MAX_TIMESTAMP,
    ListedOffset,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderResult,
)
from replication.partition import Partition


class Offsets:
    """Answers about where logs start and end."""

    def __init__(self, broker: BrokerState) -> None:
        self.broker = broker

    def on_list_offsets(self, request: Request) -> None:
        message: ListOffsetsRequest = request.message
        from_replica = message.replica_id != CONSUMER
        answers = tuple(self._listed(asked, from_replica) for asked in message.partitions)
        self.broker.env.reply(request, ListOffsetsResponse(answers))

    def on_offset_for_leader_epoch(self, request: Request) -> None:
        message: OffsetForLeaderEpochRequest = request.message
        answers = tuple(self._epoch_end(asked) for asked in message.partitions)
        self.broker.env.reply(request, OffsetForLeaderEpochResponse(answers))

    def _asked_of(self, topic: str, index: int, current_leader_epoch: int) -> Partition | Error:
        partition = self.broker.by_name(topic, index)
        if isinstance(partition, Error):
            return partition
        if partition.offline:
            return Error.KAFKA_STORAGE_ERROR
        return partition.refuse_client(current_leader_epoch) or partition

    def _listed(self, asked: ListOffsetsPartition, from_replica: bool) -> ListedOffset:
        partition = self._asked_of(asked.topic, asked.partition_index, asked.current_leader_epoch)
        if isinstance(partition, Error):
            return ListedOffset(asked.topic, asked.partition_index, partition)
        found = self._find(partition, asked.timestamp, from_replica)
        if isinstance(found, Error):
            return ListedOffset(asked.topic, asked.partition_index, found)
        offset, timestamp = found
        epoch = partition.log.epoch_of(offset) if offset >= 0 else -1
        return ListedOffset(asked.topic, asked.partition_index, Error.NONE, timestamp, offset, epoch)

    def _find(self, partition: Partition, timestamp: int, from_replica: bool) -> tuple[int, int] | Error:
        """7.4, 7.9 (offset, its timestamp or -1)."""
        rules, log, leader = self.broker.rules, partition.log, partition.leader
        if rules.asks_for_earliest(timestamp):
            return log.log_start, -1
        latest = rules.latest_offset(from_replica, log.hw, log.leo, leader.state.leso if leader else 0)
        if rules.asks_for_latest(timestamp):
            return latest if isinstance(latest, Error) else (latest, -1)
        end = rules.readable_end(from_replica, log.hw, log.leo)
        found = timestamps.largest(log, end) if timestamp == MAX_TIMESTAMP else timestamps.first_at_or_after(log, timestamp, end)
        if found is not None:
            return found
        return latest if isinstance(latest, Error) else (-1, -1)

    def _epoch_end(self, asked: OffsetForLeaderPartition) -> OffsetForLeaderResult:
        """7.5"""
        partition = self._asked_of(asked.topic, asked.partition, asked.current_leader_epoch)
        if isinstance(partition, Error):
            return OffsetForLeaderResult(asked.topic, asked.partition, partition)
        end = partition.log.end_offset_for(asked.leader_epoch)
        if end is None:
            return OffsetForLeaderResult(asked.topic, asked.partition)
        return OffsetForLeaderResult(asked.topic, asked.partition, Error.NONE, end.epoch, end.end_offset)
