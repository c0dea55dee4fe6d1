"""The raw client on real brokers in memory, and on nodes that answer as the test says: one request, one answer per operation."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.clients.raw import POLL_WAIT_MS, RawClient
from model.operation import Acks, Answer, Operation
from model.outcome import outcome
from model.value import make_value, to_payload
from replication.batch import Record, decode, encode, header_at, stamped
from replication.env import CLOSE
from replication.errors import Error
from replication.messages import (
    FetchedPartition,
    FetchRequest,
    FetchResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ProducedPartition,
    ProduceRequest,
    ProduceResponse,
)
from tests.replication.memory import World
from tests.replication.scripted import Story, no_leader, topic_id
from tests.replication.test_client import TIMEOUT_MS, Puppet, WatchedEnv, cluster, metadata, move, refused_fetch

INIT = Operation(kind="init")


def value(counter: int) -> int:
    return make_value(3, 1, counter)


def append(*counters: int, acks: Acks = -1, size: int = 8) -> tuple[Operation, ...]:
    return tuple(Operation(kind="append", topic="t", partition=0, acks=acks, value=value(i), size=size) for i in counters)


def read(from_offset: int, max_records: int | None = 100) -> Operation:
    return Operation(kind="read", topic="t", partition=0, from_offset=from_offset, max_records=max_records)


def ask(kind: str, topic: str = "t") -> Operation:
    return Operation(kind=kind, topic=topic, partition=0)  # type: ignore[arg-type]


class Guest:
    """A raw client in a world."""

    def __init__(self, world: World, bootstrap: Sequence[int] = (1, 2, 3)) -> None:
        self.world, self.env = world, WatchedEnv(world)
        self.client = RawClient(self.env, bootstrap, TIMEOUT_MS)

    def answers(self, *batch: Operation) -> tuple[Answer, ...]:
        """What `done` was told: once, and not before `submit` had returned."""
        told: list[tuple[Answer, ...]] = []
        self.client.submit(batch, told.append)
        assert told == []
        self.world.advance(0)
        if not told:
            self.world.advance(TIMEOUT_MS)
        (answers,) = told
        assert len(answers) == len(batch)
        return answers

    def answer(self, asked: Operation) -> Answer:
        (answer,) = self.answers(asked)
        return answer

    def sent(self, kind: type) -> list[object]:
        return [message for _, message in self.env.asked if isinstance(message, kind)]


def visited(**config: str) -> tuple[Story, Guest]:
    """Three brokers, the topic t led by broker 1, and a raw client."""
    story, _ = cluster(**config)
    return story, Guest(story.world)


def producer(guest: Guest) -> Answer:
    """A producer id: brokers have none to give at first, and say so, once each."""
    answers = [guest.answer(INIT) for _ in range(4)]
    assert len(guest.sent(InitProducerIdRequest)) % 4 == 0
    return next(answer for answer in answers if answer.fact == "SUCCESS")


def puppet(*answers: object) -> Guest:
    """A node that gives metadata, then these answers."""
    world = World()
    Puppet(world, 1, metadata(1, 0), *answers)
    return Guest(world, (1,))


def fetched(*batches: bytes, high_watermark: int, leader_epoch: int = 0) -> FetchResponse:
    data, offset = b"", 0
    for each in batches:
        header = header_at(each)
        assert header is not None
        data += stamped(each, offset, leader_epoch)
        offset += header.records_count
    return FetchResponse((FetchedPartition(topic_id("t"), 0, Error.NONE, high_watermark, high_watermark, 0, data),))


def of_values(*counters: int) -> bytes:
    return encode([Record(to_payload(value(i)), timestamp=0) for i in counters])


# -- appends ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("acks", [1, -1])
def test_appends_of_one_batch_are_one_record_batch(acks: Acks) -> None:
    """One produce, one v2 batch, an offset for each record; no leader epoch, since a produce carries none."""
    story, guest = visited()
    assert guest.answer(*append(0, acks=acks)).offset == 0
    answers = guest.answers(*append(1, 2, 3, acks=acks))
    assert answers == tuple(Answer(fact="SUCCESS", node=1, offset=i) for i in (1, 2, 3))
    (_, message) = guest.env.asked[-1]
    assert isinstance(message, ProduceRequest)
    assert message.acks == acks
    header = header_at(message.partitions[0].records)
    assert header is not None
    assert (header.records_count, header.producer_id, header.base_sequence) == (3, -1, -1)
    assert header.base_timestamp == header.max_timestamp == story.world.wall_start_ms


def test_a_record_is_as_large_as_asked() -> None:
    """The value comes first, padding behind it, and a reader finds the value again."""
    _, guest = visited()
    guest.answer(*append(4, size=100))
    (message,) = guest.sent(ProduceRequest)
    data = message.partitions[0].records  # type: ignore[attr-defined]
    header = header_at(data)
    assert header is not None
    assert [record.value for record in decode(data, header)] == [to_payload(value(4)).ljust(100, b"\0")]
    assert guest.answer(read(0)).values == (value(4),)


def test_without_acks_nobody_answers() -> None:
    """NO_ACK, no node, no offset."""
    _, guest = visited()
    assert guest.answers(*append(0, 1, acks=0)) == (Answer(fact="NO_ACK"),) * 2
    guest.world.advance(1_000)
    assert guest.answer(read(0)).values == (value(0), value(1))


def test_an_idempotent_batch_carries_its_producer() -> None:
    """Producer id, epoch and the first sequence are in the batch; sent again it is answered with the offsets it has."""
    _, guest = visited()
    made = producer(guest)
    batch = tuple(
        msgspec.structs.replace(each, producer_id=made.producer_id, producer_epoch=made.producer_epoch, sequence=i)
        for i, each in enumerate(append(0, 1))
    )
    assert [answer.offset for answer in guest.answers(*batch)] == [0, 1]
    assert [answer.offset for answer in guest.answers(*batch)] == [0, 1]
    later = msgspec.structs.replace(batch[0], sequence=7)
    assert guest.answer(later).fact == "OUT_OF_ORDER_SEQUENCE_NUMBER"


def test_a_failed_append_has_no_offset() -> None:
    """Kafka's error, or ours, for every record of the batch."""
    story, guest = visited(min_insync_replicas="3")
    story.controller.change(isr=(1, 2))
    story.controller.publish()
    assert guest.answers(*append(0, 1)) == (Answer(fact="NOT_ENOUGH_REPLICAS", node=1),) * 2
    no_leader(story)
    assert Guest(story.world).answers(*append(0, 1)) == (Answer(fact="NOT_SENT"),) * 2


def test_a_success_that_names_no_offset_stays_without() -> None:
    """The fact is told as it is; model/outcome.py makes info of it."""
    guest = puppet(ProduceResponse((ProducedPartition(topic_id("t"), 0, Error.NONE, -1),)))
    answer = guest.answer(*append(0))
    assert answer == Answer(fact="SUCCESS", node=1)
    assert outcome("append", (answer.fact,), has_offset=answer.offset is not None).type == "info"


# -- reads --------------------------------------------------------------------------------------------------------------


def test_a_read_tells_values_with_their_offsets_and_leader_epochs() -> None:
    """A dense answer has a base offset, the leader epoch of each record, and the one that answered."""
    story, guest = visited()
    guest.answers(*append(0, 1))
    move(story, 2)
    assert guest.answer(*append(2)).fact == "NOT_LEADER_OR_FOLLOWER"
    assert guest.answer(*append(3)).offset == 2
    story.world.advance(1_000)
    assert guest.answer(read(1)) == Answer(
        fact="SUCCESS",
        node=2,
        base_offset=1,
        values=(value(1), value(3)),
        epochs=(0, 1),
        at_end=True,
        leader_epoch=1,
    )


@pytest.mark.parametrize(
    ("from_offset", "most", "wanted", "at_end"),
    [
        (0, 100, (0, 1, 2, 3, 4, 5), True),
        (0, 6, (0, 1, 2, 3, 4, 5), True),
        (0, 5, (0, 1, 2, 3, 4), False),
        (2, 1, (2,), False),
        (5, 1, (5,), True),
        (4, None, (4, 5), True),
        (6, 10, (), True),
    ],
)
def test_a_read_returns_no_more_than_asked_and_is_at_the_end_only_there(
    from_offset: int, most: int | None, wanted: tuple[int, ...], at_end: bool
) -> None:
    """CHECKERS 1.1: records beyond the limit are dropped first; the end is where the last returned one is the last readable."""
    _, guest = visited()
    guest.answers(*append(0, 1, 2, 3))
    guest.answers(*append(4, 5))
    answer = guest.answer(read(from_offset, most))
    assert (answer.values, answer.at_end) == (tuple(value(i) for i in wanted), at_end)
    assert answer.base_offset == (from_offset if wanted else None)
    assert answer.offsets is None


@given(st.lists(st.integers(1, 6), min_size=1, max_size=12), st.integers(0, 40), st.integers(1, 20), st.sampled_from([8, 2_000]))
def test_reads_of_any_limit_agree_with_the_log(batches: list[int], from_offset: int, most: int, size: int) -> None:
    """Whatever batches the records came in and however large they are: a read is a piece of the log from the offset asked for,
    never longer than its limit, at least one record where there is one, and at the end exactly where the log ends."""
    _, guest = visited()
    end = 0
    for count in batches:
        guest.answers(*append(*range(end, end + count), size=size))
        end += count
    from_offset = min(from_offset, end)
    answer = guest.answer(read(from_offset, most))
    assert answer.values is not None
    got = len(answer.values)
    assert answer.values == tuple(value(from_offset + i) for i in range(got))
    assert min(1, end - from_offset) <= got <= most
    assert answer.at_end == (from_offset + got == end)
    if size == 8 and set(batches) == {1}:  # each record has a header of its own: the limit in bytes leaves room for it
        assert got == min(most, end - from_offset)


def test_a_read_cut_by_bytes_is_not_at_the_end() -> None:
    """Records larger than the limit in bytes expects come short; only the high watermark says whether more is there."""
    _, guest = visited()
    for i in range(3):
        guest.answer(*append(i, size=5_000))
    answer = guest.answer(read(0, 3))
    assert (answer.values, answer.at_end) == ((value(0),), False)


def test_a_read_of_a_hidden_tail_is_empty_and_at_the_end() -> None:
    """7.2 Between high watermark and log end nothing is readable yet, and nothing more was promised."""
    story, guest = visited()
    story.world.cut |= {(2, 1), (3, 1)}  # followers fetch no more
    assert guest.answer(*append(0, acks=1)).offset == 0
    assert guest.answer(read(1)) == Answer(fact="SUCCESS", node=1, values=(), epochs=(), at_end=True, leader_epoch=0)
    assert guest.answer(read(0)).values == ()


def test_offsets_with_a_hole_are_told_one_by_one() -> None:
    """An answer that is not dense names every offset: the checkers must see what was missing."""
    first, second = stamped(of_values(0, 1), 0, 0), stamped(of_values(2), 5, 0)
    part = FetchedPartition(topic_id("t"), 0, Error.NONE, 6, 6, 0, first + second)
    answer = puppet(FetchResponse((part,))).answer(read(0))
    assert (answer.base_offset, answer.offsets, answer.at_end) == (None, (0, 1, 5), True)
    assert answer.values == tuple(value(i) for i in (0, 1, 2))


def test_records_without_a_leader_epoch_have_unknown_ones() -> None:
    """Kafka's -1 is not stored: the whole list is unknown."""
    answer = puppet(fetched(of_values(0), high_watermark=1, leader_epoch=-1)).answer(read(0))
    assert (answer.values, answer.epochs) == ((value(0),), None)


@pytest.mark.parametrize("payload", [None, b"", b"seven..", b"\xff" * 8])
def test_a_record_that_holds_no_value_makes_the_answer_corrupt(payload: bytes | None) -> None:
    """Left out it would look like a hole, and made up it would look like a phantom."""
    foreign = encode([Record(to_payload(value(0)), timestamp=0), Record(payload, timestamp=0)])
    answer = puppet(fetched(foreign, high_watermark=2)).answer(read(0))
    assert answer == Answer(fact="CORRUPT_ANSWER", node=1)
    limited = puppet(fetched(foreign, high_watermark=2)).answer(read(0, 1))
    assert (limited.fact, limited.values) == ("SUCCESS", (value(0),))  # nobody asked for the second record


def test_damage_makes_the_answer_corrupt() -> None:
    """5.45 A wrong CRC gives no values at all."""
    torn = of_values(0)[:-1] + b"\x55"
    assert puppet(fetched(torn, high_watermark=1)).answer(read(0)) == Answer(fact="CORRUPT_ANSWER", node=1)


def test_without_a_high_watermark_nobody_knows_the_end() -> None:
    """at_end is null, not false."""
    assert puppet(fetched(of_values(0), high_watermark=-1)).answer(read(0)).at_end is None


@pytest.mark.parametrize("error", [Error.OFFSET_OUT_OF_RANGE, Error.FENCED_LEADER_EPOCH, Error.KAFKA_STORAGE_ERROR])
def test_a_refused_read_tells_the_error_and_nothing_else(error: Error) -> None:
    """Kafka's name of it, and who said so."""
    assert puppet(refused_fetch(error)).answer(read(0)) == Answer(fact=error.name, node=1)


def test_a_lost_connection_and_silence_are_told_apart() -> None:
    """CONNECTION_LOST and TIMED_OUT, without a node: nobody answered."""
    assert puppet(CLOSE).answer(read(0)) == Answer(fact="CONNECTION_LOST")
    assert puppet(None).answer(*append(0)) == Answer(fact="TIMED_OUT")


# -- consumers ----------------------------------------------------------------------------------------------------------


def poll(from_offset: int | None) -> Operation:
    return Operation(kind="poll", topic="t", partition=0, from_offset=from_offset)


def test_a_poll_tells_records_from_its_position_and_not_where_the_end_is() -> None:
    """CHECKERS 1.1: as a read does, but without `at_end`."""
    _, guest = visited()
    guest.answers(*append(0, 1, 2))
    assert guest.answer(poll(1)) == Answer(
        fact="SUCCESS", node=1, base_offset=1, values=(value(1), value(2)), epochs=(0, 0), leader_epoch=0
    )
    assert guest.answer(poll(9)) == Answer(fact="OFFSET_OUT_OF_RANGE", node=1)


def test_a_poll_takes_five_hundred_at_most() -> None:
    """As many as Kafka's consumer takes; the rest comes with the next one."""
    _, guest = visited()
    guest.answers(*append(*range(600)))
    assert guest.answer(poll(0)).values == tuple(value(i) for i in range(500))
    assert guest.answer(poll(500)).values == tuple(value(i) for i in range(500, 600))


def test_a_poll_at_the_end_waits_for_the_next_record() -> None:
    """5.40 An empty answer comes when the wait is over, a record at once."""
    story, guest = visited()
    guest.answers(*append(0))
    told: list[tuple[Answer, ...]] = []
    for _ in range(2):
        guest.client.submit((poll(1),), told.append)
        story.world.advance(POLL_WAIT_MS - 10)
        assert told == []
        story.world.advance(20)
        assert told.pop()[0].values == ()
    guest.client.submit((poll(1),), told.append)
    story.world.advance(10)
    Guest(story.world).answers(*append(1))
    assert told.pop()[0].values == (value(1),)


def test_an_assignment_asks_nobody() -> None:
    """It is a position from which polls begin, told back in the world's next turn."""
    _, guest = visited()
    asked = Operation(kind="assign", topic="t", partition=0, offset=7)
    assert guest.answer(asked) == Answer(fact="SUCCESS", offset=7)
    assert guest.env.asked == []


# -- offsets and producers ----------------------------------------------------------------------------------------------


def test_start_and_end_of_the_log_are_told_with_the_leader_epoch() -> None:
    """7.4 The end is the high watermark, the start the log's own."""
    _, guest = visited()
    guest.answers(*append(0, 1, 2))
    assert guest.answer(ask("end_offset")) == Answer(fact="SUCCESS", node=1, offset=3, leader_epoch=0)
    assert guest.answer(ask("start_offset")) == Answer(fact="SUCCESS", node=1, offset=0, leader_epoch=0)
    assert [message.partitions[0].timestamp for message in guest.sent(ListOffsetsRequest)] == [-1, -2]  # type: ignore[attr-defined]


def test_an_end_that_is_no_offset_is_corrupt() -> None:
    """Every log has an end: a success without one is no answer."""
    guest = puppet(ListOffsetsResponse((ListedOffset("t", 0, Error.NONE, -1, -1, -1),)))
    assert guest.answer(ask("end_offset")) == Answer(fact="CORRUPT_ANSWER", node=1)


def test_an_unknown_topic_is_not_even_asked() -> None:
    """The leader is not known, so nothing is sent."""
    _, guest = visited()
    assert guest.answer(ask("end_offset", "nowhere")) == Answer(fact="NOT_SENT")


def test_init_gives_a_producer_id() -> None:
    """6.15 As received; an answer without one is corrupt."""
    _, guest = visited()
    first, second = producer(guest), producer(guest)
    assert (first.producer_epoch, second.producer_epoch) == (0, 0)
    assert None not in (first.producer_id, second.producer_id)
    assert first.producer_id != second.producer_id
    world = World()
    Puppet(world, 1, InitProducerIdResponse(Error.NONE, -1, -1), InitProducerIdResponse(Error.REQUEST_TIMED_OUT, -1, -1))
    lone = Guest(world, (1,))
    assert [lone.answer(INIT).fact for _ in range(2)] == ["CORRUPT_ANSWER", "REQUEST_TIMED_OUT"]


# -- what cannot be one request -----------------------------------------------------------------------------------------


def changed(operation: Operation, **changes: object) -> Operation:
    return msgspec.structs.replace(operation, **changes)


@pytest.mark.parametrize(
    "batch",
    [
        (read(0), read(1)),
        (append(0)[0], read(1)),
        (append(0)[0], changed(append(1)[0], acks=1)),
        (append(0)[0], changed(append(1)[0], partition=1)),
        (changed(append(0)[0], sequence=0, producer_id=1), changed(append(1)[0], sequence=2, producer_id=1)),
        (changed(append(0)[0], producer_id=1), changed(append(1)[0], producer_id=2)),
        (changed(append(0)[0], value=None),),
        (changed(append(0)[0], acks=None),),
        (changed(append(0)[0], topic=None),),
        (changed(read(0), from_offset=None),),
        (ask("reg_read"),),
        (poll(None),),
        (ask("assign"),),
    ],
)
def test_what_is_no_request_is_refused_before_anything_is_sent(batch: tuple[Operation, ...]) -> None:
    """A workload that asks for it is wrong, and hears of it in `submit`."""
    _, guest = visited()
    with pytest.raises(ValueError, match=r"."):
        guest.client.submit(batch, lambda answers: None)
    assert guest.env.asked == []


def test_sequences_of_a_batch_may_wrap() -> None:
    """6.10 Behind the largest sequence comes 0."""
    _, guest = visited()
    last = 2**31 - 1
    batch = tuple(
        changed(each, producer_id=5, producer_epoch=0, sequence=(last + i) % 2**31) for i, each in enumerate(append(0, 1))
    )
    guest.answers(*batch)
    (message,) = guest.sent(ProduceRequest)
    header = header_at(message.partitions[0].records)  # type: ignore[attr-defined]
    assert header is not None
    assert (header.base_sequence, header.records_count) == (last, 2)


def test_requests_may_overlap() -> None:
    """Several processes may share a client: each hears of its own."""
    story, guest = visited()
    told: list[tuple[int, Answer]] = []
    for i in range(5):
        guest.client.submit(append(i), lambda answers, i=i: told.append((i, answers[0])))  # type: ignore[misc]
    story.world.advance(1_000)
    assert sorted(i for i, _ in told) == [0, 1, 2, 3, 4]
    assert guest.answer(read(0)).values == tuple(value(i) for i, _ in sorted(told, key=lambda each: each[1].offset or 0))
    assert len(guest.sent(FetchRequest)) == 1
