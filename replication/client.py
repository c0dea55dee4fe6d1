"""replication/client.py: the client, sans-IO: one call, one request, one answer (sections 6 and 7, 3.18, 3.19).

In     calls, each with `then` and a deadline that covers everything
Out    requests through `Env`, on the channel "client"; `then`, once and after the call has returned, with a result
Keeps  who leads what and whom to ask, learned from every answer: leader_cache.py
Not    retries, outcomes, a reader's position: whoever calls. How a call goes: client_calls.py; what it tells: client_results.py
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from replication.admin_messages import (
    AlterPartitionReassignmentsRequest,
    ConfigAlteration,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DescribeQuorumRequest,
    ElectLeadersRequest,
    IncrementalAlterConfigsRequest,
    ListPartitionReassignmentsRequest,
    NewPartitions,
    NewTopic,
    Reassignment,
    UnregisterBrokerRequest,
)
from replication.client_calls import Allowance, LeaderCall, Question, Walk
from replication.client_results import (
    Answered,
    EpochEnd,
    Fetched,
    Listed,
    Produced,
    ProducerId,
    Result,
    Source,
    answered,
    epoch_end,
    fetched,
    listed,
    produced,
    producer_id,
)
from replication.env import Env
from replication.identity import NO_EPOCH
from replication.leader_cache import KnownLeader, LeaderCache
from replication.messages import (
    DescribeClusterRequest,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeLogDirsRequest,
    DescribeTopicPartitionsRequest,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    InitProducerIdRequest,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    Message,
    MetadataRequest,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    ProducePartition,
    ProduceRequest,
    ProduceResponse,
)

R = TypeVar("R", bound=Result)
OnAnswered = Callable[[Answered], None]


class Position(msgspec.Struct, frozen=True):
    """7.11 Where a reader is: its next offset, and the leader epoch of the record before it, if it has read one."""

    offset: int
    last_fetched_epoch: int = NO_EPOCH


class Limits(msgspec.Struct, frozen=True):
    """7.7, 5.40 How much one fetch may bring, and how long it may wait for `min_bytes`. Leave the deadline room for that wait."""

    max_bytes: int = 1_048_576
    max_wait_ms: int = 0
    min_bytes: int = 1


NO_WAIT = Limits()


class Client:
    """One client of a cluster. Its calls may overlap."""

    def __init__(self, env: Env, bootstrap: Sequence[int], timeout_ms: int) -> None:
        self.env, self.timeout_ms = env, timeout_ms
        self.cache = LeaderCache(bootstrap)

    # -- one partition: to its leader -----------------------------------------------------------------------------------

    def produce(
        self,
        topic: str,
        partition: int,
        batch: bytes,
        acks: int,
        then: Callable[[Produced], None],
        timeout_ms: int | None = None,
    ) -> None:
        """6.1 to 6.5 One batch, as `batch.encode` made it. The broker waits for followers as long as the client waits for it.

        With acks=0 no answer ever comes: NO_ACK is told in the world's next turn, once the request is handed over. A world that
        knows by then that nobody listens comes first, with NOT_SENT; a connection that ends later (6.14) only makes the leader
        doubtful.
        """

        def message(leader: KnownLeader, left_ms: int) -> Message:
            return ProduceRequest(acks, left_ms, (ProducePartition(leader.topic_id, partition, batch),))

        question = Question(message, ProduceResponse, Produced, produced, is_answered=acks != 0)
        self._ask_leader((topic, partition), question, then, timeout_ms)

    def fetch(
        self,
        topic: str,
        partition: int,
        position: Position,
        limits: Limits,
        then: Callable[[Fetched], None],
        timeout_ms: int | None = None,
    ) -> None:
        """7.1, 7.3, 7.5 Records from one offset on; every batch is checked (5.45)."""

        def message(leader: KnownLeader, left_ms: int) -> Message:
            asked = FetchPartition(
                leader.topic_id,
                partition,
                position.offset,
                limits.max_bytes,
                leader.leader_epoch,
                position.last_fetched_epoch,
            )
            return FetchRequest(limits.max_wait_ms, limits.min_bytes, limits.max_bytes, (asked,))

        def read(part: Any, source: Source) -> Fetched:
            return fetched(part, source, position.offset)

        self._ask_leader((topic, partition), Question(message, FetchResponse, Fetched, read), then, timeout_ms)

    def list_offsets(
        self, topic: str, partition: int, timestamp: int, then: Callable[[Listed], None], timeout_ms: int | None = None
    ) -> None:
        """7.4, 7.9 `timestamp` may be one of LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL."""

        def message(leader: KnownLeader, left_ms: int) -> Message:
            return ListOffsetsRequest((ListOffsetsPartition(topic, partition, timestamp, leader.leader_epoch),))

        self._ask_leader((topic, partition), Question(message, ListOffsetsResponse, Listed, listed), then, timeout_ms)

    def offset_for_leader_epoch(
        self, topic: str, partition: int, leader_epoch: int, then: Callable[[EpochEnd], None], timeout_ms: int | None = None
    ) -> None:
        """7.5 Where this leader epoch ends in the leader's log."""

        def message(leader: KnownLeader, left_ms: int) -> Message:
            asked = OffsetForLeaderPartition(topic, partition, leader_epoch, leader.leader_epoch)
            return OffsetForLeaderEpochRequest((asked,))

        question = Question(message, OffsetForLeaderEpochResponse, EpochEnd, epoch_end)
        self._ask_leader((topic, partition), question, then, timeout_ms)

    def _ask_leader(
        self, where: tuple[str, int], question: Question[R], then: Callable[[R], None], timeout_ms: int | None
    ) -> None:
        LeaderCall(where, question, self._allowance(timeout_ms), self.cache, then).start()

    # -- any node -------------------------------------------------------------------------------------------------------

    def ask(self, to: int | None, message: Message, then: OnAnswered, timeout_ms: int | None = None) -> None:
        """Any request, to one node or to the first that lets itself be reached."""
        allowance = self._allowance(timeout_ms)
        nodes = self.cache.nodes_in_turn() if to is None else (to,)
        Walk(nodes, message, allowance, self.cache, lambda node, answer: then(answered(node, answer))).ask_next()

    def metadata(self, topics: Sequence[str | bytes] | None, then: OnAnswered, timeout_ms: int | None = None) -> None:
        """3.18 What some broker knows of these topics, or of all. The client learns from it, whoever asked."""
        self.ask(None, MetadataRequest(None if topics is None else tuple(topics)), then, timeout_ms)

    def init_producer_id(self, then: Callable[[ProducerId], None], timeout_ms: int | None = None) -> None:
        """6.15"""
        self.ask(None, InitProducerIdRequest(), lambda result: then(producer_id(result)), timeout_ms)

    def describe_cluster(self, then: OnAnswered, timeout_ms: int | None = None) -> None:
        self.ask(None, DescribeClusterRequest(), then, timeout_ms)

    def describe_topic_partitions(self, topics: Sequence[str], then: OnAnswered, timeout_ms: int | None = None) -> None:
        self.ask(None, DescribeTopicPartitionsRequest(tuple(topics)), then, timeout_ms)

    def describe_configs(
        self, to: int | None, resources: Sequence[DescribeConfigsResource], then: OnAnswered, timeout_ms: int | None = None
    ) -> None:
        """A broker's own settings are known to that broker alone."""
        self.ask(to, DescribeConfigsRequest(tuple(resources)), then, timeout_ms)

    def describe_log_dirs(self, to: int, then: OnAnswered, timeout_ms: int | None = None) -> None:
        self.ask(to, DescribeLogDirsRequest(), then, timeout_ms)

    # -- administration: any broker forwards it (3.19) ------------------------------------------------------------------

    def create_topics(self, topics: Sequence[NewTopic], then: OnAnswered, timeout_ms: int | None = None) -> None:
        self.ask(None, CreateTopicsRequest(self._limit_ms(timeout_ms), tuple(topics)), then, timeout_ms)

    def delete_topics(self, names: Sequence[str], then: OnAnswered, timeout_ms: int | None = None) -> None:
        self.ask(None, DeleteTopicsRequest(self._limit_ms(timeout_ms), tuple(names)), then, timeout_ms)

    def create_partitions(self, topics: Sequence[NewPartitions], then: OnAnswered, timeout_ms: int | None = None) -> None:
        self.ask(None, CreatePartitionsRequest(self._limit_ms(timeout_ms), tuple(topics)), then, timeout_ms)

    def alter_configs(self, alterations: Sequence[ConfigAlteration], then: OnAnswered, timeout_ms: int | None = None) -> None:
        self.ask(None, IncrementalAlterConfigsRequest(self._limit_ms(timeout_ms), tuple(alterations)), then, timeout_ms)

    def elect_leaders(
        self,
        partitions: Sequence[tuple[str, int]] | None,
        then: OnAnswered,
        timeout_ms: int | None = None,
        *,
        unclean: bool = False,
    ) -> None:
        """Of these partitions, or of all; the preferred leader, unless `unclean`."""
        chosen = None if partitions is None else tuple(partitions)
        self.ask(None, ElectLeadersRequest(self._limit_ms(timeout_ms), unclean, chosen), then, timeout_ms)

    def reassign(self, reassignments: Sequence[Reassignment], then: OnAnswered, timeout_ms: int | None = None) -> None:
        self.ask(None, AlterPartitionReassignmentsRequest(self._limit_ms(timeout_ms), tuple(reassignments)), then, timeout_ms)

    def list_reassignments(
        self, partitions: Sequence[tuple[str, int]] | None, then: OnAnswered, timeout_ms: int | None = None
    ) -> None:
        chosen = None if partitions is None else tuple(partitions)
        self.ask(None, ListPartitionReassignmentsRequest(self._limit_ms(timeout_ms), chosen), then, timeout_ms)

    def unregister_broker(self, broker_id: int, then: OnAnswered, timeout_ms: int | None = None) -> None:
        self.ask(None, UnregisterBrokerRequest(self._limit_ms(timeout_ms), broker_id), then, timeout_ms)

    def describe_quorum(self, then: OnAnswered, timeout_ms: int | None = None) -> None:
        self.ask(None, DescribeQuorumRequest(self._limit_ms(timeout_ms)), then, timeout_ms)

    # -- time -----------------------------------------------------------------------------------------------------------

    def _allowance(self, timeout_ms: int | None) -> Allowance:
        return Allowance(self.env, self._limit_ms(timeout_ms))

    def _limit_ms(self, timeout_ms: int | None) -> int:
        limit_ms = self.timeout_ms if timeout_ms is None else timeout_ms
        if limit_ms <= 0:
            raise ValueError(f"a call needs time, not {limit_ms} ms")
        return limit_ms
