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
        self._flags: dict[str, Flags] = {}
        self._words: dict[str, tuple[Numbers, list[str]]] = {}

    # -- numbers ----------------------------------------------------------------------------------------------------------

    def number(self, name: str) -> Numbers:
        """-1 where there is none."""
        if name not in self._numbers:
            self._numbers[name] = self.number_or(name, NONE)
        return self._numbers[name]

    def number_or(self, name: str, none: int) -> Numbers:
        """`none` where there is none: for the one column in which -1 means something."""
        column = self._column(name)
        if column.null_count == self.rows:
            return np.broadcast_to(np.int64(none), self.rows)
        return _filled(column, none)

    def flag(self, name: str) -> Flags:
        """False where nobody knows."""
        if name not in self._flags:
            self._flags[name] = self._flag(name)
        return self._flags[name]

    def _flag(self, name: str) -> Flags:
        column = self._column(name)
        if column.null_count == self.rows:
            return np.broadcast_to(np.False_, self.rows)
        validity, values = column.buffers()
        flags = _bits(values, column)
        return flags if column.null_count == 0 else flags & _bits(validity, column)

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
        if name not in self._words:
            self._words[name] = self._numbered(name)
        return self._words[name]

    def _numbered(self, name: str) -> tuple[Numbers, list[str]]:
        column = self._column(name)
        if column.null_count == self.rows:
            return np.broadcast_to(np.int64(NONE), self.rows), []
        return _filled(column.indices, NONE), column.dictionary.to_pylist()

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
        lengths = _filled(pc.list_value_length(column), 0)
        return Lists(column.flatten().to_numpy(zero_copy_only=False), lengths.astype(np.int64))

    def _column(self, name: str) -> Any:
        column = self.table.column(name)
        return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _filled(array: Any, none: int) -> Numbers:
    """The values of an Arrow array of whole numbers, read where they lie; asking Arrow to fill in costs ten times as much."""
    if array.null_count == 0:
        values: Numbers = array.to_numpy(zero_copy_only=False)
        return values
    validity, data = array.buffers()
    values = np.frombuffer(data, array.type.to_pandas_dtype())[array.offset : array.offset + len(array)]
    return np.where(_bits(validity, array), values, values.dtype.type(none))


def _bits(buffer: Any, array: Any) -> Flags:
    """One flag per entry of an array that may be a slice: Arrow keeps eight to a byte, the lowest bit first."""
    first, end = array.offset // 8, (array.offset + len(array) + 7) // 8
    bits = np.unpackbits(np.frombuffer(buffer, np.uint8)[first:end], bitorder="little").view(np.bool_)
    flags: Flags = bits[array.offset - 8 * first :][: len(array)]
    return flags
