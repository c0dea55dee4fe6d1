"""spark_analysis/results.py: the tables that an analysis leaves behind, and whoever reads them later without Spark.

In     rows as they come, finished tables
Out    `STORE/analysis/` or `STORE/<campaign>/analysis/`: analysis.json, put last, names the directory of Parquet files beside it
       that belongs to it: rows, groups, signatures, comparison. `latest` opens them again
Keeps  whoever reads meets the tables of one analysis, the old one or the new one, never some of each; the schema's version stands
       in every file. A store that may only be read is analysed all the same: then the tables go with the analysis
Not    what is in a table (spark_analysis/rows.py, groups.py, failing.py, comparison.py)
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal

import msgspec
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from model.files import LocalFiles, write_durably
from model.store import Store, read_bytes
from spark_analysis.planning import Scope
from spark_analysis.rows import ROW

DIRECTORY: Final = "analysis"
FILE: Final = "analysis.json"
VERSION: Literal[1] = 1
FORGOTTEN_NS: Final = 24 * 3600 * 10**9
_TABLES: Final = re.compile("[0-9a-f]{16}")  # never anything else: somebody may have called a campaign `analysis`
ROWS_AT_ONCE: Final = 1_000  # in a row group: what is read and held together later


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """analysis.json."""

    schema: Literal[1] = VERSION
    tables: str = ""
    """The directory of its tables, beside it."""
    names: tuple[str, ...] = ()
    store: str
    campaigns: tuple[str, ...]
    baseline: str | None = None
    state: str = ""
    """Of the runs and of the checkers: while both are the same, so is the analysis (spark_analysis/state.py)."""
    at: str = ""
    made_by: str = ""
    engine: str = ""
    seconds: float = 0.0
    runs: int = 0
    counts: Mapping[str, int] = {}
    notes: tuple[str, ...] = ()


def place_of(scope: Scope) -> str:
    """Where the analysis of a store, or of one campaign of it, lies."""
    base = Store(scope.store).base
    return f"{base}/{DIRECTORY}" if scope.whole else f"{base}/{scope.campaigns[0]}/{DIRECTORY}"


class Latest(msgspec.Struct, frozen=True):
    """What the last analysis left."""

    filesystem: Any
    place: str
    record: Record

    def table(self, name: str) -> pa.Table:
        with self.filesystem.open_input_file(self._path(name)) as file:
            return pq.ParquetFile(file).read()

    def batches(self, name: str = "rows", columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Of a table that may be long, a piece at a time."""
        with self.filesystem.open_input_file(self._path(name)) as file:
            yield from pq.ParquetFile(file).iter_batches(batch_size=ROWS_AT_ONCE, columns=columns)

    def _path(self, name: str) -> str:
        return f"{self.place}/{self.record.tables}/{name}.parquet"


def latest(scope: Scope) -> Latest | None:
    """None: nobody has analysed it, or only another version has."""
    return latest_in(Store(scope.store).filesystem, place_of(scope))


def latest_in(filesystem: Any, place: str) -> Latest | None:
    try:
        record = msgspec.json.decode(read_bytes(filesystem, f"{place}/{FILE}"), type=Record)
    except (OSError, ValueError):
        return None
    return Latest(filesystem, place, record)


class Writing:
    """An analysis in the making. Without `finish` nothing of it stays."""

    def __init__(self, scope: Scope) -> None:
        self._filesystem = Store(scope.store).filesystem
        self.place = place_of(scope)
        self.why_not_kept = ""
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._name = os.urandom(8).hex()
        self._names: list[str] = []
        self._finished = False
        try:
            self._filesystem.create_dir(self._directory, recursive=True)
        except OSError as error:
            self.why_not_kept = f"the tables could not be written beside the runs: {error.strerror or error}"
            self._scratch = tempfile.TemporaryDirectory(prefix="tidemark-analysis-")
            self._filesystem, self.place = pafs.LocalFileSystem(), self._scratch.name
            self._filesystem.create_dir(self._directory)

    def __enter__(self) -> Writing:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if not self._finished:
            with suppress(OSError, NotImplementedError):
                self._filesystem.delete_dir(self._directory)
        if self._scratch is not None:
            self._scratch.cleanup()

    @property
    def _directory(self) -> str:
        return f"{self.place}/{self._name}"

    def rows(self) -> RowsWriter:
        """To be closed before they are read again."""
        self._names.append("rows")
        return RowsWriter(self._filesystem.open_output_stream(f"{self._directory}/rows.parquet"))

    def written(self) -> Latest:
        """To read what has been written so far."""
        record = Record(tables=self._name, names=tuple(self._names), store="", campaigns=())
        return Latest(self._filesystem, self.place, record)

    def put(self, name: str, table: pa.Table) -> None:
        self._names.append(name)
        described = table.replace_schema_metadata({"tidemark.analysis": str(VERSION)})
        with self._filesystem.open_output_stream(f"{self._directory}/{name}.parquet") as file:
            pq.write_table(described, file, compression="zstd")

    def finish(self, record: Record) -> Record:
        """From now on this is the latest analysis, and the one before it goes."""
        record = msgspec.structs.replace(record, tables=self._name, names=tuple(self._names))
        before = latest_in(self._filesystem, self.place)
        data = msgspec.json.encode(record)
        if isinstance(self._filesystem, pafs.LocalFileSystem):
            self._sync()
            write_durably(LocalFiles(), Path(self.place) / FILE, data)
        else:
            with self._filesystem.open_output_stream(f"{self.place}/{FILE}") as file:
                file.write(data)
        self._finished = True
        self._tidy("" if before is None else before.record.tables)
        return record

    def _sync(self) -> None:
        """Everything that analysis.json will speak of is there after a crash."""
        for name in self._names:
            descriptor = os.open(f"{self._directory}/{name}.parquet", os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def _tidy(self, before: str) -> None:
        """The tables of the analysis before this one, and of such as were killed long ago; a young one may still be at work."""
        old_ns = time.time_ns() - FORGOTTEN_NS
        for info in self._filesystem.get_file_info(pafs.FileSelector(self.place, allow_not_found=True)):
            forgotten = info.base_name == before or (info.mtime_ns is not None and info.mtime_ns < old_ns)
            if _TABLES.fullmatch(info.base_name) and info.base_name != self._name and forgotten:
                with suppress(OSError, NotImplementedError):
                    self._filesystem.delete_dir(info.path)


class RowsWriter:
    """Rows into one file, in groups that are not too small."""

    def __init__(self, file: Any) -> None:
        self._file = file
        metadata = {"tidemark.analysis": str(VERSION)}
        self._writer = pq.ParquetWriter(file, ROW.with_metadata(metadata), compression="zstd")
        self._held: list[pa.RecordBatch] = []
        self._count = 0

    def add(self, rows: pa.RecordBatch) -> None:
        self._held.append(rows)
        self._count += rows.num_rows
        if self._count >= ROWS_AT_ONCE:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()
        self._file.close()

    def _flush(self) -> None:
        if self._held:
            self._writer.write_table(pa.Table.from_batches(self._held).cast(self._writer.schema))
        self._held, self._count = [], 0
