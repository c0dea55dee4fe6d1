"""The connections on which a broker follows others: one fetch in flight, back-offs, late answers, misfits (5.13 to 5.23, 5.44 to
5.46)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from replication.batch import stamped
from replication.crc import crc32c
from replication.env import Failure
from replication.errors import Error
from replication.events import CorruptBatchFetched, ReplicaFailed, Truncated
from replication.identity import NO_LEADER
from replication.messages import (
    EARLIEST,
    LATEST,
    EpochEndOffset,
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    ListedOffset,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
)
from tests.replication.memory import Arrived, MemoryEnv
from tests.replication.scripted import Story, batch, topic_id

BACK_OFF = 1_000
SOCKET_TIMEOUT = 30_000


class PlayedLeader:
    """A broker that only the test speaks for."""

    def __init__(self, story: Story, node_id: int) -> None:
        self.story, self.node_id = story, node_id
        self.asked: list[Arrived] = []
        self.env = MemoryEnv(story.world, node_id, (), 1)
        self.env.on_request = self.asked.append
        story.world.up[node_id] = self.env
        story.controller.broker(node_id)

    @property
    def open(self) -> list[Any]:
        """Requests that nobody has answered yet."""
        return [request.message for request in self.asked if not request.answered]

    def answer(self, *parts: FetchedPartition, number: int = -1, error: Error = Error.NONE) -> None:
        """Answer a fetch: the last one, if nothing else is said."""
        self.reply(FetchResponse(parts, error), number)

    def reply(self, answer: Any, number: int = -1) -> None:
        self.asked[number].answer(answer)
        self.story.world.run()

    def list(self, offset: int = -1, error: Error = Error.NONE) -> None:
        """Answer a ListOffsets."""
        self.reply(ListOffsetsResponse((ListedOffset("t", 0, error, -1, offset),)))


def following(*topics: str, partitions: int = 1, leader: int = 1, **properties: Any) -> tuple[Story, PlayedLeader]:
    """Broker 2 is real and follows broker 1, which is played."""
    story = Story((2,), **properties)
    played = PlayedLeader(story, 1)
    for name in topics or ("t",):
        story.controller.create(name, (leader, 2), partitions)
    story.controller.publish()
    if len(topics) > 1:
        played.reply(FetchResponse(()))  # by now all are placed: the fetch that is open covers them all
    return story, played


def fetched(
    records: bytes = b"",
    *,
    name: str = "t",
    index: int = 0,
    hw: int = 0,
    start: int = 0,
    error: Error = Error.NONE,
    diverging: EpochEndOffset | None = None,
) -> FetchedPartition:
    return FetchedPartition(topic_id(name), index, error, hw, hw, start, records, diverging)


def written(base: int, *values: str, epoch: int = 0) -> bytes:
    """A batch as a leader stored it."""
    return stamped(batch(*values), base, epoch)


def names(request: FetchRequest) -> list[bytes]:
    return [asked.topic_id for asked in request.partitions]


def offsets(requests: Sequence[Any]) -> list[int]:
    return [request.partitions[0].fetch_offset for request in requests if isinstance(request, FetchRequest)]


def silent_for(story: Story, leader: PlayedLeader, ms: int) -> bool:
    """Whether the leader hears nothing for so long, and something right then."""
    heard = len(leader.asked)
    story.world.advance(ms - 1)
    silent = len(leader.asked) == heard
    story.world.advance(1)
    return silent and len(leader.asked) == heard + 1


# -- asking -------------------------------------------------------------------------------------------------------------------


def test_a_fetch_says_who_asks_for_what_and_from_where() -> None:
    """5.13"""
    story, leader = following(replica_fetch_wait_max_ms="321", replica_fetch_min_bytes="7", replica_fetch_max_bytes="1000")
    (request,) = leader.open
    asked = FetchPartition(topic_id("t"), 0, 0, 1_000, 0, -1, 0)
    broker_epoch = story.controller.image.brokers[2].broker_epoch
    assert request == FetchRequest(321, 7, 10_485_760, (asked,), 2, broker_epoch)
    leader.answer(fetched(written(0, "a", "b"), hw=1))
    assert leader.open[0].partitions == (FetchPartition(topic_id("t"), 0, 2, 1_000, 0, 0, 0),)


def test_one_fetch_is_in_flight_and_the_next_follows_its_answer() -> None:
    """5.13: for all partitions of the fetcher, however much time passes."""
    story, leader = following("t", "u")
    heard = len(leader.asked)
    story.world.advance(10_000)
    assert [names(request) for request in leader.open] == [[topic_id("t"), topic_id("u")]]
    leader.answer(fetched(hw=0), fetched(name="u"))
    assert [names(request) for request in leader.open] == [[topic_id("t"), topic_id("u")]]
    assert len(leader.asked) == heard + 1


def test_what_one_image_places_leaves_with_one_fetch() -> None:
    """5.46: one request covers all; else the others wait as long as the first fetch is parked at an idle leader."""
    _, leader = following(partitions=3)
    assert [[asked.partition for asked in request.partitions] for request in leader.open] == [[0, 1, 2]]


def test_partitions_are_spread_over_the_fetchers_of_their_leader() -> None:
    """5.46: by CRC-32C of topic id and number, each fetcher with its own request in flight."""
    _, leader = following(partitions=8, num_replica_fetchers="3")
    expected: dict[int, set[int]] = {}
    for index in range(8):
        expected.setdefault(crc32c(topic_id("t") + index.to_bytes(4, "big")) % 3, set()).add(index)
    assert len(leader.open) == len(expected) > 1
    for number in range(len(leader.asked)):
        leader.reply(FetchResponse(()), number)  # by now all are placed
    found = [sorted(asked.partition for asked in request.partitions) for request in leader.open]
    assert sorted(found) == sorted(map(sorted, expected.values()))


def test_each_leader_has_a_fetcher_of_its_own() -> None:
    """5.46, 16.14: one slow leader does not hold up what follows another."""
    story, first = following("t")
    second = PlayedLeader(story, 3)
    story.controller.create("u", (3, 2))
    story.controller.publish()
    assert [names(request) for request in first.open + second.open] == [[topic_id("t")], [topic_id("u")]]
    second.answer(fetched(written(0, "a"), name="u"))
    assert (len(first.asked), len(second.asked)) == (1, 2)


def test_a_follower_syncs_what_it_must_before_it_asks_for_more() -> None:
    """5.41: a fetch tells the leader what this replica holds, so it holds it first."""
    story, leader = following(log_flush_interval_messages="1")
    story.nodes[2].disks[0].held = []
    leader.answer(fetched(written(0, "a")))
    story.world.advance(5_000)
    assert (story.log(2).leo, leader.open) == (1, [])
    story.nodes[2].disks[0].release()
    assert offsets(leader.open) == [1]


def test_a_partition_that_is_being_synced_does_not_miss_the_next_fetch() -> None:
    """5.46, 5.41: it is not backing off; a fetch without it would be parked for idle neighbours, and its ack with it."""
    story = Story((1, 2), log_flush_interval_messages="1")
    for name in ("t", "idle"):
        story.controller.create(name, (1, 2))
    story.controller.publish()
    story.world.advance(3_000)
    answers = story.produce(1, "x")
    story.world.advance(100)  # the disks take no time at all
    assert [answer.error_code for answer in answers] == [Error.NONE]


def test_a_partition_that_moves_away_while_it_is_synced_does_not_leave_its_neighbours_waiting() -> None:
    """5.46: whom it held up goes on without it."""
    story, first = following("t", "u", log_flush_interval_messages="1")
    second = PlayedLeader(story, 3)
    story.nodes[2].disks[0].held = []
    first.answer(fetched(written(0, "a")), fetched(name="u"))
    assert first.open == []
    story.controller.change(replicas=(1, 2, 3), leader=3)
    story.controller.publish()
    story.nodes[2].disks[0].release()
    story.world.advance(BACK_OFF)
    assert [names(request) for request in first.open + second.open] == [[topic_id("u")], [topic_id("t")]]


# -- back-off -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("failure", [Failure.LOST, Failure.REFUSED, Failure.TIMED_OUT])
def test_after_a_failed_connection_all_its_partitions_wait_for_the_back_off(failure: Failure) -> None:
    """5.23: replica.fetch.backoff.ms, then the same again."""
    story, leader = following("t", "u")
    leader.reply(failure)
    assert silent_for(story, leader, BACK_OFF)
    assert names(leader.open[0]) == [topic_id("t"), topic_id("u")]


def test_a_fetch_without_an_answer_is_given_up_after_the_socket_timeout() -> None:
    """Section 18: 30 s, then the back-off; the answer that comes after all is nobody's."""
    story, leader = following()
    assert silent_for(story, leader, SOCKET_TIMEOUT + BACK_OFF)
    leader.answer(fetched(written(0, "late")), number=0)
    assert story.log(2).leo == 0


def test_a_leader_that_is_down_is_asked_once_per_back_off() -> None:
    """5.23: refused at once, so nothing but the back-off keeps it from being asked all the time."""
    story = Story((2,))
    story.controller.broker(1)
    story.controller.create("t", (1, 2))
    story.controller.publish()
    steps = story.world.steps
    story.world.advance(4_999)
    assert story.world.steps - steps < 40
    leader = PlayedLeader(story, 1)
    assert silent_for(story, leader, 1)


def test_an_error_for_the_whole_fetch_backs_off_like_a_lost_connection() -> None:
    """5.23, 7.8"""
    story, leader = following()
    leader.answer(error=Error.FETCH_SESSION_ID_NOT_FOUND)
    assert silent_for(story, leader, BACK_OFF)


@pytest.mark.parametrize(
    "error",
    [
        Error.UNKNOWN_LEADER_EPOCH,
        Error.NOT_LEADER_OR_FOLLOWER,
        Error.UNKNOWN_TOPIC_ID,
        Error.UNKNOWN_TOPIC_OR_PARTITION,
        Error.KAFKA_STORAGE_ERROR,
    ],
)
def test_a_refused_partition_backs_off_alone(error: Error) -> None:
    """5.23: the others go on; it is asked for again after the back-off, from where it was."""
    story, leader = following("t", "u")
    leader.answer(fetched(error=error), fetched(name="u"))
    assert names(leader.open[0]) == [topic_id("u")]
    story.world.advance(BACK_OFF)
    leader.answer(fetched(name="u"))
    assert sorted(names(leader.open[0])) == sorted([topic_id("t"), topic_id("u")])


def test_a_fenced_partition_waits_for_metadata_and_nothing_else() -> None:
    """5.23: however long that takes; the others go on."""
    story, leader = following("t", "u")
    leader.answer(fetched(error=Error.FENCED_LEADER_EPOCH), fetched(name="u"))
    for _ in range(5):
        story.world.advance(10_000)
        assert names(leader.open[-1]) == [topic_id("u")]
        leader.answer(fetched(name="u"))
    story.controller.change(leader=1)
    story.controller.publish()
    leader.answer(fetched(name="u"))
    epochs = {asked.topic_id: asked.current_leader_epoch for asked in leader.open[-1].partitions}
    assert epochs == {topic_id("t"): 1, topic_id("u"): 0}


def test_a_fencing_of_an_epoch_that_is_gone_is_ignored() -> None:
    """5.23: the fetch was of the epoch before; the new one is asked for at once."""
    story, leader = following()
    story.controller.change(leader=1)
    story.controller.publish()
    leader.answer(fetched(error=Error.FENCED_LEADER_EPOCH))
    assert [request.partitions[0].current_leader_epoch for request in leader.open] == [1]


# -- whom to follow -----------------------------------------------------------------------------------------------------------


def test_a_new_epoch_of_the_same_leader_starts_afresh() -> None:
    """5.11 (B05): what the old fetch still brings is not asked for, and the next one carries the new epoch."""
    story, leader = following()
    story.controller.change(leader=1)
    story.controller.publish()
    leader.answer(fetched(written(0, "old"), hw=1))
    assert (story.log(2).leo, story.log(2).hw) == (0, 0)
    assert [request.partitions[0].current_leader_epoch for request in leader.open] == [1]
    leader.answer(fetched(written(0, "new"), hw=1))
    assert (story.log(2).leo, story.log(2).hw) == (1, 1)


def test_metadata_that_changes_no_epoch_disturbs_no_fetch() -> None:
    """5.12: an ISR change is none of the follower's business."""
    story, leader = following()
    story.controller.change(isr=(1,))
    story.controller.publish()
    assert len(leader.asked) == 1
    leader.answer(fetched(written(0, "a")))
    assert story.log(2).leo == 1


def test_a_leader_whose_broker_is_not_in_the_image_is_waited_for() -> None:
    """5.11"""
    story = Story((2,))
    story.controller.create("t", (1, 2))
    story.controller.publish()
    story.world.advance(60_000)
    leader = PlayedLeader(story, 1)
    assert leader.asked == []
    story.controller.publish()
    assert offsets(leader.open) == [0]


def test_without_a_leader_nothing_is_fetched_and_nothing_is_forgotten() -> None:
    """5.12: the log is kept; the old leader's answer is not taken."""
    story, leader = following()
    leader.answer(fetched(written(0, "a")))
    story.controller.change(leader=NO_LEADER)
    story.controller.publish()
    leader.answer(fetched(written(1, "b")))
    story.world.advance(60_000)
    assert (len(leader.asked), story.log(2).leo) == (2, 1)


def test_a_follower_that_was_elected_takes_nothing_more_from_its_predecessor() -> None:
    """5.7, 5.20"""
    story, leader = following()
    story.controller.fail_over(2, (2,))
    story.controller.publish()
    leader.answer(fetched(written(0, "late"), hw=1))
    story.world.advance(60_000)
    assert (len(leader.asked), story.log(2).leo) == (1, 0)


@pytest.mark.parametrize(
    "late",
    [
        fetched(written(1, "late"), hw=2),
        fetched(diverging=EpochEndOffset(0, 0)),
        fetched(error=Error.OFFSET_OUT_OF_RANGE),
        fetched(error=Error.FENCED_LEADER_EPOCH),
    ],
    ids=["records", "an order to cut", "out of range", "fenced"],
)
def test_an_answer_of_another_epoch_is_dropped_whatever_it_says(late: FetchedPartition) -> None:
    """5.20 (B06): a late order to cut would cut what is by now committed."""
    story, first = following()
    first.answer(fetched(written(0, "a"), hw=1))
    second = PlayedLeader(story, 3)
    story.controller.change(replicas=(1, 2, 3), leader=3)
    story.controller.publish()
    second.answer(fetched(written(1, "b", epoch=1), hw=1))
    first.answer(late)
    assert (story.log(2).leo, story.log(2).hw, story.log(2).epochs) == (2, 1, ((0, 0), (1, 1)))
    assert (len(first.asked), offsets(second.open)) == (2, [2])
    story.world.advance(BACK_OFF)
    assert len(second.asked) == 2


# -- answers ------------------------------------------------------------------------------------------------------------------


def test_a_follower_repeats_the_leaders_hw_within_its_own_log() -> None:
    """5.21, 5.29: it may go back, unlike a leader's; and it never stands above the end."""
    story, leader = following()
    seen = []
    for base, hw in ((0, 9), (1, 2), (2, 0), (3, 4)):
        leader.answer(fetched(written(base, "x"), hw=hw))
        seen.append(story.log(2).hw)
    assert seen == [1, 2, 0, 4]


def test_a_follower_takes_the_leaders_log_start() -> None:
    """5.21, 5.50: as far as its HW."""
    story, leader = following()
    leader.answer(fetched(written(0, "a", "b", "c"), hw=2, start=3))
    assert story.log(2).log_start == 2


def test_a_batch_of_a_later_epoch_than_asked_is_not_taken() -> None:
    """5.21 (B07): what lies before it is; the rest is asked for again."""
    story, leader = following()
    leader.answer(fetched(written(0, "a") + written(1, "b", epoch=1), hw=2))
    assert (story.log(2).leo, story.log(2).hw, story.log(2).epochs) == (1, 1, ((0, 0),))
    assert offsets(leader.open) == [1]


def test_a_diverging_answer_cuts_and_does_nothing_else() -> None:
    """5.22, 5.24 (B08): neither HW nor log start nor records are taken from it; then the rest is asked for."""
    story, leader = following()
    for base, value in enumerate("abc"):
        leader.answer(fetched(written(base, value), hw=1))
    leader.answer(fetched(written(3, "d"), hw=3, start=1, diverging=EpochEndOffset(0, 2)))
    log = story.log(2)
    assert (log.leo, log.hw, log.log_start) == (2, 1, 0)
    assert [(told.was, told.now, told.because) for told in story.world.told(Truncated)] == [(3, 2, "diverging epoch")]
    assert offsets(leader.open) == [2]


def test_a_batch_that_does_not_follow_fails_its_partition_and_no_other() -> None:
    """5.44: it is told once, never fetched again in this epoch; the log keeps what it has, the others go on."""
    story, leader = following("t", "u")
    leader.answer(fetched(written(0, "a"), hw=1), fetched(name="u"))
    leader.reply(FetchResponse(()))  # by now the first epoch of t is durable: it is asked for again
    leader.answer(fetched(written(5, "gap"), hw=9), fetched(written(0, "x"), name="u", hw=1))
    (told,) = story.world.told(ReplicaFailed)
    assert (told.topic, told.partition) == ("t", 0)
    for _ in range(3):
        assert names(leader.open[-1]) == [topic_id("u")]
        leader.answer(fetched(name="u", hw=1))
        story.world.advance(BACK_OFF)
    assert [(story.log(2, name).leo, story.log(2, name).hw) for name in ("t", "u")] == [(1, 1), (1, 1)]
    story.controller.broker(9)  # an image that concerns brokers places what has no fetcher: not this one
    story.controller.publish()
    leader.answer(fetched(name="u", hw=1))
    assert names(leader.open[-1]) == [topic_id("u")]


def test_an_overlapping_batch_does_not_fit_either() -> None:
    """5.44: only an empty log may begin anew."""
    story, leader = following()
    leader.answer(fetched(written(0, "a", "b")))
    leader.answer(fetched(written(1, "b", "c")))
    assert (story.log(2).leo, len(story.world.told(ReplicaFailed))) == (2, 1)


def test_a_corrupt_batch_is_not_taken_and_asked_for_again() -> None:
    """5.45, 5.23: what came whole before it is kept."""
    story, leader = following()
    whole, corrupt = written(0, "a"), bytearray(written(1, "b"))
    corrupt[-1] ^= 1
    leader.answer(fetched(whole + bytes(corrupt), hw=2))
    assert [told.offset for told in story.world.told(CorruptBatchFetched)] == [1]
    assert (story.log(2).leo, story.log(2).hw) == (1, 0)
    assert silent_for(story, leader, BACK_OFF)
    leader.answer(fetched(written(1, "b"), hw=2))
    assert (story.log(2).leo, story.log(2).hw) == (2, 2)


def test_rot_on_the_leaders_disk_shows_as_a_follower_that_never_advances() -> None:
    """5.45: the leader serves what its disk gives; the follower neither takes it nor falls over, and asks once per back-off."""
    story = Story((1, 2))
    story.controller.create("t", (1, 2))
    story.controller.create("u", (1, 2))
    story.controller.publish()
    story.produce(1, "good")
    story.world.advance(1_000)
    story.world.cut |= {(1, 2), (2, 1)}
    story.produce(1, "rotten", acks=1)
    story.nodes[1].disks[0].files["t-0/00000000000000000000.log"][-1] ^= 0x40
    story.world.cut.clear()
    story.world.advance(40_000)
    before = len(story.world.told(CorruptBatchFetched))
    assert before > 0
    story.world.advance(10 * BACK_OFF)
    assert 9 <= len(story.world.told(CorruptBatchFetched)) - before <= 10
    assert (story.log(2).leo, story.log(1).leo, story.nodes[2].env.halted) == (1, 2, None)
    story.produce(1, "x", name="u", acks=1)
    story.world.advance(1_000)
    assert story.log(2, "u").leo == 1


# -- out of range -------------------------------------------------------------------------------------------------------------


def out_of_range(records: int) -> tuple[Story, PlayedLeader]:
    """A follower with so many records, whose fetch was out of its leader's range."""
    story, leader = following()
    for base in range(records):
        leader.answer(fetched(written(base, "x"), hw=records))
    leader.answer(fetched(error=Error.OFFSET_OUT_OF_RANGE))
    return story, leader


def test_out_of_range_asks_the_leader_for_its_ends_as_a_replica() -> None:
    """5.23: first the latest offset, then the earliest, in the epoch of the fetch; meanwhile it fetches nothing."""
    story, leader = out_of_range(2)
    assert leader.open == [ListOffsetsRequest((ListOffsetsPartition("t", 0, LATEST, 0),), replica_id=2)]
    leader.list(5)
    assert leader.open == [ListOffsetsRequest((ListOffsetsPartition("t", 0, EARLIEST, 0),), replica_id=2)]
    story.world.advance(BACK_OFF)
    assert len(leader.open) == 1


def test_a_leader_whose_log_is_shorter_cuts_its_follower() -> None:
    """5.23: it was elected uncleanly; then fetching goes on at once from the new end."""
    story, leader = out_of_range(3)
    leader.list(1)
    leader.list(0)
    assert (story.log(2).leo, story.log(2).hw) == (1, 1)
    assert [(told.was, told.now, told.because) for told in story.world.told(Truncated)] == [(3, 1, "leader's log is shorter")]
    assert offsets(leader.open) == [1]


def test_a_leader_whose_log_starts_later_makes_its_follower_begin_anew_there() -> None:
    """5.23: empty, with its HW at the leader's start, and with no epoch to name; then fetching goes on at once."""
    story, leader = out_of_range(2)
    leader.list(9)
    leader.list(7)
    log = story.log(2)
    assert (log.log_start, log.leo, log.hw, log.epochs) == (7, 7, 7, ())
    assert [(told.was, told.now, told.because) for told in story.world.told(Truncated)] == [(2, 7, "leader's log starts later")]
    assert [(asked.fetch_offset, asked.last_fetched_epoch, asked.log_start_offset) for asked in leader.open[0].partitions] == [
        (7, -1, 7)
    ]
    leader.answer(fetched(written(7, "h", epoch=0), hw=8, start=7))
    assert (log.leo, log.hw) == (8, 8)


def test_out_of_range_that_is_in_range_after_all_is_tried_again_later() -> None:
    """5.23: at max(mine, start), which is mine; after the back-off, so that two brokers at odds do not spin."""
    story, leader = out_of_range(2)
    leader.list(4)
    leader.list(1)
    assert silent_for(story, leader, BACK_OFF)
    assert (offsets(leader.open), story.log(2).leo) == ([2], 2)


@pytest.mark.parametrize("error", [Error.NOT_LEADER_OR_FOLLOWER, Error.UNKNOWN_LEADER_EPOCH, Error.OFFSET_NOT_AVAILABLE])
@pytest.mark.parametrize("which", ["the end", "the start"])
def test_a_refused_question_about_the_ends_is_handled_like_a_refused_fetch(error: Error, which: str) -> None:
    """5.23: back off, then fetch again; nothing is cut on half an answer."""
    story, leader = out_of_range(2)
    if which == "the start":
        leader.list(1)
    leader.list(error=error)
    assert silent_for(story, leader, BACK_OFF)
    assert (offsets(leader.open), story.log(2).leo) == ([2], 2)


def test_a_fenced_question_about_the_ends_waits_for_metadata() -> None:
    """5.23"""
    story, leader = out_of_range(2)
    leader.list(error=Error.FENCED_LEADER_EPOCH)
    story.world.advance(60_000)
    assert leader.open == []
    story.controller.change(leader=1)
    story.controller.publish()
    assert offsets(leader.open) == [2]


@pytest.mark.parametrize("failure", [Failure.LOST, Failure.TIMED_OUT])
def test_a_question_about_the_ends_that_was_lost_is_begun_again_by_the_next_fetch(failure: Failure) -> None:
    """5.23"""
    story, leader = out_of_range(2)
    leader.reply(failure)
    assert silent_for(story, leader, BACK_OFF)
    assert offsets(leader.open) == [2]


def test_an_answer_about_the_ends_of_an_epoch_that_is_gone_changes_nothing() -> None:
    """5.20, 5.23: the leader was elected anew meanwhile; its old end says nothing about its new log."""
    story, leader = out_of_range(3)
    leader.list(0)
    story.controller.change(leader=1)
    story.controller.publish()
    question = next(n for n, asked in enumerate(leader.asked) if asked.message in leader.open and not asked.answered)
    leader.reply(ListOffsetsResponse((ListedOffset("t", 0, Error.NONE, -1, 0),)), question)
    assert (story.log(2).leo, story.world.told(Truncated)) == (3, [])
    assert [request.partitions[0].current_leader_epoch for request in leader.open] == [1]


def test_a_follower_begins_anew_inside_a_batch_where_the_leaders_log_starts() -> None:
    """5.44: the batch that contains the start comes whole; the log begins at its base, and starts where the leader's does."""
    story = Story((1, 2))
    story.controller.create("t", (1, 2))
    story.controller.change(isr=(1,))
    story.world.cut |= {(2, 1)}
    story.controller.publish()
    for values in (("a", "b", "c"), ("d", "e", "f", "g"), ("h",)):
        story.produce(1, *values)
    story.log(1).advance_start(5)
    story.world.cut.clear()
    story.world.advance(SOCKET_TIMEOUT + 5 * BACK_OFF)
    log = story.log(2)
    assert (log.first_segment_base, log.log_start, log.leo, log.hw) == (3, 5, 8, 8)
    assert log.epochs == story.log(1).epochs == ((0, 5),)
    assert [(header.base_offset, header.end_offset) for header in log.headers()] == [(3, 7), (7, 8)]
    assert story.world.told(ReplicaFailed) == []
    assert set(story.controller.state().isr) == {1, 2}
