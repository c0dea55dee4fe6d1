"""checkers/vanished.py: vanished_read: a record that was read is gone (CHECKERS 5.3).

In     a `Part`, its `Places`, the final read
Out    one instance per record that was read and that a later read of its place, or a complete final read, lacks
How    a read lacks a record in two ways only: it shows another value there, or it has a hole there. So only offsets of which two
       values are known, and reads with a hole, are looked at; in a healthy run there are none
"""

from __future__ import annotations

from typing import Any

import numpy as np

from checkers import words
from checkers.columns import NONE
from checkers.final_read import FinalRead
from checkers.finding import finding
from checkers.found import Flags, Found, Numbers
from checkers.heirs import Heirs
from checkers.offices import UNKNOWN, Offices
from checkers.part import Part, Rows
from checkers.placing import Pairs, Places
from model.verdict import Witness


def vanished_reads(part: Part, places: Places, final: FinalRead, offices: Offices = UNKNOWN) -> tuple[Found, ...]:
    found: dict[tuple[int, int], tuple[int, int]] = {}  # offset and value: who read it, who shows that it is gone
    for offset, value, reader, shown in (
        *_replaced(part, places),
        *_left_out(part, places),
        *_not_in_the_end(part, places, final),
    ):
        known = found.get((offset, value))
        if known is None or part.end[shown] < part.end[known[1]]:
            found[offset, value] = reader, shown
    instances = sorted(found)
    readers = np.array([found[each][0] for each in instances], np.int64)
    gone = np.array([found[each][1] for each in instances], np.int64)
    values = np.array([value for _, value in instances], np.int64)
    writers = places.writers.find(values)

    def tell(i: int) -> Witness:
        (offset, value), reader, row = instances[i], int(readers[i]), int(gone[i])
        text = (
            f"{words.process(part, reader)} read {words.value(value)} at offset {part.shown(offset)} "
            f"({words.seconds(part.end[reader])}); {_gone(part, places, final, row, offset)}"
        )
        writer = None if writers[i] == NONE else int(writers[i])
        return words.witness(part, text, [reader, row], known_by=writer, offset=offset, about=value)

    since = np.where(writers == NONE, part.since[readers], np.minimum(part.start[writers], part.since[readers]))
    times: dict[str, Any] = {"from_ns": since, "to_ns": part.end[gone], "proof_ns": part.end[gone]}
    offsets = np.array([offset for offset, _ in instances], np.int64)
    epochs = places.read_epoch_of(offsets, values)
    displaced = Heirs(part, final, offices).displaced(offsets, epochs, part.end[readers])
    facts: dict[str, Any] = {"offset": offsets, "write_epoch": epochs, "displaced": displaced}
    return finding(part, "vanished_read", (readers, gone), tell, **facts, **times)


_Instance = tuple[int, int, int, int]
"""Offset and value; the row that read it, the row that shows that it is gone."""


def _read_pairs(part: Part, places: Places) -> Pairs:
    """Every offset and value that somebody read, once, with who read it first."""
    known = np.flatnonzero(places.was_read)
    other = places.read_otherwise
    offset = np.concatenate([places.known[known], other.offset])
    value = np.concatenate([places.value_at[known], other.value])
    return Pairs(offset, value, np.full(len(offset), NONE, np.int64))


def _replaced(part: Part, places: Places) -> list[_Instance]:
    """Another value was read there later."""
    contested = np.unique(places.read_otherwise.offset)
    if not len(contested):
        return []
    records = part.records
    here = np.flatnonzero(np.isin(records.offset, contested))
    here = here[np.lexsort((part.end[records.row[here]], records.offset[here]))]
    begins = np.searchsorted(records.offset[here], contested)
    found: list[_Instance] = []
    for offset, group in zip(contested.tolist(), np.split(here, begins[1:]), strict=True):
        found += _replaced_at(part, offset, records.value[group], records.row[group].astype(np.int64))
    return found


def _replaced_at(part: Part, offset: int, values: Numbers, rows: Rows) -> list[_Instance]:
    """`rows` in order of their ends."""
    found: list[_Instance] = []
    for value in np.unique(values):
        reader = int(rows[np.argmax(values == value)])
        later = rows[(values != value) & (part.since[rows] > part.end[reader])]  # a deposed leader shows what was before
        if len(later):
            found.append((offset, int(value), reader, int(later[0])))
    return found


def _left_out(part: Part, places: Places) -> list[_Instance]:
    """A later read has a hole there."""
    found: list[_Instance] = []
    pairs: Pairs | None = None
    gone: Flags = np.zeros(0, np.bool_)
    for row in _with_holes(part, places):
        if pairs is None:
            pairs = _read_pairs(part, places)
            gone = np.zeros(len(pairs), np.bool_)
        missing = np.flatnonzero(
            ~gone
            & (pairs.offset >= _begin(part, row))
            & (pairs.offset <= part.spans[1][row])
            & ~np.isin(pairs.offset, part.offsets_of(row))
        )
        readers = places.observer_of(pairs.offset[missing], pairs.value[missing], acknowledged=False)
        before = part.end[readers] < part.since[row]
        gone[missing[before]] = True
        chosen = missing[before]
        columns = pairs.offset[chosen].tolist(), pairs.value[chosen].tolist(), readers[before].tolist()
        found += [(offset, value, reader, row) for offset, value, reader in zip(*columns, strict=True)]
    return found


def _with_holes(part: Part, places: Places) -> list[int]:
    """Reads that left out a known offset, in order of their ends."""
    rows = part.with_gaps.row[places.left_out(part.with_gaps)]
    ascending: list[int] = rows[np.argsort(part.end[rows], kind="stable")].tolist()
    return ascending


def _begin(part: Part, row: int) -> int:
    first, asked = int(part.spans[0][row]), int(part.from_offset[row])
    return first if asked == NONE else min(first, asked)


def _not_in_the_end(part: Part, places: Places, final: FinalRead) -> list[_Instance]:
    """The final read lacks the value, wherever it looked."""
    if not final.complete:
        return []
    pairs = _read_pairs(part, places)
    writers = places.writers.find(pairs.value)
    there = np.append(final.returned, False)[writers]
    unwritten = np.flatnonzero(writers == NONE)
    if len(unwritten):
        there[unwritten] = np.isin(pairs.value[unwritten], part.records.value[final.of_record])
    absent = np.flatnonzero(~there)
    readers = places.observer_of(pairs.offset[absent], pairs.value[absent], acknowledged=False)
    before = part.end[readers] < final.begin_ns
    absent, readers = absent[before], readers[before]
    rows = final.covering(pairs.offset[absent])
    columns = (each.tolist() for each in (pairs.offset[absent], pairs.value[absent], readers, rows))
    return list(zip(*columns, strict=True))


def _gone(part: Part, places: Places, final: FinalRead, row: int, offset: int) -> str:
    """`p9 read 40-44 at 6.200 s: offset 41 holds v(p8#3).`"""
    first, last = int(part.spans[0][row]), int(part.spans[1][row])
    if part.final[row] and final.complete and not first <= offset <= last:
        span = f"{final.begin_ns / 10**9:.3f}-{words.seconds(final.end_ns)}"
        return f"the final read ({span}, complete to {part.shown(final.end)}) does not contain it."
    held = part.records.value[(part.records.row == row) & (part.records.offset == offset)]
    holds = f"offset {part.shown(offset)} " + (f"holds {words.value(int(held[0]))}" if len(held) else "is missing")
    return f"{words.process(part, row)} read {part.shown(first)}-{part.shown(last)} at {words.seconds(part.end[row])}: {holds}."
