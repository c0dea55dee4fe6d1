"""harness/shrink/events.py: each event in simpler words.

In     what is known of a plan; one event of it after the other
Out    a pass: a plain time instead of a condition, or a condition instead of a time that nobody can remember; fewer clauses, a
       more common fault, fewer targets, fewer and rounder arguments, a shorter and rounder duration
Not    which of these are simpler (weight.py): here they are only proposed, the ones that are liked best first
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import msgspec

from harness.shrink.happened import between, drawn_pairs, target_of
from harness.shrink.known import Fate, Known, Pass, first_of, with_event
from harness.shrink.rounder import rounder, rounder_moments, shorter
from model.plan import Plan
from model.schedule import Condition, Event, sides_of
from model.vocabulary import FAULTS

MORE_COMMON: Mapping[str, tuple[str, ...]] = {
    "lose_unsynced": ("kill", "lossy_kill"),
    "lossy_kill": ("kill",),
    "restart_loop": ("kill",),
    "rolling_restart": ("kill", "stop"),
    "rot": ("kill", "lossy_kill"),
    "silent": ("cut",),
    "hold": ("cut",),
    "tear": ("kill", "lossy_kill"),
    "wipe": ("kill", "lossy_kill"),
}
"""Faults that a reader knows better, and that may do as well."""

Simpler = Callable[[Known, int], Iterator[Event]]


def simpler_events(known: Known) -> Pass:
    for number in range(len(known.schedule)):
        for simpler in SIMPLER:
            known = yield from first_of(known, _plans(known, number, simpler))
    return known


def _plans(known: Known, number: int, simpler: Simpler) -> Iterator[Plan]:
    return (with_event(known, number, event) for event in simpler(known, number))


# -- when ---------------------------------------------------------------------------------------------------------------------


def _at_a_plain_time(known: Known, number: int) -> Iterator[Event]:
    event, fired_ns = known.schedule[number], known.fates[number].fired_ns
    if event.when is not None and fired_ns is not None:
        for at_ns in (*rounder_moments(fired_ns), fired_ns):
            yield msgspec.structs.replace(event, at_ns=at_ns, when=None, within_ns=None)


def _at_a_rounder_time(known: Known, number: int) -> Iterator[Event]:
    event = known.schedule[number]
    for at_ns in () if event.at_ns is None else rounder_moments(event.at_ns):
        yield msgspec.structs.replace(event, at_ns=at_ns)


def _on_a_condition(known: Known, number: int) -> Iterator[Event]:
    """Whatever led, or was in sync, when it fired: weighs less than an odd time."""
    event, fate = known.schedule[number], known.fates[number]
    if event.at_ns is not None and fate.isr:
        for when in _conditions(fate, after=number - 1 if number else None):
            yield msgspec.structs.replace(event, at_ns=None, when=when)


def _conditions(fate: Fate, after: int | None) -> Iterator[Condition]:
    isr = tuple(f"n{member}" for member in fate.isr)
    leading = Condition(leaderless=True) if fate.leader is None else Condition(leader=f"n{fate.leader}")
    for condition in (leading, Condition(isr=isr)):
        yield condition
        if after is not None:
            yield msgspec.structs.replace(condition, after=after)


def _on_fewer_clauses(known: Known, number: int) -> Iterator[Event]:
    event = known.schedule[number]
    if event.within_ns is not None:
        yield msgspec.structs.replace(event, within_ns=None)
    for name in Condition.__struct_fields__:
        if event.when is not None and getattr(event.when, name) is not None:
            yield msgspec.structs.replace(event, when=msgspec.structs.replace(event.when, **{name: None}))


# -- what ---------------------------------------------------------------------------------------------------------------------


def _a_more_common_fault(known: Known, number: int) -> Iterator[Event]:
    event = known.schedule[number]
    for fault in MORE_COMMON.get(event.fault, ()):
        args = {name: value for name, value in event.args.items() if name in FAULTS[fault].args}
        yield msgspec.structs.replace(event, fault=fault, args=args)


def _fewer_targets(known: Known, number: int) -> Iterator[Event]:
    """One of those it hit, on each side of a link; else one fewer. Of a ring, one of its pairs."""
    event, sides = known.schedule[number], known.fates[number].sides
    if event.args.get("shape") == "ring":
        yield from (between(event, (one,), (other,)) for one, other in drawn_pairs(event, known.plan))
    for i, side in enumerate(sides):
        if len(side) > 1:
            yield from (_with_side(event, i, (member,), sides) for member in side)
            yield from (_with_side(event, i, tuple(other for other in side if other != member), sides) for member in side)


def _with_side(event: Event, i: int, members: tuple[int, ...], sides: tuple[tuple[int, ...], ...]) -> Event:
    """The other side keeps its words."""
    written = target_of(event, (members,))
    if FAULTS[event.fault].aim == "nodes" or len(sides) == 1 or event.target is None:
        return msgspec.structs.replace(event, target=written)
    one = written if isinstance(written, str) else written[0]
    entries = [side[0] if len(side) == 1 else side for side in sides_of(event.target)]
    return msgspec.structs.replace(event, target=tuple(one if i == j else entry for j, entry in enumerate(entries)))


def _fewer_arguments(known: Known, number: int) -> Iterator[Event]:
    event = known.schedule[number]
    required = {name: value for name, value in event.args.items() if FAULTS[event.fault].args[name].required}
    if len(required) < len(event.args):
        yield msgspec.structs.replace(event, args=required)
    for name in event.args:
        if name not in required:
            yield msgspec.structs.replace(event, args={key: value for key, value in event.args.items() if key != name})


def _rounder_arguments(known: Known, number: int) -> Iterator[Event]:
    event = known.schedule[number]
    for name, value in event.args.items():
        yield from (msgspec.structs.replace(event, args={**event.args, name: other}) for other in rounder(value))


# -- for how long ---------------------------------------------------------------------------------------------------------------


def _shorter(known: Known, number: int) -> Iterator[Event]:
    """To the end of the run, without saying so, where it lasts that long anyway."""
    event = known.schedule[number]
    if event.for_ns is None:
        return
    for for_ns in shorter(event.for_ns):
        yield msgspec.structs.replace(event, for_ns=for_ns)
    if (known.fates[number].fired_ns or 0) + event.for_ns >= known.plan.for_ns:
        yield msgspec.structs.replace(event, for_ns=None)


SIMPLER: tuple[Simpler, ...] = (
    _at_a_plain_time,
    _on_fewer_clauses,
    _a_more_common_fault,
    _fewer_targets,
    _fewer_arguments,
    _shorter,
    _rounder_arguments,
    _at_a_rounder_time,
    _on_a_condition,
)
