"""Fetch requests of followers and consumers: answered or parked, woken by the right things, read anew (5.14 to 5.18, 5.40)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from replication.batch import headers
from replication.env import IoError
from replication.errors import Error
from replication.identity import Key
from replication.messages import (
    CONSUMER,
    EpochEndOffset,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ProducePartition,
    ProduceRequest,
)
from replication.state import Follower
from tests.replication.memory import MS
from tests.replication.scripted import Story, batch, no_leader, topic_id

LONG = 60_000


def led(*isr: int, partitions: int = 1, disks: int = 1, **config: str) -> Story:
    """Broker 1 leads every partition of t; 2 and 3 are played by the test, and nobody answers AlterPartition."""
    story = Story((1,), disks=disks)
    for follower in (2, 3):
        story.controller.broker(follower)
    story.controller.answers = False
    story.controller.create("t", (1, 2, 3), partitions, **config)
    for index in range(partitions):
        story.controller.change(index=index, isr=isr or (1,))
    story.controller.publish()
    return story


def ask(
    story: Story,
    *asked: FetchPartition,
    wait: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 1 << 24,
    replica: int = CONSUMER,
    broker_epoch: int = -1,
) -> list[Any]:
    """A fetch of several partitions; the list holds the whole answer once there is one."""
    return story.world.ask(1, FetchRequest(wait, min_bytes, max_bytes, asked, replica, broker_epoch))


def part(offset: int = 0, index: int = 0, *, name: str = "t", epoch: int = -1, most: int = 1 << 20) -> FetchPartition:
    return FetchPartition(topic_id(name), index, offset, most, epoch)


def produce(story: Story, index: int, *values: str) -> int:
    """Append one batch with acks=1 to a partition of t; its size."""
    data = batch(*values)
    story.world.ask(1, ProduceRequest(1, 1_000, (ProducePartition(topic_id("t"), index, data),)))
    return len(data)


def ends(records: bytes) -> list[int]:
    return [header.end_offset for _, header in headers(records)]


def replies_of(story: Story) -> list[Any]:
    """What broker 1 says from now on, also what nobody listens to any more."""
    env, told = story.nodes[1].env, list[Any]()
    reply = env.reply

    def recorded(request: Any, answer: Any) -> None:
        told.append(answer)
        reply(request, answer)

    env.reply = recorded  # type: ignore[method-assign]
    return told


def follower_of(story: Story, replica: int = 2) -> Follower:
    leader = story.partition(1).leader
    assert leader is not None
    return msgspec.structs.replace(leader.state.followers[replica])


def nothing_is_parked(story: Story) -> bool:
    kept = story.nodes[1].broker.partitions.values()
    return not any(partition.replica_fetches._parked or partition.consumer_fetches._parked for partition in kept)


# -- at once or parked --------------------------------------------------------------------------------------------------------


def test_a_fetch_with_nothing_to_read_waits_as_long_as_it_asked() -> None:
    """5.40: then it is answered with what there is."""
    story = led()
    consumer, replica = story.consume(1, 0, max_wait_ms=500), story.fetch(1, 2, 0, epoch=0, wait=500)
    story.world.advance(499)
    assert (consumer, replica) == ([], [])
    story.world.advance(1)
    assert [(answer.error_code, answer.records) for answer in consumer + replica] == [(Error.NONE, b"")] * 2
    assert nothing_is_parked(story)


def test_a_fetch_that_does_not_want_to_wait_is_answered_empty() -> None:
    """5.40"""
    story = led()
    assert [answer.records for answer in story.consume(1, 0) + story.fetch(1, 2, 0, epoch=0)] == [b"", b""]


def test_a_fetch_of_nothing_is_answered_at_once() -> None:
    """5.40"""
    assert ask(led(), wait=LONG) == [FetchResponse(())]


def test_one_partition_with_an_error_answers_the_whole_fetch() -> None:
    """5.40: the others come along with what they have, in the order asked."""
    story = led(partitions=2)
    (answer,) = ask(story, part(0, 0), part(9, 1), part(0, 0, name="nowhere"), wait=LONG)
    assert [response.error_code for response in answer.responses] == [
        Error.NONE,
        Error.OFFSET_OUT_OF_RANGE,
        Error.UNKNOWN_TOPIC_ID,
    ]
    assert nothing_is_parked(story)


def test_a_consumer_waits_above_the_hw_and_is_refused_beyond_the_end() -> None:
    """7.2 (B34): up to the end of the log it is merely early."""
    story = led(1, 2)
    produce(story, 0, "a")
    produce(story, 0, "b")
    early = story.consume(1, 1, max_wait_ms=LONG)
    assert early == []
    assert story.consume(1, 3, max_wait_ms=LONG)[0].error_code is Error.OFFSET_OUT_OF_RANGE
    story.fetch(1, 2, 2, epoch=0)
    assert ends(early[0].records) == [2]


# -- woken --------------------------------------------------------------------------------------------------------------------


def test_an_append_wakes_replicas_and_not_consumers() -> None:
    """5.40, 5.17: replicas read to the end, consumers only to the HW."""
    story = led(1, 2, 3)
    consumer, replica = story.consume(1, 0, max_wait_ms=LONG), story.fetch(1, 2, 0, epoch=0, wait=LONG)
    produce(story, 0, "a")
    assert consumer == []
    assert [ends(answer.records) for answer in replica] == [[1]]


def test_the_hw_wakes_consumers_and_not_replicas() -> None:
    """5.40: followers learn the HW with their next answer; until then it is stale there, and must be allowed to be."""
    story = led(1, 2, 3)
    produce(story, 0, "a")
    consumer, replica = story.consume(1, 0, max_wait_ms=LONG), story.fetch(1, 2, 1, epoch=0, wait=400)
    story.fetch(1, 3, 1, epoch=0)
    assert story.log(1).hw == 1
    assert [(ends(answer.records), answer.high_watermark) for answer in consumer] == [([1], 1)]
    assert replica == []
    story.world.advance(400)
    assert [(answer.records, answer.high_watermark) for answer in replica] == [(b"", 1)]


def loses_the_office(story: Story) -> None:
    story.controller.fail_over(2, (2, 3))
    story.controller.publish()


def gets_a_new_epoch(story: Story) -> None:
    story.controller.change(leader=1)
    story.controller.publish()


def is_deleted(story: Story) -> None:
    story.controller.delete("t")
    story.controller.publish()


def moves_away(story: Story) -> None:
    story.controller.change(replicas=(2, 3), isr=(2, 3), leader=2)
    story.controller.publish()


def loses_its_disk(story: Story) -> None:
    story.nodes[1].disks[0].broken = IoError("dead")
    story.world.advance(5_000)  # the HW checkpoint finds out


@pytest.mark.parametrize(
    ("happens", "epoch", "error"),
    [
        (loses_the_office, 0, Error.FENCED_LEADER_EPOCH),
        (loses_the_office, -1, Error.NOT_LEADER_OR_FOLLOWER),
        (no_leader, -1, Error.NOT_LEADER_OR_FOLLOWER),
        (gets_a_new_epoch, 0, Error.FENCED_LEADER_EPOCH),
        (is_deleted, 0, Error.UNKNOWN_TOPIC_ID),
        (moves_away, 0, Error.NOT_LEADER_OR_FOLLOWER),
        (loses_its_disk, 0, Error.KAFKA_STORAGE_ERROR),
    ],
)
@pytest.mark.parametrize("replica", [CONSUMER, 2])
def test_whatever_ends_an_office_wakes_everyone(happens: Callable[[Story], None], epoch: int, error: Error, replica: int) -> None:
    """5.40, 5.11, 10.1: each is judged again as things are now, answered once, and parked nowhere any more."""
    story = led(disks=2)
    partition, told = story.partition(1), replies_of(story)
    answers = ask(story, part(0, epoch=epoch), wait=LONG, replica=replica, broker_epoch=1 if replica == 2 else -1)
    assert answers == []
    happens(story)
    assert [answer.responses[0].error_code for answer in answers] == [error]
    story.world.advance(2 * LONG)
    assert len([answer for answer in told if isinstance(answer, FetchResponse)]) == 1
    assert not partition.replica_fetches._parked
    assert not partition.consumer_fetches._parked


def test_a_consumer_that_names_no_epoch_waits_through_a_new_one() -> None:
    """5.40, 7.3: woken, judged again, and still nothing to read."""
    story = led()
    answers = story.consume(1, 0, max_wait_ms=LONG)
    gets_a_new_epoch(story)
    assert answers == []
    produce(story, 0, "a")
    assert [ends(answer.records) for answer in answers] == [[1]]


def test_a_log_that_starts_later_is_noticed_when_its_waiters_are_woken() -> None:
    """5.40, 7.2: what they wait for is gone."""
    story = led()
    for value in "abc":
        produce(story, 0, value)
    answers = ask(story, part(0), wait=LONG, min_bytes=10_000)
    assert answers == []
    story.log(1).advance_start(2)
    story.partition(1).wake_all()
    story.world.run()
    assert [answer.responses[0].error_code for answer in answers] == [Error.OFFSET_OUT_OF_RANGE]
    assert nothing_is_parked(story)


def test_a_fetch_parked_under_several_partitions_is_woken_by_any_and_leaves_all() -> None:
    """5.40: it is answered once, for all of them."""
    story = led(partitions=3)
    told = replies_of(story)
    answers = ask(story, *(part(0, index) for index in range(3)), wait=LONG)
    produce(story, 1, "a")
    assert [ends(response.records) for response in answers[0].responses] == [[], [1], []]
    assert nothing_is_parked(story)
    produce(story, 2, "b")
    story.world.advance(2 * LONG)
    assert len([answer for answer in told if isinstance(answer, FetchResponse)]) == 1


def test_one_wake_up_answers_everyone_who_waits() -> None:
    """5.40: in the order in which they came."""
    story = led()
    order: list[int] = []
    for number in range(3):
        request = FetchRequest(LONG, 1, 1 << 24, (part(0),))
        story.world.send(None, 1, request, None, lambda answer, number=number: order.append(number))  # type: ignore[misc]
    story.world.run()
    assert order == []
    produce(story, 0, "a")
    assert order == [0, 1, 2]
    assert nothing_is_parked(story)


# -- completion reads again -----------------------------------------------------------------------------------------------------


def test_a_parked_fetch_is_answered_from_the_moment_of_its_completion() -> None:
    """5.40 (B57): epoch, bounds and records of now, not of its arrival."""
    story = led(1, 2, 3)
    produce(story, 0, "a")
    replica = story.fetch(1, 2, 1, epoch=0, wait=LONG)
    story.fetch(1, 3, 1, epoch=0)  # the HW moves to 1, and nobody is woken
    story.log(1).advance_start(1)
    produce(story, 0, "b", "c")
    (answer,) = replica
    assert (answer.high_watermark, answer.last_stable_offset, answer.log_start_offset) == (1, 1, 1)
    assert ends(answer.records) == [3]


def test_a_fetch_that_need_not_wait_is_answered_with_the_bounds_from_before_it_counted() -> None:
    """5.17: HW and log start are sampled before the follower's state; the follower learns of what it moved next time."""
    story = led(1, 2)
    produce(story, 0, "a")
    story.fetch(1, 2, 0, epoch=0)
    (answer,) = story.fetch(1, 2, 1, epoch=0)
    assert (answer.high_watermark, story.log(1).hw) == (0, 1)


def test_a_parked_fetch_tells_about_its_follower_once_when_it_arrives() -> None:
    """5.40, 5.18 (B57): its completion does not make the follower look fresher than it is."""
    story = led(1, 2)
    story.world.advance(100)
    answers = story.fetch(1, 2, 0, epoch=0, wait=LONG)
    at_arrival = follower_of(story)
    assert (at_arrival.leo, at_arrival.last_fetch, at_arrival.last_caught_up) == (0, 100 * MS, 100 * MS)
    story.world.advance(300)
    produce(story, 0, "a")
    assert len(answers) == 1
    assert follower_of(story) == at_arrival
    assert at_arrival.leader_leo_at_last_fetch == 0


def test_a_parked_fetch_that_times_out_teaches_nothing_more_either() -> None:
    """5.40 (B57)"""
    story = led(1, 2)
    story.fetch(1, 2, 0, epoch=0, wait=500)
    at_arrival = follower_of(story)
    story.world.advance(500)
    assert follower_of(story) == at_arrival


# -- sizes ----------------------------------------------------------------------------------------------------------------------


def test_a_fetch_waits_for_as_many_bytes_as_it_asked_for() -> None:
    """5.40: over all its partitions together."""
    story = led(partitions=2)
    size = len(batch("a"))
    answers = ask(story, part(0, 0), part(0, 1), wait=LONG, min_bytes=2 * size)
    produce(story, 0, "a")
    assert answers == []
    produce(story, 1, "a")
    assert [ends(response.records) for response in answers[0].responses] == [[1], [1]]


def test_too_few_bytes_are_given_when_the_time_is_up() -> None:
    """5.40: with what there is by then."""
    story = led()
    answers = ask(story, part(0), wait=300, min_bytes=10_000)
    produce(story, 0, "a")
    story.world.advance(299)
    assert answers == []
    story.world.advance(1)
    assert ends(answers[0].responses[0].records) == [1]


def test_what_lies_in_later_segments_is_readable_too() -> None:
    """5.40: enough bytes are enough, in however many files they lie; waiting for more would be waiting for nothing."""
    size = len(batch("a"))
    story = led(segment_bytes=str(size))
    for value in "abc":
        produce(story, 0, value)
    assert len(story.log(1).segments) == 3
    assert len(ask(story, part(0), wait=LONG, min_bytes=2 * size)) == 1


def test_partitions_are_read_in_the_order_asked_while_there_is_room() -> None:
    """7.7: only whole batches; a partition that finds no room is answered empty, and not with an error."""
    story = led(partitions=3)
    for index in range(3):
        for value in "ab":
            size = produce(story, index, value)
    (answer,) = ask(story, part(0, 2), part(0, 0), part(0, 1), max_bytes=3 * size + size // 2)
    assert [(response.partition_index, ends(response.records)) for response in answer.responses] == [
        (2, [1, 2]),
        (0, [1]),
        (1, []),
    ]
    assert {response.error_code for response in answer.responses} == {Error.NONE}
    assert [response.high_watermark for response in answer.responses] == [2, 2, 2]


def test_the_first_partition_with_anything_gives_one_batch_however_large() -> None:
    """7.7: else a large batch could never be read; whatever comes after it finds no room."""
    story = led(partitions=3)
    for index in (1, 2):
        for value in "ab":
            produce(story, index, value * 1_000)
    asked = part(0, 0), part(0, 1, most=1), part(0, 2)
    (answer,) = ask(story, *asked, max_bytes=10)
    assert [ends(response.records) for response in answer.responses] == [[], [1], []]


def test_each_partition_keeps_to_its_own_limit() -> None:
    """7.7: only the first non-empty one may exceed it."""
    story = led(partitions=2)
    for index in range(2):
        for value in "abc":
            size = produce(story, index, value)
    (answer,) = ask(story, part(0, 0, most=2 * size), part(0, 1, most=size - 1))
    assert [ends(response.records) for response in answer.responses] == [[1, 2], []]


def test_a_read_begins_with_the_batch_that_contains_its_offset() -> None:
    """7.7: clients drop what they did not ask for."""
    story = led()
    produce(story, 0, "a", "b", "c")
    (answer,) = story.consume(1, 2)
    assert [header.base_offset for _, header in headers(answer.records)] == [0]


# -- refusals -------------------------------------------------------------------------------------------------------------------


def test_there_are_no_sessions() -> None:
    """7.8: a session that somebody believes in is not found; a request without one is a full one."""
    story = led()
    request = FetchRequest(LONG, 1, 1 << 20, (part(0),), session_id=5, session_epoch=1)
    assert story.world.ask(1, request) == [FetchResponse((), Error.FETCH_SESSION_ID_NOT_FOUND)]
    assert nothing_is_parked(story)
    first = msgspec.structs.replace(request, session_id=0, session_epoch=0, max_wait_ms=0)
    assert story.world.ask(1, first)[0].error_code is Error.NONE


def test_what_is_not_here_is_named() -> None:
    """3.16, 6.12: an unknown id, an index the topic has not, a replica that is elsewhere."""
    story = led()
    story.controller.create("elsewhere", (2,))
    story.controller.publish()
    (answer,) = ask(story, part(name="nowhere"), part(index=7), part(name="elsewhere"), wait=LONG)
    assert [response.error_code for response in answer.responses] == [
        Error.UNKNOWN_TOPIC_ID,
        Error.UNKNOWN_TOPIC_OR_PARTITION,
        Error.NOT_LEADER_OR_FOLLOWER,
    ]


@pytest.mark.parametrize(
    ("epoch", "replica", "leads", "error"),
    [
        (0, 2, True, Error.FENCED_LEADER_EPOCH),
        (2, 2, True, Error.UNKNOWN_LEADER_EPOCH),
        (2, 2, False, Error.UNKNOWN_LEADER_EPOCH),
        (1, 2, False, Error.NOT_LEADER_OR_FOLLOWER),
        (1, 9, True, Error.UNKNOWN_LEADER_EPOCH),
        (1, 9, False, Error.NOT_LEADER_OR_FOLLOWER),
    ],
)
def test_a_replica_is_refused_for_its_epoch_then_for_the_office_then_for_itself(
    epoch: int, replica: int, leads: bool, error: Error
) -> None:
    """5.14: and told who leads as far as this broker knows."""
    story = led()
    story.controller.change(leader=1 if leads else 3)
    story.controller.publish()
    (answer,) = story.fetch(1, replica, 0, epoch=epoch, wait=LONG)
    assert (answer.error_code, answer.current_leader) == (error, LeaderIdAndEpoch(1 if leads else 3, 1))


def test_a_leader_does_not_step_down_for_a_higher_epoch() -> None:
    """5.48 (B35): only metadata ends an office."""
    story = led()
    assert story.fetch(1, 2, 0, epoch=5)[0].error_code is Error.UNKNOWN_LEADER_EPOCH
    assert story.produce(1, "a", acks=1)[0].error_code is Error.NONE


def test_a_fetch_of_a_process_that_was_replaced_is_refused_and_teaches_nothing() -> None:
    """5.18 (B18): its broker epoch is lower than the registered one."""
    story = led(1, 2)
    produce(story, 0, "a")
    story.controller.broker(2, broker_epoch=8)
    story.controller.publish()
    before = follower_of(story)
    (answer,) = story.fetch(1, 2, 1, epoch=0, broker_epoch=7, wait=LONG)
    assert answer.error_code is Error.NOT_LEADER_OR_FOLLOWER
    assert follower_of(story) == before
    assert story.log(1).hw == 0
    for accepted in (8, 9, -1):  # registered; newer than this leader's image; not given
        assert story.fetch(1, 2, 0, epoch=0, broker_epoch=accepted)[0].error_code is Error.NONE


@pytest.mark.parametrize(
    ("offset", "last_epoch"), [(2, 0), (3, 1), (1, 2)], ids=["beyond its epoch", "beyond the end", "unknown"]
)
def test_a_diverging_fetch_teaches_nothing(offset: int, last_epoch: int) -> None:
    """5.16 (B09): neither where the follower is nor that it lives."""
    story = led(1, 2)
    produce(story, 0, "a")
    gets_a_new_epoch(story)
    produce(story, 0, "b")
    before = follower_of(story)
    story.world.advance(50)
    (answer,) = story.fetch(1, 2, offset, epoch=1, last_epoch=last_epoch, wait=LONG)
    assert answer.records == b""
    if last_epoch == 2:
        assert answer.error_code is Error.OFFSET_OUT_OF_RANGE
    else:
        end = EpochEndOffset(0, 1) if last_epoch == 0 else EpochEndOffset(1, 2)
        assert (answer.error_code, answer.diverging_epoch) == (Error.NONE, end)
    assert follower_of(story) == before
    assert story.log(1).hw == 0


def test_one_refused_partition_does_not_keep_the_others_from_counting() -> None:
    """5.16, 5.17: each partition of a fetch is a fetch of its own."""
    story = led(1, 2, partitions=2)
    for index in range(2):
        produce(story, index, "a")
    ask(story, part(5, 0, epoch=0), part(1, 1, epoch=0), replica=2, broker_epoch=1)
    assert [story.log(1, index=index).hw for index in range(2)] == [0, 1]


# -- while a leader takes office ------------------------------------------------------------------------------------------------


def taking_office(*isr: int) -> Story:
    """Broker 1 has been elected to leader epoch 1, and the disk has not yet said that this is durable."""
    story = led(*isr)
    produce(story, 0, "a")
    story.nodes[1].disks[0].held = []
    gets_a_new_epoch(story)
    return story


def requests() -> list[Any]:
    return [
        FetchRequest(0, 1, 1 << 20, (part(0),)),
        FetchRequest(0, 1, 1 << 20, (part(1, epoch=1),), 2, 1),
        ProduceRequest(1, 1_000, (ProducePartition(topic_id("t"), 0, batch("b")),)),
        ListOffsetsRequest((ListOffsetsPartition("t", 0, -1),)),
    ]


def first_error(answer: Any) -> Error:
    found: Error = (answer.partitions if hasattr(answer, "partitions") else answer.responses)[0].error_code
    return found


def test_requests_wait_until_the_new_epoch_is_durable() -> None:
    """5.41: nothing is answered in an epoch that a power cut could undo; afterwards everything is, in order."""
    story = taking_office(1)
    answers = [story.world.ask(1, request) for request in requests()]
    story.world.advance(1_000)
    assert answers == [[], [], [], []]
    assert (story.log(1).leo, follower_of(story).last_fetch) == (1, None)
    story.nodes[1].disks[0].release()
    assert [[first_error(answer) for answer in asked] for asked in answers] == [[Error.NONE]] * 4
    assert story.log(1).epochs == ((0, 0), (1, 1))
    assert not story.nodes[1].broker.holding


def test_requests_that_waited_for_an_office_that_was_lost_meanwhile_are_told_so() -> None:
    """5.41, 5.11: not leader, fenced for whoever named the epoch; and the late word of the disk changes nothing."""
    story = taking_office(1)
    answers = [story.world.ask(1, request) for request in requests()]
    loses_the_office(story)
    found = [[first_error(answer) for answer in asked] for asked in answers]
    refused = Error.NOT_LEADER_OR_FOLLOWER
    assert found == [[refused], [Error.FENCED_LEADER_EPOCH], [refused], [refused]]
    story.nodes[1].disks[0].release()
    assert story.produce(1, "c", acks=1)[0].error_code is refused
    assert story.nodes[1].broker.state.taking_office == set()


def test_requests_that_waited_for_an_office_are_told_of_a_deletion_and_of_a_dead_disk() -> None:
    """3.16, 10.1"""
    story = taking_office(1)
    answers = story.consume(1, 0)
    is_deleted(story)
    assert [answer.error_code for answer in answers] == [Error.UNKNOWN_TOPIC_ID]
    story = led(disks=2)
    story.nodes[1].disks[0].held = []
    gets_a_new_epoch(story)
    answers = story.consume(1, 0)
    story.nodes[1].disks[0].broken = IoError("dead")
    story.nodes[1].disks[0].release()
    assert [answer.error_code for answer in answers] == [Error.KAFKA_STORAGE_ERROR]


def test_a_request_that_touches_no_new_office_does_not_wait() -> None:
    """5.41: one partition's election holds up one partition."""
    story = taking_office(1)
    story.controller.create("calm", (1,))
    story.nodes[1].disks[0].held, held = None, story.nodes[1].disks[0].held
    story.controller.publish()
    story.nodes[1].disks[0].held = held
    assert story.produce(1, "x", acks=1, name="calm")[0].error_code is Error.NONE
    assert story.consume(1, 0) == []


def test_a_request_does_not_overtake_one_that_waits_for_an_office() -> None:
    """5.41, 6.7: they share a partition, so they are served in the order in which they came; others pass by."""
    story = led(partitions=3)
    story.nodes[1].disks[0].held = []
    gets_a_new_epoch(story)

    def write(*indexes: int) -> list[Any]:
        asked = tuple(ProducePartition(topic_id("t"), index, batch("x")) for index in indexes)
        return story.world.ask(1, ProduceRequest(1, 60_000, asked))

    first, second, free = write(0, 1), write(1), write(2)
    assert (first, second, len(free)) == ([], [], 1)
    story.nodes[1].disks[0].release()
    assert [response.base_offset for answer in first + second for response in answer.responses] == [0, 0, 1]


def test_a_parked_fetch_that_times_out_while_an_office_is_being_taken_waits_for_it() -> None:
    """5.41: it came before the election, but its answer would be of the new epoch."""
    story = led()
    answers = story.consume(1, 0, max_wait_ms=200)
    story.nodes[1].disks[0].held = []
    gets_a_new_epoch(story)
    story.world.advance(1_000)
    assert answers == []
    story.nodes[1].disks[0].release()
    assert [answer.error_code for answer in answers] == [Error.NONE]


def test_a_second_election_before_the_first_is_durable_takes_office_once() -> None:
    """5.41, 3.7: what counts is that the newest epoch is durable."""
    story = taking_office(1)
    answers = story.consume(1, 0)
    gets_a_new_epoch(story)
    disk = story.nodes[1].disks[0]
    assert disk.held
    first, *others = disk.held
    disk.held = list(others)
    first()
    story.world.run()
    assert answers == []
    disk.release()
    assert [answer.error_code for answer in answers] == [Error.NONE]
    assert story.log(1).epochs == ((0, 0), (2, 1))


def test_settings_alone_do_not_touch_what_is_parked() -> None:
    """3.14, 5.40: a fetch goes on waiting through an image that changes no office."""
    story = led()
    answers = story.consume(1, 0, max_wait_ms=LONG)
    story.controller.configure("t", max_message_bytes="5000")
    story.controller.publish()
    assert answers == []
    produce(story, 0, "a")
    assert [ends(answer.records) for answer in answers] == [[1]]


def keys(answer: FetchResponse) -> list[Key]:
    return [(response.topic_id, response.partition_index) for response in answer.responses]


def test_an_answer_names_what_was_asked_in_the_order_asked() -> None:
    """5.13: also a parked one, also where some of it failed."""
    story = led(partitions=3)
    answers = ask(story, part(0, 2), part(0, 0), part(0, 1), wait=LONG)
    is_deleted(story)
    assert keys(answers[0]) == [(topic_id("t"), 2), (topic_id("t"), 0), (topic_id("t"), 1)]
