"""How many operations of each kind there are, and what the workload tried in vain (CHECKERS 6.7)."""

from __future__ import annotations

from checkers.columns import Columns
from checkers.tally import Tally
from model.operation import Row
from tests.checkers.facts import ORDINARY, operation, table_of
from tests.model.damage_stories import AT


def in_vain(*rows: Row) -> list[str]:
    return Tally(Columns(table_of(rows))).never_succeeded()


def test_it_counts_by_partition_kind_and_acks() -> None:
    """Only what ended ok."""
    rows = [*ORDINARY, operation(4, kind="append", acks=1, type="fail"), operation(5, kind="poll", values=[], partition=1)]
    tally = Tally(Columns(table_of(rows)))
    assert [tally.acknowledged(AT, acks) for acks in (-1, 0, 1)] == [1, 0, 1]
    assert [tally.looked_at(AT), tally.looked_at(("t", 1)), tally.looked_at(("u", 0))] == [1, 1, 0]
    assert tally.succeeded == 4


def test_what_was_tried_in_vain_is_named_and_what_succeeded_once_is_not() -> None:
    """Appends are always asked for, but nobody answers acks=0."""
    assert in_vain(*ORDINARY, operation(4, kind="read", type="info")) == []
    assert in_vain(*ORDINARY, operation(4, kind="poll", type="info")) == ["poll"]
    assert in_vain() == ["append"]
    assert in_vain(ORDINARY[2]) == ["append"]
    assert in_vain(operation(1, kind="append", acks=0, type="info")) == []
    assert in_vain(operation(1, kind="append", acks=0, type="info"), operation(2, kind="append", acks=1, type="fail")) == [
        "append"
    ]


def test_the_final_read_is_nobodys_workload() -> None:
    """That it failed has a reason of its own."""
    assert in_vain(*ORDINARY, operation(4, kind="start_offset", type="info", final=True)) == []
