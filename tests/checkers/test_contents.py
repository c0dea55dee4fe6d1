"""Contradictions in what lies where, and since when (CHECKERS 3.4 steps 1 and 2; section 5)."""

from __future__ import annotations

import pytest

from checkers.columns import Columns
from checkers.history import Beside, look
from checkers.mode import Mode
from model.value import make_value
from tests.checkers.looking import ruled
from tests.checkers.notation import table

WRITTEN = "A1? 0-; A2? 0-; A3? 0-; "


def told(history: str, *elections: int) -> list[str]:
    return sorted(each for each in ruled(WRITTEN + history, *elections) if each.startswith("inconsistent_offset"))


@pytest.mark.parametrize(
    ("elections", "expected"),
    [
        ((), ["inconsistent_offset C3: 4 5"]),
        ((4,), ["inconsistent_offset C2: 4 5", "inconsistent_offset C3: 5 6"]),
        ((8,), ["inconsistent_offset C2: 5 6", "inconsistent_offset C3: 4 5"]),
        ((4, 8), ["inconsistent_offset C2: 4 5"]),
    ],
)
def test_each_time_that_an_offset_changes_somebody_must_have_allowed_it(elections: tuple[int, ...], expected: list[str]) -> None:
    """6.1: that it was allowed to change once says nothing of the second time."""
    assert told("R0=1 2-3; R0=2 6-7; R0=3 10-11", *elections) == expected


def test_who_saw_a_value_last_and_who_saw_another_first_are_told() -> None:
    """Nobody saw it change between two who saw the same; what comes back has changed again."""
    assert told("R0=1 2-3; R0=1 4-5; R0=2 6-7; R0=2 8-9", 3) == ["inconsistent_offset C3: 5 6"]
    assert told("R0=1 2-3; R0=2 6-7; R0=1 10-11", 4) == ["inconsistent_offset C2: 4 5", "inconsistent_offset C3: 5 6"]


def test_an_acknowledgement_by_all_is_one_that_saw_it() -> None:
    """3.2: of a leader alone it is none."""
    assert told("A4@0 2-3; R0=1 6-7; A5@0 8-9", 4) == ["inconsistent_offset C2: 4 5", "inconsistent_offset C3: 5 6"]
    assert "inconsistent_offset C3: 5 6" not in told("A4@0 2-3; R0=1 6-7; a5@0 8-9", 4)


def test_what_a_deposed_leader_shows_hides_nothing_that_one_in_office_showed() -> None:
    """It may have been so when epoch 0 ended, at tick 2. Its near miss: nobody else had shown it."""
    expected = ["inconsistent_offset C2: 5 6", "inconsistent_offset C3: 4 6"]
    assert told("R0=1/1 3-4; R0=1/0 5-6; R0=2/1 8-9", 2) == expected
    assert told("R0=1/0 5-6; R0=2/1 8-9", 2) == ["inconsistent_offset C2: 4 5"]


# -- values of this run -------------------------------------------------------------------------------------------------


def names(tag: int, *, complete: bool) -> list[str]:
    """A value with this tag was read in a partition that nobody of this run, tag 5, is known to have written to."""
    history = table(f"A{make_value(5, 1, 0)}@0 0-1", f"R0={make_value(tag, 2, 0)} 2-3")
    found = [found for checked in look(Columns(history), Mode(), Beside(complete=complete)) for found in checked.found]
    return [each.name for each in found if each.name == "phantom"]


def test_a_value_of_this_run_may_have_lost_its_row_whatever_the_partition() -> None:
    """1.6: a run that ended in a crash; its near misses are another run's value, and a run that did not."""
    assert names(5, complete=False) == []
    assert names(6, complete=False) == ["phantom"]
    assert names(5, complete=True) == ["phantom"]
