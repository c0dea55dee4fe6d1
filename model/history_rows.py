"""model/history_rows.py: a table that nobody has checked yet, as columns of numbers that can be asked about.

In     any table of the canonical schema, its values whatever they may be
Out    numpy arrays: numbers with where they are missing, words as masks, lists as lengths and one flat array
Keeps  each column converted once, and only when asked for
Not    what may stand there: model/history_checks.py; columns for checkers, which may trust them: checkers/columns.py
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]


class Rows:
    """The columns of one table, or of a piece of it."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table
        self.count: int = table.num_rows
        self.column = cache(self._column)
        self.numbers = cache(self._numbers)
        self.lengths = cache(self._lengths)

    def _column(self, name: str) -> Any:
        column = self.table.column(name)
        return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()

    def unused(self, name: str) -> bool:
        """Nobody said anything here, which is true of most columns."""
        missing: int = self.table.column(name).null_count
        return missing == self.count

    def missing(self, name: str) -> Mask:
        if self.table.column(name).null_count == 0:
            return np.zeros(self.count, bool)
        missing: Mask = self.column(name).is_null().to_numpy(zero_copy_only=False)
        return missing

    def _numbers(self, name: str) -> Any:
        """0 where there is none: ask `missing` first."""
        column = self.column(name)
        return (column.fill_null(0) if column.null_count else column).to_numpy(zero_copy_only=False)

    def outside(self, name: str, least: int, greatest: int) -> Mask | None:
        """Which rows hold a number that is none of these; None when no row does."""
        if self.unused(name):
            return None
        seen = pc.min_max(self.column(name)).as_py()
        if least <= seen["min"] and seen["max"] <= greatest:
            return None
        numbers = self.numbers(name)
        wrong: Mask = ((numbers < least) | (numbers > greatest)) & ~self.missing(name)
        return wrong

    # -- words ------------------------------------------------------------------------------------------------------------

    def codes(self, name: str) -> Any:
        """For each row the number of its word; -1: none."""
        indices = self.column(name).indices
        return (indices.fill_null(-1) if indices.null_count else indices).to_numpy(zero_copy_only=False)

    def words(self, name: str) -> list[str]:
        words: list[str] = self.column(name).dictionary.to_pylist()
        return words

    def is_word(self, name: str, *wanted: str) -> Mask:
        mine = [code for code, word in enumerate(self.words(name)) if word in wanted]
        codes = self.codes(name)
        mask: Mask = codes == mine[0] if len(mine) == 1 else np.isin(codes, mine)
        return mask

    # -- lists ------------------------------------------------------------------------------------------------------------

    def _lengths(self, name: str) -> Any:
        """-1 where there is no list, which is not an empty one."""
        if self.unused(name):
            return np.broadcast_to(np.int32(-1), self.count)
        return pc.list_value_length(self.column(name)).fill_null(-1).to_numpy(zero_copy_only=False)

    def flat(self, name: str) -> pa.Array:
        return self.column(name).flatten()

    def row_of_entry(self, name: str, entry: int) -> int:
        """Which row's list holds this entry of the flat array."""
        ends = np.cumsum(np.maximum(self.lengths(name), 0), dtype=np.int64)
        return int(np.searchsorted(ends, entry, side="right"))

    # -- one row ----------------------------------------------------------------------------------------------------------

    def value(self, name: str, row: int) -> Any:
        return self.table.column(name)[row].as_py()
