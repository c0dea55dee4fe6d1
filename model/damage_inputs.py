"""model/damage_inputs.py: what a damage ledger is told, and what it must know of a partition beforehand (CHECKERS 6.1).

In     a plan; whatever happened, from the simulator as it happens or from stored tables afterwards (model/damage_tables.py)
Out    one small struct for each kind of happening, in the words of the plan and of the tables; `partition_setting`
Not    what follows from any of it (model/damage.py)
"""

from __future__ import annotations

from typing import Final

import msgspec

from model.changes import Election
from model.cluster import Damage, How, NodeId
from model.config import LONG, effective, effective_number
from model.plan import Plan

METADATA_TOPIC: Final = "__cluster_metadata"
MIN_ISR: Final = "min.insync.replicas"
UNCLEAN: Final = "unclean.leader.election.enable"
FLUSH_EACH: Final = ("flush.messages", "log.flush.interval.messages")
FLUSH_INTERVAL: Final = ("flush.ms", "log.flush.interval.ms")
ELR: Final = "eligible.leader.replicas.version"


class UncleanEnd(msgspec.Struct, frozen=True):
    """A node process ended without a clean stop, or the directory of one that does not run was hurt.

    `damage`: what its replicas lost; one that is not named lost nothing. None: nobody knows, hence everything (CHECKERS 6.2).
    """

    at_ns: int
    node: NodeId
    damage: tuple[Damage, ...] | None = ()


class Registration(msgspec.Struct, frozen=True):
    """A process of this broker became known to the controllers, under a new broker epoch."""

    at_ns: int
    node: NodeId
    broker_epoch: int


class CommittedChange(msgspec.Struct, frozen=True, kw_only=True):
    """A row of `changes`."""

    at_ns: int
    topic: str
    partition: int
    leader: NodeId | None
    leader_epoch: int
    replicas: tuple[NodeId, ...]
    isr: tuple[NodeId, ...]
    isr_epochs: tuple[int | None, ...]
    elr: tuple[NodeId, ...] = ()
    last_known: NodeId | None = None
    election: Election = "none"
    epoch_start: int | None = None


class EpochStart(msgspec.Struct, frozen=True):
    """The leader of this epoch took it up with this LEO."""

    at_ns: int
    topic: str
    partition: int
    leader_epoch: int
    offset: int


class ConfigChange(msgspec.Struct, frozen=True, kw_only=True):
    """A setting changed, of one topic or (None) of the cluster. A value of None is the plan's again.

    `unsettled_ns`: for so long after `at_ns` the old value may have been in force as well; None = nobody knows for how long.
    """

    at_ns: int
    key: str
    value: str | None
    topic: str | None = None
    unsettled_ns: int | None = 0


class UncleanRequest(msgspec.Struct, frozen=True):
    """An operator asked for an unclean election of this partition (P 8.14). It may be carried out any time later."""

    at_ns: int
    topic: str
    partition: int


class VoterHurt(msgspec.Struct, frozen=True):
    """What happened to the metadata log of a voter."""

    at_ns: int
    node: NodeId
    how: How


Happening = UncleanEnd | Registration | CommittedChange | EpochStart | ConfigChange | UncleanRequest | VoterHurt


class PartitionSetting(msgspec.Struct, frozen=True, kw_only=True):
    """What was configured for one partition when the run began."""

    replicas: int
    min_isr: int
    unclean: bool = False
    elr: bool = True
    flush_each: bool = False
    """Every append is synced before it returns."""
    flush_interval_ns: int | None = None
    changes_complete: bool = True
    """Nothing is missing in `changes`: otherwise what they do not show may have happened."""
    of_the_topic: tuple[str, ...] = ()
    """Settings that the topic gives itself: a change of the cluster's value does not reach it."""


def partition_setting(plan: Plan, topic: str, *, changes_complete: bool = True) -> PartitionSetting:
    """The same for every partition of a topic."""
    own = plan.topics[topic].config
    interval_ms = _number(plan, topic, FLUSH_INTERVAL)
    return PartitionSetting(
        replicas=plan.topics[topic].replicas,
        min_isr=effective_number(plan.config, own, MIN_ISR),
        unclean=str(effective(plan.config, own, UNCLEAN)).lower() == "true",
        elr=effective_number(plan.config, own, ELR) >= 1,
        flush_each=_number(plan, topic, FLUSH_EACH) == 1,
        flush_interval_ns=None if interval_ms == LONG else interval_ms * 10**6,
        changes_complete=changes_complete,
        of_the_topic=tuple(own),
    )


def _number(plan: Plan, topic: str, keys: tuple[str, str]) -> int:
    """Of a setting that has one name for a topic and another for the cluster."""
    own, of_the_cluster = keys
    config = plan.topics[topic].config
    return effective_number(plan.config, config, own if own in config else of_the_cluster)
