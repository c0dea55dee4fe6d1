"""model/history_file.py: a history in Parquet that somebody else wrote, or that lay on a disk for a year.

In     a path
Out    record batches of the canonical schema, row group by row group; which row is which, for people
Keeps  every page is held against its checksum, every number against its column's range, every text against UTF-8; whatever is
       wrong is one sentence: row group, row, field, what was found, what was expected. One piece of a row group at a time
Not    what operations may not say: model/history_checks.py; runs of the store, which have been checked: model/history.py
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from model.history import SCHEMA, SCHEMA_VERSION, conform, open_parquet
from model.refusal import Refusal, UnusableFile

ROWS_AT_ONCE = 65_536
_DAMAGE = (pa.ArrowException, OSError, MemoryError, ValueError, OverflowError, TypeError)
"""What pyarrow raises on damaged files, its own exceptions and those of the conversions under it."""


class ParquetRows:
    """The reader. `name` is what a refusal calls the file."""

    def __init__(self, path: Path, name: str) -> None:
        self._name = name
        try:
            self._file = open_parquet(path, name, distrust=True)
            schema = self._file.schema_arrow
            metadata = {key.decode(): value.decode() for key, value in (self._file.metadata.metadata or {}).items()}
        except (Refusal, *_DAMAGE) as error:
            raise UnusableFile(f"found what cannot be read ({_said(error)}), expected a whole Parquet file", where=name) from None
        _check_metadata(metadata, schema, name)
        self._columns = _known_columns(schema, name, ours="tidemark.schema" in metadata)
        groups = self._file.metadata.num_row_groups
        self._begins = [0]
        for group in range(groups):
            self._begins.append(self._begins[-1] + self._file.metadata.row_group(group).num_rows)
        self.rows = self._begins[-1]
        """As many as the file says it has."""
        self.run_id = metadata.get("run_id")

    def place(self, row: int) -> str:
        """Row groups and their rows count from 0, as every tool for Parquet counts them."""
        group = max(bisect_right(self._begins, row) - 1, 0)
        return f"{self._name}, row group {group}, row {row - self._begins[group]}"

    def batches(self) -> Iterator[pa.RecordBatch]:
        for group, begin in enumerate(self._begins[:-1]):
            done = begin
            for batch in self._of_group(group):
                done += batch.num_rows
                yield batch
            if done != self._begins[group + 1]:
                found, expected = done - begin, self._begins[group + 1] - begin
                raise UnusableFile(f"found {found} rows, expected {expected}", where=f"{self._name}, row group {group}")

    def _of_group(self, group: int) -> Iterator[pa.RecordBatch]:
        done = self._begins[group]
        try:
            pieces = self._file.iter_batches(ROWS_AT_ONCE, row_groups=[group], columns=self._columns, use_threads=False)
            for piece in pieces:
                _check_columns(piece, self.place(done))
                table = _in_range(pa.Table.from_batches([piece]), lambda row, done=done: self.place(done + row))
                yield from conform(table).to_batches()
                done += piece.num_rows
        except _DAMAGE as error:
            problem = f"found what cannot be read ({_said(error)}), expected row {done - self._begins[group]} and those after it"
            raise UnusableFile(problem, where=f"{self._name}, row group {group}") from None


def _check_metadata(metadata: dict[str, str], schema: pa.Schema, name: str) -> None:
    """A file without our metadata may still be a history; one that says it is something else is not."""
    version = metadata.get("tidemark.schema", str(SCHEMA_VERSION))
    if version != str(SCHEMA_VERSION):
        raise UnusableFile(f"tidemark.schema: found {version[:20]!a}, expected {SCHEMA_VERSION}", where=name)
    if "run" in schema.names:
        raise UnusableFile("run: found a pack of many runs, expected the history of one", where=name)


def _known_columns(schema: pa.Schema, name: str, *, ours: bool) -> list[str]:
    """The columns that a history has, each of a type that can become its own. A file of ours has them all."""
    for field in SCHEMA:
        if field.name not in schema.names:
            if ours or not field.nullable:
                raise UnusableFile(f"{field.name}: found no such column, expected one of type {_wanted(field.type)}", where=name)
            continue
        if schema.names.count(field.name) > 1:
            raise UnusableFile(f"{field.name}: found several such columns, expected one", where=name)
        found = schema.field(field.name).type
        if not _can_become(found, field.type):
            raise UnusableFile(f"{field.name}: found a column of type {found}, expected {_wanted(field.type)}", where=name)
    return [field.name for field in SCHEMA if field.name in schema.names]


def _can_become(found: pa.DataType, wanted: pa.DataType) -> bool:
    if pa.types.is_null(found):
        return True
    if pa.types.is_dictionary(wanted):
        spelled = found.value_type if pa.types.is_dictionary(found) else found
        return bool(pa.types.is_string(spelled) or pa.types.is_large_string(spelled))
    if pa.types.is_list(wanted):
        listed = pa.types.is_list(found) or pa.types.is_large_list(found)
        return bool(listed and pa.types.is_integer(found.value_type))
    return bool(pa.types.is_integer(found) if pa.types.is_integer(wanted) else pa.types.is_boolean(found))


def _wanted(kind: pa.DataType) -> str:
    if pa.types.is_dictionary(kind):
        return "text"
    return f"a list of {kind.value_type}" if pa.types.is_list(kind) else str(kind)


def _check_columns(piece: pa.RecordBatch, where: str) -> None:
    """Texts are UTF-8, codes have words, lists lie where they should."""
    for name, column in zip(piece.schema.names, piece.columns, strict=True):
        try:
            column.validate(full=True)
        except pa.ArrowInvalid as error:
            why = str(error).rsplit("Invalid: ", 1)[-1]
            problem = f"{name}: found what cannot be read ({why}), expected {_wanted(SCHEMA.field(name).type)}"
            raise UnusableFile(problem, where=f"{where} and those after it") from None


def _in_range(table: pa.Table, place: Any) -> pa.Table:
    """Every whole number in its column's own type; one that does not fit is named."""
    for field in SCHEMA:
        if not pa.types.is_integer(field.type) or field.name not in table.column_names:
            continue
        column = table.column(field.name)
        if column.type == field.type or pa.types.is_null(column.type):
            continue
        wrong = _outside(column, field.type.bit_width)
        if wrong >= 0:
            problem = f"{field.name}: found {column[wrong].as_py()}, expected a number of type {field.type}"
            raise UnusableFile(problem, where=place(wrong))
        table = table.set_column(table.schema.get_field_index(field.name), field.name, column.cast(field.type))
    return table


def _outside(column: pa.ChunkedArray, bits: int) -> int:
    """The first number that needs more bits; -1: none does."""
    numbers = column.fill_null(0).to_numpy()
    wrong = (numbers < -(2 ** (bits - 1))) | (numbers > 2 ** (bits - 1) - 1)
    return int(wrong.argmax()) if wrong.any() else -1


def _said(error: BaseException) -> str:
    """The first sentence of what pyarrow says."""
    told = error.problem if isinstance(error, Refusal) else str(error)
    first = (told.splitlines() or [type(error).__name__])[0].removeprefix("not a Parquet file that can be read: ")
    return "".join(letter if letter.isprintable() else "?" for letter in first.split(". ")[0].rstrip(". ")[:160])
