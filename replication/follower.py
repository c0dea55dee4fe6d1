"""replication/follower.py: one replica while it follows: what it asks for, and what an answer does to its log (5.11, 5.13, 5.20
to 5.25).

In     answers to fetches, from fetcher.py, each with what was asked
Out    an append, a truncation or nothing; what the fetcher should do next
Keeps  whom it follows, and in which leader epoch; everything else is in the log
"""

from __future__ import annotations

from typing import Literal

from replication.batch import Header, crc_is_right, header_at, is_well_formed
from replication.broker_state import BrokerState
from replication.errors import Error
from replication.events import CorruptBatchFetched, ReplicaFailed, Truncated
from replication.log import Log
from replication.messages import EpochEndOffset, FetchedPartition, FetchPartition
from replication.rules.fetch import AfterError
from replication.rules.log import FollowerAppend
from replication.state import FetchAsked, Following, LeaderEnd, Standing

Cause = Literal["diverging epoch", "leader's log is shorter", "no epochs to compare", "leader's log starts later"]


class FollowerRole:
    """A replica that copies its leader."""

    def __init__(self, standing: Standing, broker: BrokerState, log: Log, following: Following) -> None:
        self.standing, self.broker, self.log, self.following = standing, broker, log, following
        self.failed = False
        log.tracks_producers = broker.rules.follower_tracks_producers()

    def prepare(self) -> None:
        """5.11 Before the first fetch in an epoch."""
        log = self.log
        cut = self.broker.rules.truncation_before_fetching(log.epochs, log.hw, log.leo)
        if cut is not None:
            self._truncate(cut, "no epochs to compare")

    # -- asking ---------------------------------------------------------------------------------------------------------

    def request(self) -> FetchPartition:
        """5.13"""
        log = self.log
        return FetchPartition(
            self.standing.topic_id,
            self.standing.partition,
            log.leo,
            self.broker.settings.replica_fetch_max_bytes,
            self.following.leader_epoch,
            log.latest_epoch,
            log.log_start,
        )

    def wants(self) -> FetchAsked:
        return FetchAsked(self.following.leader, self.following.leader_epoch, self.log.leo)

    # -- answers --------------------------------------------------------------------------------------------------------

    def on_fetched(self, asked: FetchAsked, answer: FetchedPartition) -> AfterError | None:
        """5.20 to 5.23 One partition of a fetch's answer. None: fetch on."""
        if not self.broker.rules.is_current(asked, self.wants()):
            return AfterError.IGNORE
        if answer.diverging_epoch is not None:
            self._on_diverging(answer.diverging_epoch, answer.high_watermark)
            return None
        if answer.error_code is not Error.NONE:
            return self.broker.rules.after_fetch_error(answer.error_code, asked.leader_epoch, self.following.leader_epoch)
        trouble = self._append(answer.records, asked.leader_epoch) if answer.records else None
        log = self.log
        if trouble is None and not self.failed:
            log.hw = self.broker.rules.follower_hw(answer.high_watermark, log.log_start, log.leo)
            log.advance_start(answer.log_start_offset)
        return trouble

    def on_leader_end(self, leader: LeaderEnd) -> bool:
        """5.23 What the leader said after our offset was out of its range. False: it changes nothing here, ask again later."""
        rules, log = self.broker.rules, self.log
        cut = rules.cut_after_out_of_range(leader, log.leo)
        start = rules.restart_after_out_of_range(leader, log.leo)
        if cut is not None:
            self._truncate(cut, "leader's log is shorter")
        elif start is not None:
            self._tell_truncation(log.leo, start, "leader's log starts later")
            log.restart_at(start)
        return cut is not None or start is not None

    def _on_diverging(self, leader_end: EpochEndOffset, leader_hw: int) -> None:
        """5.22, 5.24"""
        rules, log = self.broker.rules, self.log
        log.hw = rules.hw_while_diverging(log.hw, leader_hw)
        self._truncate(rules.truncation_point(leader_end, log.end_offset_for(leader_end.epoch), log.leo), "diverging epoch")

    def _append(self, records: bytes, fetched_epoch: int) -> AfterError | None:
        """5.21, 5.44, 5.45 Batch by batch, as far as they are whole, of the right epochs, and fit."""
        log, rules = self.log, self.broker.rules
        position, size = 0, len(records)
        while position < size:
            header = header_at(records, position)
            if header is None or not is_well_formed(header) or not crc_is_right(records, header, position):
                self.broker.env.emit(CorruptBatchFetched(**self.standing.where(), offset=log.leo))
                return AfterError.BACK_OFF
            if not rules.may_append(header.partition_leader_epoch, fetched_epoch):
                return None
            if not self._fits(header):
                return self._fail(f"a batch at {header.base_offset} does not follow {log.leo}")
            end = position + header.size
            batch = records if end - position == size else records[position:end]
            if not log.append(batch, header, header.base_offset, header.partition_leader_epoch):
                return AfterError.STOP
            position = end
        return None

    def _fits(self, header: Header) -> bool:
        """5.44"""
        log = self.log
        verdict = self.broker.rules.judge_follower_append(header.base_offset, header.last_offset, log.log_start, log.leo)
        if verdict is FollowerAppend.RESTART:
            log.restart_at(header.base_offset)
        return verdict is not FollowerAppend.FAULT

    def _fail(self, reason: str) -> AfterError:
        self.failed = True
        self.broker.env.emit(ReplicaFailed(**self.standing.where(), reason=reason))
        return AfterError.STOP

    def _truncate(self, cut: int, because: Cause) -> None:
        if cut < self.log.leo:  # else only an epoch without records goes
            self._tell_truncation(self.log.leo, cut, because)
        self.log.truncate_to(cut)

    def _tell_truncation(self, was: int, now: int, because: Cause) -> None:
        self.broker.env.emit(Truncated(**self.standing.where(), was=was, now=now, because=because))
