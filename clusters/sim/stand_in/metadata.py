"""clusters/sim/stand_in/metadata.py: what the played controllers have committed, and how they decide.

In     registrations, fencing, ISR changes, topics and settings, from whichever controller is active
Out    one image after the other; `on_commit` with every partition that changed and the kind of its election
Keeps  3.3: a given leader steps the leader epoch, every change the partition epoch. Only members of the ISR are elected, unless a
       topic allows unclean elections
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from replication.errors import Error
from replication.identity import NO_LEADER
from replication.image import TOPIC, BrokerRegistration, MetadataImage, PartitionState, RecoveryState, TopicImage
from replication.messages import AlteredPartition, AlterPartitionItem

OnCommit = Callable[[MetadataImage, MetadataImage, str], None]
"""The image before, the image after, and how a leader was elected in between: `none` where nobody was."""

CLUSTER_ID = "tidemark-simulated"


def topic_id(name: str) -> bytes:
    """Topics are never created twice here, so a name is as good as an id."""
    return name.encode()[:16].rjust(16, b"\x7f")


class Metadata:
    """The controllers' one memory."""

    def __init__(self, on_commit: OnCommit) -> None:
        self.image = MetadataImage(cluster_id=CLUSTER_ID)
        self._on_commit = on_commit
        self._next_producer_id = 1_000

    def _set(self, election: str = "none", **changes: Any) -> None:
        before = self.image
        self.image = msgspec.structs.replace(before, offset=before.offset + 1, **changes)
        self._on_commit(before, self.image, election)

    # -- brokers --------------------------------------------------------------------------------------------------------

    def register(self, broker_id: int, incarnation_id: bytes) -> int:
        """4.3 The new process begins fenced, and what the old one was in sync with is taken from it."""
        self.withdraw(broker_id)
        broker_epoch = self.image.offset + 1
        known = BrokerRegistration(
            broker_id=broker_id,
            broker_epoch=broker_epoch,
            incarnation_id=incarnation_id,
            fenced=True,
            host="127.0.0.1",
            port=9_000 + broker_id,
        )
        self._set(brokers={**self.image.brokers, broker_id: known})
        return broker_epoch

    def change_broker(self, broker_id: int, **changes: Any) -> None:
        known = msgspec.structs.replace(self.image.brokers[broker_id], **changes)
        if known != self.image.brokers[broker_id]:
            self._set(brokers={**self.image.brokers, broker_id: known})

    def fence(self, broker_id: int) -> None:
        """4.8"""
        self.withdraw(broker_id)
        self.change_broker(broker_id, fenced=True, in_controlled_shutdown=False)

    def unfence(self, broker_id: int) -> None:
        """4.9 Whatever had no leader may have one now."""
        self.change_broker(broker_id, fenced=False)
        for name, index, state in self.partitions():
            if not state.has_leader:
                self._elect(name, index, state.isr)

    def withdraw(self, broker_id: int) -> None:
        """Out of every ISR that has another member, and out of office everywhere."""
        for name, index, state in self.partitions():
            if broker_id in state.isr or state.leader == broker_id:
                others = tuple(member for member in state.isr if member != broker_id)
                self._elect(name, index, others or state.isr, without=broker_id)

    def leads_anything(self, broker_id: int) -> bool:
        return any(state.leader == broker_id for _, _, state in self.partitions())

    # -- partitions -----------------------------------------------------------------------------------------------------

    def partitions(self) -> list[tuple[str, int, PartitionState]]:
        return [(topic.name, index, state) for topic in self.image.topics.values() for index, state in topic.partitions.items()]

    def state(self, name: str, index: int) -> PartitionState | None:
        topic = self.image.topics.get(self.image.ids.get(name, b""))
        return None if topic is None else topic.partitions.get(index)

    def _change(self, name: str, index: int, election: str = "none", **changes: Any) -> PartitionState:
        topic = self.image.topics[self.image.ids[name]]
        old = topic.partitions[index]
        epochs = {"partition_epoch": old.partition_epoch + 1, "leader_epoch": old.leader_epoch + ("leader" in changes)}
        new: PartitionState = msgspec.structs.replace(old, **{**epochs, **changes})
        changed = TopicImage(topic.name, topic.topic_id, {**topic.partitions, index: new})
        self._set(election, topics={**self.image.topics, topic.topic_id: changed})
        return new

    def _elect(self, name: str, index: int, isr: Sequence[int], without: int | None = None) -> None:
        """8.3 The first replica of the assignment that is in sync and active; the leader stays if it is one of those."""
        topic = self.image.topics[self.image.ids[name]]
        state = topic.partitions[index]
        active = [r for r in state.replicas if r != without and self._is_active(r)]
        clean = [r for r in active if r in isr]
        if state.leader in clean:
            self._change(name, index, isr=tuple(isr))
        elif clean:
            self._change(name, index, "clean", isr=tuple(isr), leader=clean[0])
        elif active and self.setting(name, "unclean.leader.election.enable") == "true":
            recovering = RecoveryState.RECOVERING
            self._change(name, index, "unclean", isr=(active[0],), leader=active[0], leader_recovery_state=recovering)
        elif state.has_leader or tuple(isr) != state.isr:
            self._change(name, index, isr=tuple(isr), leader=NO_LEADER)

    def _is_active(self, broker_id: int) -> bool:
        known = self.image.brokers.get(broker_id)
        return known is not None and known.active

    def alter(self, item: AlterPartitionItem) -> AlteredPartition:
        """5.35 to 5.37"""
        topic = self.image.topics.get(item.topic_id)
        state = topic.partitions.get(item.partition_index) if topic is not None else None
        if topic is None or state is None:
            return AlteredPartition(item.topic_id, item.partition_index, Error.UNKNOWN_TOPIC_ID)
        refusal = self._refuse(item, state)
        if refusal is Error.INELIGIBLE_REPLICA:
            self._change(topic.name, item.partition_index)  # the refusal steps the epoch, so that metadata ends the proposal
        if refusal is not None:
            return AlteredPartition(item.topic_id, item.partition_index, refusal)
        isr = tuple(member.broker_id for member in item.new_isr_with_epochs)
        new = self._change(topic.name, item.partition_index, isr=isr, leader_recovery_state=RecoveryState.RECOVERED)
        return AlteredPartition(
            item.topic_id, item.partition_index, Error.NONE, new.leader, new.leader_epoch, new.isr, 0, new.partition_epoch
        )

    def _refuse(self, item: AlterPartitionItem, state: PartitionState) -> Error | None:
        if item.leader_epoch < state.leader_epoch:
            return Error.FENCED_LEADER_EPOCH
        if item.partition_epoch < state.partition_epoch:
            return Error.INVALID_UPDATE_VERSION
        for member in item.new_isr_with_epochs:
            known = self.image.brokers.get(member.broker_id)
            if known is None or not known.active or member.broker_epoch not in (-1, known.broker_epoch):
                return Error.INELIGIBLE_REPLICA
        return None

    # -- what operators do ----------------------------------------------------------------------------------------------

    def create_topic(self, name: str, partitions: int, replicas: int, config: Mapping[str, str]) -> Error:
        """3.9 Replicas go round the active brokers; the first one leads, all are in sync."""
        brokers = sorted(broker for broker in self.image.brokers if self._is_active(broker))
        if name in self.image.ids:
            return Error.TOPIC_ALREADY_EXISTS
        if not 1 <= replicas <= len(brokers):
            return Error.INVALID_REPLICATION_FACTOR
        placed = {}
        for index in range(partitions):
            chosen = tuple(brokers[(index + number) % len(brokers)] for number in range(replicas))
            placed[index] = PartitionState(replicas=chosen, isr=chosen, leader=chosen[0], leader_epoch=0, partition_epoch=0)
        topic = TopicImage(name, topic_id(name), placed)
        configs = {**self.image.configs, (TOPIC, name): dict(config)} if config else self.image.configs
        topics = {**self.image.topics, topic.topic_id: topic}
        self._set(topics=topics, ids={**self.image.ids, name: topic.topic_id}, configs=configs)
        return Error.NONE

    def configure(self, resource: tuple[str, str], name: str, value: str | None) -> None:
        settings = dict(self.image.configs.get(resource, {}))
        if value is None:
            settings.pop(name, None)
        else:
            settings[name] = value
        self._set(configs={**self.image.configs, resource: settings})

    def setting(self, topic: str, name: str) -> str | None:
        return self.image.configs.get((TOPIC, topic), {}).get(name)

    def elect_preferred(self, name: str, index: int) -> Error:
        """8.11"""
        state = self.state(name, index)
        if state is None:
            return Error.UNKNOWN_TOPIC_OR_PARTITION
        preferred = state.replicas[0]
        if state.leader == preferred:
            return Error.ELECTION_NOT_NEEDED
        if preferred not in state.isr or not self._is_active(preferred):
            return Error.PREFERRED_LEADER_NOT_AVAILABLE
        self._change(name, index, "preferred", leader=preferred)
        return Error.NONE

    def elect_unclean(self, name: str, index: int) -> Error:
        state = self.state(name, index)
        if state is None:
            return Error.UNKNOWN_TOPIC_OR_PARTITION
        if state.has_leader:
            return Error.ELECTION_NOT_NEEDED
        active = [replica for replica in state.replicas if self._is_active(replica)]
        if not active:
            return Error.ELIGIBLE_LEADERS_NOT_AVAILABLE
        chosen, recovering = active[0], RecoveryState.RECOVERING
        self._change(name, index, "unclean", isr=(chosen,), leader=chosen, leader_recovery_state=recovering)
        return Error.NONE

    def producer_ids(self, count: int) -> int:
        start, self._next_producer_id = self._next_producer_id, self._next_producer_id + count
        return start
