"""harness/shrink/written.py: a plan as a file for people.

In     a plan, what became of its events, lines about it
Out    YAML: the lines as comments, an entry per line, an event per line with whom it hit; a file that `tidemark run` takes
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import yaml

from harness.shrink.known import Fate, schedule_in
from harness.shrink.spoken import spoken
from model.plan import Plan
from model.quantity import write_duration
from model.reading import write
from model.schedule import Event, sides_of
from nemesis import names

UNBROKEN = 10_000  # characters: an entry stays on its line


def plan_text(plan: Plan, fates: Sequence[Fate], about: Iterable[str]) -> str:
    """`fates`: of every event, or of none."""
    lines = [f"# {line}".rstrip() for line in about]
    for key, value in spoken(plan).items():
        if key != "schedule":
            lines.append(_entry(key, value))
        elif value:
            lines += ["schedule:", *_events(plan, fates)]
        else:
            lines.append("schedule: none")
    return "\n".join(lines) + "\n"


def _events(plan: Plan, fates: Sequence[Fate]) -> list[str]:
    events = schedule_in(plan)
    return [event_line(event, fates[number] if fates else Fate()) for number, event in enumerate(events)]


def event_line(event: Event, fate: Fate) -> str:
    """`- {at: 2s, fault: kill, target: leader, for: 1s}  # n2`."""
    what = yaml.safe_dump(
        write(event, Event), default_flow_style=True, sort_keys=False, width=UNBROKEN, allow_unicode=True
    ).strip()
    happened = _happened(event, fate)
    return f"- {what}  # {happened}" if happened else f"- {what}"


def _happened(event: Event, fate: Fate) -> str:
    """What the words of the event leave open: whom it hit, and when."""
    said = [name for side in sides_of(event.target or ()) for name in side]
    hit = [[names.name(number) for number in side] for side in fate.sides]
    open_words = [] if said == [name for side in hit for name in side] else [" | ".join(map(" ".join, hit))]
    if event.when is not None and fate.fired_ns is not None:
        open_words.append(f"at {write_duration(fate.fired_ns)}")
    return ", ".join(open_words)


def _entry(key: str, value: object) -> str:
    """`nodes: {controllers: 1}`."""
    whole = yaml.safe_dump({key: value}, default_flow_style=True, sort_keys=False, width=UNBROKEN, allow_unicode=True)
    return whole.strip().removeprefix("{").removesuffix("}")
