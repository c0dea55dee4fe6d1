"""model/store.py: campaigns and runs, on a local path or any filesystem pyarrow can open (DESIGN 11.8).

In   `store` or `s3://bucket/store`; runs through model/run_writer.py
Out  listings, and runs that are whole: a run whose run.json is not there yet does not exist, a file that is not what run.json
     says is refused by name
Keeps truth lies in the runs. `index.jsonl` is a reader's cache of what their run.json said: whatever in it does not match the
     size and time of the file is read again, so nobody needs to keep it right.
"""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.fs as pafs

from model import evidence, history, plan_file, run_record, schedule
from model.files import Files, LocalFiles, make_directories, write_durably
from model.history import Clock, History
from model.identity import check_campaign_name, run_id, written_number
from model.plan import Plan
from model.refusal import InfrastructureFailure, Refusal
from model.run_record import RunEntry, RunRecord
from model.run_writer import RunWriter, head_of
from model.schedule import Schedule

INDEX = "index.jsonl"
RUNS = "runs"
_ENTRY = msgspec.json.Decoder(RunEntry)


class StoredRun(msgspec.Struct, frozen=True):
    """One whole run. Every file is checked against its digest before anything is made of it."""

    filesystem: Any
    path: str
    record: RunRecord

    def plan(self) -> Plan:
        return plan_file.from_data(msgspec.json.decode(self.bytes_of("plan")), self._name("plan"))

    def schedule(self) -> Schedule:
        return schedule.from_table(history.open_parquet(io.BytesIO(self.bytes_of("schedule")), self._name("schedule")).read())

    def history(self) -> History:
        return self.history_in(self.bytes_of("history"))

    def history_in(self, data: bytes) -> History:
        return history.read_parquet(io.BytesIO(data), self._name("history"))

    def table(self, name: evidence.Name) -> pa.Table:
        return self.table_in(name, self.bytes_of(name))

    def table_in(self, name: evidence.Name, data: bytes) -> pa.Table:
        return evidence.read_parquet(name, io.BytesIO(data), self._name(name))

    def verify(self) -> None:
        """Every file is there and is what was written, and no other lies beside it."""
        for name in self.record.files:
            self.bytes_of(name)
        written = {run_record.FILE, *(stored.path for stored in self.record.files.values())}
        for below in {path.rpartition("/")[0] for path in written}:
            for info in self.filesystem.get_file_info(pafs.FileSelector(f"{self.path}/{below}".rstrip("/"))):
                path = f"{below}/{info.base_name}".lstrip("/")
                if info.type == pafs.FileType.File and path not in written:
                    raise Refusal("the run has no such file", where=f"{self.record.run_id}: {path}")

    def _name(self, name: str) -> str:
        return f"{self.record.run_id}: {self.record.files[name].path if name in self.record.files else name}"

    def bytes_of(self, name: str) -> bytes:
        """One of its files, held against its digest."""
        stored = self.record.files.get(name)
        if stored is None:
            raise Refusal(f"this run has no {name}", where=self._name(name), allowed=", ".join(self.record.files))
        try:
            data = read_bytes(self.filesystem, f"{self.path}/{stored.path}")
        except FileNotFoundError:
            raise Refusal("the file is missing", where=self._name(name)) from None
        except OSError as error:
            raise Refusal(f"cannot be read: {error.strerror or error}", where=self._name(name)) from None
        if len(data) != stored.size:
            raise Refusal(
                f"not the file that was written: {len(data):,} bytes instead of {stored.size:,}", where=self._name(name)
            )
        if hashlib.sha256(data).hexdigest() != stored.sha256:
            raise Refusal("not the file that was written: its digest differs", where=self._name(name))
        return data


class Listing(msgspec.Struct, frozen=True):
    """The runs of a campaign, and numbers whose run.json cannot be read, with the reason: one bad run never hides the others."""

    runs: tuple[RunEntry, ...]
    unreadable: tuple[tuple[int, str], ...]


class Store:
    """A place for campaigns. Opening one that does not exist yet is fine; nothing is made before the first run."""

    def __init__(self, uri: str | Path, files: Files | None = None) -> None:
        self.uri = str(uri)
        self.files = files or LocalFiles()
        self.local: Path | None = None
        try:
            if "://" in self.uri:
                self.filesystem, self.base = pafs.FileSystem.from_uri(self.uri)
            else:
                self.filesystem, self.base = pafs.LocalFileSystem(), str(Path(self.uri).absolute())
        except (pa.ArrowException, ValueError, OSError) as error:
            raise Refusal(
                f"cannot be opened: {error}", where=self.uri, allowed="a path, or a URI such as s3://bucket/store"
            ) from None
        if isinstance(self.filesystem, pafs.LocalFileSystem):
            self.local = Path(self.base)

    # -- reading ------------------------------------------------------------------------------------------------------

    def campaigns(self) -> list[str]:
        """Every campaign that has a directory for runs."""
        found = self._list(self.base)
        return sorted(info.base_name for info in found if self._is_directory(f"{self.base}/{info.base_name}/{RUNS}"))

    def runs(self, campaign: str) -> list[RunEntry]:
        """Every run that can be read, by number."""
        return list(self.listing(campaign).runs)

    def listing(self, campaign: str) -> Listing:
        """Costs one look at each run.json, and reading only those that the index does not know yet. A rotten one stands apart."""
        base = self._campaign(campaign)
        known = {entry.number: entry for entry in self._read_index(f"{base}/{INDEX}")}
        entries, unreadable = [], []
        for number, size, mtime_ns in self._run_files(f"{base}/{RUNS}"):
            cached = known.get(number)
            if cached is not None and (cached.size, cached.mtime_ns) == (size, mtime_ns):
                entries.append(cached)
                continue
            try:
                entries.append(run_record.entry(self.record(campaign, number), size, mtime_ns))
            except Refusal as refusal:
                unreadable.append((number, str(refusal)))
        entries.sort(key=lambda entry: entry.number)
        if entries != list(known.values()):
            self._write_index(f"{base}/{INDEX}", entries)
        return Listing(tuple(entries), tuple(sorted(unreadable)))

    def record(self, campaign: str, number: int) -> RunRecord:
        """run.json of one run; a directory that was copied under another number is not that run."""
        path = f"{self.directory(campaign, number)}/{run_record.FILE}"
        try:
            record = run_record.from_json(read_bytes(self.filesystem, path), path)
        except FileNotFoundError:
            raise Refusal(f"no such run: {run_id(campaign, number)}", where=self.uri) from None
        except OSError as error:
            raise Refusal(f"cannot be read: {error.strerror or error}", where=path) from None
        if record.number != number:
            raise Refusal(f"this is run {record.number}, not {number}", where=path)
        return record

    def open(self, campaign: str, number: int) -> StoredRun:
        """One run, to be read."""
        return StoredRun(self.filesystem, self.directory(campaign, number), self.record(campaign, number))

    def open_all(self, campaign: str) -> Iterator[StoredRun]:
        for entry in self.runs(campaign):
            yield self.open(campaign, entry.number)

    def numbers(self, campaign: str) -> list[int]:
        """Every run by number, read or not. On a local path also one that has lost its run.json: it was published whole."""
        runs = f"{self._campaign(campaign)}/{RUNS}"
        if self.local is not None:
            return sorted(map(int, _local_numbers(runs)))
        return sorted(number for number, _, _ in self._run_files(runs))

    def has_record(self, campaign: str, number: int) -> bool:
        return self._exists(f"{self.directory(campaign, number)}/{run_record.FILE}")

    def directories(self, campaign: str, kind: str) -> list[str]:
        """Full paths of what lies below a campaign's `runs` or `packs`."""
        return sorted(info.path for info in self._list(f"{self._campaign(campaign)}/{kind}"))

    # -- writing ------------------------------------------------------------------------------------------------------

    def begin(self, campaign: str, number: int, plan: Plan, *, clock: Clock = "virtual", started: str = "") -> RunWriter:
        """A run in the making. Nobody sees it before it is finished; a number that exists already is refused then."""
        if number < 0:
            raise ValueError(f"runs are numbered from 0, not {number}")
        head = head_of(check_campaign_name(campaign), number, plan, clock=clock, started=started)
        return RunWriter(head, self.staging(campaign), self.files, self.publish)

    def staging(self, campaign: str) -> Path:
        """Where runs are made: on a local disk, and on the store's own where that is one, so that a rename can publish them."""
        if self.local is not None:
            return self.local / check_campaign_name(campaign) / ".staging"
        place = hashlib.sha256(self._campaign(campaign).encode()).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"tidemark-{os.getuid()}" / f"staging-{place}"

    def publish(self, staged: Path, record: RunRecord) -> None:
        """Make a staged run appear, whole and at once; or raise `RunExists` and leave the other one as it is."""
        target = self.directory(record.campaign, record.number)
        if self.local is not None:
            self._publish_by_rename(staged, Path(target))
        else:
            self._publish_by_copy(staged, target, record)

    def _publish_by_rename(self, staged: Path, target: Path) -> None:
        make_directories(self.files, target.parent)
        try:
            self.files.replace(staged, target)  # a directory replaces no directory that has anything in it
        except OSError as error:
            if target.exists():
                raise RunExists(f"the run {target.parent.parent.name}/{target.name} exists already") from None
            raise InfrastructureFailure(f"the run cannot be stored: {error}") from None
        self.files.sync_directory(target.parent)

    def _publish_by_copy(self, staged: Path, target: str, record: RunRecord) -> None:
        """Where no directory can be renamed, each writer has files of its own name, and run.json, put last, points at them."""
        self._refuse_existing(target, record)
        own = staged.name
        moved = {name: msgspec.structs.replace(stored, path=f"{own}/{stored.path}") for name, stored in record.files.items()}
        try:
            self.filesystem.create_dir(f"{target}/{own}", recursive=True)
            for stored in record.files.values():
                self._put(f"{target}/{own}/{stored.path}", (staged / stored.path).read_bytes())
            self._refuse_existing(target, record)  # once more, because copying takes its time
            self._put(f"{target}/{run_record.FILE}", run_record.to_json(msgspec.structs.replace(record, files=moved)))
        except (pa.ArrowException, OSError) as error:
            raise InfrastructureFailure(f"the run cannot be stored: {error}") from None

    def _refuse_existing(self, target: str, record: RunRecord) -> None:
        if self._exists(f"{target}/{run_record.FILE}"):
            raise RunExists(f"the run {record.run_id} exists already")

    # -- paths and small words ----------------------------------------------------------------------------------------

    def _campaign(self, campaign: str) -> str:
        return f"{self.base}/{check_campaign_name(campaign)}"

    def directory(self, campaign: str, number: int) -> str:
        """Where the files of a run lie."""
        return f"{self._campaign(campaign)}/{RUNS}/{written_number(number)}"

    def _list(self, path: str) -> list[Any]:
        return list(self.filesystem.get_file_info(pafs.FileSelector(path, allow_not_found=True)))

    def _is_directory(self, path: str) -> bool:
        return bool(self.filesystem.get_file_info(path).type == pafs.FileType.Directory)

    def _exists(self, path: str) -> bool:
        return bool(self.filesystem.get_file_info(path).type != pafs.FileType.NotFound)

    def _put(self, path: str, data: bytes) -> None:
        with self.filesystem.open_output_stream(path) as file:
            file.write(data)

    def _run_files(self, runs: str) -> Iterator[tuple[int, int, int]]:
        """Number, size and time of every run.json."""
        if self.local is not None:
            yield from _local_run_files(runs)
            return
        directories = [info.path for info in self._list(runs) if _is_number(info.base_name)]
        for info in self.filesystem.get_file_info([f"{path}/{run_record.FILE}" for path in directories]):
            if info.type == pafs.FileType.File:
                yield int(info.path.split("/")[-2]), info.size, info.mtime_ns or 0

    def _read_index(self, path: str) -> list[RunEntry]:
        try:
            with self.filesystem.open_input_file(path) as file:
                return [_ENTRY.decode(line) for line in bytes(file.read()).splitlines()]
        except (OSError, ValueError):  # msgspec's own errors are ValueErrors, and so is UnicodeDecodeError
            return []  # no index, or a broken one: it is only a cache

    def _write_index(self, path: str, entries: list[RunEntry]) -> None:
        data = b"".join(msgspec.json.encode(entry) + b"\n" for entry in entries)
        try:
            if self.local is not None:
                write_durably(self.files, Path(path), data)
            else:
                self._put(path, data)
        except OSError:
            pass  # a store that may only be read is listed all the same


def read_bytes(filesystem: Any, path: str) -> bytes:
    """A whole file."""
    if isinstance(filesystem, pafs.LocalFileSystem):
        return Path(path).read_bytes()  # several times quicker than through Arrow
    with filesystem.open_input_file(path) as file:
        return bytes(file.read())


def _is_number(name: str) -> bool:
    """Whether a directory is called as a run is: `7` beside `00007` would be the same run twice."""
    return name.isascii() and name.isdigit() and name == written_number(int(name))


def _local_numbers(runs: str) -> list[str]:
    try:
        with os.scandir(runs) as found:
            return [entry.name for entry in found if _is_number(entry.name)]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _local_run_files(runs: str) -> Iterator[tuple[int, int, int]]:
    for name in _local_numbers(runs):
        try:
            status = os.stat(f"{runs}/{name}/{run_record.FILE}")  # noqa: PTH116  ten thousand times: a Path costs more than the call
        except (FileNotFoundError, NotADirectoryError):
            continue  # no run.json, no run
        yield int(name), status.st_size, status.st_mtime_ns


class RunExists(InfrastructureFailure):
    """Two writers made the same run; the first one stands."""
