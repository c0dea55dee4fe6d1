"""replication/state.py: what replicas remember, as plain values: the nouns that the rules speak about.

In     partition.py, log.py and fetcher.py keep and change these
Out    the rules read them and never change them
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from replication.identity import NO_EPOCH

Epochs = tuple[tuple[int, int], ...]
"""A leader epoch cache: (leader epoch, its first offset), both strictly increasing (5.2)."""

UNKNOWN_OFFSET = -1


class Standing(msgspec.Struct):
    """Where a replica stands: its partition, and the newest epochs that it has taken up. -1: none yet."""

    topic_id: bytes
    topic: str
    partition: int
    leader_epoch: int = NO_EPOCH
    partition_epoch: int = NO_EPOCH
    replicas: tuple[int, ...] = ()

    def where(self) -> dict[str, Any]:
        """For events about this partition."""
        return {
            "topic": self.topic,
            "partition": self.partition,
            "leader_epoch": self.leader_epoch,
            "partition_epoch": self.partition_epoch,
        }


class Follower(msgspec.Struct, gc=False):
    """5.8, 5.18 What a leader knows about one follower, all from one fetch. A time of None is *never*: older than everything
    (1.12)."""

    broker_id: int
    leo: int = UNKNOWN_OFFSET
    log_start: int = UNKNOWN_OFFSET
    broker_epoch: int | None = None
    last_caught_up: int | None = None
    last_fetch: int | None = None
    leader_leo_at_last_fetch: int = UNKNOWN_OFFSET


class PendingChange(msgspec.Struct, frozen=True):
    """5.33 An ISR change that the controller has not answered, or whose answer left open what became of it."""

    kind: Literal["expand", "shrink"]
    new_isr: tuple[int, ...]
    leader_epoch: int
    partition_epoch: int


class Leadership(msgspec.Struct, kw_only=True):
    """What a leader keeps about its partition and forgets when it stops leading (5.11)."""

    isr: tuple[int, ...]
    maximal_isr: frozenset[int]
    leso: int
    """Leader epoch start offset: the LEO at the moment this leader took up its epoch (1.9)."""
    followers: dict[int, Follower]
    pending: PendingChange | None = None


class Following(msgspec.Struct, frozen=True):
    """Whom a follower fetches from, and in which leader epoch. Offsets are the log's."""

    leader: int
    leader_epoch: int


class ProducedBatch(msgspec.Struct, frozen=True, gc=False):
    """6.8 One batch of an idempotent producer, as far as it is needed to recognise it when it comes again."""

    first_sequence: int
    last_sequence: int
    first_offset: int
    last_offset: int


class ProducerEntry(msgspec.Struct, frozen=True, gc=False):
    """6.8 What a log remembers of one idempotent producer."""

    producer_epoch: int
    batches: tuple[ProducedBatch, ...]
    """The last five at most, oldest first; never empty."""


class LeaderEnd(msgspec.Struct, frozen=True):
    """What a leader says about the ends of its log to a follower that asked out of range (5.23)."""

    start: int
    end: int


class FetchAsked(msgspec.Struct, frozen=True, gc=False):
    """5.20 What a fetch asked for: its answer counts only while this is still what the follower wants."""

    leader: int
    leader_epoch: int
    offset: int
