"""checkers/stored.py: a run of the store, judged again by nothing but what lies there.

In     a stored run, or its tables out of a pack
Out    the same `Verdict` that it was given when it ended, if nothing of it has changed and the checkers are the same
Keeps  pure: the same files give the same verdict on every machine, in a process pool and inside Spark
Not    whether its files are what was written (model/store.py), what many verdicts mean (spark_analysis/)
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pyarrow as pa

from checkers.judge import judge
from checkers.run_evidence import RunEvidence
from model import evidence
from model.history import History
from model.plan import Plan
from model.refusal import Refusal
from model.run_record import RunRecord
from model.seen import Seen
from model.store import StoredRun
from model.verdict import Verdict


class Tables(msgspec.Struct, frozen=True):
    """What a run left behind, wherever it was read from."""

    plan: Plan
    history: History
    beside: Mapping[evidence.Name, pa.Table]


def tables_of(run: StoredRun) -> Tables:
    """Every file is checked against its digest; what is wrong with one is a `Refusal` that names it."""
    return Tables(run.plan(), run.history(), {name: run.table(name) for name in evidence.NAMES if name in run.record.files})


def judge_run(record: RunRecord, tables: Tables) -> Verdict:
    """A run that ended by itself. One that was never executed to its end has no verdict to give."""
    if record.status != "done" or record.seen is None:
        raise Refusal("this run was never judged", where=record.run_id, allowed="a run of status `done`")
    return judge(evidence_of(record, tables))


def evidence_of(record: RunRecord, tables: Tables) -> RunEvidence:
    changes = tables.beside["changes"]
    return RunEvidence(
        run_id=record.run_id,
        plan=tables.plan,
        table=tables.history.table,
        complete=tables.history.about.complete,
        events=tables.beside["events"].to_pylist(),
        changes=changes.to_pylist(),
        registrations=tables.beside["registrations"].to_pylist(),
        changes_complete=(changes.schema.metadata or {}).get(b"record") == b"complete",
        seen=record.seen or Seen(),
    )
