"""replication/quorum/download.py: taking over the leader's snapshot in place of the own log (2.34).

In     the id of a snapshot that the leader offered instead of records
Out    FetchSnapshot, chunk by chunk; a snapshot file; a log that starts where the snapshot ends
Keeps  a partial file under another name, which dies with the attempt. From its last byte until the log has its new start nothing
       else is handled, so that no other role meets a log that is half given up
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec

from replication.directory import OnDone, nobody
from replication.env import Failure
from replication.errors import Error
from replication.events import SnapshotLoaded
from replication.quorum.member import CHANNEL, Member
from replication.quorum.snapshots import part_path, snapshot_records
from replication.quorum.transitions import Transitions
from replication.quorum_messages import FetchSnapshotRequest, FetchSnapshotResponse, SnapshotId


class Attempt(msgspec.Struct):
    snapshot: SnapshotId
    leader_id: int
    epoch: int
    position: int = 0


class Download:
    """One snapshot on its way from the leader."""

    def __init__(self, member: Member, transitions: Transitions, load: Callable[[SnapshotId], bool]) -> None:
        self.member, self.transitions, self._load = member, transitions, load
        self._attempt: Attempt | None = None
        self.on_heard: OnDone = nobody
        self.on_failed: OnDone = nobody
        self.on_loaded: OnDone = nobody

    @property
    def is_under_way(self) -> bool:
        return self._attempt is not None

    def begin(self, snapshot: SnapshotId) -> None:
        member, path = self.member, part_path(snapshot)
        self._attempt = attempt = Attempt(snapshot, member.leader_id, member.epoch)
        if member.directory.append(path, b"") and member.directory.truncate(path, 0):
            self._ask(attempt)

    def abandon(self) -> None:
        attempt, self._attempt = self._attempt, None
        if attempt is not None:
            self.member.directory.delete(part_path(attempt.snapshot))

    def _fail(self) -> None:
        self.abandon()
        self.on_failed()

    def _ask(self, attempt: Attempt) -> None:
        member, settings = self.member, self.member.settings
        request = FetchSnapshotRequest(
            cluster_id=member.cluster_id,
            replica_id=member.node_id,
            replica_directory_id=member.key.directory_id,
            current_leader_epoch=attempt.epoch,
            snapshot_id=attempt.snapshot,
            position=attempt.position,
            max_bytes=settings.controller_quorum_fetch_snapshot_max_bytes,
        )
        then = partial(self._on_answer, attempt)
        member.env.request(attempt.leader_id, CHANNEL, request, settings.request_timeout_ns, then)

    def _on_answer(self, attempt: Attempt, answer: FetchSnapshotResponse | Failure) -> None:
        if not isinstance(answer, Failure) and self.transitions.hear(answer.leader_epoch, answer.leader_id):
            return
        if self._attempt is not attempt:
            return
        if isinstance(answer, Failure) or answer.error_code is not Error.NONE or answer.position != attempt.position:
            self._fail()
            return
        self.on_heard()
        if not self.member.directory.append(part_path(attempt.snapshot), answer.unaligned_records):
            return
        attempt.position += len(answer.unaligned_records)
        if attempt.position < answer.size:
            self._ask(attempt)
        else:
            self._keep(attempt)

    def _keep(self, attempt: Attempt) -> None:
        """2.34 All of it is here: give it its name, durably, and only then let go of the log."""
        member = self.member
        data = member.directory.read(part_path(attempt.snapshot))
        if data is None:
            return
        if snapshot_records(data, member.rules) is None:  # damaged where it came from: there may be another one by now
            self._fail()
            return
        turnstile = member.turnstile
        turnstile.close()
        member.snapshots.write(attempt.snapshot, data, lambda: turnstile.open(lambda: self._install(attempt, len(data))))

    def _install(self, attempt: Attempt, size: int) -> None:
        member, snapshot = self.member, attempt.snapshot
        was = member.log.leo
        self._attempt = None
        member.log.restart_at(snapshot.end_offset)
        member.directory.delete(part_path(snapshot))
        member.snapshots.add(snapshot, size)
        member.snapshots.keep_only((snapshot,))
        if self._load(snapshot):
            member.env.emit(
                SnapshotLoaded(quorum_epoch=member.epoch, end_offset=snapshot.end_offset, snapshot_epoch=snapshot.epoch, was=was)
            )
            self.on_loaded()
