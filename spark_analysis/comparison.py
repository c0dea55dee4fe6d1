"""spark_analysis/comparison.py: tonight beside the baseline, cell by cell: new, fixed, flaky, slower.

In     the failures of both
Out    `Comparison`: what has changed, each with counts and an interval; and what nobody can say, because too few runs were made
Keeps  *new* is a signature that the baseline has nowhere, whatever its rate; *fixed* and *slower* are said only where an interval
       says that it is not luck. All comparisons of figures together are right with 95 %, so many cells make no false alarm
Not    the words (harness/analysis_told.py)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final, Literal

import msgspec
import pyarrow as pa

from checkers.signature import short_name
from spark_analysis.failing import COMPARED, Cell, Failing, Failures, First, name_of
from spark_analysis.intervals import CONFIDENCE, Interval, newcombe, welch

What = Literal["new", "new here", "flaky", "still failing", "fixed", "not seen again", "not run again"]
Pace = Literal["slower", "faster"]
ORDER: Final[tuple[str, ...]] = ("new", "new here", "still failing", "flaky", "not seen again", "not run again", "fixed")

ENOUGH: Final = 8
"""Valid runs on each side, from which on figures are compared."""
ENOUGH_FOR_RATES: Final = 5
"""Judged runs on each side, from which on a failure can be called fixed."""
NEGLIGIBLE: Final = 0.05
"""A change that may be smaller than this is not worth a word, however sure."""
SLOWER_IS_MORE: Final = {"recovery_s": True, "append_p99_ms": True, "appends_per_s": False}


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One signature in one cell."""

    what: What
    cell: str
    words: str
    signature: str
    short: str
    name: str
    failing: int
    judged: int
    failing_before: int
    judged_before: int
    rate: Interval
    """The failure rate now less that before, with 95 %."""
    known_in: tuple[str, ...] = ()
    """new here: the cells in which the baseline has it."""
    first: First
    """A run that shows it: of this store, or of the baseline where it is not seen here."""


class Shift(msgspec.Struct, frozen=True, kw_only=True):
    """One figure in one cell: it is so many times what it was."""

    pace: Pace
    cell: str
    words: str
    figure: str
    times: Interval
    now: float
    before: float
    """Of both the geometric mean."""
    valid: int
    valid_before: int


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    changes: tuple[Change, ...] = ()
    shifts: tuple[Shift, ...] = ()
    compared: int = 0
    """Cells that both have."""
    only_here: tuple[str, ...] = ()
    only_there: tuple[str, ...] = ()
    too_few: tuple[str, ...] = ()
    """Cells that both have, with too few valid runs on either side to compare figures."""


def compare(now: Failures, before: Failures) -> Comparison:
    """Pure."""
    both = sorted(now.keys() & before.keys())
    enough = [cell for cell in both if min(now[cell].valid, before[cell].valid) >= ENOUGH]
    changes = sorted(_changes(now, before), key=lambda one: (ORDER.index(one.what), one.cell, -one.failing, one.signature))
    return Comparison(
        changes=tuple(changes),
        shifts=tuple(_shifts(now, before, enough)),
        compared=len(both),
        only_here=tuple(sorted(now.keys() - before.keys())),
        only_there=tuple(sorted(before.keys() - now.keys())),
        too_few=tuple(cell for cell in both if cell not in enough),
    )


# -- failures -----------------------------------------------------------------------------------------------------------


def _changes(now: Failures, before: Failures) -> Iterator[Change]:
    known: dict[str, list[str]] = {}
    for name, cell in sorted(before.items()):
        for signature in cell.failing:
            known.setdefault(signature, []).append(name)
    for name in sorted(now.keys() | before.keys()):
        here, there = now.get(name), before.get(name)
        found = {**(there.failing if there else {}), **(here.failing if here else {})}
        for signature, failing in sorted(found.items()):
            yield _change(name, signature, here, there, failing, tuple(known.get(signature, ())))


def _change(name: str, signature: str, here: Cell | None, there: Cell | None, shown: Failing, known: tuple[str, ...]) -> Change:
    counts = (*_counts(here, signature), *_counts(there, signature))
    what = _what(counts, known, _sure(here, there))
    some = here or there
    return Change(
        what=what,
        cell=name,
        words=some.words if some else "",
        signature=signature,
        short=short_name(signature),
        name=name_of(signature),
        failing=counts[0],
        judged=counts[1],
        failing_before=counts[2],
        judged_before=counts[3],
        rate=newcombe(*counts),
        known_in=known if what == "new here" else (),
        first=shown.first,
    )


def _counts(cell: Cell | None, signature: str) -> tuple[int, int]:
    if cell is None:
        return 0, 0
    failing = cell.failing.get(signature)
    return (failing.runs if failing else 0), cell.judged


def _sure(here: Cell | None, there: Cell | None) -> bool:
    """A cell in which nothing fails any more: one failure of many signatures is fixed with all of them, however rare each."""
    if here is None or there is None or here.broken:
        return False
    return _no_luck(0, here.judged, there.broken, there.judged)


def _no_luck(failing: int, judged: int, failing_before: int, judged_before: int) -> bool:
    """The interval is not to be trusted with a handful of runs."""
    return min(judged, judged_before) >= ENOUGH_FOR_RATES and newcombe(failing, judged, failing_before, judged_before)[1] < 0


def _what(counts: tuple[int, int, int, int], known: tuple[str, ...], sure: bool) -> What:
    failing, judged, failing_before, judged_before = counts
    if failing and not failing_before:
        return "new here" if known else "new"
    if failing:
        return "flaky" if failing < judged and failing_before < judged_before else "still failing"
    if not judged:
        return "not run again"
    return "fixed" if sure or _no_luck(*counts) else "not seen again"


# -- figures ------------------------------------------------------------------------------------------------------------


def _shifts(now: Failures, before: Failures, cells: list[str]) -> Iterator[Shift]:
    """The more comparisons, the surer each has to be."""
    tests = [
        (cell, figure)
        for cell in cells
        for figure in COMPARED
        if min(now[cell].figures[figure].count, before[cell].figures[figure].count) >= ENOUGH
    ]
    confidence = 1 - (1 - CONFIDENCE) / max(1, len(tests))
    for cell, figure in tests:
        after, earlier = now[cell].figures[figure], before[cell].figures[figure]
        low, high = welch(after, earlier, confidence)
        if min(abs(low), abs(high)) <= math.log1p(NEGLIGIBLE) or (low < 0 < high):
            continue
        yield Shift(
            pace="slower" if (low > 0) == SLOWER_IS_MORE[figure] else "faster",
            cell=cell,
            words=now[cell].words,
            figure=figure,
            times=(math.exp(low), math.exp(high)),
            now=math.exp(after.mean),
            before=math.exp(earlier.mean),
            valid=now[cell].valid,
            valid_before=before[cell].valid,
        )


# -- the table ----------------------------------------------------------------------------------------------------------

_INTERVAL = pa.struct({"low": pa.float64(), "high": pa.float64()})
COMPARISON: Final = pa.schema(
    {
        "what": pa.string(),  # a change, or slower, faster
        "cell": pa.string(),
        "words": pa.string(),
        "signature": pa.string(),
        "short": pa.string(),
        "name": pa.string(),
        "failing": pa.int64(),
        "judged": pa.int64(),
        "failing_before": pa.int64(),
        "judged_before": pa.int64(),
        "rate": _INTERVAL,  # of failures, now less before
        "known_in": pa.list_(pa.string()),
        "campaign": pa.string(),
        "number": pa.int64(),
        "figure": pa.string(),
        "times": _INTERVAL,  # what it was
        "now": pa.float64(),
        "before": pa.float64(),
    }
)


def to_table(found: Comparison) -> pa.Table:
    """Changes first, then shifts."""
    return pa.Table.from_pylist([*map(_change_row, found.changes), *map(_shift_row, found.shifts)], schema=COMPARISON)


def _change_row(change: Change) -> dict[str, Any]:
    row = msgspec.structs.asdict(change)
    return row | {"rate": _bounds(change.rate), "campaign": change.first.campaign, "number": change.first.number}


def _shift_row(shift: Shift) -> dict[str, Any]:
    row = msgspec.structs.asdict(shift)
    return row | {"what": shift.pace, "times": _bounds(shift.times)}


def _bounds(interval: Interval) -> dict[str, float]:
    return {"low": interval[0], "high": interval[1]}
