"""Rounds: the first that fails wins, whoever is quick."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.shrink.known import Known, Outcome, Pass, Round
from harness.shrink.rounds import Rounds
from harness.shrink.search import search
from model.plan import Plan, digest
from tests.harness.shrink.artificial import WANTED, Searched, a_plan, known, marked, marks

PLANS = tuple(a_plan(marked(i)) for i in range(8))


def always(plan: Plan) -> bool:
    return True


def by_hand(*rounds: Round, over: bool = False) -> tuple[Rounds, dict[int, Plan]]:
    """A search of these rounds, whatever becomes of them; candidates land in a dictionary."""
    handed: dict[int, Plan] = {}

    def search_of(start: Known) -> Pass:
        best = start
        for each in rounds:
            best = (yield each) or best
        return best

    return Rounds(search_of, known(a_plan(), always), WANTED, handed.__setitem__, lambda: over), handed


def failing(plan: Plan) -> Outcome:
    return Outcome(signatures=("x", WANTED), digest=digest(plan))


def test_a_later_one_that_fails_waits_for_the_earlier_ones() -> None:
    """Two under way: the second fails first, and wins only once the first is known not to."""
    rounds, handed = by_hand(iter(PLANS[:3]))
    first, second = next(rounds), next(rounds)
    rounds.report(second, failing(handed[second]))
    assert not rounds.finished
    assert next(rounds) is None, "nothing behind one that fails could still win"
    rounds.report(first, Outcome())
    assert rounds.finished
    assert rounds.best.plan == PLANS[1]


def test_an_earlier_one_that_fails_wins_over_a_later_one() -> None:
    """Even if it is slower."""
    rounds, handed = by_hand(iter(PLANS[:3]))
    first, second = next(rounds), next(rounds)
    rounds.report(second, failing(handed[second]))
    rounds.report(first, failing(handed[first]))
    assert rounds.best.plan == PLANS[0]


def test_another_failure_is_no_success() -> None:
    """The run must fail as it did."""
    rounds, _ = by_hand(iter(PLANS[:1]))
    rounds.report(next(rounds), Outcome(signatures=("s1:duplicate:committed:C3:-:-:A≠R",)))
    assert (rounds.finished, rounds.best.plan) == (True, a_plan())


def test_nothing_is_tried_twice() -> None:
    """Not a plan of an earlier round, nor one that stands twice in one, nor one that is under way."""
    rounds, handed = by_hand(iter((PLANS[0], PLANS[1], PLANS[0])), iter((PLANS[1], PLANS[2], PLANS[0])))
    first, second = next(rounds), next(rounds)
    assert next(rounds) is None
    for number in (second, first):
        rounds.report(number, Outcome())
    third = next(rounds)
    assert handed == {first: PLANS[0], second: PLANS[1], third: PLANS[2]}
    rounds.report(third, Outcome())
    assert (rounds.finished, rounds.trials) == (True, 3)


def test_a_result_that_comes_too_late_is_remembered_and_wins_nothing() -> None:
    """Its round was won by an earlier one; a later round may ask for it."""
    rounds, handed = by_hand(iter(PLANS[:2]), iter(PLANS[2:3]), iter(PLANS[1:2]))
    first, second = next(rounds), next(rounds)
    rounds.report(first, failing(handed[first]))
    rounds.report(second, failing(handed[second]))
    assert rounds.best.plan == PLANS[0]
    rounds.report(next(rounds), Outcome())
    assert (rounds.finished, rounds.best.plan) == (True, PLANS[1])


def test_candidates_are_drawn_up_when_somebody_is_free_for_them() -> None:
    """A round of thousands costs nothing as long as its first ones win."""
    drawn_up = []

    def lazily() -> Iterator[Plan]:
        for plan in PLANS:
            drawn_up.append(plan)
            yield plan

    rounds, handed = by_hand(lazily())
    number = next(rounds)
    rounds.report(number, failing(handed[number]))
    assert len(drawn_up) == 1


def test_when_time_is_up_nothing_is_begun_and_the_best_stays() -> None:
    """Rounds that are over at once never tried anything."""
    rounds, _ = by_hand(iter(PLANS), over=True)
    with pytest.raises(StopIteration):
        next(rounds)
    assert (rounds.finished, rounds.trials, rounds.best.plan) == (False, 0, a_plan())


# -- a whole search ------------------------------------------------------------------------------------------------------------

FEW = settings(max_examples=12)
START = a_plan(*(marked(i, after=i - 1 if i % 5 == 3 else None) for i in range(12)), seed=77, drawn=True)


def picky(plan: Plan) -> bool:
    """Two of twelve events, and only in a run of nine seconds or longer with an odd seed."""
    return {4, 8} <= marks(plan) and plan.for_ns >= 9 * 10**9 and plan.seed % 2 == 1 and len(marks(plan)) != 7


@pytest.fixture(scope="module")
def alone() -> Searched:
    return Searched(search, START, picky)


@FEW
@given(st.integers(2, 9), st.integers(0, 2**32))
def test_the_result_is_the_same_however_many_work_and_whoever_is_quick(alone: Searched, jobs: int, order: int) -> None:
    """Plan, outcome and the number of trials that were needed; the idle may have tried more."""
    together = Searched(search, START, picky, jobs=jobs, order=order)
    assert together.rounds.best == alone.rounds.best
    assert together.rounds.trials == alone.rounds.trials
    assert len(together.tried) >= len(alone.tried)


@FEW
@given(st.integers(0, 60), st.integers(1, 4))
def test_when_the_budget_is_spent_the_best_so_far_is_kept(alone: Searched, most: int, jobs: int) -> None:
    """It is one of those that a search with more time passes through, and no trial begins after the end."""
    cut_short = Searched(search, START, picky, jobs=jobs, most=most)
    assert len(cut_short.tried) <= most
    assert cut_short.best in [START, *alone.bests]
    assert picky(cut_short.best)


def test_what_is_found_is_all_that_is_needed(alone: Searched) -> None:
    """Two events, a run that is no longer than it must be, a seed that people can remember, nobody draws."""
    best = alone.best
    assert (marks(best), best.seed, best.for_ns, best.drawn) == ({4, 8}, 1, 10 * 10**9, False)
    assert alone.rounds.finished
