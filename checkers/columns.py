"""checkers/columns.py: a history's table as numbers, converted once.

In     the canonical table of model/history.py, in any order of rows
Out    `Columns`: one numpy array per column. Null is -1 from here on, and only here: no stored table knows it (CHECKERS 1.2);
       kinds and outcomes are small fixed numbers; the end of an `info` operation is FOREVER (2.5)
Keeps  a column that nobody used costs no memory; lists stay flat, with where each row's begins and how long it is
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from checkers.found import Flags, Numbers
from model.operation import KINDS, TYPES

NONE: Final = -1
FOREVER: Final = 2**63 - 1
APPEND, READ, END_OFFSET = KINDS.index("append"), KINDS.index("read"), KINDS.index("end_offset")
START_OFFSET, POLL, ASSIGN = KINDS.index("start_offset"), KINDS.index("poll"), KINDS.index("assign")
OK, FAIL, INFO = TYPES.index("ok"), TYPES.index("fail"), TYPES.index("info")
LETTERS = {APPEND: "A", READ: "R", END_OFFSET: "E", START_OFFSET: "O", POLL: "P", ASSIGN: "S"}

Small = npt.NDArray[np.int8]


@dataclass(frozen=True)
class Lists:
    """A column of lists: everything in one array, and which piece of it each row has."""

    flat: Numbers
    lengths: Numbers

    @cached_property
    def starts(self) -> Numbers:
        return np.cumsum(self.lengths) - self.lengths


class Columns:
    """The columns of one table, each converted when it is first asked for."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table
        self.rows: int = table.num_rows
        self._numbers: dict[str, Numbers] = {}

    # -- numbers ----------------------------------------------------------------------------------------------------------

    def number(self, name: str) -> Numbers:
        """-1 where there is none."""
        if name not in self._numbers:
            self._numbers[name] = self._number(name)
        return self._numbers[name]

    def _number(self, name: str) -> Numbers:
        column = self._column(name)
        if column.null_count == self.rows:
            return np.broadcast_to(np.int64(NONE), self.rows)
        filled = pc.fill_null(column, NONE) if column.null_count else column
        array: Numbers = filled.to_numpy(zero_copy_only=False)
        return array

    def flag(self, name: str) -> Flags:
        """False where nobody knows."""
        column = self._column(name)
        if column.null_count == self.rows:
            return np.broadcast_to(np.False_, self.rows)
        array: Flags = pc.fill_null(column, False).to_numpy(zero_copy_only=False)
        return array

    @cached_property
    def start(self) -> Numbers:
        return self.number("start_ns")

    @cached_property
    def end(self) -> Numbers:
        """2.5: an operation that ended `info` may take effect any time later."""
        return np.where(self.outcome == INFO, np.int64(FOREVER), self.start + self.number("took_ns"))

    # -- words ------------------------------------------------------------------------------------------------------------

    @cached_property
    def kind(self) -> Small:
        return self._coded("kind", KINDS)

    @cached_property
    def outcome(self) -> Small:
        return self._coded("type", TYPES)

    def words(self, name: str) -> tuple[Numbers, list[str]]:
        """For each row the number of its word, and the words."""
        column = self._column(name)
        if column.null_count == self.rows:
            return np.broadcast_to(np.int64(NONE), self.rows), []
        indices = pc.fill_null(column.indices, NONE) if column.null_count else column.indices
        return indices.to_numpy(zero_copy_only=False), column.dictionary.to_pylist()

    def _coded(self, name: str, words: tuple[str, ...]) -> Small:
        indices, found = self.words(name)
        codes = np.array([words.index(word) for word in found] + [NONE], np.int8)
        return codes[indices]

    # -- lists ------------------------------------------------------------------------------------------------------------

    @cached_property
    def values(self) -> Lists:
        return self._lists("values")

    @cached_property
    def offsets(self) -> Lists:
        return self._lists("offsets")

    @cached_property
    def epochs(self) -> Lists:
        return self._lists("epochs")

    def _lists(self, name: str) -> Lists:
        column = self._column(name)
        if column.null_count == self.rows:
            return Lists(np.empty(0, np.int64), np.broadcast_to(np.int64(0), self.rows))
        lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
        return Lists(column.flatten().to_numpy(zero_copy_only=False), lengths.astype(np.int64))

    def _column(self, name: str) -> Any:
        column = self.table.column(name)
        return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
