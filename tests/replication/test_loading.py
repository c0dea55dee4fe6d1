"""A log found again: what a stop left, what the checkpoints say, and what becomes of it (5.5, 5.6, 5.42)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from replication.batch import Record, encode
from tests.replication import kafka_files as kafka
from tests.replication.lone_log import EPOCHS, HW, LOG_START, RECOVERY, START, T0, LoneLog, size_of
from tests.replication.scripted import Story

FIRST = f"t-0/{START:020d}"


def segments_of_two(batches: int = 6, *, epochs: tuple[int, ...] = ()) -> LoneLog:
    """One record a batch, two batches a segment."""
    lone = LoneLog(segment_bytes=2 * size_of("x"), index_interval_bytes=0)
    for number in range(batches):
        lone.append("x", epoch=epochs[number] if epochs else 0, timestamp=T0 + number)
    return lone


def files_of(lone: LoneLog) -> dict[str, bytes]:
    return {path: bytes(content) for path, content in lone.disk.files.items()}


# -- which bytes are kept (5.5) -----------------------------------------------------------------------------------------


def test_a_log_that_nobody_hurt_is_found_whole() -> None:
    """5.5 After a crash of the process alone, and after a clean stop, every batch, epoch and producer is there again."""
    for clean in (False, True):
        lone = segments_of_two(5, epochs=(0, 0, 2, 2, 5))
        lone.append("p", epoch=5, producer_id=1, producer_epoch=0, base_sequence=0)
        before = [batch.data for batch in lone.on_disk()], lone.log.leo, lone.log.epochs, lone.log.producers
        log = lone.restart(clean=clean)
        assert ([batch.data for batch in lone.on_disk()], log.leo, log.epochs, log.producers) == before
        assert lone.dropped == 0


def test_a_torn_batch_is_dropped_from_the_disk() -> None:
    """5.5 The last batch lacks one byte: it is gone, its bytes too, and the next append follows the one before."""
    lone = segments_of_two(4)
    lone.crash()
    torn = f"t-0/{START + 2:020d}.log"
    lone.disk.files[torn].pop()
    assert lone.open().leo == START + 3
    assert lone.dropped == size_of("x") - 1
    assert len(lone.file(torn)) == size_of("x")
    lone.append("next", epoch=1)
    assert [batch.base_offset for batch in lone.on_disk()] == [START + n for n in range(4)]


def test_a_broken_batch_takes_all_later_segments_with_it() -> None:
    """5.5 Nobody can tell what a batch behind a broken one followed: segments behind it go, whole as they are, with their
    indexes."""
    lone = segments_of_two(8)
    lone.crash()
    lone.disk.files[f"t-0/{START + 2:020d}.log"][size_of("x") + 30] ^= 1  # in 1003
    assert lone.open().leo == START + 3
    assert lone.bases() == [START, START + 2]
    assert not [path for path in lone.disk.files if f"{START + 4:020d}" in path or f"{START + 6:020d}" in path]
    assert not [path for path in lone.disk.durable if f"{START + 4:020d}" in path or f"{START + 6:020d}" in path]
    assert lone.dropped == 5 * size_of("x")


def test_a_missing_segment_ends_the_log() -> None:
    """5.5 A log has no gaps: behind a lost segment nothing is kept."""
    lone = segments_of_two(6)
    lone.crash()
    for ending in ("log", "index", "timeindex"):
        del lone.disk.files[f"t-0/{START + 2:020d}.{ending}"]
    assert (lone.open().leo, lone.bases(), lone.dropped) == (START + 2, [START], 2 * size_of("x"))


def test_a_wrong_base_offset_shows_as_a_gap() -> None:
    """5.5 It lies outside the CRC, but offsets have no gaps: the log ends before it."""
    lone = segments_of_two(2)
    lone.crash()
    lone.disk.files[f"{FIRST}.log"][size_of("x") + 7] ^= 8
    assert lone.open().leo == START + 1


def test_a_clean_marker_vouches_for_every_byte() -> None:
    """5.5 Clean: trusted without looking, so rot is not noticed; unclean: the same rot ends the log."""
    for clean, leo in ((True, START + 4), (False, START + 1)):
        lone = segments_of_two(4)
        lone.crash()
        lone.disk.files[f"{FIRST}.log"][size_of("x") + 63] ^= 1
        assert lone.open(clean=clean).leo == leo


def test_the_recovery_point_vouches_for_what_is_below_it() -> None:
    """5.5 Rot below the recovery point is not looked for; at the point itself, the batch that ends there is still trusted."""
    for point, leo in ((START + 2, START + 4), (START + 1, START + 1)):
        lone = segments_of_two(4)
        lone.crash()
        lone.disk.files[f"{FIRST}.log"][size_of("x") + 63] ^= 1  # in 1001, which ends at 1002
        assert lone.open(recovery_point=point).leo == leo


def test_what_is_durable_after_an_unclean_stop() -> None:
    """5.41 No more than the recovery point, however long the log: the rest may still be in memory only; a sync makes it so."""
    lone = segments_of_two(3)
    lone.checkpoint()
    lone.append("x")
    assert lone.log.durable_end == START + 2
    log = lone.restart()
    assert (log.leo, log.durable_end) == (START + 4, START + 2)
    log.sync()
    lone.world.run()
    assert log.durable_end == START + 4
    assert lone.restart(lossy=True).leo == START + 4


def test_a_sync_after_an_unclean_stop_covers_every_segment() -> None:
    """5.41 Nothing was written back before the crash: a sync makes all segments durable, not only the one that grows."""
    lone = segments_of_two(5)
    lone.crash()
    lone.disk.durable.clear()
    log = lone.open()
    assert log.durable_end == START
    log.sync()
    lone.world.run()
    assert log.durable_end == START + 5
    log = lone.restart(lossy=True)
    assert (log.log_start, log.leo, lone.bases()) == (START, START + 5, [START, START + 2, START + 4])


def test_a_recovery_point_beyond_the_end_vouches_for_nothing_new() -> None:
    """5.41 The disk lost what it had promised to keep. What is written in place of it was never synced, so a torn batch among it
    is still noticed at the next load."""
    lone = segments_of_two(1)
    for _ in range(3):
        lone.append("x")
    lone.log.sync()
    lone.checkpoint()
    lone.crash()
    for path in [path for path in lone.disk.files if path.endswith(".log") and not path.startswith(FIRST)]:
        del lone.disk.files[path]
    assert lone.open().leo == START + 2
    lone.append("x")
    lone.append("x")
    lone.crash()
    lone.disk.files[f"t-0/{START + 2:020d}.log"][-1] ^= 1
    assert lone.open().leo == START + 3


# -- checkpoints (5.6) --------------------------------------------------------------------------------------------------

BAD_TEXTS = [
    b"",
    b"\xff\xfe\x00",
    b"1\n1\nt 0 1002\n",
    b"0\n2\nt 0 1002\n",
    b"0\n0\nt 0 1002\n",
    b"0\n1\nt 0\n",
    b"0\n1\nt 0 many\n",
]


@pytest.mark.parametrize("text", BAD_TEXTS)
def test_a_damaged_checkpoint_is_as_good_as_none(text: bytes) -> None:
    """5.6 HW: it starts again from the log start. Log start: the first segment's base. Recovery point: everything is checked."""
    lone = segments_of_two(4)
    lone.log.hw = START + 3
    lone.log.advance_start(START + 1)
    lone.log.sync()
    lone.checkpoint()
    good = files_of(lone)
    assert (lone.restart().log_start, lone.log.hw, lone.log.durable_end) == (START + 1, START + 3, START + 4)
    for path, expected in (
        (HW, (START + 1, START + 1, START + 4)),
        (LOG_START, (START, START + 3, START + 4)),
        (RECOVERY, (START + 1, START + 3, START)),
    ):
        lone.disk.files = {name: bytearray(content) for name, content in good.items()}
        lone.disk.files[path] = bytearray(text)
        log = lone.open()
        assert (log.log_start, log.hw, log.durable_end) == expected, path


@pytest.mark.parametrize(("checkpoint", "expected"), [(0, 1), (1, 1), (3, 3), (4, 4), (9, 4), (None, 1)])
def test_the_hw_at_load_is_within_the_log(checkpoint: int | None, expected: int) -> None:
    """5.6 The checkpoint, clamped to [log start, LEO]; without one the log start."""
    lone = segments_of_two(4)
    lone.log.hw = START + 1
    lone.log.advance_start(START + 1)
    lone.checkpoint()
    lone.crash()
    entries = "0\n" if checkpoint is None else f"1\nt 0 {START + checkpoint}\n"
    lone.disk.files[HW] = bytearray(f"0\n{entries}".encode())
    assert lone.open().hw == START + expected


@pytest.mark.parametrize("beyond", [1, 2, 5_000])
def test_a_log_start_beyond_the_end_begins_the_log_there(beyond: int) -> None:
    """5.5, 5.50 Records below the log start were let go: a log that lost all behind it is empty there, with nothing to wait for,
    and goes on from there."""
    lone = segments_of_two(3)
    lone.crash()
    start = START + 3 + beyond
    lone.disk.files[LOG_START] = bytearray(f"0\n1\nt 0 {start}\n".encode())
    log = lone.open()
    assert (log.log_start, log.hw, log.leo, log.epochs, log.producers) == (start, start, start, (), {})
    assert (lone.bases(), lone.on_disk()) == ([start], [])
    lone.append("on", epoch=3)
    assert lone.restart().epochs == ((3, start),)


def test_a_log_that_begins_anew_at_load_is_settled() -> None:
    """5.41 Its end counts: it is empty, so no sync is owed, and its follower may fetch."""
    lone = segments_of_two(3)
    lone.crash()
    lone.disk.files[LOG_START] = bytearray(b"0\n1\nt 0 5000\n")
    log = lone.open()
    assert (log.counted_end, log.settled) == (5_000, True)


def test_a_log_start_inside_the_log_hides_what_is_below() -> None:
    """5.5 Epochs and producers are those from the log start on."""
    lone = LoneLog()
    for number, epoch in enumerate((0, 1, 4)):
        lone.append("x", "y", epoch=epoch, producer_id=number, producer_epoch=0, base_sequence=0)
    lone.crash()
    lone.disk.files[LOG_START] = bytearray(f"0\n1\nt 0 {START + 3}\n".encode())
    log = lone.open()
    assert (log.log_start, log.epochs, set(log.producers)) == (START + 3, ((1, START + 3), (4, START + 4)), {1, 2})


def test_an_empty_directory_is_an_empty_log() -> None:
    """5.5 A new log starts at 0, or where its log-start checkpoint says, and has its three files at once."""
    for start in (None, START):
        lone = LoneLog(start=start)
        base = start or 0
        assert (lone.log.log_start, lone.log.hw, lone.log.leo, lone.log.settled) == (base, base, base, True)
        assert sorted(path for path in lone.disk.files if path != EPOCHS) == [
            f"t-0/{base:020d}.{ending}" for ending in ("index", "log", "timeindex")
        ]


# -- the epoch cache (5.42) ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [None, b"", b"0\n0\n", b"0\n1\n0 1000\n", b"1\n1\n9 1000\n", b"0\n2\n5 1000\n3 1002\n", b"0\n2\n0 1003\n3 1003\n", b"\x80"],
    ids=["missing", "empty", "none", "behind", "other version", "falling", "standing", "binary"],
)
def test_batches_bring_back_the_epochs_that_the_cache_lacks(text: bytes | None) -> None:
    """5.42 A cache that is missing, damaged or behind is completed from the batches, and written again."""
    lone = segments_of_two(5, epochs=(0, 0, 3, 3, 4))
    lone.crash()
    del lone.disk.files[EPOCHS]
    if text is not None:
        lone.disk.files[EPOCHS] = bytearray(text)
    expected = (0, START), (3, START + 2), (4, START + 4)
    assert lone.open().epochs == expected
    assert kafka.epoch_checkpoint(lone.file(EPOCHS)) == list(expected)


def test_epochs_of_lost_records_are_trimmed() -> None:
    """5.5, 5.4 The cache is written apart from the log: what it says about offsets that did not survive goes, and so does an
    epoch that never had a record."""
    lone = segments_of_two(4, epochs=(0, 0, 0, 7))
    lone.log.assign_epoch(9, START + 4)
    lone.world.run()
    assert lone.restart().epochs == ((0, START), (7, START + 3))
    lone.crash()
    lone.disk.files[f"t-0/{START + 2:020d}.log"].pop()
    assert lone.open().epochs == ((0, START),)
    assert lone.file(EPOCHS) == b"0\n1\n0 1000\n"


@pytest.mark.parametrize("start", [1, 3, 4])
def test_records_that_come_back_bring_their_epochs(start: int) -> None:
    """5.42, 5.49 The log start moved, and the cache with it, but its checkpoint was not written: after the crash the records
    below are there again, and a log with records must have epochs for them (5.11)."""
    lone = segments_of_two(4, epochs=(0, 0, 3, 3))
    lone.log.hw = START + 4
    lone.log.advance_start(START + start)
    lone.world.run()
    log = lone.restart()
    assert (log.log_start, log.leo) == (START, START + 4)
    assert log.epochs == ((0, START), (3, START + 2))


def test_a_cut_that_a_power_cut_undoes_leaves_epochs_as_the_batches_say() -> None:
    """5.2, 5.42 A follower cut epoch 1 away and took epoch 2 in its place. However much of that was durable when the power went:
    where batches of epoch 1 are back, the cache does not call them epoch 2, which would hide them from every leader."""
    for durable in range(8):
        lone = LoneLog()
        for epoch in (0, 0, 1, 1):
            lone.append(epoch=epoch)
        lone.log.sync()
        lone.world.run()
        lone.hold()
        lone.log.truncate_to(START + 2)
        for _ in range(durable):
            if lone.log.settled and lone.log.leo == START + 2:
                lone.append(epoch=2)
                lone.log.sync()
            if lone.disk.held:
                lone.disk.held.pop(0)()
        log = lone.restart(lossy=True)
        told = [batch.leader_epoch for batch in lone.on_disk()]
        assert told in ([0, 0, 1, 1], [0, 0], [0, 0, 2])
        assert [log.epoch_of(batch.base_offset) for batch in lone.on_disk()] == told


# -- index files --------------------------------------------------------------------------------------------------------


def damages() -> list[tuple[str, Callable[[dict[str, bytearray], str], object]]]:
    return [
        ("missing", lambda files, path: files.pop(path)),
        ("empty", lambda files, path: files[path].clear()),
        ("torn", lambda files, path: files[path].pop()),
        ("wrong", lambda files, path: files[path].__setitem__(3, 0x55)),
        ("too long", lambda files, path: files[path].extend(bytes(24))),
    ]


@pytest.mark.parametrize("ending", ["index", "timeindex"])
@pytest.mark.parametrize(("_name", "damage"), damages(), ids=[name for name, _ in damages()])
@pytest.mark.parametrize("clean", [True, False], ids=["clean", "unclean"])
def test_a_wrong_index_is_mended(
    _name: str, damage: Callable[[dict[str, bytearray], str], object], ending: str, clean: bool
) -> None:
    """5.5, 5.51 However an index was damaged, after the load it is what the batches say; a clean marker does not vouch for it."""
    lone = segments_of_two(6)
    lone.crash()
    right = files_of(lone)
    assert right[f"{FIRST}.{ending}"]
    damage(lone.disk.files, f"{FIRST}.{ending}")
    lone.open(clean=clean)
    assert files_of(lone) == right


def test_indexes_go_on_behind_a_load() -> None:
    """5.51 A log that was stopped in the middle and one that was not have the same files in the end."""
    for clean in (True, False):
        stopped, other = segments_of_two(3), segments_of_two(3)
        stopped.restart(clean=clean)
        for lone in (stopped, other):
            for number in range(3, 8):
                lone.append("x", timestamp=T0 + number)
        paths = [path for path in other.disk.files if path.startswith("t-0/")]
        assert {path: stopped.file(path) for path in paths} == {path: other.file(path) for path in paths}


def test_an_index_without_its_log_is_not_taken_up_by_a_new_segment() -> None:
    """5.51 Names become durable one by one, so a power cut can leave index files whose `.log` is gone: when a segment begins
    there again, its index is its own."""
    lone = segments_of_two(4)
    lone.crash()
    path = f"t-0/{START + 2:020d}"
    del lone.disk.files[f"{path}.log"]
    assert lone.open().leo == START + 2
    lone.append("y")
    assert kafka.index_entries(lone.file(f"{path}.index")) == []
    lone.append("x")
    assert kafka.index_entries(lone.file(f"{path}.index")) == [(1, size_of("y"))]


# -- brokers ------------------------------------------------------------------------------------------------------------


def test_a_follower_that_begins_anew_goes_on_following() -> None:
    """5.23 The leader's log starts behind the follower's end: the follower wipes its log, starts there, and then copies."""
    story = Story((1, 2))
    story.controller.create("t", [1, 2])
    story.controller.publish()
    story.nodes[2].crash()
    for number in range(5):
        story.produce(1, f"x{number}", acks=1)
    story.controller.fail_over(1, [1])
    story.controller.publish()
    assert story.log(1).hw == 5
    story.log(1).advance_start(4)
    story.restart(2)
    story.world.advance(5_000)
    log = story.log(2)
    assert (log.log_start, log.leo) == (4, 5)
    story.produce(1, "y")
    story.world.advance(1_000)
    assert (log.leo, log.read(4, 6, 10_000, True)) == (6, story.log(1).read(4, 6, 10_000, True))


def test_a_batch_of_several_records_is_lost_or_kept_as_one() -> None:
    """5.1 Append is atomic per batch: after any cut through its bytes, none of its records is there."""
    whole = encode([Record(b"a", timestamp=T0), Record(b"b", timestamp=T0)])
    for left in range(0, len(whole), 7):
        lone = LoneLog()
        lone.append("first")
        data = lone.append_bytes(whole)
        lone.crash()
        del lone.disk.files[f"{FIRST}.log"][-len(data) + left :]
        assert lone.open().leo == START + 1
