"""replication/quorum/serving.py: what a leader answers to those who fetch its log or its snapshots (2.22 to 2.25, 2.31, 2.34).

In     Fetch and FetchSnapshot of voters and observers; news: records, a high watermark, the end of an office
Out    one answer each, at once or when there is something to say
Keeps  parked fetches, in order of arrival. Their answers are read when they leave, not when they arrived
"""

from __future__ import annotations

from replication.deadlines import Deadlines
from replication.env import NANOSECONDS, Request
from replication.errors import Error
from replication.messages import EpochEndOffset
from replication.quorum.leading import Leading
from replication.quorum.member import Member
from replication.quorum_messages import (
    UNKNOWN_HW,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    QuorumFetchRequest,
    QuorumFetchResponse,
    SnapshotId,
    VoterKey,
)


class Parked:
    """2.31 A fetch that has everything, and waits for news."""

    __slots__ = ("done", "request", "serving")

    def __init__(self, serving: Serving, request: Request) -> None:
        self.serving, self.request, self.done = serving, request, False

    def expire(self) -> None:
        self.serving.release(self)


class Serving:
    """The log and the snapshots, for others."""

    def __init__(self, member: Member, leading: Leading) -> None:
        self.member, self.leading = member, leading
        self._parked: dict[Parked, None] = {}
        self._deadlines = Deadlines(member.env)

    @property
    def waiting(self) -> int:
        return len(self._parked)

    # -- fetches --------------------------------------------------------------------------------------------------------

    def on_fetch(self, request: Request) -> None:
        fetch: QuorumFetchRequest = request.message
        if (error := self._refuse(fetch)) is not None:
            self._answer(request, error=error)
            return
        progress = self.leading.heard(VoterKey(fetch.replica_id, fetch.replica_directory_id))
        member, rules, log = self.member, self.member.rules, self.member.log
        offset, last_epoch = fetch.fetch_offset, fetch.last_fetched_epoch
        needs_snapshot = rules.needs_snapshot(offset, last_epoch, log.log_start, member.snapshots.oldest)
        diverging = rules.divergence(offset, last_epoch, log.log_start, log.end_offset_for(last_epoch))
        valid = not needs_snapshot and diverging is None
        if progress is not None and rules.fetch_counts(valid):
            self.leading.moved(progress, offset)
        if needs_snapshot:
            self._answer(request, snapshot=member.snapshots.newest)
        elif diverging is not None:
            self._answer(request, diverging=diverging)
        elif rules.parks_fetch(offset, log.leo, fetch.high_watermark, self._told_hw, fetch.max_wait_ms):
            parked = Parked(self, request)
            self._parked[parked] = None
            self._deadlines.add(fetch.max_wait_ms * NANOSECONDS, parked)
        else:
            self._answer_records(request)

    def _refuse(self, asked: QuorumFetchRequest | FetchSnapshotRequest) -> Error | None:
        """2.23"""
        member = self.member
        return member.rules.refuse_quorum_fetch(asked, member.cluster_id, member.epoch, member.leads, member.closing)

    def wake(self) -> None:
        """2.31 New records, or a new high watermark."""
        for parked in tuple(self._parked):
            self.release(parked)

    def release(self, parked: Parked) -> None:
        """Asked again, as if it had just come: the office may be lost meanwhile, and the log is longer."""
        self._parked.pop(parked, None)
        parked.done = True
        if (error := self._refuse(parked.request.message)) is not None:
            self._answer(parked.request, error=error)
        else:
            self._answer_records(parked.request)

    def fail_all(self) -> None:
        """2.21 The office is lost."""
        for parked in tuple(self._parked):
            self._parked.pop(parked, None)
            parked.done = True
            self._answer(parked.request, error=Error.NOT_LEADER_OR_FOLLOWER)

    # -- answers --------------------------------------------------------------------------------------------------------

    def _answer_records(self, request: Request) -> None:
        """2.25 Everything that is there, committed or not."""
        fetch: QuorumFetchRequest = request.message
        member, log = self.member, self.member.log
        most = min(fetch.max_bytes, member.settings.controller_quorum_fetch_max_bytes)
        records = log.read(fetch.fetch_offset, log.leo, most, at_least_one=True)
        if records is not None:
            self._answer(request, records=records)

    def _answer(
        self,
        request: Request,
        *,
        error: Error = Error.NONE,
        records: bytes = b"",
        diverging: EpochEndOffset | None = None,
        snapshot: SnapshotId | None = None,
    ) -> None:
        member = self.member
        response = QuorumFetchResponse(
            error_code=error,
            leader_id=member.leader_id,
            leader_epoch=member.epoch,
            high_watermark=self._told_hw,
            log_start_offset=member.log.log_start,
            records=records,
            diverging_epoch=diverging,
            snapshot_id=snapshot,
        )
        member.env.reply(request, response)

    @property
    def _told_hw(self) -> int:
        office = self.leading.office
        return UNKNOWN_HW if office is None else office.hw

    # -- snapshots ------------------------------------------------------------------------------------------------------

    def on_fetch_snapshot(self, request: Request) -> None:
        """2.34"""
        asked: FetchSnapshotRequest = request.message
        member, rules = self.member, self.member.rules
        error = self._refuse(asked)
        if error is None:
            self.leading.heard(VoterKey(asked.replica_id, asked.replica_directory_id))
            error = rules.refuse_snapshot_chunk(member.snapshots.sizes.get(asked.snapshot_id), asked.position)
        chunk: bytes | None = b""
        if error is None:
            most = min(asked.max_bytes, member.settings.controller_quorum_fetch_snapshot_max_bytes)
            chunk = member.snapshots.chunk(asked.snapshot_id, asked.position, most)
        if chunk is None:
            return  # the disk failed, and the process with it
        response = FetchSnapshotResponse(
            error_code=error or Error.NONE,
            leader_id=member.leader_id,
            leader_epoch=member.epoch,
            snapshot_id=asked.snapshot_id,
            size=member.snapshots.sizes.get(asked.snapshot_id, 0),
            position=asked.position,
            unaligned_records=chunk,
        )
        member.env.reply(request, response)
