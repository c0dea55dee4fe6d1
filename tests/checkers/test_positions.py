"""Positions that were called out of range."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.found import Checked
from checkers.mode import Mode
from checkers.part import Part
from checkers.placing import Places
from checkers.positions import check_positions
from model.operation import Row
from tests.checkers.said import History, names, operations, part_of, shifted, shuffled, text, told

REFUSED = {"refused_position": 1}


def check(part: Part, freshness: str = "strict", *, one_epoch: bool = False) -> Checked:
    return check_positions(part, Places(part), Mode(freshness=freshness), one_epoch=one_epoch)  # type: ignore[arg-type]


def written(count: int) -> History:
    history = History()
    for offset in range(count):
        history.append(100 + offset, 0, 1, at=offset, process=offset)
    return history


def comparable(history: History, **how: bool) -> list[bool]:
    found = check(history.part, "fenced", **how).found
    return [bool(each) for one in found if one.comparable is not None for each in one.comparable]


# -- the worked examples of CHECKERS 8.2 --------------------------------------------------------------------------------


def test_a_position_inside_the_log_is_in_range() -> None:
    """D21"""
    history = written(2)
    history.refused(1, 2, 3)
    assert names(check(history.part)) == REFUSED
    assert operations(check(history.part)) == {"refused_position": (1, 3)}
    said = "p0 proved length 1 (append acknowledged at 0, 1.000 s). Later, 2.000-3.000 s, p8 was told that 1 is out of range."
    assert text(check(history.part)) == said


def test_a_position_beyond_all_proof_may_be_out_of_range() -> None:
    """D20"""
    history = written(1)
    history.refused(2, 2, 3)
    assert names(check(history.part)) == {}


# -- near misses --------------------------------------------------------------------------------------------------------


def test_the_end_of_the_log_is_in_range_and_one_beyond_it_is_not() -> None:
    at_end, beyond = written(3), written(3)
    at_end.refused(3, 2, 3)
    beyond.refused(4, 2, 3)
    assert names(check(at_end.part)) == REFUSED
    assert names(check(beyond.part)) == {}


def test_touching_operations_are_concurrent() -> None:
    touching, later = written(2), written(2)
    touching.refused(1, 1, 3)
    later.refused(1, 2, 3)
    assert names(check(touching.part)) == {}
    assert names(check(later.part)) == REFUSED


@pytest.mark.parametrize("acks", [0, 1])
def test_only_what_all_acknowledged_proves_a_position(acks: int) -> None:
    history = History()
    history.append(100, 0, 1, at=0, acks=acks)
    history.append(101, 0, None)
    history.refused(1, 4, 5)
    assert names(check(history.part)) == {}


@pytest.mark.parametrize(("kind", "length"), [("read", 5), ("poll", 5), ("end_offset", 4)])
def test_reads_polls_and_ends_prove_positions_too(kind: str, length: int) -> None:
    for position, expected in ((length, REFUSED), (length + 1, {})):
        history = written(0)
        history.append(103, 0)
        history.append(104, 0)
        if kind == "read":
            history.read(3, [103, 104], 2, 3)
        elif kind == "poll":
            history.poll([3, 4], 2, 3)
        else:
            history.end(4, 2, 3)
        history.refused(position, 4, 5)
        assert names(check(history.part)) == expected


def test_a_poll_is_refused_as_a_read_is_and_another_error_is_none() -> None:
    poll, other, no_position = written(2), written(2), written(2)
    poll.refused(1, 2, 3, kind="poll", session=1)
    other.refused(1, 2, 3, error="NOT_LEADER_OR_FOLLOWER")
    no_position.refused(0, 2, 3).from_offset = None
    assert names(check(poll.part)) == REFUSED
    assert names(check(other.part)) == {}
    assert names(check(no_position.part)) == {}


def test_the_end_of_an_empty_log_is_a_position_if_somebody_saw_it() -> None:
    unseen, empty = History(), History()
    empty.read(0, [], 0, 1, at_end=True)
    for history in (unseen, empty):
        history.refused(0, 2, 3)
    assert names(check(unseen.part)) == {}
    assert names(check(empty.part)) == REFUSED


def test_below_the_log_start_nothing_is_in_range() -> None:
    history = written(8)
    history.refused(4, 2, 3)
    history.refused(6, 2, 3)
    assert names(check(history.part)) == {"refused_position": 2}
    history.log_start(6, 4, 5)
    assert names(check(history.part)) == REFUSED
    assert check(history.part).found[0].tell(0).offset == 6


def test_an_end_below_what_the_log_start_became_proves_nothing() -> None:
    """At the time there was no such position."""
    history = History()
    history.end(3, 0, 1)
    history.read(2, [], 0, 1)
    history.refused(5, 2, 3)
    history.log_start(5, 8, 9)
    assert names(check(history.part)) == {}
    history.end(5, 0, 1)
    assert names(check(history.part)) == REFUSED


# -- freshness, CHECKERS 3.8 --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prover", "refuser", "expected"),
    [(1, 1, True), (1, 2, True), (2, 1, False), (None, 1, False), (1, None, False)],
)
def test_a_leader_knows_what_those_before_it_committed(prover: int | None, refuser: int | None, expected: bool) -> None:
    """As for end offsets: a newer one must not answer less, a deposed one may not have heard; unknown is not comparable."""
    history = History()
    history.end(3, 0, 1, leader_epoch=prover)
    history.refused(2, 4, 5, leader_epoch=refuser)
    assert comparable(history) == [expected]
    assert comparable(history, one_epoch=True) == [True]
    assert names(check(history.part)) == REFUSED


def test_of_several_proofs_the_first_that_can_be_compared_is_told() -> None:
    history = History()
    history.end(3, 0, 1, leader_epoch=7)
    history.end(3, 0, 2, leader_epoch=5)
    history.refused(2, 4, 5, leader_epoch=6)
    assert comparable(history) == [True]
    found = check(history.part, "fenced")
    assert operations(found) == {"refused_position": (2, 3)}
    assert text(found).endswith("p8 was told that 2 is out of range by leader epoch 6, after epoch 5.")
    assert found.found[0].tell(0).shape == "E≠R,e+"


def test_a_proof_that_can_be_compared_but_comes_too_late_is_none() -> None:
    history = History()
    history.end(3, 0, 1, leader_epoch=7)
    history.end(3, 0, 4, leader_epoch=5)
    history.refused(2, 4, 5, leader_epoch=6)
    assert comparable(history) == [False]


def test_the_epoch_of_an_append_is_the_one_it_was_read_with() -> None:
    history = written(1)
    history.refused(1, 4, 5, leader_epoch=2)
    assert comparable(history) == [False]
    history.read(0, [100], 6, 7, epochs=(2,))
    assert comparable(history) == [True]


# -- properties ---------------------------------------------------------------------------------------------------------


@st.composite
def logs(draw: st.DrawFn) -> list[Row]:
    """A log that grows, and readers who ask for any position: refused only beyond the end as it was when they were answered."""
    history, length = History(), 0
    for start in range(draw(st.integers(1, 15))):
        what = draw(st.sampled_from(["append", "read", "end"]))
        late = 2 * start + draw(st.integers(1, 6))
        if what == "append":
            history.append(100 + length, 2 * start, late, at=length, process=start)
            length += 1
        elif what == "end":
            history.end(length, 2 * start, late)
        else:
            position = draw(st.integers(0, 16))
            if position > length:
                history.refused(position, 2 * start, late)
            else:
                values = range(100 + position, 100 + length)
                history.read(position, list(values), 2 * start, late, at_end=True)
    return history.rows


@given(logs())
def test_positions_beyond_the_end_are_refused_and_never_told(rows: list[Row]) -> None:
    assert names(check(part_of(rows))) == {}


@given(logs(), st.integers(0, 2**32), st.integers(0, 2**40))
def test_refused_positions_are_exactly_those_that_were_proven_before(rows: list[Row], seed: int, by: int) -> None:
    """Some answers are exchanged for a refusal: each is told if and only if somebody proved it before, as is asked one by one."""
    chance = random.Random(seed)
    for row in rows:
        if row.kind == "read" and row.type == "ok" and chance.random() < 0.5:
            row.type, row.error, row.values, row.at_end = "fail", "OFFSET_OUT_OF_RANGE", None, None
    expected = {row.op for row in rows if row.error and any(_before(other, row) for other in rows)}
    found = check(part_of(rows))
    assert {each.tell(i).ops[-1] for each in found.found for i in range(each.count)} == expected
    assert told(check(part_of(shuffled(rows, seed)))) == told(found)
    if all(row.values for row in rows if row.kind == "read" and row.type == "ok"):  # an empty answer proves position 0 only
        assert names(check(part_of(shifted(rows, by)))) == names(found)


def _before(proof: Row, refused: Row) -> bool:
    if proof.type != "ok" or proof.start_ns + proof.took_ns >= refused.start_ns:
        return False
    position = refused.from_offset or 0
    if proof.kind == "read":
        return (proof.from_offset or 0) + len(proof.values or ()) >= position if proof.values else position == 0
    return proof.offset is not None and proof.offset + (proof.kind == "append") >= position
