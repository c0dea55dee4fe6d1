"""tests/checkers/two_judges.py: the fast checker and the one that tries all orders, over the same random histories.

In     numbers, each of which is a history of one mode
Out    `Judged`: what both said of each. Histories are looked at many at a time, each as a partition of one table (3.3)
Keeps  a number gives the same history for ever; where the judges disagree, the history is told in the notation of 8.1
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from checkers import log
from checkers.columns import Columns
from checkers.found import Checked
from checkers.mode import Mode
from checkers.part import parts
from model.history import to_table
from model.operation import Row
from tests.checkers.brute_force import is_linearizable, operations
from tests.checkers.notation import spell
from tests.checkers.random_histories import random_history

_AT_ONCE = 500


@dataclass(frozen=True)
class Judged:
    """One history, and both opinions."""

    number: int
    mode: Mode
    history: list[Row]
    has_an_order: bool
    found: tuple[str, ...]
    """Names of what the fast checker found at level committed."""

    @property
    def agreed(self) -> bool:
        return self.has_an_order is not bool(self.found)

    def told(self) -> str:
        orders = "some order" if self.has_an_order else "no order"
        mode = f"{self.mode.density}/{self.mode.copies}"
        return f"history {self.number}, {mode}: {orders}, found {', '.join(self.found) or 'nothing'}: {spell(self.history)}"


def numbered(number: int, mode: Mode, *, mutations: int | None = None, floating: bool | None = None) -> list[Row]:
    rng = random.Random(f"{mode.density} {mode.copies} {number}")
    return random_history(rng, mode, mutations, floating)


def judged(numbers: Sequence[int], mode: Mode, floating: bool | None = None) -> Iterator[Judged]:
    for at in range(0, len(numbers), _AT_ONCE):
        some = numbers[at : at + _AT_ONCE]
        histories = [numbered(number, mode, floating=floating) for number in some]
        for number, history, checked in zip(some, histories, looked_at(as_table(histories), mode), strict=True):
            names = tuple(found.name for found in checked.found if found.level == "committed")
            yield Judged(number, mode, history, has_an_order(history, mode), names)


def has_an_order(history: Sequence[Row], mode: Mode) -> bool:
    return is_linearizable(operations(history), sparse=mode.density == "sparse", retry=mode.copies == "retry")


def as_table(histories: Sequence[Sequence[Row]]) -> pa.Table:
    """The i-th history is partition i."""
    rows = []
    for partition, history in enumerate(histories):
        for row in history:
            row.partition = partition
            rows.append(row)
    for op, row in enumerate(rows):
        row.op = op
    return to_table(rows)


def looked_at(table: pa.Table, mode: Mode) -> list[Checked]:
    """What the fast checker says of each partition."""
    return [log.check_log(part, mode) for part in parts(Columns(table))]
