"""checkers/pairs.py: the pair rule: who saw less than somebody before had proved (CHECKERS 3.4 step 5, 3.8, 5.4).

In     `Intervals`
Out    future_read, nonmonotonic_send, reordered, append_below_end, stale_read, stale_end_offset: each operation under one name
       Of several proofs the first is shown; where what happened meanwhile decides what was promised, the last, as little may have
       happened since
Keeps  one instance per operation that contradicts a proof, whatever the number of proofs; an append whose offset holds two values
       is an inconsistent_offset and nothing more. Nothing is sorted unless something was found
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from checkers import words
from checkers.columns import END_OFFSET, NONE
from checkers.finding import finding
from checkers.found import Flags, Found, Numbers
from checkers.intervals import Intervals
from checkers.order import OfEachProcess, Proofs
from checkers.part import Part, Rows
from model.verdict import Level, Witness


def check_pairs(of: Intervals, *, one_epoch: bool = False) -> tuple[Found, ...]:
    """`one_epoch`: the partition had one leader epoch in all its life, so every answer can be compared with every other (3.8)."""
    rows, bounds = _contradicted(of)
    if not len(rows):
        return ()
    appends = of.part.is_append[rows]
    return (*_misplaced(of, rows[appends], bounds[appends]), *_stale(of, rows[~appends], one_epoch=one_epoch))


def _contradicted(of: Intervals) -> tuple[Rows, Numbers]:
    """Rows, and the bound of each, that began after somebody had proved more."""
    rows = np.flatnonzero(of.earliest_ends.beyond(of.bound) < of.part.start)
    bounds = of.bound[rows]
    if of.retry:  # a further copy of an append was written after the append began, too
        copies = of.places.copies
        further = np.flatnonzero(of.placed[copies.row])
        append, offset = copies.row[further], copies.offset[further]
        wrong = of.earliest_ends.beyond(offset) < of.part.start[append]
        rows, bounds = np.concatenate([rows, append[wrong]]), np.concatenate([bounds, offset[wrong]])
    return rows, bounds


# -- appends ------------------------------------------------------------------------------------------------------------


def _misplaced(of: Intervals, rows: Rows, bounds: Numbers) -> tuple[Found, ...]:
    """5.4 Each under the first of four names that fits."""
    if not len(rows):
        return ()
    part, places = of.part, of.places
    told = ~np.isin(bounds, np.concatenate([places.read_otherwise.offset, places.acked_otherwise.offset]))
    rows, bounds = rows[told], bounds[told]
    acked = np.flatnonzero(part.acked_by_all & (part.offset >= 0))
    reader = places.observer_of(bounds, part.value[rows], acknowledged=False)
    names = {
        "future_read": before(part, reader, rows),
        "nonmonotonic_send": own_before(of, acked, rows, bounds),
        "reordered": acked_before(of, acked, rows, bounds),
        "append_below_end": beyond(of, of.proofs, rows, bounds),
    }
    for name in ("nonmonotonic_send", "reordered"):
        names[name] = np.where(part.is_ok[rows], names[name], np.int64(NONE))
    return tuple(found for name, prover in first_that_fits(names) for found in misplaced(of, name, prover, rows, bounds))


def first_that_fits(names: Mapping[str, Rows]) -> Iterator[tuple[str, Rows]]:
    """For each name the provers of those that no earlier name fits."""
    open_still: Flags | None = None
    for name, provers in names.items():
        fits = provers != NONE if open_still is None else (provers != NONE) & open_still
        open_still = ~fits if open_still is None else open_still & ~fits
        yield name, np.where(fits, provers, np.int64(NONE))


def before(part: Part, provers: Rows, rows: Rows) -> Rows:
    """Those that ended before the row began; -1 for the others."""
    return np.where((provers != NONE) & (part.end[provers] < part.start[rows]), provers, np.int64(NONE))


def beyond(of: Intervals, proofs: Proofs, rows: Rows, bounds: Numbers) -> Rows:
    """Of each row who proved more than its bound before it began; -1 = nobody."""
    if of.mode.freshness == "strict":
        return before(of.part, proofs.first_beyond(bounds), rows)
    starts = of.part.start[rows]
    in_office = proofs.among(of.part.since == of.part.start)
    return _latest(of.part, proofs.last_beyond(bounds, starts), in_office.last_beyond(bounds, starts))


def _latest(part: Part, last: Rows, in_office: Rows) -> Rows:
    """The last proof, unless a deposed leader gave it that was deposed before the last one of a leader in office was begun."""
    return np.where((in_office != NONE) & (part.since[in_office] > part.since[last]), in_office, last)


def own_before(of: Intervals, acked: Rows, rows: Rows, offsets: Numbers) -> Rows:
    """Of each row who of its own process was acknowledged further up before it began; -1 = nobody."""
    part = of.part
    if of.mode.freshness == "strict":
        return before(part, OfEachProcess(part, acked).first_beyond(rows, offsets), rows)
    in_office = acked[part.since[acked] == part.start[acked]]
    return _latest(part, *(OfEachProcess(part, each).last_beyond(rows, offsets) for each in (acked, in_office)))


def acked_before(of: Intervals, acked: Rows, rows: Rows, offsets: Numbers) -> Rows:
    """The same, of any process."""
    return beyond(of, Proofs(acked, of.part.offset[acked], of.part.end[acked]), rows, offsets)


def misplaced(
    of: Intervals, name: str, provers: Rows, rows: Rows, bounds: Numbers, level: Level = "committed"
) -> tuple[Found, ...]:
    """Appends at a place that somebody had proved to be taken before they began; -1: this one is told elsewhere. Of those that
    were not told their place, or by the leader alone, only who read them knows that they lie there, and by when."""
    part = of.part
    chosen = np.flatnonzero(provers != NONE)
    prover, append, at = provers[chosen], rows[chosen], bounds[chosen]
    told = (part.acked_by_all if level == "committed" else part.is_ok)[append] & (part.offset[append] == at)
    reader = np.where(told, np.int64(NONE), of.places.observer_of(at, part.value[append], acknowledged=False))

    def tell(i: int) -> Witness:
        before, row, offset = int(prover[i]), int(append[i]), int(at[i])
        began = f"{words.process(part, row)} began{' its next' if part.process[before] == part.process[row] else ''}"
        if name == "future_read":
            text = (
                f"{words.process(part, before)} read {words.value(part.value[row])} at {part.shown(offset)} "
                f"({words.interval(part, before)}) before {words.process(part, row)} began to append it "
                f"({words.seconds(part.start[row])})."
            )
        else:
            began += f" ({words.seconds(part.start[row])})"
            text = f"{_earlier(of, before)} before {began}, yet {_later(part, row, offset)}."
        known_by = None if reader[i] == NONE else int(reader[i])
        return words.witness(part, text, [before, row], offset=offset, about=int(part.value[row]), known_by=known_by)

    return finding(part, name, (prover, append, reader), tell, level, offset=at)


def _earlier(of: Intervals, row: int) -> str:
    part = of.part
    if part.is_append[row]:
        at, when = part.shown(int(part.offset[row])), words.seconds(part.end[row])
        return f"{words.process(part, row)}'s append was acknowledged at {at} ({when})"
    return words.proved(part, row, int(of.length[row]))


def _later(part: Part, row: int, offset: int) -> str:
    got = "got" if part.is_ok[row] and part.offset[row] == offset else "lies at"
    return f"{words.process(part, row)}'s append {got} offset {part.shown(offset)}"


# -- reads and end offsets ----------------------------------------------------------------------------------------------


def _stale(of: Intervals, rows: Rows, *, one_epoch: bool) -> tuple[Found, ...]:
    part = of.part
    told_end = part.kind[rows] == END_OFFSET
    return (
        *_stale_answers(of, "stale_read", rows[~told_end], one_epoch=one_epoch),
        *_stale_answers(of, "stale_end_offset", rows[told_end], one_epoch=one_epoch),
    )


def _stale_answers(of: Intervals, name: str, rows: Rows, *, one_epoch: bool) -> tuple[Found, ...]:
    if not len(rows):
        return ()
    part, bounds = of.part, of.bound[rows]
    anyhow = of.proofs.first_beyond(bounds)
    everything = one_epoch or of.mode.freshness == "strict"
    by_epoch = (
        beyond(of, of.proofs, rows, bounds) if everything else comparable_provers(of, rows, bounds, same=name == "stale_read")
    )
    comparable = by_epoch != NONE
    prover = np.where(comparable, by_epoch, anyhow)
    epoch = of.places.epoch_of

    def tell(i: int) -> Witness:
        before, row = int(prover[i]), int(rows[i])
        told = f"was told the end is {part.shown(int(bounds[i]))}"
        if name == "stale_read":
            told = f"read from {part.shown(int(part.from_offset[row]))} on, and the log ended at {part.shown(int(bounds[i]))}"
        known = int(epoch[before]), int(epoch[row])
        text = (
            f"{words.proved(part, before, int(of.length[before]))}. Later, {words.interval(part, row)}, "
            f"{words.process(part, row)} {told}{_by_whom(*known)}."
        )
        return words.witness(part, text, [before, row], offset=int(bounds[i]), epochs=known)

    final = np.array([None, "final"], dtype=object)[
        part.final[rows].astype(int)
    ]  # where something is missing as well, that says it better (5.4)
    return finding(part, name, (prover, rows), tell, comparable=comparable, offset=bounds, evidence=final)


def _by_whom(before: int, now: int) -> str:
    if NONE in (before, now):
        return ""
    return f" by the same leader epoch {now}" if before == now else f" by leader epoch {now}, after epoch {before}"


def comparable_provers(of: Intervals, rows: Rows, bounds: Numbers, *, same: bool) -> Rows:
    """3.8 Of each row a proof of more by a leader epoch that it can be compared with; -1 = none.

    `same`: only of the same epoch, as for reads; else of the same or an earlier one, as for end offsets.
    """
    epoch = of.places.epoch_of
    found = np.full(len(rows), NONE, np.int64)
    for each in np.unique(epoch[rows]):
        if each == NONE:
            continue
        asked = np.flatnonzero(epoch[rows] == each)
        fits: Flags = epoch == each if same else (epoch != NONE) & (epoch <= each)
        found[asked] = beyond(of, of.proofs.among(fits), rows[asked], bounds[asked])
    return found
