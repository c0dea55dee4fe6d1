"""model/run_writer.py: a run in the making, invisible until it is whole.

In    a plan, tables, rows as they happen, and at the end a verdict
Out   a staged directory in which every file is durable and run.json was written last, handed to the store to be published
Not   who owns a staged directory (model/staging.py), what becomes of one whose writer died (model/leftovers.py)
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec
import pyarrow as pa

from model import evidence, history, plan, run_record
from model.files import Files, write_new
from model.history import About, Clock
from model.identity import run_id, run_tag, written_number
from model.plan import Plan
from model.refusal import InfrastructureFailure
from model.run_record import RunRecord, StoredFile
from model.schedule import Schedule
from model.schedule import to_table as schedule_table
from model.seen import Seen
from model.staging import Claim
from model.stream import HistoryStream, read_stream
from model.verdict import Status, Verdict
from model.version import version

STREAM = "history.stream"
HEAD = "head.json"

Publish = Callable[[Path, RunRecord], None]


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """What must be known to save the rows of a run that was killed: it lies beside the stream from its first moment."""

    campaign: str
    number: int
    plan: msgspec.Raw
    about: About
    seed: int

    def record(self, status: Status, *, rows: int, files: dict[str, StoredFile], reason: str = "") -> RunRecord:
        return RunRecord(
            campaign=self.campaign,
            number=self.number,
            status=status,
            seed=self.seed,
            tag=self.about.run_tag,
            plan_digest=self.about.plan_digest,
            rows=rows,
            reason=reason,
            made_by=version(),
            started=self.about.started,
            files=files,
        )


def head_of(campaign: str, number: int, plan_: Plan, *, clock: Clock, started: str) -> Head:
    """The stored plan has a tag, always: values of another run could not be told from ours without one (DESIGN 11.5)."""
    tag = run_tag(campaign, number) if plan_.tag is None else plan_.tag
    plan_ = msgspec.structs.replace(plan_, tag=tag)
    topics = {name: {"partitions": t.partitions, "replicas": t.replicas, "config": t.config} for name, t in plan_.topics.items()}
    about = About(
        run_id=run_id(campaign, number),
        run_tag=tag,
        plan_digest=plan.digest(plan_),
        clock=clock,
        started=started,
        topics=topics,
        workload=plan_.workload.name,
    )
    return Head(campaign=campaign, number=number, plan=msgspec.Raw(plan.to_json(plan_)), about=about, seed=plan_.seed)


class RunWriter:
    """Put things in any order, then `finish`. As a context it forgets what was not finished; but rows that were recorded
    are left to be swept, because somebody was told that they are durable."""

    def __init__(self, head: Head, staging: Path, files: Files, publish: Publish) -> None:
        self._head = head
        self._files = files
        self._publish = publish
        self._stored: dict[str, StoredFile] = {}
        self._stream: HistoryStream | None = None  # while it is open
        self._streamed = False
        self._rows = 0
        self._claim = Claim(staging, written_number(head.number), files)

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._streamed:
            self.abandon()
        else:
            self._end_stream()
            self._claim.let_go()

    @property
    def directory(self) -> Path:
        return self._claim.directory

    def stream(self) -> HistoryStream:
        """For real worlds: rows that are safe while the run goes on. `finish` makes the history of them."""
        put_file(self._files, self.directory / HEAD, msgspec.json.encode(self._head))
        self._stream = HistoryStream(self.directory / STREAM, self._files)
        self._streamed = True
        return self._stream

    def put_history(self, table: pa.Table) -> None:
        """For the simulator: all rows at once."""
        self._rows = table.num_rows
        self._stored["history"] = put_history(self._files, self.directory, table, self._head.about)

    def put_table(self, name: evidence.Name, table: pa.Table) -> None:
        """events, changes, registrations, observations."""
        self._put(name, f"{name}.parquet", _parquet(table))

    def put_schedule(self, schedule: Schedule) -> None:
        self._put("schedule", "schedule.parquet", _parquet(schedule_table(schedule)))

    def finish(
        self,
        status: Status,
        verdict: Verdict | None,
        reason: str = "",
        *,
        trace_digest: str | None = None,
        seen: Seen | None = None,
    ) -> RunRecord:
        """Write the rest, run.json last, and make the run appear."""
        if self._streamed:
            self._close_stream()
            self.put_history(read_stream(self.directory / STREAM).table)
        self._put("plan", "plan.json", bytes(self._head.plan))
        record = self._head.record(status, rows=self._rows, files=self._stored, reason=reason)
        record = msgspec.structs.replace(record, verdict=verdict, trace_digest=trace_digest, seen=seen)
        seal(self._files, self.directory, record)
        drop_stream(self._files, self.directory)
        self._publish(self.directory, record)
        self.abandon()
        return record

    def abandon(self) -> None:
        """Forget everything. After `finish` there is nothing left to forget."""
        self._end_stream()
        self._claim.release()

    def _close_stream(self) -> None:
        """Once: by the time of a second close its descriptor may be somebody else's file."""
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()

    def _end_stream(self) -> None:
        """No thread of ours writes into a directory that is no longer ours. What could not be written is missed by the sweep."""
        with suppress(InfrastructureFailure):
            self._close_stream()

    def _put(self, name: str, file: str, data: bytes) -> None:
        self._stored[name] = put_file(self._files, self.directory / file, data)


def put_history(files: Files, directory: Path, table: pa.Table, about: About) -> StoredFile:
    sink = io.BytesIO()
    history.write_parquet(table, about, sink)
    return put_file(files, directory / "history.parquet", sink.getvalue())


def put_file(files: Files, path: Path, data: bytes) -> StoredFile:
    """One file of a staged run, durable before run.json can speak of it."""
    write_new(files, path, data)
    return StoredFile(path.name, len(data), hashlib.sha256(data).hexdigest())


def seal(files: Files, directory: Path, record: RunRecord) -> None:
    """run.json, and then nothing more: from here on the directory is a run, wherever it is put."""
    put_file(files, directory / run_record.FILE, run_record.to_json(record))
    files.sync_directory(directory)


def drop_stream(files: Files, directory: Path) -> None:
    """Only a sealed run needs its stream no longer: until then the stream is what a sweep would save."""
    (directory / STREAM).unlink(missing_ok=True)
    (directory / HEAD).unlink(missing_ok=True)
    files.sync_directory(directory)  # else a power cut brings them back, into a run that does not know them


def _parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    evidence.write_parquet(table, sink)
    return sink.getvalue()
