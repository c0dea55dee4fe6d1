"""tests/checkers/random_histories.py: small random histories of one partition (CHECKERS 9.2).

In     a seeded `random.Random`, and which log (dense or sparse, forbid or retry)
Out    rows of 2 to 7 operations: what a correct log answered, then 0 to 3 mutations of times, offsets, values and outcomes
Keeps  times on a grid so coarse that ties are common; about a third of the histories have no order. Every answer comes from a log
       that was really kept, so without mutations every history has one
Not    whether it has one: brute_force.py; what is found in it: checkers/
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from checkers.mode import Copies, Density, Mode
from model.operation import Kind, Row
from tests.checkers.notation import TICK_NS, TOPIC

MODES: Final = [Mode(density=density, copies=copies) for density in ("dense", "sparse") for copies in ("forbid", "retry")]
_NOBODYS: Final = 99
"""A value that no append of these histories writes."""
_KINDS: Final[tuple[Kind, ...]] = ("append",) * 9 + ("read",) * 5 + ("end_offset",) * 2 + ("poll",) * 2
_BLIND: Final[tuple[Kind, ...]] = ("append",) * 10 + ("end_offset",) * 4 + ("read",)
"""Where hardly anybody looks, and acknowledgements do not say where: all depends on who may fill which hole."""


def random_history(rng: random.Random, mode: Mode, mutations: int | None = None, floating: bool | None = None) -> list[Row]:
    """`floating`: acks=all may be acknowledged without an offset; None: where the reduction is exact with them (3.7)."""
    if floating is None:
        floating = (mode.density, mode.copies) == ("dense", "forbid")
    history = _Simulation(rng, mode, floating).history()
    if mutations is None:
        mutations = rng.choices((0, 1, 2, 3), (1, 2, 3, 3))[0]
    for _ in range(mutations):
        rng.choice(_MUTATIONS)(rng, history)
    _give_processes(rng, history)
    return history


@dataclass
class _Log:
    """The log that answers: a value, or None for a record that nobody sees."""

    records: list[int | None] = field(default_factory=list)

    def visible(self, first: int) -> list[tuple[int, int]]:
        return [(offset, value) for offset, value in enumerate(self.records) if offset >= first and value is not None]


class _Simulation:
    """Every operation gets a point in its interval, and the log performs them in that order."""

    def __init__(self, rng: random.Random, mode: Mode, floating: bool) -> None:
        self.rng, self.floating = rng, floating
        self.dense, self.retry = mode.density == "dense", mode.copies == "retry"
        self.count = max(rng.randint(2, 7), rng.randint(2, 7))
        self.grid = self.count * rng.choice((1, 2, 4))
        self.kinds, self.unplaced = (_BLIND, 0.6) if floating and rng.random() < 0.25 else (_KINDS, 0.2)
        self.log = _Log()

    def history(self) -> list[Row]:
        rows = [self._asked(op) for op in range(1, self.count + 1)]
        moments = [moment for row in rows for moment in self._moments(row)]
        if not self.dense:
            moments += [(self._within(0, self.grid), self._use_up_an_offset) for _ in range(self.rng.choice((0, 1, 1, 2)))]
        for _, act in sorted(moments, key=lambda moment: moment[0]):
            act()
        return rows

    def _asked(self, op: int) -> Row:
        rng = self.rng
        start = rng.randint(0, self.grid)
        took = rng.randint(0, max(1, self.grid // 3))
        row = Row(
            op=op,
            process=op,
            client="raw-0",
            node=1,
            kind=rng.choice(self.kinds),
            type="ok",
            topic=TOPIC,
            partition=0,
            start_ns=start * TICK_NS,
            took_ns=took * TICK_NS,
        )
        if row.kind == "append":
            row.value, row.idempotent, row.attempts = op, False, 2 if self.retry else 1
            row.acks = rng.choices((-1, 1, 0), (80, 12, 8))[0]
            row.type = rng.choices(("ok", "info", "fail"), (68, 25, 7))[0]
            if row.acks == 0 and row.type == "ok":
                row.type = "info"
        return row

    def _within(self, first: int, last: int) -> tuple[int, float]:
        """A tick, and which of those in one tick comes first."""
        return self.rng.randint(first, last), self.rng.random()

    def _moments(self, row: Row) -> Iterator[tuple[tuple[int, float], Callable[[], None]]]:
        """When what happens. An append that only its leader acknowledged may reach the committed log late, or never (3.2)."""
        start, end = row.start_ns // TICK_NS, (row.start_ns + row.took_ns) // TICK_NS
        if row.kind != "append":
            yield self._within(start, end), lambda: self._answer(row)
            return
        if row.type == "fail":
            return
        if row.type == "ok" and (row.acks == -1 or self.rng.random() < 0.7):
            yield self._within(start, end), lambda: self._append(row)
        elif self.rng.random() < 0.7:
            yield self._within(start, start + self.grid // 2), lambda: self._append(row)
        if self.retry and self.rng.random() < 0.35:
            for _ in range(self.rng.choice((1, 1, 2))):
                yield self._within(start, start + self.grid), lambda: self.log.records.append(row.value)

    def _use_up_an_offset(self) -> None:
        self.log.records.append(None)

    def _append(self, row: Row) -> None:
        if row.type == "ok" and not (self.floating and self.rng.random() < self.unplaced):
            row.offset = len(self.log.records)
        self.log.records.append(row.value)

    def _answer(self, row: Row) -> None:
        if row.kind == "end_offset":
            row.offset = len(self.log.records)
        elif row.kind == "poll":
            self._returns(row, self._piece(self.rng.randint(0, len(self.log.records))))
        else:
            first = self.rng.choice((0, 0, 0, self.rng.randint(0, len(self.log.records) + 1)))
            piece = self._piece(first)
            behind = piece[-1][0] + 1 if piece else first
            row.from_offset, row.max_records = first, len(piece) or 1
            row.at_end = not self.log.visible(behind) and self.rng.random() < 0.85
            self._returns(row, piece)

    def _piece(self, first: int) -> list[tuple[int, int]]:
        visible = self.log.visible(first)
        return visible if self.rng.random() < 0.6 else visible[: self.rng.randint(0, len(visible))]

    def _returns(self, row: Row, records: list[tuple[int, int]]) -> None:
        """Offsets are named where they must be, and sometimes where they need not."""
        row.values = [value for _, value in records]
        if records and (row.kind == "poll" or not _is_dense(row, records) or self.rng.random() < 0.3):
            row.offsets = [offset for offset, _ in records]


def _is_dense(row: Row, records: list[tuple[int, int]]) -> bool:
    return [offset for offset, _ in records] == [*range(row.from_offset or 0, (row.from_offset or 0) + len(records))]


# -- mutations ----------------------------------------------------------------------------------------------------------------


def _shift_an_interval(rng: random.Random, history: list[Row]) -> None:
    row = rng.choice(history)
    row.start_ns = max(0, row.start_ns + rng.choice((-3, -2, -1, 1, 2, 3)) * TICK_NS)


def _move_an_offset(rng: random.Random, history: list[Row]) -> None:
    if placed := [row for row in history if row.offset is not None]:
        row = rng.choice(placed)
        row.offset = max(0, (row.offset or 0) + rng.choice((-2, -1, 1, 2)))


def _swap_acknowledgements(rng: random.Random, history: list[Row]) -> None:
    appends = [row for row in history if row.kind == "append" and row.offset is not None]
    if len(appends) > 1:
        one, other = rng.sample(appends, 2)
        one.offset, other.offset = other.offset, one.offset


def _drop_a_value(rng: random.Random, history: list[Row]) -> None:
    if row := _answer_with_records(rng, history):
        values, offsets = list(row.values or []), _offsets(row)
        at = rng.randrange(len(values))
        del values[at], offsets[at]
        row.values, row.offsets = values, offsets or None


def _replace_a_value(rng: random.Random, history: list[Row]) -> None:
    if row := _answer_with_records(rng, history):
        written = [each.value for each in history if each.value is not None]
        values = list(row.values or [])
        values[rng.randrange(len(values))] = rng.choice([*written, _NOBODYS])
        row.values = values


def _refuse(rng: random.Random, history: list[Row]) -> None:
    """What was ok, or might have been, was refused."""
    row = rng.choice(history)
    row.type, row.error = "fail", "NOT_ENOUGH_REPLICAS" if row.kind == "append" else "TIMED_OUT"
    row.offset = row.values = row.offsets = row.at_end = None


def _flip_at_end(rng: random.Random, history: list[Row]) -> None:
    if reads := [row for row in history if row.kind == "read" and row.type == "ok"]:
        row = rng.choice(reads)
        row.at_end = not row.at_end


_MUTATIONS: Final = (
    *(_shift_an_interval, _shift_an_interval, _move_an_offset, _move_an_offset),
    *(_swap_acknowledgements, _drop_a_value, _replace_a_value, _refuse, _flip_at_end),
)


def _answer_with_records(rng: random.Random, history: list[Row]) -> Row | None:
    with_records = [row for row in history if row.values]
    return rng.choice(with_records) if with_records else None


def _offsets(row: Row) -> list[int]:
    first = row.from_offset or 0
    return list(row.offsets or range(first, first + len(row.values or [])))


def _give_processes(rng: random.Random, history: list[Row]) -> None:
    """Operations that follow each other may be of one process; none follows what ended info, except acks=0 (2.4)."""
    free: dict[int, int] = {}
    ordered = sorted(history, key=lambda row: (row.start_ns, row.op))
    for op, row in enumerate(ordered, 1):
        row.op = op
        idle = [process for process, until in free.items() if until <= row.start_ns]
        row.process = rng.choice(idle) if idle and rng.random() < 0.5 else op
        free.pop(row.process, None)
        row.client = f"raw-{row.process}"
        if row.type == "info":
            row.error = "NO_ACK" if row.acks == 0 else "TIMED_OUT"
        if row.type != "info" or row.acks == 0:
            free[row.process] = row.start_ns + row.took_ns
    history.sort(key=lambda row: row.op)


__all__ = ["MODES", "Copies", "Density", "random_history"]
