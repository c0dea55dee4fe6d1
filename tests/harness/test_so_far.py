"""What is kept of a campaign's runs: counters, and the first few that somebody should look at."""

from __future__ import annotations

import random
import tracemalloc

from harness.so_far import MOST_SHOWN, SoFar
from tests.harness.summaries import a_finding, a_summary, broken, not_executed


def so_far(*summaries: object) -> SoFar:
    known = SoFar()
    for summary in summaries:
        known.take(summary)  # type: ignore[arg-type]
    return known


def test_verdict_classes_are_kept_apart() -> None:
    """A broken promise, a doubt, a failing machine and a killed run are four things."""
    killed = a_summary(4, None, status="killed")
    known = so_far(a_summary(0), broken(1), a_summary(2, "unknown"), not_executed(3), killed, a_summary(5))
    assert known.classes == {"valid": 2, "invalid": 1, "unknown": 1, "infrastructure": 1, "killed": 1}
    assert known.runs == 6


def test_the_exit_code_is_that_of_all_runs_together() -> None:
    """1 before 4 before 2 before 0; of nothing at all, unknown."""
    assert so_far().exit_code == 2
    assert so_far(a_summary(0)).exit_code == 0
    assert so_far(a_summary(0), a_summary(1, "unknown")).exit_code == 2
    assert so_far(a_summary(1, "unknown"), not_executed(2)).exit_code == 4
    assert so_far(not_executed(2), broken(3)).exit_code == 1


def test_runs_that_fail_alike_are_one_way_to_fail_with_the_first_of_them() -> None:
    """The least number, in whatever order they came; a run that fails in two ways counts for both."""
    both = broken(9)
    both = a_summary(9, "invalid", findings=(*both.findings, a_finding("phantom", "6.6", "forbidden")))
    known = so_far(broken(7), both, broken(3))
    assert [(way.name, way.runs, way.first, way.seed) for way in known.ways_by_runs] == [
        ("lost_write", 3, 3, 1003),
        ("phantom", 1, 9, 1009),
    ]


def test_what_is_allowed_is_no_way_to_fail() -> None:
    """It is counted by itself, once per run."""
    twice = (a_finding("lost_write", "C7", "allowed"), a_finding("lost_write", "C7", "allowed"))
    known = so_far(a_summary(0, findings=twice))
    assert (known.ways, known.allowed) == ({}, {("C7", "lost_write"): 1})


def test_those_worth_a_look_are_the_same_in_whatever_order_runs_end() -> None:
    """Broken ones first, then those that the machine failed; each by number."""
    summaries = [*map(broken, (40, 12)), *map(not_executed, (1, 2, 3, 4)), *map(a_summary, range(50, 60))]
    for seed in range(5):
        random.Random(seed).shuffle(summaries)
        assert [each.number for each in so_far(*summaries).worth_a_look] == [12, 40, 1]
    assert MOST_SHOWN == 3


def test_forty_thousand_runs_take_no_more_memory_than_a_hundred() -> None:
    """A soak goes on for days, and some of its runs fail, each with a witness of its own."""
    known = so_far(*(broken(number) for number in range(100)), *(a_summary(number) for number in range(100)))
    tracemalloc.start()
    for number in range(100, 20_000):
        known.take(broken(number))
        known.take(a_summary(number, reasons=("final read incomplete: t/0",), toothless=("gate at 3.1 s",), fired=3))
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < 20_000  # of 40,000 runs
    assert (known.runs, known.fired) == (2 * 19_900 + 200, 3 * 19_900)
