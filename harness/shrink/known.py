"""harness/shrink/known.py: a plan and what is known of it, because it was tried.

In     what harness/shrink/trial.py saw
Out    `Known`, which every pass of the search starts from and hands on; `Pass`, the form of a pass
Keeps  a pass executes nothing: it yields rounds, plans in the order in which it would like them, and is sent the first one of
       each that still fails alike, or None
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from typing import TypeAlias

import msgspec

from harness.shrink.weight import weight
from model.plan import Plan, digest, to_data
from model.plan_file import from_data
from model.refusal import Refusal
from model.schedule import Event, Schedule
from model.verdict import Valid


class Fate(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one event."""

    fired_ns: int | None = None
    effect: bool | None = None
    sides: tuple[tuple[int, ...], ...] = ()
    """Whom its target meant when it fired: of nodes one side; client groups below zero. Empty where a shape was drawn."""
    leader: int | None = None
    """Who led its partition then, by the metadata, and who was in sync."""
    isr: tuple[int, ...] = ()


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What one trial showed. One that came to no end showed nothing."""

    valid: Valid = "unknown"
    signatures: tuple[str, ...] = ()
    fates: tuple[Fate, ...] = ()
    digest: str | None = None


class Known(msgspec.Struct, frozen=True):
    """A plan that fails as it should, and how it went."""

    plan: Plan
    outcome: Outcome

    @property
    def schedule(self) -> Schedule:
        return schedule_in(self.plan)

    @property
    def fates(self) -> tuple[Fate, ...]:
        return self.outcome.fates


Round: TypeAlias = Iterator[Plan]
Pass: TypeAlias = Generator[Round, Known | None, Known]


def first_of(known: Known, candidates: Iterable[Plan]) -> Pass:
    """The first of these that is simpler, can be, and fails; else what was known before."""
    return (yield from the_round(known, candidates)) or known


def the_round(known: Known, candidates: Iterable[Plan]) -> Generator[Round, Known | None, Known | None]:
    return (yield _simpler(known.plan, candidates))


def _simpler(than: Plan, candidates: Iterable[Plan]) -> Iterator[Plan]:
    """Each once, and only what asks less of its reader."""
    most, seen = weight(than), set[str]()
    for plan in candidates:
        if weight(plan) < most and (name := digest(plan)) not in seen and is_sound(plan):
            seen.add(name)
            yield plan


def is_sound(plan: Plan) -> bool:
    """Whether a person could have written it."""
    try:
        from_data(to_data(plan), "")
    except Refusal:
        return False
    return True


def schedule_in(plan: Plan) -> Schedule:
    """Of a plan whose schedule is written out."""
    assert isinstance(plan.schedule, tuple)
    return plan.schedule


def with_event(known: Known, number: int, event: Event) -> Plan:
    """The same plan but for one event."""
    schedule = known.schedule
    return msgspec.structs.replace(known.plan, schedule=(*schedule[:number], event, *schedule[number + 1 :]))
