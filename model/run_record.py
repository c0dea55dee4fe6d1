"""model/run_record.py: run.json, the file that makes a directory a run (DESIGN 11.8).

In   what the run loop knows at the end: status, verdict, the files and their digests
Out  one JSON object, written last: where there is no run.json there is no run
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from model.identity import run_id
from model.refusal import Refusal
from model.seen import Seen
from model.verdict import Status, Valid, Verdict

FILE = "run.json"


class StoredFile(msgspec.Struct, frozen=True):
    """One file of a run: where it lies below the run's directory, and what must be in it."""

    path: str
    size: int
    sha256: str


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is worth knowing about a run before opening its tables."""

    schema: Literal[1] = 1
    campaign: str
    number: int
    status: Status
    seed: int
    tag: int
    plan_digest: str
    rows: int
    verdict: Verdict | None = None
    reason: str = ""  # why the status is not `done`
    seen: Seen | None = None  # what the verdict was given with, beside the tables; None: nobody judged it
    made_by: str = ""  # the version of Tidemark that executed it, which is also that of the system `isr`
    started: str = ""  # wall time, ISO 8601, informative
    trace_digest: str | None = None  # of everything that happened, in a world that can repeat it
    files: Mapping[str, StoredFile] = {}

    @property
    def run_id(self) -> str:
        return run_id(self.campaign, self.number)


class RunEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a listing: the record without its details, and what run.json looked like when it was read."""

    number: int
    status: Status
    seed: int
    rows: int
    valid: Valid | None
    signatures: tuple[str, ...]
    size: int
    mtime_ns: int


def to_json(record: RunRecord) -> bytes:
    return msgspec.json.encode(record)


def from_json(data: bytes, name: str) -> RunRecord:
    """A stored record; whatever is wrong with it is said in one sentence."""
    try:
        return msgspec.json.decode(data, type=RunRecord)
    except (msgspec.DecodeError, ValueError) as error:
        raise Refusal(f"not a run record: {error}", where=name) from None


def entry(record: RunRecord, size: int, mtime_ns: int) -> RunEntry:
    verdict = record.verdict
    return RunEntry(
        number=record.number,
        status=record.status,
        seed=record.seed,
        rows=record.rows,
        valid=verdict.valid if verdict else None,
        signatures=verdict.signatures if verdict else (),
        size=size,
        mtime_ns=mtime_ns,
    )
