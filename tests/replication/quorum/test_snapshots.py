"""Snapshots: when they are made, what the log forgets after them, and how a member that is too far behind gets one."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from replication.env import Failure
from replication.errors import Error
from replication.events import SnapshotTaken
from replication.messages import EpochEndOffset
from replication.quorum.election_state import Role
from replication.quorum.settings import QuorumSettings
from replication.quorum.snapshots import PATH, name_of, snapshot_bytes, snapshot_records
from replication.quorum_messages import (
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    QuorumFetchRequest,
    QuorumFetchResponse,
    SnapshotId,
)
from replication.rules import Rules
from tests.replication.quorum.lone import Lone, chunk_request
from tests.replication.quorum.test_following import batches, leading
from tests.replication.quorum.world import setting
from tests.replication.quorum.wrong import LoadsPartialFiles

OFTEN = msgspec.structs.replace(
    QuorumSettings(), metadata_log_max_record_bytes_between_snapshots=300, metadata_log_segment_bytes=200
)
RULES = Rules()


def snapshot_of(*values: str) -> bytes:
    return snapshot_bytes([setting(value) for value in values], 4, 7)


def log_files(lone: Lone) -> list[str]:
    return sorted(path.removeprefix(f"{PATH}/") for path in lone.disk.files if path.endswith(".log"))


def checkpoints(lone: Lone) -> list[str]:
    return sorted(path.removeprefix(f"{PATH}/") for path in lone.disk.files if ".checkpoint" in path)


# -- making them ----------------------------------------------------------------------------------------------------------


def follower_with_snapshots(settings: QuorumSettings = OFTEN, count: int = 9) -> Lone:
    """Has applied `count` decisions, one at a time."""
    lone = Lone(settings=settings).start().follow(2, 5)
    for offset in range(count):
        lone.fetched(records=batches(offset, 5, f"w{offset}"), hw=offset + 1)
    return lone


def test_a_snapshot_holds_what_was_applied_and_the_log_starts_behind_it() -> None:
    """2.32, 2.33, 2.43 Whole segments below it go."""
    lone = follower_with_snapshots()
    newest = lone.quorum.snapshots[-1]
    assert lone.quorum.log.log_start == lone.quorum.snapshots[0].end_offset > 0
    data = bytes(lone.disk.files[f"{PATH}/{name_of(newest)}"])
    assert snapshot_records(data, RULES) == tuple(setting(f"w{number}") for number in range(newest.end_offset))
    assert newest.epoch == 5
    first_segment = min(int(name.removesuffix(".log")) for name in log_files(lone))
    assert 0 < first_segment <= lone.quorum.log.log_start
    told = lone.world.told(SnapshotTaken)
    assert told[-1].end_offset == newest.end_offset


def test_without_much_news_a_snapshot_is_made_when_time_has_passed() -> None:
    """2.43"""
    hourly = QuorumSettings()
    lone = follower_with_snapshots(hourly, count=2)
    lone.advance(3_599_000)
    assert lone.quorum.snapshots == ()
    lone.advance(2_000)
    assert lone.quorum.snapshots == (SnapshotId(2, 5),)


def test_old_snapshots_go_when_there_is_too_much() -> None:
    """2.43 At least one stays."""
    tight = msgspec.structs.replace(OFTEN, metadata_max_retention_bytes=1)
    assert len(follower_with_snapshots(tight, 20).quorum.snapshots) == 1
    assert len(follower_with_snapshots(OFTEN, 20).quorum.snapshots) > 1


def test_a_member_starts_from_its_newest_snapshot() -> None:
    """2.40 First the snapshot, then the records behind it, once it is known what is committed."""
    lone = follower_with_snapshots()
    newest = lone.quorum.snapshots[-1]
    lone.restart(lossy=True)
    assert (lone.quorum.snapshots, lone.quorum.log.log_start) == ((newest,), newest.end_offset)
    assert lone.machine.calls == ["leader 2 in 5"]
    lone.fetched(hw=9)
    assert lone.machine.calls[1:] in (["snapshot"], ["snapshot", "commit"])
    assert lone.machine.words == [f"w{number}" for number in range(9)]


def test_a_snapshot_that_is_not_whole_is_no_snapshot(rules: Rules | None = None) -> None:
    """2.34, 2.43 (B50) A part of one, under the name of a part, is deleted at the start."""
    lone = follower_with_snapshots(QuorumSettings(), count=3)
    lone.rules = rules or lone.rules
    part = f"{PATH}/{name_of(SnapshotId(9, 5))}.part"
    lone.disk.files[part] = bytearray(snapshot_of("x", "y")[:-10])
    lone.restart()
    lone.fetched(hw=3)
    assert lone.machine.words == ["w0", "w1", "w2"]
    assert checkpoints(lone) == []


def test_partial_snapshots_that_are_loaded_are_seen() -> None:
    """The test above can fail: B50d."""
    with pytest.raises(AssertionError):
        test_a_snapshot_that_is_not_whole_is_no_snapshot(LoadsPartialFiles())


def test_a_damaged_snapshot_ends_the_process() -> None:
    """2.34 Nothing else holds what it held."""
    lone = follower_with_snapshots()
    newest = lone.quorum.snapshots[-1]
    path = f"{PATH}/{name_of(newest)}"
    lone.disk.files[path][80] ^= 1
    lone.restart()
    lone.fetched(hw=9)
    assert lone.env.halted == f"the snapshot ({newest.end_offset}, 5) is damaged"
    assert lone.machine.words == []


@pytest.mark.parametrize("count", [0, 1, 499, 500, 501, 1_203])
def test_a_snapshot_of_any_size_reads_back(count: int) -> None:
    """2.43"""
    records = [setting(str(number)) for number in range(count)]
    data = snapshot_bytes(records, 3, 7)
    assert snapshot_records(data, RULES) == tuple(records)
    assert snapshot_records(data[:-1], RULES) is None


def test_a_gap_left_by_a_power_cut_below_the_snapshot_is_none() -> None:
    """2.33 Segments that came back, or half of them, lie in the snapshot: what lies behind it is kept."""
    lone = follower_with_snapshots()
    first = f"{PATH}/{0:020d}.log"
    assert first not in lone.disk.files
    lone.disk.files[first] = bytearray(batches(0, 5, "w0"))
    lone.restart()
    assert lone.quorum.end_offset == 9
    assert first not in lone.disk.files


def test_a_log_that_its_snapshot_overruled_is_given_up() -> None:
    """2.34 A crash between the snapshot's last byte and the log's new start leaves both."""
    lone = Lone().start().follow(2, 3)
    lone.fetched(records=batches(0, 2, *"abcdef"), hw=0)
    lone.disk.files[f"{PATH}/{name_of(SnapshotId(4, 4))}"] = bytearray(snapshot_of("w", "x", "y", "z"))
    lone.restart()
    assert (lone.quorum.log.log_start, lone.quorum.end_offset) == (4, 4)
    assert lone.asked(QuorumFetchRequest)[-1].message.last_fetched_epoch == 4


# -- fetching them --------------------------------------------------------------------------------------------------------


class Download:
    """A follower of 2 in epoch 5 with a few records, and a snapshot (8, 4) that it is offered."""

    def __init__(self, chunk: int = 50) -> None:
        settings = msgspec.structs.replace(QuorumSettings(), controller_quorum_fetch_snapshot_max_bytes=chunk)
        self.lone = Lone(settings=settings).start().follow(2, 5)
        self.lone.fetched(records=batches(0, 3, "old", "older"), hw=0)
        self.data, self.chunk = snapshot_of(*"abcdefgh"), chunk
        self.offer()

    def offer(self) -> None:
        self.lone.fetched(snapshot_id=SnapshotId(8, 4), hw=9)

    def serve(self, **changes: Any) -> bool:
        """One chunk. False: nothing is asked any more."""
        questions = self.lone.asked(FetchSnapshotRequest)
        if not questions:
            return False
        asked = questions[-1].message
        chunk = self.data[asked.position : asked.position + self.chunk]
        answer = FetchSnapshotResponse(
            leader_id=2,
            leader_epoch=5,
            snapshot_id=asked.snapshot_id,
            size=len(self.data),
            position=asked.position,
            unaligned_records=chunk,
        )
        self.lone.answer(questions[-1], msgspec.structs.replace(answer, **changes))
        return True


def test_a_snapshot_comes_in_chunks_and_takes_the_place_of_the_log() -> None:
    """2.34 The log starts at its end, all below is committed, the state machine starts over."""
    download = Download()
    chunks = 0
    while download.serve():
        chunks += 1
    lone = download.lone
    assert chunks == -(-len(download.data) // 50) > 2
    assert (lone.quorum.log.log_start, lone.quorum.end_offset, lone.quorum.hw) == (8, 8, 8)
    assert lone.machine.words == [*"abcdefgh"]
    assert lone.quorum.snapshots == (SnapshotId(8, 4),)
    fetch = lone.asked(QuorumFetchRequest)[-1].message
    assert (fetch.fetch_offset, fetch.last_fetched_epoch) == (8, 4)
    assert checkpoints(lone) == [name_of(SnapshotId(8, 4))]
    lone.restart(lossy=True)
    assert (lone.quorum.log.log_start, lone.quorum.end_offset) == (8, 8)


def test_the_log_is_kept_until_the_snapshot_is_durable() -> None:
    """2.34 And nobody is answered between the two."""
    download = Download(chunk=10_000)
    lone = download.lone
    lone.disk.held = []
    download.serve()
    assert lone.quorum.end_offset == 2
    vote = lone.vote(3, 9, last_epoch=5, last_offset=20)
    assert vote == []
    lone.restart(lossy=True)
    assert (lone.quorum.log.log_start, lone.quorum.end_offset) == (0, 2)


@pytest.mark.parametrize("error", [Error.SNAPSHOT_NOT_FOUND, Error.POSITION_OUT_OF_RANGE, Error.NOT_LEADER_OR_FOLLOWER])
def test_a_download_that_fails_leaves_nothing_behind(error: Error) -> None:
    """2.34, 2.41 The follower asks who leads, then the leader again, from where its log is."""
    download = Download()
    download.serve()
    download.serve(error_code=error)
    lone = download.lone
    assert (checkpoints(lone), lone.quorum.end_offset) == ([], 2)
    lone.advance(50)
    other = lone.asked(QuorumFetchRequest)[-1]
    assert (other.to, other.message.fetch_offset) == (3, 2)
    lone.answer(other, QuorumFetchResponse(Error.NOT_LEADER_OR_FOLLOWER, 2, 5))
    lone.advance(100)
    download.offer()
    while download.serve():
        pass
    assert lone.machine.words == [*"abcdefgh"]


def test_a_snapshot_that_arrives_damaged_is_not_taken() -> None:
    """2.34, 5.45"""
    download = Download()
    download.data = download.data[:-1] + b"x"
    while download.serve():
        pass
    assert (checkpoints(download.lone), download.lone.quorum.end_offset) == ([], 2)
    assert download.lone.env.halted is None


def test_a_committed_record_that_cannot_be_read_ends_the_process() -> None:
    """5.45, 10.1"""
    lone = Lone().start().follow(2, 5)
    lone.fetched(records=batches(0, 5, "a", "b"), hw=1)
    lone.disk.files[f"{PATH}/{0:020d}.log"][-1] ^= 1
    lone.fetched(hw=2)
    assert lone.env.halted == "the metadata log is damaged at offset 1, which is committed"
    assert lone.machine.words == ["a"]


def test_a_download_ends_with_the_epoch_that_began_it() -> None:
    """2.16, 2.34"""
    download = Download()
    lone = download.lone
    download.serve()
    open_question = lone.asked(FetchSnapshotRequest)[-1]
    lone.follow(3, 6)
    assert checkpoints(lone) == []
    lone.answer(open_question, FetchSnapshotResponse(leader_id=2, leader_epoch=5, size=99, position=50, unaligned_records=b"x"))
    assert checkpoints(lone) == []
    assert lone.asked(QuorumFetchRequest)[-1].to == 3


def test_a_leader_that_does_not_answer_is_asked_again() -> None:
    """2.34, 2.41"""
    download = Download()
    lone = download.lone
    lone.answer(lone.asked(FetchSnapshotRequest)[-1], Failure.LOST)
    lone.advance(100)
    assert lone.asked(QuorumFetchRequest)
    assert lone.quorum.role is Role.FOLLOWER


# -- serving them ---------------------------------------------------------------------------------------------------------


def test_a_leader_serves_its_newest_snapshot_to_those_whose_position_is_gone() -> None:
    """2.24, 2.34 A fetch for it counts as a sign of life."""
    lone = leading(settings=OFTEN)
    for number in range(8):
        lone.append(f"w{number}")
        lone.fetch(2, lone.quorum.end_offset, last_epoch=1)
    newest = lone.quorum.snapshots[-1]
    start = lone.quorum.log.log_start
    assert lone.fetch(3, 0, last_epoch=0)[0].snapshot_id == newest
    assert lone.fetch(3, start, last_epoch=1)[0].snapshot_id is None
    lone.advance(2_900)
    data = b""
    while True:
        (answer,) = lone.ask(chunk_request(3, 1, newest, len(data), most=64))
        assert (answer.error_code, answer.position) == (Error.NONE, len(data))
        data += answer.unaligned_records
        if len(data) == answer.size:
            break
    records = snapshot_records(data, RULES)
    assert records == tuple(setting(f"w{number}") for number in range(newest.end_offset - 1))  # offset 0 is the LeaderChange
    assert lone.ask(chunk_request(3, 1, newest, len(data)))[0].error_code is Error.POSITION_OUT_OF_RANGE
    assert lone.ask(chunk_request(3, 1, SnapshotId(1, 1), 0))[0].error_code is Error.SNAPSHOT_NOT_FOUND
    assert lone.ask(chunk_request(3, 0, newest, 0))[0].error_code is Error.FENCED_LEADER_EPOCH
    lone.advance(2_900)
    assert lone.quorum.role is Role.LEADER


def test_a_fetch_inside_the_log_is_not_answered_with_a_snapshot() -> None:
    """2.24 The near miss: records of the leader's own, behind its snapshot."""
    lone = leading(settings=OFTEN)
    for number in range(8):
        lone.append(f"w{number}")
        lone.fetch(2, lone.quorum.end_offset, last_epoch=1)
    answer = lone.fetch(3, lone.quorum.end_offset + 1, last_epoch=1)[0]
    assert answer.diverging_epoch == EpochEndOffset(1, lone.quorum.end_offset)
