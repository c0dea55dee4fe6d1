"""harness/shrink/moments.py: the whole story earlier: shorter waits between its events, and a shorter run around it.

In     what is known of a plan
Out    passes that move all events from one on, that put events into the order of their times, and that end the run sooner
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from harness.shrink.known import Fate, Known, Pass, first_of, is_sound, schedule_in
from harness.shrink.rounder import DURATIONS, MS, S
from model.plan import Plan
from model.schedule import Event

FIRST = (0, 1 * S, 2 * S, 3 * S, 4 * S, 5 * S, 8 * S)
WAITS = (0, 100 * MS, 200 * MS, 500 * MS, *(seconds * S for seconds in range(1, 6)), 8 * S)


def earlier(known: Known) -> Pass:
    """Wait by wait, from the beginning on: whatever comes later moves along."""
    for wait in range(len(_times(known.plan))):
        times = _times(known.plan)
        if wait < len(times):
            known = yield from first_of(known, _moved(known.plan, times[wait], times[wait - 1] if wait else None))
    return known


def _times(plan: Plan) -> list[int]:
    return sorted({event.at_ns for event in schedule_in(plan) if event.at_ns is not None})


def _moved(plan: Plan, at_ns: int, before_ns: int | None) -> Iterator[Plan]:
    """What happens from `at_ns` on, so long after what comes before."""
    for wait_ns in FIRST if before_ns is None else WAITS:
        by_ns = at_ns - (before_ns or 0) - wait_ns
        if by_ns > 0:
            schedule = tuple(_earlier(event, by_ns, at_ns) for event in schedule_in(plan))
            yield msgspec.structs.replace(plan, schedule=schedule)


def _earlier(event: Event, by_ns: int, from_ns: int) -> Event:
    return event if event.at_ns is None or event.at_ns < from_ns else msgspec.structs.replace(event, at_ns=event.at_ns - by_ns)


def in_order(known: Known) -> Pass:
    """By time, where times are out of order."""
    return (yield from first_of(known, [_ordered(known)]))


def told_in_order(known: Known) -> Pass:
    """Those that waited as well, where they fired."""
    plan = _ordered(known)
    return known if plan == known.plan or not is_sound(plan) else (yield iter([plan])) or known


def _ordered(known: Known) -> Plan:
    """Events as they happened one after the other; whoever waits for one knows it by its new number."""
    last = known.plan.for_ns
    order = sorted(range(len(known.schedule)), key=lambda number: _when(known.schedule[number], known.fates[number], last))
    new = {number: i for i, number in enumerate(order)}
    schedule = tuple(_renumbered(known.schedule[number], new) for number in order)
    return msgspec.structs.replace(known.plan, schedule=schedule)


def _when(event: Event, fate: Fate, last_ns: int) -> int:
    if event.at_ns is not None:
        return event.at_ns
    return last_ns if fate.fired_ns is None else fate.fired_ns


def _renumbered(event: Event, new: Mapping[int, int]) -> Event:
    if event.when is None or event.when.after is None:
        return event
    return msgspec.structs.replace(event, when=msgspec.structs.replace(event.when, after=new[event.when.after]))


def shorter_run(known: Known) -> Pass:
    return (
        yield from first_of(known, (msgspec.structs.replace(known.plan, for_ns=for_ns) for for_ns in DURATIONS if for_ns >= S))
    )
