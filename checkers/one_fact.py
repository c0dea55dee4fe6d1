"""checkers/one_fact.py: one fact, one name, where two checkers saw it (CHECKERS 5.4).

In     what all checkers say
Out    the same without what was said better: a final read that is too short, beside the write or the record that it lacks
Keeps  different facts keep their names; a short final read that nothing is known to be missing from stays a stale_read
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from checkers.found import Checked, Found
from checkers.part import Rows
from model.cluster import TopicPartition

_SAYS_BETTER = frozenset({"lost_write", "vanished_read"})


def one_fact_one_name(checked: Sequence[Checked]) -> list[Checked]:
    missing = {found.at for each in checked for found in each.found if found.name in _SAYS_BETTER}
    return [replace(each, found=tuple(_without_repeats(each.found, missing))) for each in checked]


def _without_repeats(several: Iterable[Found], missing: set[TopicPartition]) -> Iterator[Found]:
    for found in several:
        if found.name != "stale_read" or found.evidence is None or found.at not in missing:
            yield found
        elif len(kept := np.flatnonzero(found.evidence != "final")):
            yield only(found, kept)


def only(found: Found, rows: Rows) -> Found:
    """These instances of it."""
    values: dict[str, Any] = {field.name: getattr(found, field.name) for field in fields(found)}
    values |= {name: value[rows] for name, value in values.items() if isinstance(value, np.ndarray)}
    return Found(**{**values, "tell": lambda i: found.tell(int(rows[i]))})
