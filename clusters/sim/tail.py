"""clusters/sim/tail.py: the metadata tail: what the controllers committed, when they did, as rows (DESIGN 11.6, CHECKERS 1.8).

In     decisions, from whichever node applies them first: that is the moment of their commit; what nodes tell about the start of
       their leader epochs
Out    `image`, the committed truth; rows of `changes` and `registrations` (model/changes.py)
Keeps  nothing is missing: no fault touches this way of learning
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from clusters.sim.watch import Watch
from model.changes import Commit, CommittedPartition, MetadataRows, Row
from model.cluster import NodeId, TopicPartition
from replication.events import LeaderChanged, MetadataApplied
from replication.folding import fold, with_record
from replication.identity import NO_LEADER
from replication.image import BrokerRegistration, MetadataImage, PartitionState, RecoveryState
from replication.records import Decision

OnCommit = Callable[[MetadataImage, MetadataImage], None]
OnRows = Callable[[Sequence[Row], Sequence[Row]], None]


class MetadataTail:
    """Grows by a row for every change."""

    def __init__(
        self, now_ns: Callable[[], int], was_clean: Callable[[NodeId, bytes], bool | None], cluster_id: str = ""
    ) -> None:
        self.image = MetadataImage(cluster_id=cluster_id)
        self.watch = Watch()
        self.on_commit: list[OnCommit] = []
        """Whoever wants to know of every commit: the image before it, and the one after it."""
        self.on_rows: list[OnRows] = []
        """The rows that a commit added."""
        self._rows = MetadataRows()
        self._now_ns, self._was_clean = now_ns, was_clean

    @property
    def changes(self) -> list[Row]:
        return self._rows.changes

    @property
    def registrations(self) -> list[Row]:
        return self._rows.registrations

    def on_told(self, node: NodeId, event: Any) -> None:
        if type(event) is MetadataApplied:
            for decision in event.decisions:
                if decision.base_offset > self.image.offset:
                    self._commit(decision)
        elif type(event) is LeaderChanged and event.epoch_start is not None:
            self._rows.on_epoch_start(node, (event.topic, event.partition), event.leader_epoch, event.epoch_start)

    def _commit(self, decision: Decision) -> None:
        before, after = self.image, fold(self.image, decision)
        self.image = after
        if after.topics is not before.topics or after.brokers is not before.brokers:
            epochs = {node: known.broker_epoch for node, known in after.brokers.items()}
            now = self._now_ns()
            rows = self._rows.on_commit(Commit(at_ns=now, broker_epochs=epochs, steps=tuple(_steps(before, decision))))
            self._ask_whether_clean(before, after)
            for hear in self.on_rows:
                hear(rows.changes, rows.registrations)
            for row in rows.changes:
                self.watch.committed(now, row)
            self._on_brokers(before, after)
        for call in self.on_commit:
            call(before, after)

    def _ask_whether_clean(self, before: MetadataImage, after: MetadataImage) -> None:
        for node, known in after.brokers.items():
            if _is_new(before.brokers.get(node), known):
                clean = self._was_clean(node, known.incarnation_id)
                if clean is not None:
                    self._rows.on_registered_as(node, known.broker_epoch, clean=clean)

    def _on_brokers(self, before: MetadataImage, after: MetadataImage) -> None:
        now = self._now_ns()
        for node, known in after.brokers.items():
            old = before.brokers.get(node)
            if old is None or _is_new(old, known):
                self.watch.registered(now, node, "registered")
            elif old.fenced != known.fenced:
                self.watch.registered(now, node, "fenced" if known.fenced else "unfenced")


def _is_new(old: BrokerRegistration | None, known: BrokerRegistration) -> bool:
    """Whether another process of this broker is registered now."""
    return old is None or old.broker_epoch != known.broker_epoch


def _steps(image: MetadataImage, decision: Decision) -> Iterator[tuple[TopicPartition, CommittedPartition]]:
    """Record by record: one decision may change a partition twice."""
    for record in () if decision.by_quorum else decision.records:
        before, image = image, with_record(image, record)
        if image.topics is not before.topics:
            yield from _changed(before, image)


def _changed(before: MetadataImage, after: MetadataImage) -> Iterator[tuple[TopicPartition, CommittedPartition]]:
    for topic_id, topic in after.topics.items():
        old = before.topics.get(topic_id)
        if topic is old:
            continue
        known: Mapping[int, PartitionState] = {} if old is None else old.partitions
        for index, state in topic.partitions.items():
            if known.get(index) is not state:
                yield (topic.name, index), _committed(state)


def _committed(state: PartitionState) -> CommittedPartition:
    return CommittedPartition(
        leader=None if state.leader == NO_LEADER else state.leader,
        leader_epoch=state.leader_epoch,
        partition_epoch=state.partition_epoch,
        replicas=state.replicas,
        isr=state.isr,
        elr=state.elr,
        last_known=state.last_known_elr,
        adding=state.adding_replicas,
        removing=state.removing_replicas,
        recovering=state.leader_recovery_state is RecoveryState.RECOVERING,
    )
