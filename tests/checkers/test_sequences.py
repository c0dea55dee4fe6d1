"""Records of one producer session, in the order of the log."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.found import Checked
from checkers.part import Part
from checkers.placing import Places
from checkers.sequences import check_sequences
from model.operation import Row
from tests.checkers.said import History, names, operations, part_of, shifted, shuffled, text, told

LAST = 2**31 - 1
"""After this one comes 0 (PROTOCOL 6.10)."""


def check(part: Part) -> Checked:
    return check_sequences(part, Places(part))


class Producers(History):
    def sent(self, sequence: int | None, value: int, start: int, end: int | None = None, **facts: object) -> None:
        """By producer 1001, epoch 0, unless `facts` say otherwise."""
        said = {"producer_id": 1001, "producer_epoch": 0, "idempotent": True, "sequence": sequence, **facts}
        self.append(value, start, end, **said)  # type: ignore[arg-type]


def in_the_log(*sequences: int, **facts: object) -> Producers:
    """Acknowledged one after the other, from offset 0 on."""
    history = Producers()
    for offset, sequence in enumerate(sequences):
        history.sent(sequence, 100 + offset, 2 * offset, 2 * offset + 1, at=offset, **facts)
    return history


# -- the worked examples of CHECKERS 8.2 --------------------------------------------------------------------------------


def test_a_further_copy_is_also_a_sequence_that_falls() -> None:
    """D22: the second copy lies behind a later record."""
    history = in_the_log(0, 1)
    history.read(0, [100, 101, 100], 4, 5)
    assert names(check(history.part)) == {"sequence_reorder": 1}
    assert operations(check(history.part)) == {"sequence_reorder": (2, 1, 3)}
    assert text(check(history.part)) == "Producer 1001 epoch 0: sequence 1 is at offset 1, sequence 0 at 2."


def test_two_records_of_a_session_the_wrong_way_round() -> None:
    """D23"""
    history = Producers()
    history.sent(0, 100, 0, 9, at=1)
    history.sent(1, 101, 1, 8, at=0)
    history.final(0, [101, 100], 10, 11)
    assert names(check(history.part)) == {"sequence_reorder": 1}
    assert operations(check(history.part)) == {"sequence_reorder": (2, 1)}


def test_a_sequence_that_is_missing_between_neighbours() -> None:
    """D24"""
    history = Producers()
    history.sent(0, 1, 0, 1, at=0)
    history.sent(1, 2, 2)
    history.sent(2, 3, 3, 4, at=1)
    history.final(0, [1, 3], 9, 9)
    assert names(check(history.part)) == {"sequence_gap": 1}
    assert operations(check(history.part)) == {"sequence_gap": (1, 3)}
    said = "Producer 1001 epoch 0: sequence 0 is at offset 0, sequence 2 at 1, and sequence 1 cannot be between them."
    assert text(check(history.part)) == said


def test_a_session_may_begin_with_any_sequence() -> None:
    """D25, PROTOCOL 6.10"""
    history = Producers()
    history.sent(0, 1, 0)
    history.sent(1, 2, 3, 4, at=0)
    history.final(0, [2], 9, 9)
    assert names(check(history.part)) == {}


# -- near misses --------------------------------------------------------------------------------------------------------


def test_sequences_wrap_to_zero_and_nowhere_else() -> None:
    assert names(check(in_the_log(LAST - 1, LAST, 0, 1).part)) == {}
    assert names(check(in_the_log(LAST, 1).part)) == {"sequence_gap": 1}
    assert names(check(in_the_log(0, LAST).part)) == {"sequence_reorder": 1}
    assert names(check(in_the_log(LAST, LAST).part)) == {"sequence_reorder": 1}


def test_one_sequence_twice_is_out_of_order_and_the_next_one_is_not() -> None:
    assert names(check(in_the_log(4, 4).part)) == {"sequence_reorder": 1}
    assert names(check(in_the_log(4, 5).part)) == {}


def test_two_epochs_and_two_producers_are_two_sessions() -> None:
    for other in ({"producer_id": 1002}, {"producer_epoch": 1}):
        history = in_the_log(7, 8)
        history.sent(0, 200, 8, 9, at=2, **other)
        history.sent(9, 201, 10, 11, at=3)
        assert names(check(history.part)) == {}


def test_an_offset_whose_writer_nobody_knows_may_hold_what_is_missing() -> None:
    """Nobody read it; or its row is lost, or its producer is one without a number."""
    unread, phantom, unnumbered, held = (in_the_log(0) for _ in range(4))
    for history in (unread, phantom, unnumbered, held):
        history.sent(1, 101, 2)
        history.sent(2, 102, 3, 4, at=2)
    phantom.read(1, [999], 5, 6)
    unnumbered.sent(None, 300, 3, 5, at=1, producer_id=None, producer_epoch=None)
    held.append(300, 3, 5, at=1, idempotent=False)
    for history in (unread, phantom, unnumbered):
        assert names(check(history.part)) == {}
    assert names(check(held.part)) == {"sequence_gap": 1}


def test_as_many_offsets_as_sequences_must_be_free() -> None:
    free = in_the_log(0)
    free.sent(3, 103, 8, 9, at=3)
    assert names(check(free.part)) == {}
    free.append(200, 8, 9, at=1, idempotent=False)
    assert names(check(free.part)) == {"sequence_gap": 1}


def test_what_librdkafka_sent_has_no_number_and_is_not_looked_at() -> None:
    history = in_the_log(3, 1, producer_id=None, producer_epoch=None)
    assert names(check(history.part)) == {}
    for row in history.rows:
        row.sequence = None
    assert names(check(history.part)) == {}


def test_an_append_that_failed_and_is_not_in_the_log_counts_for_nothing() -> None:
    history = in_the_log(0, 1)
    history.sent(7, 300, 8, 9, type="fail", error="NOT_ENOUGH_REPLICAS")
    history.sent(2, 301, 10, 11, at=2)
    assert names(check(history.part)) == {}


def test_what_only_a_leader_acknowledged_is_of_level_local_until_it_is_read() -> None:
    """CHECKERS 5.2"""
    history = in_the_log(3, 1, acks=1)
    assert names(check(history.part)) == {"sequence_reorder local": 1}
    assert operations(check(history.part)) == {"sequence_reorder": (1, 2)}
    history.read(0, [100, 101], 8, 9)
    assert names(check(history.part)) == {"sequence_reorder": 1}
    assert operations(check(history.part)) == {"sequence_reorder": (1, 3, 2)}


def test_a_claim_between_two_proven_records_fills_a_gap_or_makes_it_one_of_level_local() -> None:
    fills, takes = in_the_log(0), in_the_log(0)
    for history in (fills, takes):
        history.sent(2, 102, 4, 5, at=2)
    fills.sent(1, 101, 6, 7, at=1, acks=1)
    takes.append(300, 6, 7, at=1, acks=1, idempotent=False)
    assert names(check(fills.part)) == {}
    assert names(check(takes.part)) == {"sequence_gap local": 1}


def test_a_finding_of_level_committed_is_not_repeated_at_level_local() -> None:
    history = in_the_log(3, 1)
    history.sent(2, 300, 6, 7, at=2, acks=1)
    assert names(check(history.part)) == {"sequence_reorder": 1}


def test_records_below_the_log_start_take_part_in_nothing() -> None:
    history = in_the_log(3, 1, 2)
    history.log_start(1, 20, 21)
    assert names(check(history.part)) == {}


def test_producer_ids_of_any_size_are_told_apart() -> None:
    history = in_the_log(0, 1)
    history.sent(0, 300, 8, 9, at=2, producer_id=2**62, producer_epoch=2**15 - 1)
    history.sent(5, 301, 8, 9, at=3, producer_id=2**63 - 1)
    history.sent(2, 302, 8, 9, at=4)
    assert names(check(history.part)) == {}
    history.sent(0, 303, 8, 9, at=5, producer_id=2**62, producer_epoch=2**15 - 1)
    assert names(check(history.part)) == {"sequence_reorder": 1}


@pytest.mark.parametrize(("first", "second"), [(1001, 1002), (1002, 1001)])
def test_what_is_told_first_does_not_depend_on_the_names_of_producers(first: int, second: int) -> None:
    """But on where it lies."""
    history = Producers()
    for offset, (producer, sequence) in enumerate([(first, 1), (second, 1), (second, 0), (first, 0)]):
        history.sent(sequence, 100 + offset, 0, 1, at=offset, producer_id=producer)
    (found,) = check(history.part).found
    assert [found.tell(i).ops for i in range(found.count)] == [(2, 3), (1, 4)]


# -- properties ---------------------------------------------------------------------------------------------------------


@st.composite
def producers(draw: st.DrawFn) -> list[Row]:
    """Sessions that interleave in a log, each record in its turn; some are acknowledged, some read, some neither."""
    sessions = draw(st.lists(st.integers(0, 3), min_size=1, max_size=25))
    follows = {number: draw(st.sampled_from([0, 5, LAST - 1, LAST])) for number in range(4)}
    history = Producers()
    for offset, number in enumerate(sessions):
        seen = draw(st.sampled_from(["all", "leader", "read", "never"]))
        facts = {"producer_id": 1000 + number // 2, "producer_epoch": number % 2}
        ended = {"all": 3, "leader": 3}.get(seen)
        at = offset if ended else None
        history.sent(follows[number], 100 + offset, 0, ended, at=at, acks=1 if seen == "leader" else -1, **facts)
        follows[number] = (follows[number] + 1) % (LAST + 1)
        if seen == "read":
            history.read(offset, [100 + offset], 4, 5)
    return history.rows


@given(producers())
def test_sessions_in_order_are_never_told_whatever_is_known_of_them(rows: list[Row]) -> None:
    assert names(check(part_of(rows))) == {}


@given(producers(), st.integers(0, 2**32), st.integers(0, 5), st.integers(0, 2**40))
def test_the_order_of_rows_and_the_size_of_offsets_change_nothing(rows: list[Row], seed: int, broken: int, by: int) -> None:
    chance = random.Random(seed)
    for row in chance.sample(rows, min(broken, len(rows))):
        if row.sequence is not None:
            row.sequence = chance.choice([0, 1, 5, LAST])
    found = check(part_of(rows))
    assert told(check(part_of(shuffled(rows, seed)))) == told(found)
    assert names(check(part_of(shifted(rows, by)))) == names(found)


@given(st.integers(3, 20), st.integers(0, 2**31 - 1), st.data())
def test_two_records_exchanged_are_told(count: int, first: int, data: st.DataObject) -> None:
    sequences = [(first + index) % 2**31 for index in range(count)]
    at = data.draw(st.integers(0, count - 2))
    sequences[at], sequences[at + 1] = sequences[at + 1], sequences[at]
    found = check(in_the_log(*sequences).part)
    assert names(found)["sequence_reorder"] == 1
    (reorder,) = (each for each in found.found if each.name == "sequence_reorder")
    assert reorder.tell(0).ops == (at + 1, at + 2)


@given(st.integers(3, 20), st.integers(0, 2**31 - 1), st.data())
def test_a_record_left_out_is_told(count: int, first: int, data: st.DataObject) -> None:
    sequences = [(first + index) % 2**31 for index in range(count)]
    at = data.draw(st.integers(1, count - 2))
    del sequences[at]
    found = check(in_the_log(*sequences).part)
    assert names(found) == {"sequence_gap": 1}
    assert operations(found) == {"sequence_gap": (at, at + 1)}


@given(producers(), st.integers(0, 2**32))
def test_learning_more_of_a_log_never_unsays_that_a_sequence_fell(rows: list[Row], seed: int) -> None:
    """Everything is read at last, so what a leader alone knew is proven."""
    chance = random.Random(seed)
    for row in chance.sample(rows, min(3, len(rows))):
        row.sequence = None if row.sequence is None else 17
    before = names(check(part_of(rows)))
    history = History(*rows)
    history.final(0, [row.value for row in rows if row.kind == "append" and row.value is not None], 50, 51)
    after = names(check(history.part)).get("sequence_reorder", 0)
    assert after >= before.get("sequence_reorder", 0)
    assert after >= before.get("sequence_reorder local", 0)
