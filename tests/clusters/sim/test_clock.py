"""The two clocks of a node, right and wrong."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.sim.clock import WALL_START_MS, NodeClock, SimClocks
from clusters.sim.latency import MS
from model.cluster import Link
from tests.clusters.sim.bare import Bare, NoteRequest, S

PPM = st.integers(-900_000, 10_000_000)
OFFSET = st.integers(-3_600 * S, 3_600 * S)
STEP = st.one_of(
    st.tuples(st.just("drift"), PPM),
    st.tuples(st.just("skew"), OFFSET),
    st.tuples(st.just("jump"), OFFSET),
    st.tuples(st.just("strobe"), st.tuples(st.integers(1, 10 * S), st.integers(1, 1 * S))),
    st.tuples(st.just("restore"), st.just(())),
    st.tuples(st.just("time"), st.integers(0, 10 * S)),
)


class OneClock:
    """A node's clock, and the true time."""

    def __init__(self) -> None:
        self.now, self.clock = 0, NodeClock()
        self.handle = SimClocks(lambda: self.now, {1: self.clock})

    def take(self, step: tuple[str, object]) -> None:
        name, value = step
        if name == "time":
            assert isinstance(value, int)
            self.now += value
        else:
            getattr(self.handle, name)(1, *(value if isinstance(value, tuple) else (value,)))

    @property
    def wall_ms(self) -> int:
        return self.clock.wall_ms(self.now) - WALL_START_MS

    @property
    def monotonic(self) -> int:
        return self.clock.monotonic_ns(self.now)


@given(st.lists(STEP, max_size=20))
def test_monotonic_time_never_goes_back(steps: list[tuple[str, object]]) -> None:
    """Whatever is done to the clock, and whatever is taken away again."""
    one, seen = OneClock(), [0]
    for step in steps:
        one.take(step)
        seen.append(one.monotonic)
    assert all(earlier <= later for earlier, later in pairwise(seen))


@given(st.lists(STEP, max_size=20), st.integers(0, 10 * S))
def test_restored_a_clock_tells_the_truth_from_then_on(steps: list[tuple[str, object]], later: int) -> None:
    """Wall time at once; monotonic time goes on from where it was, at the true rate."""
    one = OneClock()
    for step in steps:
        one.take(step)
    one.handle.restore(1)
    began = one.monotonic
    one.now += later
    assert one.wall_ms == one.now // MS
    assert one.monotonic - began == later


@given(st.integers(0, 10**15), OFFSET, st.lists(OFFSET, max_size=4))
def test_a_skew_and_jumps_are_exact(now: int, skew: int, jumps: list[int]) -> None:
    """All of it adds up, each skew is released by itself, and monotonic time feels nothing of it."""
    one = OneClock()
    one.now = now
    first, second = one.handle.skew(1, 5 * S), one.handle.skew(1, skew)
    for by in jumps:
        one.handle.jump(1, by)
    assert one.wall_ms == (now + 5 * S + skew + sum(jumps)) // MS
    first.release()
    first.release()
    assert one.wall_ms == (now + skew + sum(jumps)) // MS
    second.release()
    assert one.wall_ms == (now + sum(jumps)) // MS
    assert one.monotonic == now


@given(st.integers(0, 10**12), st.integers(1, 5 * S), st.integers(1, S), st.integers(0, 10 * S))
def test_a_strobe_goes_to_and_fro(since: int, by: int, every: int, later: int) -> None:
    """Right for the first stretch, ahead for the next, and so on."""
    one = OneClock()
    one.now = since
    one.handle.strobe(1, by, every)
    one.now += later
    assert one.wall_ms == (one.now + (by if later // every % 2 else 0)) // MS


@given(PPM, st.integers(0, 100 * S))
def test_a_drift_is_so_many_parts_of_a_million(ppm: int, later: int) -> None:
    """Of both clocks, to the nanosecond."""
    one = OneClock()
    one.now = 7 * S
    one.handle.drift(1, ppm)
    one.now += later
    assert one.monotonic == 7 * S + later + later * ppm // 1_000_000
    assert one.wall_ms == (one.now + later * ppm // 1_000_000) // MS


@given(st.lists(st.tuples(PPM, st.integers(0, 100 * S)), max_size=6))
def test_one_drift_after_the_other_adds_up(drifts: list[tuple[int, int]]) -> None:
    """Monotonic time keeps what it gained or lost; the wall clock is right again as soon as a drift is over."""
    one = OneClock()
    for ppm, lasts in drifts:
        drift = one.handle.drift(1, ppm)
        one.now += lasts
        assert one.wall_ms == (one.now + lasts * ppm // 1_000_000) // MS
        drift.release()
        assert one.wall_ms == one.now // MS
    gained = sum(lasts * ppm // 1_000_000 for ppm, lasts in drifts)
    assert one.monotonic == one.now + gained


def test_two_drifts_at_once_are_one_of_both_rates() -> None:
    """And a clock never stands still, however many slow it down."""
    one = OneClock()
    fast, slow = one.handle.drift(1, 500_000), one.handle.drift(1, -200_000)
    one.now += 10 * S
    assert one.monotonic == 13 * S
    fast.release()
    one.now += 10 * S
    assert one.monotonic == 13 * S + 8 * S
    for _ in range(3):
        one.handle.drift(1, -800_000)
    one.now += 10 * S
    assert one.monotonic == 13 * S + 8 * S + 1 * S
    assert (fast.touched(), slow.touched()) == (1, 3)


@given(PPM, st.integers(0, 100 * S))
def test_a_wait_of_the_nodes_own_time_is_over_then_and_not_before(ppm: int, own_ns: int) -> None:
    """Rounded up by less than one tick of the clock."""
    one = OneClock()
    one.handle.drift(1, ppm)
    real = one.clock.real_ns(own_ns)
    assert one.clock.monotonic_ns(real) >= own_ns
    assert real == 0 or one.clock.monotonic_ns(real - 1) < own_ns


def test_only_readings_that_are_wrong_are_counted() -> None:
    """A skewed wall clock does not concern who reads monotonic time, and a strobe is right half of the time."""
    one = OneClock()
    skew = one.handle.skew(1, 1 * S)
    assert (one.monotonic, skew.touched()) == (0, 0)
    assert (one.wall_ms, skew.touched()) == (1_000, 1)
    skew.release()
    strobe = one.handle.strobe(1, 1 * S, 10 * MS)
    assert (one.wall_ms, strobe.touched()) == (0, 0)
    one.now += 10 * MS
    assert (one.wall_ms, strobe.touched()) == (1_010, 1)


# -- timers -------------------------------------------------------------------------------------------------------------

RATES = st.lists(st.tuples(st.integers(1, 500 * MS), PPM), max_size=6)


@given(st.integers(0, 2 * S), RATES)
def test_a_timer_fires_when_the_nodes_own_clock_says_so(own_ns: int, rates: list[tuple[int, int]]) -> None:
    """However often its rate changes on the way, also if the clock was true when it was set."""
    bare = Bare(1)
    clock, env, fired = bare.clocks[1], bare[1].env, list[int]()
    clocks = SimClocks(lambda: bare.kernel.now, bare.clocks)
    due = env.monotonic_ns() + own_ns
    env.after(own_ns, lambda: fired.append(bare.kernel.now))
    changes = set()  # where the rate changes the clock may stand on its tick for a moment
    for lasts, ppm in rates:
        bare.run(lasts)
        if not fired:
            clocks.restore(1)
            clocks.drift(1, ppm)
            changes.add(bare.kernel.now)
    bare.until(lambda: bool(fired), 100 * S)
    (now,) = fired
    assert clock.own_ns(now) >= due
    assert now == 0 or clock.own_ns(now - 1) < due or now in changes
    bare.run(100 * S)
    assert fired == [now]


@pytest.mark.parametrize(("ppm", "seconds"), [(1_000_000, 1), (-500_000, 4), (0, 2)])
def test_a_deadline_is_the_dialers_own_time(ppm: int, seconds: int) -> None:
    """A fast clock gives up early, a slow one late."""
    bare = Bare(1, 2)
    bare[2].answers_at_once = False
    SimClocks(lambda: bare.kernel.now, bare.clocks).drift(1, ppm)
    asked = bare.ask(Link(1, 2), NoteRequest(1), 2 * S)
    bare.until(lambda: bool(asked.results))
    assert asked.at_ns == [seconds * S]


def test_what_waits_by_a_slow_clock_does_not_wait_on_when_it_is_right_again() -> None:
    """Timers and deadlines that were set while it was slow are due by the clock as it is now."""
    bare, fired = Bare(1, 2), list[int]()
    bare[2].answers_at_once = False
    clocks = SimClocks(lambda: bare.kernel.now, bare.clocks)
    clocks.drift(1, -900_000)
    bare[1].env.after(2 * S, lambda: fired.append(bare.kernel.now))
    asked = bare.ask(Link(1, 2), NoteRequest(1), 2 * S)
    bare.run(10 * S)  # of which it has counted one
    assert (fired, asked.result) == ([], None)
    clocks.restore(1)
    bare.run(5 * S)
    assert fired == asked.at_ns == [11 * S]
