"""One idempotent producer and one partition: what is sent again, when, and under which sequence (PROTOCOL 6.8 to 6.10)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.recorder import Recorder
from model.operation import Answer, Operation, Row
from model.plan import Workload
from tests.workloads.virtual import MS, SECOND, TAG, VirtualTime
from workloads.lane import BACK_OFF_NS, LAST_EPOCH, SEQUENCES, Identity, Lane

APPEND = Operation(kind="append", topic="t", partition=0, acks=-1, idempotent=True)
Answers = tuple[Answer, ...]
Numbers = tuple[int, int, int]


class Desk:
    """A lane whose requests the test answers, in any order."""

    def __init__(self, *, flows: bool = True, first: int = 0, epoch: int = 0, **limits: Any) -> None:
        self.time = VirtualTime()
        self.rows: list[Row] = []
        self.over: list[tuple[Row, ...]] = []
        self.waiting: list[tuple[Numbers, Callable[[Answers], None]]] = []
        process = Recorder(self.time, TAG, self.rows.append).process(0, self, "raw-0")
        self.lane = Lane(self.time, process, Workload(**limits), Identity(5, epoch, first))
        if flows:
            self.begin()
            self.answer("SUCCESS")

    def submit(self, batch: tuple[Operation, ...], done: Callable[[Answers], None]) -> None:
        first = batch[0]
        assert (first.producer_id, first.producer_epoch, first.sequence) != (None, None, None)
        self.waiting.append(((first.producer_epoch or 0, first.sequence or 0, len(batch)), done))

    def begin(self, *sizes: int) -> None:
        for size in sizes or (1,):
            assert self.lane.room > 0
            self.lane.begin((APPEND,) * size, self.over.append)

    @property
    def open(self) -> list[Numbers]:
        """Epoch, first sequence and size of what is on its way."""
        return [numbers for numbers, _ in self.waiting]

    def answer(self, *facts: str) -> None:
        for fact in facts:
            (_, _, size), done = self.waiting.pop(0)
            done(tuple(Answer(fact=fact, offset=i if fact == "SUCCESS" else None) for i in range(size)))

    def outcomes(self) -> list[tuple[str, str | None, int | None]]:
        return [(row.type, row.error, row.sequence) for row in self.rows]


# -- what goes well -----------------------------------------------------------------------------------------------------


def test_batches_in_flight_carry_sequences_that_follow_each_other() -> None:
    """6.10 One number per record; as many batches as the plan allows."""
    desk = Desk(in_flight=3)
    desk.begin(2, 1, 3)
    assert desk.open == [(0, 1, 2), (0, 3, 1), (0, 4, 3)]
    assert desk.lane.room == 0
    desk.answer("SUCCESS")
    assert desk.lane.room == 1


def test_sequences_wrap() -> None:
    """6.10 Behind 2^31 - 1 comes 0, also inside a batch."""
    desk = Desk(flows=False, first=SEQUENCES - 2)
    desk.begin(3)
    desk.answer("SUCCESS")
    desk.begin(1)
    assert desk.open == [(0, 1, 1)]
    assert [row.sequence for row in desk.rows] == [SEQUENCES - 2, SEQUENCES - 1, 0]


def test_the_first_batch_goes_alone() -> None:
    """Until something was written nobody knows that the leader was found, and what follows could overtake it."""
    desk = Desk(flows=False)
    desk.begin()
    assert desk.lane.room == 0
    desk.answer("SUCCESS")
    assert desk.lane.room == 3


def test_written_once_and_told_twice_is_over() -> None:
    """An old duplicate was written, somewhere: the sequence goes on."""
    desk = Desk()
    desk.begin()
    desk.answer("DUPLICATE_SEQUENCE_NUMBER")
    assert desk.rows[-1].type == "info"
    desk.begin()
    assert desk.open == [(0, 2, 1)]


# -- what is sent again -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fact", ["TIMED_OUT", "CONNECTION_LOST", "NOT_LEADER_OR_FOLLOWER", "NOT_SENT", "NOT_ENOUGH_REPLICAS"])
def test_what_may_pass_is_sent_again_under_the_same_sequence(fact: str) -> None:
    """After 50 ms, then after ever longer; one row in the end."""
    desk = Desk()
    desk.begin(2)
    for number in range(3):
        desk.answer(fact)
        assert desk.open == []
        desk.time.advance((BACK_OFF_NS << number) - MS)
        assert desk.open == []
        desk.time.advance(MS)
        assert desk.open == [(0, 1, 2)]
    desk.answer("SUCCESS")
    assert [(row.type, row.sequence, row.attempts) for row in desk.rows[1:]] == [
        ("ok", 1, 1 if fact == "NOT_SENT" else 4),
        ("ok", 2, 1 if fact == "NOT_SENT" else 4),
    ]


def test_what_must_be_sent_again_holds_back_what_follows_it() -> None:
    """Only the first that is not over is sent again; nothing new begins, and the others follow in order."""
    desk = Desk()
    desk.begin(1, 1, 1)
    desk.answer("TIMED_OUT", "OUT_OF_ORDER_SEQUENCE_NUMBER", "OUT_OF_ORDER_SEQUENCE_NUMBER")
    assert desk.lane.room == 0
    for sequence in (1, 2, 3):
        desk.time.advance(SECOND)
        assert desk.open == [(0, sequence, 1)]
        desk.answer("SUCCESS")
    assert desk.outcomes()[1:] == [("ok", None, 1), ("ok", None, 2), ("ok", None, 3)]
    assert desk.lane.room == 3


def test_one_that_overtook_the_first_does_not_wait_for_it() -> None:
    """An answer is an answer, in whichever order they come."""
    desk = Desk()
    desk.begin(1, 1)
    desk.waiting.reverse()
    desk.answer("SUCCESS", "CONNECTION_LOST")
    desk.time.advance(SECOND)
    desk.answer("SUCCESS")
    assert desk.outcomes()[1:] == [("ok", None, 2), ("ok", None, 1)]


@pytest.mark.parametrize("limits", [{"retries": 2}, {"deliver_within": 250 * MS}])
def test_a_batch_is_given_up_after_so_many_retries_or_so_long(limits: dict[str, Any]) -> None:
    """Its fate is open, so it ends as that, and what follows begins a new epoch."""
    desk = Desk(**limits)
    desk.begin()
    for _ in range(3):
        assert desk.open == [(0, 1, 1)]
        desk.answer("TIMED_OUT")
        desk.time.advance(120 * MS)
    desk.time.advance(SECOND)
    assert desk.outcomes()[1:] == [("info", "TIMED_OUT", 1)]
    assert desk.rows[-1].attempts == 3
    desk.begin()
    assert desk.open == [(1, 0, 1)]


# -- a new epoch --------------------------------------------------------------------------------------------------------


def test_a_sequence_that_is_refused_for_good_raises_the_epoch() -> None:
    """The first of all is out of order only if the broker knows better. What was certainly not written moves to the new epoch."""
    desk = Desk()
    desk.begin(1, 2, 1)
    desk.answer("OUT_OF_ORDER_SEQUENCE_NUMBER", "OUT_OF_ORDER_SEQUENCE_NUMBER")
    assert desk.lane.room == 0
    desk.answer("OUT_OF_ORDER_SEQUENCE_NUMBER")
    desk.time.advance(SECOND)
    assert desk.open == [(1, 0, 2)]
    desk.answer("SUCCESS")
    desk.time.advance(SECOND)
    assert desk.open == [(1, 2, 1)]
    desk.answer("SUCCESS")
    assert [(row.type, row.producer_epoch, row.sequence) for row in desk.rows[1:]] == [
        ("fail", 0, 1),
        ("ok", 1, 0),
        ("ok", 1, 1),
        ("ok", 1, 2),
    ]


def test_what_may_have_been_written_never_moves_to_a_new_epoch() -> None:
    """It would be a second copy: it ends as open, however it was told of later."""
    desk = Desk()
    desk.begin(1, 1, 1)
    desk.answer("OUT_OF_ORDER_SEQUENCE_NUMBER", "CONNECTION_LOST", "SUCCESS")
    assert desk.outcomes()[1:] == [
        ("fail", "OUT_OF_ORDER_SEQUENCE_NUMBER", 1),
        ("info", "CONNECTION_LOST", 2),
        ("ok", None, 3),
    ]
    desk.time.advance(10 * SECOND)
    assert desk.open == []
    desk.begin()
    assert desk.open == [(1, 0, 1)]


def test_a_record_that_is_refused_for_itself_is_not_sent_again() -> None:
    """Too large once is too large always; those behind it are numbered anew."""
    desk = Desk()
    desk.begin(1, 1)
    desk.answer("MESSAGE_TOO_LARGE", "OUT_OF_ORDER_SEQUENCE_NUMBER")
    desk.time.advance(SECOND)
    assert desk.open == [(1, 0, 1)]
    assert desk.outcomes()[1:] == [("fail", "MESSAGE_TOO_LARGE", 1)]


def test_after_the_last_epoch_only_a_new_producer_id_helps() -> None:
    """Epochs are 16 bits and do not wrap."""
    desk = Desk(epoch=LAST_EPOCH)
    desk.begin(1, 1)
    desk.answer("OUT_OF_ORDER_SEQUENCE_NUMBER", "OUT_OF_ORDER_SEQUENCE_NUMBER")
    assert (desk.lane.idle, desk.lane.worn_out, desk.lane.room) == (True, True, 0)
    assert [row.type for row in desk.rows[1:]] == ["fail", "fail"]


def test_an_epoch_may_be_raised_between_batches() -> None:
    """6.10 It begins with sequence 0."""
    desk = Desk()
    desk.lane.raise_epoch()
    desk.begin()
    assert desk.open == [(1, 0, 1)]


def test_a_stop_ends_what_waits_and_leaves_what_is_on_its_way() -> None:
    """Nothing is sent again after it; each batch ends once."""
    desk = Desk()
    desk.begin(1, 1, 1)
    desk.answer("TIMED_OUT")
    desk.lane.stop()
    assert desk.outcomes()[1:] == [("info", "TIMED_OUT", 1)]
    desk.answer("SUCCESS", "TIMED_OUT")
    desk.time.advance(10 * SECOND)
    assert (desk.open, desk.lane.idle) == ([], True)
    assert desk.outcomes()[2:] == [("ok", None, 2), ("info", "TIMED_OUT", 3)]


# -- against a broker ---------------------------------------------------------------------------------------------------

WAYS = ["takes", "takes", "takes", "refuses", "never hears", "is not heard", "hears late", "is not asked", "has too few"]


class Broker:
    """6.9 and 6.10 in a few lines, behind a network that does one of WAYS to each request in turn."""

    def __init__(self, time: VirtualTime, ways: Sequence[str]) -> None:
        self.time, self.ways = time, list(ways)
        self.log: list[Operation] = []
        self.remembered: list[tuple[Operation, int]] = []

    def submit(self, batch: tuple[Operation, ...], done: Callable[[Answers], None]) -> None:
        way = self.ways.pop(0) if self.ways else "takes"
        fact, offset = "SUCCESS", None
        if way in ("takes", "is not heard"):
            fact, offset = self.append(batch)
        if way == "hears late":
            self.time.after(3 * SECOND, lambda: self.append(batch) and None)
        facts = {
            "refuses": "NOT_LEADER_OR_FOLLOWER",
            "never hears": "CONNECTION_LOST",
            "is not heard": "TIMED_OUT",
            "hears late": "TIMED_OUT",
            "is not asked": "NOT_SENT",
            "has too few": "NOT_ENOUGH_REPLICAS",
        }
        fact = facts.get(way, fact)
        told = tuple(Answer(fact=fact, offset=None if offset is None else offset + i) for i in range(len(batch)))
        self.time.after(2 * MS, lambda: done(told))

    def append(self, batch: tuple[Operation, ...]) -> tuple[str, int | None]:
        first, last = batch[0], batch[-1]
        if self.remembered:
            known, _ = self.remembered[-1]
            if (first.producer_epoch or 0) < (known.producer_epoch or 0):
                return "INVALID_PRODUCER_EPOCH", None
            same = first.producer_epoch == known.producer_epoch
            for each, offset in self.remembered[-5:]:
                if same and (each.producer_epoch, each.sequence) == (last.producer_epoch, last.sequence):
                    return "SUCCESS", offset
            if first.sequence != (((known.sequence or 0) + 1) % SEQUENCES if same else 0):
                return "OUT_OF_ORDER_SEQUENCE_NUMBER", None
        self.remembered.append((last, len(self.log)))
        self.log += batch
        return "SUCCESS", len(self.log) - len(batch)


@given(
    st.lists(st.sampled_from(WAYS), max_size=60),
    st.lists(st.integers(0, 3), max_size=40),
    st.sampled_from([0, SEQUENCES - 7]),
    st.integers(1, 5),
    st.sampled_from([0, 2, 10]),
)
def test_whatever_gets_lost_each_record_is_there_once_and_in_order(
    ways: list[str], sizes: list[int], first: int, in_flight: int, retries: int
) -> None:
    """What succeeded is in the log, what failed is not, nothing is there twice; sequences go up by one inside an epoch, and
    epochs do not fall."""
    time, rows = VirtualTime(), list[Row]()
    broker = Broker(time, ways)
    process = Recorder(time, TAG, rows.append).process(0, broker, "raw-0")
    lane = Lane(time, process, Workload(in_flight=in_flight, retries=retries), Identity(5, 0, first))
    for size in sizes:
        if size and lane.room:
            lane.begin((APPEND,) * size, lambda rows: None)
        else:
            time.advance(size * 40 * MS)
    assert time.run_until(lambda: lane.idle, 60 * SECOND)
    time.advance(5 * SECOND)

    values = [each.value for each in broker.log]
    assert len(set(values)) == len(values)
    by_value = {row.value: row for row in rows}
    assert {row.value for row in rows if row.type == "ok"} <= set(values)
    assert not any(by_value[value].type == "fail" for value in values)
    for value, offset in zip(values, range(len(values)), strict=True):
        assert by_value[value].offset in (None, offset)
    numbers = [(row.producer_epoch or 0, row.sequence or 0) for row in map(by_value.__getitem__, values)]
    assert numbers == [(each.producer_epoch or 0, each.sequence or 0) for each in broker.log]
    for earlier, later in pairwise(numbers):
        follows = later == (earlier[0], (earlier[1] + 1) % SEQUENCES)
        assert follows or (later[0] > earlier[0] and later[1] == 0)
