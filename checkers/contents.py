"""checkers/contents.py: contradictions in what lies where (CHECKERS 3.4 steps 1 to 3; section 5).

In     a `Part`, its `Places`, the `Mode`
Out    inconsistent_offset, phantom, aborted_read, duplicate, read_gap: all of level committed
Keeps  instances are distinct offsets, values or reads. Who saw it first is looked for only once something was found
Not    what acknowledgements by the leader alone claim: claims.py
"""

from __future__ import annotations

import numpy as np

from checkers import words
from checkers.columns import APPEND, FAIL, NONE
from checkers.finding import finding
from checkers.found import Found, Numbers
from checkers.heirs import Heirs
from checkers.mode import Mode
from checkers.part import Part, Rows
from checkers.placing import Pairs, Places, together
from model.value import COUNTER_BITS, LAST_TAG, PROCESS_BITS
from model.verdict import Witness


def check_contents(part: Part, places: Places, mode: Mode, heirs: Heirs, *, complete: bool = True) -> tuple[Found, ...]:
    """`complete` False: the history ends in a crash, so a value that no row wrote may be one whose row was lost (1.6)."""
    return (
        *_inconsistent_offsets(part, places, heirs),
        *_phantoms(part, places, complete=complete),
        *_aborted_reads(part, places),
        *_duplicates(part, places, mode),
        *_read_gaps(part, places, mode),
    )


# -- two values at one offset -------------------------------------------------------------------------------------------


def _inconsistent_offsets(part: Part, places: Places, heirs: Heirs) -> tuple[Found, ...]:
    """Each time that somebody saw another value there than whoever looked before: what was promised may change in between."""
    contested = np.unique(np.concatenate([places.read_otherwise.offset, places.acked_otherwise.offset]))
    if not len(contested):
        return ()
    before, after = _replaced(part, places.seen_at(contested))

    def tell(i: int) -> Witness:
        offset, rows = int(after.offset[i]), (int(before.row[i]), int(after.row[i]))
        values = int(before.value[i]), int(after.value[i])
        seen = [
            f"{words.value(value)} for {words.process(part, row)} ({words.how_seen(part, row)})"
            for value, row in zip(values, rows, strict=True)
        ]
        text = f"Offset {part.shown(offset)} was {seen[0]} and {seen[1]}."
        return words.witness(part, text, list(rows), offset=offset, about=values[1])

    one, other = (places.read_epoch_of(each.offset, each.value) for each in (before, after))
    epochs = np.where(np.minimum(one, other) == NONE, np.int64(NONE), np.maximum(one, other))
    displaced = heirs.displaced(after.offset, epochs, part.end[after.row])
    return finding(part, "inconsistent_offset", (before.row, after.row), tell, offset=after.offset, displaced=displaced)


def _replaced(part: Part, seen: Pairs) -> tuple[Pairs, Pairs]:
    """In order of the ends of those who saw them: neighbours that saw different values. What a deposed leader showed may be as
    old as its end, so what leaders in office showed is compared by itself as well."""
    order = np.lexsort((seen.row, part.end[seen.row], seen.offset))
    in_office = order[(part.since == part.start)[seen.row[order]]]
    pairs = np.unique(np.concatenate([_unlike(seen, order), _unlike(seen, in_office)]), axis=0)
    before, after = (Pairs(seen.offset[at], seen.value[at], seen.row[at]) for at in pairs.T)
    return before, after


def _unlike(seen: Pairs, order: Numbers) -> Numbers:
    offset, value = seen.offset[order], seen.value[order]
    at = np.flatnonzero((offset[1:] == offset[:-1]) & (value[1:] != value[:-1]))
    return np.column_stack([order[at], order[at + 1]])


# -- values that should not be there ------------------------------------------------------------------------------------


def _phantoms(part: Part, places: Places, *, complete: bool) -> tuple[Found, ...]:
    offsets, values, reader = _read_first(part, places, places.writer == NONE, places.read_otherwise_by == NONE)
    if not complete:
        foreign = values >> (PROCESS_BITS + COUNTER_BITS) != _own_tag(part)
        offsets, values, reader = offsets[foreign], values[foreign], reader[foreign]

    def tell(i: int) -> Witness:
        offset, value, row = int(offsets[i]), int(values[i]), int(reader[i])
        why = "no process wrote it"
        if words.describes_itself(value):
            theirs = value >> (PROCESS_BITS + COUNTER_BITS)
            why += f" ({words.tag(value)}: {'this run' if theirs == _own_tag(part) else 'another run'})"
        text = f"{words.process(part, row)} read value {words.value(value)} at {part.shown(offset)}: {why}."
        return words.witness(part, text, [row], offset=offset, about=value)

    return finding(part, "phantom", (reader,), tell, offset=offsets)


def _own_tag(part: Part) -> int:
    """The tag of what this run's processes wrote, in whatever partition; one that no value has, where nobody wrote anything."""
    columns = part.columns
    written = columns.number("value")[columns.kind == APPEND]
    return int(written[0]) >> (PROCESS_BITS + COUNTER_BITS) if len(written) else LAST_TAG + 1


def _aborted_reads(part: Part, places: Places) -> tuple[Found, ...]:
    failed = np.append(part.is_append & (part.outcome == FAIL), False)  # the last entry: nobody wrote it
    if not failed.any():
        return ()
    offsets, values, reader = _read_first(part, places, failed[places.writer], failed[places.read_otherwise_by])
    writer = places.writers.find(values)

    def tell(i: int) -> Witness:
        row, read, value = int(writer[i]), int(reader[i]), int(values[i])
        text = (
            f"{words.process(part, row)}'s append of {words.value(value)} failed with {part.error(row)}, "
            f"yet {words.process(part, read)} read it at {part.shown(int(offsets[i]))}."
        )
        return words.witness(part, text, [row, read], offset=int(offsets[i]), about=value)

    return finding(part, "aborted_read", (writer, reader), tell, offset=offsets)


def _read_first(part: Part, places: Places, known: Rows, otherwise: Rows) -> tuple[Numbers, Numbers, Rows]:
    """Of chosen known offsets and chosen contradicting answers: each value once, where and by whom it was read first."""
    read = known & places.was_read
    first = places.observer(places.known[read])
    pairs = together(
        Pairs(places.known[read], places.value_at[read], first),
        Pairs(
            places.read_otherwise.offset[otherwise], places.read_otherwise.value[otherwise], places.read_otherwise.row[otherwise]
        ),
    )
    order = np.lexsort((pairs.row, part.end[pairs.row], pairs.value))
    value = pairs.value[order]
    first = order[np.flatnonzero(np.append(True, value[1:] != value[:-1])[: len(value)])]
    return pairs.offset[first], pairs.value[first], pairs.row[first]


# -- one value at two offsets -------------------------------------------------------------------------------------------


def _duplicates(part: Part, places: Places, mode: Mode) -> tuple[Found, ...]:
    copies = places.copies
    kept = np.flatnonzero((part.outcome[copies.row] != FAIL) & (places.place[copies.row] >= 0))
    if mode.copies == "retry" or not len(kept):
        return ()
    offset, append = copies.offset[kept], copies.row[kept]
    seen = places.observer_of(offset, copies.value[kept])
    there = part.acked_by_all[append] & (part.offset[append] == places.place[append])
    first = np.where(there, append, places.observer_of(places.place[append], copies.value[kept]))

    def tell(i: int) -> Witness:
        row, place = int(append[i]), int(places.place[append[i]])
        text = f"{words.value(int(copies.value[kept[i]]))} is at offsets {part.shown(place)} and {part.shown(int(offset[i]))}."
        rows = [row, int(first[i]), int(seen[i])]
        return words.witness(part, text, rows, offset=int(offset[i]), about=int(copies.value[kept[i]]))

    resent, idempotent = part.number("attempts")[append] != 1, part.flag("idempotent")[append]
    facts = {"offset": offset, "resent": resent, "idempotent": idempotent}
    return finding(part, "duplicate", (append, first, seen), tell, **facts)


# -- a range with a record missing --------------------------------------------------------------------------------------


def _read_gaps(part: Part, places: Places, mode: Mode) -> tuple[Found, ...]:
    gaps = part.with_gaps
    if mode.density == "sparse":
        gaps = gaps.only(places.left_out(gaps) | part.disordered[gaps.row])
    rows, begin, last = gaps.row, gaps.begin, gaps.last

    def tell(i: int) -> Witness:
        row = int(rows[i])
        offsets = part.offsets_of(row)
        who = words.process(part, row)
        if part.disordered[row]:
            said = words.some([str(part.shown(int(each))) for each in offsets])
            return words.witness(part, f"{who} was given offsets {said} in this order.", [row])
        lacking = places.first_known_missing(int(begin[i]), int(last[i]), offsets)
        span = f"{who} read offsets {part.shown(int(begin[i]))}-{part.shown(int(last[i]))} ({words.interval(part, row)})"
        if lacking is None:
            hole = first_hole(int(begin[i]), offsets)
            return words.witness(part, f"{span} without offset {part.shown(hole)}, which nobody knows.", [row], offset=hole)
        knower = int(places.observer(np.array([lacking]))[0])
        text = (
            f"{span} without offset {part.shown(lacking)}, which is known ({words.process(part, knower)}, {_when(part, knower)})."
        )
        return words.witness(part, text, [row], known_by=knower, offset=lacking)

    return finding(part, "read_gap", (rows,), tell)


def _when(part: Part, row: int) -> str:
    return words.seconds(part.end[row])


def first_hole(begin: int, offsets: Numbers) -> int:
    """The least offset from `begin` on that an answer left out."""
    expected = begin + np.arange(len(offsets))
    wrong = np.flatnonzero(np.sort(offsets) != expected)
    return int(expected[wrong[0]]) if len(wrong) else begin + len(offsets)
