"""Questions about offsets: ListOffsets and OffsetForLeaderEpoch, as clients and followers ask them (7.3 to 7.5, 7.9)."""

from __future__ import annotations

from replication.batch import Record, encode
from replication.env import IoError
from replication.errors import Error
from replication.messages import (
    EARLIEST,
    EARLIEST_LOCAL,
    LATEST,
    MAX_TIMESTAMP,
    ListedOffset,
    ListOffsetsPartition,
    ListOffsetsRequest,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderResult,
)
from tests.replication.scripted import Story

TIME = 1_700_000_000_000


def led(*isr: int) -> Story:
    """Broker 1 leads t; 2 and 3 are played by the test."""
    story = Story((1,))
    for follower in (2, 3):
        story.controller.broker(follower)
    story.controller.answers = False
    story.controller.create("t", (1, 2, 3))
    story.controller.change(isr=isr or (1,))
    story.controller.publish()
    return story


def alone(*batches: tuple[int, ...]) -> Story:
    """Broker 1 leads t alone, with these batches: a record per time, in ms after TIME."""
    story = Story((1,))
    story.controller.create("t", (1,))
    story.controller.publish()
    for times in batches:
        story.produce_bytes(1, encode([Record(b"x", timestamp=TIME + ms) for ms in times]), acks=1)
    return story


def listed_to_replica(story: Story, timestamp: int, epoch: int = -1) -> ListedOffset:
    (answer,) = story.world.ask(1, ListOffsetsRequest((ListOffsetsPartition("t", 0, timestamp, epoch),), replica_id=2))
    listed: ListedOffset = answer.partitions[0]
    return listed


def epoch_end(story: Story, epoch: int, *, current: int = -1, topic: str = "t") -> OffsetForLeaderResult:
    question = OffsetForLeaderPartition(topic, 0, epoch, current)
    (answer,) = story.world.ask(1, OffsetForLeaderEpochRequest((question,)))
    result: OffsetForLeaderResult = answer.partitions[0]
    return result


# -- the ends -----------------------------------------------------------------------------------------------------------


def test_clients_hear_of_the_hw_and_followers_of_the_end() -> None:
    """7.4: the latest offset of a client is the HW; a replica asks for the LEO."""
    story = led(1, 2)
    for value in "abc":
        story.produce(1, value, acks=1)
    story.fetch(1, 2, 2, epoch=0)
    assert story.list_offset(1, LATEST).offset == 2
    assert listed_to_replica(story, LATEST).offset == 3


def test_the_earliest_offset_is_the_log_start() -> None:
    """7.4, 7.9: also the earliest local one, and also to replicas."""
    story = alone((0, 0, 0), (0,))
    story.log(1).advance_start(2)
    assert [story.list_offset(1, which).offset for which in (EARLIEST, EARLIEST_LOCAL)] == [2, 2]
    assert listed_to_replica(story, EARLIEST).offset == 2


def test_a_new_leader_tells_no_end_before_its_hw_has_passed_the_start_of_its_epoch() -> None:
    """7.4: neither the latest offset nor that a time has no record; what it finds below its HW it may tell."""
    story = led(1, 2)
    story.produce(1, "a", acks=1)
    story.fetch(1, 2, 1, epoch=0)
    story.produce(1, "b", acks=1)
    story.controller.change(leader=1)
    story.controller.publish()
    assert story.list_offset(1, LATEST).error_code is Error.OFFSET_NOT_AVAILABLE
    assert story.list_offset(1, TIME + 1_000).error_code is Error.OFFSET_NOT_AVAILABLE
    assert story.list_offset(1, TIME).offset == 0
    assert listed_to_replica(story, LATEST).offset == 2
    story.fetch(1, 2, 2, epoch=1)
    assert story.list_offset(1, LATEST).offset == 2
    assert story.list_offset(1, TIME + 1_000).error_code is Error.NONE


def test_an_answer_carries_the_leader_epoch_of_its_offset() -> None:
    """7.4, 7.9: that of the record there; at the end, that under which the next one would be written."""
    story = alone((0,), (0,))
    story.controller.change(leader=1)
    story.controller.publish()
    story.produce_bytes(1, encode([Record(b"x", timestamp=TIME + 50)]), acks=1)
    assert story.list_offset(1, EARLIEST).leader_epoch == 0
    assert story.list_offset(1, TIME + 1).leader_epoch == 1
    assert story.list_offset(1, LATEST).leader_epoch == 1


# -- times --------------------------------------------------------------------------------------------------------------


def test_a_time_finds_the_first_record_that_is_not_older() -> None:
    """7.9: inside a batch too, and in the order of offsets, not of times."""
    story = alone((0, 10, 20), (5,), (30, 25))
    found = [story.list_offset(1, TIME + ms) for ms in (0, 1, 20, 21, 30)]
    assert [(answer.offset, answer.timestamp - TIME) for answer in found] == [(0, 0), (1, 10), (2, 20), (4, 30), (4, 30)]


def test_a_time_after_the_last_record_finds_nothing() -> None:
    """7.9: offset -1, time -1, and no error."""
    answer = alone((0,)).list_offset(1, TIME + 1)
    assert (answer.error_code, answer.offset, answer.timestamp, answer.leader_epoch) == (Error.NONE, -1, -1, -1)


def test_a_time_finds_nothing_above_the_hw_except_for_replicas() -> None:
    """7.9: below the readable end only."""
    story = led(1, 2)
    story.produce(1, "a", acks=1)
    assert story.list_offset(1, TIME).offset == -1
    assert story.list_offset(1, MAX_TIMESTAMP).offset == -1
    assert listed_to_replica(story, TIME).offset == 0


def test_the_largest_timestamp_is_found_at_its_first_record() -> None:
    """7.9: -3 asks for it; the last record need not have it."""
    answer = alone((0, 40), (40,), (7,)).list_offset(1, MAX_TIMESTAMP)
    assert (answer.offset, answer.timestamp - TIME) == (1, 40)
    assert alone().list_offset(1, MAX_TIMESTAMP).offset == -1


def test_what_lies_below_the_log_start_is_not_found_by_time() -> None:
    """7.9: also not inside the batch that contains the log start."""
    story = alone((10,), (20, 0, 20))
    story.log(1).advance_start(2)
    assert story.list_offset(1, TIME).offset == 2
    assert story.list_offset(1, TIME + 10).offset == 3


def test_the_largest_timestamp_is_that_of_what_is_left() -> None:
    """7.9: a record that the log no longer has does not hide the largest one that it has."""
    story = alone((90,), (10,), (20,), (15,))
    story.log(1).advance_start(1)
    answer = story.list_offset(1, MAX_TIMESTAMP)
    assert (answer.error_code, answer.offset) == (Error.NONE, 2)


# -- epochs -------------------------------------------------------------------------------------------------------------


def test_the_end_of_an_epoch_is_told_from_the_leaders_cache() -> None:
    """7.5, 5.3: the latest ends at the LEO, an older one where the next begins; an unknown one is undefined."""
    story = alone((0,), (0,))
    story.controller.change(leader=1)
    story.controller.change(leader=1)
    story.controller.publish()
    story.produce(1, "c", acks=1)
    found = [epoch_end(story, epoch) for epoch in (0, 1, 2, 3)]
    assert [(answer.leader_epoch, answer.end_offset) for answer in found] == [(0, 2), (0, 2), (2, 3), (-1, -1)]
    assert {answer.error_code for answer in found} == {Error.NONE}


def test_both_questions_check_the_epoch_before_the_office() -> None:
    """7.3: an older epoch is fenced, a newer one unknown; without an epoch only the office counts."""
    story = led(1)
    story.controller.change(leader=1)
    story.controller.publish()
    for epoch, error in ((0, Error.FENCED_LEADER_EPOCH), (1, Error.NONE), (2, Error.UNKNOWN_LEADER_EPOCH), (-1, Error.NONE)):
        assert story.list_offset(1, EARLIEST, epoch=epoch).error_code is error
        assert listed_to_replica(story, EARLIEST, epoch).error_code is error
        assert epoch_end(story, 0, current=epoch).error_code is error
    story.controller.change(leader=2)
    story.controller.publish()
    for epoch, error in ((1, Error.FENCED_LEADER_EPOCH), (2, Error.NOT_LEADER_OR_FOLLOWER), (-1, Error.NOT_LEADER_OR_FOLLOWER)):
        assert story.list_offset(1, EARLIEST, epoch=epoch).error_code is error
        assert epoch_end(story, 0, current=epoch).error_code is error


def test_what_is_not_here_is_named() -> None:
    """6.12, 3.16, 10.1: a topic nobody knows, a partition the topic has not, a replica elsewhere, a dead disk."""
    story = led(1)
    story.controller.create("elsewhere", (2,))
    story.controller.publish()
    assert story.list_offset(1, name="nowhere").error_code is Error.UNKNOWN_TOPIC_OR_PARTITION
    assert story.list_offset(1, name="elsewhere").error_code is Error.NOT_LEADER_OR_FOLLOWER
    assert epoch_end(story, 0, topic="nowhere").error_code is Error.UNKNOWN_TOPIC_OR_PARTITION
    (answer,) = story.world.ask(1, ListOffsetsRequest((ListOffsetsPartition("t", 9, LATEST),)))
    assert answer.partitions[0].error_code is Error.UNKNOWN_TOPIC_OR_PARTITION


def test_a_partition_on_a_dead_disk_answers_both_questions_with_the_storage_error() -> None:
    """10.1"""
    story = Story((1,), disks=2)
    story.controller.create("t", (1,))
    story.controller.publish()
    story.nodes[1].disks[0].broken = IoError("dead")
    story.produce(1, "a", acks=1)
    assert story.list_offset(1).error_code is Error.KAFKA_STORAGE_ERROR
    assert epoch_end(story, 0).error_code is Error.KAFKA_STORAGE_ERROR


def test_questions_of_one_request_are_answered_each_for_itself() -> None:
    """7.4: in the order asked."""
    story = alone((0,))
    asked = ListOffsetsPartition("t", 0, EARLIEST), ListOffsetsPartition("u", 0, LATEST), ListOffsetsPartition("t", 0, LATEST)
    (answer,) = story.world.ask(1, ListOffsetsRequest(asked))
    assert [(part.topic, part.error_code, part.offset) for part in answer.partitions] == [
        ("t", Error.NONE, 0),
        ("u", Error.UNKNOWN_TOPIC_OR_PARTITION, -1),
        ("t", Error.NONE, 1),
    ]
