"""checkers/one_fact.py: one fact, one name, where two checkers saw it (CHECKERS 5.4).

In     what all checkers say
Out    the same without what was said better: a final read that is too short, beside the write or the record that it lacks
Keeps  different facts keep their names; a short final read that nothing is known to be missing from stays a stale_read
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from checkers.columns import FOREVER, NONE
from checkers.found import Checked, Found
from checkers.part import Rows
from model.cluster import TopicPartition

_SAYS_BETTER = frozenset({"lost_write", "vanished_read"})


def one_fact_one_name(checked: Sequence[Checked]) -> list[Checked]:
    missing: dict[TopicPartition, int] = {}
    for found in (found for each in checked for found in each.found if found.name in _SAYS_BETTER and found.level == "committed"):
        missing[found.at] = max(missing.get(found.at, NONE), _highest(found))
    return [replace(each, found=tuple(_without_repeats(each.found, missing))) for each in checked]


def _highest(found: Found) -> int:
    """The highest offset of what is missing. Where one is not known, it may be any."""
    return FOREVER if found.offset is None or (found.offset == NONE).any() else int(found.offset.max())


def _without_repeats(several: Iterable[Found], missing: Mapping[TopicPartition, int]) -> Iterator[Found]:
    """What is missing lies behind the end that the read found."""
    for found in several:
        if found.name != "stale_read" or found.evidence is None or found.offset is None:
            yield found
            continue
        said = (found.evidence == "final") & (found.offset <= missing.get(found.at, NONE))
        if len(kept := np.flatnonzero(~said)):
            yield only(found, kept)


def only(found: Found, rows: Rows) -> Found:
    """These instances of it."""
    values: dict[str, Any] = {field.name: getattr(found, field.name) for field in fields(found)}
    values |= {name: value[rows] for name, value in values.items() if isinstance(value, np.ndarray)}
    return Found(**{**values, "tell": lambda i: found.tell(int(rows[i]))})
