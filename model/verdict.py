"""model/verdict.py: what was found in one run, as data (CHECKERS section 7).

In   results of checkers, and the promises that decide what a finding means
Out  one `Verdict` per run, as JSON; the lattice `invalid > unknown > valid`; the exit code that follows (DESIGN 11.9)
Not  how anything is found (checkers/), nor who may call it a failure (checkers/promises.py)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from model.refusal import ExitCode

Valid = Literal["valid", "unknown", "invalid"]
Status = Literal["done", "infrastructure", "killed"]
Level = Literal["committed", "local"]
Promised = Literal["forbidden", "allowed", "not judged"]

_RANK: Mapping[Valid, int] = {"valid": 0, "unknown": 1, "invalid": 2}


def merge(verdicts: Iterable[Valid]) -> Valid:
    """The greatest of them. Nothing at all is `unknown`: nothing was checked (7.1)."""
    return max(verdicts, key=_RANK.__getitem__, default="unknown")


def exit_code(status: Status, valid: Valid | None) -> ExitCode:
    """The exit code of one run: its verdict, unless the infrastructure failed. A broken promise that was seen stays broken."""
    if valid == "invalid":
        return ExitCode.BROKEN
    if status == "infrastructure":
        return ExitCode.INFRASTRUCTURE
    if status == "killed" or valid is None:
        return ExitCode.UNKNOWN
    return ExitCode.VALID if valid == "valid" else ExitCode.UNKNOWN


def exit_code_of_many(codes: Iterable[ExitCode]) -> ExitCode:
    """1 before 4 before 2 before 0: a doubt must not hide a failure, and a broken machine must not hide behind a doubt."""
    seen = set(codes)
    if strange := seen - {ExitCode.VALID, ExitCode.BROKEN, ExitCode.UNKNOWN, ExitCode.INFRASTRUCTURE}:
        raise ValueError(f"no run ends with {sorted(strange)}")
    for worst in (ExitCode.BROKEN, ExitCode.INFRASTRUCTURE, ExitCode.UNKNOWN):
        if worst in seen:
            return worst
    return ExitCode.VALID if seen else ExitCode.UNKNOWN


class Witness(msgspec.Struct, frozen=True, kw_only=True):
    """A contradiction that can be checked by hand from its operations alone (7.4)."""

    text: str
    ops: tuple[int, ...]
    offset: int | None = None
    value: int | None = None
    from_ns: int
    to_ns: int
    faults: tuple[int, ...] = ()  # events in the window, latest first
    shape: str = ""


class Anomaly(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of contradiction that was seen, and what was promised about it."""

    name: str
    level: Level
    count: int
    loss_class: str | None = msgspec.field(default=None, name="class")
    evidence: str | None = None
    rule: str | None = None
    cell: Promised | None = None
    witnesses: tuple[Witness, ...] = ()


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """Which part of the run a result speaks of."""

    topic: str
    partition: int | None = None
    key: int | None = None


class CheckerResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one checker says about one scope; scope None = the whole run."""

    name: str
    version: int
    scope: Scope | None = None
    valid: Valid
    mode: tuple[str, ...] = ()
    anomalies: tuple[Anomaly, ...] = ()
    counts: Mapping[str, int] = {}
    seconds: float = 0.0
    reason: str | None = None


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One promise and whether it was seen broken: forbidden and seen is a failure, all else is shown."""

    topic: str
    partition: int | None
    """None: all partitions of the topic that have no cells of their own here, together (7.3)."""
    anomaly: str
    level: Level
    rule: str
    promised: Promised
    seen: int


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The one verdict of a run."""

    schema: Literal[1] = 1
    run_id: str
    valid: Valid
    reasons: tuple[str, ...] = ()  # only for unknown: short, fixed phrases
    checkers: tuple[CheckerResult, ...] = ()
    cells: tuple[Cell, ...] = ()
    signatures: tuple[str, ...] = ()
    stats: Mapping[str, float] = {}


def to_json(verdict: Verdict) -> bytes:
    return msgspec.json.encode(verdict)


def from_json(data: bytes) -> Verdict:
    """Raises msgspec.ValidationError when it is not a verdict of this version."""
    return msgspec.json.decode(data, type=Verdict)
