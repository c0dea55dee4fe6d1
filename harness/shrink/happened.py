"""harness/shrink/happened.py: events as they happened: who was hit, and when.

In     an event, its fate in a trial, the plan
Out    the same event with its drawn targets written down (`pinned`), or with its time as well (`as_it_happened`)
Why    a drawn target follows from the words of its event (nemesis/targets.py), so that whoever changes a word draws anew. Who
       led, who was in sync: that follows from the run, and stays a word that tells the story
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from harness.shrink.known import Fate
from model.document import from_data
from model.plan import Plan
from model.reading import read
from model.schedule import Event, Target, sides_of
from model.vocabulary import FAULTS, Shape
from nemesis import names
from nemesis.shapes import Everybody, Sides, links_of
from nemesis.targets import client_groups, stream_of

DRAWN = frozenset({"follower", "isr-minority", "any-broker", "any-controller", "controller-minority"})
IN_TWO = frozenset({"halves", "bridge"})
"""Shapes that are two sides; a ring is more."""


def is_drawn(event: Event) -> bool:
    """Whether chance has a word in whom it hits."""
    if event.args.get("shape") in ("halves", "bridge", "ring"):
        return True
    written = () if event.target is None else sides_of(event.target)
    return any(name.partition("@")[0] in DRAWN for side in written for name in side)


def pinned(event: Event, fate: Fate, plan: Plan) -> Event:
    """Drawn targets as they were resolved; what cannot be said otherwise, or never fired, stays as it is."""
    if not is_drawn(event) or fate.fired_ns is None:
        return event
    if event.args.get("shape") in IN_TWO:
        pairs = drawn_pairs(event, plan)
        return between(event, sorted({one for one, _ in pairs}), sorted({other for _, other in pairs}))
    return msgspec.structs.replace(event, target=target_of(event, fate.sides)) if fate.sides else event


def as_it_happened(event: Event, fate: Fate, plan: Plan) -> Event | None:
    """At its time, whatever it waited for; None where it never fired."""
    if fate.fired_ns is None:
        return None
    return msgspec.structs.replace(pinned(event, fate, plan), at_ns=fate.fired_ns, when=None, within_ns=None)


def target_of(event: Event, sides: Sides) -> Target:
    """Resolved sides as a plan writes them: `n1`, `[n1, n2]`; for links `[n1, [n2, n3]]`, and `[[n1, n2]]` for one side."""
    written = tuple(tuple(names.name(number) for number in side) for side in sides)
    if FAULTS[event.fault].aim == "nodes":
        return written[0][0] if len(written[0]) == 1 else written[0]
    if len(written) == 1:
        return written[0][0] if len(written[0]) == 1 else (written[0],)
    return tuple(side[0] if len(side) == 1 else side for side in written)


def between(event: Event, *sides: Sequence[int]) -> Event:
    """The same fault of links, without its shape."""
    args = {key: value for key, value in event.args.items() if key != "shape"}
    return msgspec.structs.replace(event, target=target_of(event, tuple(tuple(side) for side in sides)), args=args)


def drawn_pairs(event: Event, plan: Plan) -> list[tuple[int, int]]:
    """Of a drawn shape: who of the first side is cut off from whom of the other."""
    shape: Shape = read(from_data(event.args["shape"]), Shape)
    everybody = Everybody(plan.nodes.ids, client_groups(plan))
    links = links_of(shape, (), everybody, stream_of(plan.seed, event, "shape"), one_way=True)
    return [(link.dialer, link.node) for link in links]
