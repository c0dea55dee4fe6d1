"""clusters/sim/tail.py: the metadata tail: what the controllers committed, as rows (DESIGN 11.6, CHECKERS 1.8).

In     every image at its commit, with the one before it; what nodes tell about the start of their leader epochs
Out    rows of `changes` and `registrations`
Keeps  nothing is missing: in this world the tail sees every commit when it happens
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from clusters.sim.watch import Watch
from model.cluster import NodeId
from replication.events import LeaderChanged
from replication.identity import NO_LEADER
from replication.image import MetadataImage, PartitionState


class MetadataTail:
    """Grows by a row for every change."""

    def __init__(self, now_ns: Callable[[], int], was_clean: Callable[[NodeId], bool | None]) -> None:
        self.changes: list[dict[str, Any]] = []
        self.registrations: list[dict[str, Any]] = []
        self.watch = Watch()
        self._now_ns, self._was_clean = now_ns, was_clean

    def on_commit(self, before: MetadataImage, after: MetadataImage, election: str) -> None:
        for topic, index, state in _changed(before, after):
            row = self._change(topic, index, state, after, election)
            self.changes.append(row)
            self.watch.committed(self._now_ns(), row)
        if after.brokers is not before.brokers:
            self._on_brokers(before, after)

    def _on_brokers(self, before: MetadataImage, after: MetadataImage) -> None:
        for node, known in after.brokers.items():
            old = before.brokers.get(node)
            if old is None or old.broker_epoch != known.broker_epoch:
                row = {"at_ns": self._now_ns(), "node": node, "broker_epoch": known.broker_epoch, "clean": self._was_clean(node)}
                self.registrations.append(row)
                self.watch.registered(self._now_ns(), node, "registered")
            elif old.fenced != known.fenced:
                self.watch.registered(self._now_ns(), node, "fenced" if known.fenced else "unfenced")

    def _change(self, topic: str, index: int, state: PartitionState, image: MetadataImage, election: str) -> dict[str, Any]:
        return {
            "at_ns": self._now_ns(),
            "topic": topic,
            "partition": index,
            "leader": None if state.leader == NO_LEADER else state.leader,
            "leader_epoch": state.leader_epoch,
            "partition_epoch": state.partition_epoch,
            "replicas": list(state.replicas),
            "isr": list(state.isr),
            "elr": list(state.elr),
            "isr_epochs": [image.brokers[member].broker_epoch for member in state.isr],
            "last_known": None,
            "election": election,
            "epoch_start": None,
        }

    def on_leader(self, node: NodeId, told: LeaderChanged) -> None:
        """A new leader says where its epoch starts."""
        if told.epoch_start is None:
            return
        for row in reversed(self.changes):
            if (row["topic"], row["partition"], row["leader"]) == (told.topic, told.partition, node):
                if row["leader_epoch"] == told.leader_epoch and row["epoch_start"] is None:
                    row["epoch_start"] = told.epoch_start
                elif row["leader_epoch"] < told.leader_epoch:
                    break


def _changed(before: MetadataImage, after: MetadataImage) -> Iterator[tuple[str, int, PartitionState]]:
    if after.topics is before.topics:
        return
    for topic_id, topic in after.topics.items():
        old: Mapping[int, PartitionState] = before.topics[topic_id].partitions if topic_id in before.topics else {}
        for index, state in topic.partitions.items():
            if old.get(index) is not state:
                yield topic.name, index, state
