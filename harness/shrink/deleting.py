"""harness/shrink/deleting.py: fewer events: delta debugging over the schedule (Zeller's ddmin, complements only).

In     what is known of a plan
Out    a pass that ends when no single event can go
Keeps  `after: N` goes on meaning the same event; a clause about an event that is gone goes with it. Where that changes the words
       of an event, it is tried as it happened as well: at the same time, at the same target
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import msgspec

from harness.shrink.happened import as_it_happened
from harness.shrink.known import Fate, Known, Pass, first_of, the_round
from model.plan import Plan, digest
from model.schedule import Condition, Event

SEEDS = range(1, 11)
FEW = 8
"""More events that all are needed hang together in one way only, and another seed hardly ever has it."""


def fewer_events(known: Known) -> Pass:
    """None at all, then those that did something, then pieces of half the schedule, a quarter, ..., one."""
    everything = range(len(known.schedule))
    idle = {number for number in everything if known.fates[number].fired_ns is None}
    toothless = {number for number in everything if known.fates[number].effect is False}
    known = yield from first_of(
        known, [plan for gone in (set(everything), idle | toothless, idle) for plan in without(known, gone)]
    )
    size = max(1, len(known.schedule) // 2)
    while known.schedule:
        known = yield from _pieces(known, size)
        if size == 1:
            break
        size = max(1, min(size, len(known.schedule)) // 2)
    return known


def fewer_events_elsewhere(known: Known) -> Pass:
    """One event less with the chances of another seed: what hangs on a moment is often not to be had without one of them."""
    while len(known.schedule) <= FEW and (won := (yield from the_round(known, _one_less_elsewhere(known)))):
        known = won
    return known


def _one_less_elsewhere(known: Known) -> Iterator[Plan]:
    for number in range(len(known.schedule)):
        for plan in without(known, [number]):
            yield from (msgspec.structs.replace(plan, seed=seed) for seed in SEEDS)


def _pieces(known: Known, size: int) -> Pass:
    """Until no piece of this size can go. The one behind the last that went comes first."""
    begin = 0
    while True:
        tried: dict[str, int] = {}
        won = yield from the_round(known, _without_pieces(known, size, begin, tried))
        if won is None:
            return known
        known, begin = won, tried[digest(won.plan)]


def _without_pieces(known: Known, size: int, begin: int, tried: dict[str, int]) -> Iterator[Plan]:
    """One piece less each; `tried` learns where the piece began."""
    starts = range(0, len(known.schedule), size)
    for start in (*(start for start in starts if start >= begin), *(start for start in starts if start < begin)):
        for plan in without(known, range(start, start + size)):
            tried.setdefault(digest(plan), start)
            yield plan


def without(known: Known, gone: Collection[int]) -> list[Plan]:
    """The plan without these events, and once more with those as they happened that waited for them, or count otherwise now."""
    gone = _with_those_that_waited(known, gone)
    kept = [number for number in range(len(known.schedule)) if number not in gone]
    new = {number: i for i, number in enumerate(kept)}
    as_written, as_happened = [], []
    for number in kept:
        event, fate = known.schedule[number], known.fates[number]
        renumbered = _renumbered(event, fate, new)
        happened = event if renumbered == event else as_it_happened(event, fate, known.plan)
        as_written.append(renumbered)
        as_happened.append(happened or renumbered)
    schedules = [as_written] if as_written == as_happened else [as_written, as_happened]
    return [msgspec.structs.replace(known.plan, schedule=tuple(schedule)) for schedule in schedules]


def _with_those_that_waited(known: Known, gone: Collection[int]) -> frozenset[int]:
    """Whoever waited for nothing but an event that is gone, and never fired, goes too: there is no other time for it."""
    all_gone = set(gone)
    for number, (event, fate) in enumerate(zip(known.schedule, known.fates, strict=True)):
        if event.when is not None and event.when.after in all_gone and fate.fired_ns is None and not _says_more(event.when):
            all_gone.add(number)
    return frozenset(all_gone)


def _says_more(when: Condition) -> bool:
    """Than which event it comes after; a partition alone says nothing."""
    return when != Condition(after=when.after, partition=when.partition)


def _renumbered(event: Event, fate: Fate, new: Mapping[int, int]) -> Event:
    """With the new number of the event that it comes after; without that clause where the event is gone."""
    if event.when is None or event.when.after is None:
        return event
    after = new.get(event.when.after)
    if after is None and not _says_more(event.when):
        return msgspec.structs.replace(event, at_ns=fate.fired_ns, when=None, within_ns=None)
    return msgspec.structs.replace(event, when=msgspec.structs.replace(event.when, after=after))
