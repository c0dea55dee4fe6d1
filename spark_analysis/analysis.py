"""spark_analysis/analysis.py: from a store to its tables: plan, judge, write, add up, compare.

In     what is to be analysed, an engine, perhaps a baseline
Out    `Analysis`: everything that is told at the end; the tables beside the runs (spark_analysis/results.py)
Keeps  the same for every engine. Rows go into a file as they come, and every table is made from that file: what is held here does
       not grow with the number of runs; of those that are named the first MOST_NAMED are held
Not    which engine (harness/analyze.py), the words (harness/analysis_told.py)
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from model.identity import run_id
from model.refusal import ExitCode
from model.verdict import exit_code_of_many
from model.version import version
from spark_analysis import comparison, failing, groups
from spark_analysis.comparison import Comparison, compare
from spark_analysis.engines import Engine
from spark_analysis.failing import Failures, failures_of, signatures_of
from spark_analysis.groups import CLASSES, classes_of, groups_of
from spark_analysis.planning import Scope, units
from spark_analysis.results import Latest, Record, RowsWriter, Writing, latest
from spark_analysis.state import state_of
from spark_analysis.unit import Piece, Unit

MOST_NAMED: Final = 10_000
CODES: Final = {
    "valid": ExitCode.VALID,
    "unknown": ExitCode.UNKNOWN,
    "broken": ExitCode.BROKEN,
    "infrastructure": ExitCode.INFRASTRUCTURE,
    "killed": ExitCode.UNKNOWN,
    "quarantined": ExitCode.UNKNOWN,
}

Named = tuple[tuple[str, str], ...]
"""Runs, and for each the reason."""
OnProgress = Callable[["Progress", int], None]
"""What is known so far, and of how many runs."""


class Analysis(msgspec.Struct, frozen=True, kw_only=True):
    """What has been found."""

    scope: Scope
    place: str
    """The directory of its tables; nothing where they could not be written."""
    record: Record
    operations: int
    quarantined: Named
    broken: tuple[tuple[str, int], ...]
    """Runs that broke a promise, with their seeds."""
    signatures: pa.Table
    groups: pa.Table
    failures: Failures
    comparison: Comparison | None = None
    baseline: Baseline | None = None

    @property
    def exit_code(self) -> ExitCode:
        """The worst verdict that was read."""
        return exit_code_of_many(CODES[name] for name in self.record.counts)


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """What the runs are compared with."""

    scope: Scope
    runs: int
    quarantined: Named
    judged_again: bool
    """False: nothing of it has changed since it was analysed."""
    failures: Failures


def analyse(scope: Scope, engine: Engine, on_progress: OnProgress, baseline: Baseline | None = None) -> Analysis:
    """Judge every run, and leave the tables beside them."""
    began = time.monotonic()
    state = state_of(scope)  # before anything is read: what changes meanwhile is noticed next time
    with Writing(scope) as writing:
        progress = _judge(scope, engine, on_progress, writing.rows())
        written = writing.written()
        grouped = groups_of(written.batches(columns=groups.COLUMNS))
        failures = failures_of(written.batches(columns=failing.COLUMNS))
        signatures = signatures_of(failures, scope.shown)
        found = None if baseline is None else compare(failures, baseline.failures)
        writing.put("groups", grouped)
        writing.put("signatures", signatures)
        if found is not None:
            writing.put("comparison", comparison.to_table(found))
        record = writing.finish(
            Record(
                store=scope.store,
                campaigns=scope.campaigns,
                baseline=None if baseline is None else baseline.scope.path,
                state=state,
                at=datetime.now(UTC).isoformat(timespec="seconds"),
                made_by=version(),
                engine=engine.name,
                seconds=round(time.monotonic() - began, 3),
                runs=progress.runs,
                counts=progress.counts,
                notes=(*progress.notes, *([writing.why_not_kept] if writing.why_not_kept else [])),
            )
        )
        return Analysis(
            scope=scope,
            place="" if writing.why_not_kept else f"{writing.place}/{record.tables}",
            record=record,
            operations=progress.operations,
            quarantined=tuple(progress.quarantined),
            broken=tuple(progress.broken),
            signatures=signatures,
            groups=grouped,
            failures=failures,
            comparison=found,
            baseline=baseline,
        )


def baseline_of(scope: Scope, engine: Engine, on_progress: OnProgress) -> Baseline:
    """From its last analysis, if that still holds; else it is analysed now."""
    found = latest(scope)
    if found is not None and found.record.state and found.record.state == state_of(scope):
        return Baseline(
            scope=scope,
            runs=found.record.runs,
            quarantined=tuple(_quarantined(found)),
            judged_again=False,
            failures=failures_of(found.batches(columns=failing.COLUMNS)),
        )
    now = analyse(scope, engine, on_progress)
    return Baseline(scope=scope, runs=now.record.runs, quarantined=now.quarantined, judged_again=True, failures=now.failures)


class Progress:
    """What is known of the runs that have been judged so far."""

    def __init__(self) -> None:
        self.runs = self.operations = 0
        self.classes: Counter[str] = Counter()
        self.quarantined: list[tuple[str, str]] = []
        self.broken: list[tuple[str, int]] = []
        self.notes: dict[str, None] = {}

    @property
    def counts(self) -> dict[str, int]:
        """By class of verdict, in the order of CLASSES."""
        return {name: self.classes[name] for name in CLASSES if self.classes[name]}

    def take(self, piece: Piece) -> None:
        rows = piece.rows
        self.runs += rows.num_rows
        self.operations += pc.sum(rows.column("operation_count")).as_py() or 0
        self.classes.update(CLASSES[index] for index in classes_of(rows).tolist())
        self.quarantined += list(_named(rows))[: MOST_NAMED - len(self.quarantined)]
        self.broken += list(_broken(rows))[: MOST_NAMED - len(self.broken)]
        self.notes |= dict.fromkeys(piece.notes)  # of a pack that lies in two units both may have said so


def _judge(scope: Scope, engine: Engine, on_progress: OnProgress, rows: RowsWriter) -> Progress:
    plan = list(units(scope))
    total = sum(len(unit.numbers) for unit in plan)
    progress = Progress()
    on_progress(progress, total)

    def take(unit: Unit, piece: Piece) -> None:
        rows.add(piece.rows)
        progress.take(piece)
        on_progress(progress, total)

    try:
        engine.run(plan, take)
    finally:
        rows.close()
    return progress


def _quarantined(found: Latest) -> Iterator[tuple[str, str]]:
    for batch in found.batches(columns=["campaign", "number", "quarantined"]):
        yield from _named(batch)


def _named(rows: pa.RecordBatch) -> Iterator[tuple[str, str]]:
    """Those in quarantine, each with its reason."""
    chosen = rows.filter(pc.is_valid(rows.column("quarantined")))
    for row in chosen.select(["campaign", "number", "quarantined"]).to_pylist():
        yield run_id(row["campaign"], row["number"]), row["quarantined"]


def _broken(rows: pa.RecordBatch) -> Iterator[tuple[str, int]]:
    chosen = rows.filter(pc.equal(rows.column("valid"), "invalid"))
    for row in chosen.select(["campaign", "number", "seed"]).to_pylist():
        yield run_id(row["campaign"], row["number"]), row["seed"]
