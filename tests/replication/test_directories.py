"""Log directories that fail: what lies there goes offline, the rest goes on, nothing is created elsewhere (section 10)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from replication import files
from replication.env import Failure, IoError
from replication.errors import Error
from replication.events import LogDirectoryFailed
from replication.messages import DescribeLogDirsRequest
from tests.replication.memory import MemoryDisk
from tests.replication.scripted import Story, topic_id

DEAD = IoError("dead")


def two_disks(**properties: Any) -> Story:
    """Broker 1 leads a, on its first disk, and b, on its second."""
    story = Story((1,), disks=2, **properties)
    for name in ("a", "b"):
        story.controller.create(name, (1,))
    story.controller.publish()
    for name in ("a", "b"):
        assert story.produce(1, "x", name=name)[0].error_code is Error.NONE
    return story


def disks(story: Story, node: int = 1) -> list[MemoryDisk]:
    return story.nodes[node].disks


def directory_ids(story: Story, node: int = 1) -> list[bytes]:
    return [directory.id for directory in story.nodes[node].broker.replicas.directories]


def holds(disk: MemoryDisk, name: str) -> bool:
    return any(path.startswith(f"{name}-0/") for path in disk.files)


def answers_of(story: Story, name: str) -> set[Error]:
    """What broker 1 says about a topic, whoever asks."""
    produced, fetched = story.produce(1, "y", name=name, acks=1), story.consume(1, 0, name=name)
    return {produced[0].error_code, fetched[0].error_code, story.list_offset(1, name=name).error_code}


# -- where replicas lie -------------------------------------------------------------------------------------------------------


def test_new_replicas_go_where_the_fewest_are() -> None:
    """10.5: with several directories and none assigned, the broker picks."""
    story = Story((1,), disks=3)
    for name in "abcd":
        story.controller.create(name, (1,))
    story.controller.publish()
    assert [sorted(name for name in "abcd" if holds(disk, name)) for disk in disks(story)] == [["a", "d"], ["b"], ["c"]]


def test_an_assigned_directory_is_obeyed() -> None:
    """10.3"""
    story = Story((1,), disks=2)
    wanted = directory_ids(story)[1]
    for name in "ab":
        story.controller.create(name, (1,))
        story.controller.change(name, directories=(wanted,))
    story.controller.publish()
    assert [holds(disk, name) for disk in disks(story) for name in "ab"] == [False, False, True, True]


def test_directories_keep_their_ids() -> None:
    """5.51: each has its own, and a restart finds it again."""
    story = two_disks()
    before = directory_ids(story)
    story.restart(1)
    assert directory_ids(story) == before
    assert len(set(before)) == 2


# -- failing ------------------------------------------------------------------------------------------------------------------


def on_append(story: Story) -> Any:
    disks(story)[0].broken = DEAD
    return story.produce(1, "y", name="a", acks=1)[0]


def on_sync(story: Story) -> Any:
    disks(story)[0].held = []
    answers = story.produce(1, "y", name="a", acks=1)
    assert answers == []
    disks(story)[0].broken = DEAD
    disks(story)[0].release()
    return answers[0]


def on_replace(story: Story) -> Any:
    """The HW checkpoint."""
    disks(story)[0].broken = DEAD
    story.world.advance(5_000)
    return story.produce(1, "y", name="a", acks=1)[0]


def on_read(story: Story) -> Any:
    disks(story)[0].broken = DEAD
    return story.consume(1, 0, name="a")[0]


def on_short_read(story: Story) -> Any:
    """A file that ends before what was written to it."""
    del disks(story)[0].files["a-0/00000000000000000000.log"][-1:]
    return story.consume(1, 0, name="a")[0]


def on_index(story: Story) -> Any:
    """The record is written, the index entry behind it is not."""
    disk = disks(story)[0]
    append = disk.append

    def fails_at_the_index(path: str, data: bytes) -> IoError | None:
        if path.endswith(".index") and data:
            disk.broken = DEAD
        return append(path, data)

    disk.append = fails_at_the_index  # type: ignore[method-assign]
    return [story.produce(1, "y", name="a", acks=1)[0] for _ in range(3)][-1]


WAYS = [on_append, on_sync, on_replace, on_read, on_short_read, on_index]


@pytest.mark.parametrize("fails", WAYS)
def test_an_io_error_takes_its_directory_offline_and_no_other(fails: Callable[[Story], Any]) -> None:
    """10.1: whatever it was that failed; told once, with what lay there; the rest goes on as if nothing had happened."""
    story = two_disks(log_flush_interval_messages="1", log_index_interval_bytes="1")
    assert fails(story).error_code is Error.KAFKA_STORAGE_ERROR
    for _ in range(2):
        assert answers_of(story, "a") == {Error.KAFKA_STORAGE_ERROR}
        assert answers_of(story, "b") == {Error.NONE}
        story.world.advance(70_000)
    (told,) = story.world.told(LogDirectoryFailed)
    assert (told.directory, told.partitions) == (directory_ids(story)[0].hex(), (("a", 0),))
    assert story.nodes[1].env.halted is None


def test_a_directory_that_failed_is_not_written_to_again_even_if_it_would_work() -> None:
    """10.1: for good, until the process ends; its HW checkpoint stays as it was, the other's goes on."""
    story = two_disks()
    story.world.advance(5_000)
    on_append(story)
    disks(story)[0].broken = None
    before = {path: bytes(content) for path, content in disks(story)[0].files.items()}
    story.produce(1, "y", name="b")
    story.world.advance(70_000)
    assert answers_of(story, "a") == {Error.KAFKA_STORAGE_ERROR}
    assert {path: bytes(content) for path, content in disks(story)[0].files.items()} == before
    written = files.read_offsets(bytes(disks(story)[1].files[files.HW_CHECKPOINT]))
    assert written == {("b", 0): 2}


def test_metadata_does_not_bring_an_offline_partition_back() -> None:
    """10.1: also not a new election; and a deletion is a deletion."""
    story = two_disks()
    on_append(story)
    story.controller.change("a", leader=1)
    story.controller.publish()
    assert answers_of(story, "a") == {Error.KAFKA_STORAGE_ERROR}
    story.controller.delete("a")
    story.controller.publish()
    assert story.produce(1, "y", name="a", acks=1)[0].error_code is Error.UNKNOWN_TOPIC_ID


def test_directories_are_described_with_what_they_hold_and_whether_they_work() -> None:
    """3.18, 10.1"""
    story = two_disks()
    on_append(story)
    (answer,) = story.world.ask(1, DescribeLogDirsRequest())
    assert [result.error_code for result in answer.results] == [Error.KAFKA_STORAGE_ERROR, Error.NONE]
    (held,) = answer.results[1].partitions
    log = disks(story)[1].files["b-0/00000000000000000000.log"]
    assert (held.topic, held.partition_index, held.partition_size) == ("b", 0, len(log))


# -- followers ----------------------------------------------------------------------------------------------------------------


def two_disks_following(**properties: Any) -> Story:
    """Broker 2 follows a, on its first disk, and b, on its second; broker 1 leads both."""
    story = Story((1, 2), disks=2, **properties)
    for name in ("a", "b"):
        story.controller.create(name, (1, 2))
    story.controller.publish()
    story.world.advance(1_000)
    assert [holds(disk, name) for disk in disks(story, 2) for name in ("a", "b")] == [True, False, False, True]
    return story


def test_a_follower_leaves_its_fetcher_with_its_directory() -> None:
    """10.1: it follows nobody any more, and nobody hears from it; its neighbours are fetched on."""
    story = two_disks_following()
    fetchers = story.nodes[2].broker.fetchers
    disks(story, 2)[0].broken = DEAD
    story.produce(1, "x", name="a", acks=1)
    story.world.advance(1_000)
    assert fetchers.of((topic_id("a"), 0)) is None
    assert fetchers.of((topic_id("b"), 0)) is not None
    story.produce(1, "x", name="b", acks=1)
    story.world.advance(2_000)
    assert [story.log(2, name).leo for name in ("a", "b")] == [0, 1]
    story.controller.fail_over(2, (1, 2), name="a")
    story.controller.fail_over(1, (1, 2), name="a")
    story.controller.publish()
    assert fetchers.of((topic_id("a"), 0)) is None


def test_a_directory_that_fails_in_the_middle_of_a_sync_does_not_stop_its_neighbours() -> None:
    """10.1, 5.41: a partition that waits for its sync holds up its fetcher; when it is gone, the fetcher goes on."""
    story = two_disks_following(log_flush_interval_messages="1")
    disks(story, 2)[0].held = []
    story.produce(1, "x", name="a", acks=1)
    story.world.advance(100)
    disks(story, 2)[0].broken = DEAD
    disks(story, 2)[0].release()
    assert len(story.world.told(LogDirectoryFailed)) == 1
    story.produce(1, "x", name="b", acks=1)
    story.world.advance(5_000)
    assert story.log(2, "b").leo == 1


# -- the end ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fails", WAYS)
def test_a_broker_with_one_directory_dies_with_it(fails: Callable[[Story], Any]) -> None:
    """10.4"""
    story = Story((1,), log_flush_interval_messages="1", log_index_interval_bytes="1")
    story.controller.create("a", (1,))
    story.controller.publish()
    story.produce(1, "x", name="a")
    assert isinstance(fails(story), Failure)  # whoever asked finds the connection gone
    assert story.nodes[1].env.halted is not None
    assert not story.nodes[1].up


def test_a_broker_dies_with_its_last_directory() -> None:
    """10.4: not before."""
    story = two_disks()
    on_append(story)
    assert story.nodes[1].up
    disks(story)[1].broken = DEAD
    story.world.advance(5_000)
    assert (story.nodes[1].up, len(story.world.told(LogDirectoryFailed))) == (False, 2)


def test_an_orderly_stop_ends_although_a_directory_fails_on_the_way() -> None:
    """4.5, 10.1: what can be marked is marked; the next start does not take that for a clean stop (4.4)."""
    story = two_disks()
    disks(story)[0].broken = DEAD
    story.nodes[1].stop()
    assert [files.CLEAN_SHUTDOWN in disk.files for disk in disks(story)] == [False, True]
    disks(story)[0].broken = None
    story.nodes[1].start()
    assert story.nodes[1].previous_epoch == -1


# -- starting without one -----------------------------------------------------------------------------------------------------


def test_a_replica_whose_directory_is_offline_is_not_created_elsewhere() -> None:
    """10.3: an empty log would forget everything it promised; once the directory is back, everything is there."""
    story = two_disks()
    story.nodes[1].crash()
    disks(story)[0].broken = DEAD
    story.restart(1)
    assert [told.partitions for told in story.world.told(LogDirectoryFailed)] == [()]
    assert not holds(disks(story)[1], "a")
    assert answers_of(story, "a") == {Error.KAFKA_STORAGE_ERROR}
    assert answers_of(story, "b") == {Error.NONE}
    disks(story)[0].broken = None
    story.restart(1)
    assert answers_of(story, "a") == {Error.NONE}
    assert story.log(1, "a").leo == 2


def test_a_replica_assigned_to_an_offline_directory_is_not_created_elsewhere() -> None:
    """10.3: one assigned to a directory that works is."""
    story = two_disks()
    offline, online = directory_ids(story)
    on_append(story)
    for name, directory in (("c", offline), ("d", online)):
        story.controller.create(name, (1,))
        story.controller.change(name, directories=(directory,))
    story.controller.publish()
    assert not holds(disks(story)[1], "c")
    assert answers_of(story, "c") == {Error.KAFKA_STORAGE_ERROR}
    assert answers_of(story, "d") == {Error.NONE}


@pytest.mark.parametrize("goes", ["deleted", "moved away"])
def test_a_replica_that_could_not_be_created_is_forgotten_with_its_assignment(goes: str) -> None:
    """3.16, 5.12: what this broker does not have to have is not offline here."""
    story = two_disks()
    on_append(story)
    story.controller.broker(2)
    story.controller.create("c", (1,))
    story.controller.publish()
    assert story.produce(1, "y", name="c", acks=1)[0].error_code is Error.KAFKA_STORAGE_ERROR
    if goes == "deleted":
        story.controller.delete("c")
    else:
        story.controller.change("c", replicas=(2,), isr=(2,), leader=2)
    story.controller.publish()
    expected = Error.UNKNOWN_TOPIC_ID if goes == "deleted" else Error.NOT_LEADER_OR_FOLLOWER
    assert story.produce(1, "y", name="c", acks=1)[0].error_code is expected


def test_a_start_with_every_directory_broken_ends_at_once() -> None:
    """10.4"""
    story = two_disks()
    story.nodes[1].crash()
    for disk in disks(story):
        disk.broken = DEAD
    story.nodes[1].start()
    assert story.nodes[1].env.halted is not None


def test_a_clean_stop_counts_only_with_every_directory() -> None:
    """4.4: with one of them offline at the start, anything may be missing."""
    story = two_disks()
    story.nodes[1].stop()
    disks(story)[0].broken = DEAD
    story.nodes[1].start()
    assert story.nodes[1].previous_epoch == -1
