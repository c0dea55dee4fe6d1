"""checkers/positions.py: a position inside the log is never out of range (CHECKERS 5.3, 3.8).

In     a `Part`, its `Places`, the `Mode`
Out    refused_position: reads and polls that failed with OFFSET_OUT_OF_RANGE at a position that somebody had proved to be valid
Keeps  the end of the log is a valid position, and below the log start none is. Nothing is sorted unless something was found
       Comparable as an end offset is: a leader knows everything that leaders before it committed, or refuses to answer (P 7.4)
"""

from __future__ import annotations

import numpy as np

from checkers import words
from checkers.columns import END_OFFSET, FOREVER, NONE, POLL, READ
from checkers.finding import finding
from checkers.found import Checked, Found, Numbers
from checkers.intervals import Intervals
from checkers.mode import Mode
from checkers.order import Proofs, earliest_end_beyond
from checkers.pairs import beyond
from checkers.part import Part, Rows
from checkers.placing import Places
from model.verdict import Witness

NAME = "positions"


def check_positions(part: Part, places: Places, mode: Mode, *, one_epoch: bool = False) -> Checked:
    """`one_epoch`: the partition had one leader epoch in all its life, so every answer can be compared with every other (3.8)."""
    rows, positions = _refused(part)
    found: tuple[Found, ...] = ()
    if len(rows):
        found = _valid_ones(Intervals(part, places, mode), rows, positions, one_epoch=one_epoch)
    return Checked(name=NAME, at=part.at, mode=(mode.freshness,), found=found)


def _refused(part: Part) -> tuple[Rows, Numbers]:
    """Rows that were told so, and the position of each from the log start."""
    told = part.failed_with("OFFSET_OUT_OF_RANGE")
    if not told.any():
        return np.empty(0, np.int64), np.empty(0, np.int64)
    rows = np.flatnonzero(told & ((part.kind == READ) | (part.kind == POLL)))
    asked = part.number("from_offset")[rows]
    inside = (asked != NONE) & (asked >= part.log_start)
    return rows[inside], asked[inside] - part.log_start


def _valid_ones(of: Intervals, rows: Rows, positions: Numbers, *, one_epoch: bool) -> tuple[Found, ...]:
    part, provers = of.part, _provers(of)
    earliest = earliest_end_beyond(of.length[provers], of.end[provers], positions - 1)
    wrong = earliest < part.start[rows]
    rows, positions = rows[wrong], positions[wrong]
    if not len(rows):
        return ()
    proofs = Proofs(provers, of.length[provers], of.end[provers])
    anyhow = proofs.first_beyond(positions - 1)
    everything = one_epoch or of.mode.freshness == "strict"
    by_epoch = beyond(of, proofs, rows, positions - 1) if everything else _comparable(of, proofs, rows, positions)
    comparable = by_epoch != NONE
    prover = np.where(comparable, by_epoch, anyhow)
    epoch = of.places.epoch_of

    def tell(i: int) -> Witness:
        before, row = int(prover[i]), int(rows[i])
        known = int(epoch[before]), int(epoch[row])
        text = (
            f"{words.proved(part, before, int(of.length[before]))}. Later, {words.interval(part, row)}, "
            f"{words.process(part, row)} was told that {part.shown(int(positions[i]))} is out of range{_by_whom(*known)}."
        )
        return words.witness(part, text, [before, row], offset=int(positions[i]), epochs=known)

    return finding(part, "refused_position", (prover, rows), tell, comparable=comparable, offset=positions)


def _provers(of: Intervals) -> Rows:
    """Rows that prove a length by their end. That of nothing, too, where it is one: not of what ended below the log start."""
    part = of.part
    told_end = (part.kind == END_OFFSET) & (part.offset >= 0)
    read = ((part.kind == READ) | (part.kind == POLL)) & (part.log_start == 0)
    return np.flatnonzero((of.end != FOREVER) & ((of.length > 0) | (part.is_ok & (told_end | read))))


def _comparable(of: Intervals, proofs: Proofs, rows: Rows, positions: Numbers) -> Rows:
    """3.8 Of each row a proof by the same or an earlier leader epoch; -1 = none."""
    epoch = of.places.epoch_of
    found = np.full(len(rows), NONE, np.int64)
    for each in np.unique(epoch[rows]):
        asked = np.flatnonzero(epoch[rows] == each)
        earlier = proofs.among((epoch != NONE) & (epoch <= each))
        found[asked] = beyond(of, earlier, rows[asked], positions[asked] - 1)
    return found


def _by_whom(before: int, now: int) -> str:
    if NONE in (before, now):
        return ""
    return f" by the same leader epoch {now}" if before == now else f" by leader epoch {now}, after epoch {before}"
