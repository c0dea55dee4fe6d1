"""replication/controller/settings.py: a controller's settings, by Kafka's names, and what holds for a topic (section 11, 3.14).

In     properties (text by name, from the node's file) and the dynamic settings of the metadata image
Out    `ControllerSettings`; `Terms`: what an election and an ELR of one topic go by
Keeps  a controller and its brokers mean the same min.insync.replicas: one broker's own value counts for neither (5.30)
"""

from __future__ import annotations

import msgspec

from replication.image import BROKER, CLUSTER_WIDE, TOPIC, MetadataImage
from replication.rules import Rules
from replication.rules.configs import MIN_ISR, UNCLEAN


class ControllerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The field is Kafka's name with underscores."""

    broker_session_timeout_ms: int = 9_000
    broker_heartbeat_interval_ms: int = 2_000
    metadata_max_idle_interval_ms: int = 500
    auto_leader_rebalance_enable: bool = True
    leader_imbalance_check_interval_seconds: int = 300
    unclean_leader_election_interval_ms: int = 300_000
    unclean_leader_election_enable: bool = False
    min_insync_replicas: int = 1
    default_replication_factor: int = 1
    num_partitions: int = 1
    eligible_leader_replicas_version: int = 1


class Terms(msgspec.Struct, frozen=True):
    """What holds for one topic."""

    min_insync_replicas: int
    allows_unclean: bool
    uses_elr: bool


def terms(image: MetadataImage, topic: str, settings: ControllerSettings, rules: Rules) -> Terms:
    """3.14 The values in force for a topic."""
    own, cluster = image.configs.get((TOPIC, topic), {}), image.configs.get((BROKER, CLUSTER_WIDE), {})
    min_isr = rules.setting_in_force(own.get(MIN_ISR), cluster.get(MIN_ISR), str(settings.min_insync_replicas))
    static = "true" if settings.unclean_leader_election_enable else "false"
    unclean = rules.setting_in_force(own.get(UNCLEAN), cluster.get(UNCLEAN), static)
    return Terms(int(min_isr), unclean == "true", image.uses_elr)
