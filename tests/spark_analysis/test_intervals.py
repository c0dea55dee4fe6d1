"""Intervals, against values that stand in tables and papers, and against what must hold of any of them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_analysis.intervals import Sums, newcombe, student, welch, wilson


def sums(*values: float) -> Sums:
    found = Sums()
    for value in values:
        found.add(value)
    return found


@pytest.mark.parametrize(
    ("share", "freedom", "expected"),
    [(0.975, 5, 2.570582), (0.975, 30, 2.042272), (0.9995, 10, 4.586894), (0.975, 1e7, 1.959964), (0.95, 1, 6.313752)],
)
def test_students_quantiles_are_those_of_the_tables(share: float, freedom: float, expected: float) -> None:
    assert student(share, freedom) == pytest.approx(expected, abs=2e-6)


def test_wilson_gives_the_bounds_of_newcombes_paper() -> None:
    """R. G. Newcombe, Statistics in Medicine 17 (1998): 81 of 263, 15 of 148, 0 of 20, 1 of 29."""
    for hits, count, low, high in [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ]:
        assert wilson(hits, count) == pytest.approx((low, high), abs=1e-4)


def test_newcombe_gives_the_bounds_of_its_own_paper() -> None:
    """The same, on differences: 56 of 70 less 48 of 80, and 9 of 10 less 3 of 10."""
    assert newcombe(56, 70, 48, 80) == pytest.approx((0.0524, 0.3339), abs=1e-4)
    assert newcombe(9, 10, 3, 10) == pytest.approx((0.1705, 0.8090), abs=1e-4)


def test_nothing_is_known_where_nothing_was_run() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    low, high = newcombe(0, 0, 5, 10)
    assert low < 0 < high


counts = st.integers(1, 400).flatmap(lambda count: st.tuples(st.integers(0, count), st.just(count)))


@given(counts, counts)
def test_a_difference_lies_in_its_interval_and_turns_round_with_its_sides(now: tuple[int, int], before: tuple[int, int]) -> None:
    low, high = newcombe(*now, *before)
    difference = now[0] / now[1] - before[0] / before[1]
    assert -1.000001 <= low <= difference + 1e-9
    assert difference - 1e-9 <= high <= 1.000001
    assert newcombe(*before, *now) == pytest.approx((-high, -low))


def test_welch_gives_the_interval_of_a_worked_example() -> None:
    """Two samples whose variances differ: mean difference 4, standard error sqrt(2.5/5 + 10/5), 5.882 degrees of freedom."""
    low, high = welch(sums(5, 6, 7, 8, 9), sums(-1, 1, 3, 5, 7))
    assert (low + high) / 2 == pytest.approx(4)
    assert (high - low) / 2 == pytest.approx(student(0.975, 5.88235) * math.sqrt(2.5))


def test_equal_figures_differ_by_nothing_and_too_few_may_differ_by_anything() -> None:
    """What rounding leaves of a variance is none."""
    same = [0.1] * 9
    assert welch(sums(*same), sums(*same)) == (0, 0)
    assert sums(*same).variance == 0
    assert welch(sums(1), sums(2, 3)) == (-math.inf, math.inf)
