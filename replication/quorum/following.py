"""replication/quorum/following.py: fetching the metadata log, and finding out from whom (2.22, 2.26, 2.28 to 2.31, 2.41).

In     roles and leaders as they change; answers of those that were asked; syncs of the own log
Out    one Fetch at a time; records appended, a log cut, a high watermark that follows; `heard` when the leader has answered
Keeps  which question is open: an answer to any other is only heard for its epoch
Not    snapshots: download.py
"""

from __future__ import annotations

from functools import partial

import msgspec

from replication.batch import headers, is_whole
from replication.directory import OnDone, nobody
from replication.env import Failure
from replication.errors import Error
from replication.events import QuorumLogTruncated
from replication.messages import EpochEndOffset
from replication.quorum.download import Download
from replication.quorum.election_state import Role
from replication.quorum.fatal import CutBelowHighWatermark
from replication.quorum.flushing import Flushing
from replication.quorum.member import CHANNEL, Member
from replication.quorum.transitions import Transitions
from replication.quorum_messages import QuorumFetchRequest, QuorumFetchResponse


class Asked(msgspec.Struct, frozen=True):
    """2.30 Whom, in which epoch, from which offset."""

    node_id: int
    epoch: int
    offset: int


class Following:
    """The way from the leader's log to the own one."""

    def __init__(self, member: Member, transitions: Transitions, flushing: Flushing, download: Download) -> None:
        self.member, self.transitions, self.flushing, self.download = member, transitions, flushing, download
        self.on_heard: OnDone = nobody
        self.on_advanced: OnDone = nobody
        self._asked: Asked | None = None
        self._resting: object | None = None
        self._failures = 0
        self._turn = 0

    def restart(self) -> None:
        """The role, the epoch or the leader is another: what was asked before concerns nobody any more."""
        self._asked = self._resting = None
        self._failures = 0
        self.download.abandon()
        self.kick()

    # -- asking ---------------------------------------------------------------------------------------------------------

    def kick(self) -> None:
        """Send the next fetch, if there is somebody to ask and the log stands as the fetch would say."""
        member = self.member
        if self._asked is not None or self._resting is not None or self.download.is_under_way or member.closing:
            return
        if member.role not in (Role.FOLLOWER, Role.UNATTACHED):
            return
        if member.rules.flushes_before_fetch(member.is_voter) and not self.flushing.all_durable:
            self.flushing.start()
            return
        to = self._whom()
        if to is not None:
            self._ask(to)

    def _whom(self) -> int | None:
        """2.41 The leader; without one, or while it does not answer, also the other voters in turn."""
        member = self.member
        leader = member.leader_id if member.role is Role.FOLLOWER else None
        if leader is not None and self._failures % 2 == 0:
            return leader
        others = [voter.voter_id for voter in member.others if voter.voter_id != leader]
        if not others:
            return leader
        self._turn += 1
        return others[self._turn % len(others)]

    def _ask(self, to: int) -> None:
        member, log, settings = self.member, self.member.log, self.member.settings
        follows = member.role is Role.FOLLOWER and to == member.leader_id
        self._asked = asked = Asked(to, member.epoch, log.leo)
        request = QuorumFetchRequest(
            cluster_id=member.cluster_id,
            replica_id=member.node_id,
            replica_directory_id=member.key.directory_id,
            current_leader_epoch=member.epoch,
            fetch_offset=log.leo,
            last_fetched_epoch=member.last_epoch,
            max_wait_ms=settings.tidemark_quorum_fetch_wait_ms if follows else 0,
            max_bytes=settings.controller_quorum_fetch_max_bytes,
            high_watermark=member.hw,
        )
        member.env.request(to, CHANNEL, request, settings.request_timeout_ns, partial(self._on_answer, asked))

    def rest(self) -> None:
        """2.41 Nobody knew better: wait, then ask the next one."""
        member = self.member
        self._resting = resting = object()

        def wake() -> None:
            if self._resting is resting:
                self._resting = None
                self.kick()

        member.env.after(member.rules.retry_backoff_ns(self._failures, member.settings), wake)
        self._failures += 1

    # -- answers --------------------------------------------------------------------------------------------------------

    def _on_answer(self, asked: Asked, answer: QuorumFetchResponse | Failure) -> None:
        if not isinstance(answer, Failure) and self.transitions.hear(answer.leader_epoch, answer.leader_id):
            return  # 2.16: everything starts anew
        if self._asked is not asked:
            return
        self._asked = None
        if isinstance(answer, Failure) or not self._is_of_use(asked, answer):
            self.rest()
        else:
            self._take(asked, answer)

    def _is_of_use(self, asked: Asked, answer: QuorumFetchResponse) -> bool:
        """2.30 From the leader, of the epoch and for the end that this log still has."""
        member = self.member
        if answer.error_code is not Error.NONE or answer.leader_epoch != asked.epoch or asked.offset != member.log.leo:
            return False
        return member.role is Role.FOLLOWER and asked.node_id == member.leader_id

    def _take(self, asked: Asked, answer: QuorumFetchResponse) -> None:
        """2.24, 2.28 The leader's answer."""
        self._failures = 0
        self.member.has_fetched = True
        self.on_heard()
        if answer.diverging_epoch is not None:
            self._cut(answer.diverging_epoch)
        elif answer.snapshot_id is not None:
            self._check_cut(answer.snapshot_id.end_offset)
            self.download.begin(answer.snapshot_id)
        elif not self._append(asked, answer.records):
            self.rest()
        else:
            self._follow_hw(answer.high_watermark)
        self.kick()

    def _append(self, asked: Asked, records: bytes) -> bool:
        """2.26, 2.30 False: what was sent is not what a leader of that epoch wrote behind this log."""
        member, log = self.member, self.member.log
        for position, header in headers(records):
            epoch = header.partition_leader_epoch
            if not member.rules.may_append_fetched(epoch, asked.epoch):
                break
            if header.base_offset != log.leo or not is_whole(records, header, position):
                return False
            if not log.append(records[position : position + header.size], header, header.base_offset, epoch):
                return False
        if member.is_voter:
            self.flushing.start()
        return True

    def _follow_hw(self, told: int) -> None:
        """2.28 Of a log that is known to be the leader's: beside a divergence it would vouch for other records."""
        member = self.member
        hw = member.rules.follower_quorum_hw(member.hw, told, member.log.leo)
        if hw != member.hw:
            member.raise_hw(hw)
            self.on_advanced()

    def _cut(self, leader_end: EpochEndOffset) -> None:
        """2.29"""
        member, log = self.member, self.member.log
        was = log.leo
        target = member.rules.truncation_point(leader_end, log.end_offset_for(leader_end.epoch), was)
        self._check_cut(target)
        log.truncate_to(target)
        member.env.emit(QuorumLogTruncated(quorum_epoch=member.epoch, was=was, now=log.leo))

    def _check_cut(self, target: int) -> None:
        member = self.member
        if not member.rules.may_cut_quorum_log(target, member.hw, member.log.log_start):
            raise CutBelowHighWatermark(target, max(member.hw, member.log.log_start), member.leader_id)
