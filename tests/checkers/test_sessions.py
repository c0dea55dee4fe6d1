"""Consumers that go back, and consumers that leave something out."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.found import Checked
from checkers.part import Part
from checkers.placing import Places
from checkers.sessions import check_sessions
from model.operation import Row
from tests.checkers.said import History, names, operations, part_of, shifted, shuffled, text, told


def check(part: Part) -> Checked:
    return check_sessions(part, Places(part))


def written(count: int, acks: int = -1) -> History:
    """So many records, the value at an offset 100 more."""
    history = History()
    for offset in range(count):
        history.append(100 + offset, 0, 1, at=offset, process=offset, acks=acks)
    return history


# -- the worked examples of CHECKERS 8.2 --------------------------------------------------------------------------------


def test_a_consumer_that_starts_again_below_what_it_had_went_back() -> None:
    """D14"""
    history = written(2)
    history.poll([0, 1], 4, 5)
    history.poll([1], 6, 7)
    assert operations(check(history.part)) == {"nonmonotonic_poll": (3, 4)}
    assert text(check(history.part)) == "p5's session 1 returned up to 1 and then started again at 1."


@pytest.mark.parametrize("session", [2, None])
def test_a_new_session_may_start_anywhere_and_so_may_one_that_nobody_knows(session: int | None) -> None:
    """D15"""
    history = written(4)
    history.poll([0, 1], 4, 5, session=session and 1)
    history.poll([1], 6, 7, session=session)
    history.poll([3], 8, 9, session=session and 3)
    assert names(check(history.part)) == {}


def test_a_consumer_that_jumps_over_a_known_record_skips_it() -> None:
    """D16"""
    history = written(3)
    history.poll([0], 4, 5)
    history.poll([2], 6, 7)
    history.poll([1], 6, 8, process=6)
    assert operations(check(history.part)) == {"poll_skip": (4, 5, 6)}
    assert text(check(history.part)) == "p5's session 1 jumped from 0 to 2 although 1 is known (p6, 8.000 s)."


def test_offsets_that_nobody_knows_may_be_jumped_over() -> None:
    """D17"""
    history = History()
    history.append(100, 0, 1, at=0)
    history.append(102, 0, 1, at=2, process=2)
    history.poll([0], 4, 5)
    history.poll([2], 6, 7)
    assert names(check(history.part)) == {}


def test_offsets_that_fall_inside_one_answer_are_told_as_that() -> None:
    """D18"""
    history = written(2)
    history.poll([1, 0], 4, 5)
    assert operations(check(history.part)) == {"int_nonmonotonic_poll": (3,)}
    assert text(check(history.part)) == "One answer to p5's session 1 (4.000-5.000 s) has offset 0 after 1."


def test_an_answer_that_leaves_out_a_known_record_is_told_as_that() -> None:
    """D19"""
    history = written(3)
    history.poll([0, 2], 4, 5)
    history.poll([1], 6, 7, process=6)
    assert operations(check(history.part)) == {"int_poll_skip": (4, 5)}
    assert "jumped from 0 to 2 inside one answer (4.000-5.000 s) although 1 is known" in text(check(history.part))


# -- near misses --------------------------------------------------------------------------------------------------------


def test_the_same_offset_twice_in_one_answer_is_going_back_and_two_neighbours_are_not() -> None:
    again, next_one = written(2), written(2)
    again.poll([0, 0], 4, 5)
    next_one.poll([0, 1], 4, 5)
    assert names(check(again.part)) == {"int_nonmonotonic_poll": 1}
    assert names(check(next_one.part)) == {}


def test_two_consumers_are_never_compared() -> None:
    history = written(3)
    history.poll([2], 4, 5, process=5)
    history.poll([0], 6, 7, process=6)
    assert names(check(history.part)) == {}


def test_an_empty_poll_and_one_that_failed_do_not_stand_between_two_others() -> None:
    """Whether a session goes on is said by its number alone."""
    history = written(3)
    history.poll([0], 4, 5)
    history.poll([], 5, 6)
    history.poll([], 6, 7, type="fail", error="TIMED_OUT")
    history.poll([2], 8, 9)
    assert operations(check(history.part)) == {"poll_skip": (4, 7, 2)}


def test_a_failed_poll_and_a_range_read_are_no_polls() -> None:
    history = written(3)
    history.poll([2], 4, 5)
    history.poll([0], 6, 7, type="fail", error="CORRUPT_ANSWER")
    history.read(0, [100], 8, 9, process=5)
    assert names(check(history.part)) == {}


def test_a_record_that_only_the_leader_acknowledged_makes_a_skip_of_level_local() -> None:
    """CHECKERS 5.2"""
    history = written(3, acks=1)
    history.poll([0], 4, 5)
    history.poll([2], 6, 7)
    assert names(check(history.part)) == {"poll_skip local": 1}
    assert operations(check(history.part)) == {"poll_skip": (4, 5, 2)}
    history.read(1, [101], 8, 9)
    assert names(check(history.part)) == {"poll_skip": 1}


def test_an_acknowledgement_that_nobody_waited_for_knows_nothing() -> None:
    history = written(3, acks=0)
    for row in history.rows:
        row.type, row.offset, row.error = "info", None, "NO_ACK"
    history.poll([0], 4, 5)
    history.poll([2], 6, 7)
    assert names(check(history.part)) == {}


def test_offsets_below_the_log_start_take_part_in_nothing() -> None:
    """What was known and is deleted may be jumped over, and what an answer holds below it is not looked at."""
    history = written(6)
    history.poll([0, 1], 4, 5)
    history.poll([3, 2, 4], 6, 7)
    assert names(check(history.part)) == {"int_nonmonotonic_poll": 1, "int_poll_skip": 1, "poll_skip": 1}
    history.log_start(3, 8, 9)
    assert names(check(history.part)) == {}
    history.poll([3], 10, 11)
    found = check(history.part)
    assert names(found) == {"nonmonotonic_poll": 1}
    assert text(found) == "p5's session 1 returned up to 4 and then started again at 3."


def test_one_answer_is_one_instance_however_often_it_goes_back() -> None:
    """CHECKERS 5.6"""
    history = written(6)
    history.poll([5, 3, 1, 0], 4, 5)
    assert names(check(history.part)) == {"int_nonmonotonic_poll": 1}


def test_the_window_is_from_the_first_start_to_the_last_end_of_the_witness() -> None:
    """CHECKERS 6.1"""
    history = written(3)
    history.poll([0], 4, 5)
    history.poll([2], 6, 7)
    history.read(1, [101], 3, 9)
    (found,) = check(history.part).found
    witness = found.tell(0)
    assert (witness.from_ns, witness.to_ns) == (found.from_ns[0], found.to_ns[0]) == (3 * 10**9, 9 * 10**9)
    assert found.proof_ns[0] == 9 * 10**9


def test_the_shape_knows_the_polls_and_their_epochs_but_not_who_knew_the_record() -> None:
    """CHECKERS 7.5"""
    history = written(3)
    history.poll([0], 4, 5, leader_epoch=3)
    history.poll([2], 6, 7, leader_epoch=4)
    (found,) = check(history.part).found
    assert found.tell(0).shape == "P=P,e+"


# -- properties ---------------------------------------------------------------------------------------------------------


@st.composite
def consumers(draw: st.DrawFn) -> list[Row]:
    """Records in a log, and consumers that go through it in answers of any size; some offsets nobody sees."""
    holes = draw(st.sets(st.integers(0, 30), max_size=8))
    offsets = [offset for offset in range(31) if offset not in holes]
    history = History()
    for offset in offsets:
        if draw(st.booleans()):
            history.append(100 + offset, 0, 1, at=offset, process=offset, acks=draw(st.sampled_from([-1, 1])))
    for process in range(50, 50 + draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(offsets)))
        session = 1
        for start in range(draw(st.integers(1, 8))):
            if draw(st.integers(0, 4)) == 0:
                session, at = session + 1, draw(st.integers(0, len(offsets)))
            size = draw(st.integers(0, 4))
            history.poll(offsets[at : at + size], 10 * start + 2, 10 * start + 5, process=process, session=session)
            at = min(at + size, len(offsets))
    return history.rows


@given(consumers())
def test_consumers_that_go_forward_are_never_told(rows: list[Row]) -> None:
    assert names(check(part_of(rows))) == {}


@given(consumers(), st.integers(0, 2**32), st.integers(0, 9), st.integers(0, 2**40))
def test_the_order_of_rows_and_the_size_of_offsets_change_nothing(rows: list[Row], seed: int, broken: int, by: int) -> None:
    chance = random.Random(seed)
    for row in chance.sample(rows, min(broken, len(rows))):
        if row.kind == "poll" and row.offsets:
            pairs = [(offset, 100 + offset) for offset in (chance.randrange(31) for _ in row.offsets)]
            row.offsets, row.values = [offset for offset, _ in pairs], [value for _, value in pairs]
    found = check(part_of(rows))
    assert told(check(part_of(shuffled(rows, seed)))) == told(found)
    assert names(check(part_of(shifted(rows, by)))) == names(found)


@given(st.integers(2, 20), st.data())
def test_a_record_taken_out_of_a_session_is_told_where_it_was_taken_out(count: int, data: st.DataObject) -> None:
    """Inside an answer or between two, with the operation that knows it."""
    lost = data.draw(st.integers(1, count - 1))
    history = written(count + 1)
    cut = data.draw(st.integers(1, count))
    for start, offsets in ((4, range(cut)), (6, range(cut, count + 1))):
        history.poll([offset for offset in offsets if offset != lost], start, start + 1)
    (found,) = check(history.part).found
    assert found.name == ("poll_skip" if lost in (cut, cut - 1) else "int_poll_skip")
    assert (found.count, found.tell(0).offset, found.tell(0).ops[-1]) == (1, lost, lost + 1)
