"""Bugs that reviews and random runs found in the data plane, each as the schedule that showed it."""

from __future__ import annotations

from typing import Any

import pytest

from replication.batch import decode, headers
from replication.env import IoError
from replication.errors import Error
from replication.events import StrayLogRemoved
from replication.log import Log
from replication.messages import FetchRequest, ProducePartition, ProduceRequest
from tests.replication import scripted
from tests.replication.scripted import Story, batch, topic_id

LOG = "t-0/00000000000000000000.log"


def values(log: Log) -> list[bytes | None]:
    found = []
    for segment in log.segments:
        data = log.directory.read(segment.log_path, 0, segment.size) or b""
        for position, header in headers(data):
            found += [record.value for record in decode(data, header, position)]
    return found


def led(*brokers: int, **config: Any) -> Story:
    story = Story(brokers)
    story.controller.create("t", brokers, **config)
    story.controller.publish()
    return story


def cut_off(story: Story, node: int) -> None:
    others = [other for other in story.nodes if other != node]
    story.world.cut |= {(node, other) for other in others} | {(other, node) for other in others}


def test_a_truncation_that_a_power_cut_undoes_brings_no_divergence_into_the_isr() -> None:
    """5.4, 5.41: the new epoch was durable before the cut was; the old tail came back under it, and was never compared again."""
    story = led(1, 2, 3, min_insync_replicas="2")
    story.produce(1, "a")
    cut_off(story, 1)
    for value in ("x1", "x2"):
        story.produce(1, value, acks=1)
    story.log(1).sync()
    story.controller.fail_over(2, (2, 3))
    story.controller.publish(2, 3)
    story.world.advance(40_000)
    for value in ("y1", "y2", "y3"):
        assert story.produce(2, value)[0].error_code is Error.NONE
    story.world.cut.clear()
    story.controller.publish(1)
    story.world.advance(40_000)
    story.nodes[1].crash(lossy=True)
    story.controller.fail_over(2, (2, 3))
    story.restart(1)
    story.world.advance(5_000)
    assert 1 in story.controller.state().isr
    assert values(story.log(1)) == values(story.log(2)) == [b"a", b"y1", b"y2", b"y3"]


def test_a_clean_marker_vouches_for_nothing_that_came_after_the_flush() -> None:
    """4.5: a closing broker went on fetching, and its marker called unsynced records durable (B19)."""
    story = led(1, 2, 3, min_insync_replicas="2")
    story.produce(1, "a")
    story.world.advance(1_000)
    node, closed = story.nodes[2], []
    node.disks[0].held = []
    node.broker.close(lambda: closed.append(True))
    story.produce(1, "b", acks=1)
    story.world.advance(1_000)
    assert story.log(2).leo == 1
    while not closed:
        node.disks[0].release()
    node.crash(lossy=True)
    node.start()
    assert node.previous_epoch == story.controller.image.brokers[2].broker_epoch
    assert node.broker.replicas.logs[topic_id("t"), 0].leo == 1


def test_a_closing_leader_appends_no_more() -> None:
    """4.5, 4.12"""
    story = led(1)
    story.nodes[1].broker.close(lambda: None)
    assert story.produce(1, "late", acks=1)[0].error_code is Error.NOT_LEADER_OR_FOLLOWER


def test_checkpoints_of_a_deleted_topic_are_not_believed_of_its_successor(monkeypatch: pytest.MonkeyPatch) -> None:
    """3.16, 5.6, 5.41: they are keyed by name; HW 10 of the old log made two uncommitted records of the new one readable."""
    story = led(1, 2, min_insync_replicas="1")
    for number in range(10):
        story.produce(1, f"old{number}")
    story.log(1).sync()
    story.world.advance(61_000)  # both checkpoints are written
    story.controller.delete("t")
    monkeypatch.setattr(scripted, "topic_id", lambda name: b"B" * 16)
    story.controller.create("t", (1, 2), min_insync_replicas="1")
    story.controller.publish()
    story.nodes[2].crash()
    for value in ("new0", "new1"):
        assert story.produce(1, value, acks=1)[0].error_code is Error.NONE
    assert (story.log(1).leo, story.log(1).hw) == (2, 0)
    node = story.nodes[1]
    node.crash()
    node.disks[0].files[LOG][-1] ^= 0xFF  # never synced, so the recovery must look
    node.start()
    log = node.broker.replicas.logs[b"B" * 16, 0]
    assert (log.leo, log.hw) == (1, 0)


def test_a_log_counts_only_once_its_topic_id_is_durable() -> None:
    """3.16: a synced, acknowledged record was deleted at the next start, because nothing said whose log it was."""
    story = Story((1,))
    story.nodes[1].disks[0].held = []
    story.controller.create("t", (1,), flush_messages="1")
    story.controller.publish()
    answers = story.produce(1, "a")
    assert answers == []
    story.nodes[1].disks[0].release()
    assert answers[0].error_code is Error.NONE
    story.nodes[1].crash(lossy=True)
    story.nodes[1].start()
    assert story.nodes[1].broker.replicas.logs[topic_id("t"), 0].leo == 1


def test_a_replica_whose_disk_was_wiped_comes_back() -> None:
    """10.3: the directory has a new id, the image names the old one, and no directory is offline that could hold the log."""
    story = Story((1, 2))
    ids = tuple(story.nodes[node].broker.replicas.directories[0].id for node in (1, 2))
    story.controller.create("t", (1, 2))
    story.controller.change(directories=ids)
    story.controller.publish()
    story.produce(1, "a")
    node = story.nodes[2]
    node.crash()
    node.disks[0].files.clear()
    node.disks[0].durable.clear()
    story.controller.fail_over(1, (1,))
    story.restart(2)
    story.world.advance(2_000)
    assert values(story.log(2)) == [b"a"]


def test_partitions_that_come_together_are_fetched_together() -> None:
    """5.46: the first request asked for one of four; the others waited for a whole fetch wait."""
    story = Story((1, 2))
    asked: list[int] = []
    receive = story.nodes[1].env.on_request

    def listen(request: Any) -> None:
        if isinstance(request.message, FetchRequest):
            asked.append(len(request.message.partitions))
        receive(request)

    story.nodes[1].env.on_request = listen
    story.controller.create("t", (1, 2), partitions=4)
    story.controller.publish()
    assert asked == [4]


def test_a_sync_before_the_next_fetch_does_not_cost_a_fetch_wait() -> None:
    """5.41, 5.46: with two partitions and flush.messages=1, every acks=all took 500 ms."""
    story = Story((1, 2))
    story.controller.create("t", (1, 2), partitions=2, flush_messages="1", min_insync_replicas="2")
    story.controller.publish()
    story.world.advance(2_000)
    both = tuple(ProducePartition(topic_id("t"), index, batch("a")) for index in (0, 1))
    for _ in range(3):
        assert story.world.ask(1, ProduceRequest(-1, 30_000, both)) != []


def test_requests_behind_a_held_one_keep_their_order() -> None:
    """6.7: the second request overtook the first in the partition that was not taking office."""
    story = Story((1,))
    story.controller.create("t", (1,), partitions=2)
    story.controller.publish()
    disk = story.nodes[1].disks[0]
    disk.held = []
    story.controller.change("t", 0, leader=1)
    story.controller.publish()

    def produced(index: int, sequence: int) -> ProducePartition:
        return ProducePartition(topic_id("t"), index, batch("x", producer_id=7, producer_epoch=0, base_sequence=sequence))

    first = story.world.ask(1, ProduceRequest(-1, 1_000, (produced(0, 0), produced(1, 0))))
    second = story.world.ask(1, ProduceRequest(-1, 1_000, (produced(1, 1),)))
    assert (first, second) == ([], [])
    disk.release()
    assert [(part.error_code, part.base_offset) for part in first[0].responses] == [(Error.NONE, 0), (Error.NONE, 0)]
    assert [(part.error_code, part.base_offset) for part in second[0].responses] == [(Error.NONE, 1)]


def test_a_lowered_min_isr_moves_the_hw_at_once() -> None:
    """5.27: it took until the next lag tick."""
    story = led(1, 2, min_insync_replicas="2")
    story.nodes[2].crash()
    story.controller.broker(2, fenced=True)
    story.controller.change(isr=(1,))
    story.controller.publish()
    story.produce(1, "a", acks=1)
    assert story.log(1).hw == 0
    story.controller.configure("t", min_insync_replicas="1")
    story.controller.publish()
    assert story.log(1).hw == 1


def test_the_metadata_log_is_not_a_stray() -> None:
    """4.15: by default it lies in the first log directory."""
    story = Story((1,))
    story.nodes[1].crash()
    path = "__cluster_metadata-0/00000000000000000000.log"
    story.nodes[1].disks[0].files[path] = bytearray(b"records")
    story.restart(1)
    assert path in story.nodes[1].disks[0].files
    assert story.world.told(StrayLogRemoved) == []


def test_nothing_is_checkpointed_before_the_logs_are_open() -> None:
    """5.6: a slow start wrote an empty checkpoint and then read it."""
    story = led(1, 2)
    story.produce(1, "a")
    story.world.advance(1_000)
    node = story.nodes[1]
    node.stop()
    node.disks[0].held = []
    node.start()
    story.controller.register(node)
    story.controller.publish()  # an image that comes early waits, too
    story.world.advance(6_000)
    assert node.broker.partitions == {}
    node.disks[0].release()
    assert (story.log(1).hw, node.previous_epoch) == (1, 11)


def test_a_clock_that_jumps_back_does_not_unsay_that_a_follower_was_caught_up() -> None:
    """5.18: never back, whatever the clock does."""
    story = Story((1, 2), tidemark_lag_clock="wall")
    story.controller.create("t", (1, 2))
    story.controller.publish()
    story.world.advance(1_000)
    leader = story.partition(1).leader
    assert leader is not None
    before = leader.state.followers[2].last_caught_up
    assert before is not None
    story.world.wall_start_ms -= 3_600_000
    story.world.advance(1_000)
    assert leader.state.followers[2].last_caught_up == before


def test_an_index_that_cannot_be_written_is_an_append_that_failed() -> None:
    """10.1: the directory went offline in the middle of an append that was then acknowledged."""
    story = Story((1,), disks=2)
    story.controller.create("t", (1,), index_interval_bytes="0")
    story.controller.publish()
    story.produce(1, "a", acks=1)
    disk: Any = story.log(1).directory.disk
    append = disk.append

    def breaks_at_the_index(path: str, data: bytes) -> IoError | None:
        if path.endswith(".index") and data:
            disk.broken = IoError("no more")
        return append(path, data)  # type: ignore[no-any-return]

    disk.append = breaks_at_the_index
    assert story.produce(1, "b", acks=1)[0].error_code is Error.KAFKA_STORAGE_ERROR


@pytest.mark.parametrize("what", ["start", "stop"])
def test_a_directory_that_fails_meanwhile_does_not_hold_up_the_others(what: str) -> None:
    """10.1: what a failed directory still owed was waited for, for ever."""
    story = Story((1,), disks=2)
    story.controller.create("t", (1,), partitions=4)
    story.controller.publish()
    node, closed = story.nodes[1], []
    if what == "start":
        node.stop()
        node.previous_epoch = None
    node.disks[1].held = []
    if what == "start":
        node.start()
    else:
        node.broker.close(lambda: closed.append(True))
    node.disks[1].broken = IoError("gone")
    node.disks[1].release()
    story.world.run()
    assert node.previous_epoch is not None if what == "start" else closed == [True]


def test_a_leader_does_not_fetch_from_itself() -> None:
    """5.14: its own id in a replica fetch was an exception."""
    story = led(1, 2)
    assert story.fetch(1, 1, 0, epoch=0)[0].error_code is Error.UNKNOWN_LEADER_EPOCH


def test_a_change_that_was_pending_when_the_office_ended_is_not_sent_again() -> None:
    """5.34, 5.47: it stayed in the queue and kept later changes out."""
    story = Story((1, 2, 3))
    story.controller.answers = False
    story.controller.create("t", (1, 2, 3))
    story.controller.change(isr=(1, 2))
    story.controller.publish()
    story.world.advance(1_000)
    assert len(story.controller.alterations) == 1
    story.controller.fail_over(2, (1, 2))
    story.controller.publish()
    asked_by_old_leader = len([m for _, m in story.controller.alterations if m.broker_id == 1])
    story.controller.refuse(0, Error.NOT_CONTROLLER)
    story.world.advance(1_000)
    assert len([m for _, m in story.controller.alterations if m.broker_id == 1]) == asked_by_old_leader
