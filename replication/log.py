"""replication/log.py: one replica's log: batches in segments, epoch cache, producer state, high watermark (5.1 to 5.6, 5.41,
5.49).

In     batches that the partition decided to append; orders to truncate, restart, sync; settings
Out    bytes as the disk holds them; `on_counted` when an append that had to wait for its sync counts, `on_settled` when nothing
       is open
Keeps  [log_start, leo) without gaps; `hw` within it; durable_end <= leo: what would survive a power cut now
Not    who may append or truncate, and where: partition.py asks the rules; finding all this again after a stop: loading.py
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import partial

from replication import files
from replication.barrier import Barrier
from replication.batch import Header, header_at
from replication.directory import LogDirectory, OnDone, nobody
from replication.env import NANOSECONDS, Env
from replication.messages import EpochEndOffset
from replication.rules import Rules
from replication.segment import INDEX_ENTRY_SIZE, Segment
from replication.settings import UNLIMITED, TopicSettings
from replication.state import Epochs, ProducerEntry


class Log:
    """A partition's bytes on one broker."""

    def __init__(self, directory: LogDirectory, name: tuple[str, int], env: Env, rules: Rules, settings: TopicSettings) -> None:
        self.directory, self.name, self.env, self.rules, self.settings = directory, name, env, rules, settings
        self.path = files.partition_directory(*name)
        self.segments: list[Segment] = []
        self.log_start = self.leo = self.hw = 0
        self.counted_end = 0
        """5.41 The end that this replica may claim: behind the LEO while a sync that must come first is under way."""
        self.durable_end = 0
        self.epochs: Epochs = ()
        self.producers: dict[int, ProducerEntry] = {}
        self.on_counted: OnDone = nobody
        self.on_settled: OnDone = nobody
        self.tracks_producers = True
        self.settling = Barrier(self._on_quiet)
        """Writes that must be durable before this replica says anything more."""
        self._undoing = Barrier()  # cuts on their way to the disk: what is written over them must not get there first
        self._cuts = 0  # truncations so far: a sync that began before one proves nothing about what came after
        self._flushing = False
        self._flush_timer = False
        self._last_flush_ns = env.monotonic_ns()

    # -- what it is -----------------------------------------------------------------------------------------------------

    @property
    def latest_epoch(self) -> int:
        return self.epochs[-1][0] if self.epochs else -1

    @property
    def first_segment_base(self) -> int:
        return self.segments[0].base_offset

    @property
    def size(self) -> int:
        return sum(segment.size for segment in self.segments)

    @property
    def settled(self) -> bool:
        """Whether everything that a fetch or an office leans on is durable (5.2, 5.41)."""
        return self.settling.quiet and self.counted_end == self.leo

    def end_offset_for(self, epoch: int) -> EpochEndOffset | None:
        return self.rules.end_offset_for(self.epochs, epoch, self.leo)

    # -- appending ------------------------------------------------------------------------------------------------------

    def append(self, data: bytes, header: Header, base_offset: int, leader_epoch: int) -> bool:
        """5.1 Append one whole batch at the end. `header` may be from before the stamp: base offset and epoch are given apart.

        False: the directory failed, and has said so.
        """
        segment, end = self.segments[-1], base_offset + header.last_offset_delta + 1
        if segment.size and self._must_roll(segment, len(data), end, header.max_timestamp):
            segment = self._roll()
        if not self.directory.append(segment.log_path, data):
            return False
        if segment.add(base_offset, end, len(data), header.max_timestamp, self.settings.index_interval_bytes):
            self._write_index(segment)
        self.leo = end
        if not self.epochs or self.epochs[-1][0] != leader_epoch:
            self.assign_epoch(leader_epoch, base_offset)
        if header.producer_id >= 0 and self.tracks_producers:
            entry = self.producers.get(header.producer_id)
            self.producers[header.producer_id] = self.rules.producer_after(entry, header, base_offset)
        self.count_or_flush()
        return self.directory.failed is None

    def assign_epoch(self, epoch: int, start: int) -> None:
        """5.2 Note where an epoch starts. It is durable once the log has settled, and not before what was cut is durably gone:

        else a power cut could bring the old records back under an epoch that is not theirs.
        """
        epochs = self.rules.epochs_with(self.epochs, epoch, start)
        if epochs != self.epochs:
            self.epochs = epochs
            durable = self.settling.begin()
            self._undoing.then(lambda: self._write_epochs(durable))

    def _must_roll(self, segment: Segment, size: int, end: int, timestamp: int) -> bool:
        settings = self.settings
        full = len(segment.index) + INDEX_ENTRY_SIZE > settings.segment_index_bytes or not segment.can_index(end)
        return self.rules.must_roll(segment.size, size, timestamp - segment.timestamps[0], full, settings)

    def _roll(self) -> Segment:
        """5.49 Close the last segment and begin another; the old one is synced in the background (5.41)."""
        old = self.segments[-1]
        old.seal()
        self._write_time_index(old)
        self.sync()
        return self.add_segment(Segment(self.path, self.leo))

    def add_segment(self, segment: Segment) -> Segment:
        self.segments.append(segment)
        for path in (segment.log_path, segment.index_path, segment.time_index_path):
            self.directory.append(path, b"")
            self.directory.truncate(path, 0)  # an index may have outlived its log
        return segment

    def _write_index(self, segment: Segment) -> None:
        """Bring both index files up to what the segment knows: one entry, and at most one."""
        self.directory.append(segment.index_path, segment.last_index_entry)
        self._write_time_index(segment)

    def _write_time_index(self, segment: Segment) -> None:
        self.directory.append(segment.time_index_path, bytes(segment.time_index[segment.time_index_written :]))
        segment.time_index_written = len(segment.time_index)

    # -- durability (5.41) ----------------------------------------------------------------------------------------------

    def sync(self, then: OnDone = nobody) -> None:
        """Make everything that is in the log now survive a power cut; `then` comes when it does."""
        end, cuts = self.leo, self._cuts
        syncs = Barrier()
        for segment in self.segments:
            if segment.synced_size != segment.size:
                self.directory.sync(segment.log_path, partial(self._synced, segment, segment.size, cuts, syncs.begin()))
        syncs.then(lambda: self._durable_to(end, cuts))
        syncs.then(then)

    def _synced(self, segment: Segment, size: int, cuts: int, done: OnDone) -> None:
        if cuts == self._cuts:
            segment.synced_size = max(segment.synced_size, size)
        done()

    def close(self, then: OnDone) -> None:
        """4.5 The last words: the time index ends as that of a rolled segment does, and everything is durable."""
        last = self.segments[-1]
        last.seal()
        self._write_time_index(last)
        self.sync(then)

    def _durable_to(self, end: int, cuts: int) -> None:
        if cuts == self._cuts:
            self.durable_end = max(self.durable_end, end)
            self._last_flush_ns = self.env.monotonic_ns()

    def count_or_flush(self) -> None:
        """5.41 The new end counts at once, unless a flush interval says that its sync comes first."""
        if self._flushing:
            return
        settings = self.settings
        since_flush_ms = 0
        if settings.flush_ms != UNLIMITED:
            since_flush_ms = (self.env.monotonic_ns() - self._last_flush_ns) // NANOSECONDS
            self._arm_flush_timer()
        if self.rules.must_flush(self.leo - self.durable_end, since_flush_ms, settings):
            self._flushing = True
            end, cuts = self.leo, self._cuts
            self.sync(lambda: self._flushed(end, cuts))
        else:
            self.counted_end = self.leo

    def _flushed(self, end: int, cuts: int) -> None:
        self._flushing = False
        if cuts == self._cuts:
            self.counted_end = end
        if self.counted_end < self.leo:
            self.count_or_flush()
        self.on_counted()
        self._on_quiet()

    def _on_quiet(self) -> None:
        if self.settled:
            self.on_settled()

    def _arm_flush_timer(self) -> None:
        if not self._flush_timer:
            self._flush_timer = True
            self.env.after(self.settings.flush_ms * NANOSECONDS, self._on_flush_timer)

    def _on_flush_timer(self) -> None:
        self._flush_timer = False
        if self.leo > self.durable_end:
            self.sync()

    # -- cutting --------------------------------------------------------------------------------------------------------

    def truncate_to(self, cut: int) -> None:
        """5.4 Remove every batch that reaches `cut` or beyond, and everything that was derived from them."""
        leo = self.leo
        if cut < self.first_segment_base:
            self.restart_at(cut)
            return
        if cut < leo:
            self._cut_segments(cut)
        epochs = self.rules.epochs_below(self.epochs, cut, self.leo)
        if epochs != self.epochs:
            self.epochs = epochs
            self._write_epochs()
        if self.rules.must_rebuild_producers(cut, leo):
            self.producers = self.replayed_producers()
        self.hw = self.rules.hw_after_truncation(self.hw, self.leo)
        self._lower_start(self.leo)

    def restart_at(self, offset: int) -> None:
        """5.23, 5.44 Forget everything and begin empty at `offset`."""
        for segment in self.segments:
            self.delete(segment)
        self.segments = []
        self.add_segment(Segment(self.path, offset))
        self._lower_start(offset)
        self.log_start = self.leo = self.hw = self.counted_end = offset
        self.epochs, self.producers = (), {}
        self._write_epochs()
        self._forget_durability()

    def _lower_start(self, end: int) -> None:
        """A cut below the log's start takes the start with it, durably: loading would drop what is written below the old one."""
        if self.log_start > end:
            self.log_start = end
            self.directory.checkpoint_log_starts(self.settling.begin())

    def advance_start(self, offset: int) -> None:
        """5.21, 5.50 The log starts later. Never backwards, never beyond the HW; whole segments below go with retention."""
        offset = min(offset, self.hw)
        if offset <= self.log_start:
            return
        self.log_start = offset
        epochs = self.rules.epochs_from(self.epochs, offset)
        if epochs != self.epochs:
            self.epochs = epochs
            self._write_epochs()
        self.producers = self.replayed_producers()

    def remove(self) -> None:
        """5.12, 3.16 This broker no longer hosts the partition."""
        for segment in self.segments:
            self.delete(segment)
        self.segments = []  # a flush timer that is still to come finds nothing
        for name in (files.EPOCH_CHECKPOINT, files.PARTITION_METADATA):
            self.directory.delete(f"{self.path}/{name}")

    def _cut_segments(self, cut: int) -> None:
        while len(self.segments) > 1 and self.segments[-1].base_offset >= cut:
            self.delete(self.segments.pop())
        segment = self.segments[-1].cut(cut, self.settings.index_interval_bytes)
        self.segments[-1] = segment
        self.shorten(segment)
        self.rewrite_indexes(segment)
        self.leo = segment.end_offset
        self._forget_durability()

    def shorten(self, segment: Segment) -> None:
        """Cut a segment's file to what the segment holds, and see to it that this stays."""
        if self.directory.truncate(segment.log_path, segment.size):
            self.directory.sync(segment.log_path, self._undone())

    def _undone(self) -> OnDone:
        """A cut is on its way to the disk; call what is returned when it is durable."""
        settled, undone = self.settling.begin(), self._undoing.begin()

        def durable() -> None:
            undone()
            settled()

        return durable

    def _forget_durability(self) -> None:
        """What is written over a cut is new: a recovery point above it would vouch for bytes that were never synced."""
        self._cuts += 1
        self.durable_end = min(self.durable_end, self.leo)
        self.counted_end = min(self.counted_end, self.leo)
        self.distrust_recovery_point()

    def distrust_recovery_point(self) -> None:
        """Lower the checkpoint where it is above what is durable, before anything else is said."""
        if self.directory.recovery_points.get(self.name, 0) > self.durable_end:
            self.directory.lower_recovery_point(self.name, self.durable_end, self.settling.begin())

    def _write_epochs(self, then: OnDone = nobody) -> None:
        """After a cut nobody waits for this (5.4): loading repeats the trim."""
        self.directory.replace(f"{self.path}/{files.EPOCH_CHECKPOINT}", files.epochs_text(self.epochs), then)

    def rewrite_indexes(self, segment: Segment) -> None:
        self.directory.replace(segment.index_path, bytes(segment.index))
        self.directory.replace(segment.time_index_path, bytes(segment.time_index))
        segment.time_index_written = len(segment.time_index)

    def delete(self, segment: Segment) -> None:
        """A segment that came back after a power cut could follow another one by chance: its end counts as a cut."""
        self.directory.delete(segment.log_path, self._undone())
        for path in (segment.index_path, segment.time_index_path):
            self.directory.delete(path)

    # -- reading --------------------------------------------------------------------------------------------------------

    def readable_bytes(self, offset: int, end: int) -> int:
        """How much lies between `offset` and `end`, without reading it."""
        if offset >= end:
            return 0
        segment = self._segment_of(offset)
        start = segment.positions[segment.batch_at(offset)]
        if end == segment.end_offset:
            return segment.size - start
        if segment is self.segments[-1]:
            return segment.position_of(segment.batch_before(end)) - start
        later = self.segments[self.segments.index(segment) :]
        return sum(each.position_of(each.batch_before(end)) for each in later) - start

    def read(self, offset: int, end: int, max_bytes: int, at_least_one: bool) -> bytes | None:
        """7.7 Whole batches, from the one that contains `offset` to the last one below `end`, of one segment. None: the disk
        failed."""
        if offset >= end:
            return b""
        segment = self._segment_of(offset)
        first = segment.batch_at(offset)
        start = segment.positions[first]
        stop = segment.size if end >= segment.end_offset else segment.position_of(segment.batch_before(end))
        if stop - start > max_bytes:
            fitting = bisect_right(segment.positions, start + max_bytes) - 1
            stop = segment.positions[fitting]
            if stop <= start:
                stop = segment.position_of(first + 1) if at_least_one else start
        return self.directory.read(segment.log_path, start, stop - start) if stop > start else b""

    def _segment_of(self, offset: int) -> Segment:
        segment = self.segments[-1]
        if offset >= segment.base_offset:
            return segment
        return self.segments[bisect_right(self.segments, offset, key=lambda segment: segment.base_offset) - 1]

    def headers(self) -> Iterator[Header]:
        """The header of every batch that reaches log_start or beyond, as the disk holds it."""
        for segment in self.segments:
            data = self.directory.read(segment.log_path, 0, segment.size) or b""
            for number, position in enumerate(segment.positions):
                header = header_at(data, position)
                last_of_batch = segment.bases[number + 1] if number + 1 < len(segment.bases) else segment.end_offset
                if header is not None and last_of_batch > self.log_start:
                    yield header

    def replayed_producers(self) -> dict[int, ProducerEntry]:
        """6.11 Producer state as the log alone tells it."""
        producers: dict[int, ProducerEntry] = {}
        for header in self.headers():
            if header.producer_id >= 0:
                entry = producers.get(header.producer_id)
                producers[header.producer_id] = self.rules.producer_after(entry, header, header.base_offset)
        return producers

    def epoch_of(self, offset: int) -> int:
        """The leader epoch under which `offset` was, or at the end would be, appended."""
        number = bisect_right(self.epochs, offset, key=lambda entry: entry[1]) - 1
        return self.epochs[number][0] if number >= 0 else -1
