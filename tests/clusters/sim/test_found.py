"""Bugs that only whole nodes showed, each kept as a schedule. One line of CHANGELOG.md tells each story."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

from clusters.sim.cluster import SimCluster
from clusters.sim.latency import MS
from harness.run import run
from harness.worlds import schedule_of, simulated
from model.plan import Plan
from model.schedule import Event
from tests.clusters.sim.random_plans import random_plan
from tests.clusters.sim.world import SYNCED, S, World


def test_a_run_leaves_nothing_behind() -> None:
    """A fetch that waited kept its whole cluster alive: megabytes a run, in workers that execute thousands."""

    def executed() -> weakref.ref[SimCluster]:
        plan = Plan(tidemark=1, seed=1, for_ns=2 * S)
        cluster = SimCluster(plan)
        run(plan, (), cluster)
        return weakref.ref(cluster)

    gone = executed()
    gc.collect()
    assert gone() is None


def test_what_the_stop_left_unsynced_counts_only_after_its_sync_where_the_topic_says_so() -> None:
    """5.41, 3.14: a log is loaded before the topic's own settings are known, and must not claim its page cache by default."""
    world = World(config=SYNCED)
    disk: Any = world.disk(2)
    world.append(20)
    world.run(3 * S)
    sync, on_its_way = disk.sync, [True]

    def never(path: str, then: Any) -> None:
        if not (on_its_way[0] and path.startswith("t-0/")):
            sync(path, then)

    disk.sync = never
    world.append(1, acks=1)
    world.run(20 * MS)
    world.cluster.processes.kill(2)
    on_its_way[0] = False
    world.cluster.processes.start(2)
    world.until(lambda: 2 not in world.isr)
    world.until(lambda: world.isr == (1, 2, 3))
    world.until_healthy()
    acknowledged = world.partition.seen[1].hw
    world.cluster.processes.kill(2)
    disk.lose_unsynced()
    assert world.records_on_disk(2) == acknowledged


@pytest.mark.parametrize("seed", [1592, 1755])
def test_seeds_of_the_default_plan_that_once_looked_broken(seed: int) -> None:
    """1592: a registration that was committed after its sender's end. 1755: the last known leader is elected by the very batch in
    which the last eligible one comes back uncleanly. Both are right."""
    assert found_in(Plan(tidemark=1, seed=seed, tag=seed, for_ns=12 * S)) == []


@pytest.mark.parametrize("seed", [7726, 9421])
def test_seeds_of_random_plans_that_once_looked_broken(seed: int) -> None:
    """7726: a flipped bit in a replica that nobody counted on, compared with the others as if nothing had happened.

    9421: a broker that was stopped before it had registered comes back as an unclean one, and may have lost something.
    """
    assert found_in(random_plan(seed)) == []


def test_who_is_still_on_the_way_down_has_not_come_back() -> None:
    """A controlled shutdown may outlive its fault: everybody was asked to stop, and no controller was left to let brokers go. All
    three were in sync, the final read was over, and then they stopped one after the other: the cluster at rest had no leader."""
    everybody_stops = Event(at_ns=800 * MS, fault="stop", target="all", for_ns=S)
    plan = Plan(tidemark=1, seed=341, for_ns=2 * S, schedule=(everybody_stops,))
    cluster = simulated(plan)
    recorded = run(plan, schedule_of(plan), cluster)
    assert (recorded.converged, recorded.violations) == (True, ())
    assert cluster.observe().stopping == frozenset()
    starts = [process.starts for process in cluster.processes.nodes.values()]
    assert starts == [2] * 6


def found_in(plan: Plan) -> list[str]:
    recorded = run(plan, schedule_of(plan), simulated(plan))
    return [*(violation.text for violation in recorded.violations), *recorded.crashed]
