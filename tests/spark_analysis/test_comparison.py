"""Tonight beside the baseline: what is new, what is fixed, what only looks so."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable

import pytest

from spark_analysis.comparison import ENOUGH, Comparison, compare, to_table
from spark_analysis.failing import failures_of
from spark_analysis.rows import Row
from tests.spark_analysis.made_up import LOST, STALE, batches, quarantined, run

HERE, THERE, ELSEWHERE = "c0ffee00", "0ddba115", "feedbeef"


def runs(cell: str, count: int, failing: int = 0, signature: str = LOST, **figures: float) -> list[Row]:
    return [run(number, cell, fails=[signature] if number < failing else [], **figures) for number in range(count)]


def compared(now: Iterable[Row], before: Iterable[Row]) -> Comparison:
    return compare(failures_of(batches(now)), failures_of(batches(before)))


def said(found: Comparison) -> list[tuple[str, str, str]]:
    changes = [(change.what, change.cell, change.signature) for change in found.changes]
    return changes + [(shift.pace, shift.cell, shift.figure) for shift in found.shifts]


QUIET = [*runs(THERE, 20), *runs(ELSEWHERE, 20)]


@pytest.mark.parametrize("failing", [1, 10, 20])
def test_a_signature_that_the_baseline_has_nowhere_is_new_whatever_its_rate(failing: int) -> None:
    """In exactly its cell, and nothing else is said."""
    found = compared([*QUIET, *runs(HERE, 20, failing)], [*QUIET, *runs(HERE, 20)])
    assert said(found) == [("new", HERE, LOST)]
    (change,) = found.changes
    assert (change.failing, change.judged, change.failing_before, change.judged_before) == (failing, 20, 0, 20)
    assert (change.words, change.name, change.first.run) == (f"words of {HERE}", "lost_write", "nightly/00000")


def test_one_that_is_known_from_another_cell_is_new_only_here() -> None:
    """Its neighbours are named; the near miss is one that nobody knows."""
    before = [*runs(HERE, 20), *runs(THERE, 20, 3)]
    found = compared([*runs(HERE, 20, 2), *runs(THERE, 20, 4)], before)
    assert said(found) == [("new here", HERE, LOST), ("flaky", THERE, LOST)]
    assert found.changes[0].known_in == (THERE,)
    assert said(compared([*runs(HERE, 20, 2, STALE), *runs(THERE, 20, 4)], before)) == [
        ("new", HERE, STALE),
        ("flaky", THERE, LOST),
    ]


def test_a_cell_that_the_baseline_never_ran_can_still_fail_in_a_new_way() -> None:
    found = compared(runs(HERE, 20, 2), runs(THERE, 20))
    assert said(found) == [("new", HERE, LOST)]
    assert (found.only_here, found.only_there, found.compared) == ((HERE,), (THERE,), 0)


@pytest.mark.parametrize(
    ("failing", "before", "what"),
    [(1, 19, "flaky"), (19, 1, "flaky"), (20, 20, "still failing"), (20, 3, "still failing"), (3, 20, "still failing")],
)
def test_what_fails_in_some_runs_of_both_is_flaky_and_what_fails_in_all_of_one_still_fails(
    failing: int, before: int, what: str
) -> None:
    assert said(compared(runs(HERE, 20, failing), runs(HERE, 20, before))) == [(what, HERE, LOST)]


@pytest.mark.parametrize(
    ("before", "count", "count_before", "what"),
    [
        (20, 20, 20, "fixed"),
        (6, 20, 20, "fixed"),
        (3, 20, 20, "not seen again"),
        (3, 200, 20, "fixed"),
        (1, 20, 20, "not seen again"),
        (5, 5, 5, "fixed"),
        (4, 4, 4, "not seen again"),
        (20, 4, 20, "not seen again"),
    ],
)
def test_fixed_is_said_only_where_it_is_not_luck(before: int, count: int, count_before: int, what: str) -> None:
    """The more runs, the sooner."""
    found = compared(runs(HERE, count), runs(HERE, count_before, before))
    assert said(found) == [(what, HERE, LOST)]
    (change,) = found.changes
    low, high = change.rate
    assert low <= -before / count_before <= high
    assert high < 0 or what == "not seen again"


def test_a_failure_of_many_signatures_is_fixed_with_all_of_them() -> None:
    """Each is too rare by itself; that nothing at all is left in the cell is no luck. Where something is left, nobody knows."""
    many = [run(number, HERE, fails=[f"{LOST}{number}"] if number < 8 else []) for number in range(30)]
    assert {what for what, _, _ in said(compared(runs(HERE, 30), many))} == {"fixed"}
    left = compared(runs(HERE, 30, 1, STALE), many)
    assert [what for what, _, _ in said(left)] == ["new"] + 8 * ["not seen again"]


def test_what_was_not_run_again_is_neither_fixed_nor_gone() -> None:
    found = compared(runs(THERE, 20), [*runs(HERE, 20, 20), *runs(THERE, 20)])
    assert said(found) == [("not run again", HERE, LOST)]


def test_runs_that_nobody_judged_count_for_nothing() -> None:
    """Neither as failures nor as runs that did not fail."""
    broken_machine = [run(100 + i, HERE) | {"status": "infrastructure", "valid": None} for i in range(50)]
    now = [*runs(HERE, 20), *broken_machine, *(quarantined(200 + i) for i in range(50))]
    found = compared(now, runs(HERE, 20, 3))
    assert said(found) == [("not seen again", HERE, LOST)]
    assert found.changes[0].judged == 20


# -- figures ------------------------------------------------------------------------------------------------------------


def noisy(cell: str, count: int, seed: int, **times: float) -> list[Row]:
    """Figures as they are: skewed, some five to one between the quick and the slow."""
    chance = random.Random(f"{cell}{seed}")
    found = []
    for number in range(count):
        drawn = {name: chance.lognormvariate(0, 0.5) * times.get(name, 1.0) for name in ("recovery_s", "append_p99_ms")}
        found.append(
            run(number, cell, **drawn, appends_per_s=50 * chance.lognormvariate(0, 0.1) * times.get("appends_per_s", 1.0))
        )
    return found


def test_slower_and_faster_are_said_of_what_surely_is() -> None:
    """Recovery and latency are slower when they are more, throughput when it is less."""
    now = [
        *noisy(HERE, 40, 1, recovery_s=3),
        *noisy(THERE, 40, 1, appends_per_s=0.7),
        *noisy(ELSEWHERE, 40, 1, append_p99_ms=0.3),
    ]
    before = [row for cell in (HERE, THERE, ELSEWHERE) for row in noisy(cell, 40, 2)]
    found = compared(now, before)
    expected = [("slower", HERE, "recovery_s"), ("slower", THERE, "appends_per_s"), ("faster", ELSEWHERE, "append_p99_ms")]
    assert sorted(said(found)) == sorted(expected)
    shift = next(shift for shift in found.shifts if shift.cell == HERE)
    assert shift.times[0] < 3 < shift.times[1]
    assert shift.now / shift.before == pytest.approx(math.sqrt(shift.times[0] * shift.times[1]))


def test_a_hundred_cells_that_did_not_change_make_no_alarm() -> None:
    """Other draws of the same chance: three hundred comparisons, of which a bare 95 % would call fifteen slower or faster."""
    cells = [f"{number:08x}" for number in range(100)]
    found = compared([row for cell in cells for row in noisy(cell, 12, 1)], [row for cell in cells for row in noisy(cell, 12, 2)])
    assert said(found) == []


def test_a_sure_difference_may_be_too_small_for_words() -> None:
    same = [run(number, HERE, appends_per_s=50 + number % 2 / 100) for number in range(100)]
    little = [run(number, HERE, appends_per_s=49 + number % 2 / 100) for number in range(100)]
    much = [run(number, HERE, appends_per_s=46 + number % 2 / 100) for number in range(100)]
    assert said(compared(little, same)) == []
    assert said(compared(much, same)) == [("slower", HERE, "appends_per_s")]


def test_too_few_runs_compare_no_figures_and_are_named() -> None:
    """Nor do runs that broke a promise: they were stopped."""
    few = [run(number, HERE, recovery_s=9.0 + number) for number in range(ENOUGH - 1)]
    broken = [run(100 + number, HERE, fails=[LOST], recovery_s=9.0 + number) for number in range(50)]
    enough = [run(number, HERE, recovery_s=1.0 + number / 10) for number in range(ENOUGH)]
    found = compared([*few, *broken], [*enough, *broken])
    assert found.shifts == ()
    assert found.too_few == (HERE,)
    assert compared([*few, run(99, HERE, recovery_s=12.0)], enough).too_few == ()
    assert said(compared([*few, run(99, HERE, recovery_s=12.0)], enough)) == [("slower", HERE, "recovery_s")]


def test_figures_that_no_run_has_are_no_figures() -> None:
    """A run without faults recovers from nothing; one that accepted nothing was as slow as can be, not a mistake of ours."""
    assert said(compared(runs(HERE, 20), runs(HERE, 20))) == []
    assert compared(runs(HERE, 20, appends_per_s=0.0), runs(HERE, 20, appends_per_s=50.0)).shifts[0].pace == "slower"


def test_the_table_says_what_the_comparison_says() -> None:
    found = compared([*noisy(HERE, 40, 1, recovery_s=3), *runs(THERE, 20, 2)], [*noisy(HERE, 40, 2), *runs(THERE, 20)])
    rows = to_table(found).to_pylist()
    assert [(row["what"], row["cell"]) for row in rows] == [("new", THERE), ("slower", HERE)]
    assert (rows[0]["failing"], rows[0]["number"], rows[0]["figure"]) == (2, 0, None)
    assert rows[1]["times"] == {"low": found.shifts[0].times[0], "high": found.shifts[0].times[1]}
