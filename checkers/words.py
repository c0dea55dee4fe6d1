"""checkers/words.py: the pieces that witnesses are told with (CHECKERS 7.4, 7.5).

In     a `Part` and its rows
Out    times, processes, values and offsets as people read them; the shape of a proof, which knows none of these; a `Witness`
Keeps  at most 8 operations and 8 values in a witness (7.3), whatever it is about
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from checkers.columns import APPEND, END_OFFSET, FOREVER, NONE
from checkers.part import Part
from model.value import COUNTER_BITS, LAST_TAG, PROCESS_BITS, spoken, writer_of
from model.verdict import Witness

MOST_OPERATIONS: Final = 8
MOST_VALUES: Final = 8
_ACKS = {-1: "all", 0: "0", 1: "1"}


def seconds(ns: int) -> str:
    """`3.214 s`"""
    return f"{int(ns) / 10**9:.3f} s"


def interval(part: Part, row: int) -> str:
    """`9.020-9.310 s`; of an operation that is open for ever only its start."""
    start, end = int(part.start[row]), int(part.end[row])
    return f"{start / 10**9:.3f} s on" if end == FOREVER else f"{start / 10**9:.3f}-{end / 10**9:.3f} s"


def process(part: Part, row: int) -> str:
    """`p7`"""
    return f"p{int(part.process[row])}"


def value(number: int) -> str:
    """`v(p7#12)` of a value that describes itself (1.3); a small one, of another's history, as it is."""
    return spoken(int(number)) if describes_itself(number) else str(int(number))


def describes_itself(number: int) -> bool:
    return int(number) >> (PROCESS_BITS + COUNTER_BITS) > 0


def tag(number: int) -> str:
    """`run tag 0x1f2`, of a value that nobody here wrote."""
    return f"run tag {writer_of(int(number)).tag & LAST_TAG:#x}"


def acks(part: Part, row: int) -> str:
    """`acks=all`"""
    return f"acks={_ACKS[int(part.acks[row])]}"


def how_seen(part: Part, row: int) -> str:
    """`read, 5.100 s`"""
    return f"{'acknowledged' if part.is_append[row] else 'read'}, {seconds(part.end[row])}"


def some(words: Sequence[str], most: int = MOST_VALUES) -> str:
    """`a, b, c and 12 more`"""
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more


def proved(part: Part, row: int, length: int) -> str:
    """`p7 proved length 42 (append acknowledged at 41, 3.214 s)`: how an operation shows that the log has this length."""
    end = seconds(part.end[row])
    if part.kind[row] == APPEND:
        how = f"append acknowledged at {part.shown(length - 1)}, {end}"
    elif part.kind[row] == END_OFFSET:
        how = f"the end was told to be {part.shown(length)}, {end}"
    else:
        how = f"read up to {part.shown(length - 1)}, {end}"
    return f"{process(part, row)} proved length {part.shown(length)} ({how})"


def shape(part: Part, rows: Sequence[int], epochs: Sequence[int] = ()) -> str:
    """7.5 The operations in the order of the proof as letters, the same or another process between them, and how the epochs of
    the last two stand to each other where both are known (-1 = unknown)."""
    letters = part.letter(rows[0]) if len(rows) else ""
    for before, row in pairwise(rows):
        letters += ("=" if part.process[before] == part.process[row] else "≠") + part.letter(row)
    if len(epochs) < 2 or min(epochs[-2:]) == NONE:
        return letters
    first, last = epochs[-2:]
    return f"{letters},e{'=' if first == last else '+' if last > first else '-'}"


def witness(  # noqa: PLR0913  each is one thing that a witness says
    part: Part,
    text: str,
    rows: Sequence[int],
    *,
    offset: int | None = None,
    about: int | None = None,
    known_by: int | None = None,
    epochs: Sequence[int] = (),
    window: tuple[int, int] | None = None,
) -> Witness:
    """A witness of these rows, which stand in the order of the proof. `offset` counts from the log start; `about`: the value.

    `window`: without one, from the first start to the last end of its operations (6.1).
    `known_by`: who else knows what the others left out. It may be anybody, so it is no part of the shape.
    """
    proof = list(dict.fromkeys(int(row) for row in rows))
    shown = list(dict.fromkeys([*proof, *([] if known_by is None else [int(known_by)])]))[:MOST_OPERATIONS]
    ends = np.where(part.end[shown] == FOREVER, part.start[shown], part.end[shown])
    return Witness(
        text=text,
        ops=tuple(int(part.op[row]) for row in shown),
        offset=None if offset is None else part.shown(offset),
        value=None if about is None else int(about),
        from_ns=int(part.start[shown].min(initial=FOREVER)) if window is None else window[0],
        to_ns=int(ends.max(initial=0)) if window is None else window[1],
        shape=shape(part, proof, epochs),
    )
