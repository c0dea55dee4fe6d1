"""Batches that came apart, and batches that did not."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.batches import check_batches
from checkers.final_read import FinalRead
from checkers.found import Checked
from checkers.part import Part
from checkers.placing import Places
from model.operation import Row
from tests.checkers.said import History, names, operations, part_of, shifted, shuffled, text, told


def check(part: Part) -> Checked:
    places = Places(part)
    return check_batches(part, places, FinalRead(part, places))


def sent(values: Sequence[int], at: Sequence[int | None], end: int | None = 1, **facts: object) -> History:
    """One batch, and one record of somebody else, who wrote 9."""
    history = History()
    history.batch(1, values, at, 0, end, **facts)
    history.append(9, 0, process=2)
    return history


TORN = {"torn_batch": 1}

# -- the worked examples of CHECKERS 8.3 --------------------------------------------------------------------------------


def test_records_of_a_batch_acknowledged_apart() -> None:
    """B1"""
    history = sent([1, 2], [0, 2])
    assert names(check(history.part)) == TORN
    assert operations(check(history.part)) == {"torn_batch": (1, 2)}
    assert text(check(history.part)) == "p1 sent 1, 2 as one batch, yet 1 is at offset 0 and 2 at 2."


def test_records_of_a_batch_side_by_side_are_what_was_promised() -> None:
    """B2"""
    assert names(check(sent([1, 2], [0, 1]).part)) == {}


def test_a_final_read_with_one_record_of_two() -> None:
    """B3"""
    history = sent([1, 2], [0, 1])
    history.final(0, [1], 4, 5)
    assert names(check(history.part)) == TORN
    assert operations(check(history.part)) == {"torn_batch": (1, 2, 4)}
    said = "yet the final read (4.000-5.000 s, complete to 1) has 1 at offset 0 without 2 beside it."
    assert text(check(history.part)) == f"p1 sent 1, 2 as one batch, {said}"


# -- near misses --------------------------------------------------------------------------------------------------------


def test_records_the_wrong_way_round_are_torn_and_those_of_two_batches_are_not() -> None:
    assert names(check(sent([1, 2], [1, 0]).part)) == TORN
    two = History()
    two.batch(1, [1, 2], [0, 1], 0, 1)
    two.batch(2, [3, 4], [4, 5], 0, 1)
    two.append(5, 0, 1, at=3)
    assert names(check(two.part)) == {}


def test_batches_of_one_number_from_two_processes_are_two_batches() -> None:
    history = sent([1, 2], [0, 1])
    history.batch(1, [3, 4], [5, 6], 0, 1, process=3)
    assert names(check(history.part)) == {}


def test_one_answer_with_something_else_where_a_record_belongs() -> None:
    """The one behind it, or the one before it."""
    behind, before = (sent([1, 2], [None, None], None) for _ in range(2))
    behind.read(0, [1, 9], 4, 5)
    before.read(0, [9, 2], 4, 5)
    assert operations(check(behind.part)) == {"torn_batch": (1, 2, 4)}
    said = "yet p8 read 1 at offset 0 beside 9 at 1, where 2 belongs (4.000-5.000 s)."
    assert text(check(behind.part)) == f"p1 sent 1, 2 as one batch, {said}"
    assert operations(check(before.part)) == {"torn_batch": (2, 1, 4)}


def test_a_read_that_stops_inside_a_batch_or_begins_there_tells_nothing() -> None:
    history = sent([1, 2, 3], [None, None, None], None)
    history.read(0, [9, 1], 4, 5)
    history.read(2, [2], 4, 5)
    history.read(3, [3], 4, 5)
    assert names(check(history.part)) == {}


def test_two_answers_may_show_two_logs() -> None:
    """What one leader showed may be cut off, and a resent batch put elsewhere: each answer is whole, so nothing came apart."""
    history = sent([1, 2], [None, None], None, attempts=2)
    history.read(0, [1], 4, 5)
    history.read(1, [9], 6, 7)
    history.read(2, [1, 2], 8, 9)
    assert names(check(history.part)) == {}


@pytest.mark.parametrize(("attempts", "expected"), [(1, TORN), (2, {}), (None, {})])
def test_what_was_sent_once_lies_at_one_place(attempts: int | None, expected: dict[str, int]) -> None:
    """What was resent may have been seen in two copies, one record of each."""
    history = sent([1, 2], [None, None], None, attempts=attempts)
    history.read(0, [1], 4, 5)
    history.read(7, [2], 4, 5)
    assert names(check(history.part)) == expected


def test_offsets_of_one_acknowledgement_belong_to_one_copy_however_often_it_was_sent() -> None:
    assert names(check(sent([1, 2], [0, 7], attempts=3).part)) == TORN


def test_whole_copies_are_duplicates_and_half_a_copy_is_torn() -> None:
    whole, half = (sent([1, 2], [0, 1], attempts=attempts) for attempts in (1, 2))
    for history in (whole, half):
        history.read(0, [1, 2], 4, 5)
    whole.read(5, [1, 2], 4, 5)
    half.read(5, [1, 9], 4, 5)
    assert names(check(whole.part)) == {}
    assert names(check(half.part)) == TORN


def test_half_of_a_second_copy_that_others_have_not_seen_is_a_duplicate_and_not_torn() -> None:
    history = sent([1, 2], [None, None], None)
    history.read(0, [1], 4, 5)
    history.read(5, [1, 2], 4, 5)
    assert names(check(history.part)) == {}


def test_an_answer_that_contradicts_what_is_known_is_looked_at_too() -> None:
    history = sent([1, 2], [None, None], None)
    history.batch(2, [3, 4], [None, None], 0, None, process=3)
    history.read(0, [3, 4], 4, 5)
    history.read(0, [1, 9], 6, 7)
    assert operations(check(history.part)) == {"torn_batch": (1, 2, 7)}


def test_failed_appends_and_batches_that_nobody_saw_are_not_torn() -> None:
    failed, unseen = (sent([1, 2], [None, None], None, type=how) for how in ("fail", "info"))
    failed.read(0, [1, 9], 4, 5)
    unseen.final(0, [9], 4, 5)
    assert names(check(failed.part)) == {}
    assert names(check(unseen.part)) == {}


def test_a_final_read_that_is_incomplete_misses_nothing() -> None:
    history = sent([1, 2], [0, 1])
    history.final(0, [1], 4, 5, at_end=False)
    assert names(check(history.part)) == {}


def test_a_batch_may_stand_in_two_answers_of_the_final_read() -> None:
    history = sent([1, 2, 3], [None, None, None], None)
    history.final(0, [9, 1], 4, 5, at_end=False)
    history.final(2, [2, 3], 6, 7)
    assert names(check(history.part)) == {}


def test_a_final_read_in_two_answers_with_something_else_between() -> None:
    history = sent([1, 2], [None, None], None)
    history.final(0, [1], 4, 5, at_end=False)
    history.final(1, [9], 6, 7)
    assert operations(check(history.part)) == {"torn_batch": (1, 2, 4, 5)}


def test_a_final_read_that_lacks_what_an_earlier_one_had() -> None:
    """Nothing contradicts: the answer only leaves an offset out."""
    history = sent([1, 2], [0, 1])
    history.final(0, [1, 9], 4, 5, offsets=(0, 2))
    assert names(check(history.part)) == TORN


def test_a_batch_that_begins_before_the_log_does_is_torn_unless_the_log_was_cut_there() -> None:
    history = sent([1, 2], [None, None], None)
    history.final(5, [2, 9], 8, 9)
    assert names(check(history.part)) == {}
    history.log_start(5, 6, 7)
    assert names(check(history.part)) == {}
    whole = sent([1, 2], [None, None], None)
    whole.final(0, [2, 9], 8, 9)
    assert names(check(whole.part)) == TORN


def test_offsets_below_the_log_start_take_part_in_nothing() -> None:
    history = sent([1, 2, 3], [0, 2, 3])
    assert names(check(history.part)) == TORN
    history.log_start(2, 6, 7)
    assert names(check(history.part)) == {}


def test_what_only_a_leader_acknowledged_is_of_level_local_until_all_of_it_is_read() -> None:
    """CHECKERS 5.2"""
    history = sent([1, 2], [0, 2], acks=1)
    assert names(check(history.part)) == {"torn_batch local": 1}
    history.read(0, [1], 4, 5)
    assert names(check(history.part)) == {"torn_batch local": 1}
    history.read(2, [2], 6, 7)
    assert names(check(history.part)) == TORN


def test_a_batch_is_told_once_by_what_was_proven_first() -> None:
    history = sent([1, 2], [None, None], None)
    history.final(0, [1, 9], 6, 7)
    history.read(0, [1, 9], 4, 5)
    assert names(check(history.part)) == TORN
    assert operations(check(history.part)) == {"torn_batch": (1, 2, 5)}


def test_batches_of_one_and_batches_of_another_partition_are_none() -> None:
    history = History()
    history.append(1, 0, 1, at=0, batch=1)
    history.append(2, 0, 1, at=5, batch=2)
    assert names(check(history.part)) == {}
    assert check(History(*history.rows[:1]).part).found == ()


# -- properties ---------------------------------------------------------------------------------------------------------


@st.composite
def logs(draw: st.DrawFn) -> list[Row]:
    """Batches of one to four records in a log, some of them resent and there twice, read in pieces and at last as a whole."""
    history, log = History(), []
    for number in range(draw(st.integers(1, 8))):
        values = [10 * number + index for index in range(draw(st.integers(1, 4)))]
        once = draw(st.booleans())
        written = draw(st.sampled_from([True, True, False])) or not once
        acked = written and draw(st.booleans())
        at = [len(log) + index if acked else None for index in range(len(values))]
        acks, attempts = draw(st.sampled_from([-1, 1])), 1 if once else draw(st.sampled_from([2, None]))
        history.batch(number, values, at, 0, 5 if acked else None, acks=acks, attempts=attempts, process=number)
        log += values if written else []
        if not once and draw(st.booleans()):
            log += values
    for start in range(draw(st.integers(0, 5))):
        first = draw(st.integers(0, len(log)))
        history.read(first, log[first : first + draw(st.integers(0, 5))], 10 + start, 11 + start)
    if draw(st.booleans()):
        cut = draw(st.integers(0, len(log)))
        history.final(0, log[:cut], 20, 21, at_end=cut == len(log))
        if cut < len(log):
            history.final(cut, log[cut:], 22, 23)
    return history.rows


@given(logs())
def test_batches_that_lie_as_they_were_sent_are_never_told(rows: list[Row]) -> None:
    assert names(check(part_of(rows))) == {}


@given(logs(), st.integers(0, 2**32), st.integers(0, 4), st.integers(0, 2**40))
def test_the_order_of_rows_and_the_size_of_offsets_change_nothing(rows: list[Row], seed: int, broken: int, by: int) -> None:
    """But a log that begins at 0 has nothing before it."""
    chance = random.Random(seed)
    for row in chance.sample(rows, min(broken, len(rows))):
        if row.values:
            row.values = chance.sample(list(row.values), len(row.values))
        elif row.offset is not None:
            row.offset = chance.randrange(20)
    moved = shifted(rows, by)
    if by:
        History(*moved).log_start(by, 0, 1)
    found = check(part_of(rows))
    assert told(check(part_of(shuffled(rows, seed)))) == told(found)
    if not any(row.final for row in rows):
        assert names(check(part_of(moved))) == names(found)


@given(st.integers(2, 5), st.integers(0, 20), st.booleans(), st.sampled_from([1, 2, None]), st.data())
def test_a_record_put_between_two_of_a_batch_is_told(
    size: int, before: int, acked: bool, attempts: int | None, data: st.DataObject
) -> None:
    """By the offsets that were acknowledged, or by any answer that shows the place where it came apart."""
    at = data.draw(st.integers(1, size - 1))
    values = list(range(100, 100 + size))
    log = [*range(before), *values[:at], 99, *values[at:]]
    history = History()
    for offset, value in enumerate(log):
        if value < 100:
            history.append(value, 0, 1, at=offset, process=3)
    offsets = [log.index(value) if acked else None for value in values]
    history.batch(1, values, offsets, 0, 1 if acked else None, attempts=attempts)
    if not acked:
        history.read(before + at - 1, [values[at - 1], 99], 2, 3)
    assert names(check(history.part)) == TORN
