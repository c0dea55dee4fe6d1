"""checkers/batches.py: what was sent as one batch lies in the log as one (CHECKERS 5.3, P 6.12).

In     a `Part`, its `Places`, its `FinalRead`
Out    torn_batch, once per batch: its records lie apart; or one answer, or the complete final read, has one of them but not its
       neighbour in the batch
Keeps  what was resent may be there again, later and elsewhere: each copy must be whole, and two answers may show two copies. So
       records lie apart only by the offsets of one acknowledgement or, sent once and seen once each, by all that is known
Not    failed appends; a batch that nobody saw; records below the log start
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from checkers import words
from checkers.columns import FAIL, NONE
from checkers.final_read import FinalRead
from checkers.finding import finding, window
from checkers.found import Checked, Flags, Found, Numbers
from checkers.part import Part, Rows
from checkers.placing import Places
from model.verdict import Level, Witness

NAME = "batches"
APART, IN_ONE_ANSWER, IN_THE_FINAL_READ = range(3)
UNSEEN: Final = 2**62


def check_batches(part: Part, places: Places, final: FinalRead) -> Checked:
    column = part.columns.table.column("batch")
    batches = Batches(part) if column.null_count < len(column) else None
    if batches is None or not len(batches.members):
        return Checked(name=NAME, at=part.at)
    torn = _first_of_each_batch(batches, [_apart(batches, places), *_cut(batches, places, final)])
    found = _told(batches, places, final, torn)
    if part.acked_by_leader.any():
        claimed = _apart(batches, places, "local")
        new = ~np.isin(batches.number[claimed.one], batches.number[torn.one])
        found = (*found, *_told(batches, places, final, claimed.where(new), "local"))
    return Checked(name=NAME, at=part.at, found=found)


class Batches:
    """Appends that were sent together with others, and which of its batch each is. Nobody (row -1) is in none."""

    def __init__(self, part: Part) -> None:
        self.part = part
        batch = part.number("batch")
        rows = np.flatnonzero(part.is_append & (part.outcome != FAIL) & (batch != NONE))
        batch, process = batch[rows], part.process[rows]
        if not _in_order(batch, process):
            order = np.lexsort((process, batch))
            rows, batch, process = rows[order], batch[order], process[order]
        first = np.append(True, (batch[1:] != batch[:-1]) | (process[1:] != process[:-1]))[: len(rows)]
        begins = np.flatnonzero(first)
        sizes = np.diff(np.append(begins, len(rows)))
        several = np.repeat(sizes > 1, sizes)
        self.members: Rows = rows[several]
        """Batch by batch, in order."""
        self.sizes: Numbers = sizes[sizes > 1]
        self.begins: Numbers = np.cumsum(self.sizes) - self.sizes
        number = np.repeat(np.arange(len(self.sizes)), self.sizes)
        self.number: Numbers = self._of_rows(number, NONE)
        """Of each row: of all batches the how manieth, -1 = none."""
        self.rank: Numbers = self._of_rows(np.arange(len(number)) - self.begins[number], 0)
        self.after: Numbers = self._of_rows(self.sizes[number], 1) - self.rank - 1
        """How many of its batch come behind it."""

    def _of_rows(self, of_members: Numbers, others: int) -> Numbers:
        column = np.full(self.part.count + 1, others, np.int64)
        column[self.members] = of_members
        return column

    def all_of(self, row: int) -> Rows:
        number = int(self.number[row])
        members: Rows = self.members[self.begins[number] : self.begins[number] + self.sizes[number]]
        return members

    def member(self, numbers: Numbers, ranks: Numbers) -> Rows:
        found: Rows = self.members[self.begins[numbers] + ranks]
        return found

    def follows(self, rows: Rows, later: Rows) -> Flags:
        """Whether it is the one behind it in the same batch."""
        follows: Flags = (self.number[later] == self.number[rows]) & (self.rank[later] == self.rank[rows] + 1)
        return follows


def _in_order(batch: Numbers, process: Numbers) -> bool:
    """As a recorder numbers them."""
    later = batch[1:] > batch[:-1]
    return bool(np.all(later | ((batch[1:] == batch[:-1]) & (process[1:] >= process[:-1]))))


@dataclass(frozen=True)
class _Torn:
    """Two records of a batch: where the one lies, and where the other does or, if it does not, ought to; who shows it."""

    one: Rows
    other: Rows
    one_at: Numbers
    other_at: Numbers
    one_seen: Rows
    other_seen: Rows
    """-1: the append itself, by what it was told."""
    how: Numbers

    def where(self, chosen: Flags | Rows) -> _Torn:
        return _Torn(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))


def _first_of_each_batch(batches: Batches, several: Sequence[_Torn]) -> _Torn:
    """What was proven first."""
    torn = _Torn(*(np.concatenate([getattr(each, name) for each in several]) for name in _Torn.__dataclass_fields__))
    proven = window(batches.part, _proof(torn))[1]
    number = batches.number[torn.one]
    order = np.lexsort((torn.one_at, torn.how, proven, number))
    return torn.where(order[np.unique(number[order], return_index=True)[1]])


def _proof(torn: _Torn) -> tuple[Rows, ...]:
    return torn.one, torn.other, torn.one_seen, torn.other_seen


# -- apart --------------------------------------------------------------------------------------------------------------


def _apart(batches: Batches, places: Places, level: Level = "committed") -> _Torn:
    """Of each batch two records whose offsets differ by more or less than their places in it."""
    members = batches.members
    low, high = _sightings(batches, places, level)
    low, high = low[members], high[members]
    seen = low != UNSEEN
    base = np.where(seen, low - batches.rank[members], UNSEEN)
    one_copy = np.logical_and.reduceat(~seen | (low == high), batches.begins)
    first_seen = np.minimum.reduceat(np.where(seen, np.arange(len(members)), UNSEEN), batches.begins)
    number = batches.number[members]
    first = np.minimum(first_seen[number], len(members) - 1)
    wrong = np.flatnonzero(seen & one_copy[number] & (base != base[first]))
    wrong = wrong[np.unique(number[wrong], return_index=True)[1]]  # of each batch the first
    first = first[wrong]
    one, other, one_at, other_at = members[first], members[wrong], low[first], low[wrong]
    one_seen, other_seen = (_reader(places, *each, level) for each in ((one, one_at), (other, other_at)))
    return _Torn(one, other, one_at, other_at, one_seen, other_seen, np.full(len(one), APART))


def _sightings(batches: Batches, places: Places, level: Level) -> tuple[Numbers, Numbers]:
    """Of each row the least and the greatest offset of its record; UNSEEN. Of what may have been resent only by its answer."""
    part = batches.part
    low, high = np.full(part.count + 1, UNSEEN, np.int64), np.full(part.count + 1, NONE, np.int64)
    once = part.number("attempts") == 1
    read = places.was_read
    low[places.writer[read][::-1]] = places.known[read][::-1]
    high[places.writer[read]] = places.known[read]
    np.minimum.at(low, places.read_otherwise_by, places.read_otherwise.offset)
    np.maximum.at(high, places.read_otherwise_by, places.read_otherwise.offset)
    low, high = np.where(once, low[:-1], UNSEEN), np.where(once, high[:-1], NONE)
    answered = part.acked_by_all if level == "committed" else part.acked_by_all | part.acked_by_leader
    acked = np.flatnonzero(answered & (part.offset >= 0))
    low[acked] = np.minimum(low[acked], part.offset[acked])
    high[acked] = np.maximum(high[acked], part.offset[acked])
    return low, high


def _reader(places: Places, appends: Rows, offsets: Numbers, level: Level) -> Rows:
    """Who shows that a record lies there; -1 = its append itself, by what it was told."""
    part = places.part
    answered = part.acked_by_all if level == "committed" else part.acked_by_all | part.acked_by_leader
    untold = np.flatnonzero(~answered[appends] | (part.offset[appends] != offsets))
    reader = np.full(len(appends), NONE, np.int64)
    reader[untold] = places.observer_of(offsets[untold], part.value[appends[untold]], acknowledged=False)
    return reader


# -- cut ----------------------------------------------------------------------------------------------------------------


def _cut(batches: Batches, places: Places, final: FinalRead) -> list[_Torn]:
    """One record without its neighbour in an answer, or in the final read as a whole.

    Looked for only where what is known altogether leaves a doubt, so answers are not gone through in a healthy run.
    """
    found = []
    if len(places.read_otherwise) or _breaks(batches, places.known, places.writer).any:
        found.append(_in_answers(batches, places))
    if final.complete and _leaves_a_doubt(batches, places, final):
        found.append(_in_the_final_read(batches, places, final))
    return found


@dataclass(frozen=True)
class _Breaks:
    """Places of records whose neighbour in the batch is not beside them."""

    tail: Rows
    """The one behind it is not."""
    head: Rows
    """The one before it is not."""

    @property
    def any(self) -> bool:
        return len(self.tail) + len(self.head) > 0


def _breaks(batches: Batches, offset: Numbers, writer: Rows, answer: Rows | None = None, *, all_there: bool = False) -> _Breaks:
    """`offset` ascends within each answer. `all_there`: what is not here is nowhere; else it may only be unknown."""
    beside = offset[1:] == offset[:-1] + 1
    if answer is not None:
        beside &= answer[1:] == answer[:-1]
    whole = beside & batches.follows(writer[:-1], writer[1:])
    looked_at = np.full(len(beside), True) if all_there else beside
    edge = np.full(min(len(offset), 1), all_there)
    tail = (batches.after[writer] > 0) & np.append(looked_at & ~whole, edge)
    head = (batches.rank[writer] > 0) & np.append(edge, looked_at & ~whole)
    if all_there and batches.part.log_start:
        head &= offset > 0
    return _Breaks(np.flatnonzero(tail), np.flatnonzero(head))


def _in_answers(batches: Batches, places: Places) -> _Torn:
    records = places.part.records
    row, writer = records.row.astype(np.int64), places.writers.find(records.value)
    breaks = _breaks(batches, records.offset, writer, row)
    return _torn_at(batches, breaks, records.offset, writer, row, IN_ONE_ANSWER)


def _leaves_a_doubt(batches: Batches, places: Places, final: FinalRead) -> bool:
    """Whether the final read is not simply what is known of the log up to its end, or that is not whole."""
    below = int(places.known_below(np.array([final.end]))[0])
    writer = places.writer[:below]
    unread = (batches.number[writer] != NONE) & ~np.append(final.returned, True)[writer]
    return bool(len(places.read_otherwise) or unread.any() or _breaks(batches, places.known[:below], writer, all_there=True).any)


def _in_the_final_read(batches: Batches, places: Places, final: FinalRead) -> _Torn:
    """Its answers put together: each offset once."""
    records = places.part.records
    chosen = np.flatnonzero(final.of_record)
    chosen = chosen[np.unique(records.offset[chosen], return_index=True)[1]]
    offset, row = records.offset[chosen], records.row[chosen].astype(np.int64)
    writer = places.writers.find(records.value[chosen])
    breaks = _breaks(batches, offset, writer, all_there=True)
    torn = _torn_at(batches, breaks, offset, writer, row, IN_THE_FINAL_READ)
    return replace(torn, other_seen=final.covering(torn.other_at))


def _torn_at(batches: Batches, breaks: _Breaks, offset: Numbers, writer: Rows, row: Rows, how: int) -> _Torn:
    """Each record beside a break, and the one that is missing beside it."""
    at = np.concatenate([breaks.tail, breaks.head])
    step = np.repeat([1, -1], [len(breaks.tail), len(breaks.head)])
    one = writer[at]
    other = batches.member(batches.number[one], batches.rank[one] + step)
    return _Torn(one, other, offset[at], offset[at] + step, row[at], row[at], np.full(len(at), how))


# -- words --------------------------------------------------------------------------------------------------------------


def _told(batches: Batches, places: Places, final: FinalRead, torn: _Torn, level: Level = "committed") -> tuple[Found, ...]:
    part = batches.part

    def tell(i: int) -> Witness:
        row = int(torn.one[i])
        sent = words.some([words.value(int(part.value[each])) for each in batches.all_of(row)])
        one, other = (words.value(int(part.value[each])) for each in (row, torn.other[i]))
        one_at, other_at = part.shown(int(torn.one_at[i])), part.shown(int(torn.other_at[i]))
        if torn.how[i] == APART:
            seen = f"yet {one} is at offset {one_at} and {other} at {other_at}"
        elif torn.how[i] == IN_ONE_ANSWER:
            reader = int(torn.one_seen[i])
            held = words.value(_value_in(part, reader, int(torn.other_at[i])))
            seen = (
                f"yet {words.process(part, reader)} read {one} at offset {one_at} beside {held} at {other_at}, "
                f"where {other} belongs ({words.interval(part, reader)})"
            )
        else:
            span = f"{final.begin_ns / 10**9:.3f}-{words.seconds(final.end_ns)}, complete to {part.shown(final.end)}"
            seen = f"yet the final read ({span}) has {one} at offset {one_at} without {other} beside it"
        proof = [int(each[i]) for each in _proof(torn) if each[i] != NONE]
        text = f"{words.process(part, row)} sent {sent} as one batch, {seen}."
        return words.witness(part, text, proof, offset=int(torn.one_at[i]), about=int(part.value[row]))

    return finding(part, "torn_batch", _proof(torn), tell, level, offset=torn.one_at)


def _value_in(part: Part, row: int, offset: int) -> int:
    """What one answer showed at an offset."""
    values = part.records.value[part.records.row == row]
    return int(values[part.offsets_of(row) == offset][0])
