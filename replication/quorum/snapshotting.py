"""replication/quorum/snapshotting.py: when a member writes a snapshot, and what its log forgets after it (2.32, 2.33, 2.43).

In     progress of the state machine; its whole state, when it is asked for
Out    a snapshot, one at a time; fewer segments; `on_shorter` when the log starts later
Keeps  a log start above 0 has a snapshot that ends there. Segments go oldest first, each durably before the next: a power cut
       between them must not leave a gap
"""

from __future__ import annotations

from replication.env import NANOSECONDS
from replication.events import SnapshotTaken
from replication.quorum.alarm import Alarm
from replication.quorum.applying import Applying
from replication.quorum.member import Member
from replication.quorum.snapshots import snapshot_bytes
from replication.quorum_messages import SnapshotId
from replication.segment import Segment


class Snapshotting:
    """This member's own snapshots."""

    def __init__(self, member: Member, applying: Applying) -> None:
        self.member, self.applying = member, applying
        self._writing = False
        self._deleting = False
        self._last_ns = member.env.monotonic_ns()
        self._alarm = Alarm(member.env, member.env.monotonic_ns, self._on_alarm)
        self._alarm_is_set = False

    def consider(self) -> None:
        """2.43 Something was applied, or time has passed."""
        member, applying = self.member, self.applying
        settings, now = member.settings, member.env.monotonic_ns()
        since_ms = (now - self._last_ns) // NANOSECONDS
        if not self._writing and member.rules.wants_snapshot(applying.bytes_since_snapshot, since_ms, settings):
            self._write()
        elif applying.bytes_since_snapshot and not self._alarm_is_set:
            self._alarm_is_set = True
            self._alarm.set(max(settings.metadata_log_max_snapshot_interval_ms - since_ms, 1) * NANOSECONDS)

    def _on_alarm(self) -> None:
        self._alarm_is_set = False
        self.consider()

    def _write(self) -> None:
        member, applying = self.member, self.applying
        snapshot = member.rules.snapshot_id(member.applied_end, applying.applied_epoch)
        if not member.rules.may_take_snapshot(snapshot.end_offset, member.hw, member.log.log_start, member.snapshots.newest):
            return
        self._writing, self._alarm_is_set = True, False
        applying.bytes_since_snapshot, self._last_ns = 0, member.env.monotonic_ns()
        data = snapshot_bytes(applying.machine.snapshot(), snapshot.epoch, member.env.wall_ms())
        member.snapshots.write(snapshot, data, lambda: member.turnstile.enter(lambda: self._written(snapshot, len(data))))

    def _written(self, snapshot: SnapshotId, size: int) -> None:
        self._writing = False
        member = self.member
        if snapshot.end_offset < member.log.log_start:
            return  # the leader's came in between, and holds more
        member.snapshots.add(snapshot, size)
        self.clean()
        member.env.emit(
            SnapshotTaken(
                quorum_epoch=member.epoch,
                end_offset=snapshot.end_offset,
                snapshot_epoch=snapshot.epoch,
                size=size,
                log_start=member.log.log_start,
            )
        )

    # -- forgetting -----------------------------------------------------------------------------------------------------

    def clean(self) -> None:
        """2.33, 2.43 Drop old snapshots, then what the oldest one left replaces."""
        member = self.member
        snapshots, rules = member.snapshots, member.rules
        while (oldest := snapshots.oldest) is not None:
            size = member.log.size + sum(snapshots.sizes.values())
            age_ms = member.env.wall_ms() - snapshots.written_ms(oldest)
            if not rules.drops_oldest_snapshot(len(snapshots.sizes), size, age_ms, member.settings):
                break
            snapshots.keep_only(tuple(snapshots.sizes)[1:])
        self.shorten()

    def shorten(self) -> None:
        """2.33"""
        member = self.member
        log = member.log
        log.advance_start(member.rules.log_start_for(member.snapshots.oldest, log.log_start, member.hw))
        self._delete_next()

    def _delete_next(self) -> None:
        log = self.member.log
        if self._deleting or len(log.segments) < 2 or log.segments[0].end_offset > log.log_start:
            return
        self._deleting = True
        segment: Segment = log.segments.pop(0)
        directory = log.directory
        directory.delete(segment.index_path)
        directory.delete(segment.time_index_path)
        directory.delete(segment.log_path, lambda: self.member.turnstile.enter(self._deleted))

    def _deleted(self) -> None:
        self._deleting = False
        self._delete_next()
