"""nemesis/swarm.py: random schedules. Each run is another world: few kinds of faults, a pace of its own, and quiet periods.

In     a plan (its seed, topology and length) and what the cluster can do
Out    a schedule that model's own checks accept; the last fault is over when nine tenths of the run are
Why    a run with every kind of fault at one rate is the same run each night; a kind that is absent lets the others go deeper
Not    which target or argument an event has (swarm_words.py), how far apart nodes are (weather.py). It knows of no mutant
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from model.chance import Chance, below, between, happens, pick, stream
from model.cluster import Ability
from model.plan import Plan
from model.schedule import Event, Schedule
from model.vocabulary import FAULTS, faults_among
from nemesis.swarm_words import DESTROYING, Words
from nemesis.weather import draw_weather

MS = 10**6
MEAN_GAPS_MS = (400, 700, 1_200, 2_000, 3_500)
QUIET_MS = (2_000, 6_000)
AFTERSHOCK_MS = (10, 1_000)  # the fault before is in force, or the cluster has not recovered from it
AFTERSHOCKS_OF_10 = (0, 2, 4)
AMBUSHES_OF_10 = (0, 4, 8)
WAIT_MS = 6_000  # from when the fault would have been due
AMBUSH_MS = (1_200, 4_000)  # longer than a session, so that the office changes hands
SHORTEST_MS, LONGEST_MS = 200, 6_000
RESTART_MS = 1_000  # what one node of a rolling restart is expected to take, beside its gap
MOST_EVENTS = 2_000
COMMON, RARE = 6, 1  # how likely a kind is to exist at all


class Pace(msgspec.Struct, frozen=True):
    """What this run is like: its kinds of faults with their rates, the mean gap, how often that is shorter or longer, its end."""

    rates: Mapping[str, int]
    gap_ms: int
    quiet_in: int
    aftershocks: int  # of 10 faults
    ambushes: int  # of 10 faults
    end_ms: int


def draw_schedule(plan: Plan, can: frozenset[Ability]) -> Schedule:
    """The schedule of this plan's seed on a cluster that can do that much."""
    chance = stream(plan.seed, "swarm")
    wanted = frozenset(FAULTS) if plan.faults == "all" else faults_among(plan.faults)
    able = [name for name, fault in FAULTS.items() if name in wanted and fault.needs <= can]
    pace = _pace(chance, able, plan.for_ns * 9 // 10 // MS)
    words = Words(plan, chance)
    events = draw_weather(plan, pace.end_ms) if "delay" in able else []
    at_ms = below(chance, 2 * pace.gap_ms)
    while pace.rates and at_ms < pace.end_ms and len(events) < MOST_EVENTS:
        event = _event(words, pace, _weighted(chance, pace.rates), at_ms)
        if event is not None:
            events += _ambush(words, pace, event, events) if happens(chance, pace.ambushes, 10) else [event]
        at_ms += _gap_ms(chance, pace)
    return tuple(events)


def _pace(chance: Chance, able: Sequence[str], end_ms: int) -> Pace:
    left = {name: RARE if name in DESTROYING else COMMON for name in able}
    rates: dict[str, int] = {}
    for _ in range(min(between(chance, 2, 5), len(able))):
        kind = _weighted(chance, left)
        del left[kind]
        rates[kind] = 1 if kind in DESTROYING else between(chance, 3, 9)
    gap_ms = max(1, min(pick(chance, MEAN_GAPS_MS), end_ms // 4))
    return Pace(rates, gap_ms, between(chance, 4, 12), pick(chance, AFTERSHOCKS_OF_10), pick(chance, AMBUSHES_OF_10), end_ms)


def _gap_ms(chance: Chance, pace: Pace) -> int:
    if happens(chance, pace.aftershocks, 10):
        return between(chance, *AFTERSHOCK_MS)
    gap_ms = between(chance, 1, 2 * pace.gap_ms - 1)
    return gap_ms + between(chance, *QUIET_MS) if happens(chance, 1, pace.quiet_in) else gap_ms


def _event(words: Words, pace: Pace, fault: str, at_ms: int) -> Event | None:
    """None where what is left of the run is too short for it."""
    said = words.say(fault)
    left_ms = pace.end_ms - at_ms
    if max(SHORTEST_MS, sum(RESTART_MS + gap_ms for gap_ms in said.rounds_ms)) > left_ms:
        return None
    for_ns = min(_lasts_ms(words.chance), left_ms) * MS if FAULTS[fault].heals else None
    return Event(at_ns=at_ms * MS, fault=fault, target=said.target, args=said.args, for_ns=for_ns)


def _ambush(words: Words, pace: Pace, event: Event, earlier: Sequence[Event]) -> list[Event]:
    """Not at its time, but each time that leader or ISR become what they were not, once the last fault with a time has fired.

    What goes wrong while an office changes hands goes wrong for milliseconds, which faults at random times hardly ever hit. Two
    of three hit who holds it: its process, its disk, or all its links at once, for what is under way to it or from it.
    """
    due_ms, for_ms = (event.at_ns or 0) // MS, between(words.chance, *AMBUSH_MS)
    latest_ms = min(due_ms + WAIT_MS, pace.end_ms - for_ms)
    if event.for_ns is None or latest_ms <= due_ms or event.fault in DESTROYING:
        return [event]
    after = max((number for number, other in enumerate(earlier) if other.at_ns is not None), default=None)
    if FAULTS[event.fault].aim in ("nodes", "links") and happens(words.chance, 2, 3):
        args = {name: value for name, value in event.args.items() if name != "shape"}
        event = msgspec.structs.replace(event, target=words.leader(), args=args)
    waiting = msgspec.structs.replace(event, at_ns=None, for_ns=for_ms * MS, within_ns=latest_ms * MS)
    return [msgspec.structs.replace(waiting, when=when) for when in words.moments(event.target, after)]


def _lasts_ms(chance: Chance) -> int:
    ceiling_ms = pick(chance, (600, 1_500, 3_000, LONGEST_MS))  # short ones often, long ones at times
    return between(chance, SHORTEST_MS, ceiling_ms)


def _weighted(chance: Chance, weights: Mapping[str, int]) -> str:
    drawn = below(chance, sum(weights.values()))
    for name, weight in weights.items():
        if drawn < weight:
            return name
        drawn -= weight
    raise AssertionError("the weights add up to more than was drawn")
