"""model/pack.py: many small runs in a few files, because opening ten thousand files costs more than reading them (CHECKERS 1.4).

In    runs of one campaign
Out   `packs/<name>/`: one Parquet file per table with a leading column `run`, whole runs, each contiguous; pack.json, put last,
      whose digest ends the name
Keeps a pack is a cache. It is used only while every run in it still has the size and time that pack.json recorded, and only if
      its files are what it says. Truth stays in the run: a bad pack is thrown away and made again.
"""

from __future__ import annotations

import hashlib
import io
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import pyarrow as pa

from model import evidence, history
from model.files import make_directories
from model.history import About, conform
from model.identity import written_number
from model.refusal import Refusal
from model.run_record import RunEntry, StoredFile
from model.run_writer import put_file
from model.staging import Claim
from model.store import Store, StoredRun

PACKS = "packs"
FILE = "pack.json"
RUNS_PER_PACK = 200


class PackedRun(msgspec.Struct, frozen=True):
    """What run.json looked like when the run was packed, and what its tables said about themselves."""

    number: int
    size: int
    mtime_ns: int
    about: About
    metadata: Mapping[evidence.Name, Mapping[str, str]]  # only of the tables that the run has


class PackRecord(msgspec.Struct, frozen=True):
    schema: Literal[1]
    runs: tuple[PackedRun, ...]
    files: Mapping[str, StoredFile]


class Pack(msgspec.Struct, frozen=True):
    """One usable pack."""

    filesystem: Any
    path: str
    record: PackRecord

    def histories(self) -> Iterator[history.History]:
        """Every history in it, one after the other, as slices of one table: nothing is copied."""
        table = self._table("history")
        stretches = _stretches(table)
        try:
            table, small = conform(table), True
        except pa.ArrowInvalid:  # together the runs have more words than the small codes of one history can tell apart
            small = False
        for run in self.record.runs:
            piece = table.slice(*stretches.get(run.about.run_id, (0, 0)))
            yield history.History(run.about, piece if small else conform(_spelled(piece)))

    def tables(self, name: evidence.Name) -> Iterator[tuple[str, pa.Table]]:
        """The same for events, changes and the others: run id and table, of the runs that have one."""
        table = self._table(name)
        stretches = _stretches(table)
        canonical = evidence.conform(name, table)
        for run in self.record.runs:
            if name in run.metadata:
                piece = canonical.slice(*stretches.get(run.about.run_id, (0, 0)))
                yield run.about.run_id, piece.replace_schema_metadata(dict(run.metadata[name]))

    def _table(self, name: str) -> pa.Table:
        stored = self.record.files[name]
        try:
            with self.filesystem.open_input_file(f"{self.path}/{stored.path}") as file:
                data = bytes(file.read())
        except FileNotFoundError:
            raise Refusal("the file is missing", where=f"{self.path}/{stored.path}") from None
        if hashlib.sha256(data).hexdigest() != stored.sha256:
            raise Refusal("not the file that was written: its digest differs", where=f"{self.path}/{stored.path}")
        return history.open_parquet(io.BytesIO(data), f"{self.path}/{stored.path}").read()


def _stretches(table: pa.Table) -> dict[str, tuple[int, int]]:
    """First row and number of rows of each run."""
    column = table.column("run").combine_chunks()
    codes = column.indices.to_numpy(zero_copy_only=False)
    starts = np.flatnonzero(np.diff(codes, prepend=-1)).tolist()
    words = column.dictionary.to_pylist()
    return {words[codes[start]]: (start, end - start) for start, end in pairwise([*starts, len(codes)])}


# -- making them ------------------------------------------------------------------------------------------------------


def write_pack(store: Store, campaign: str, entries: Sequence[RunEntry]) -> str:
    """Pack these runs of a local store together; the name of the pack."""
    if store.local is None:
        raise Refusal("packs are made where the store is a local path", where=store.uri)
    runs = [store.open(campaign, entry.number) for entry in entries]
    kept = [i for i, run in enumerate(runs) if "history" in run.record.files]  # a run that failed early may have none
    if not kept:
        raise Refusal("none of these runs has a history to pack", where=f"{store.uri}/{campaign}")
    entries, runs = [entries[i] for i in kept], [runs[i] for i in kept]
    claim = Claim(store.staging(campaign), "pack", store.files)
    try:
        histories = [run.history() for run in runs]
        tables = {name: [run.table(name) if name in run.record.files else None for run in runs] for name in evidence.NAMES}
        files = _write_tables(store, claim.directory, runs, histories, tables)
        packed = tuple(
            PackedRun(entry.number, entry.size, entry.mtime_ns, found.about, _metadata(tables, i))
            for i, (entry, found) in enumerate(zip(entries, histories, strict=True))
        )
        put = put_file(store.files, claim.directory / FILE, msgspec.json.encode(PackRecord(1, packed, files)))
        store.files.sync_directory(claim.directory)
        span = f"{written_number(entries[0].number)}-{written_number(entries[-1].number)}"
        name = f"{span}-{claim.directory.name[-8:]}-{put.sha256}"
        target = store.local / campaign / PACKS / name
        make_directories(store.files, target.parent)
        store.files.replace(claim.directory, target)
        return name
    finally:
        claim.release()


_Tables = dict[evidence.Name, list[pa.Table | None]]


def _metadata(tables: _Tables, i: int) -> dict[evidence.Name, dict[str, str]]:
    found = {name: column[i] for name, column in tables.items()}
    return {
        name: {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
        for name, table in found.items()
        if table is not None
    }


def _write_tables(
    store: Store, into: Path, runs: Sequence[StoredRun], histories: Sequence[history.History], tables: _Tables
) -> dict[str, StoredFile]:
    names = [run.record.run_id for run in runs]
    sink = io.BytesIO()
    joined = _joined(names, [found.table for found in histories], history.SCHEMA)
    history.write_columns(joined.replace_schema_metadata({"tidemark.schema": str(history.SCHEMA_VERSION)}), sink)
    files = {"history": put_file(store.files, into / "history.parquet", sink.getvalue())}
    for name, column in tables.items():
        sink = io.BytesIO()
        empty = evidence.SCHEMAS[name].empty_table()
        evidence.write_parquet(
            _joined(names, [empty if table is None else table for table in column], evidence.SCHEMAS[name]), sink
        )
        files[name] = put_file(store.files, into / f"{name}.parquet", sink.getvalue())
    return files


def _joined(names: Sequence[str], tables: Sequence[pa.Table], schema: pa.Schema) -> pa.Table:
    """Tables one after the other, each row led by its run's name."""
    lengths = [table.num_rows for table in tables]
    codes = pa.array(np.repeat(np.arange(len(names), dtype=np.int32), lengths))
    column = pa.DictionaryArray.from_arrays(codes, pa.array(names, pa.string()))
    whole = pa.concat_tables([table.replace_schema_metadata(None) for table in tables] or [schema.empty_table()])
    try:
        whole = whole.unify_dictionaries()
    except pa.ArrowInvalid:
        whole = _spelled(whole)
    return whole.add_column(0, "run", column)


def _spelled(table: pa.Table) -> pa.Table:
    """Every word written out: longer, but there may be any number of them."""
    words = [field.with_type(pa.string()) if pa.types.is_dictionary(field.type) else field for field in table.schema]
    return table.cast(pa.schema(words))


# -- using them -------------------------------------------------------------------------------------------------------


def usable_packs(store: Store, campaign: str, entries: Iterable[RunEntry]) -> list[Pack]:
    """Packs whose every run is still what it was; no run twice."""
    now = {entry.number: (entry.size, entry.mtime_ns) for entry in entries}
    packs: list[Pack] = []
    taken: set[int] = set()
    for path, record in _records(store, campaign):
        numbers = {run.number for run in record.runs}
        current = all(now.get(run.number) == (run.size, run.mtime_ns) for run in record.runs)
        if current and not numbers & taken:
            packs.append(Pack(store.filesystem, path, record))
            taken |= numbers
    return packs


def _records(store: Store, campaign: str) -> Iterator[tuple[str, PackRecord]]:
    for path in store.directories(campaign, PACKS):
        try:
            with store.filesystem.open_input_file(f"{path}/{FILE}") as file:
                data = bytes(file.read())
            if path.endswith(hashlib.sha256(data).hexdigest()):
                yield path, msgspec.json.decode(data, type=PackRecord)
        except (OSError, ValueError):
            continue  # half a pack, or one of a later version: the runs are still there


def drop_pack(store: Store, pack: Pack) -> None:
    """A pack that turned out bad; its runs will be packed again."""
    if store.local is not None:
        shutil.rmtree(pack.path, ignore_errors=True)
