"""Histories as text: every form is read, and what is printed can be read again."""

from __future__ import annotations

import pytest

from tests.checkers.notation import TICK_NS, rows, spell
from tests.checkers.worked_examples import PAIRS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A5@2 0-1", {"kind": "append", "type": "ok", "value": 5, "offset": 2, "acks": -1, "idempotent": False, "attempts": 1}),
        ("A5@- 0-1", {"type": "ok", "offset": None, "acks": -1}),
        ("A5? 3-", {"type": "info", "offset": None, "start_ns": 3 * TICK_NS, "error": "TIMED_OUT"}),
        ("A5! 0-1", {"type": "fail", "error": "NOT_ENOUGH_REPLICAS"}),
        ("a5@2 0-1", {"acks": 1, "offset": 2}),
        ("z5? 0-", {"acks": 0, "type": "info", "error": "NO_ACK"}),
        ("A5@2#7 0-1", {"sequence": 7, "producer_epoch": 0, "idempotent": True}),
        ("R0=5,6 0-1", {"kind": "read", "from_offset": 0, "values": [5, 6], "offsets": None, "at_end": False, "final": False}),
        ("R1=5,6. 0-1", {"from_offset": 1, "values": [5, 6], "at_end": True}),
        ("R0=. 0-1", {"values": [], "at_end": True}),
        ("R0=0:5,2:7/4 0-1", {"values": [5, 7], "offsets": [0, 2], "leader_epoch": 4, "at_end": False}),
        ("R2=oor 2-3", {"type": "fail", "error": "OFFSET_OUT_OF_RANGE", "from_offset": 2, "values": None}),
        ("F0=5. 0-1", {"kind": "read", "final": True, "at_end": True}),
        ("E2/3 0-4", {"kind": "end_offset", "offset": 2, "leader_epoch": 3, "took_ns": 4 * TICK_NS}),
        ("c:P=0:5,1:6 0-1", {"kind": "poll", "values": [5, 6], "offsets": [0, 1], "session": 0}),
        ("c:S1 3-3", {"kind": "assign", "offset": 1, "session": 1}),
    ],
)
def test_every_form_is_a_row(text: str, expected: dict[str, object]) -> None:
    """CHECKERS 8.1"""
    (row,) = rows(text)
    assert {name: getattr(row, name) for name in expected} == expected


def test_a_process_is_its_own_unless_it_has_a_name() -> None:
    """And an assign begins the next session of its process."""
    first, second, third, fourth, fifth = rows("A1@0 0-1; p:A2@1 0-1; p:P=0:1 2-3; p:S0 4-4; p:P=0:1 5-6")
    assert len({first.process, second.process}) == 2
    assert second.process == third.process == fourth.process == fifth.process
    assert [row.session for row in (third, fourth, fifth)] == [0, 1, 1]


def test_a_batch_is_several_rows_with_one_number() -> None:
    batch, other = rows("[A1@0 A2@2] 0-1; A3@3 2-3")[:2], rows("[A1@0 A2@2] 0-1; A3@3 2-3")[2]
    assert [(row.op, row.batch, row.start_ns, row.took_ns) for row in batch] == [(1, 1, 0, TICK_NS), (2, 1, 0, TICK_NS)]
    assert (other.batch, other.process) == (None, batch[0].process + 1)


def test_a_batch_epoch_is_shown_by_a_read_of_the_text_or_by_one_behind_everything() -> None:
    shown = rows("A1@0/4 0-1; A2@1/5 0-1; R0=1,2 2-3")
    assert [row.epochs for row in shown] == [None, None, [4, 5]]
    *_, more = rows("A1@0/4 0-1; E0/1 2-3")
    assert (more.kind, more.values, more.epochs, more.at_end, more.leader_epoch) == ("read", [1], [4], False, None)
    assert more.start_ns > 3 * TICK_NS


@pytest.mark.parametrize("text", ["A1 0-1", "A1? 0-5", "R0=oor", "X1 0-1", "A1?/3 0-"])
def test_what_is_not_in_the_notation_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        rows(text)


@pytest.mark.parametrize("text", sorted({text for pair in PAIRS for each in pair for text in each.texts if "[" not in text}))
def test_what_is_printed_reads_back_as_the_same_history(text: str) -> None:
    """Processes get letters, and batch epochs are not printed."""
    once = spell(rows(text))
    assert spell(rows(once)) == once
