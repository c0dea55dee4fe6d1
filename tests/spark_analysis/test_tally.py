"""The tally: Spark, a process pool and one process alone count the same, and an unreadable run is named, not fatal."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from model import history
from model.store import Store
from spark_analysis import tally
from spark_analysis.session import spark_session
from tests.model.recording import PLAN, row

CAMPAIGN = "counted"


@pytest.fixture
def runs(tmp_path: Path) -> tally.Runs:
    """Seven runs of growing length; the fourth is rotten."""
    store = Store(tmp_path)
    for number in range(7):
        with store.begin(CAMPAIGN, number, PLAN) as writer:
            writer.put_history(history.to_table([row(number, op) for op in range(10 * number)]))
            writer.finish("done", None)
    rotten = tmp_path / CAMPAIGN / "runs" / "00004" / "history.parquet"
    rotten.write_bytes(rotten.read_bytes()[:-5])
    return [(str(tmp_path), CAMPAIGN, number) for number in range(7)]


def check(rows: list[dict[str, object]]) -> None:
    assert tally.total(rows) == Counter({("append", "ok"): 10 + 20 + 30 + 50 + 60})
    (unreadable,) = [row for row in rows if row.get("unreadable")]
    assert unreadable["number"] == 4
    assert "counted/00004: history.parquet" in str(unreadable["unreadable"])


def test_one_process_and_a_pool_count_the_same(runs: tally.Runs) -> None:
    """Without Java the same function runs on a pool."""
    check([one for run in runs for one in tally.tally_run(*run)])
    check(tally.on_pool(runs))


@pytest.mark.needs("java")
def test_spark_counts_the_same(runs: tally.Runs, capfd: pytest.CaptureFixture[str]) -> None:
    """Only paths travel; workers open the runs; Spark's chatter reaches nobody's terminal."""
    with spark_session("local[2]") as session:
        check(tally.on_spark(session, runs))
    assert capfd.readouterr().err == ""
