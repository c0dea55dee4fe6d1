"""harness/execute.py: one run, executed and stored.

In     a plan with its own seed, tag and explicit schedule; a store, a campaign, a number
Out    a whole run in the store, and a `Summary` small enough to travel between processes
Keeps  a run that could not be executed is marked as that, with the reason: its number is never empty, and never a verdict
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
import pyarrow as pa

from checkers.cell_state import PromiseSeen, RunClass, class_of, promises_of
from checkers.judge import judge
from checkers.run_evidence import RunEvidence
from harness.findings import Finding, findings
from harness.run import Recorded, run
from harness.worlds import schedule_of, world_of, written_out
from model import evidence, history
from model.identity import run_id, run_seed, run_tag
from model.plan import Plan
from model.refusal import ExitCode
from model.run_record import RunRecord
from model.run_writer import RunWriter
from model.seen import Seen
from model.store import RunExists, Store, StoredRun
from model.verdict import Status, Valid, Verdict, exit_code


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What a campaign says about one of its runs."""

    number: int
    seed: int
    status: Status
    valid: Valid | None
    reasons: tuple[str, ...] = ()
    reason: str = ""  # why the status is not `done`
    findings: tuple[Finding, ...] = ()
    promises: tuple[PromiseSeen, ...] = ()
    rows: int = 0
    fired: int = 0
    toothless: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    digest: str | None = None

    @property
    def run_class(self) -> RunClass:
        return class_of(self.status, self.valid)

    @property
    def exit_code(self) -> ExitCode:
        return exit_code(self.status, self.valid)

    @property
    def witnesses(self) -> tuple[str, ...]:
        """Of what broke a promise."""
        return tuple(finding.witness for finding in self.findings if finding.cell == "forbidden")


def plan_of_run(plan: Plan, campaign: str, number: int, *, single: bool) -> Plan:
    """DESIGN 11.5: a single run has the plan's own seed, run i of a campaign one of its own; both have a tag."""
    seed = plan.seed if single else run_seed(plan.seed, number)
    return written_out(msgspec.structs.replace(plan, seed=seed, tag=run_tag(campaign, number)))


def execute(store: Store, campaign: str, number: int, plan: Plan) -> Summary:
    """Run it and store it. Whatever is raised on the way leaves nothing in the store."""
    recorded = run(plan, schedule_of(plan), world_of(plan).make(plan))
    with store.begin(campaign, number, plan, started=now()) as writer:
        table = history.to_table(recorded.rows)
        put(writer, recorded, table)
        seen = seen_of(plan, recorded)
        verdict = verdict_of(run_id(campaign, number), plan, recorded, table)
        writer.finish("done", verdict, trace_digest=recorded.digest, seen=seen)
    return summary(number, plan, recorded, verdict)


def put(writer: RunWriter, recorded: Recorded, table: pa.Table) -> None:
    """Every table of a run but its verdict."""
    writer.put_history(table)
    writer.put_schedule(recorded.schedule)
    record = "complete" if recorded.changes_complete else "sampled"
    writer.put_table("events", evidence.to_table("events", recorded.events))
    writer.put_table("changes", evidence.to_table("changes", recorded.changes, record=record))
    writer.put_table("registrations", evidence.to_table("registrations", recorded.registrations))
    writer.put_table("observations", evidence.to_table("observations", recorded.observations))


def verdict_of(name: str, plan: Plan, recorded: Recorded, table: pa.Table) -> Verdict:
    return judge(
        RunEvidence(
            run_id=name,
            plan=plan,
            table=table,
            events=recorded.events,
            changes=recorded.changes,
            registrations=recorded.registrations,
            changes_complete=recorded.changes_complete,
            seen=seen_of(plan, recorded),
        )
    )


def seen_of(plan: Plan, recorded: Recorded) -> Seen:
    """An event that could not fire is a doubt where somebody wrote it down; the swarm draws without knowing who will lead."""
    return Seen(
        crashed=recorded.crashed,
        violations=recorded.violations,
        refused=bool(recorded.refused) and not plan.drawn,
        converged=recorded.converged,
        excuse=recorded.excuse,
        read_to_the_end=recorded.read_to_the_end,
    )


def now() -> str:
    """Wall time, for people and for telling nights apart."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def summary(number: int, plan: Plan, recorded: Recorded, verdict: Verdict) -> Summary:
    return Summary(
        number=number,
        seed=plan.seed,
        status="done",
        valid=verdict.valid,
        reasons=verdict.reasons,
        findings=findings(verdict),
        promises=promises_of(verdict.cells),
        rows=len(recorded.rows),
        fired=sum(row.get("fired_ns") is not None for row in recorded.events if row["fault"] != "exit"),
        toothless=tuple(_when(recorded.events[event]) for event in recorded.toothless),
        refused=tuple(f"{recorded.schedule[event].fault}: {why}" for event, why in recorded.refused.items()),
        digest=recorded.digest,
    )


def _when(row: Mapping[str, Any]) -> str:
    """`gate at 3.100 s`"""
    return row["fault"] if row["fired_ns"] is None else f"{row['fault']} at {row['fired_ns'] / 10**9:.3f} s"


def mark(store: Store, campaign: str, number: int, plan: Plan, reason: str) -> Summary:
    """A run that could not be executed: its plan and the reason are kept, so that it can be tried again by hand."""
    try:
        with store.begin(campaign, number, plan) as writer:
            writer.put_schedule(schedule_of(plan))
            writer.put_history(history.to_table([]))
            record = writer.finish("infrastructure", None, reason)
    except RunExists:
        # it was whole after all: its worker died between storing it and saying so
        return of_stored(store.open(campaign, number))
    return _of_record(record)


def of_stored(stored: StoredRun, *, with_faults: bool = True) -> Summary:
    """A run that is in the store already. Its faults stand in a table: without them it is told eighty times quicker."""
    if not with_faults or "events" not in stored.record.files:
        return _of_record(stored.record)  # or it was never executed to its end
    events = [row for row in stored.table("events").to_pylist() if row["fault"] != "exit"]
    return msgspec.structs.replace(
        _of_record(stored.record),
        fired=sum(row["fired_ns"] is not None for row in events),
        toothless=tuple(_when(row) for row in events if row["healed_ns"] is not None and row["effect"] is False),
        refused=tuple(f"{row['fault']}: {row['refused']}" for row in events if row["refused"] is not None),
    )


def _of_record(record: RunRecord) -> Summary:
    verdict = record.verdict
    return Summary(
        number=record.number,
        seed=record.seed,
        status=record.status,
        valid=verdict.valid if verdict else None,
        reasons=verdict.reasons if verdict else (),
        reason=record.reason,
        findings=findings(verdict) if verdict else (),
        promises=promises_of(verdict.cells) if verdict else (),
        rows=record.rows,
        digest=record.trace_digest,
    )
