"""spark_analysis/judged.py: one run in, its row out: the pure function that every engine calls.

In     a run with everything of it in memory, wherever it was read from
Out    its row; or a `Refusal`, where it cannot be believed
Keeps  the verdict of a row is given now, by the checkers, and is that of run.json too; a run that never ended by itself has none
Not    reading (model/whole_run.py, model/pack.py), what becomes of a refusal (spark_analysis/unit.py)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from checkers.availability import SECOND, Availability, used
from checkers.judge import judge
from checkers.latency import Latencies
from checkers.run_evidence import RunEvidence
from checkers.stored import Tables, evidence_of
from model.operation import KINDS, TYPES
from model.refusal import Refusal
from model.whole_run import WholeRun
from spark_analysis.contradiction import contradiction
from spark_analysis.rows import Row, row_of

_NEEDED = ("events", "changes", "registrations")


def judged_row(store: str, campaign: str, run: WholeRun) -> Row:
    """A run that failed before it was judged says so in its status."""
    record = run.record
    if record.status != "done":
        return row_of(store, campaign, record, run.plan(), None)
    found = _evidence(run)
    usage = _used(found)
    verdict = judge(found, used=usage)
    if problem := contradiction(record, verdict):
        raise Refusal(problem)
    row = row_of(store, campaign, record, found.plan, verdict, found.events)
    return row | _counted(found) | ({} if usage is None else _latencies(usage))


def _evidence(run: WholeRun) -> RunEvidence:
    record = run.record
    if record.seen is None:
        raise Refusal("this run was never judged", where=record.run_id, allowed="a run of status `done`")
    if run.history is None:
        raise Refusal("this run has no history", where=record.run_id)
    for name in _NEEDED:
        if name not in run.tables:
            raise Refusal(f"this run has no {name}", where=record.run_id)
    return evidence_of(record, Tables(run.plan(), run.history, run.tables))


def _used(found: RunEvidence) -> Sequence[Availability] | None:
    """None: it cannot be told. The judge meets the same exception, and calls it a doubt."""
    try:
        return used(found)
    except Exception:  # noqa: BLE001  whatever it is: see above
        return None


def _counted(found: RunEvidence) -> Row:
    """Operations by kind and outcome, and when the last of them ended."""
    columns = found.columns
    width = len(TYPES)
    counts = np.bincount(columns.kind.astype(np.int64) * width + columns.outcome, minlength=len(KINDS) * width)
    ended = columns.start + columns.number("took_ns")
    return {
        "operation_count": columns.rows,
        "operations": [
            {"kind": KINDS[code // width], "outcome": TYPES[code % width], "count": int(counts[code])}
            for code in np.flatnonzero(counts).tolist()
        ],
        "virtual_s": int(ended.max(initial=0)) / SECOND,
    }


def _latencies(usage: Sequence[Availability]) -> Row:
    return {
        "append_latencies": _histogram([one.appends.latencies for one in usage]),
        "read_latencies": _histogram([one.reads.latencies for one in usage]),
    }


def _histogram(each: Sequence[Latencies]) -> list[dict[str, Any]]:
    merged = reduce(Latencies.merge, each, Latencies())
    return [{"bucket": bucket, "count": count} for bucket, count in sorted(merged.counts.items())]
