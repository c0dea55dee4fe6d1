"""harness/trace_fold.py: operations with nothing in between, told as one line.

In     the lines that are to be shown, each with what stands beside it
Out    the same, but a stretch of operations has become one line that counts outcomes and errors
Keeps  an operation whose outcome is unknown stays a line of its own: that is what a reader looks for
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from harness.trace_lines import CLIENTS, Glyph, TraceLine
from harness.trace_words import counted
from model.operation import WRITES, Row

Beside = tuple[TraceLine, str]


def folded(lines: Iterable[Beside]) -> Iterator[Beside]:
    """A stretch has its first line's time and columns."""
    stretch: list[Beside] = []
    for line, beside in lines:
        if stretch and not _belongs(line, stretch[-1][0]):
            yield _one([each for each, _ in stretch]), stretch[0][1]
            stretch = []
        if _may_fold(line):
            stretch.append((line, beside))
        else:
            yield line, beside
    if stretch:
        yield _one([each for each, _ in stretch]), stretch[0][1]


def _may_fold(line: TraceLine) -> bool:
    return line.row is not None and line.row.type != "info"


def _belongs(line: TraceLine, last: TraceLine) -> bool:
    """The final read is told apart from what was before it."""
    return _may_fold(line) and line.row is not None and last.row is not None and line.row.final == last.row.final


def _one(stretch: Sequence[TraceLine]) -> TraceLine:
    """`147 operations until 2.987654 s: 146 ok, appends up to 127; 1 fail, OFFSET_OUT_OF_RANGE`"""
    rows = [line.row for line in stretch if line.row is not None]
    if len(rows) == 1:
        return stretch[0]
    parts = [_ok([row for row in rows if row.type == "ok"]), _fail([row for row in rows if row.type == "fail"])]
    what = counted(len(rows), "operation") + (" of the final read" if rows[0].final else "")
    text = f"{what} until {stretch[-1].at_ns / 10**9:.6f}: {'; '.join(filter(None, parts))}"
    glyph = Glyph.OK if any(row.type == "ok" for row in rows) else Glyph.FAIL
    return msgspec.structs.replace(stretch[0], text=text, marks=((CLIENTS, glyph),), row=None)


def _ok(rows: Sequence[Row]) -> str:
    if not rows:
        return ""
    written = [row for row in rows if row.kind in WRITES and row.offset is not None]
    places = {(row.topic, row.partition) for row in written}
    last = max((row.offset for row in written if row.offset is not None), default=None)
    return f"{len(rows):,} ok" + (f", appends up to {last}" if last is not None and len(places) == 1 else "")


def _fail(rows: Sequence[Row]) -> str:
    errors = Counter(row.error or "for no reason told" for row in rows)
    each = ", ".join(error if len(errors) == 1 else f"{error} {count:,}" for error, count in errors.most_common())
    return f"{len(rows):,} fail, {each}" if rows else ""
