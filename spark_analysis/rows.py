"""spark_analysis/rows.py: one row per run: its columns, and the rows that need no judge.

In     what a run says of itself: its record, its plan, its events
Out    `ROW`, the fixed Arrow schema of everything that is asked about many runs; rows as plain dictionaries, and batches of them
Keeps  a run that cannot be used is a row too: its place, and `quarantined` with the reason; nothing else of it is believed
Not    judging (spark_analysis/judged.py), adding rows up (spark_analysis/groups.py)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec
import pyarrow as pa

from checkers.signature import signature
from model.config_cell import cell_of, facts_of, words_of
from model.plan import Plan
from model.run_record import RunRecord
from model.store import Store
from model.verdict import Verdict

Row = dict[str, Any]

FIGURES: Final = {  # column: the figure of a verdict that it holds
    "without_append_quiet_s": "longest_without_append_quiet_s",
    "without_append_broken_s": "longest_without_append_broken_s",
    "without_read_quiet_s": "longest_without_read_quiet_s",
    "without_read_broken_s": "longest_without_read_broken_s",
    "recovery_s": "recovery_s",
    "appends_per_s": "appends_ok_per_s",
    "reads_per_s": "reads_ok_per_s",
    "append_p99_ms": "append_p99_ms",
    "read_p99_ms": "read_p99_ms",
}

_TEXT, _COUNT, _TEXTS = pa.string(), pa.int64(), pa.list_(pa.string())
_FACTS = {
    **dict.fromkeys(("system", "version", "cluster"), _TEXT),
    **{name: pa.int32() for name in ("brokers", "controllers", "replicas", "partitions", "min_isr")},
    "acks": _TEXT,
    "unclean": pa.bool_(),
    "elr": pa.bool_(),
    "flush": _TEXT,
    "workload": _TEXT,
    "faults": _TEXT,
}
_ANOMALY = pa.struct(
    {
        **dict.fromkeys(("name", "level", "class", "evidence", "rule", "cell"), _TEXT),
        "count": _COUNT,
        "signature": _TEXT,
        "partition": _TEXT,
        "witness": _TEXT,  # the first one, in English
    }
)
_PROMISE = pa.struct({**dict.fromkeys(("anomaly", "level", "rule", "promised"), _TEXT), "seen": _COUNT})
_OPERATIONS = pa.struct({"kind": _TEXT, "outcome": _TEXT, "count": _COUNT})
_LATENCIES = pa.list_(pa.struct({"bucket": pa.int32(), "count": _COUNT}))

ROW: Final = pa.schema(
    {
        "store": _TEXT,
        "campaign": _TEXT,
        "number": _COUNT,
        "quarantined": _TEXT,  # null, or why nothing else of this run is known
        "seed": _COUNT,
        "status": _TEXT,
        "reason": _TEXT,  # why the status is not `done`
        "valid": _TEXT,  # null: nobody judged it
        "reasons": _TEXTS,  # why it is unknown
        "signatures": _TEXTS,
        "mutants": _TEXTS,
        "cell": _TEXT,
        "words": _TEXT,
        **_FACTS,
        "started": _TEXT,
        "night": _TEXT,
        "fired": _TEXTS,  # kinds of faults
        "bit": _TEXTS,
        "anomalies": pa.list_(_ANOMALY),
        "promises": pa.list_(_PROMISE),
        "operation_count": _COUNT,
        "operations": pa.list_(_OPERATIONS),
        "virtual_s": pa.float64(),
        **dict.fromkeys(FIGURES, pa.float64()),
        "append_latencies": _LATENCIES,  # of those that were accepted: buckets of checkers/latency.py
        "read_latencies": _LATENCIES,
    }
)


def to_batch(rows: Sequence[Row]) -> pa.RecordBatch:
    """Rows as Arrow. What a row does not say is null."""
    return pa.RecordBatch.from_pylist(list(rows), schema=ROW)


def quarantined_row(store: str, campaign: str, number: int, reason: str) -> Row:
    return {"store": store, "campaign": campaign, "number": number, "quarantined": reason}


def row_of(
    store: str, campaign: str, record: RunRecord, plan: Plan, verdict: Verdict | None, events: Iterable[Mapping[str, Any]] = ()
) -> Row:
    """Everything that needs no history."""
    facts = facts_of(plan, record.made_by or "unknown")
    fired = [row for row in events if row["fired_ns"] is not None and row["fault"] != "exit"]
    return {
        "store": store,
        "campaign": campaign,
        "number": record.number,
        "seed": record.seed,
        "status": record.status,
        "reason": record.reason,
        "mutants": plan.mutants,
        "cell": cell_of(plan),
        "words": words_of(facts),
        **msgspec.structs.asdict(facts),
        "started": record.started,
        "night": night_of(record.started),
        "fired": sorted({row["fault"] for row in fired}),
        "bit": sorted({row["fault"] for row in fired if row["effect"]}),
        "operation_count": record.rows,
        **({} if verdict is None else _found(verdict)),
    }


def recorded_row(store: Store, campaign: str, number: int) -> Row:
    """Of a run as run.json tells it: nothing is judged again and no history is opened, so operations and latencies are null."""
    run = store.open(campaign, number)
    events = run.table("events").to_pylist() if "events" in run.record.files else ()
    return row_of(store.uri, campaign, run.record, run.plan(), run.record.verdict, events)


def _found(verdict: Verdict) -> Row:
    return {
        "valid": verdict.valid,
        "reasons": verdict.reasons,
        "signatures": verdict.signatures,
        "anomalies": [_anomaly(*each) for each in _anomalies(verdict)],
        "promises": promises_of(verdict),
        **{column: verdict.stats.get(name) for column, name in FIGURES.items()},
    }


def _anomalies(verdict: Verdict) -> Iterable[tuple[Any, str]]:
    for checker in verdict.checkers:
        scope = checker.scope
        where = "" if scope is None or scope.partition is None else f"{scope.topic}/{scope.partition}"
        for anomaly in checker.anomalies:
            yield anomaly, where


def _anomaly(anomaly: Any, where: str) -> Row:
    return {
        "name": anomaly.name,
        "level": anomaly.level,
        "class": anomaly.loss_class,
        "evidence": anomaly.evidence,
        "rule": anomaly.rule,
        "cell": anomaly.cell,
        "count": anomaly.count,
        "signature": signature(anomaly),
        "partition": where,
        "witness": anomaly.witnesses[0].text if anomaly.witnesses else None,
    }


def promises_of(verdict: Verdict) -> list[Row]:
    """Every promise of a run, its partitions together."""
    seen: Counter[tuple[str, str, str, str]] = Counter()
    for cell in verdict.cells:
        seen[cell.anomaly, cell.level, cell.rule, cell.promised] += cell.seen
    names = "anomaly", "level", "rule", "promised"
    return [dict(zip(names, key, strict=True)) | {"seen": count} for key, count in sorted(seen.items())]


def night_of(started: str) -> str:
    """The date on which the night began: twelve hours are taken off, so that no night has two. Empty: nobody knows."""
    try:
        return (datetime.fromisoformat(started) - timedelta(hours=12)).date().isoformat()
    except (ValueError, OverflowError):
        return ""
