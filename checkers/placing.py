"""checkers/placing.py: what is known of the log: which value lies at which offset, and where each append has its place.

In     a `Part`
Out    `Places` (CHECKERS 3.4 steps 1 and 2): known offsets with one value each, contradictions, places, further copies
Keeps  only what is proven below the high watermark places anything: reads, polls, acknowledgements by all (3.2). One by the
       leader alone is a claim of level local, and kept apart
       Nothing is sized by an offset (3.6): a table while offsets lie close together, else they are sorted
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from checkers.columns import FAIL, NONE
from checkers.found import Flags, Numbers
from checkers.part import BELOW, Part, Ranges, Rows
from checkers.writers import Writers, room


class Axis:
    """Offsets as positions in a table: as they are while they lie close together, else by rank."""

    def __init__(self, offsets: tuple[Numbers, ...], entries: int) -> None:
        top = max((int(each.max()) for each in offsets if len(each)), default=-1)
        self._sorted: Numbers | None = None if top < room(entries) else np.unique(np.concatenate(offsets))
        self.size = top + 1 if self._sorted is None else len(self._sorted)

    def position(self, offsets: Numbers) -> Numbers:
        """Of offsets that it was made of."""
        return offsets if self._sorted is None else np.searchsorted(self._sorted, offsets)

    def offset(self, positions: Numbers) -> Numbers:
        return positions if self._sorted is None else self._sorted[positions]


@dataclass(frozen=True)
class Pairs:
    """Offsets with a value each, and who says so: rows of the part."""

    offset: Numbers
    value: Numbers
    row: Rows

    def __len__(self) -> int:
        return len(self.offset)


class Places:
    """Where everything lies, as far as anybody has proven it."""

    def __init__(self, part: Part) -> None:
        self.part = part
        records = part.records
        acked = np.flatnonzero(part.acked_by_all & (part.offset >= 0))
        acked_at, acked_value = part.offset[acked], part.value[acked]
        axis = Axis((records.offset, acked_at), part.count + len(records.row))
        position, acked_position = axis.position(records.offset), axis.position(acked_at)
        table = np.full(axis.size, NONE, np.int64)
        table[acked_position[::-1]] = acked_value[::-1]  # of several the earliest stays
        table[position[::-1]] = records.value[::-1]  # what was read is in the log, whatever an acknowledgement says
        was_read = np.zeros(axis.size, np.bool_)
        was_read[position] = True
        positions = np.flatnonzero(table != NONE)
        self.known: Numbers = axis.offset(positions)
        """Every offset that is proven to exist, ascending."""
        self.value_at: Numbers = table[positions]
        self.was_read: Flags = was_read[positions]
        other = np.flatnonzero(table[position] != records.value)
        other_acked = np.flatnonzero(table[acked_position] != acked_value)
        self.read_otherwise = Pairs(records.offset[other], records.value[other], records.row[other].astype(np.int64))
        """Answers that contradict `value_at`."""
        self.acked_otherwise = Pairs(acked_at[other_acked], acked_value[other_acked], acked[other_acked])

    # -- writers --------------------------------------------------------------------------------------------------------

    @cached_property
    def writers(self) -> Writers:
        appends = np.flatnonzero(self.part.is_append)
        return Writers(appends, self.part.value[appends])

    @cached_property
    def writer(self) -> Rows:
        """Of each known offset: the append that wrote its value, -1 = nobody."""
        return self.writers.find(self.value_at)

    @cached_property
    def read_otherwise_by(self) -> Rows:
        return self.writers.find(self.read_otherwise.value)

    @cached_property
    def seen(self) -> Flags:
        """Of each row: an append whose value some ok read or poll returned."""
        seen = np.zeros(self.part.count + 1, np.bool_)  # the last entry takes those that nobody wrote
        seen[self.writer[self.was_read]] = True
        seen[self.read_otherwise_by] = True
        return seen[:-1]

    # -- places ---------------------------------------------------------------------------------------------------------

    @cached_property
    def place(self) -> Numbers:
        """Of each append: the acknowledged offset if all acknowledged it, else the first where it was read. -1 = floating."""
        part = self.part
        place = np.full(part.count + 1, NONE, np.int64)
        place[self.read_otherwise_by[::-1]] = self.read_otherwise.offset[::-1]
        place[self.writer[::-1]] = self.known[::-1]
        place = place[:-1]
        acked = part.acked_by_all & (part.offset != NONE)
        return np.where(acked, part.offset, place)

    @cached_property
    def floating(self) -> Rows:
        """Appends that may have happened and lie nobody knows where."""
        part = self.part
        return np.flatnonzero(part.is_append & (part.outcome != FAIL) & (self.place == NONE))

    @cached_property
    def copies(self) -> Pairs:
        """Values at another offset than their place: who wrote them stands in `row`."""
        offset = np.concatenate([self.known, self.read_otherwise.offset])
        value = np.concatenate([self.value_at, self.read_otherwise.value])
        writer = np.concatenate([self.writer, self.read_otherwise_by])
        further = np.flatnonzero((writer != NONE) & (self.place[writer] != offset))
        return Pairs(offset[further], value[further], writer[further])

    # -- questions ------------------------------------------------------------------------------------------------------

    def is_known(self, offsets: Numbers) -> Flags:
        return self.known_below(offsets + 1) > self.known_below(offsets)

    def known_below(self, offsets: Numbers) -> Numbers:
        """How many known offsets lie below each of these."""
        if len(self.known) and self.known[-1] == len(self.known) - 1:  # a log without holes
            return np.minimum(np.maximum(offsets, 0), len(self.known))
        return np.searchsorted(self.known, offsets)

    def left_out(self, ranges: Ranges) -> Flags:
        """Which of these passed over more known offsets than they returned, or fewer."""
        left_out: Flags = self.known_below(ranges.last + 1) - self.known_below(ranges.begin) != self.part.counted[ranges.row]
        return left_out

    def value_known_at(self, offsets: Numbers) -> Numbers:
        """The value at each of these offsets, -1 where none is known."""
        if not len(self.known):
            return np.full(len(offsets), NONE, np.int64)
        at = np.minimum(self.known_below(offsets), len(self.known) - 1)
        return np.where(self.known[at] == offsets, self.value_at[at], NONE)

    def first_known_missing(self, begin: int, last: int, offsets: Numbers) -> int | None:
        """The least known offset of a range that is not among these."""
        known = self.known[int(self.known_below(np.array([begin]))[0]) : int(self.known_below(np.array([last + 1]))[0])]
        missing = known[~np.isin(known, offsets)]
        return int(missing[0]) if len(missing) else None

    # -- who saw it -----------------------------------------------------------------------------------------------------

    def observer(self, offsets: Numbers) -> Rows:
        """Of known offsets: who read the value there first or, where nobody did, whose append was acknowledged there."""
        values = self.value_known_at(offsets)
        readers = self.observer_of(offsets, values, acknowledged=False)
        return np.where(readers == NONE, self.observer_of(offsets, values), readers)

    def observer_of(self, offsets: Numbers, values: Numbers, *, acknowledged: bool = True) -> Rows:
        """Of offsets and values: who saw the one at the other first, by the end of the operation; -1 = nobody."""
        records = self.part.records
        seen = Pairs(records.offset, records.value, records.row.astype(np.int64))
        if acknowledged:
            seen = together(seen, self._acked)
        first = _first(seen, offsets, values, self.part.end)
        return np.append(seen.row, NONE)[first]

    def seen_at(self, offsets: Numbers) -> Pairs:
        """Everything that anybody read at one of these offsets, or was told by all to lie there."""
        records = self.part.records
        seen = together(Pairs(records.offset, records.value, records.row.astype(np.int64)), self._acked)
        chosen = np.flatnonzero(np.isin(seen.offset, offsets))
        return Pairs(seen.offset[chosen], seen.value[chosen], seen.row[chosen])

    def read_epoch_of(self, offsets: Numbers, values: Numbers) -> Numbers:
        """Of offsets and values: the leader epoch with which the one was first read at the other; -1 = unknown."""
        records = self.part.records
        seen = Pairs(records.offset, records.value, records.row.astype(np.int64))
        return np.append(self.part.record_epochs, NONE)[_first(seen, offsets, values, self.part.end)]

    @property
    def _acked(self) -> Pairs:
        part = self.part
        acked = np.flatnonzero(part.acked_by_all & (part.offset >= 0))
        return Pairs(part.offset[acked], part.value[acked], acked)

    # -- epochs ---------------------------------------------------------------------------------------------------------

    @cached_property
    def epoch_at(self) -> Numbers:
        """Of each known offset: the leader epoch with which it was read, -1 = unknown."""
        epochs = np.full(len(self.known), NONE, np.int64)
        records, said = self.part.records, self.part.record_epochs
        known = np.flatnonzero(said != NONE)[::-1]
        epochs[self.known_below(records.offset[known])] = said[known]
        return epochs

    @cached_property
    def epoch_of(self) -> Numbers:
        """Of each row: the leader epoch that it proves something of: an answer's own, an append's batch epoch (3.8).

        Of a batch that was sent again that is unknown: a later leader may have found it in its log, and told so.
        """
        part = self.part
        epoch = np.where(part.is_append, np.int64(NONE), part.leader_epoch)
        by_known = np.flatnonzero((self.writer != NONE) & (self.epoch_at != NONE))
        placed = by_known[self.place[self.writer[by_known]] == self.known[by_known]]
        epoch[self.writer[placed]] = self.epoch_at[placed]
        epoch[part.maybe_known_already] = NONE
        return epoch


def together(*several: Pairs) -> Pairs:
    return Pairs(*(np.concatenate([getattr(each, name) for each in several]) for name in ("offset", "value", "row")))


def _first(seen: Pairs, offsets: Numbers, values: Numbers, end: Numbers) -> Numbers:
    """Of each offset and value the index of the pair that was seen first; -1 = none."""
    if not len(offsets) or not len(seen):
        return np.full(len(offsets), NONE, np.int64)
    asked_offset, asked_value = np.unique(offsets), np.unique(values)
    concerned = np.flatnonzero(_is_one_of(seen.offset, asked_offset))
    concerned = concerned[_is_one_of(seen.value[concerned], asked_value)]
    if not len(concerned):
        return np.full(len(offsets), NONE, np.int64)
    at, what = seen.offset[concerned], seen.value[concerned]
    key = np.searchsorted(asked_offset, at) * len(asked_value) + np.searchsorted(asked_value, what)
    row = seen.row[concerned]
    order = np.lexsort((row, end[row], key))
    wanted = np.searchsorted(asked_offset, offsets) * len(asked_value) + np.searchsorted(asked_value, values)
    first = np.minimum(np.searchsorted(key[order], wanted), len(order) - 1)
    return np.where(key[order][first] == wanted, concerned[order[first]], np.int64(NONE))


def _is_one_of(numbers: Numbers, ascending: Numbers) -> Flags:
    at = np.minimum(np.searchsorted(ascending, numbers), len(ascending) - 1)
    found: Flags = ascending[at] == numbers
    return found


__all__ = ["BELOW", "Axis", "Pairs", "Places"]
