"""tests/checkers/long_histories.py: histories of any length that are right by construction (CHECKERS 9.2).

In     a seeded `random.Random`, how many operations, and which log
Out    `Long`: what sequential clients saw of one correct log: producers (idempotent ones, batches, every acks, refused and
       uncertain writes), readers, consumers and watchers of the end, with exponential pauses and durations; then the final read
Keeps  nothing may be found in it, in any freshness: one leader, one epoch. Every answer comes from a log that was really kept
Not    what goes wrong: injected.py
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from checkers.mode import Mode
from model.operation import Row
from model.value import make_value
from tests.checkers.notation import TOPIC

PAUSE_NS: Final = 1_000_000
_TAG: Final = 77
_PIECE: Final = 200
"""How many records one answer of the final read holds."""


@dataclass(frozen=True)
class Long:
    """A history of one partition, how long its log is in the end, and when everything is over."""

    rows: list[Row]
    length: int
    end_ns: int

    @property
    def processes(self) -> int:
        return max(row.process for row in self.rows) + 1


def long_history(
    rng: random.Random, operations: int, mode: Mode, *, clients: int = 8, final: bool = True, certain: bool = False
) -> Long:
    """`final` False: the closing read of everything is no final read. `certain`: every uncertain write has happened."""
    world = _World(rng, mode, certain)
    roles = (world.producer, world.producer, world.reader, world.producer, world.consumer, world.watcher)
    for client in range(clients):
        roles[client % len(roles)](max(1, operations // clients))
    world.run()
    world.read_everything(final)
    rows = sorted(world.rows, key=lambda row: row.start_ns)
    for op, row in enumerate(rows):
        row.op = op
    return Long(rows, len(world.log), world.now)


class _World:
    """The clients' plans, made first; then one log that lives through them in order of time."""

    def __init__(self, rng: random.Random, mode: Mode, certain: bool) -> None:
        self.rng, self.certain = rng, certain
        self.dense, self.retry = mode.density == "dense", mode.copies == "retry"
        self.rows: list[Row] = []
        self.log: list[int | None] = []  # None: a record that nobody sees
        self.now = 0
        self._moments: list[tuple[int, int, Callable[[], None]]] = []
        self._written: dict[int, int] = {}
        self._sequences: dict[int, int] = {}
        self._processes = self._batches = 0

    # -- time ---------------------------------------------------------------------------------------------------------------

    def pause(self) -> int:
        return int(self.rng.expovariate(1 / PAUSE_NS)) + 1

    def at(self, moment: int, act: Callable[[], None]) -> None:
        self._moments.append((moment, len(self._moments), act))

    def run(self) -> None:
        moments = sorted(self._moments)
        for _, _, act in moments:
            act()
        ends = [row.start_ns + row.took_ns for row in self.rows]
        self.now = max([moments[-1][0], *ends]) + self.pause()

    def process(self) -> int:
        self._processes += 1
        return self._processes - 1

    def asks(self, process: int, kind: str, start: int) -> Row:
        row = Row(
            op=0,
            process=process,
            client=f"raw-{process}",
            node=1,
            kind=kind,  # type: ignore[arg-type]
            type="ok",
            topic=TOPIC,
            partition=0,
            start_ns=start,
            took_ns=self.pause(),
        )
        self.rows.append(row)
        return row

    def inside(self, row: Row) -> int:
        return self.rng.randint(row.start_ns, row.start_ns + row.took_ns)

    # -- clients ------------------------------------------------------------------------------------------------------------

    def producer(self, count: int) -> None:
        rng, process, now = self.rng, self.process(), 0
        idempotent = not self.retry and rng.random() < 0.5
        while count > 0:
            now += self.pause()
            batch = self._batch(process, now, rng.choice((1, 1, 1, 2, 3)), idempotent)
            count -= len(batch)
            self._plan(batch)
            now += batch[0].took_ns
            if batch[0].type == "info" and batch[0].acks != 0:
                process = self.process()  # 2.4

    def _batch(self, process: int, start: int, size: int, idempotent: bool) -> list[Row]:
        """Records of one batch share its number, its times and its fate."""
        rng = self.rng
        self._batches += 1
        rows = [self.asks(process, "append", start) for _ in range(size)]
        acks = -1 if idempotent else rng.choices((-1, 1, 0), (8, 1, 1))[0]
        outcome = "info" if acks == 0 else rng.choices(("ok", "info", "fail"), (90, 6, 4))[0]
        error = {"ok": None, "fail": "NOT_ENOUGH_REPLICAS", "info": "NO_ACK" if acks == 0 else "TIMED_OUT"}[outcome]
        for row in rows:
            row.type, row.error = outcome, error  # type: ignore[assignment]
            counter = self._written.get(process, 0)
            self._written[process] = counter + 1
            if idempotent:
                self._number(row)
            row.value, row.acks, row.idempotent = make_value(_TAG, process, counter), acks, idempotent
            row.took_ns, row.batch, row.attempts = rows[0].took_ns, self._batches, 2 if self.retry else 1
        return rows

    def _number(self, row: Row) -> None:
        """Every process is a producer session of its own; a refused record's sequence is used again."""
        row.producer_id, row.producer_epoch, row.sequence = row.process, 0, self._sequences.get(row.process, 0)
        self._sequences[row.process] = row.sequence + (row.type != "fail")

    def _plan(self, batch: list[Row]) -> None:
        first = batch[0]
        if first.type == "fail":
            return
        if first.type == "ok":
            self.at(self.inside(first), lambda: self._append(batch))
        elif self.certain or self.rng.random() < 0.7:
            self.at(first.start_ns + 20 * self.pause(), lambda: self._append(batch))
        if self.retry and self.rng.random() < 0.1:
            self.at(first.start_ns + 20 * self.pause(), lambda: self.log.extend([row.value for row in batch]))
        if not self.dense and self.rng.random() < 0.1:
            self.at(first.start_ns, lambda: self.log.append(None))

    def _append(self, batch: list[Row]) -> None:
        for row in batch:
            if row.type == "ok":
                row.offset = len(self.log)
            self.log.append(row.value)

    def reader(self, count: int) -> None:
        process, now = self.process(), 0
        for _ in range(count):
            row = self.asks(process, "read", now + self.pause())
            self.at(self.inside(row), lambda row=row: self._read(row))  # type: ignore[misc]
            now = row.start_ns + row.took_ns

    def _read(self, row: Row, first: int | None = None, limit: int | None = None) -> None:
        row.from_offset = self.rng.randint(max(0, len(self.log) - 30), len(self.log)) if first is None else first
        row.max_records = self.rng.randint(1, 40) if limit is None else limit
        self._returns(row, row.from_offset, row.max_records)
        behind = row.from_offset if not row.values else row.from_offset + len(row.values)
        if row.offsets:
            behind = row.offsets[-1] + 1
        row.at_end, row.leader_epoch = behind >= len(self.log), 1

    def _returns(self, row: Row, first: int, limit: int) -> None:
        visible = [(offset, value) for offset in range(first, len(self.log)) if (value := self.log[offset]) is not None][:limit]
        row.values, row.epochs = [value for _, value in visible], [1] * len(visible)
        if visible and (row.kind == "poll" or not self.dense):
            row.offsets = [offset for offset, _ in visible]

    def consumer(self, count: int) -> None:
        process, now, session, position = self.process(), 0, 0, [0]
        for _ in range(count):
            seeks = self.rng.random() < 0.1
            row = self.asks(process, "assign" if seeks else "poll", now + self.pause())
            session += seeks
            row.session = session
            act = self._seek if seeks else self._poll
            self.at(self.inside(row), lambda row=row, act=act: act(row, position))  # type: ignore[misc]
            now = row.start_ns + row.took_ns

    def _seek(self, row: Row, position: list[int]) -> None:
        row.offset = position[0] = self.rng.randint(0, len(self.log))

    def _poll(self, row: Row, position: list[int]) -> None:
        row.from_offset, row.leader_epoch = position[0], 1
        self._returns(row, position[0], self.rng.randint(1, 20))
        if row.offsets:
            position[0] = row.offsets[-1] + 1

    def watcher(self, count: int) -> None:
        process, now = self.process(), 0
        for _ in range(count):
            row = self.asks(process, "end_offset", now + self.pause())
            self.at(self.inside(row), lambda row=row: self._tell_the_end(row))  # type: ignore[misc]
            now = row.start_ns + row.took_ns

    def _tell_the_end(self, row: Row) -> None:
        row.offset, row.leader_epoch = len(self.log), 1

    # -- the end ------------------------------------------------------------------------------------------------------------

    def read_everything(self, final: bool) -> None:
        """5.3: two answers of the end, then everything up to there. The last record is one that people see."""
        process = self.process()
        self._append([self._last_write(self.process())])
        position = 0
        for _ in range(2):
            self._tell_the_end(self._next(process, "end_offset", final))
        while position < len(self.log):
            row = self._next(process, "read", final)
            self._read(row, position, _PIECE)
            position = row.offsets[-1] + 1 if row.offsets else position + len(row.values or [])

    def _last_write(self, process: int) -> Row:
        row = self._next(process, "append", False)
        row.value, row.acks, row.idempotent, row.attempts = make_value(_TAG, process, 0), -1, False, 2 if self.retry else 1
        return row

    def _next(self, process: int, kind: str, final: bool) -> Row:
        row = self.asks(process, kind, self.now)
        row.final = final
        self.now += row.took_ns + self.pause()
        return row
