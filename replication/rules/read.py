"""replication/rules/read.py: what clients may see (section 7, 3.18)."""

from __future__ import annotations

from replication.errors import Error
from replication.image import BrokerRegistration, PartitionState
from replication.messages import EARLIEST, EARLIEST_LOCAL, LATEST


class ReadRules:
    """Bounds on reading."""

    def readable_end(self, from_replica: bool, hw: int, leo: int) -> int:
        """5.17, 7.1 Replicas read to the end of the log, clients to the high watermark: what is above it may still vanish
        (B32)."""
        return leo if from_replica else hw

    def latest_offset(self, from_replica: bool, hw: int, leo: int, leso: int) -> int | Error:
        """7.4 A new leader's HW may be behind what its predecessor showed; until it has passed the start of its epoch it tells
        none.

        Else a client would see the end of a log go backwards (B33).
        """
        if from_replica:
            return leo
        return Error.OFFSET_NOT_AVAILABLE if hw < leso else hw

    def asks_for_latest(self, timestamp: int) -> bool:
        """7.9"""
        return timestamp == LATEST

    def asks_for_earliest(self, timestamp: int) -> bool:
        """7.9 Without tiers the earliest local offset is the earliest."""
        return timestamp in (EARLIEST, EARLIEST_LOCAL)

    def shows_leader(self, state: PartitionState, leader: BrokerRegistration | None) -> bool:
        """3.18 Clients are told of a leader only while its broker is there and not fenced."""
        return state.has_leader and leader is not None and not leader.fenced
