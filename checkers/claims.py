"""checkers/claims.py: what acknowledgements by the leader alone claim, and who contradicts it (CHECKERS 3.2, 5.2, 6.5).

In     `Intervals`
Out    inconsistent_offset, duplicate, nonmonotonic_send, reordered, append_below_end of level local
Keeps  such an acknowledgement proves nothing of the log below the high watermark: to section 3 it is `info`, without its offset.
       What is told at level committed is not repeated here
"""

from __future__ import annotations

import numpy as np

from checkers import words
from checkers.columns import NONE
from checkers.finding import finding
from checkers.found import Found, Numbers
from checkers.heirs import Heirs
from checkers.intervals import Intervals
from checkers.pairs import acked_before, beyond, first_that_fits, misplaced, own_before
from checkers.part import Part, Rows
from checkers.placing import Places
from model.verdict import Witness


def check_claims(of: Intervals, heirs: Heirs) -> tuple[Found, ...]:
    claims = np.flatnonzero(of.part.acked_by_leader & (of.part.offset >= 0))
    if not len(claims):
        return ()
    return (*_inconsistent_offsets(of.part, of.places, heirs, claims), *_duplicates(of, claims), *_misplaced(of, claims))


def _inconsistent_offsets(part: Part, places: Places, heirs: Heirs, claims: Rows) -> tuple[Found, ...]:
    """Against what is proven to lie there or, where nothing is, against the first who claimed it."""
    offset, value = part.offset[claims], part.value[claims]
    proven = places.value_known_at(offset)
    order = np.lexsort((claims, part.end[claims], offset))
    groups, begins = np.unique(offset[order], return_index=True)
    first_claim = claims[order][begins][np.searchsorted(groups, offset)]
    other_value = np.where(proven == NONE, part.value[first_claim], proven)
    wrong = order[(other_value != value)[order]]
    wrong = wrong[np.unique(offset[wrong], return_index=True)[1]]  # of each offset the first
    at, row, known = offset[wrong], claims[wrong], other_value[wrong]
    observer = np.where(proven[wrong] == NONE, first_claim[wrong], places.observer(at))

    def tell(i: int) -> Witness:
        one, other = int(row[i]), int(observer[i])
        rows = sorted((one, other), key=lambda each: (int(part.end[each]), each))
        held = {one: int(part.value[one]), other: int(known[i])}
        seen = [f"{words.value(held[each])} for {words.process(part, each)} ({words.how_seen(part, each)})" for each in rows]
        text = f"Offset {part.shown(int(at[i]))} was {seen[0]} and {seen[1]}."
        return words.witness(part, text, rows, offset=int(at[i]), about=held[one])

    epochs = places.read_epoch_of(at, part.value[row])
    facts = {"offset": at, "displaced": heirs.displaced(at, epochs, part.end[row])}
    return finding(part, "inconsistent_offset", (observer, row), tell, "local", **facts)


def _duplicates(of: Intervals, claims: Rows) -> tuple[Found, ...]:
    part, places = of.part, of.places
    if of.mode.copies == "retry":
        return ()
    rows = claims[(places.place[claims] >= 0) & (places.place[claims] != part.offset[claims])]
    seen = places.observer_of(places.place[rows], part.value[rows])

    def tell(i: int) -> Witness:
        row = int(rows[i])
        at, place = part.shown(int(part.offset[row])), int(places.place[row])
        text = f"{words.value(int(part.value[row]))} is at offsets {at} and {part.shown(place)}."
        return words.witness(part, text, [row, int(seen[i])], offset=place, about=int(part.value[row]))

    facts = {
        "offset": places.place[rows],
        "resent": part.number("attempts")[rows] != 1,
        "idempotent": part.flag("idempotent")[rows],
    }
    return finding(part, "duplicate", (rows, seen), tell, "local", **facts)


def _misplaced(of: Intervals, claims: Rows) -> tuple[Found, ...]:
    """Acknowledged appends in the wrong order where one of the two has only the leader's word; claims below what was read."""
    part, places = of.part, of.places
    by_all = np.flatnonzero(part.acked_by_all & (part.offset >= 0))
    placed = places.place[claims] == part.offset[claims]  # they are judged where they lie
    above, unplaced = np.concatenate([by_all, claims[placed]]), claims[~placed]
    rows = np.concatenate([above, unplaced])
    bounds = part.offset[rows]
    parts = (claims, above), (np.concatenate([by_all, claims]), unplaced)
    names = {
        name: np.concatenate([find(of, provers, asked, part.offset[asked]) for provers, asked in parts])
        for name, find in (("nonmonotonic_send", own_before), ("reordered", acked_before))
    }
    readers = beyond(of, of.proofs.among(~part.is_append), unplaced, part.offset[unplaced])
    names["append_below_end"] = np.concatenate([np.full(len(above), NONE, np.int64), readers])
    told = np.isin(bounds, _contested(places, claims))  # as an inconsistent_offset
    names = {name: np.where(told, np.int64(NONE), provers) for name, provers in names.items()}
    fitting = first_that_fits(names)
    return tuple(found for name, provers in fitting for found in misplaced(of, name, provers, rows, bounds, "local"))


def _contested(places: Places, claims: Rows) -> Numbers:
    """Offsets of which somebody else says otherwise."""
    part = places.part
    offset, value = part.offset[claims], part.value[claims]
    proven = places.value_known_at(offset)
    order = np.argsort(offset, kind="stable")
    twice = offset[order][1:][(offset[order][1:] == offset[order][:-1])]
    return np.concatenate([offset[(proven != NONE) & (proven != value)], twice])
