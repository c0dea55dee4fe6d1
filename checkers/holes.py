"""checkers/holes.py: offsets that must exist and that nobody is known to have written (CHECKERS 3.4 step 6, 3.7).

In     `Intervals` of a dense log
Out    unfillable_hole: no append can have written it; lost_ack: an acknowledged append that fits nowhere
Keeps  holes are counted before they are enumerated, and enumerated only while there are floating appends enough (3.6)
How    holes from below, each filled by the append with the earliest deadline of those that had begun; appends without a deadline
       are alike but for their start, so only those with one stand in a heap
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np

from checkers import words
from checkers.columns import FAIL, FOREVER, NONE
from checkers.finding import finding
from checkers.found import Found, Numbers
from checkers.intervals import Intervals
from checkers.part import Rows
from model.verdict import Witness

_Misfit = tuple[int, int]
"""A row, and the lowest offset that it would have had to take: it ended before anybody can have written there."""


class Holes:
    """The holes of one log, and who may fill them."""

    def __init__(self, of: Intervals, *, one_epoch: bool = False) -> None:
        self.of, self.one_epoch = of, one_epoch
        self.count: int = of.longest - int(of.places.known_below(np.array([of.longest]))[0])
        self.floating: Rows = of.places.floating

    def offsets(self) -> Numbers:
        """All of them: ask only when they are few."""
        edges = np.concatenate([[NONE], self.of.places.known, [self.of.longest]])
        gaps = np.maximum(np.diff(edges) - 1, 0)
        begins = np.repeat(edges[:-1] + 1 - (np.cumsum(gaps) - gaps), gaps)
        return begins + np.arange(len(begins))

    def first(self) -> int:
        """The lowest."""
        known = self.of.places.known
        expected = np.arange(len(known))
        wrong = np.flatnonzero(known != expected)
        return int(wrong[0]) if len(wrong) else len(known)

    def latest_write(self, offsets: Numbers) -> Numbers:
        """ub: an offset was written not after the end of whoever proves that it exists."""
        return self.of.earliest_ends.beyond(offsets)

    def earliest_write(self, offsets: Numbers) -> Numbers:
        """lb: and not before the start of whoever saw the log end there or below; -1 = any time.

        Answers of several leader epochs may be stale, so they bound nothing then (3.8).
        """
        rows = self.bounding_rows()
        bounds, starts = self.of.bound[rows], self.of.part.start[rows]
        order = np.argsort(bounds, kind="stable")
        latest = np.append(NONE, np.maximum.accumulate(starts[order]))
        return latest[np.searchsorted(bounds[order], offsets, side="right")]

    def bounding_rows(self) -> Rows:
        of = self.of
        bounded = of.bound != FOREVER
        if of.mode.freshness == "fenced" and not self.one_epoch:
            bounded = bounded & of.part.is_append
        return np.flatnonzero(bounded)

    # -- who proves it --------------------------------------------------------------------------------------------------

    def provers(self, offsets: Numbers) -> Rows:
        """Who proves first that each of these exists; where nobody ever ended who does, whoever saw the longest log."""
        first = self.of.proofs.first_beyond(offsets)
        return np.where(first == NONE, np.argmax(self.of.length), first)

    def bounder(self, offset: int) -> int:
        """Who saw last that the log does not reach beyond this offset."""
        rows = self.bounding_rows()
        rows = rows[self.of.bound[rows] <= offset]
        return int(rows[np.argmax(self.of.part.start[rows])])


def check_holes(of: Intervals, *, one_epoch: bool = False) -> tuple[Found, ...]:
    """Of a dense log whose history is complete."""
    holes = Holes(of, one_epoch=one_epoch)
    if of.retry:
        return _of_copies(holes)
    if holes.count > len(holes.floating):
        return _too_many(holes)
    return _matched(holes)


def _too_many(holes: Holes) -> tuple[Found, ...]:
    return _unfillable(holes, np.array([holes.first()]), total=holes.count)


def _of_copies(holes: Holes) -> tuple[Found, ...]:
    """3.7 A copy of any append fills a hole, so all are filled if the lowest is: who began in time for it is in time for all."""
    part = holes.of.part
    if holes.count == 0:
        return ()
    lowest = np.array([holes.first()])
    starts = part.start[part.is_append & (part.outcome != FAIL)]
    fillable = len(starts) and int(starts.min()) <= int(holes.latest_write(lowest)[0])
    return () if fillable else _unfillable(holes, lowest, total=holes.count)


def _matched(holes: Holes) -> tuple[Found, ...]:
    """The matching itself: each hole, then those that are left over."""
    part, floating = holes.of.part, holes.floating
    has_deadline = holes.of.end[floating] != FOREVER
    if holes.count == 0 and not has_deadline.any():
        return ()
    acked, open_ended = floating[has_deadline], floating[~has_deadline]
    offsets = holes.offsets()
    unfilled, misfits = _fill(holes, offsets, acked, np.sort(part.start[open_ended]))
    return (*_unfillable(holes, np.array(unfilled, np.int64)), *_lost_acks(holes, misfits))


def _fill(holes: Holes, offsets: Numbers, acked: Rows, starts: Numbers) -> tuple[list[int], list[_Misfit]]:
    """Holes that stay empty, and acknowledged appends that fit nowhere. `starts`: of the appends without a deadline."""
    part, end = holes.of.part, holes.of.end
    acked = acked[np.argsort(part.start[acked], kind="stable")]
    latest = holes.latest_write(offsets)
    earliest = holes.earliest_write(offsets) if len(acked) else np.full(len(offsets), NONE)  # it only ever binds those
    begun = np.searchsorted(part.start[acked], latest, side="right").tolist()
    spare = np.searchsorted(starts, latest, side="right").tolist()
    queue = list(zip(end[acked].tolist(), acked.tolist(), strict=True))
    heap: list[tuple[int, int]] = []
    unfilled: list[int] = []
    misfits: list[_Misfit] = []
    taken = used = 0
    for i, (offset, not_before) in enumerate(zip(offsets.tolist(), earliest.tolist(), strict=True)):
        while taken < begun[i]:
            heapq.heappush(heap, queue[taken])
            taken += 1
        while heap and heap[0][0] < not_before:
            misfits.append((heapq.heappop(heap)[1], offset))
        if heap:
            heapq.heappop(heap)
        elif used < spare[i]:
            used += 1
        else:
            unfilled.append(offset)
    return unfilled, [*misfits, *_behind_the_end(holes, sorted([*heap, *queue[taken:]]))]


def _behind_the_end(holes: Holes, left: list[tuple[int, int]]) -> Iterator[_Misfit]:
    """Who filled no hole lies behind everything that is known, one after the other."""
    if not left:
        return
    end = holes.of.longest
    earliest = holes.earliest_write(end + np.arange(len(left))).tolist()
    used = 0
    for deadline, row in left:
        if deadline < earliest[used]:
            yield row, end + used
        else:
            used += 1


# -- telling ------------------------------------------------------------------------------------------------------------


def _unfillable(holes: Holes, offsets: Numbers, total: int | None = None) -> tuple[Found, ...]:
    if not len(offsets):
        return ()
    of = holes.of
    provers = holes.provers(offsets)

    def tell(i: int) -> Witness:
        offset, row = int(offsets[i]), int(provers[i])
        more = "" if total is None or total == 1 else f" Nor {total - 1} others."
        saw = f"{words.process(of.part, row)} {_saw(of, row)}"
        text = f"Offset {of.part.shown(offset)} exists ({saw}), but no append can have written it.{more}"
        return words.witness(of.part, text, [row], offset=offset)

    return finding(of.part, "unfillable_hole", (provers,), tell, offset=offsets, total=total)


def _saw(of: Intervals, row: int) -> str:
    """`saw length 20`"""
    length = of.part.shown(int(of.length[row]))
    return f"was acknowledged at {length - 1}" if of.part.is_append[row] else f"saw length {length}"


def _lost_acks(holes: Holes, misfits: list[_Misfit]) -> tuple[Found, ...]:
    part = holes.of.part
    rows = np.array([row for row, _ in misfits], np.int64)
    bounders = np.array([holes.bounder(offset) for _, offset in misfits], np.int64)

    def tell(i: int) -> Witness:
        row, other, offset = int(rows[i]), int(bounders[i]), misfits[i][1]
        text = (
            f"{words.process(part, row)}'s append of {words.value(int(part.value[row]))} was acknowledged "
            f"({words.interval(part, row)}), but fits nowhere: at {words.seconds(part.start[other])} "
            f"offset {part.shown(offset)} was still to be written, as {words.process(part, other)} saw, "
            f"and everything below is another's."
        )
        return words.witness(part, text, [row, other], about=int(part.value[row]))

    return finding(part, "lost_ack", (rows, bounders), tell)
