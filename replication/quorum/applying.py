"""replication/quorum/applying.py: handing what is committed to the state machine (2.32, 2.35, 2.40).

In     a high watermark that moved, a snapshot that took the log's place
Out    the newest snapshot, then decisions: in order, each exactly once
Keeps  how far the state machine is. Before the first high watermark it is told nothing, however much lies on the disk
"""

from __future__ import annotations

from replication.quorum.machine import Machine
from replication.quorum.member import Member
from replication.quorum.snapshots import snapshot_records
from replication.quorum_messages import UNKNOWN_HW, SnapshotId
from replication.records import decisions

_AT_ONCE = 1_048_576  # bytes


class Applying:
    """The way from the log to the machine."""

    def __init__(self, member: Member, machine: Machine) -> None:
        self.member, self.machine = member, machine
        self.applied_epoch = 0
        self.bytes_since_snapshot = 0
        self._has_started = False

    def catch_up(self) -> None:
        """2.35 Apply everything that is committed and not yet applied."""
        member = self.member
        if member.hw == UNKNOWN_HW:
            return
        if not self._has_started:
            self._has_started = True
            newest = member.snapshots.newest
            if newest is not None and not self.load(newest):
                return
        while member.applied_end < (end := member.rules.applicable_end(member.hw, member.log.leo)):
            if not self._apply(end):
                return

    def load(self, snapshot: SnapshotId) -> bool:
        """2.34, 2.40 Forget what was applied: the snapshot is all there is up to its end. False: the disk failed, or lied."""
        member = self.member
        data = member.snapshots.read(snapshot)
        if data is None:
            return False
        records = snapshot_records(data, member.rules)
        if records is None:
            member.env.halt(f"the snapshot ({snapshot.end_offset}, {snapshot.epoch}) is damaged")
            return False
        self._has_started = True
        member.applied_end, self.applied_epoch = snapshot.end_offset, snapshot.epoch
        member.raise_hw(max(member.hw, snapshot.end_offset))
        self.bytes_since_snapshot = 0
        self.machine.on_snapshot(snapshot, records)
        return True

    def _apply(self, end: int) -> bool:
        member = self.member
        first = member.applied_end
        data = member.log.read(first, end, _AT_ONCE, at_least_one=True)
        if data is None:
            return False
        batches = [each for each in decisions(data) if each.base_offset >= first]
        if not batches:
            member.env.halt(f"the metadata log is damaged at offset {first}, which is committed")
            return False
        member.applied_end, self.applied_epoch = batches[-1].last_offset + 1, batches[-1].epoch
        self.bytes_since_snapshot += len(data)
        self.machine.on_commit(batches)
        return True
