"""checkers/finding.py: from the operations that prove something to a `Found`.

In     for each instance the rows of its proof, as one array per place in the proof; -1 where an instance has none there
Out    a `Found` with the times that follow: its window is from the first start to the last end of the proof (CHECKERS 6.1)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from checkers.columns import FOREVER, NONE
from checkers.found import Found, Numbers
from checkers.part import Part, Rows
from model.verdict import Level, Witness


def finding(
    part: Part, name: str, rows: Sequence[Rows], tell: Callable[[int], Witness], level: Level = "committed", **facts: Any
) -> tuple[Found, ...]:
    """Nothing, where there is no instance. `facts` replace what would follow from the rows, or add to it; an `offset` among them
    counts from the log start like all others in here, and is told as the cluster counts it."""
    if not len(rows[0]):
        return ()
    from_ns, to_ns = window(part, rows)
    times = {"from_ns": from_ns, "to_ns": to_ns, "proof_ns": to_ns}
    if "offset" in facts:
        facts["offset"] = np.where(facts["offset"] == NONE, np.int64(NONE), facts["offset"] + part.log_start)
    return (Found(name=name, level=level, at=part.at, tell=tell, **{**times, **facts}),)


def window(part: Part, rows: Sequence[Rows]) -> tuple[Numbers, Numbers]:
    """Of operations that never ended only the start is known. What a deposed leader said reaches back to its end."""
    first, last = np.full(len(rows[0]), FOREVER, np.int64), np.full(len(rows[0]), NONE, np.int64)
    for each in rows:
        there = each != NONE
        start, end = part.start[each], part.end[each]
        first = np.where(there, np.minimum(first, part.since[each]), first)
        last = np.where(there, np.maximum(last, np.where(end == FOREVER, start, end)), last)
    return first, last
