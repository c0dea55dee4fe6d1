"""tests/replication/scripted.py: a controller that does what the test says.

In     registrations, topics, elections, as a test orders them; AlterPartition requests
Out    images, handed to the brokers that the test names; answers to AlterPartition, at once, later or never
Keeps  one state per partition, stepped as 3.3 says: a given leader steps the leader epoch, every change the partition epoch
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from replication.batch import Record, encode
from replication.errors import Error
from replication.identity import NO_LEADER
from replication.image import TOPIC, BrokerRegistration, MetadataImage, PartitionState, RecoveryState, TopicImage
from replication.log import Log
from replication.messages import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
    AlteredPartition,
    AlterPartitionItem,
    AlterPartitionRequest,
    AlterPartitionResponse,
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    ListedOffset,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ProducedPartition,
    ProducePartition,
    ProduceRequest,
)
from replication.partition import Partition
from replication.rules import Rules
from tests.replication.memory import MemoryEnv, Node, World

CONTROLLER = 100


def topic_id(name: str) -> bytes:
    return name.encode().rjust(16, b"\x7f")


class ScriptedController:
    """The controllers of a test: one voice, no quorum."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.image = MetadataImage(cluster_id="tidemark-test")
        self.alterations: list[tuple[Any, AlterPartitionRequest]] = []
        """Every AlterPartition that arrived, with the way back for its answer."""
        self.answers = True
        """Answer AlterPartition at once; else a test calls `accept` or `answer`."""
        self.publishes_alterations = True
        self._next_producer_id = 1_000
        self._next_epoch = 10
        self.env = MemoryEnv(world, CONTROLLER, (), 1)
        self.env.on_request = self._on_request
        world.up[CONTROLLER] = self.env
        self.subscribers: dict[int, Node] = {}

    # -- metadata -------------------------------------------------------------------------------------------------------

    def register(self, node: Node, *, fenced: bool = False) -> None:
        """A new registration for a process that has just started."""
        self._next_epoch += 1
        self.subscribers[node.node_id] = node
        node.broker.registered(self._next_epoch)
        node.broker.on_controller(CONTROLLER)
        self.broker(node.node_id, broker_epoch=self._next_epoch, fenced=fenced, host="127.0.0.1", port=9000 + node.node_id)

    def broker(self, broker_id: int, **changes: Any) -> None:
        """Change, or invent, a broker's registration."""
        known = self.image.brokers.get(broker_id) or BrokerRegistration(broker_id=broker_id, broker_epoch=1, fenced=False)
        self._set(brokers={**self.image.brokers, broker_id: msgspec.structs.replace(known, **changes)})

    def create(self, name: str, replicas: Sequence[int], partitions: int = 1, **config: str) -> bytes:
        """3.9 The first replica leads, all are in sync. Settings are given with underscores for dots."""
        state = PartitionState(
            replicas=tuple(replicas), isr=tuple(replicas), leader=replicas[0], leader_epoch=0, partition_epoch=0
        )
        topic = TopicImage(name, topic_id(name), dict.fromkeys(range(partitions), state))
        self._set(topics={**self.image.topics, topic.topic_id: topic}, ids={**self.image.ids, name: topic.topic_id})
        if config:
            self.configure(name, **config)
        return topic.topic_id

    def configure(self, name: str, **config: str) -> None:
        settings = {key.replace("_", "."): value for key, value in config.items()}
        self._set(configs={**self.image.configs, (TOPIC, name): settings})

    def state(self, name: str = "t", index: int = 0) -> PartitionState:
        return self.image.topics[self.image.ids[name]].partitions[index]

    def change(self, name: str = "t", index: int = 0, **changes: Any) -> PartitionState:
        """3.3 One partition change. A `leader` among the changes steps the leader epoch."""
        old = self.state(name, index)
        epochs = {"partition_epoch": old.partition_epoch + 1, "leader_epoch": old.leader_epoch + ("leader" in changes)}
        new = msgspec.structs.replace(old, **{**epochs, **changes})
        topic = self.image.topics[self.image.ids[name]]
        changed = TopicImage(topic.name, topic.topic_id, {**topic.partitions, index: new})
        self._set(topics={**self.image.topics, topic.topic_id: changed})
        return new

    def delete(self, name: str) -> None:
        gone = self.image.ids[name]
        self._set(
            topics={key: topic for key, topic in self.image.topics.items() if key != gone},
            ids={key: value for key, value in self.image.ids.items() if value != gone},
        )

    def fail_over(self, leader: int, isr: Sequence[int], name: str = "t", index: int = 0) -> PartitionState:
        return self.change(name, index, leader=leader, isr=tuple(isr))

    def publish(self, *broker_ids: int) -> None:
        """Hand the image to these brokers, or to all that are up."""
        for broker_id in broker_ids or tuple(self.subscribers):
            node = self.subscribers[broker_id]
            if node.up:
                node.broker.on_image(self.image)
        self.world.run()

    def _set(self, **changes: Any) -> None:
        self.image = msgspec.structs.replace(self.image, offset=self.image.offset + 1, **changes)

    # -- requests -------------------------------------------------------------------------------------------------------

    def _on_request(self, request: Any) -> None:
        message = request.message
        if isinstance(message, AlterPartitionRequest):
            self.alterations.append((request, message))
            if self.answers:
                self.accept(-1)
        elif isinstance(message, AllocateProducerIdsRequest):
            start, self._next_producer_id = self._next_producer_id, self._next_producer_id + 1_000
            self.env.reply(request, AllocateProducerIdsResponse(Error.NONE, start, 1_000))

    def accept(self, number: int) -> None:
        """5.35, 5.36 Judge a stored AlterPartition as the rules say, apply what is right, answer."""
        request, message = self.alterations[number]
        self.env.reply(request, AlterPartitionResponse(Error.NONE, tuple(self._judge(item) for item in message.partitions)))
        if self.publishes_alterations:
            self.world.soon(self.publish_quietly)

    def apply(self, number: int) -> AlterPartitionResponse:
        """Judge and apply, and keep the answer back."""
        _, message = self.alterations[number]
        return AlterPartitionResponse(Error.NONE, tuple(self._judge(item) for item in message.partitions))

    def answer(self, number: int, answer: AlterPartitionResponse) -> None:
        self.env.reply(self.alterations[number][0], answer)
        self.world.run()

    def refuse(self, number: int, error: Error) -> None:
        _, message = self.alterations[number]
        items = tuple(AlteredPartition(item.topic_id, item.partition_index, error) for item in message.partitions)
        self.answer(number, AlterPartitionResponse(Error.NONE, items))

    def publish_quietly(self) -> None:
        for node in self.subscribers.values():
            if node.up:
                node.broker.on_image(self.image)

    def _judge(self, item: AlterPartitionItem) -> AlteredPartition:
        topic = self.image.topics[item.topic_id]
        state = topic.partitions[item.partition_index]
        error = self._refusal(item, state)
        if error is Error.INELIGIBLE_REPLICA:
            self.change(topic.name, item.partition_index)  # 5.37: the refusal steps the epoch, so that metadata ends the change
        if error is not None:
            return AlteredPartition(item.topic_id, item.partition_index, error)
        new_isr = tuple(member.broker_id for member in item.new_isr_with_epochs)
        new = self.change(topic.name, item.partition_index, isr=new_isr, leader_recovery_state=RecoveryState.RECOVERED)
        return AlteredPartition(
            item.topic_id, item.partition_index, Error.NONE, new.leader, new.leader_epoch, new.isr, 0, new.partition_epoch
        )

    def _refusal(self, item: AlterPartitionItem, state: PartitionState) -> Error | None:
        if item.leader_epoch < state.leader_epoch:
            return Error.FENCED_LEADER_EPOCH
        if item.partition_epoch < state.partition_epoch:
            return Error.INVALID_UPDATE_VERSION
        for member in item.new_isr_with_epochs:
            known = self.image.brokers.get(member.broker_id)
            if known is None or not known.active or member.broker_epoch not in (-1, known.broker_epoch):
                return Error.INELIGIBLE_REPLICA
        return None


class Story:
    """A cluster for a test: brokers, a scripted controller, and short words for what clients and followers do."""

    def __init__(
        self, brokers: Sequence[int] = (1, 2, 3), *, rules: Rules | None = None, disks: int = 1, **properties: str
    ) -> None:
        self.world = World()
        self.controller = ScriptedController(self.world)
        settings = {key.replace("_", "."): value for key, value in properties.items()}
        self.nodes = {node_id: Node(self.world, node_id, settings, rules, disks) for node_id in brokers}
        for node in self.nodes.values():
            node.start()
            self.controller.register(node)

    # -- parts ----------------------------------------------------------------------------------------------------------

    def partition(self, node_id: int, name: str = "t", index: int = 0) -> Partition:
        return self.nodes[node_id].broker.partitions[topic_id(name), index]

    def log(self, node_id: int, name: str = "t", index: int = 0) -> Log:
        return self.partition(node_id, name, index).log

    def restart(self, node_id: int, *, lossy: bool = False, clean: bool = False) -> None:
        """End a broker's process and start another, with a new registration."""
        node = self.nodes[node_id]
        if clean:
            node.stop()
        elif node.up:
            node.crash(lossy)
        node.start()
        self.controller.register(node)
        self.controller.publish()

    # -- clients --------------------------------------------------------------------------------------------------------

    def produce(self, node_id: int, *values: str, acks: int = -1, name: str = "t", timeout_ms: int = 30_000) -> list[Any]:
        """One batch; the list holds its ProducedPartition once there is an answer."""
        return self.produce_bytes(node_id, batch(*values), acks=acks, name=name, timeout_ms=timeout_ms)

    def produce_bytes(self, node_id: int, data: bytes, *, acks: int = -1, name: str = "t", timeout_ms: int = 30_000) -> list[Any]:
        asked = ProducePartition(topic_id(name), 0, data)
        found: list[Any] = []
        request = ProduceRequest(acks, timeout_ms, (asked,))
        self.world.send(None, node_id, request, None, lambda answer: found.append(first_of(answer, "responses")))
        self.world.run()
        return found

    def consume(
        self, node_id: int, offset: int, *, name: str = "t", max_wait_ms: int = 0, epoch: int = -1, last_epoch: int = -1
    ) -> list[Any]:
        asked = FetchPartition(topic_id(name), 0, offset, 1 << 20, epoch, last_epoch)
        return self._fetch(node_id, FetchRequest(max_wait_ms, 1, 1 << 24, (asked,)))

    def fetch(
        self,
        node_id: int,
        replica: int,
        offset: int,
        *,
        epoch: int,
        last_epoch: int = -1,
        broker_epoch: int | None = None,
        wait: int = 0,
    ) -> list[Any]:
        """A follower's fetch, played by the test."""
        if broker_epoch is None:
            known = self.controller.image.brokers.get(replica)
            broker_epoch = known.broker_epoch if known else -1
        asked = FetchPartition(topic_id("t"), 0, offset, 1 << 20, epoch, last_epoch, 0)
        return self._fetch(node_id, FetchRequest(wait, 1, 1 << 24, (asked,), replica, broker_epoch))

    def list_offset(self, node_id: int, timestamp: int = -1, *, name: str = "t", epoch: int = -1) -> ListedOffset:
        question = ListOffsetsPartition(name, 0, timestamp, epoch)
        (answer,) = self.world.ask(node_id, ListOffsetsRequest((question,)))
        listed: ListedOffset = answer.partitions[0]
        return listed

    def _fetch(self, node_id: int, request: FetchRequest) -> list[Any]:
        found: list[Any] = []
        self.world.send(None, node_id, request, None, lambda answer: found.append(first_of(answer, "responses")))
        self.world.run()
        return found


def first_of(answer: Any, field: str) -> ProducedPartition | FetchedPartition | Any:
    return getattr(answer, field)[0] if hasattr(answer, field) else answer


def batch(*values: str, timestamp: int = 1_700_000_000_000, **producer: int) -> bytes:
    """A produced batch with one record per value."""
    return encode([Record(value.encode(), timestamp=timestamp) for value in values], **producer)


def no_leader(story: Story, name: str = "t") -> None:
    story.controller.change(name, leader=NO_LEADER)
    story.controller.publish()


Properties = Mapping[str, str]
