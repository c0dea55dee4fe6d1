"""model/pack.py: many small runs in a few files, because opening ten thousand files costs more than reading them (CHECKERS 1.4).

In    whole runs of one campaign of a local store
Out   `packs/<name>/`: one Parquet file per table with a leading column `run`, whole runs, each contiguous; `runs.parquet` with
      the run.json and plan.json of each; pack.json, put last, whose digest ends the name
Keeps a pack is a cache. Of a run in it only what still looks as it did (model/look.py) is taken from it, so a run that anybody
      touched is opened itself; and nothing is, if its files are not what it says: it is thrown away and made again
"""

from __future__ import annotations

import hashlib
import io
import re
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import pyarrow as pa

from model import evidence, history, run_record
from model.files import make_directories
from model.history import About, conform
from model.identity import written_number
from model.look import look_of
from model.refusal import Refusal
from model.run_record import StoredFile
from model.run_writer import put_file
from model.staging import Claim
from model.store import Store, read_bytes
from model.whole_run import WholeRun

PACKS = "packs"
FILE = "pack.json"
RUNS_PER_PACK = 200
VERSION: Literal[2] = 2
_NAME = re.compile(r"([0-9]{5,})-([0-9]{5,})-[0-9a-f]{8}-[0-9a-f]{64}")
_RUNS = pa.schema([("number", pa.int64()), ("record", pa.binary()), ("plan", pa.binary())])


class PackedRun(msgspec.Struct, frozen=True):
    """What a run's directory looked like when it was packed, and what its tables said about themselves."""

    number: int
    run_id: str
    look: str
    about: About | None  # of its history, if it has one
    metadata: Mapping[evidence.Name, Mapping[str, str]]  # only of the tables that the run has


class PackRecord(msgspec.Struct, frozen=True):
    schema: Literal[2]
    runs: tuple[PackedRun, ...]
    files: Mapping[str, StoredFile]


class _AnyVersion(msgspec.Struct, frozen=True):
    schema: int


class Pack(msgspec.Struct, frozen=True):
    """One pack, its pack.json read and found as it was written."""

    filesystem: Any
    path: str
    record: PackRecord

    def current(self, store: Store, campaign: str) -> frozenset[int]:
        """The runs in it that nobody has touched since."""
        return frozenset(run.number for run in self.record.runs if _look(store, campaign, run.number) == run.look)

    def runs(self, numbers: Collection[int]) -> Iterator[WholeRun]:
        """These of its runs, one after the other, as slices of its tables: nothing is copied."""
        said = {row["number"]: row for row in self._table("runs").to_pylist()}
        histories = self._histories()
        tables = {name: self._tables(name) for name in evidence.NAMES}
        for run in self.record.runs:
            if run.number in numbers:
                row = said[run.number]
                yield WholeRun(
                    record=run_record.from_json(row["record"], f"{self.path}/{self.record.files['runs'].path}"),
                    plan_json=row["plan"],
                    history=histories.get(run.number),
                    tables={name: table for name, found in tables.items() if (table := found.get(run.number)) is not None},
                    look=run.look,
                )

    def _histories(self) -> dict[int, history.History]:
        table = self._table("history")
        stretches = _stretches(table)
        try:
            table, small = conform(table), True
        except pa.ArrowInvalid:  # together the runs have more words than the small codes of one history can tell apart
            small = False
        found = {}
        for run in self.record.runs:
            if run.about is not None:
                piece = table.slice(*stretches.get(run.run_id, (0, 0)))
                found[run.number] = history.History(run.about, piece if small else conform(_spelled(piece)))
        return found

    def _tables(self, name: evidence.Name) -> dict[int, pa.Table]:
        """The same for events, changes and the others, of the runs that have one."""
        table = self._table(name)
        stretches = _stretches(table)
        canonical = evidence.conform(name, table)
        found = {}
        for run in self.record.runs:
            if name in run.metadata:
                piece = canonical.slice(*stretches.get(run.run_id, (0, 0)))
                found[run.number] = piece.replace_schema_metadata(dict(run.metadata[name]))
        return found

    def _table(self, name: str) -> pa.Table:
        stored = self.record.files[name]
        try:
            data = read_bytes(self.filesystem, f"{self.path}/{stored.path}")
        except FileNotFoundError:
            raise Refusal("the file is missing", where=f"{self.path}/{stored.path}") from None
        if hashlib.sha256(data).hexdigest() != stored.sha256:
            raise Refusal("not the file that was written: its digest differs", where=f"{self.path}/{stored.path}")
        return history.open_parquet(io.BytesIO(data), f"{self.path}/{stored.path}").read()


def _look(store: Store, campaign: str, number: int) -> str:
    try:
        return look_of(store.directory(campaign, number))
    except OSError:
        return ""  # it is no longer there, or may no longer be read


def _stretches(table: pa.Table) -> dict[str, tuple[int, int]]:
    """First row and number of rows of each run."""
    column = table.column("run").combine_chunks()
    codes = column.indices.to_numpy(zero_copy_only=False)
    starts = np.flatnonzero(np.diff(codes, prepend=-1)).tolist()
    words = column.dictionary.to_pylist()
    return {words[codes[start]]: (start, end - start) for start, end in pairwise([*starts, len(codes)])}


# -- finding them -----------------------------------------------------------------------------------------------------


class Place(msgspec.Struct, frozen=True):
    """Where a pack lies, and between which numbers its runs do, as its name says: nothing of it has been read yet."""

    path: str
    first: int
    last: int

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


def packs_of(store: Store, campaign: str) -> list[Place]:
    """Every pack of a campaign, also a rotten one. Only of a local store: elsewhere nobody could tell what was touched."""
    if store.local is None:
        return []
    found = [(path, _NAME.fullmatch(path.rpartition("/")[2])) for path in store.directories(campaign, PACKS)]
    return [Place(path, int(name[1]), int(name[2])) for path, name in found if name]


class OtherVersion(Refusal):
    """A pack that was made by another Tidemark: nothing is wrong with it, but it is of no use here."""

    def __init__(self, found: int, where: str) -> None:
        super().__init__(f"a pack of version {found}", where=where, allowed=f"version {VERSION}")
        self.found = found


def open_pack(store: Store, place: Place) -> Pack:
    """A `Refusal` where it is not what was written."""
    where = f"{place.path}/{FILE}"
    try:
        data = read_bytes(store.filesystem, where)
    except OSError as error:
        raise Refusal(f"cannot be read: {error.strerror or error}", where=where) from None
    if not place.path.endswith(hashlib.sha256(data).hexdigest()):
        raise Refusal("not the file that was written: its digest differs", where=where)
    try:
        return Pack(store.filesystem, place.path, msgspec.json.decode(data, type=PackRecord))
    except ValueError as error:
        raise _unreadable(data, str(error), where) from None


def _unreadable(data: bytes, why: str, where: str) -> Refusal:
    try:
        if (found := msgspec.json.decode(data, type=_AnyVersion).schema) != VERSION:
            return OtherVersion(found, where)
    except ValueError:
        pass
    return Refusal(f"not a pack: {why}", where=where)


def drop_pack(store: Store, place: Place) -> None:
    """A pack that turned out bad or of no use; its runs will be packed again."""
    if store.local is not None:
        shutil.rmtree(place.path, ignore_errors=True)


# -- making them ------------------------------------------------------------------------------------------------------


def write_pack(store: Store, campaign: str, runs: Sequence[WholeRun]) -> str:
    """Pack these runs of a local store together, in this order; the name of the pack."""
    if store.local is None:
        raise Refusal("packs are made where the store is a local path", where=store.uri)
    if not runs:
        raise ValueError("a pack needs a run")
    claim = Claim(store.staging(campaign), "pack", store.files)
    try:
        files = _write_tables(store, claim.directory, runs)
        packed = tuple(
            PackedRun(run.number, run.record.run_id, run.look, run.history.about if run.history else None, _metadata(run))
            for run in runs
        )
        put = put_file(store.files, claim.directory / FILE, msgspec.json.encode(PackRecord(VERSION, packed, files)))
        store.files.sync_directory(claim.directory)
        numbers = [run.number for run in runs]
        span = f"{written_number(min(numbers))}-{written_number(max(numbers))}"
        name = f"{span}-{claim.directory.name[-8:]}-{put.sha256}"
        target = store.local / campaign / PACKS / name
        make_directories(store.files, target.parent)
        store.files.replace(claim.directory, target)
        return name
    finally:
        claim.release()


def _metadata(run: WholeRun) -> dict[evidence.Name, dict[str, str]]:
    return {
        name: {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
        for name, table in run.tables.items()
    }


def _write_tables(store: Store, into: Path, runs: Sequence[WholeRun]) -> dict[str, StoredFile]:
    names = [run.record.run_id for run in runs]
    empty = history.SCHEMA.empty_table()
    sink = io.BytesIO()
    joined = _joined(names, [empty if run.history is None else run.history.table for run in runs], history.SCHEMA)
    history.write_columns(joined.replace_schema_metadata({"tidemark.schema": str(history.SCHEMA_VERSION)}), sink)
    files = {"history": put_file(store.files, into / "history.parquet", sink.getvalue())}
    for name in evidence.NAMES:
        none = evidence.SCHEMAS[name].empty_table()
        table = _joined(names, [run.tables.get(name, none) for run in runs], evidence.SCHEMAS[name])
        files[name] = _put(store, into / f"{name}.parquet", table)
    said = [{"number": run.number, "record": run_record.to_json(run.record), "plan": run.plan_json} for run in runs]
    files["runs"] = _put(store, into / "runs.parquet", pa.Table.from_pylist(said, schema=_RUNS))
    return files


def _put(store: Store, path: Path, table: pa.Table) -> StoredFile:
    sink = io.BytesIO()
    evidence.write_parquet(table, sink)
    return put_file(store.files, path, sink.getvalue())


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
