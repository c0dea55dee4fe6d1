"""harness/shrink/weight.py: how much a plan asks of its reader.

In     a plan with a written-out schedule
Out    `weight`: a tuple of whole numbers, the most important first; the less, the simpler
Why    the search goes only downward, and tuples of natural numbers cannot do so for ever: whatever passes propose, it ends
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from harness.shrink.spoken import spoken
from model.plan import Plan
from model.quantity import TIME_UNITS
from model.reading import write
from model.schedule import Event

Weight = tuple[int, ...]
PLAIN_DIGITS = 2
"""As many of a number are remembered: 4s and 1500ms are, 4317ms is not."""


def weight(plan: Plan) -> Weight:
    """Events, what they say, how long they last; then how long and large the run is; then everything else that is said."""
    events = plan.schedule if isinstance(plan.schedule, tuple) else ()
    spoken = [write(event, Event) for event in events]
    text = json.dumps(spoken, ensure_ascii=False)
    return (
        len(events),
        sum(words(each) for each in spoken),
        _characters(text),
        sum((event.at_ns or 0) + (event.for_ns or 0) for event in events),
        *_of_the_run(plan),
        _out_of_order(events),
    )


def words(value: Any) -> int:
    """Keys and values; a number that nobody can remember counts as several."""
    if isinstance(value, Mapping):
        return sum(1 + words(each) for each in value.values())
    if isinstance(value, list | tuple):
        return sum(words(each) for each in value)
    return 1 + 2 * max(0, digits(str(value)) - PLAIN_DIGITS)


def digits(text: str) -> int:
    """How many a person has to remember: 1500ms has two, 4317ms four."""
    found = re.match(r"-?([0-9]+)", text)
    return len(found.group(1).strip("0")) if found else 0


def _characters(text: str) -> int:
    """Zeros are read at a glance: 100ms is simpler than 137ms, and asks no more than 1s."""
    return len(text) - text.count("0") - text.count("ms")


def _of_the_run(plan: Plan) -> Weight:
    workload, topics = plan.workload, plan.topics.values()
    rest = {key: value for key, value in spoken(plan).items() if key != "schedule"}
    return (
        plan.for_ns,
        len(plan.nodes.ids),
        sum(topic.partitions for topic in topics),
        workload.processes,
        TIME_UNITS["h"] * workload.rate.count // TIME_UNITS[workload.rate.per],
        workload.batch,
        workload.value_size.most,
        plan.client_groups,
        len(plan.mutants),
        _characters(json.dumps(rest, ensure_ascii=False)),
    )


def _out_of_order(events: Sequence[Event]) -> int:
    """Neighbours of which the later one comes first."""
    return sum(earlier > later for earlier, later in pairwise(event.at_ns for event in events if event.at_ns is not None))
