"""What a deposed leader says counts since it was deposed, not since it was asked (CHECKERS 6.1, P 13)."""

from __future__ import annotations

from typing import Any

import pytest

from checkers.columns import Columns
from checkers.history import Beside, look
from checkers.mode import Mode
from checkers.offices import offices_of
from model.history import to_table
from tests.checkers.looking import part_of
from tests.checkers.looking import told as words
from tests.checkers.notation import TICK_NS, rows

ONE, TWO = 1, 2
Office = tuple[int, int, int]
"""Since which tick who led, in which epoch."""


def changes(*offices: Office) -> list[dict[str, Any]]:
    return [
        {"at_ns": tick * TICK_NS, "topic": "t", "partition": 0, "leader": leader, "leader_epoch": epoch}
        for tick, leader, epoch in offices
    ]


def seen(history: str, deposed: int) -> list[str]:
    """Of durability, where a second leader epoch began at that tick."""
    beside = Beside(changes=changes((-1, ONE, 1), (deposed, TWO, 2)), changes_complete=True)
    checked = look(Columns(to_table(rows(history))), Mode(freshness="fenced"), beside)
    (durability,) = (each for each in checked if each.name == "durability")
    return [words(found, i) for found in durability.found for i in range(found.count)]


LOST = "A1@0 0-1; A2@1 4-5; A3@2 0-1; R0=0:1,2:3/{} 8-9"
REPLACED = "A1? 0-; A2? 0-; R0=1/{0} 4-5; R0=2/{1} 8-9"
LEFT_OUT = "A1? 0-; A2? 0-; A3? 0-; R0=1,2,3/{0} 4-5; R0=0:1,2:3/{1} 8-9"


@pytest.mark.parametrize(
    ("epoch", "deposed", "expected"),
    [
        (1, 2, []),  # it shows what was there before the write
        (2, 2, ["lost_write committed unclear by across: 2 4"]),
        (1, 6, ["lost_write committed unclear by across: 2 4"]),  # the write was acknowledged while it led
    ],
)
def test_a_deposed_leader_that_lacks_a_later_write_is_no_proof_of_its_loss(epoch: int, deposed: int, expected: list[str]) -> None:
    assert seen(LOST.format(epoch), deposed) == expected


@pytest.mark.parametrize("history", [REPLACED, LEFT_OUT])
def test_what_a_new_leader_showed_has_not_vanished_where_the_old_one_lacks_it(history: str) -> None:
    ops = "3 4 1" if history == REPLACED else "4 5 2"
    assert seen(history.format(2, 1), 2) == []
    assert seen(history.format(2, 2), 2) == [f"vanished_read committed: {ops}"]
    assert seen(history.format(1, 1), 6) == [f"vanished_read committed: {ops}"]


# -- in which epoch an acknowledgement was given ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answered", "since"),
    [
        ({}, 8),
        ({"leader_epoch": 1}, 2),  # it may still believe in the epoch in which it led first
        ({"leader_epoch": None}, 2),
        ({"node": TWO}, 2),  # somebody else knew better
        ({"took_ns": 3 * TICK_NS}, 2),  # at the same time
        ({"type": "fail", "error": "NOT_LEADER_OR_FOLLOWER", "values": None}, 2),
    ],
)
def test_a_node_that_answered_in_a_later_epoch_acknowledges_in_no_earlier_one(answered: dict[str, Any], since: int) -> None:
    """It led in epoch 1 up to tick 2 and in epoch 3 from tick 4 on. A node's epoch never falls."""
    history = rows("R0=./3 5-6; A1@0 8-9; a2@1 8-9")
    for name, value in answered.items():
        setattr(history[0], name, value)
    part = part_of(history)
    part.offices = offices_of(changes((-1, ONE, 1), (2, TWO, 2), (4, ONE, 3)), part.at, complete=True)
    assert (part.since // TICK_NS).tolist()[1:] == [since, since]


def test_what_it_answered_afterwards_says_nothing_of_before() -> None:
    """The highest of several epochs counts, in order of time and not of the history."""
    part = part_of("A1@0 8-9; R0=1./5 10-11; R0=./3 5-6; R0=./1 6-7; A2@1 12-13")
    part.offices = offices_of(changes((-1, ONE, 1), (2, TWO, 2), (4, ONE, 3), (6, TWO, 4), (9, ONE, 5)), part.at, complete=True)
    assert (part.since // TICK_NS).tolist() == [6, 10, 5, 2, 12]
