"""What the runs of one cell of a matrix say together: one word, defined once."""

from __future__ import annotations

from typing import get_args

import pytest

from checkers.cell_state import RED, Promise, PromiseSeen, RunClass, RunsOfACell, State, class_of, promises_of
from model.verdict import Cell, Promised

FORBIDDEN = Promise("lost_write", "committed", "C3", "forbidden")
ALLOWED = Promise("lost_write", "committed", "C7", "allowed")
NOT_JUDGED = Promise("lost_write", "committed", "C1", "not judged")

Run = tuple[RunClass, tuple[tuple[Promise, int], ...]]


def kept(*promises: Promise) -> Run:
    return "valid", tuple((promise, 0) for promise in promises)


def cell_of(*runs: Run) -> RunsOfACell:
    cell = RunsOfACell()
    for number, (run_class, promises) in enumerate(runs):
        cell.add(number, run_class, (PromiseSeen(promise, times) for promise, times in promises))
    return cell


CASES: list[tuple[State, list[Run]]] = [
    ("unknown", []),
    ("unknown", [("infrastructure", ()), ("killed", ())]),
    ("unknown", [("unknown", ((FORBIDDEN, 0),))]),  # nobody may have looked
    ("kept", [kept(FORBIDDEN), kept(FORBIDDEN)]),
    ("kept", [kept(FORBIDDEN), ("unknown", ((ALLOWED, 0),)), ("infrastructure", ())]),
    ("kept", [kept(FORBIDDEN), kept(NOT_JUDGED)]),
    ("not seen yet", [kept(ALLOWED)]),
    ("not seen yet", [kept(FORBIDDEN), kept(FORBIDDEN), kept(ALLOWED)]),  # one run was allowed to lose, and did not
    ("allowed loss seen", [kept(FORBIDDEN), kept(ALLOWED), ("valid", ((ALLOWED, 2),))]),
    ("allowed loss seen", [("unknown", ((ALLOWED, 1),)), kept(FORBIDDEN)]),  # what was seen was seen
    ("not judged", [kept(NOT_JUDGED)]),
    ("not judged", [("valid", ((NOT_JUDGED, 3),))]),
    ("not judged", [("valid", ())]),  # nothing was promised: acks=0, and nobody read
    ("FORBIDDEN loss seen", [kept(FORBIDDEN)] * 9 + [("invalid", ((FORBIDDEN, 1), (ALLOWED, 1)))]),
    ("BROKEN otherwise", [kept(FORBIDDEN), ("invalid", ())]),  # an invariant, a crash
    (
        "BROKEN otherwise",
        [("invalid", ((Promise("stale_read", "committed", "C3", "forbidden"), 1),)), ("valid", ((ALLOWED, 1),))],
    ),
]


@pytest.mark.parametrize(("state", "runs"), CASES)
def test_one_word_for_all_runs_whatever_their_order(state: State, runs: list[Run]) -> None:
    """Worst first: no run hides what another one saw."""
    assert cell_of(*runs).state == state
    assert cell_of(*reversed(runs)).state == state


def test_every_state_is_reached() -> None:
    """A word that no runs can have would be none."""
    assert {state for state, _ in CASES} == {*get_args(State)}


def test_red_are_those_in_which_a_promise_was_broken() -> None:
    """And no allowed loss ever is."""
    assert all((state in RED) == any(run_class == "invalid" for run_class, _ in runs) for state, runs in CASES)


def test_a_loss_of_another_name_is_a_loss() -> None:
    """A read that vanished, an offset with two values; a stale read is none."""
    for name, state in (("vanished_read", "FORBIDDEN loss seen"), ("inconsistent_offset", "FORBIDDEN loss seen")):
        assert cell_of(("invalid", ((Promise(name, "committed", "C5", "forbidden"), 1),))).state == state
    duplicates = Promise("duplicate", "committed", "6.6", "allowed")
    assert cell_of(("valid", ((duplicates, 4), (FORBIDDEN, 0)))).state == "kept"


def test_the_example_of_a_promise_is_its_first_run() -> None:
    """The least number, in whatever order runs ended; runs are counted, not how often each lost."""
    cell = RunsOfACell()
    for number, times in ((7, 1), (3, 5), (9, 0), (4, 0)):
        cell.add(number, "valid", [PromiseSeen(ALLOWED, times)])
    count = cell.promises[ALLOWED]
    assert (count.runs, count.seen, count.first) == (4, 2, 3)
    assert cell.first_broken is None
    for number in (8, 5):
        cell.add(number, "invalid", [])
    assert cell.first_broken == 5


def test_each_run_counts_once_by_what_it_was_promised_about_losses() -> None:
    """Allowed where any loss was; a run that may not have been looked at says nothing."""
    reads = Promise("vanished_read", "committed", "C3", "forbidden")
    duplicates = Promise("duplicate", "committed", "6.6", "allowed")
    cell = cell_of(
        kept(FORBIDDEN, reads), kept(ALLOWED, reads), kept(NOT_JUDGED), kept(duplicates), ("unknown", ((FORBIDDEN, 0),))
    )
    assert cell.losses == {"forbidden": 1, "allowed": 1, "not judged": 1}


def test_partitions_of_a_run_count_together() -> None:
    """A cell of a matrix is about a config, not about a partition."""

    def one(partition: int, seen: int, promised: Promised = "allowed") -> Cell:
        return Cell(
            topic="t", partition=partition, anomaly="lost_write", level="committed", rule="C7", promised=promised, seen=seen
        )

    assert promises_of([one(0, 2), one(1, 0), one(2, 1)]) == (PromiseSeen(ALLOWED, 3),)
    assert len(promises_of([one(0, 2), one(1, 0, "forbidden")])) == 2


def test_a_broken_promise_stays_one_whatever_became_of_its_run() -> None:
    """The other classes are what the run was worth."""
    assert class_of("infrastructure", "invalid") == "invalid"
    assert [class_of("done", valid) for valid in ("valid", "unknown", "invalid")] == ["valid", "unknown", "invalid"]
    assert [class_of(status, None) for status in ("infrastructure", "killed")] == ["infrastructure", "killed"]
