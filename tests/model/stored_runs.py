"""tests/model/stored_runs.py: runs with everything in them, to be stored, damaged and swept; what tests ask of a store."""

from __future__ import annotations

import multiprocessing
from multiprocessing.context import ForkServerContext

import msgspec

from model import evidence, history
from model.evidence import NAMES
from model.operation import Row
from model.run_record import RunRecord
from model.run_writer import RunWriter
from model.schedule import Condition, Event
from model.store import Store, StoredRun
from model.verdict import Anomaly, CheckerResult, Verdict, Witness
from tests.model.recording import PLAN, row
from tests.model.test_evidence import ROWS

CAMPAIGN = "nightly"
SCHEDULE = (
    Event(at_ns=5 * 10**9, fault="kill", target=("n1", "n2"), for_ns=10**9),
    Event(when=Condition(leader="n2", partition="t/0"), within_ns=10**9, fault="delay", target="n1", args={"latency": "50ms"}),
)
WITNESS = Witness(text="r7-p3-1 is gone", ops=(1, 2), offset=8, value=7_000_001, from_ns=0, to_ns=9, faults=(0,))
LOST = Anomaly(name="lost_write", level="committed", count=1, loss_class="suffix", witnesses=(WITNESS,))
VERDICT = Verdict(
    run_id=f"{CAMPAIGN}/00007",
    valid="invalid",
    checkers=(CheckerResult(name="durability", version=1, valid="invalid", anomalies=(LOST,), counts={"appends": 3}),),
    signatures=("lost_write/suffix",),
    stats={"operations": 3.0},
)


def fill(writer: RunWriter, number: int, rows: int = 3, who: str = "raw-0") -> None:
    """Everything that a run can hold; `who` wrote it can be told from each of its tables."""
    writer.put_history(history.to_table(rows_of(number, rows, who)))
    writer.put_schedule(SCHEDULE)
    for name in NAMES:
        writer.put_table(name, evidence.to_table(name, ROWS[name], record="complete", writer=who))


def rows_of(number: int, rows: int = 3, who: str = "raw-0") -> list[Row]:
    return [msgspec.structs.replace(row(number, op), client=who) for op in range(rows)]


def put_run(store: Store, number: int, rows: int = 3, who: str = "raw-0") -> RunRecord:
    with store.begin(CAMPAIGN, number, PLAN, started="2026-11-18T01:02:03Z") as writer:
        fill(writer, number, rows, who)
        return writer.finish("done", msgspec.structs.replace(VERDICT, run_id=f"{CAMPAIGN}/{number:05d}"))


def writers_of(run: StoredRun) -> set[str]:
    """Everybody who has a hand in this run: one, if it is whole."""
    run.verify()
    named = {run.table(name).schema.metadata[b"writer"].decode() for name in NAMES}
    return named | set(run.history().table.column("client").to_pylist())


def numbers(store: Store) -> list[int]:
    return [entry.number for entry in store.runs(CAMPAIGN)]


def leftovers(store: Store) -> list[str]:
    staging = store.staging(CAMPAIGN)
    return sorted(path.name for path in staging.iterdir()) if staging.exists() else []


def children() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.model.recording", "pandas"])
    return context
