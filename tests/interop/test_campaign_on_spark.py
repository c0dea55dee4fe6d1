"""tidemark run --master: a campaign on executors of Spark is the same campaign, whatever happens to them."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from harness.campaign import by_workers, campaign_of, run_campaign
from harness.execute import Summary
from harness.hands import Hands
from harness.pool import Crew, Result
from model.plan import Plan
from model.store import Store
from tests.harness.campaign_process import CampaignProcess, numbers, wait_until, workers_of
from tests.harness.pool_work import DIES, HANGS, RAISES
from tests.interop.on_spark import assert_same_as_on_a_pool, assert_whole, kill_one_at_work
from tests.spark_cluster import SparkCluster

pytestmark = [pytest.mark.needs("java"), pytest.mark.xdist_group("spark"), pytest.mark.timeout(900)]


def test_a_worker_killed_in_the_middle_costs_nothing_but_time(spark_cluster: SparkCluster, tmp_path: Path) -> None:
    """100 runs on two workers; one is killed with its executors and not replaced: all are there, and are those of a pool."""
    campaign = CampaignProcess(tmp_path / "spark", 100, "--master", spark_cluster.url)
    before = kill_one_at_work(spark_cluster, tmp_path / "spark", 20)
    assert len(before) < 100
    assert_whole(campaign, 100, before)
    assert_same_as_on_a_pool(tmp_path / "spark", tmp_path / "pool", 100)


def test_ctrl_c_ends_it_and_the_same_command_goes_on(spark_cluster: SparkCluster, tmp_path: Path) -> None:
    """Exit code 130, every process gone; what was stored counts for whoever goes on, here a pool."""
    same = ("--seed", "7")
    campaign = CampaignProcess(tmp_path, 1000, "--master", spark_cluster.url, *same)
    wait_until(lambda: len(numbers(tmp_path)) >= 3)
    os.kill(campaign.process.pid, signal.SIGINT)
    code, said = campaign.finish()
    assert code == 130, said
    assert "stopped by Ctrl-C; the same command goes on" in said
    wait_until(lambda: workers_of(tmp_path) == [])
    there = numbers(tmp_path)
    assert 3 <= len(there) < 1000
    runs = max(there) + 2
    code, said = CampaignProcess(tmp_path, runs, *same).finish()
    assert f"{runs} of {runs} runs, {len(there)} of them there already" in said
    assert sorted(numbers(tmp_path)) == list(range(runs))


def test_a_local_spark_does_what_the_pool_does(tmp_path: Path) -> None:
    """One session for two campaigns: six runs, and work that ends badly in every way."""
    plan = Plan(tidemark=1, seed=7, for_ns=2 * 10**9)
    told: dict[str, list[Summary]] = {"spark": [], "pool": []}
    with Hands(master="local[2]").pool("quick", print) as on_spark:
        for name, pool in (("spark", [on_spark]), ("pool", [])):
            store = Store(tmp_path / name)
            campaign = campaign_of(store, "quick", plan)
            run_campaign(store, campaign, range(6), by_workers(store, campaign, 2, *pool), told[name].append)
        setup = json.dumps({"notes": str(tmp_path)}).encode()
        crew = Crew(name="bad", work="tests.harness.pool_work:misbehaves", setup=setup, jobs=2, limit_s=2)
        seen: dict[int, Result] = {}
        on_spark(crew, [1, DIES, RAISES, HANGS, 2], seen.__setitem__)
    by_number = {name: sorted(summaries, key=lambda summary: summary.number) for name, summaries in told.items()}
    assert by_number["spark"] == by_number["pool"]
    assert [summary.number for summary in by_number["spark"]] == list(range(6))
    assert {number: result.status for number, result in seen.items()} == {
        1: "done", 2: "done", DIES: "lost", RAISES: "failed", HANGS: "lost",
    }  # fmt: skip
    assert seen[DIES].reason == "the worker of this run died (signal 9)"
    assert seen[HANGS].reason == "the worker of this run gave no answer within 2 s"
    assert seen[RAISES].reason.startswith("ValueError: no six")
