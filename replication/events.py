"""replication/events.py: what a node tells about itself, as data (PROTOCOL section 12).

In     the state machines, through `Env.emit`; the world adds time and node
Out    structs for traces, reports and invariants: what happened, in which epochs, and why
Not    counters: whoever wants rates counts these
"""

from __future__ import annotations

from typing import Literal

import msgspec


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Anything that a node tells."""


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


class BrokerClosed(Event, frozen=True, kw_only=True):
    """4.5 Flushed, checkpointed, marked as clean."""

    broker_epoch: int


class StrayLogRemoved(Event, frozen=True, kw_only=True):
    """4.15 A log that no image assigns to this broker."""

    path: str
