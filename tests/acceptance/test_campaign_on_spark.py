"""The long figures of a campaign on Spark: 500 runs with a killed worker, what it costs beside a pool, a master that is none."""

from __future__ import annotations

import http.server
import threading
import time
from pathlib import Path

import pytest

from spark_analysis.failure import SparkFailure
from spark_analysis.session import spark_session
from tests.harness.campaign_process import CampaignProcess
from tests.interop.on_spark import assert_same_as_on_a_pool, assert_whole, kill_one_at_work
from tests.spark_cluster import SparkCluster

pytestmark = [pytest.mark.acceptance, pytest.mark.needs("java"), pytest.mark.xdist_group("spark"), pytest.mark.timeout(3600)]


def test_five_hundred_runs_survive_the_death_of_a_worker(spark_cluster: SparkCluster, tmp_path: Path) -> None:
    """Killed with its executors and replaced: every number once, the verdicts and digests of a pool."""
    campaign = CampaignProcess(tmp_path / "spark", 500, "--master", spark_cluster.url)
    before = kill_one_at_work(spark_cluster, tmp_path / "spark", 100)
    spark_cluster.heal()
    assert_whole(campaign, 500, before)
    assert_same_as_on_a_pool(tmp_path / "spark", tmp_path / "pool", 500)
    print(f"\n500 runs, a worker killed with {len(before)} stored: every run once, the same digests and verdicts as a pool")


def test_what_spark_costs_beside_a_pool(spark_cluster: SparkCluster, tmp_path: Path) -> None:
    """The same 200 runs on the same two cores, one after the other: measured, not judged."""
    took: dict[str, float] = {}
    for name, more in (("pool", ()), ("local[2]", ("--master", "local[2]")), ("cluster", ("--master", spark_cluster.url))):
        began = time.monotonic()
        code, said = CampaignProcess(tmp_path / name, 200, *more).finish()
        took[name] = time.monotonic() - began
        assert code in (0, 1, 2), said
    print("".join(f"\n200 runs on {name}: {seconds:.1f} s, {seconds / took['pool']:.2f}" for name, seconds in took.items()))


def test_a_server_that_is_no_master_is_given_up() -> None:
    """The port of the web interface is a frequent mistake. Spark itself asks three times, for a minute."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        began = time.monotonic()
        with (
            pytest.raises(SparkFailure, match="it does not answer as a Spark master of this version does"),
            spark_session(f"spark://127.0.0.1:{server.server_address[1]}"),
        ):
            pass
        server.shutdown()
    print(f"\na server that is no master was given up after {time.monotonic() - began:.0f} s")
