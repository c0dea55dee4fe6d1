"""The row of a run: what it says, with and without judging it again."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from checkers.latency import Latencies
from harness.execute import execute
from model.config_cell import cell_of
from model.identity import run_id
from model.refusal import Refusal
from model.store import Store
from model.whole_run import read_whole
from spark_analysis.judged import judged_row
from spark_analysis.rows import FIGURES, ROW, Row, night_of, quarantined_row, recorded_row, to_batch
from tests.clusters.sim.random_plans import random_plan
from tests.spark_analysis.conftest import CAMPAIGN

BROKEN_SEED = 5003
NEEDS_A_HISTORY = {"operations", "virtual_s", "append_latencies", "read_latencies"}


def row_of(store: Store, number: int, campaign: str = CAMPAIGN) -> Row:
    return judged_row(store.uri, campaign, read_whole(store, campaign, number))


def test_a_row_fits_its_schema_and_says_everything_about_a_run(store: Store) -> None:
    """Of a run that was judged and was not broken."""
    row = row_of(store, 0)
    run, verdict = store.open(CAMPAIGN, 0), store.record(CAMPAIGN, 0).verdict
    assert verdict is not None
    assert row.keys() == set(ROW.names) - {"quarantined"}
    (told,) = to_batch([row]).to_pylist()
    assert (told["campaign"], told["number"], told["seed"]) == (CAMPAIGN, 0, run.record.seed)
    assert (told["status"], told["valid"], told["quarantined"]) == ("done", "valid", None)
    assert told["cell"] == cell_of(run.plan())
    assert told["words"].startswith(f"RF {told['replicas']}, min ISR {told['min_isr']}, acks {told['acks']}")
    assert told["version"] == run.record.made_by
    assert {name: told[name] for name in FIGURES} == {name: verdict.stats.get(figure) for name, figure in FIGURES.items()}
    assert told["operation_count"] == run.record.rows == sum(each["count"] for each in told["operations"])
    appended = sum(each["count"] for each in told["operations"] if each["kind"] == "append" and each["outcome"] == "ok")
    assert sum(each["count"] for each in told["append_latencies"]) == verdict.stats["appends_ok"] == appended
    p99 = Latencies({each["bucket"]: each["count"] for each in told["append_latencies"]}).quantile_ns(0.99)
    assert told["append_p99_ms"] == (p99 or 0) / 10**6
    assert 2 <= told["virtual_s"] < 60
    events = [event for event in run.table("events").to_pylist() if event["fired_ns"] is not None]
    assert told["fired"] == sorted({event["fault"] for event in events} - {"exit"})
    assert set(told["bit"]) <= set(told["fired"])


def test_a_broken_run_names_its_anomalies_with_witness_and_signature(tmp_path: Path) -> None:
    """And the mutant that was on."""
    store = Store(tmp_path)
    execute(store, "runs", 0, msgspec.structs.replace(random_plan(BROKEN_SEED), mutants=("B36",)))
    row = row_of(store, 0, "runs")
    assert (row["valid"], list(row["mutants"])) == ("invalid", ["B36"])
    assert list(row["signatures"]) == ["i1:clean_election:commit"]
    (broken,) = [each for each in row["anomalies"] if each["cell"] == "forbidden"]
    assert (broken["name"], broken["signature"], broken["rule"]) == ("clean_election", "i1:clean_election:commit", "invariant 7")
    assert broken["witness"].startswith("invariant 7, clean election, at ")
    assert recorded_row(store, "runs", 0) == {key: value for key, value in row.items() if key not in NEEDS_A_HISTORY}


def test_the_recorded_row_is_the_judged_one_without_what_needs_a_history(store: Store) -> None:
    """Nothing is judged again: a run whose history has gone has a recorded row, and no judged one."""
    judged = row_of(store, 1)
    assert recorded_row(store, CAMPAIGN, 1) == {key: value for key, value in judged.items() if key not in NEEDS_A_HISTORY}
    (Path(store.directory(CAMPAIGN, 1)) / "history.parquet").unlink()
    assert recorded_row(store, CAMPAIGN, 1)["valid"] == "valid"
    with pytest.raises(Refusal, match=r"history\.parquet: the file is missing"):
        row_of(store, 1)


def test_promises_of_all_partitions_are_told_together(store: Store) -> None:
    """Each with how often it was seen broken."""
    verdict = store.record(CAMPAIGN, 0).verdict
    assert verdict is not None
    promises = row_of(store, 0)["promises"]
    kinds = {(cell.anomaly, cell.level, cell.rule, cell.promised) for cell in verdict.cells}
    assert {tuple(each[name] for name in ("anomaly", "level", "rule", "promised")) for each in promises} == kinds
    assert sum(each["seen"] for each in promises) == sum(cell.seen for cell in verdict.cells)


@pytest.mark.parametrize("status", ["infrastructure", "killed"])
def test_a_run_that_was_never_judged_has_its_status_and_no_verdict(store: Store, status: str) -> None:
    """It is no quarantine: its plan says where it belongs."""
    plan = store.open(CAMPAIGN, 0).plan()
    with store.begin(CAMPAIGN, 90, plan) as writer:
        writer.finish(status, None, "the disk was full")  # type: ignore[arg-type]  # one of two
    row = row_of(store, 90)
    assert (row["status"], row["reason"], row.get("valid"), row["cell"]) == (status, "the disk was full", None, cell_of(plan))
    assert to_batch([row]).to_pylist()[0]["valid"] is None


def test_a_run_of_status_done_that_nobody_judged_is_refused(store: Store) -> None:
    with store.begin(CAMPAIGN, 90, store.open(CAMPAIGN, 0).plan()) as writer:
        writer.finish("done", None)
    with pytest.raises(Refusal, match=f"^{run_id(CAMPAIGN, 90)}: this run was never judged"):
        row_of(store, 90)


def test_a_quarantined_row_says_where_and_why_and_nothing_else() -> None:
    (row,) = to_batch([quarantined_row("/store", "c", 7, "its dog ate it")]).to_pylist()
    assert {key: value for key, value in row.items() if value is not None} == {
        "store": "/store",
        "campaign": "c",
        "number": 7,
        "quarantined": "its dog ate it",
    }


@pytest.mark.parametrize(
    ("started", "night"),
    [
        ("2026-11-18T23:10:00+00:00", "2026-11-18"),
        ("2026-11-19T05:10:00+00:00", "2026-11-18"),
        ("2026-11-19T11:59:59Z", "2026-11-18"),
        ("2026-11-19T12:00:00Z", "2026-11-19"),
        ("", ""),
        ("last night", ""),
        ("0001-01-01T00:00:00", ""),
    ],
)
def test_a_night_has_one_date(started: str, night: str) -> None:
    assert night_of(started) == night
