"""Lost writes and vanished reads, the near miss beside the hit (CHECKERS 5.3, 5.5)."""

from __future__ import annotations

from typing import Any

import pytest

from model.operation import Row
from tests.checkers.looking import durability, seen
from tests.checkers.notation import rows


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        # an acknowledged write is missing from the final read, or from its end
        ("A1@0 0-1; A2@1 2-3; F0=1. 6-7", ["lost_write committed unclear by final: 2 3"]),
        ("A1@0 0-1; A2@1 2-7; F0=1. 6-8", []),  # the ack came while it was read
        ("A1@0 0-1; A2? 2-; F0=1. 6-7", []),
        ("A1@0 0-1; A2! 2-3; F0=1. 6-7", []),
        ("A1@0 0-1; A2@1 2-3; F0=1 6-7", []),  # nobody looked far enough
        ("A1@- 0-1; F0=. 5-6", ["lost_write committed all by final: 1 2"]),  # wherever it was
        # a read across its place
        ("A1@0 0-1; A2@1 0-1; A3@2 0-1; R0=0:1,2:3 4-5", ["lost_write committed unclear by across: 2 4"]),
        ("A1@0 0-1; A2@1 0-1; A3@2 0-1; R0=0:1,2:3 4-5; R1=2 6-7", []),  # somebody has seen it after all
        ("A1@0 0-1; A2@1 0-1; R0=1. 4-5", []),  # it stopped before the place
        ("A1@0 0-1; A2@1 0-1; A3@2 0-1; R0=0:1,2:3 4-5; R0=0:1,2:3 2-3", ["lost_write committed unclear by across: 2 5"]),
        # two polls of one session, on both sides of it
        ("A1@0 0-1; A2@1 0-1; A3@2 0-1; c:P=0:1 4-5; c:P=2:3 6-7", ["lost_write committed unclear by across: 2 5"]),
        ("A1@0 0-1; A2@1 0-1; A3@2 0-1; c:P=0:1 4-5; c:S2 5-5; c:P=2:3 6-7", []),
        ("A1@0 0-1; A2@1 0-1; A3@2 0-1; c:P=0:1 4-5; d:P=2:3 6-7", []),
        # acknowledged by the leader alone
        ("a1@0 0-1; F0=. 5-6", ["lost_write local all by final: 1 2"]),
        ("z1? 0-; F0=. 5-6", []),
        ("a1@0 0-1; A2@0 4-5; F0=2. 8-9", ["lost_write local unclear by final: 1 3"]),
    ],
)
def test_an_acked_write_is_lost_only_if_somebody_looked_where_it_should_be(history: str, expected: list[str]) -> None:
    assert seen(durability(history)) == expected


def final_end(history: str, *ends: int) -> list[Row]:
    """The last rows are asked for after healing."""
    told = rows(history)
    for end in ends:
        told[end - 1].final = True
    return told


def test_a_final_end_offset_at_or_below_its_place_is_evidence_enough() -> None:
    assert seen(durability(final_end("A1@0 0-1; A2@1 2-3; E1 6-7", 3))) == ["lost_write committed unclear by end: 2 3"]
    assert seen(durability(final_end("A1@0 0-1; A2@1 2-3; E2 6-7", 3))) == []
    assert seen(durability(final_end("A1@0 0-1; A2@1 2-6; E1 6-7", 3))) == []  # touching: the answer may have come first
    assert seen(durability("A1@0 0-1; A2@1 2-3; E1 6-7")) == []  # before healing it is a stale end offset, no loss


def test_what_the_leader_alone_has_is_missed_by_no_end_offset_before_somebody_read_to_the_end() -> None:
    """The high watermark waits for followers. A slow message looked like a loss in five of 2,400 random runs."""
    assert seen(durability(final_end("A1@0 0-1; a2@1 2-3; E1 6-7; F0=1 8-9", 3))) == []
    assert seen(durability(final_end("A1@0 0-1; a2@1 2-3; E1 6-7; F0=1. 8-9", 3))) == ["lost_write local unclear by end: 2 3"]
    assert seen(durability(final_end("A1@0 0-1; A2@1 2-3; E1 6-7; F0=1 8-9", 3))) == ["lost_write committed unclear by end: 2 3"]


def test_the_earliest_evidence_counts() -> None:
    history = final_end("A1@0 0-1; A2@1 2-3; E1 6-7; E1 8-9; F0=1. 10-11", 3, 4)
    assert seen(durability(history)) == ["lost_write committed unclear by end: 2 3"]


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        ("A1? 0-; R0=1. 2-3; F0=. 8-9", ["vanished_read committed: 2 3 1"]),
        ("A1? 0-; F0=. 8-9; R0=1. 10-11", []),  # it appeared later
        ("A1? 0-; R0=1. 2-3; R0=. 4-5", []),  # a read that stops before the place
        ("A1? 0-; A2? 0-; R0=1. 1-2; R0=2. 3-4", ["vanished_read committed: 3 4 1"]),
        ("A1? 0-; A2? 0-; R0=1. 1-4; R0=2. 3-5", []),  # both at once: which came first?
        ("A1@0 0-1; A2@1 0-1; A3@2 0-1; R1=2 2-3; R0=0:1,2:3 4-5", ["vanished_read committed: 4 5 2"]),
        ("A1@0 0-1; A2@1 0-1; A3@2 0-1; R0=0:1,2:3 2-3; R1=2 4-5", []),  # the hole came first
        ("A1@0 0-1; R0=1. 2-8; F0=. 6-7", ["lost_write committed all by final: 1 3"]),  # read while the final read went on
    ],
)
def test_a_record_that_was_read_has_vanished_if_a_later_look_at_its_place_lacks_it(history: str, expected: list[str]) -> None:
    assert seen(durability(history)) == expected


def test_each_record_vanishes_once_however_often_it_is_missed() -> None:
    history = "A1? 0-; A2? 0-; R0=1. 1-2; R0=2. 3-4; R0=2. 5-6; F0=2. 8-9"
    assert seen(durability(history)) == ["vanished_read committed: 3 4 1"]


def test_without_a_complete_final_read_the_partition_is_undecided() -> None:
    assert durability("A1@0 0-1; F0=1. 2-3").undecided == ""
    assert durability("A1@0 0-1; A2@1 0-1; F0=1 2-3").undecided == "final read incomplete: t/0: it stopped before the end"


def test_records_below_the_log_start_are_nobodys_loss() -> None:
    start = Row(
        op=0, process=99, client="x", kind="start_offset", type="ok", topic="t", partition=0, offset=1, start_ns=0, took_ns=1
    )
    assert seen(durability([start, *rows("A1@0 0-1; A2@1 0-1; F1=2. 4-5")])) == []
    assert seen(durability([start, *rows("A1@0 0-1; A2@1 0-1; F1=. 4-5")])) == ["lost_write committed all by final: 2 3"]


# -- which part of its epoch ------------------------------------------------------------------------------------------------


def by_node(history: str, epochs: dict[int, list[int]], **nodes: int) -> list[Row]:
    """`epochs`: of a read its records' leader epochs. `nodes`: of an operation (`op2=3`) who answered, else n1."""
    told = rows(history)
    for row in told:
        row.node = nodes.get(f"op{row.op}", 1)
        row.epochs = epochs.get(row.op)
    return told


SANDWICH = "a1@0 0-1; a2@1 2-3; a3@2 4-5; F0=0:1,2:3. 8-9"


def test_a_write_between_two_survivors_of_one_node_and_epoch_was_of_that_epoch() -> None:
    assert seen(durability(by_node(SANDWICH, {4: [1, 1]}))) == ["lost_write local middle by final: 2 4"]


@pytest.mark.parametrize(
    ("epochs", "nodes"),
    [
        ([1, 2], {}),  # the survivors are of two epochs
        ([1, 1], {"op2": 2}),  # another node acknowledged the lost one
        ([1, 1], {"op3": 2}),
    ],
)
def test_else_its_epoch_is_not_known_by_that(epochs: list[int], nodes: dict[str, int]) -> None:
    assert seen(durability(by_node(SANDWICH, {4: epochs}, **nodes))) == ["lost_write local unclear by final: 2 4"]


@pytest.mark.parametrize(
    ("resent", "expected"),
    [({}, "middle"), ({1}, "middle"), ({2}, "unclear"), ({3}, "unclear")],  # the first need only have led by then
)
def test_who_acknowledges_what_was_sent_twice_need_not_have_written_it(resent: set[int], expected: str) -> None:
    """P 6.9: a later leader finds it in its log and says so, and its epoch is not the batch's."""
    told = by_node(SANDWICH, {4: [1, 1]})
    for row in told:
        row.idempotent, row.attempts = row.kind == "append", 2 if row.op in resent else 1
    assert seen(durability(told)) == [f"lost_write local {expected} by final: 2 4"]


def led(*offices: tuple[int, int, int]) -> list[dict[str, Any]]:
    """Changes: at a tick, a leader in an epoch."""
    return [
        {"at_ns": tick * 1_000_000, "topic": "t", "partition": 0, "leader": leader, "leader_epoch": epoch}
        for tick, leader, epoch in offices
    ]


@pytest.mark.parametrize(
    ("changes", "survivors", "expected"),
    [
        (led((-1, 1, 0)), "F0=1. 8-9", "suffix"),
        (led((-1, 1, 0), (5, 2, 1)), "F0=1. 8-9", "suffix"),
        (led((-1, 1, 0), (1, 2, 1), (2, 1, 2)), "F0=1. 8-9", "unclear"),  # it led twice before
        (led((-1, 1, 0), (4, 1, 2)), "F0=1. 8-9", "suffix"),  # it led again afterwards
        (led((-1, 2, 0)), "F0=1. 8-9", "unclear"),  # it never led
    ],
)
def test_a_node_that_had_led_one_epoch_only_acknowledged_in_that_epoch(changes: Any, survivors: str, expected: str) -> None:
    history = by_node(f"a1@0 0-1; a2@1 2-3; {survivors}", {3: [0]})
    assert seen(durability(history, changes, complete=True)) == [f"lost_write local {expected} by final: 2 3"]


def test_samples_of_changes_say_nothing_of_an_epoch() -> None:
    history = by_node("a1@0 0-1; a2@1 2-3; F0=1. 8-9", {3: [0]})
    assert seen(durability(history, led((-1, 1, 0)), complete=False)) == ["lost_write local unclear by final: 2 3"]


def test_a_loss_below_all_survivors_of_its_epoch_is_a_prefix() -> None:
    history = by_node("a1@0 0-1; a2@1 2-3; F0=1:2. 8-9", {3: [0]})
    assert seen(durability(history, led((-1, 1, 0)), complete=True)) == ["lost_write local prefix by final: 1 3"]


# -- words ------------------------------------------------------------------------------------------------------------------


def test_the_witness_can_be_checked_by_hand() -> None:
    (found,) = durability("A1@0 0-1; p:A2@1 2-3; F0=1. 6-7").found
    assert found.tell(0).text == (
        "p1 appended 2; at 0.003 s it was acknowledged at offset 1 (acks=all). "
        "The final read (0.006-0.007 s, complete to 1) does not contain it."
    )
    assert (found.from_ns[0], found.to_ns[0]) == (2_000_000, 7_000_000)
    (found,) = durability("A1? 0-; R0=1. 2-3; F0=. 8-9").found
    assert found.tell(0).text == (
        "p1 read 1 at offset 0 (0.003 s); the final read (0.008-0.009 s, complete to 0) does not contain it."
    )
