"""Produce requests from arrival to acknowledgement: who is told what, when, and that it is told once (section 6, 5.41)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from replication.batch import LOG_APPEND_TIME, crc_is_right, decode, header_at
from replication.env import CLOSE, Failure, IoError
from replication.errors import Error
from replication.messages import (
    FetchPartition,
    FetchRequest,
    LeaderIdAndEpoch,
    ProducedPartition,
    ProducePartition,
    ProduceRequest,
    ProduceResponse,
)
from replication.rules import Rules
from replication.state import Leadership
from tests.replication.scripted import Story, batch, no_leader, topic_id

ALL = -1


def led(*isr: int, min_isr: str = "1", partitions: int = 1, rules: Rules | None = None, disks: int = 1, **config: str) -> Story:
    """Broker 1 leads every partition of t; 2 and 3 are played by the test, and nobody answers AlterPartition."""
    story = Story((1,), rules=rules, disks=disks)
    for follower in (2, 3):
        story.controller.broker(follower)
    story.controller.answers = False
    story.controller.create("t", (1, 2, 3), partitions, min_insync_replicas=min_isr, **config)
    for index in range(partitions):
        story.controller.change(index=index, isr=isr or (1,))
    story.controller.publish()
    return story


def produce(story: Story, *parts: tuple[str, int, bytes], acks: int = ALL, timeout_ms: int = 30_000) -> list[Any]:
    """One request for several partitions; the list holds the whole answer once there is one."""
    asked = tuple(ProducePartition(topic_id(name), index, data) for name, index, data in parts)
    return story.world.ask(1, ProduceRequest(acks, timeout_ms, asked))


def errors(answers: list[Any]) -> list[Error]:
    (answer,) = answers
    assert isinstance(answer, ProduceResponse)
    return [part.error_code for part in answer.responses]


def replies_of(story: Story) -> list[Any]:
    """What broker 1 says from now on, also what nobody listens to any more."""
    env, told = story.nodes[1].env, list[Any]()
    reply = env.reply

    def recorded(request: Any, answer: Any) -> None:
        told.append(answer)
        reply(request, answer)

    env.reply = recorded  # type: ignore[method-assign]
    return told


def nobody_waits(story: Story, partitions: int = 1) -> bool:
    kept = [story.partition(1, index=index) for index in range(partitions)]
    return all(len(partition.waiting_for_hw) == len(partition.waiting_for_flush) == 0 for partition in kept)


def idempotent(value: str, sequence: int, producer_id: int = 7, producer_epoch: int = 0) -> bytes:
    return batch(value, producer_id=producer_id, producer_epoch=producer_epoch, base_sequence=sequence)


# -- acks ---------------------------------------------------------------------------------------------------------------


def test_acks_0_appends_and_says_nothing() -> None:
    """6.2: neither at once nor ever."""
    story = led(1)
    told = replies_of(story)
    answers = story.produce(1, "a", acks=0)
    story.world.advance(60_000)
    assert story.log(1).leo == 1
    assert (answers, told) == ([], [])


@pytest.mark.parametrize(
    "parts",
    [
        [("nowhere", 0, batch("a"))],
        [("t", 5, batch("a"))],
        [("t", 0, batch("a")[:-1])],
        [("t", 0, batch("a")), ("elsewhere", 0, batch("b"))],
    ],
    ids=["unknown topic", "unknown partition", "corrupt", "one of two"],
)
def test_acks_0_and_any_error_closes_the_connection(parts: list[tuple[str, int, bytes]]) -> None:
    """6.14: the only way to tell somebody who does not listen."""
    story = led(1)
    story.controller.create("elsewhere", (2,))
    story.controller.publish()
    told = replies_of(story)
    assert produce(story, *parts, acks=0) == [Failure.LOST]
    assert told == [CLOSE]


def test_acks_1_is_answered_at_the_append_whatever_the_isr() -> None:
    """6.2: min ISR is ignored, and so are the followers."""
    story = led(1, 2, min_isr="3")
    (answer,) = story.produce(1, "a", "b", acks=1)
    assert (answer.error_code, answer.base_offset, answer.log_append_time_ms, answer.log_start_offset) == (Error.NONE, 0, -1, 0)
    assert story.log(1).hw == 0


def test_acks_all_is_answered_when_the_hw_passes_the_whole_batch() -> None:
    """6.3, 6.6: every member of the ISR has it, and the answer comes with the fetch that says so."""
    story = led(1, 2, 3, min_isr="2")
    answers = story.produce(1, "a", "b")
    story.fetch(1, 2, 2, epoch=0)
    story.fetch(1, 3, 0, epoch=0)
    assert answers == []
    story.fetch(1, 3, 2, epoch=0)
    assert [(part.error_code, part.base_offset) for part in answers] == [(Error.NONE, 0)]


def test_acks_all_of_a_lone_replica_is_answered_at_once() -> None:
    """6.3: the append itself moves the HW."""
    assert led(1).produce(1, "a")[0].error_code is Error.NONE


def test_waiting_batches_are_acknowledged_in_the_order_of_their_offsets_and_no_further_than_the_hw() -> None:
    """6.4, 6.7"""
    story = led(1, 2)
    told = replies_of(story)
    for value in ("a", "b", "c"):
        story.produce(1, value)
    story.fetch(1, 2, 2, epoch=0)
    acked = [answer.responses[0].base_offset for answer in told if isinstance(answer, ProduceResponse)]
    assert acked == [0, 1]
    assert len(story.partition(1).waiting_for_hw) == 1


@pytest.mark.parametrize("acks", [2, -2, 3])
def test_there_is_no_fourth_kind_of_acks(acks: int) -> None:
    """6.1: refused for every partition, and nothing is written."""
    story = led(1, partitions=2)
    assert errors(produce(story, ("t", 0, batch("a")), ("t", 1, batch("b")), acks=acks)) == [Error.INVALID_REQUIRED_ACKS] * 2
    assert story.log(1).leo == 0


def test_under_min_isr_acks_all_writes_nothing() -> None:
    """6.3: the committed ISR counts, not whoever fetches."""
    story = led(1, min_isr="2")
    story.fetch(1, 2, 0, epoch=0)
    assert story.produce(1, "a")[0].error_code is Error.NOT_ENOUGH_REPLICAS
    assert story.log(1).leo == 0
    assert story.nodes[1].disks[0].files["t-0/00000000000000000000.log"] == b""


def test_a_batch_that_waits_while_the_isr_falls_below_min_isr_ends_by_recovery_or_by_its_timeout() -> None:
    """6.4, 5.28: the HW is frozen, so nothing is said until members are back, or the time is up."""
    story = led(1, 2, min_isr="2")
    first, second = story.produce(1, "a", timeout_ms=1_000), story.produce(1, "b", timeout_ms=9_000)
    story.controller.change(isr=(1,))
    story.controller.publish()
    story.world.advance(1_000)
    assert [part.error_code for part in first] == [Error.REQUEST_TIMED_OUT]
    assert (second, story.log(1).hw) == ([], 0)
    story.fetch(1, 2, 2, epoch=0)
    story.controller.change(isr=(1, 2))
    story.controller.publish()
    assert [part.error_code for part in second] == [Error.NONE]


def test_a_hw_that_passes_while_too_few_members_are_left_is_told_as_such() -> None:
    """6.4: only without the gate of 5.28 (B22) can the HW get there; then the promise was not kept as asked."""

    class NoGate(Rules):
        def may_advance_hw(self, leader: Leadership, min_isr: int) -> bool:
            return True

    story = led(1, 2, min_isr="2", rules=NoGate())
    answers = story.produce(1, "a")
    story.controller.change(isr=(1,))
    story.controller.publish()
    assert [part.error_code for part in answers] == [Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND]
    assert story.log(1).leo == 1


# -- several partitions -----------------------------------------------------------------------------------------------------


def test_partitions_of_one_request_are_judged_alone_and_answered_together() -> None:
    """6.13: in the order asked; one refusal neither stops nor delays the others."""
    story = led(1, 2, partitions=3)
    story.controller.change(index=1, isr=(1,))
    story.controller.publish()
    answers = produce(
        story,
        ("t", 0, batch("a")),
        ("t", 1, batch("b")),
        ("nowhere", 0, batch("c")),
        ("t", 2, batch("d")[:-1]),
        ("t", 2, batch("e")),
    )
    assert answers == []
    assert [story.log(1, index=index).leo for index in range(3)] == [1, 1, 1]
    fetch_all(story, 2, 1, range(3))
    assert errors(answers) == [Error.NONE, Error.NONE, Error.UNKNOWN_TOPIC_ID, Error.CORRUPT_MESSAGE, Error.NONE]


def fetch_all(story: Story, replica: int, offset: int, partitions: range) -> None:
    """A played follower's fetch for several partitions of t."""
    asked = tuple(FetchPartition(topic_id("t"), index, offset, 1 << 20, 0) for index in partitions)
    story.world.ask(1, FetchRequest(0, 1, 1 << 24, asked, replica, 1))


def test_a_timeout_leaves_what_is_decided() -> None:
    """6.5, 6.13: only the undecided are timed out; what was appended may still commit."""
    story = led(1, 2, partitions=3)
    story.controller.change(index=1, isr=(1,))
    story.controller.publish()
    answers = produce(story, ("t", 0, batch("a")), ("t", 1, batch("b")), ("nowhere", 0, batch("c")), timeout_ms=1_000)
    story.world.advance(999)
    assert answers == []
    story.world.advance(1)
    assert errors(answers) == [Error.REQUEST_TIMED_OUT, Error.NONE, Error.UNKNOWN_TOPIC_ID]
    assert answers[0].responses[1].base_offset == 0


def test_a_request_that_timed_out_waits_in_none_of_its_partitions() -> None:
    """6.13: a partition whose HW is stuck does not collect what ended otherwise."""
    story = led(1, 2, partitions=3)
    produce(story, *((("t", index, batch("a"))) for index in range(3)), timeout_ms=1_000)
    story.world.advance(1_000)
    assert nobody_waits(story, 3)


def test_a_request_that_timed_out_during_its_sync_does_not_wait_for_it_any_more() -> None:
    """6.13, 5.41: nor is it answered again when the disk is done."""
    story = led(1, flush_messages="1")
    told = replies_of(story)
    story.nodes[1].disks[0].held = []
    answers = story.produce(1, "a", acks=1, timeout_ms=100)
    story.world.advance(100)
    assert [part.error_code for part in answers] == [Error.REQUEST_TIMED_OUT]
    assert nobody_waits(story)
    story.nodes[1].disks[0].release()
    assert len(told) == 1


def test_an_empty_request_is_answered() -> None:
    """6.13: all of nothing is decided."""
    assert produce(led(1)) == [ProduceResponse(())]


# -- how waiting ends -------------------------------------------------------------------------------------------------------


def loses_the_office(story: Story) -> None:
    story.controller.fail_over(2, (2, 3))
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


ENDINGS = pytest.mark.parametrize(
    ("ends", "error", "hint"),
    [
        (loses_the_office, Error.NOT_LEADER_OR_FOLLOWER, LeaderIdAndEpoch(2, 1)),
        (no_leader, Error.NOT_LEADER_OR_FOLLOWER, None),
        (moves_away, Error.NOT_LEADER_OR_FOLLOWER, LeaderIdAndEpoch(2, 1)),
        (is_deleted, Error.UNKNOWN_TOPIC_OR_PARTITION, None),
        (loses_its_disk, Error.KAFKA_STORAGE_ERROR, None),
    ],
)


@ENDINGS
def test_a_batch_that_waits_for_the_hw_ends_with_the_replicas_office(
    ends: Callable[[Story], None], error: Error, hint: LeaderIdAndEpoch | None
) -> None:
    """6.4, 3.16, 5.11, 10.1: it is told why, and who leads now if that is known (6.12)."""
    story = led(1, 2, 3, disks=2)
    partition, told = story.partition(1), replies_of(story)
    answers = story.produce(1, "a", timeout_ms=60_000)
    ends(story)
    assert [(part.error_code, part.current_leader) for part in answers] == [(error, hint)]
    story.world.advance(120_000)
    assert sum(isinstance(answer, ProduceResponse) for answer in told) == 1
    assert len(partition.waiting_for_hw) == 0


@ENDINGS
def test_a_batch_that_waits_for_its_sync_ends_with_the_replicas_office(
    ends: Callable[[Story], None], error: Error, hint: LeaderIdAndEpoch | None
) -> None:
    """5.41, 6.4: also with acks=1, and the sync that comes later changes nothing."""
    story = led(1, disks=2, flush_messages="1")
    disk, partition, told = story.nodes[1].disks[0], story.partition(1), replies_of(story)
    disk.held = []
    answers = story.produce(1, "a", acks=1, timeout_ms=60_000)
    assert answers == []
    if ends is loses_its_disk:
        disk.broken = IoError("dead")
        disk.release()
    else:
        ends(story)
        assert [(part.error_code, part.current_leader) for part in answers] == [(error, hint)]
        disk.release()
    story.world.advance(120_000)
    assert [part.error_code for part in answers] == [error]
    assert sum(isinstance(answer, ProduceResponse) for answer in told) == 1
    assert len(partition.waiting_for_flush) == 0


def test_a_waiting_batch_does_not_survive_an_office_lost_and_won_again() -> None:
    """6.4, 5.11 (B30): another record lands at its offset and is committed there; the first producer hears of its loss, once."""
    story = Story((1, 2))
    story.controller.create("t", (1, 2))
    story.controller.publish()
    told = replies_of(story)
    story.world.cut |= {(1, 2), (2, 1)}
    lost = story.produce(1, "lost", timeout_ms=120_000)
    story.controller.fail_over(2, (2,))
    story.controller.publish()
    assert [part.error_code for part in lost] == [Error.NOT_LEADER_OR_FOLLOWER]
    assert story.produce(2, "kept")[0].base_offset == 0
    story.world.cut.clear()
    story.world.advance(60_000)
    assert set(story.controller.state().isr) == {1, 2}
    story.controller.fail_over(1, (1, 2))
    story.controller.publish()
    story.world.advance(60_000)
    assert story.log(1).hw == 1
    (read,) = story.consume(1, 0)
    header = header_at(read.records)
    assert header is not None
    assert [record.value for record in decode(read.records, header)] == [b"kept"]
    assert [answer.responses[0].error_code for answer in told if isinstance(answer, ProduceResponse)] == [
        Error.NOT_LEADER_OR_FOLLOWER
    ]


def test_a_waiting_batch_goes_on_waiting_through_a_new_epoch_of_the_same_leader() -> None:
    """6.4, 5.8: it never stopped leading; what was known of the followers counts no more (B16), so they must fetch again."""
    story = led(1, 2)
    answers = story.produce(1, "a")
    story.controller.change(leader=1)
    story.controller.publish()
    assert (answers, story.log(1).hw) == ([], 0)
    story.fetch(1, 2, 1, epoch=1)
    assert [part.error_code for part in answers] == [Error.NONE]


@pytest.mark.parametrize("acks", [1, ALL])
def test_whoever_asks_a_follower_is_told_who_leads(acks: int) -> None:
    """6.1, 6.12"""
    story = led(1, 2)
    story.controller.fail_over(2, (1, 2))
    story.controller.publish()
    (answer,) = story.produce(1, "a", acks=acks)
    assert answer == ProducedPartition(topic_id("t"), 0, Error.NOT_LEADER_OR_FOLLOWER, current_leader=LeaderIdAndEpoch(2, 1))


def test_every_request_is_answered_once() -> None:
    """6.4: one that timed out says nothing more when its batch commits; one that was acknowledged has no timeout."""
    story = led(1, 2, partitions=2)
    told = replies_of(story)
    produce(story, ("t", 0, batch("a")), ("t", 1, batch("a")), timeout_ms=100)
    produce(story, ("t", 0, batch("b")), ("t", 1, batch("b")), timeout_ms=200)
    story.world.advance(150)
    fetch_all(story, 2, 2, range(2))
    loses_the_office(story)
    story.world.advance(1_000)
    produced = [errors([answer]) for answer in told if isinstance(answer, ProduceResponse)]
    assert produced == [[Error.REQUEST_TIMED_OUT] * 2, [Error.NONE] * 2]
    assert nobody_waits(story, 2)


# -- idempotence ------------------------------------------------------------------------------------------------------------


def test_a_copy_of_a_batch_is_answered_with_the_offset_of_the_first() -> None:
    """6.9: and is not appended again."""
    story = led(1)
    for sequence in range(3):
        story.produce_bytes(1, idempotent("x", sequence))
    for sequence in range(3):
        assert story.produce_bytes(1, idempotent("x", sequence))[0].base_offset == sequence
    assert story.log(1).leo == 3


def test_a_copy_is_acknowledged_only_when_the_first_is_committed() -> None:
    """6.9 (B31b): with acks=all it waits like its original; with acks=1 it is known to be appended, and that is all it asks."""
    story = led(1, 2)
    original, copy = story.produce_bytes(1, idempotent("x", 0)), story.produce_bytes(1, idempotent("x", 0))
    assert (original, copy) == ([], [])
    assert story.produce_bytes(1, idempotent("x", 0), acks=1)[0].base_offset == 0
    story.fetch(1, 2, 1, epoch=0)
    assert [part.base_offset for part in original + copy] == [0, 0]
    assert [part.base_offset for part in story.produce_bytes(1, idempotent("x", 0))] == [0]


def test_a_copy_under_min_isr_is_refused_like_its_original_would_be() -> None:
    """6.3 before 6.9: nothing is promised that could not be kept."""
    story = led(1, min_isr="2")
    assert story.produce_bytes(1, idempotent("x", 0), acks=1)[0].error_code is Error.NONE
    assert story.produce_bytes(1, idempotent("x", 0))[0].error_code is Error.NOT_ENOUGH_REPLICAS


@pytest.mark.parametrize(
    ("sequence", "producer_epoch", "error"),
    [
        (2, 3, Error.NONE),
        (3, 3, Error.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (0, 2, Error.INVALID_PRODUCER_EPOCH),
        (2, 2, Error.INVALID_PRODUCER_EPOCH),
        (0, 4, Error.NONE),
        (2, 4, Error.OUT_OF_ORDER_SEQUENCE_NUMBER),
    ],
)
def test_a_producer_goes_on_where_it_stopped(sequence: int, producer_epoch: int, error: Error) -> None:
    """6.10: the next sequence of its epoch, or 0 of a higher one; nothing is written otherwise."""
    story = led(1)
    for done in range(2):
        story.produce_bytes(1, idempotent("x", done, producer_epoch=3))
    (answer,) = story.produce_bytes(1, idempotent("x", sequence, producer_epoch=producer_epoch))
    assert answer.error_code is error
    assert story.log(1).leo == (3 if error is Error.NONE else 2)


def test_five_batches_are_remembered_per_producer() -> None:
    """6.8, 6.9: the sixth last is out of order; another producer's batches do not push it out."""
    story = led(1)
    for sequence in range(6):
        story.produce_bytes(1, idempotent("x", sequence))
        story.produce_bytes(1, idempotent("y", sequence, producer_id=8))
    assert story.produce_bytes(1, idempotent("x", 1))[0].base_offset == 2
    assert story.produce_bytes(1, idempotent("x", 0))[0].error_code is Error.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_copy_is_recognised_after_a_fail_over() -> None:
    """6.11 (B31c): followers learn producers from what they replicate."""
    story = Story((1, 2))
    story.controller.create("t", (1, 2))
    story.controller.publish()
    story.produce(1, "before")
    original = story.produce_bytes(1, idempotent("x", 0))
    story.world.advance(1_000)
    story.controller.fail_over(2, (1, 2))
    story.controller.publish()
    copy = story.produce_bytes(2, idempotent("x", 0))
    story.world.advance(1_000)
    assert [part.base_offset for part in original + copy] == [1, 1]
    assert story.log(2).leo == 2
    assert story.produce_bytes(2, idempotent("x", 2))[0].error_code is Error.OUT_OF_ORDER_SEQUENCE_NUMBER


# -- what a batch must be ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", Error.CORRUPT_MESSAGE),
        (batch("a")[:-1] + b"\xff", Error.CORRUPT_MESSAGE),
        (batch("a") + batch("b"), Error.INVALID_RECORD),
        (batch("a" * 3_000), Error.MESSAGE_TOO_LARGE),
        (batch("a" * 1_500), Error.RECORD_LIST_TOO_LARGE),
        (batch("a", timestamp=1_700_000_000_000 + 3_600_001), Error.INVALID_TIMESTAMP),
        (batch("a", timestamp=1_700_000_000_000 - 3_600_001), Error.INVALID_TIMESTAMP),
    ],
    ids=["empty", "wrong CRC", "two batches", "too large", "larger than a segment", "of the future", "of the past"],
)
@pytest.mark.parametrize("acks", [0, 1, ALL])
def test_what_cannot_be_believed_is_not_written(data: bytes, error: Error, acks: int) -> None:
    """6.12: whatever the acks."""
    story = led(1, max_message_bytes="2000", segment_bytes="1000", message_timestamp_before_max_ms="3600000")
    answers = story.produce_bytes(1, data, acks=acks)
    assert answers == [Failure.LOST] if acks == 0 else answers[0].error_code is error
    assert story.log(1).leo == 0


def test_the_append_time_is_the_brokers_and_covered_by_the_crc() -> None:
    """6.12: the producer's own time, however wrong, does not matter then."""
    story = led(1, message_timestamp_type="LogAppendTime")
    story.world.advance(250)
    (answer,) = story.produce_bytes(1, batch("a", "b", timestamp=5), acks=1)
    now = 1_700_000_000_250
    assert (answer.error_code, answer.log_append_time_ms) == (Error.NONE, now)
    (read,) = story.consume(1, 0)
    header = header_at(read.records)
    assert header is not None
    assert crc_is_right(read.records, header)
    assert header.attributes & LOG_APPEND_TIME
    assert [record.timestamp for record in decode(read.records, header)] == [now, now]
    assert story.list_offset(1, now).offset == 0


# -- flushing ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("acks", [1, ALL])
def test_an_append_that_must_be_synced_counts_when_it_is(acks: int) -> None:
    """5.41: no answer, no HW and nothing to read before the sync; all of it with the sync, and the record survives."""
    story = led(1, flush_messages="1")
    disk = story.nodes[1].disks[0]
    disk.held = []
    answers = story.produce(1, "a", acks=acks)
    assert (answers, story.log(1).hw, story.log(1).leo) == ([], 0, 1)
    assert story.consume(1, 0)[0].records == b""
    disk.release()
    assert [part.error_code for part in answers] == [Error.NONE]
    assert story.log(1).hw == 1
    disk.lose_unsynced()
    assert len(disk.files["t-0/00000000000000000000.log"]) > 0


def test_the_hw_does_not_pass_what_the_leader_itself_has_not_synced() -> None:
    """5.41, 5.28: even when every follower already has it."""
    story = led(1, 2, flush_messages="1")
    story.nodes[1].disks[0].held = []
    answers = story.produce(1, "a")
    story.fetch(1, 2, 1, epoch=0)
    assert (answers, story.log(1).hw) == ([], 0)
    story.nodes[1].disks[0].release()
    assert [part.error_code for part in answers] == [Error.NONE]


def test_an_append_during_a_sync_waits_for_the_next_one() -> None:
    """5.41: the first sync says nothing about what came after it began."""
    story = led(1, flush_messages="1")
    disk = story.nodes[1].disks[0]
    disk.held = []
    first = story.produce(1, "a", acks=1)
    second = story.produce(1, "b", acks=1)
    assert len(disk.held) == 1
    sync = disk.held.pop()
    sync()
    story.world.run()
    assert [part.base_offset for part in first] == [0]
    assert (second, story.log(1).hw) == ([], 1)
    disk.release()
    assert [part.base_offset for part in second] == [1]
    assert nobody_waits(story)


def test_below_the_interval_nothing_is_waited_for() -> None:
    """5.41: with an interval of 3 the third record waits for the disk, the first two do not."""
    story = led(1, flush_messages="3")
    story.nodes[1].disks[0].held = []
    assert [len(story.produce(1, value, acks=1)) for value in "abc"] == [1, 1, 0]


def test_a_copy_with_acks_1_waits_for_the_sync_of_the_first() -> None:
    """6.9, 5.41: it may not claim more than its original."""
    story = led(1, flush_messages="1")
    story.nodes[1].disks[0].held = []
    original, copy = story.produce_bytes(1, idempotent("x", 0), acks=1), story.produce_bytes(1, idempotent("x", 0), acks=1)
    assert (original, copy) == ([], [])
    story.nodes[1].disks[0].release()
    assert [part.base_offset for part in original + copy] == [0, 0]


def test_a_sync_that_ends_while_a_new_epoch_is_being_recorded_answers_nothing_yet() -> None:
    """5.41: nothing is answered in an epoch that is not durable, also not what was appended before it."""
    story = led(1, flush_messages="1")
    disk = story.nodes[1].disks[0]
    disk.held = []
    answers = story.produce(1, "a", acks=1)
    story.controller.change(leader=1)
    story.controller.publish()
    sync, *others = disk.held
    disk.held = list(others)
    sync()
    story.world.run()
    assert (answers, story.log(1).hw) == ([], 0)
    disk.release()
    assert [part.error_code for part in answers] == [Error.NONE]
