"""tests/checkers/looking.py: what the checkers of histories see in a few lines of notation, in words short enough to compare.

In     histories in the notation of 8.1, or rows; the mode; rows of `changes`
Out    `seen`: per finding its name, the operations of its witness that are part of the proof, and what else a test asks about
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from checkers.columns import Columns
from checkers.durability import check_durability
from checkers.final_read import FinalRead
from checkers.found import Checked, Found
from checkers.offices import offices_of
from checkers.part import Part, parts
from checkers.placing import Places
from model.history import to_table
from model.operation import Row
from tests.checkers.notation import rows


def part_of(history: str | Sequence[Row]) -> Part:
    (part,) = parts(Columns(to_table(rows(history) if isinstance(history, str) else list(history))))
    return part


def final_read(history: str) -> FinalRead:
    part = part_of(history)
    return FinalRead(part, Places(part))


def durability(history: str | Sequence[Row], changes: Sequence[Mapping[str, Any]] = (), *, complete: bool = False) -> Checked:
    part = part_of(history)
    places = Places(part)
    return check_durability(part, places, FinalRead(part, places), offices_of(changes, part.at, complete=complete))


def told(found: Found, i: int = 0) -> str:
    """`lost_write committed suffix by final: 2 3`"""
    words = [found.name, found.level]
    words += [str(found.loss_class[i])] if found.loss_class is not None else []
    words += [f"by {found.evidence[i]}"] if found.evidence is not None else []
    return f"{' '.join(words)}: {' '.join(map(str, found.tell(i).ops))}"


def seen(checked: Checked) -> list[str]:
    return [told(found, i) for found in checked.found for i in range(found.count)]
