"""checkers/part.py: the operations of one partition, in order of invocation, as arrays.

In     `Columns` of a whole history
Out    `Part`: what the checkers of logs look at; its records, one entry per value that an ok read or poll returned
Keeps  offsets count from the log start (CHECKERS 3.1: what lies below takes part in nothing), so nothing here knows how large an
       offset is; rows are in order of `op`, whatever the order of the table; a row is named by its index in here
Why    a log over many partitions is linearizable iff each of them is (3.3): no checker ever sees two
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from checkers.columns import APPEND, END_OFFSET, FAIL, LETTERS, NONE, OK, POLL, READ, START_OFFSET, Columns, Lists, Small
from checkers.found import Flags, Numbers
from checkers.offices import UNKNOWN
from model.cluster import TopicPartition

Rows = npt.NDArray[np.int64]
BELOW = -2
"""An offset below the log start."""


@dataclass(frozen=True)
class Records:
    """Every value that an ok read or poll returned: by which row, at which offset."""

    row: npt.NDArray[np.int32]
    offset: Numbers
    value: Numbers


@dataclass(frozen=True)
class Ranges:
    """Rows, and the first and the last offset that each passed over."""

    row: Rows
    begin: Numbers
    last: Numbers

    def only(self, chosen: Flags) -> Ranges:
        return Ranges(self.row[chosen], self.begin[chosen], self.last[chosen])


class Part:
    """One partition. `rows`: which rows of the history it is, in order of `op`; None = all of them, as they stand."""

    def __init__(self, columns: Columns, at: TopicPartition, rows: Rows | None) -> None:
        self.at, self.columns, self._rows = at, columns, rows
        self.offices = UNKNOWN
        """Who led when, once somebody tells."""
        self.count = columns.rows if rows is None else len(rows)

    # -- columns --------------------------------------------------------------------------------------------------------

    def _mine(self, column: Numbers) -> Numbers:
        return column if self._rows is None else column[self._rows]

    def number(self, name: str) -> Numbers:
        """A column that only some checkers need."""
        return self._mine(self.columns.number(name))

    def flag(self, name: str) -> Flags:
        column = self.columns.flag(name)
        return column if self._rows is None else column[self._rows]

    def words(self, name: str) -> tuple[Numbers, list[str]]:
        """For each row the number of its word, -1 = none; and the words of the whole history."""
        numbers, words = self.columns.words(name)
        return self._mine(numbers), words

    def failed_with(self, error: str) -> Flags:
        """Rows that ended with this error."""
        numbers, errors = self.words("error")
        failed: Flags = numbers == errors.index(error) if error in errors else np.broadcast_to(np.False_, self.count)
        return failed

    @cached_property
    def op(self) -> Numbers:
        return self.number("op")

    @cached_property
    def process(self) -> Numbers:
        return self.number("process")

    @cached_property
    def kind(self) -> Small:
        return self.columns.kind if self._rows is None else self.columns.kind[self._rows]

    @cached_property
    def outcome(self) -> Small:
        return self.columns.outcome if self._rows is None else self.columns.outcome[self._rows]

    @cached_property
    def start(self) -> Numbers:
        return self._mine(self.columns.start)

    @cached_property
    def end(self) -> Numbers:
        return self._mine(self.columns.end)

    @cached_property
    def since(self) -> Numbers:
        """Since when what each row says may have been overtaken: its start or, where the leader that answered had been deposed
        by then without knowing it, the commit that deposed it (6.1). Of an acknowledgement: in whatever epoch its node led."""
        if not self.offices.held:
            return self.start
        led = np.maximum(self.offices.first_epochs(self.node), self._epochs_reached)
        epochs = np.where(self.is_append, np.where(self.is_ok, led, np.int64(NONE)), self.leader_epoch)
        return np.minimum(self.start, self.offices.overtaken_ns(epochs))

    @cached_property
    def _epochs_reached(self) -> Numbers:
        """Of each row the highest leader epoch in which its node had answered before the row began; a node's never falls."""
        reached = np.full(self.count, NONE, np.int64)
        told = self.is_ok & (self.leader_epoch != NONE) & (self.node != NONE)
        for node in np.unique(self.node[told]):
            answers = np.flatnonzero(told & (self.node == node))
            answers = answers[np.argsort(self.end[answers], kind="stable")]
            highest = np.append(NONE, np.maximum.accumulate(self.leader_epoch[answers]))
            asked = np.flatnonzero(self.node == node)
            reached[asked] = highest[np.searchsorted(self.end[answers], self.start[asked])]
        return reached

    @cached_property
    def value(self) -> Numbers:
        return self.number("value")

    @cached_property
    def acks(self) -> Numbers:
        """Of an append that says nothing: acks=0, which proves nothing."""
        return self._mine(self.columns.number_or("acks", 0))

    @cached_property
    def maybe_known_already(self) -> Flags:
        """Appends that may have been acknowledged by a leader that found them in its log: it did not write them, so its leader
        epoch may be later than that of their batch (P 6.9)."""
        resent: Flags = self.is_append & self.flag("idempotent") & (self.number("attempts") != 1)
        return resent

    @cached_property
    def leader_epoch(self) -> Numbers:
        return self.number("leader_epoch")

    @cached_property
    def node(self) -> Numbers:
        return self.number("node")

    @cached_property
    def at_end(self) -> Flags:
        return self.flag("at_end")

    @cached_property
    def final(self) -> Flags:
        return self.flag("final")

    @cached_property
    def is_append(self) -> Flags:
        is_append: Flags = self.kind == APPEND
        return is_append

    @cached_property
    def is_ok(self) -> Flags:
        is_ok: Flags = self.outcome == OK
        return is_ok

    @cached_property
    def acked_by_all(self) -> Flags:
        """3.2 Only such an acknowledgement proves that the log below the high watermark holds the record."""
        acked_by_all: Flags = self.is_append & self.is_ok & (self.acks == -1)
        return acked_by_all

    @cached_property
    def acked_by_leader(self) -> Flags:
        """5.2 Evidence of level local."""
        acked_by_leader: Flags = self.is_append & self.is_ok & (self.acks == 1)
        return acked_by_leader

    # -- offsets, from the log start ------------------------------------------------------------------------------------

    @cached_property
    def log_start(self) -> int:
        """The greatest that was answered: everything below may be gone by right."""
        answered = (self.kind == START_OFFSET) & self.is_ok
        return int(self.number("offset")[answered].max(initial=0))

    def _from_the_start(self, offsets: Numbers) -> Numbers:
        """-1 stays "none"; what lies below the start is BELOW."""
        if self.log_start == 0:
            return offsets
        moved = offsets - self.log_start
        return np.where(offsets == NONE, np.int64(NONE), np.where(moved < 0, np.int64(BELOW), moved))

    @cached_property
    def offset(self) -> Numbers:
        """Acknowledged, or answered."""
        return self._from_the_start(self.number("offset"))

    @cached_property
    def from_offset(self) -> Numbers:
        """Asked for. A position below the start counts as the start."""
        return self._at_least_the_start(self.number("from_offset"))

    def _at_least_the_start(self, offsets: Numbers) -> Numbers:
        moved = self._from_the_start(offsets)
        return np.where(moved == BELOW, np.int64(0), moved) if self.log_start else moved

    # -- what was read --------------------------------------------------------------------------------------------------

    @cached_property
    def returned(self) -> Numbers:
        """How many records each row returned: of an ok read or poll, else none."""
        looked = self.is_ok & ((self.kind == READ) | (self.kind == POLL))
        return np.where(looked, self._mine(self.columns.values.lengths), 0)

    @cached_property
    def _first_record(self) -> Numbers:
        return np.cumsum(self.returned) - self.returned

    @cached_property
    def raw_records(self) -> Records:
        """Also those below the log start, whose offsets are negative here."""
        row = np.repeat(np.arange(self.count, dtype=np.int32), self.returned)
        value = self._gathered(self.columns.values, row)
        base = self.number("base_offset")
        base = np.where(base == NONE, self.number("from_offset"), base) - self.log_start
        offset = np.repeat(base - self._first_record, self.returned) + np.arange(len(row))
        named = self._mine(self.columns.offsets.lengths) > 0
        if named.any():
            by_name = named[row]
            offset[by_name] = self._gathered(self.columns.offsets, row)[by_name] - self.log_start
        return Records(row, offset, value)

    @cached_property
    def records(self) -> Records:
        """Those that count."""
        raw = self.raw_records
        if self.log_start == 0:
            return raw
        kept = raw.offset >= 0
        return Records(raw.row[kept], raw.offset[kept], raw.value[kept])

    @cached_property
    def record_epochs(self) -> Numbers:
        """The leader epoch stored with each of `records`; -1 where the answer did not say."""
        row = self.raw_records.row
        known = self._mine(self.columns.epochs.lengths) > 0
        if not known.any():
            return np.broadcast_to(np.int64(NONE), len(self.records.row))
        by_name = known[row]
        epochs = np.full(len(row), NONE, np.int64)
        epochs[by_name] = self._gathered(self.columns.epochs, row)[by_name]
        return epochs if self.log_start == 0 else epochs[self.raw_records.offset >= 0]

    def _gathered(self, lists: Lists, row: npt.NDArray[np.int32]) -> Numbers:
        """The list entries behind each record; of rows without a list anything, so ask only for those that have one."""
        if self._rows is None and len(lists.flat) == len(row):
            return lists.flat
        if not len(lists.flat):
            return np.broadcast_to(np.int64(NONE), len(row))
        at = np.repeat(self._mine(lists.starts) - self._first_record, self.returned) + np.arange(len(row))
        return lists.flat[np.minimum(at, len(lists.flat) - 1)]

    @cached_property
    def spans(self) -> tuple[Numbers, Numbers]:
        """The least and the greatest offset that each row returned; -1 where it returned nothing (that counts)."""
        first, last = np.full(self.count, NONE, np.int64), np.full(self.count, NONE, np.int64)
        records = self.raw_records
        if len(records.row):
            rows = np.flatnonzero(self.returned)
            begins = self._first_record[rows]
            ends = begins + self.returned[rows] - 1
            first[rows], last[rows] = records.offset[begins], records.offset[ends]
            named = rows[self._mine(self.columns.offsets.lengths)[rows] > 0]
            if len(named):  # in whatever order they came
                by_row = np.isin(records.row, named)
                at = np.cumsum(self.returned[named]) - self.returned[named]
                first[named] = np.minimum.reduceat(records.offset[by_row], at)
                last[named] = np.maximum.reduceat(records.offset[by_row], at)
        if self.log_start:
            last = np.where(last < 0, np.int64(NONE), last)
            first = np.where(last == NONE, np.int64(NONE), np.maximum(first, 0))
        return first, last

    @cached_property
    def counted(self) -> Numbers:
        """How many records at or above the log start each row returned."""
        return self.returned if self.log_start == 0 else np.bincount(self.records.row, minlength=self.count)

    @cached_property
    def ranges(self) -> Ranges:
        """Of ok reads that returned something: everything from where they asked to their last record."""
        first, last = self.spans
        rows = np.flatnonzero((self.kind == READ) & self.is_ok & (last != NONE))
        first, asked = first[rows], self.from_offset[rows]
        return Ranges(rows, np.where(asked == NONE, first, np.minimum(asked, first)), last[rows])

    @cached_property
    def with_gaps(self) -> Ranges:
        """Those that left an offset out, whether or not it exists, or whose offsets do not ascend."""
        every = self.ranges
        whole = every.last + 1 - every.begin == self.counted[every.row]
        return every.only(~whole | self.disordered[every.row])

    @cached_property
    def disordered(self) -> Flags:
        """Rows whose offsets do not ascend in the order of the answer."""
        disordered = np.zeros(self.count, np.bool_)
        if (self._mine(self.columns.offsets.lengths) > 0).any():
            row, offset = self.records.row, self.records.offset
            disordered[row[1:][(row[1:] == row[:-1]) & (offset[1:] <= offset[:-1])]] = True
        return disordered

    def offsets_of(self, row: int) -> Numbers:
        """What one row returned, in the order of the answer."""
        begin, end = np.searchsorted(self.records.row, [row, row + 1])
        return self.records.offset[begin:end]

    # -- for people -----------------------------------------------------------------------------------------------------

    def shown(self, offset: int) -> int:
        """An offset as the cluster counts it."""
        return int(offset) + self.log_start

    def error(self, row: int) -> str:
        return str(self.columns.table.column("error")[self.history_row(row)].as_py())

    def history_row(self, row: int) -> int:
        return int(row if self._rows is None else self._rows[row])

    def letter(self, row: int) -> str:
        letter = LETTERS.get(int(self.kind[row]), "?")
        return "F" if letter == "R" and self.final[row] else letter


def parts(columns: Columns) -> Iterator[Part]:
    """Every partition of a history, by name. Operations of no partition, such as `init`, belong to none."""
    if columns.rows == 0:
        return
    topic, names = columns.words("topic")
    partition, op = columns.number("partition"), columns.number("op")
    in_order = bool(np.all(op[1:] > op[:-1]))
    if in_order and len(names) == 1 and topic.min() == topic.max() and partition.min() == partition.max() >= 0:
        yield Part(columns, (names[0], int(partition[0])), None)
        return
    inside = np.flatnonzero((topic >= 0) & (partition >= 0))
    if not in_order:
        inside = inside[np.argsort(op[inside], kind="stable")]
    pairs = topic[inside].astype(np.int64) * 2**31 + partition[inside]
    found, group = np.unique(pairs, return_inverse=True)
    order = np.argsort(group.astype(np.int32), kind="stable")
    ends = np.cumsum(np.bincount(group, minlength=len(found)))
    keyed = [((names[int(pair) >> 31], int(pair) & (2**31 - 1)), i) for i, pair in enumerate(found)]
    for at, i in sorted(keyed):
        yield Part(columns, at, inside[order[0 if i == 0 else ends[i - 1] : ends[i]]])


__all__ = ["BELOW", "END_OFFSET", "FAIL", "Part", "Records", "Rows", "parts"]
