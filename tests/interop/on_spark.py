"""tests/interop/on_spark.py: a campaign on a Spark cluster of which a worker is killed, and the same one on a pool beside it."""

from __future__ import annotations

from pathlib import Path

from harness.execute import Summary, of_stored
from model.leftovers import sweep
from model.store import Store
from tests.harness.campaign_process import CampaignProcess, numbers, wait_until, written
from tests.spark_cluster import SparkCluster


def kill_one_at_work(cluster: SparkCluster, store: Path, finished: int) -> dict[int, int]:
    """SIGKILL to a worker that executes runs, and to its executors, once so many are stored; what was stored just before."""
    wait_until(lambda: len(numbers(store)) >= finished)
    wait_until(lambda: any(cluster.at_work(worker) for worker in cluster.workers))
    victim = next(worker for worker in cluster.workers if cluster.at_work(worker))
    before = written(store)
    assert cluster.kill(victim), "it had no executor"
    return before


def assert_whole(campaign: CampaignProcess, runs: int, before: dict[int, int]) -> None:
    """Every number is there once, none was executed again, none is marked for what happened to its worker."""
    code, said = campaign.finish()
    assert code in (0, 1, 2), said  # a verdict; which one is compared below
    assert f"{runs} of {runs} runs, in" in said
    after = written(campaign.store)
    assert sorted(after) == list(range(runs))
    assert {number: after[number] for number in before} == before
    store = Store(campaign.store)
    (name,) = store.campaigns()
    for stored in store.open_all(name):
        stored.verify()
        assert stored.record.status == "done"
    sweep(store, name)
    assert list(store.staging(name).iterdir()) == [], "somebody still writes"


def assert_same_as_on_a_pool(store: Path, beside: Path, runs: int, *more: str) -> None:
    """The same command without a master: the same campaign, seeds, digests and verdicts."""
    CampaignProcess(beside, runs, *more).finish()
    assert _found(store) == _found(beside)


def _found(store: Path) -> list[Summary]:
    opened = Store(store)
    return [of_stored(stored) for campaign in opened.campaigns() for stored in opened.open_all(campaign)]
