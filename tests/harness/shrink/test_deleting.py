"""Fewer events: what is left fails, none of it can go, and the others go on meaning what they meant."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.shrink.deleting import fewer_events, without
from harness.shrink.known import Fate, Known, Outcome, is_sound
from model.plan import Plan
from model.schedule import Condition, Event
from tests.harness.shrink.artificial import WANTED, Fails, Searched, a_plan, known, marked, marks

S = 10**9


@st.composite
def failing(draw: st.DrawFn) -> tuple[Plan, Fails]:
    """Up to two dozen events, of which some wait for earlier ones. It fails where one of a few groups of events is together, and,
    as real failures do, not always then."""
    count = draw(st.integers(1, 24))
    waits = draw(st.sets(st.integers(1, count), max_size=5))
    events = [marked(i, after=draw(st.integers(0, i - 1)) if i in waits else None) for i in range(count)]
    group = st.frozensets(st.integers(0, count - 1), max_size=6)
    groups = draw(st.lists(group, min_size=1, max_size=3))
    whim = draw(st.integers(0, 2**32))
    everything = frozenset(range(count))

    def fails(plan: Plan) -> bool:
        left = marks(plan)
        in_the_mood = hash((whim, tuple(sorted(left)))) % 4 != 0
        return left == everything or (in_the_mood and any(group <= left for group in groups))

    return a_plan(*events, for_ns=100 * S), fails


@given(failing())
def test_what_is_left_fails_and_no_single_event_can_go(drawn: tuple[Plan, Fails]) -> None:
    """Whatever the predicate: 1-minimal, by the same candidates that the search would have tried."""
    plan, fails = drawn
    searched = Searched(fewer_events, plan, fails)
    best = searched.rounds.best
    assert searched.rounds.finished
    assert fails(best.plan)
    for number in range(len(best.schedule)):
        assert not any(fails(smaller) for smaller in without(best, [number]))


@given(failing())
def test_the_failure_is_never_lost_on_the_way(drawn: tuple[Plan, Fails]) -> None:
    """Every plan that was the best for a while fails, and has fewer events than the one before."""
    plan, fails = drawn
    bests = [plan, *Searched(fewer_events, plan, fails).bests]
    assert all(fails(best) for best in bests)
    counts = [len(marks(best)) for best in bests]
    assert counts == sorted(counts, reverse=True)


def test_a_few_of_many_are_found_in_few_trials() -> None:
    """Three events of sixty-four: pieces first, so some fifty trials, where one by one it would take more than sixty."""
    plan = a_plan(*(marked(i) for i in range(64)), for_ns=100 * S)
    searched = Searched(fewer_events, plan, lambda smaller: {3, 31, 59} <= marks(smaller))
    assert marks(searched.best) == {3, 31, 59}
    assert searched.rounds.trials < 64


def test_a_plan_that_fails_by_itself_needs_no_event() -> None:
    """One trial shows it."""
    searched = Searched(fewer_events, a_plan(*(marked(i) for i in range(9))), lambda plan: True)
    assert (searched.best.schedule, searched.rounds.trials) == ((), 1)


def test_what_never_fired_and_what_never_bit_goes_first() -> None:
    """Both at once: a run says itself what did not matter in it."""
    events = [marked(i) for i in range(12)]
    fates = tuple(Fate(fired_ns=None if i % 3 == 0 else i * S, effect=i % 3 == 1) for i in range(12))
    start = Known(a_plan(*events), Outcome(signatures=(WANTED,), fates=fates))
    search = fewer_events(start)
    nothing, useful, fired = list(next(search))
    assert marks(nothing) == set()
    assert marks(useful) == {1, 4, 7, 10}
    assert marks(fired) == {1, 2, 4, 5, 7, 8, 10, 11}


# -- numbers ------------------------------------------------------------------------------------------------------------------


def waiting(**clauses: object) -> Event:
    return Event(when=Condition(**clauses), within_ns=20 * S, fault="kill", target="leader")  # type: ignore[arg-type]


def smaller(gone: list[int], *events: Event) -> list[tuple[Event, ...]]:
    found = without(known(a_plan(*events), lambda plan: True), gone)
    return [plan.schedule for plan in found if isinstance(plan.schedule, tuple)]


def test_after_goes_on_meaning_the_same_event() -> None:
    """Its number has changed; the words of the event have, too, so it is also tried as it happened."""
    as_written, as_happened = smaller([0], marked(0), marked(1), waiting(after=1, leader="n2"))
    assert as_written[1] == waiting(after=0, leader="n2")
    assert as_happened[1] == Event(at_ns=1_500_000_000, fault="kill", target="leader")


def test_a_clause_about_an_event_that_is_gone_goes_with_it() -> None:
    """What else it waited for stays."""
    as_written, as_happened = smaller([0], marked(0), waiting(after=0, leader="n2"))
    assert as_written == (waiting(leader="n2"),)
    assert as_happened == (Event(at_ns=500_000_000, fault="kill", target="leader"),)


@pytest.mark.parametrize("more", [{}, {"partition": "t/0"}])
def test_who_waited_for_nothing_else_comes_at_its_time(more: dict[str, object]) -> None:
    """A partition says where, and not when."""
    assert smaller([0], marked(0), waiting(after=0, **more)) == [(Event(at_ns=500_000_000, fault="kill", target="leader"),)]


def test_who_waited_for_nothing_else_and_never_fired_goes_too() -> None:
    """And whoever waited for it; there is no time at which they could come."""
    plan = a_plan(marked(0), waiting(after=0), waiting(after=1), waiting(after=1, leader="n2"), marked(4))
    fates = (Fate(fired_ns=0), Fate(), Fate(), Fate(), Fate(fired_ns=4 * S))
    (found,) = without(Known(plan, Outcome(fates=fates)), [0])
    assert found.schedule == (waiting(leader="n2"), marked(4))


def test_an_event_whose_words_stay_is_left_alone() -> None:
    """One candidate, not two: nobody waited for what is gone, or for what comes behind it."""
    assert smaller([1], marked(0), marked(1), waiting(after=0)) == [(marked(0), waiting(after=0))]


@given(failing(), st.data())
def test_every_candidate_is_a_plan_that_somebody_could_have_written(drawn: tuple[Plan, Fails], data: st.DataObject) -> None:
    """Events that wait wait for earlier ones, and have one start."""
    plan, fails = drawn
    gone = data.draw(st.sets(st.integers(0, len(marks(plan)) - 1)))
    for candidate in without(known(plan, fails), gone):
        assert is_sound(candidate)
        assert isinstance(candidate.schedule, tuple)
        assert len(candidate.schedule) == len(marks(plan)) - len(gone)
        assert msgspec.structs.replace(candidate, schedule=plan.schedule) == plan
