"""checkers/writers.py: which append wrote a value.

In     the values of a partition's appends
Out    `find`: for any values the row of the append that wrote each, or -1 (CHECKERS 3.4 step 2)
Keeps  linear time and memory: values that describe themselves (1.3) are found in a table over (process, counter), small ones in a
       table over all of them; only foreign ones are sorted
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from checkers.columns import NONE
from checkers.found import Numbers
from checkers.part import Rows
from model.value import COUNTER_BITS, LAST_COUNTER, LAST_PROCESS, PROCESS_BITS

Table = npt.NDArray[np.int32]


class RepeatedValue(ValueError):
    """Two appends of one value cannot be told apart (4.5)."""


def room(count: int) -> int:
    """3.6: how large a table may be beside so many entries."""
    return 8 * count + 2**20


class Writers:
    """The appends of one partition, by value."""

    def __init__(self, rows: Rows, values: Numbers) -> None:
        self._rows = rows
        self._seek = _seeker(values)
        if not np.array_equal(self._seek(values), np.arange(len(values))):
            raise RepeatedValue("append values repeat: two writes of one value cannot be told apart")

    def find(self, values: Numbers) -> Rows:
        """-1: nobody wrote it here."""
        if not len(self._rows):
            return np.full(len(values), NONE, np.int64)
        at = self._seek(values)
        return np.where(at == NONE, np.int64(NONE), self._rows[at])


class _Sorted:
    def __init__(self, values: Numbers) -> None:
        self._order = np.argsort(values, kind="stable")
        self._values = values[self._order]

    def __call__(self, values: Numbers) -> Numbers:
        at = np.minimum(np.searchsorted(self._values, values), len(self._values) - 1)
        return np.where(self._values[at] == values, self._order[at], NONE)


class _Small:
    """Values that lie close together."""

    def __init__(self, values: Numbers, low: int, high: int) -> None:
        self._low = low
        self._table: Table = np.full(high - low + 2, NONE, np.int32)
        self._table[values - low] = np.arange(len(values))

    def __call__(self, values: Numbers) -> Numbers:
        last = len(self._table) - 1  # where nobody ever wrote
        inside = (values >= self._low) & (values < self._low + last)
        return self._table[np.where(inside, values - self._low, last)].astype(np.int64)


class _SelfDescribing:
    """Values of one run: each process counts its own."""

    def __init__(self, values: Numbers, tag: int, written: Numbers) -> None:
        """`written`: how many values each process has, by its number."""
        self._tag, self._written = tag, np.append(written, 0)
        self._base = np.cumsum(self._written) - self._written
        self._table: Table = np.full(int(self._written.sum()) + 1, NONE, np.int32)
        self._table[self._slot(values)] = np.arange(len(values))

    def _slot(self, values: Numbers) -> Numbers:
        process = np.minimum((values >> COUNTER_BITS) & LAST_PROCESS, len(self._written) - 1)
        counter = values & LAST_COUNTER
        ours = ((values >> (PROCESS_BITS + COUNTER_BITS)) == self._tag) & (counter < self._written[process])
        return np.where(ours, self._base[process] + counter, len(self._table) - 1)

    def __call__(self, values: Numbers) -> Numbers:
        return self._table[self._slot(values)].astype(np.int64)


def _seeker(values: Numbers) -> _Sorted | _Small | _SelfDescribing:
    if not len(values):
        return _Sorted(values)
    low, high = int(values.min()), int(values.max())
    if high - low < room(len(values)):
        return _Small(values, low, high)
    tag = low >> (PROCESS_BITS + COUNTER_BITS)
    if tag == high >> (PROCESS_BITS + COUNTER_BITS) and low >= 0:
        process = (values >> COUNTER_BITS) & LAST_PROCESS
        written = np.zeros(int(process.max()) + 1, np.int64)
        np.maximum.at(written, process, (values & LAST_COUNTER) + 1)
        if int(written.sum()) < room(len(values)):
            return _SelfDescribing(values, tag, written)
    return _Sorted(values)
