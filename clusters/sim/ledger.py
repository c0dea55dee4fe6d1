"""clusters/sim/ledger.py: feeds the ledger of damage (model/damage.py) while a run goes on, for the invariants.

In     ends of node processes and what disks lost, as they happen; commits of metadata; unclean elections that operators ask for
Out    `forbids_loss`, the same answer that the checkers' promises will give from the stored tables
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from clusters.sim.admin import written
from model.cluster import Damage, NodeId, TopicPartition
from model.config import SETTINGS, effective
from model.damage import DamageLedger
from model.damage_inputs import ConfigChange, EpochStart, Registration, UncleanEnd, UncleanRequest
from model.damage_scope import CHANGED_BYTES
from model.damage_tables import change_of, partition_settings, unclean_return
from model.plan import Plan
from replication.events import LeaderChanged
from replication.image import CLUSTER_WIDE, MetadataImage
from replication.records import METADATA_TOPIC

Settings = Mapping[tuple[str, str], Mapping[str, str]]


class SimLedger:
    """One run's."""

    def __init__(self, plan: Plan, now_ns: Callable[[], int]) -> None:
        self._ledger = DamageLedger(partition_settings(plan, True), plan.nodes.controller_ids)
        self._now_ns = now_ns
        self._voter_hurt = False
        self._wiped_voters: set[NodeId] = set()
        self._bytes_changed: set[TopicPartition] = set()
        self._disks_hurt: set[NodeId] = set()
        self._plan = plan
        self._asked_for_unclean: set[TopicPartition] = set()
        self.forbids_loss = self._ledger.forbids_loss

    def copies_survive(self, topic: str, partition: int) -> bool:
        """Whether fewer replicas have lost records than it takes to commit one."""
        facts = self._ledger.facts((topic, partition))
        return facts.lost < facts.min_isr

    def metadata_promised(self) -> bool:
        """Q1: no more once a majority of voters is wiped, or one has changed bytes."""
        return not self._voter_hurt or "Q1" not in self.rules().values()

    def rules(self) -> dict[TopicPartition, str]:
        """By which row of CHECKERS 6.3 each partition is judged now."""
        return {at: self._ledger.level(at).rule for at in self._ledger.partitions}

    def on_disk_damage(self, node: NodeId, damage: Sequence[Damage]) -> None:
        """A directory was hurt, whether or not that cost a record that counts."""
        self._disks_hurt.add(node)
        self._wiped_voters |= {node for one in damage if one.topic == METADATA_TOPIC and one.how == "wipe"}
        self._bytes_changed |= {(one.topic, one.partition) for one in damage if one.how in CHANGED_BYTES}
        self.on_hurt(node, damage)

    def disk_was_hurt(self, node: NodeId) -> bool:
        return node in self._disks_hurt

    def bytes_changed(self, topic: str, partition: int) -> bool:
        return (topic, partition) in self._bytes_changed

    def voters_suffice(self) -> bool:
        """Whether those that were never wiped are a majority: if not, nobody can be expected to decide anything again."""
        voters = self._plan.nodes.controller_ids
        return len(voters) - len(self._wiped_voters) >= len(voters) // 2 + 1

    def on_hurt(self, node: NodeId, damage: Sequence[Damage]) -> None:
        """A process ended uncleanly."""
        self._voter_hurt |= any(one.topic == METADATA_TOPIC for one in damage)
        self._ledger.on_end(UncleanEnd(self._now_ns(), node, tuple(damage)))

    def on_rows(self, changes: Sequence[Mapping[str, Any]], registrations: Sequence[Mapping[str, Any]]) -> None:
        """What one commit added: who leaves the ISR leaves it before its next process is known."""
        for end in (end for row in registrations for end in unclean_return(row)):
            self._ledger.on_end(end)
        for row in changes:
            self._ledger.on_change(change_of(row))
        for row in registrations:
            self._ledger.on_registration(Registration(row["at_ns"], row["node"], row["broker_epoch"]))

    def on_commit(self, before: MetadataImage, after: MetadataImage) -> None:
        """Settings that changed with this commit: both values may have been in force until now."""
        if after.configs is not before.configs:
            for resource in dict.fromkeys([*before.configs, *after.configs]):
                self._on_settings(resource, before.configs.get(resource, {}), after.configs.get(resource, {}))

    def _on_settings(self, resource: tuple[str, str], before: Mapping[str, str], after: Mapping[str, str]) -> None:
        kind, name = resource
        topic = name if kind == "topic" else None
        if kind == "topic" or name == CLUSTER_WIDE:
            for key in dict.fromkeys([*before, *after]):
                if before.get(key) != after.get(key) and (before or after.get(key) != self._planned(topic, key)):
                    self._ledger.on_config(ConfigChange(at_ns=self._now_ns(), key=key, value=after.get(key), topic=topic))

    def _planned(self, topic: str | None, key: str) -> str | None:
        """What the plan says: when a cluster or a topic comes to be, its settings are told, and nothing has changed."""
        given = self._plan.topics[topic].config if topic in self._plan.topics else {}
        if topic is not None and key not in given:
            return None
        return written(effective(self._plan.config, given, key)) if key in SETTINGS else None

    def on_told(self, event: Any) -> None:
        if type(event) is LeaderChanged and event.epoch_start is not None:
            start = EpochStart(self._now_ns(), event.topic, event.partition, event.leader_epoch, event.epoch_start)
            self._ledger.on_epoch_start(start)

    def asked_for_unclean(self, topic: str, partition: int) -> bool:
        return (topic, partition) in self._asked_for_unclean

    def on_unclean_request(self, topic: str, partition: int) -> None:
        self._asked_for_unclean.add((topic, partition))
        self._ledger.on_unclean_request(UncleanRequest(self._now_ns(), topic, partition))
