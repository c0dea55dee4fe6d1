"""replication/broker.py: one broker: requests to the right part, metadata to the right replicas, timers (3.7, 3.8, 5.27, section
18).

In     `start`, `on_request`, `on_image`, `on_controller`, `registered`, `close`: whatever happens to this broker
Out    everything through `Env`
Keeps  its parts: replicas (logs and directories), partitions, fetchers, waiting requests, ISR changes, producer ids
Not    registration, heartbeats, being let serve and let go (lifecycle.py)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from replication.admin_messages import (
    AdminResponse,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    ForwardedRequest,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from replication.broker_state import BrokerState
from replication.controller_channel import ControllerChannel
from replication.deadlines import Deadlines
from replication.describing import Describing
from replication.directory import LogDirectory, OnDone, nobody
from replication.env import NANOSECONDS, Env, Failure, Request
from replication.errors import Error
from replication.events import BrokerClosed
from replication.fetcher import Fetchers
from replication.fetches import Fetches
from replication.holding import Holding
from replication.identity import Key
from replication.image import MetadataImage, PartitionState, TopicImage
from replication.isr_changes import IsrChanges
from replication.messages import (
    DescribeClusterRequest,
    DescribeConfigsRequest,
    DescribeLogDirsRequest,
    DescribeTopicPartitionsRequest,
    FetchRequest,
    InitProducerIdRequest,
    ListOffsetsRequest,
    MetadataRequest,
    OffsetForLeaderEpochRequest,
    ProduceRequest,
)
from replication.offsets import Offsets
from replication.partition import Partition
from replication.producer_ids import ProducerIds
from replication.produces import Produces
from replication.replicas import Replicas
from replication.rules import Rules
from replication.rules.isr import HwTrigger
from replication.rules.leadership import MetadataVerdict
from replication.settings import TopicSettings, broker_settings, topic_settings


class Broker:
    """A broker as a state machine."""

    def __init__(self, node_id: int, env: Env, rules: Rules, cluster_id: str, properties: Mapping[str, str]) -> None:
        self.properties = dict(properties)
        self.state = BrokerState(node_id, env, rules, broker_settings(properties))
        self.holding = Holding(self._dispatch)
        self.state.release = lambda: self.holding.release(self.state.taking_office)
        self.replicas = Replicas(self.state, cluster_id, self._on_directory_failed)
        self.channel = ControllerChannel(self.state)
        self.isr_changes = IsrChanges(self.state, self.channel)
        self.fetchers = Fetchers(self.state)
        self.producer_ids = ProducerIds(self.state, self.channel)
        deadlines = Deadlines(env)
        fetches, produces, offsets = Fetches(self.state, deadlines), Produces(self.state, deadlines), Offsets(self.state)
        describing = Describing(self.state, self.replicas.directories, self.properties)
        self._handlers: dict[type, Callable[[Request], None]] = {
            ProduceRequest: produces.on_produce,
            FetchRequest: fetches.on_fetch,
            ListOffsetsRequest: offsets.on_list_offsets,
            OffsetForLeaderEpochRequest: offsets.on_offset_for_leader_epoch,
            InitProducerIdRequest: self.producer_ids.on_init_producer_id,
            MetadataRequest: describing.on_metadata,
            DescribeClusterRequest: describing.on_describe_cluster,
            DescribeTopicPartitionsRequest: describing.on_describe_topic_partitions,
            DescribeConfigsRequest: describing.on_describe_configs,
            DescribeLogDirsRequest: describing.on_describe_log_dirs,
        }
        self.leaving = False
        """4.20 On its way out: it follows only where it still counts."""
        self.when_directory_fails: OnDone = nobody
        """10.2 Whoever has to tell the controllers of it."""
        self._open = False
        self._early_image: MetadataImage | None = None
        self._first_image = True
        self._closing = False

    @property
    def partitions(self) -> dict[Key, Partition]:
        return self.state.partitions

    @property
    def opened(self) -> bool:
        """Whether its logs are open, and no longer what the stop before has left."""
        return self._open

    # -- life -----------------------------------------------------------------------------------------------------------

    def start(self, then: Callable[[int], None]) -> None:
        """Open the logs. `then` gets the broker epoch of a clean stop before, or -1 (4.4)."""

        def opened(previous_epoch: int) -> None:
            if self._closing:
                return
            self._open = True
            self._start_timers()
            then(previous_epoch)
            if self._early_image is not None:
                self.on_image(self._early_image)

        self.replicas.open(self._settings, opened)

    def _start_timers(self) -> None:
        """Section 18"""
        settings = self.state.settings
        self._every(max(1, settings.replica_lag_time_max_ms // 2), self._on_lag_tick)
        self._every(settings.replica_high_watermark_checkpoint_interval_ms, self.replicas.checkpoint_hw)
        self._every(settings.log_flush_offset_checkpoint_interval_ms, self.replicas.checkpoint_recovery_points)
        self._every(settings.log_flush_start_offset_checkpoint_interval_ms, self.replicas.checkpoint_log_starts)

    def registered(self, broker_epoch: int) -> None:
        """1.4 The controllers know this process by this epoch."""
        self.state.broker_epoch = broker_epoch

    def on_controller(self, controller: int | None) -> None:
        self.channel.on_controller(controller)

    def close(self, then: OnDone) -> None:
        """4.5, 4.11 The orderly end: what is on the disks afterwards is trusted by the next start, so nothing more is written."""
        self._closing = True
        if not self._open:  # nothing was read and nothing written: no mark, and none is taken away
            then()
            return
        for key, partition in self.partitions.items():
            self.fetchers.remove(key)
            partition.stop(Error.NOT_LEADER_OR_FOLLOWER)

        def closed() -> None:
            self.state.env.emit(BrokerClosed(broker_epoch=self.state.broker_epoch))
            then()

        self.replicas.close(closed)

    def _every(self, period_ms: int, call: Callable[[], None]) -> None:
        def fire() -> None:
            call()
            self.state.env.after(period_ms * NANOSECONDS, fire)

        self.state.env.after(period_ms * NANOSECONDS, fire)

    def _on_lag_tick(self) -> None:
        """5.27, 5.32"""
        for partition in self.partitions.values():
            if partition.leader is not None and not partition.taking_office:
                partition.leader.on_lag_tick()

    # -- requests -------------------------------------------------------------------------------------------------------

    def on_request(self, request: Request) -> None:
        """5.41, 6.7 A request that touches a partition whose leader is taking office waits, and so do those behind it."""
        if self.state.taking_office or self.holding:
            keys = frozenset(_addressed(request.message, self.state.image.ids))
            if self.holding.must_hold(keys, self.state.taking_office):
                self.holding.hold(request, keys)
                return
        self._dispatch(request)

    def _dispatch(self, request: Request) -> None:
        handler = self._handlers.get(type(request.message))
        if handler is None:
            self._forward(request)
        else:
            handler(request)

    def _forward(self, request: Request) -> None:
        """3.19 Only the active controller can do this; without one in time nobody knows what became of it."""
        message: ForwardedRequest = request.message

        def then(answer: object) -> None:
            self.state.env.reply(request, _no_controller(message) if isinstance(answer, Failure) else answer)

        self.channel.send("forward", message, then, message.timeout_ms * NANOSECONDS)

    # -- metadata -------------------------------------------------------------------------------------------------------

    def on_image(self, image: MetadataImage) -> None:
        """3.7, 3.8, 3.14 From the last image to this one: settings, then deletions, then leaders, then followers."""
        if self._closing:
            return
        if not self._open:
            self._early_image = image
            return
        old, self.state.image = self.state.image, image
        if self._first_image:
            self._first_image = False
            self.replicas.remove_strays(self._is_assigned)
        settings_first = self.state.rules.settings_come_first()
        if settings_first:
            self._read_settings(old)
        if image.topics is not old.topics:
            self._apply_topics(old, image)
        if not settings_first:
            self._read_settings(old)
        if image.brokers is not old.brokers or image.configs is not old.configs:
            self._look_around()

    def _read_settings(self, old: MetadataImage) -> None:
        if self.state.image.configs is not old.configs:
            for partition in self.partitions.values():
                partition.read_settings(self._settings(partition.standing.topic))

    def _apply_topics(self, old: MetadataImage, image: MetadataImage) -> None:
        changed = list(self._changed(old, image))
        self._delete_gone(image)
        for leads in (True, False):
            for topic, index, state in changed:
                if (state.leader == self.state.node_id) is leads:
                    self._apply(topic, index, state)

    def _changed(self, old: MetadataImage, image: MetadataImage) -> Iterator[tuple[TopicImage, int, PartitionState]]:
        """Partitions assigned to this broker that are not the same object as before."""
        for topic_id, topic in image.topics.items():
            before = old.topics.get(topic_id)
            if topic is before:
                continue
            for index, state in topic.partitions.items():
                if self.state.node_id in state.replicas and (before is None or before.partitions.get(index) is not state):
                    yield topic, index, state

    def _delete_gone(self, image: MetadataImage) -> None:
        """3.16, 5.12 Replicas of deleted topics, and those that moved away."""
        self.state.offline = {key for key in self.state.offline if self._is_assigned(key)}
        for key, partition in list(self.partitions.items()):
            if not self._is_assigned(key):
                del self.partitions[key]
                self.fetchers.remove(key)
                known = image.partition(*key) is not None
                partition.stop(Error.NOT_LEADER_OR_FOLLOWER if known else Error.UNKNOWN_TOPIC_OR_PARTITION)
                self.replicas.remove(key)

    def _is_assigned(self, key: Key) -> bool:
        state = self.state.image.partition(*key)
        return state is not None and self.state.node_id in state.replicas

    def _apply(self, topic: TopicImage, index: int, state: PartitionState) -> None:
        """4.12 Also a broker on its way out obeys."""
        key = topic.topic_id, index
        partition = self.partitions.get(key)
        if partition is None:
            log = self.replicas.log_for(key, topic.name, state, self._settings(topic.name))
            if log is None:
                self.state.offline.add(key)  # 10.3
                return
            partition = self.partitions[key] = Partition(key, self.state, log, self.isr_changes.propose)
        followed = partition.follower
        if partition.offline or partition.apply(state) is not MetadataVerdict.APPLY:
            return
        if not self._may_fetch(state):
            self.fetchers.remove(key)
        elif partition.follower is None or partition.follower is not followed:
            self.fetchers.place(partition)

    def _may_fetch(self, state: PartitionState | None) -> bool:
        """4.20"""
        if not self.leaving or state is None:
            return True
        return self.state.rules.fetches_while_leaving(self.state.node_id, state)

    def _look_around(self) -> None:
        """5.11, 5.27 A leader's broker may have appeared; eligibility or min ISR may have changed what the HW waits for."""
        for partition in self.partitions.values():
            partition.look_at_hw(HwTrigger.IMAGE)
            idle = partition.follower is not None and self.fetchers.of(partition.key) is None
            if idle and self._may_fetch(self.state.image.partition(*partition.key)):
                self.fetchers.place(partition)

    def _settings(self, topic: str) -> TopicSettings:
        return topic_settings(self.state.image, topic, self.state.node_id, self.properties)

    # -- failures -------------------------------------------------------------------------------------------------------

    def _on_directory_failed(self, directory: LogDirectory) -> None:
        """10.1 Its partitions answer KAFKA_STORAGE_ERROR from now on, and follow nobody."""
        for key in directory.logs:
            self.fetchers.remove(key)
            if partition := self.partitions.get(key):
                partition.stop(Error.KAFKA_STORAGE_ERROR)
        self.when_directory_fails()


def _addressed(message: object, ids: Mapping[str, bytes]) -> list[Key]:
    """The partitions that a request is about."""
    if isinstance(message, FetchRequest):
        return [(asked.topic_id, asked.partition) for asked in message.partitions]
    if isinstance(message, ProduceRequest):
        return [(asked.topic_id, asked.index) for asked in message.partitions]
    if isinstance(message, ListOffsetsRequest):
        return [(ids.get(asked.topic, b""), asked.partition_index) for asked in message.partitions]
    if isinstance(message, OffsetForLeaderEpochRequest):
        return [(ids.get(asked.topic, b""), asked.partition) for asked in message.partitions]
    return []


def _no_controller(message: ForwardedRequest) -> object:
    if isinstance(message, ListPartitionReassignmentsRequest):
        return ListPartitionReassignmentsResponse(Error.REQUEST_TIMED_OUT)
    if isinstance(message, DescribeQuorumRequest):
        return DescribeQuorumResponse(Error.REQUEST_TIMED_OUT)
    return AdminResponse(Error.REQUEST_TIMED_OUT)
