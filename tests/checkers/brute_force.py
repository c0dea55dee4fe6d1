"""tests/checkers/brute_force.py: is there any order at all? The definition of CHECKERS 3.1, tried out.

In     at most a few operations of one partition, as `Op`s
Out    whether some order that real time allows is a run of a list: every ok operation and any of the uncertain appends takes
       effect at a point inside its closed interval, and every answer is what the list would have answered there
Keeps  nothing from checkers/: this is the other judge. No rule about pairs or holes: it only ever performs operations on a log
       dense   the log holds records and nothing else; sparse: it may grow by records nobody sees, at any time
       forbid  an append is performed once; retry: once in its interval, and any number of times more after its start
Not    fast: meant for up to 8 operations
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from model.operation import Row

UNSEEN = -1
"""Stands for a value at an offset that no answer names: which one it is makes no difference, so fewer logs are told apart."""


@dataclass(frozen=True)
class Op:
    """One operation, and what it was answered. `end` None: nobody knows when it takes effect, or whether it does."""

    kind: Literal["append", "read", "end", "poll"]
    start: int
    end: int | None
    value: int = UNSEEN
    offset: int | None = None
    """append: acknowledged, None = none given; end: the answer."""
    at: int = 0
    """read: where it began."""
    records: tuple[tuple[int, int], ...] = ()
    """read, poll: offset and value of each."""
    at_end: bool = False


@dataclass(frozen=True)
class Log:
    """How long it is, and which records in it can be seen, by offset."""

    length: int = 0
    records: tuple[tuple[int, int], ...] = ()


def is_linearizable(ops: Sequence[Op], *, sparse: bool = False, retry: bool = False) -> bool:
    return _Search(ops, sparse, retry).any_order()


class _Search:
    """Depth first over (what has taken effect, log); no such pair is looked at twice."""

    def __init__(self, ops: Sequence[Op], sparse: bool, retry: bool) -> None:
        self.ops, self.sparse, self.retry = ops, sparse, retry
        self.certain = frozenset(i for i, op in enumerate(ops) if op.end is not None)
        self.named = sorted({offset for op in ops for offset in _offsets_named(op)})
        self.answers = {record for op in ops for record in op.records}
        self.value_at = dict(self.answers)

    def any_order(self) -> bool:
        if len(self.value_at) < len(self.answers):
            return False  # one offset with two values: no list has that
        start: tuple[frozenset[int], Log] = (frozenset(), Log())
        seen, open_ends = {start}, [start]
        while open_ends:
            done, log = open_ends.pop()
            if self.certain <= done:
                return True
            following = set(self._next(done, log)) - seen
            seen |= following
            open_ends.extend(following)
        return False

    def _next(self, done: frozenset[int], log: Log) -> Iterator[tuple[frozenset[int], Log]]:
        """Whatever may happen now: nothing that begins after something else, which is still to come, has ended."""
        latest = min(end for i in self.certain - done if (end := self.ops[i].end) is not None)
        for i, op in enumerate(self.ops):
            if op.start > latest:
                continue
            if i not in done and (after := self._performed(op, log)):
                yield done | {i}, after
            if self.retry and op.kind == "append" and log.length <= self.named[-1] and (after := self._pushed(op.value, log)):
                yield done, after
        if self.sparse:
            for length in self.named:
                if length > log.length and not any(log.length <= offset < length for offset in self.value_at):
                    yield done, Log(length, log.records)

    def _performed(self, op: Op, log: Log) -> Log | None:
        """The log after this operation; None if it would have been answered otherwise."""
        if op.kind == "append":
            return self._pushed(op.value, log) if op.offset in (None, log.length) else None
        if op.kind == "end":
            return log if op.offset == log.length else None
        if op.kind == "poll":
            return log if set(op.records) <= set(log.records) else None
        return log if _would_read(op, log) else None

    def _pushed(self, value: int, log: Log) -> Log | None:
        """None where some answer shows another value: such an order leads nowhere."""
        shown = self.value_at.get(log.length, UNSEEN)
        if shown not in (UNSEEN, value):
            return None
        return Log(log.length + 1, (*log.records, (log.length, shown)))


def _would_read(op: Op, log: Log) -> bool:
    """V[a : a+k], where k is the limit or, at the end, everything there is."""
    after = op.records[-1][0] + 1 if op.records else op.at
    if op.at_end and any(offset >= after for offset, _ in log.records):
        return False
    return op.records == tuple(record for record in log.records if op.at <= record[0] < after)


def _offsets_named(op: Op) -> list[int]:
    """Offsets, and lengths, that an answer speaks of."""
    return [offset for offset, _ in op.records] + ([] if op.offset is None else [op.offset]) + [0]


def operations(rows: Sequence[Row]) -> list[Op]:
    """Rows of one partition: failed ones are dropped, and only an acknowledgement by all says when and where (3.2)."""
    return [op for row in rows if row.type != "fail" for op in _operation(row)]


def _operation(row: Row) -> Iterator[Op]:
    start, end = row.start_ns, row.start_ns + row.took_ns
    if row.kind == "append":
        assert row.value is not None
        certain = row.type == "ok" and row.acks == -1
        yield Op("append", start, end if certain else None, value=row.value, offset=row.offset if certain else None)
    elif row.kind == "end_offset":
        yield Op("end", start, end, offset=row.offset)
    elif row.kind in ("read", "poll"):
        values = row.values or []
        base = row.base_offset if row.base_offset is not None else row.from_offset or 0
        records = tuple(zip(row.offsets or range(base, base + len(values)), values, strict=True))
        if row.kind == "poll":
            yield Op("poll", start, end, records=records)
        else:
            yield Op("read", start, end, at=row.from_offset or 0, records=records, at_end=bool(row.at_end))
