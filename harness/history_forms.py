"""harness/history_forms.py: which form a file of operations has, told by its content alone (CHECKERS 10.1).

In     a path, and perhaps the word of whoever knows better (`--format`)
Out    an open source of record batches; a form that cannot be read yet, or is none, is refused by saying so
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from model.history_file import ParquetRows
from model.jsonl import JsonLines, quoted_bytes
from model.refusal import UnusableFile
from model.vocabulary import Form

READABLE = 'a history in Parquet (`PAR1`) or as JSON lines (`{"`)'
_HEAD = 4_096

_LATER = (
    (re.compile(rb"[\[{][\s\[{#]*:"), "Jepsen EDN, or a kv log"),
    (re.compile(rb"[^\n]{0,80}INFO  jepsen\.util"), "an etcd log of Jepsen's"),
)
"""Forms that others write and nothing here reads yet."""


class Source(Protocol):
    """What both readers offer."""

    def place(self, row: int) -> str: ...

    def batches(self) -> Iterator[pa.RecordBatch]: ...


class HistoryFile:
    """An open file of operations, in whichever form. `form`: what it is, where its beginning should not be asked."""

    def __init__(self, path: Path, form: Form | None) -> None:
        self.name = self.run_id = str(path)
        self.stream = _opened(path)
        self.source: Source
        self.total: int | None
        """How much there is to read, in units of `done`; None = nobody knows."""
        if (form or form_of(self.stream.peek(_HEAD)[:_HEAD], self.name)) == "parquet":
            parquet = _parquet(path, self.name)
            self.source, self.total, self.run_id = parquet, parquet.rows, parquet.run_id or self.name
        else:
            self.source = JsonLines(self.stream, self.name)
            self.total = os.fstat(self.stream.fileno()).st_size if path.is_file() else None

    def done(self, rows: int) -> int:
        """How much has been read when so many rows have come out."""
        return self.stream.tell() if isinstance(self.source, JsonLines) and self.total is not None else rows


def _parquet(path: Path, name: str) -> ParquetRows:
    if not path.is_file():
        raise UnusableFile("found a pipe, expected a file: Parquet is read from its end", where=name)
    return ParquetRows(path, name)


def form_of(head: bytes, name: str) -> Form:
    """The form of a file that begins like this."""
    if not head:
        raise UnusableFile(f"found an empty file, expected {READABLE}", where=name)
    if head.startswith(b"PAR1"):
        return "parquet"
    if re.match(rb'\{\s*"', head):
        return "jsonl"
    for pattern, what in _LATER:
        if pattern.match(head):
            raise UnusableFile(f"found {what}, which cannot be read yet, expected {READABLE}", where=name)
    raise UnusableFile(f"found {quoted_bytes(head, 16)} at its beginning, expected {READABLE}", where=name)


def _opened(path: Path) -> io.BufferedReader:
    try:
        return path.open("rb")
    except OSError as error:
        raise UnusableFile(f"cannot read it: {error.strerror}", where=str(path)) from None
