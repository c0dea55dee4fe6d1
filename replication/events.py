"""replication/events.py: what a node tells about itself, as data (PROTOCOL section 12).

In     the state machines, through `Env.emit`; the world adds time and node
Out    structs for traces, reports and invariants: what happened, in which epochs, and why
Not    counters: whoever wants rates counts these
"""

from __future__ import annotations

from typing import Literal

import msgspec

from replication.records import Decision


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Anything that a node tells."""


class MutantsSwitchedOn(Event, frozen=True, kw_only=True):
    """The first thing that a node with wrong rules tells: which ones (mutants.py)."""

    names: tuple[str, ...]


class PartitionEvent(Event, frozen=True, kw_only=True):
    """Something about one partition, in the epochs in which this replica saw it."""

    topic: str
    partition: int
    leader_epoch: int
    partition_epoch: int


class LeaderChanged(PartitionEvent, frozen=True, kw_only=True):
    """This replica took up a new leader epoch: as leader (with the offset at which its epoch starts), or following `leader`."""

    leader: int
    epoch_start: int | None = None


class IsrChanged(PartitionEvent, frozen=True, kw_only=True):
    """The committed ISR, as its leader sees it."""

    was: tuple[int, ...]
    now: tuple[int, ...]
    because: Literal["controller accepted", "metadata"]


class IsrChangeProposed(PartitionEvent, frozen=True, kw_only=True):
    kind: Literal["expand", "shrink"]
    isr: tuple[int, ...]
    proposed: tuple[int, ...]


class AlterPartitionRefused(PartitionEvent, frozen=True, kw_only=True):
    """A proposal failed, or was accepted for a state that is gone. FailedIsrUpdates counts these."""

    error: str
    proposed: tuple[int, ...]


class Truncated(PartitionEvent, frozen=True, kw_only=True):
    was: int
    now: int
    because: Literal["diverging epoch", "leader's log is shorter", "no epochs to compare", "leader's log starts later"]


class HighWatermarkHeldBack(PartitionEvent, frozen=True, kw_only=True):
    """Told at lag ticks only: records wait, and these replicas are what they wait for."""

    hw: int
    leo: int
    by: tuple[int, ...]


class ReplicaFailed(PartitionEvent, frozen=True, kw_only=True):
    """This replica stopped fetching for good: what it was sent does not fit its log (5.44)."""

    reason: str


class CorruptBatchFetched(PartitionEvent, frozen=True, kw_only=True):
    """5.45 A leader sent a batch whose CRC is wrong; it is fetched again after the back-off."""

    offset: int


class LogRecovered(Event, frozen=True, kw_only=True):
    """5.5 A log was opened."""

    topic: str
    partition: int
    clean: bool
    log_start: int
    leo: int
    dropped_bytes: int


class LogDirectoryFailed(Event, frozen=True, kw_only=True):
    directory: str
    reason: str
    partitions: tuple[tuple[str, int], ...]


class MetadataApplied(Event, frozen=True, kw_only=True):
    """2.35 This node took committed decisions into its image."""

    offset: int
    epoch: int
    decisions: tuple[Decision, ...]


class MetadataLoaded(Event, frozen=True, kw_only=True):
    """2.34, 2.40 This node took its image from a snapshot."""

    offset: int
    epoch: int


class BrokerLifeChanged(Event, frozen=True, kw_only=True):
    """4.1 How far a broker's process has come: starting, recovery, running, ..."""

    was: str
    now: str
    broker_epoch: int


class BrokerClosed(Event, frozen=True, kw_only=True):
    """4.5 Flushed, checkpointed, marked as clean."""

    broker_epoch: int


class StrayLogRemoved(Event, frozen=True, kw_only=True):
    """4.15 A log that no image assigns to this broker."""

    path: str


# -- the quorum (section 2) -------------------------------------------------------------------------------------------------


class QuorumEvent(Event, frozen=True, kw_only=True):
    """Something about one member of the controller quorum, in the quorum epoch in which it was."""

    quorum_epoch: int


class QuorumStateChanged(QuorumEvent, frozen=True, kw_only=True):
    """This member took up a role, an epoch, or the name of a leader. -1: none is known, nobody got its vote."""

    was: str
    now: str
    leader: int
    voted: int


class QuorumHighWatermark(QuorumEvent, frozen=True, kw_only=True):
    """The leader of the quorum saw a majority reach this offset; it starts its epoch at `epoch_start`."""

    hw: int
    epoch_start: int


class QuorumLogRecovered(QuorumEvent, frozen=True, kw_only=True):
    """The metadata log was opened."""

    log_start: int
    leo: int
    dropped_bytes: int


class QuorumLogTruncated(QuorumEvent, frozen=True, kw_only=True):
    """This member held records that the leader does not have."""

    was: int
    now: int


class SnapshotTaken(QuorumEvent, frozen=True, kw_only=True):
    """This member wrote a snapshot of what it has applied; its log starts where its oldest snapshot ends."""

    end_offset: int
    snapshot_epoch: int
    size: int
    log_start: int


class SnapshotLoaded(QuorumEvent, frozen=True, kw_only=True):
    """This member dropped its log for a snapshot of the leader's."""

    end_offset: int
    snapshot_epoch: int
    was: int


# -- the active controller (sections 3, 4, 8, 9) ----------------------------------------------------------------------------


class ControllerEvent(Event, frozen=True, kw_only=True):
    """A decision of the active controller, told when it is made: it counts once the metadata log is committed up to `offset`."""

    offset: int


class ControllerActivated(Event, frozen=True, kw_only=True):
    """3.12 This controller is the active one from here on."""

    quorum_epoch: int
    offset: int


class ControllerResigned(Event, frozen=True, kw_only=True):
    """3.5 It is not the active one any more; what it had decided behind `offset` may never have happened."""

    quorum_epoch: int
    offset: int
    decided_offset: int


class BrokerDecision(ControllerEvent, frozen=True, kw_only=True):
    """About one broker, by the epoch of its process."""

    broker_id: int
    broker_epoch: int


class BrokerRegistered(BrokerDecision, frozen=True, kw_only=True):
    """4.2 A new process. `clean`: the stop of the one before it was clean (4.4)."""

    clean: bool
    replaced_epoch: int | None


class BrokerUnregistered(BrokerDecision, frozen=True, kw_only=True):
    """8.14 An operator took it out of the cluster."""


class BrokerFenced(BrokerDecision, frozen=True, kw_only=True):
    """4.8"""

    because: Literal["session expired", "it asked", "it shuts down"]


class BrokerUnfenced(BrokerDecision, frozen=True, kw_only=True):
    """4.9"""


class ControlledShutdownStarted(BrokerDecision, frozen=True, kw_only=True):
    """4.11"""


class LogDirectoriesTakenOffline(BrokerDecision, frozen=True, kw_only=True):
    """10.2 A broker reported that these directories of it have failed."""

    directories: tuple[str, ...]


class SessionExpired(Event, frozen=True, kw_only=True):
    """4.7 A broker has not been heard of for a session timeout."""

    broker_id: int
    broker_epoch: int
    silent_ns: int


class PartitionDecision(PartitionEvent, frozen=True, kw_only=True):
    """About one partition, in the epochs that the decision gave it."""

    offset: int


class LeaderElected(PartitionDecision, frozen=True, kw_only=True):
    """8.3, 8.8, 8.9, 8.11 and how."""

    election: Literal["preferred", "clean", "elr", "last_known", "unclean"]
    was: int
    leader: int
    isr: tuple[int, ...]
    elr: tuple[int, ...]


class LeaderLost(PartitionDecision, frozen=True, kw_only=True):
    """8.3 Nobody can be elected."""

    was: int
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    last_known_elr: tuple[int, ...]


class ReassignmentEnded(PartitionDecision, frozen=True, kw_only=True):
    """9.2, 9.4 Completed or cancelled: these replicas are left."""

    replicas: tuple[int, ...]


class AlterPartitionRefusedByController(PartitionEvent, frozen=True, kw_only=True):
    """5.35 In the epochs that the partition has here, after the step of 5.37 where there was one."""

    sender: int
    error: str
    asked_leader_epoch: int
    asked_partition_epoch: int
    proposed: tuple[int, ...]
