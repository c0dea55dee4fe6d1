"""model/schedule.py: what goes wrong and when, as data.

In   the `schedule` of a plan, hand-written or drawn by the swarm
Out  a tuple of `Event`, the same as YAML, as structs and as a Parquet table: stored with the run, replayed, shrunk by deletion
Not  what a fault does (nemesis/), nor whether a target exists in this topology (model/plan_checks.py)
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
import pyarrow as pa

from model.document import from_data
from model.reading import Duration, Moment, Scalar, read, whole, write
from model.vocabulary import FAULTS

Target = str | tuple[str | tuple[str, ...], ...]
"""`leader`; or several, `[n1, n2]`; for links the two sides, each one name or a list: `[[n1, clients], [n3, controllers]]`."""

FaultField = Annotated[str, Scalar(", ".join(FAULTS), str, str)]


class Condition(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Asked of `observe()`; everything that is given must hold at once."""

    leader: str | None = None
    leaderless: bool | None = None
    isr: tuple[str, ...] | None = None
    acked: Annotated[int, whole(1, 2**31 - 1)] | None = None
    after: Annotated[int, whole(0, 2**31 - 1)] | None = None  # the event of that number has fired
    partition: str | None = None  # `t/0`; without it the plan's first partition


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One fault: at a time, or when a condition is met `within` a limit; healed after `for`, else at the end."""

    at_ns: Moment | None = msgspec.field(default=None, name="at")
    when: Condition | None = None
    within_ns: Duration | None = msgspec.field(default=None, name="within")
    fault: FaultField
    target: Target | None = None
    args: dict[str, object] = {}
    for_ns: Duration | None = msgspec.field(default=None, name="for")


Schedule = tuple[Event, ...]


def typed_arguments(event: Event) -> Mapping[str, Any]:
    """The arguments as the fault wants them: durations in ns, defaults filled in. Refuses what the vocabulary does not know."""
    known = FAULTS[event.fault].args
    given = {key: read(from_data(value), known[key].kind) for key, value in event.args.items()}
    return {key: given.get(key, argument.default) for key, argument in known.items()}


def sides_of(target: Target) -> tuple[tuple[str, ...], ...]:
    """Every form of a target as a tuple of sides."""
    entries = (target,) if isinstance(target, str) else target
    return tuple((entry,) if isinstance(entry, str) else entry for entry in entries)


def written_target(target: Target | None) -> str:
    """`n1 clients | n3`: how logs, tables and pages show a target."""
    return " | ".join(" ".join(side) for side in sides_of(target)) if target is not None else ""


# -- Parquet ----------------------------------------------------------------------------------------------------------

_FIELDS: list[pa.Field] = [
    pa.field("event", pa.int32(), nullable=False),
    pa.field("at_ns", pa.int64()),
    pa.field("when", pa.string()),  # JSON
    pa.field("within_ns", pa.int64()),
    pa.field("fault", pa.string(), nullable=False),
    pa.field("target", pa.string()),  # JSON
    pa.field("args", pa.string(), nullable=False),  # JSON
    pa.field("for_ns", pa.int64()),
]
SCHEMA = pa.schema(_FIELDS, metadata={"tidemark.schema": "1"})


def to_table(schedule: Schedule) -> pa.Table:
    """One row per event, in order."""
    rows = [
        {
            "event": number,
            "at_ns": event.at_ns,
            "when": None if event.when is None else _json(write(event.when, Condition)),
            "within_ns": event.within_ns,
            "fault": event.fault,
            "target": None if event.target is None else _json(event.target),
            "args": _json(event.args),
            "for_ns": event.for_ns,
        }
        for number, event in enumerate(schedule)
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def from_table(table: pa.Table) -> Schedule:
    """The schedule that `to_table` was given."""
    return tuple(
        Event(
            at_ns=row["at_ns"],
            when=None if row["when"] is None else read(from_data(json.loads(row["when"])), Condition),
            within_ns=row["within_ns"],
            fault=row["fault"],
            target=None if row["target"] is None else _frozen(json.loads(row["target"])),
            args=json.loads(row["args"]),
            for_ns=row["for_ns"],
        )
        for row in table.sort_by("event").to_pylist()
    )


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _frozen(target: Any) -> Any:
    return tuple(_frozen(entry) for entry in target) if isinstance(target, list) else target
