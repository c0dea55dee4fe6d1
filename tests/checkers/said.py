"""tests/checkers/said.py: a history of one partition, operation by operation.

In     what each operation was and what it was told; times in ticks of a second
Out    a `Part` of it; what a checker found in it, by name and level, with the operations of the first witness
Keeps  operations are numbered from 1 as they are written down
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

import msgspec

from checkers.columns import Columns
from checkers.found import Checked
from checkers.part import Part, parts
from model.history import to_table
from model.operation import Row

TICK_NS = 10**9


class History:
    """Each word is one operation; without an end it is `info`."""

    def __init__(self, *rows: Row) -> None:
        self.rows: list[Row] = list(rows)

    def _add(self, process: int, start: int, end: int | None, **facts: object) -> Row:
        row = Row(
            op=len(self.rows) + 1,
            process=process,
            client=f"raw-{process}",
            topic="t",
            partition=0,
            start_ns=start * TICK_NS,
            took_ns=((start + 1 if end is None else end) - start) * TICK_NS,
            **{"type": "ok", **facts},  # type: ignore[arg-type]
        )
        self.rows.append(row)
        return row

    def append(
        self, value: int, start: int, end: int | None = None, *, at: int | None = None, process: int = 1, **facts: object
    ) -> Row:
        """acks=all, sent once, unless `facts` say otherwise."""
        said = {"acks": -1, "attempts": 1, "type": "info" if end is None else "ok", **facts}
        return self._add(process, start, end, kind="append", value=value, offset=at, **said)

    def batch(
        self, number: int, values: Sequence[int], at: Sequence[int | None], start: int, end: int | None = None, **facts: object
    ) -> None:
        for value, offset in zip(values, at, strict=True):
            self.append(value, start, end, at=offset, batch=number, **facts)

    def read(self, first: int, values: Sequence[int], start: int, end: int, *, process: int = 8, **facts: object) -> Row:
        return self._add(process, start, end, kind="read", from_offset=first, values=tuple(values), **facts)

    def final(self, first: int, values: Sequence[int], start: int, end: int, **facts: object) -> Row:
        return self.read(first, values, start, end, final=True, **{"at_end": True, **facts})

    def refused(self, at: int, start: int, end: int, *, process: int = 8, **facts: object) -> Row:
        said = {"kind": "read", "type": "fail", "error": "OFFSET_OUT_OF_RANGE", **facts}
        return self._add(process, start, end, from_offset=at, **said)

    def end(self, offset: int, start: int, end: int, *, process: int = 9, **facts: object) -> Row:
        return self._add(process, start, end, **{"kind": "end_offset", "offset": offset, **facts})

    def poll(self, at: Sequence[int], start: int, end: int, *, process: int = 5, session: int | None = 1, **facts: object) -> Row:
        """The value at an offset is 100 more."""
        values = tuple(100 + offset for offset in at)
        return self._add(process, start, end, kind="poll", offsets=tuple(at), values=values, session=session, **facts)

    def log_start(self, offset: int, start: int, end: int) -> Row:
        return self._add(9, start, end, kind="start_offset", offset=offset)

    @property
    def part(self) -> Part:
        return part_of(self.rows)


def part_of(rows: Iterable[Row]) -> Part:
    (part,) = parts(Columns(to_table(list(rows))))
    return part


def names(checked: Checked) -> dict[str, int]:
    """How many of each anomaly; of level local under a name that says so."""
    return {each.name + " local" * (each.level == "local"): each.count for each in checked.found}


def operations(checked: Checked) -> dict[str, tuple[int, ...]]:
    """The first witness of each anomaly."""
    return {each.name: each.tell(0).ops for each in checked.found}


def text(checked: Checked) -> str:
    """The first witness of the only anomaly."""
    (found,) = checked.found
    return found.tell(0).text


def told(checked: Checked) -> list[tuple[object, ...]]:
    """Everything that was found, instance by instance."""
    return [
        (found.name, found.level, found.tell(i), int(found.from_ns[i]), int(found.to_ns[i]), int(found.proof_ns[i]))
        for found in checked.found
        for i in range(found.count)
    ]


def shuffled(rows: Sequence[Row], seed: int) -> list[Row]:
    """The same history in a file of another order."""
    return random.Random(seed).sample(rows, len(rows))


def shifted(rows: Sequence[Row], by: int) -> list[Row]:
    """The same history, every offset moved: nothing may depend on how large one is."""

    def move(offset: int | None) -> int | None:
        return None if offset is None else offset + by

    return [
        msgspec.structs.replace(
            row,
            offset=move(row.offset),
            from_offset=move(row.from_offset),
            base_offset=move(row.base_offset),
            offsets=None if row.offsets is None else [offset + by for offset in row.offsets],
        )
        for row in rows
    ]
