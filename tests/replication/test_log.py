"""One replica's log by itself: segments, flushing, reading, cutting.

Most logs here start at 1000: nothing may take it for granted that a log starts at 0.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from replication import timestamps
from replication.batch import Record, encode, stamped
from replication.env import IoError
from replication.log import Log
from replication.state import ProducedBatch, ProducerEntry
from tests.replication import kafka_files as kafka
from tests.replication.lone_log import EPOCHS, RECOVERY, START, T0, LoneLog, header_of, size_of

# -- rolling (5.49) -----------------------------------------------------------------------------------------------------


def test_a_segment_takes_exactly_what_fits() -> None:
    """5.49 The append that would exceed segment.bytes goes into a new segment; one that just fits does not."""
    one = size_of("x")
    lone = LoneLog(segment_bytes=3 * one)
    for _ in range(7):
        lone.append("x")
    assert lone.bases() == [START, START + 3, START + 6]
    lone = LoneLog(segment_bytes=3 * one - 1)
    for _ in range(7):
        lone.append("x")
    assert lone.bases() == [START, START + 2, START + 4, START + 6]


def test_a_batch_larger_than_a_segment_does_not_roll_an_empty_one() -> None:
    """5.49 An empty segment is never left behind for a batch that fits into none."""
    lone = LoneLog(segment_bytes=10)
    lone.append("x", "y")
    lone.append("z")
    assert lone.bases() == [START, START + 2]


def test_a_segment_that_is_too_old_is_closed() -> None:
    """5.49 Age is measured by record timestamps, from the segment's first batch: equal to segment.ms is not yet older."""
    lone = LoneLog(segment_ms=1_000)
    for timestamp in (T0, T0 + 1_000, T0 + 1_001, T0 + 2_001, T0 + 2_002):
        lone.append(timestamp=timestamp)
    assert lone.bases() == [START, START + 2, START + 4]


@pytest.mark.parametrize("room", [16, 20, 23])
def test_a_full_index_closes_the_segment(room: int) -> None:
    """5.49 With room for two index entries and no third, the third entry's batch begins a segment."""
    lone = LoneLog(segment_index_bytes=room, index_interval_bytes=0)
    for _ in range(8):
        lone.append()
    assert lone.bases() == [START, START + 3, START + 6]
    for base in lone.bases():
        assert len(lone.file(f"t-0/{base:020d}.index")) <= room


def test_an_offset_that_no_longer_fits_closes_the_segment() -> None:
    """5.49 Offsets in an index are relative, four bytes, signed: a batch that ends beyond begins a segment."""
    far = START + 2**31 - 2
    lone = LoneLog(index_interval_bytes=0)
    lone.append()
    lone.log.leo = lone.log.segments[-1].end_offset = far  # as if that many records had come between
    lone.append("fits")
    assert lone.bases() == [START]
    lone.append("the last offset is too far", "by one")
    assert lone.bases() == [START, far + 1]
    assert kafka.index_entries(lone.file(f"t-0/{START:020d}.index")) == [(2**31 - 2, size_of("x"))]


def test_rolling_syncs_the_old_segment_in_the_background() -> None:
    """5.41 The append that rolls does not wait, and once the sync is done a power cut takes only the new segment's batches."""
    lone = LoneLog(segment_bytes=2 * size_of("x"))
    lone.hold()
    for _ in range(3):
        lone.append("x")
    assert (lone.log.counted_end, lone.log.durable_end) == (START + 3, START)
    lone.release()
    assert lone.log.durable_end == START + 2
    assert lone.restart(lossy=True).leo == START + 2


# -- index files (5.51) -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("interval", [0, 1, 100, 150, 4_096])
def test_indexes_point_at_batches(interval: int) -> None:
    """5.51 An entry for every batch before which more than index.interval.bytes came since the last one: its last offset and its
    position; and the largest time so far, with the last offset of its batch, where it grew."""
    lone = LoneLog(index_interval_bytes=interval)
    for number in range(12):
        lone.append(*"xyz"[: number % 3 + 1], timestamp=T0 + [0, 5, 3, 9][number % 4] + number)
    index: list[tuple[int, int]] = []
    times: list[tuple[int, int]] = []
    since = 0
    largest, offset = -1, -1
    for batch in lone.on_disk():
        if batch.max_timestamp > largest:
            largest, offset = batch.max_timestamp, batch.last_offset - START
        if since > interval:
            index.append((batch.last_offset - START, batch.position))
            if not times or largest > times[-1][0]:
                times.append((largest, offset))
            since = 0
        since += batch.size
    assert kafka.index_entries(lone.file(f"t-0/{START:020d}.index")) == index
    assert kafka.time_index_entries(lone.file(f"t-0/{START:020d}.timeindex")) == times
    assert bool(index) is (interval < 4_096)


def test_a_closed_segments_time_index_ends_with_its_largest_time() -> None:
    """5.51 At a roll, and at a clean stop, the largest time gets its entry even if no batch was indexed since."""
    lone = LoneLog(segment_bytes=3 * size_of("x"))
    for number in range(4):
        lone.append("x", timestamp=T0 + number)
    assert kafka.time_index_entries(lone.file(f"t-0/{START:020d}.timeindex")) == [(T0 + 2, 2)]
    assert kafka.time_index_entries(lone.file(f"t-0/{START + 3:020d}.timeindex")) == []
    lone.close()
    assert kafka.time_index_entries(lone.file(f"t-0/{START + 3:020d}.timeindex")) == [(T0 + 3, 0)]


def test_a_cut_leaves_indexes_as_if_the_batches_had_never_been() -> None:
    """5.4, 5.51 After a truncation index and time index are those of the batches that stayed, and go on from there."""
    cut, never = LoneLog(index_interval_bytes=100), LoneLog(index_interval_bytes=100)
    for number in range(9):
        cut.append(timestamp=T0 + number)
        if number < 5:
            never.append(timestamp=T0 + number)
    cut.log.truncate_to(START + 5)
    for lone in (cut, never):
        for number in range(4):
            lone.append("after", timestamp=T0 + 100 + number)
    assert cut.disk.files == never.disk.files
    assert kafka.index_entries(cut.file(f"t-0/{START:020d}.index"))


# -- flush intervals (5.41) ---------------------------------------------------------------------------------------------


def test_nothing_is_synced_unasked() -> None:
    """5.41 By default the operating system decides: appends count at once, and a power cut takes them all."""
    lone = LoneLog()
    lone.append("x", "y")
    lone.world.advance(600_000)
    assert (lone.log.counted_end, lone.log.durable_end) == (START + 2, START)
    assert lone.log.settled
    assert lone.restart(lossy=True).leo <= START


@pytest.mark.parametrize("interval", [1, 2, 3, 5])
def test_the_append_that_reaches_the_interval_counts_after_its_sync(interval: int) -> None:
    """5.41 flush.messages=n: the first n - 1 records count at once, the n-th only when all n are durable."""
    lone = LoneLog(flush_messages=interval)
    lone.log.assign_epoch(0, START)
    lone.world.run()
    counted: list[int] = []
    lone.log.on_counted = lambda: counted.append(lone.log.counted_end)
    lone.hold()
    for number in range(interval - 1):
        lone.append()
        assert (lone.log.counted_end, lone.log.settled) == (START + number + 1, True)
    lone.append()
    assert (lone.log.leo, lone.log.counted_end) == (START + interval, START + interval - 1)
    assert (counted, lone.log.settled) == ([], False)
    lone.release()
    assert (lone.log.counted_end, lone.log.durable_end) == (START + interval, START + interval)
    assert (counted, lone.log.settled) == ([START + interval], True)


def test_a_batch_counts_with_all_its_records() -> None:
    """5.41 The interval is in records: one batch of three reaches three."""
    lone = LoneLog(flush_messages=3)
    lone.hold()
    lone.append("x", "y", "z")
    assert lone.log.counted_end == START
    lone.release()
    assert lone.log.counted_end == START + 3


def test_appends_during_a_flush_wait_for_their_own() -> None:
    """5.41 What comes while a sync is under way is not covered by it: with flush.messages=1 it counts after a sync of its own."""
    lone = LoneLog(flush_messages=1)
    lone.hold()
    lone.append("first")
    lone.append("second")
    held, lone.disk.held = lone.disk.held or [], []
    for call in held:
        call()
    assert (lone.log.leo, lone.log.counted_end, lone.log.durable_end) == (START + 2, START + 1, START + 1)
    lone.release()
    assert (lone.log.counted_end, lone.log.durable_end) == (START + 2, START + 2)


def test_a_sync_from_before_a_cut_says_nothing_about_what_came_after() -> None:
    """5.4, 5.41 A sync under way when the log is cut does not make durable, or count, what is written in place of the old."""
    lone = LoneLog(flush_messages=1)
    lone.append("kept")
    lone.hold()
    lone.append("old")
    lone.log.truncate_to(START + 1)
    held, lone.disk.held = lone.disk.held or [], []
    lone.append("new", epoch=1)
    for call in held:
        call()
    assert (lone.log.leo, lone.log.durable_end, lone.log.counted_end) == (START + 2, START + 1, START + 1)
    lone.release()
    assert (lone.log.durable_end, lone.log.counted_end, lone.log.settled) == (START + 2, START + 2, True)


def test_flush_ms_syncs_by_itself() -> None:
    """5.41 flush.ms: what was appended is durable that much later, even if nothing follows; until then it counts undurable."""
    lone = LoneLog(flush_ms=100)
    lone.append()
    lone.world.advance(99)
    assert (lone.log.counted_end, lone.log.durable_end) == (START + 1, START)
    lone.world.advance(1)
    assert lone.log.durable_end == START + 1


def test_an_append_after_the_interval_waits_for_its_sync() -> None:
    """5.41 flush.ms since the last flush: the next append counts after its sync."""
    lone = LoneLog(flush_ms=100)
    lone.world.advance(100)
    lone.hold()
    lone.append()
    assert (lone.log.leo, lone.log.counted_end) == (START + 1, START)
    lone.release()
    assert (lone.log.counted_end, lone.log.durable_end) == (START + 1, START + 1)


def test_a_sync_tells_when_it_is_done_and_not_before() -> None:
    """5.41 `then` comes once all segments are durable; a lossy crash afterwards loses nothing."""
    lone = LoneLog(segment_bytes=2 * size_of("x"))
    for _ in range(5):
        lone.append("x")
    done: list[int] = []
    lone.hold()
    lone.log.sync(lambda: done.append(lone.log.durable_end))
    assert done == []
    lone.release()
    assert done == [START + 5]
    assert lone.restart(lossy=True).leo == START + 5


def test_a_new_epoch_is_durable_before_the_log_is_settled() -> None:
    """5.2, 5.41 Until an assign is durable the log is not settled; then it says so. The same epoch again changes nothing."""
    lone = LoneLog()
    told: list[str] = []
    lone.log.on_settled = lambda: told.append("settled")
    lone.hold()
    lone.log.assign_epoch(4, START)
    assert (told, lone.log.settled) == ([], False)
    lone.release()
    assert (told, lone.log.settled) == (["settled"], True)
    assert lone.disk.durable[EPOCHS] == b"0\n1\n4 1000\n"
    lone.hold()
    lone.log.assign_epoch(4, START + 7)
    assert (lone.log.settled, lone.log.epochs) == (True, ((4, START),))


def test_a_cut_below_the_recovery_point_lowers_it_first() -> None:
    """5.41 A recovery point above a cut would vouch for bytes that were never synced: the log is not settled until the lower one
    is durable."""
    lone = LoneLog()
    for _ in range(4):
        lone.append()
    lone.log.sync()
    lone.checkpoint()
    assert lone.disk.durable[RECOVERY] == b"0\n1\nt 0 1004\n"
    lone.hold()
    lone.log.truncate_to(START + 2)
    assert not lone.log.settled
    lone.release()
    assert lone.disk.durable[RECOVERY] == b"0\n1\nt 0 1002\n"
    assert lone.log.settled


# -- reading (7.7) ------------------------------------------------------------------------------------------------------


def three_batches() -> tuple[LoneLog, list[bytes]]:
    """Offsets 1000 to 1001, 1002, and 1003 to 1005."""
    lone = LoneLog()
    return lone, [lone.append("a", "b"), lone.append("c"), lone.append("d", "e", "f")]


def test_a_read_starts_with_the_batch_that_contains_the_offset() -> None:
    """7.7 In the middle of a batch too; the client drops what lies below."""
    lone, (first, second, third) = three_batches()
    assert lone.log.read(START, START + 6, 10_000, False) == first + second + third
    assert lone.log.read(START + 1, START + 6, 10_000, False) == first + second + third
    assert lone.log.read(START + 2, START + 6, 10_000, False) == second + third
    assert lone.log.read(START + 5, START + 6, 10_000, False) == third
    assert lone.log.read(START + 6, START + 6, 10_000, True) == b""


def test_a_read_never_goes_beyond_its_end() -> None:
    """7.1, 7.7 A batch that reaches beyond `end` is left out whole, even where at least one was asked for."""
    lone, (first, second, third) = three_batches()
    for end, expected in ((1, b""), (2, first), (3, first + second), (4, first + second), (5, first + second)):
        assert lone.log.read(START, START + end, 10_000, True) == expected
        assert lone.log.readable_bytes(START, START + end) == len(expected)
    assert lone.log.read(START, START + 6, 10_000, True) == first + second + third
    assert lone.log.read(START + 3, START + 5, 1, True) == b""


def test_a_read_takes_whole_batches_within_its_limit() -> None:
    """7.7 To the byte: a limit that just reaches a batch's end includes it, one byte less does not."""
    lone, (first, second, third) = three_batches()
    end, two = START + 6, len(first) + len(second)
    assert lone.log.read(START, end, two, False) == first + second
    assert lone.log.read(START, end, two - 1, False) == first
    assert lone.log.read(START, end, two + len(third) - 1, False) == first + second
    assert lone.log.read(START, end, two + len(third), False) == first + second + third


def test_only_the_first_read_may_exceed_its_limit_and_by_one_batch() -> None:
    """7.7 However large the first batch, somebody who asked for at least one gets it, and it alone."""
    lone, (first, second, third) = three_batches()
    for limit in (0, 1, len(first) - 1):
        assert lone.log.read(START, START + 6, limit, True) == first
        assert lone.log.read(START, START + 6, limit, False) == b""
    assert lone.log.read(START + 2, START + 6, 1, True) == second
    assert lone.log.read(START + 4, START + 6, 1, True) == third


def test_a_read_is_of_one_segment() -> None:
    """7.7, 5.40 Readers come again for the next segment, at the end of what they got; what lies there counts for those who wait
    for more."""
    lone = LoneLog(segment_bytes=2 * size_of("x"))
    parts = [lone.append("x") for _ in range(5)]
    assert lone.log.read(START, START + 5, 10_000, False) == parts[0] + parts[1]
    assert lone.log.read(START + 3, START + 5, 10_000, False) == parts[3]
    assert lone.log.read(START + 4, START + 5, 10_000, False) == parts[4]
    one = len(parts[0])
    assert [lone.log.readable_bytes(START, START + end) for end in range(6)] == [0, one, 2 * one, 3 * one, 4 * one, 5 * one]
    assert lone.log.readable_bytes(START + 3, START + 5) == 2 * one


def test_a_failing_disk_reads_nothing_and_fails_once() -> None:
    """10.1 None instead of bytes, one failure told, and no append afterwards."""
    lone, _ = three_batches()
    lone.disk.broken = IoError("gone")
    assert lone.log.read(START, START + 6, 10_000, True) is None
    assert lone.log.read(START, START + 6, 10_000, True) is None
    data = stamped(encode([Record(b"late")]), START + 6, 0)
    assert not lone.log.append(data, header_of(data), START + 6, 0)
    assert (lone.failures, lone.log.leo) == ([IoError("gone")], START + 6)


# -- timestamps (7.9) ---------------------------------------------------------------------------------------------------


def timed() -> LoneLog:
    """Two records a batch, times out of order: 1000 @10, 1001 @30 | 1002 @20, 1003 @40 | 1004 @40, 1005 @15."""
    lone = LoneLog(segment_bytes=2 * size_of("xx", "xx"))
    for times in ((10, 30), (20, 40), (40, 15)):
        lone.append_bytes(encode([Record(b"xx", timestamp=time) for time in times]))
    return lone


@pytest.mark.parametrize(
    ("timestamp", "found"),
    [(0, (0, 10)), (10, (0, 10)), (11, (1, 30)), (30, (1, 30)), (31, (3, 40)), (40, (3, 40)), (41, None)],
)
def test_the_first_record_that_is_not_older(timestamp: int, found: tuple[int, int] | None) -> None:
    """7.9 By offset, not by time: the first record whose time is at or after the one asked for."""
    expected = None if found is None else (START + found[0], found[1])
    assert timestamps.first_at_or_after(timed().log, timestamp, START + 6) == expected


def test_times_beyond_the_readable_end_are_not_found() -> None:
    """7.9 Only below the readable end: a batch that reaches beyond it does not count."""
    log = timed().log
    assert timestamps.first_at_or_after(log, 31, START + 2) is None
    assert timestamps.first_at_or_after(log, 31, START + 3) is None
    assert timestamps.first_at_or_after(log, 31, START + 4) == (START + 3, 40)
    assert timestamps.largest(log, START + 2) == (START + 1, 30)
    assert timestamps.largest(log, START) is None


def test_the_largest_timestamp_is_found_at_its_first_record() -> None:
    """7.9 -3: of two records with the largest time, the first; in the segment where it is."""
    assert timestamps.largest(timed().log, START + 6) == (START + 3, 40)


def test_times_below_the_log_start_are_not_found() -> None:
    """7.9, 5.50 Records that were let go are not answers, though their bytes still lie in the segment."""
    log = timed().log
    log.hw = START + 6
    log.advance_start(START + 1)
    assert timestamps.first_at_or_after(log, 0, START + 6) == (START + 1, 30)
    log.advance_start(START + 4)
    assert timestamps.first_at_or_after(log, 20, START + 6) == (START + 4, 40)


def test_the_largest_timestamp_is_one_that_is_still_there() -> None:
    """7.9, 5.50 When the record with the largest time was let go, the largest of the others is the answer."""
    lone = LoneLog()
    for time in (50, 20, 30):
        lone.append(timestamp=time)
    lone.log.hw = START + 3
    lone.log.advance_start(START + 1)
    assert timestamps.largest(lone.log, START + 3) == (START + 2, 30)


# -- the start of a log (5.50) ------------------------------------------------------------------------------------------


def test_the_log_start_only_moves_forward_and_stops_at_the_hw() -> None:
    """5.50 Never beyond the HW, never backwards."""
    lone, _ = three_batches()
    lone.log.hw = START + 3
    for asked, expected in ((START + 1, 1), (START, 1), (START - 500, 1), (START + 2, 2), (START + 6, 3), (START + 1, 3)):
        lone.log.advance_start(asked)
        assert lone.log.log_start == START + expected
    assert (lone.log.hw, lone.log.leo, lone.bases()) == (START + 3, START + 6, [START])


def test_the_epoch_that_covers_the_new_start_moves_there() -> None:
    """5.49 Older epochs go, the covering one starts at the log start, later ones stay; on the disk too."""
    lone = LoneLog()
    for epoch in (0, 0, 3, 3, 7):
        lone.append(epoch=epoch)
    lone.log.hw = START + 5
    lone.log.advance_start(START + 1)
    assert list(lone.log.epochs) == [(0, START + 1), (3, START + 2), (7, START + 4)]
    lone.log.advance_start(START + 3)
    lone.world.run()
    assert list(lone.log.epochs) == [(3, START + 3), (7, START + 4)]
    assert kafka.epoch_checkpoint(lone.disk.durable[EPOCHS]) == [(3, START + 3), (7, START + 4)]


def test_producers_below_the_new_start_are_forgotten() -> None:
    """5.49, 6.11 A producer whose last record was let go is unknown again; a batch that the start cuts through still speaks."""
    lone = LoneLog()
    lone.append("a", "b", producer_id=1, producer_epoch=0, base_sequence=0)
    lone.append("c", producer_id=2, producer_epoch=0, base_sequence=0)
    lone.log.hw = START + 3
    lone.log.advance_start(START + 1)
    assert set(lone.log.producers) == {1, 2}
    lone.log.advance_start(START + 2)
    assert set(lone.log.producers) == {2}


# -- cutting (5.4) ------------------------------------------------------------------------------------------------------


def test_a_cut_takes_every_batch_that_reaches_it() -> None:
    """5.4 A batch is cut as a whole; segments that begin at or behind the cut are gone from the disk, the HW is not above the
    end."""
    lone = LoneLog(segment_bytes=2 * size_of("x", "y"))
    parts = [lone.append("x", "y") for _ in range(5)]
    lone.log.hw = START + 9
    lone.log.truncate_to(START + 7)  # in the middle of the fourth
    assert (lone.log.leo, lone.log.hw, lone.bases()) == (START + 6, START + 6, [START, START + 4])
    assert b"".join(batch.data for batch in lone.on_disk()) == b"".join(parts[:3])
    assert {path for path in lone.disk.files if f"{START + 8:020d}" in path} == set()
    lone.log.truncate_to(START + 4)
    assert (lone.log.leo, lone.bases()) == (START + 4, [START])


def test_a_cut_at_or_behind_the_end_takes_only_epochs_without_records() -> None:
    """5.4 No record goes, nor what is durable; an epoch that was assigned at the end and never used does (B10a)."""
    lone, _ = three_batches()
    lone.log.sync()
    lone.log.assign_epoch(5, START + 6)
    lone.world.run()
    lone.log.truncate_to(START + 100)
    lone.world.run()
    assert (lone.log.leo, lone.log.durable_end, lone.log.epochs) == (START + 6, START + 6, ((0, START),))
    assert lone.disk.durable[EPOCHS] == b"0\n1\n0 1000\n"


def test_a_cut_forgets_what_was_derived_from_the_cut_records() -> None:
    """5.4, 6.11 Producers and epochs are those of the records that stayed (B10b)."""
    lone = LoneLog()
    lone.append("a", producer_id=1, producer_epoch=0, base_sequence=0)
    lone.append("b", epoch=1, producer_id=1, producer_epoch=0, base_sequence=1)
    lone.append("c", epoch=1, producer_id=2, producer_epoch=0, base_sequence=0)
    lone.log.truncate_to(START + 1)
    assert lone.log.producers == {1: ProducerEntry(0, (ProducedBatch(0, 0, START, START),))}
    assert lone.log.epochs == ((0, START),)


def test_a_cut_below_the_log_start_leaves_an_empty_log() -> None:
    """5.4 Inside the first segment: start, HW and end are the cut, though older batches still lie in the file."""
    lone, (first, _, _) = three_batches()
    lone.log.hw = START + 6
    lone.log.advance_start(START + 3)
    lone.log.truncate_to(START + 2)
    assert (lone.log.log_start, lone.log.hw, lone.log.leo) == (START + 2, START + 2, START + 2)
    assert (lone.log.epochs, [batch.data for batch in lone.on_disk()]) == ((), [first])


def test_a_cut_below_the_first_segment_begins_anew_there() -> None:
    """5.4, 5.24 Nothing of the old log is left, and the next batch goes where the cut was."""
    lone, _ = three_batches()
    lone.log.truncate_to(START - 10)
    log = lone.log
    assert (log.log_start, log.hw, log.leo, log.epochs, log.producers) == (START - 10, START - 10, START - 10, (), {})
    lone.append("new", epoch=2)
    assert [(batch.base_offset, batch.leader_epoch) for batch in lone.on_disk()] == [(START - 10, 2)]


# -- restarting (5.23, 5.44) --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [0, START - 1, START, START + 2, START + 6, START + 5_000])
def test_a_restarted_log_is_empty_at_its_new_start(offset: int) -> None:
    """5.23 Everything is forgotten: records, epochs, producers; start, end and HW are the new offset, on the disk too."""
    lone, _ = three_batches()
    lone.append("p", producer_id=1, producer_epoch=0, base_sequence=0)
    lone.log.restart_at(offset)
    lone.world.run()
    log = lone.log
    assert (log.log_start, log.hw, log.leo, log.epochs, log.producers) == (offset, offset, offset, (), {})
    assert (lone.bases(), lone.on_disk(), lone.file(EPOCHS)) == ([offset], [], b"0\n0\n")
    assert log.durable_end <= offset
    data = lone.append("new", epoch=3)
    assert log.read(offset, offset + 1, 10_000, True) == data
    assert lone.restart().leo == offset + 1


@pytest.mark.parametrize("offset", [START - 1, START + 2, START + 6, START + 5_000])
def test_a_restarted_log_has_nothing_left_to_wait_for(offset: int) -> None:
    """5.23, 5.41 An empty log counts as it is: it is settled once its files are, so its follower can ask for the next records."""
    lone, _ = three_batches()
    lone.log.restart_at(offset)
    lone.world.run()
    assert lone.log.counted_end == offset
    assert lone.log.settled


def test_a_removed_log_leaves_nothing() -> None:
    """5.12 No file of the partition is left, on any segment, after a power cut either."""
    lone = LoneLog(segment_bytes=2 * size_of("x"))
    for _ in range(5):
        lone.append("x")
    lone.log.sync()
    lone.world.run()
    lone.log.remove()
    lone.world.run()
    assert [path for path in lone.disk.files if path.startswith("t-0/")] == []
    assert [path for path in lone.disk.durable if path.startswith("t-0/")] == []


# -- producers and epochs -----------------------------------------------------------------------------------------------


def test_producers_as_the_log_alone_tells_them() -> None:
    """6.8, 6.10, 6.11 The last five batches of a producer, one epoch at a time, sequences wrapping behind 2^31 - 1."""
    lone = LoneLog()
    for number in range(6):
        lone.append("x", "y", producer_id=1, producer_epoch=0, base_sequence=2 * number)
    lone.append("x", "y", producer_id=2, producer_epoch=0, base_sequence=2**31 - 1)
    lone.append("x", producer_id=3, producer_epoch=0, base_sequence=5)
    lone.append("x", producer_id=3, producer_epoch=1, base_sequence=0)
    lone.append("nobody's")
    expected = {
        1: ProducerEntry(0, tuple(ProducedBatch(2 * n, 2 * n + 1, START + 2 * n, START + 2 * n + 1) for n in range(1, 6))),
        2: ProducerEntry(0, (ProducedBatch(2**31 - 1, 0, START + 12, START + 13),)),
        3: ProducerEntry(1, (ProducedBatch(0, 0, START + 15, START + 15),)),
    }
    assert lone.log.producers == expected
    assert lone.log.replayed_producers() == expected


def test_the_epoch_of_an_offset() -> None:
    """5.2 The epoch under which an offset was appended, or at the end would be; none below the first."""
    lone = LoneLog()
    for epoch in (2, 2, 5):
        lone.append(epoch=epoch)
    assert [lone.log.epoch_of(START + n) for n in (-1, 0, 1, 2, 3)] == [-1, 2, 2, 5, 5]
    assert (lone.log.latest_epoch, LoneLog().log.latest_epoch) == (5, -1)


@pytest.mark.parametrize("end", [lambda lone: lone.restart(clean=True), lambda lone: lone.restart()], ids=["clean", "unclean"])
def test_a_log_that_starts_late_is_found_again(end: Callable[[LoneLog], Log]) -> None:
    """5.5, 5.6 A start inside a segment comes from its checkpoint, and nothing is taken to start at 0."""
    lone = LoneLog(segment_bytes=2 * size_of("x"))
    for epoch in (1, 1, 1, 4, 4):
        lone.append("x", epoch=epoch)
    lone.log.hw = START + 4
    lone.log.advance_start(START + 1)
    lone.checkpoint()
    log = end(lone)
    assert (log.log_start, log.hw, log.leo, log.first_segment_base) == (START + 1, START + 4, START + 5, START)
    assert log.epochs == ((1, START + 1), (4, START + 3))
