"""Each mutant answers one question wrongly, on the values of its schedule in BUGS, and everything else as the right rules do."""

from __future__ import annotations

import re
from typing import Any

import pytest

from model.vocabulary import MUTANTS as NAMES
from replication.errors import Error
from replication.identity import NO_EPOCH
from replication.image import BrokerRegistration
from replication.messages import EpochEndOffset, FetchedPartition
from replication.mutants import MUTANTS, PROPERTY, names_in, questions_of, rules_with
from replication.rules import Rules
from replication.state import Follower, Leadership, PendingChange

A, B, C = 1, 2, 3
DIVERGING = FetchedPartition(b"t" * 16, 0, diverging_epoch=EpochEndOffset(1, 10))
FENCED = FetchedPartition(b"t" * 16, 0, Error.FENCED_LEADER_EPOCH)
SHRINK = PendingChange("shrink", (A, B), 1, 7)
EXPAND = PendingChange("expand", (A, B, C), 1, 7)
NEW_LEADER = Leadership(isr=(A, B), maximal_isr=frozenset((A, B)), leso=10, followers={})
LAGGARD = Follower(C, leo=8, broker_epoch=NO_EPOCH)
UP_TO_DATE = Follower(C, leo=10, broker_epoch=NO_EPOCH)
ALIVE = BrokerRegistration(broker_id=C, incarnation_id=b"i" * 16, broker_epoch=5, fenced=False)

Asked = tuple[str, tuple[Any, ...]]


@pytest.mark.parametrize(
    ("mutant", "question", "right", "wrong"),
    [
        # B01: B holds m, HW 1: it keeps it | cuts it
        ("B01", ("truncation_before_fetching", (((1, 0),), 1, 2)), None, 1),
        # B09: the fetch of an ex-leader with a tail tells nothing | that it is at 12
        ("B09", ("counts", (DIVERGING,)), False, True),
        # B11: HW 8, LESO 10, C at 8
        ("B11", ("may_join_isr", (NEW_LEADER, LAGGARD, 8, ALIVE)), False, True),
        # B13: A wants C out
        ("B13", ("maximal_isr", ((A, B, C), SHRINK)), frozenset((A, B, C)), frozenset((A, B))),
        # B23: ISR {A, C}, min ISR 2
        ("B23", ("empties_elr", (2, 2)), True, False),
        ("B28", ("waits_for_hw", (-1, False)), True, False),
        ("B28a", ("waits_for_hw", (-1, False)), True, False),
        # B28b: A at 12, B at 12, C at 9, min ISR 2
        ("B28b", ("hw_candidate", (12, (12, 9), 2)), 9, 12),
        ("B28", ("hw_candidate", (12, (12, 9), 2)), 9, 12),
        # B32: HW 9, LEO 12
        ("B32", ("readable_end", (False, 9, 12)), 9, 12),
        # B33: HW 5, LEO 6, LESO 6
        ("B33", ("latest_offset", (False, 5, 6, 6)), Error.OFFSET_NOT_AVAILABLE, 5),
        # B35: a follower of epoch 1 at a leader of epoch 2; one whose tail at 12 is of epoch 1, which ended at 10
        ("B35", ("check_leader_epoch", (1, 2)), Error.FENCED_LEADER_EPOCH, None),
        ("B35", ("check_leader_epoch", (2, 1)), Error.UNKNOWN_LEADER_EPOCH, None),
        ("B35", ("judge_divergence", (((1, 0), (2, 10)), 14, 1, 12)), EpochEndOffset(1, 10), None),
        ("B36", ("may_elect_uncleanly", (False,)), False, True),
    ],
)
def test_a_mutant_answers_wrongly(mutant: str, question: Asked, right: Any, wrong: Any) -> None:
    """On the values of its schedule."""
    name, values = question
    assert name in questions_of(MUTANTS[mutant])
    assert getattr(Rules(), name)(*values) == right
    assert getattr(rules_with([mutant]), name)(*values) == wrong


@pytest.mark.parametrize(
    ("mutant", "question"),
    [
        ("B01", ("truncation_before_fetching", (((1, 0),), 2, 2))),
        ("B01", ("truncation_before_fetching", ((), 1, 2))),  # 5.11: without epochs there is nothing better
        ("B09", ("counts", (None,))),
        ("B09", ("counts", (FENCED,))),  # a fetch that named another epoch is another bug
        ("B11", ("may_join_isr", (NEW_LEADER, LAGGARD, 9, ALIVE))),
        ("B11", ("may_join_isr", (NEW_LEADER, UP_TO_DATE, 8, ALIVE))),
        ("B11", ("may_join_isr", (NEW_LEADER, UP_TO_DATE, 8, None))),
        ("B13", ("maximal_isr", ((A, B), None))),
        ("B13", ("maximal_isr", ((A, B), EXPAND))),
        ("B23", ("empties_elr", (1, 2))),
        ("B28a", ("waits_for_hw", (1, False))),
        ("B28b", ("hw_candidate", (12, (12, 9), 3))),
        ("B28b", ("hw_candidate", (12, (), 2))),
        ("B32", ("readable_end", (True, 9, 12))),
        ("B33", ("latest_offset", (False, 6, 6, 6))),
        ("B33", ("latest_offset", (True, 5, 6, 6))),
        ("B35", ("check_leader_epoch", (2, 2))),
        ("B36", ("may_elect_uncleanly", (True,))),
    ],
)
def test_a_mutant_is_right_beside_its_schedule(mutant: str, question: Asked) -> None:
    """The near miss: a mutant that is wrong everywhere would be found by anything."""
    name, values = question
    assert getattr(rules_with([mutant]), name)(*values) == getattr(Rules(), name)(*values)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_answers_no_other_question(mutant: str) -> None:
    """Every other rule is the very function of the right ones."""
    rules = type(rules_with([mutant]))
    others = {name for name in dir(Rules) if not name.startswith("__")} - questions_of(MUTANTS[mutant])
    assert questions_of(MUTANTS[mutant])
    assert all(getattr(rules, name) is getattr(Rules, name) for name in others)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_says_which_bug_it_is(mutant: str) -> None:
    """Its docstring begins with its id in BUGS."""
    assert (MUTANTS[mutant].__doc__ or "").startswith(f"{mutant} ")
    assert re.fullmatch(r"B[0-9]{2}[a-z]?", mutant)


def test_plans_know_the_mutants_that_there_are() -> None:
    """model/vocabulary.py imports nothing of ours, so the names stand there once more."""
    assert tuple(MUTANTS) == NAMES


def test_several_mutants_are_wrong_together() -> None:
    """In any order, whatever rooms their questions live in."""
    for names in (["B13", "B28a", "B36"], ["B36", "B28a", "B13"]):
        rules = rules_with(names)
        assert not rules.waits_for_hw(-1, known_copy=False)
        assert rules.maximal_isr((A, B, C), SHRINK) == {A, B}
        assert rules.may_elect_uncleanly(allowed=False)
    assert type(rules_with([])) is Rules


@pytest.mark.parametrize(
    ("names", "problem"),
    [(["B99"], "no such mutant: 'B99'"), (["B28", "B28b"], "B28 and B28b answer the same question, hw_candidate")],
)
def test_mutants_that_cannot_be_switched_on_are_refused(names: list[str], problem: str) -> None:
    """Before a node starts with rules that nobody meant."""
    with pytest.raises(ValueError, match=problem):
        rules_with(names)


def test_the_names_stand_in_a_nodes_properties() -> None:
    """As Kafka writes lists: with commas, with or without blanks."""
    assert names_in({PROPERTY: "B11, B13"}) == ("B11", "B13")
    assert names_in({}) == names_in({PROPERTY: ""}) == ()
