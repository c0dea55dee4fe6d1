"""replication/image.py: the cluster's metadata, materialised: what a broker acts on (3.7).

In     the metadata log, folded by whoever reads it (folding.py)
Out    immutable values; an image shares with the one before it everything that did not change, so `is` finds the difference
Keeps  a handler may depend on two images, never on the steps between them
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

import msgspec

from replication.identity import NO_LEADER

TOPIC = "topic"
BROKER = "broker"
ELR_FEATURE = "eligible.leader.replicas.version"
CLUSTER_WIDE = ""  # the resource name of what holds for every broker


class RecoveryState(IntEnum):
    """5.10 Whether a partition's leader was elected uncleanly and has not yet reported that it took over."""

    RECOVERED = 0
    RECOVERING = 1


class BrokerRegistration(msgspec.Struct, frozen=True, kw_only=True):
    """One broker as the controllers know it (3.2, 3.11)."""

    broker_id: int
    broker_epoch: int
    incarnation_id: bytes = bytes(16)
    fenced: bool = True
    in_controlled_shutdown: bool = False
    log_dirs: tuple[bytes, ...] = ()
    host: str = ""
    port: int = 0
    rack: str | None = None

    @property
    def active(self) -> bool:
        """4.13"""
        return not self.fenced and not self.in_controlled_shutdown


class PartitionState(msgspec.Struct, frozen=True, kw_only=True):
    """One partition as the controllers committed it."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    leader_recovery_state: RecoveryState = RecoveryState.RECOVERED
    adding_replicas: tuple[int, ...] = ()
    removing_replicas: tuple[int, ...] = ()
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    directories: tuple[bytes, ...] = ()

    @property
    def has_leader(self) -> bool:
        return self.leader != NO_LEADER


class TopicImage(msgspec.Struct, frozen=True):
    name: str
    topic_id: bytes
    partitions: Mapping[int, PartitionState]


class MetadataImage(msgspec.Struct, frozen=True, kw_only=True):
    """Everything, as of one offset of the metadata log."""

    offset: int = -1
    """Of the last record that is in here."""
    epoch: int = -1
    """The quorum epoch of that record."""
    cluster_id: str = ""
    brokers: Mapping[int, BrokerRegistration] = {}
    topics: Mapping[bytes, TopicImage] = {}
    ids: Mapping[str, bytes] = {}
    """Topic ids by name."""
    configs: Mapping[tuple[str, str], Mapping[str, str]] = {}
    """Dynamic settings by (resource type, resource name)."""
    features: Mapping[str, int] = {}
    next_producer_id: int = 0

    @property
    def uses_elr(self) -> bool:
        """8.5"""
        return self.features.get(ELR_FEATURE, 0) >= 1

    def partition(self, topic_id: bytes, index: int) -> PartitionState | None:
        topic = self.topics.get(topic_id)
        return topic.partitions.get(index) if topic else None
