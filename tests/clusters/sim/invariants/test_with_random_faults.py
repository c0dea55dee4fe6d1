"""The right rules under random faults violate nothing, and a run that is looked into is the same run."""

from __future__ import annotations

import pytest

from clusters.sim.cluster import SimCluster
from clusters.sim.invariants import Violation
from clusters.sim.kernel import Kernel, Stuck
from clusters.sim.latency import MS
from harness.run import Recorded, run
from harness.worlds import schedule_of
from model.operation import Operation
from model.plan import Plan
from nemesis.swarm_words import DESTROYING
from replication.rules import Rules
from replication.state import Leadership
from tests.clusters.sim.invariants.watched import Watched
from tests.clusters.sim.world import S

SECONDS = 12
SEEDS = range(100, 112)
LOSES = DESTROYING | {"lossy_kill", "elect"}
"""Faults after which loss may be allowed: the ledger of damage says for which partition, and until when."""


def plan_of(seed: int) -> Plan:
    return Plan(tidemark=1, seed=seed, tag=seed, for_ns=SECONDS * S)


def watched(seed: int, rules: type[Rules] = Rules) -> tuple[list[Violation], Recorded]:
    """With the ledger of damage; once the run has settled, everything is looked at once more."""
    plan = plan_of(seed)
    cluster = SimCluster(plan, rules())
    invariants = cluster.assert_invariants("note")
    recorded = run(plan, schedule_of(plan), cluster)
    return invariants.violations, recorded


def destructive(first: int, count: int) -> list[int]:
    """The first few seeds of which some fault destroys something."""
    seeds: list[int] = []
    while len(seeds) < count:
        if {event.fault for event in schedule_of(plan_of(first))} & LOSES:
            seeds.append(first)
        first += 1
    return seeds


@pytest.mark.parametrize("seed", [*SEEDS, *destructive(SEEDS.stop, len(SEEDS))])
def test_the_right_rules_violate_nothing(seed: int) -> None:
    """Every invariant, at every event and at the end, whatever else happens to the cluster."""
    violations, recorded = watched(seed)
    assert [str(violation) for violation in violations] == []
    assert (recorded.converged and recorded.read_to_the_end) or recorded.excuse  # else nobody looked at the end
    assert recorded.crashed == ()


@pytest.mark.parametrize("seed", [SEEDS.start, *destructive(SEEDS.stop, 1)])
def test_a_run_that_is_looked_into_is_the_same_run(seed: int) -> None:
    """Nothing is changed, drawn or delayed by looking."""
    plan = plan_of(seed)
    recorded = run(plan, schedule_of(plan), SimCluster(plan))
    assert recorded.digest == watched(seed)[1].digest


class AcksAtOnce(Rules):
    """B28"""

    def waits_for_hw(self, acks: int, known_copy: bool) -> bool:
        return False


class ForgetsEpochs(Rules):
    """B01: cut to the own HW before fetching."""

    def truncation_before_fetching(self, epochs: object, hw: int, leo: int) -> int | None:
        return hw if hw < leo else None


class AdvancesAlone(Rules):
    """B22"""

    def may_advance_hw(self, leader: Leadership, min_isr: int) -> bool:
        return True


@pytest.mark.parametrize(("rules", "number"), [(AcksAtOnce, 12), (ForgetsEpochs, 14), (AdvancesAlone, 11)])
def test_wrong_rules_are_found_among_random_faults(rules: type[Rules], number: int) -> None:
    """In one of a few runs at least, and by the invariant that BUGS names."""
    assert any(violation.number == number for seed in SEEDS for violation in watched(seed, rules)[0])


def test_a_world_in_which_nothing_can_happen_any_more_says_who_waits() -> None:
    """An empty heap is an error for whoever looks into a world."""
    kernel = Kernel()
    assert kernel.run_until(lambda: False, 5) is False
    kernel.waits = lambda: "  n1: Fetch to n2"
    with pytest.raises(Stuck, match=r"nothing is left that could happen\n  n1: Fetch to n2"):
        kernel.run_until(lambda: False, 10)


def test_a_world_that_never_ends_says_who_waits() -> None:
    """A passed cap is an error as well: found now and then, not at every event."""
    kernel = Kernel()
    kernel.step_cap, kernel.waits = 1_000, lambda: "  n1: Vote to n2"

    def again(_: object) -> None:
        kernel.at(kernel.now + 1, again, None)

    again(None)
    with pytest.raises(Stuck, match=r"more than 1000 events had happened\n  n1: Vote to n2"):
        kernel.run_until(lambda: False, 10**9)


def test_whoever_waits_is_named() -> None:
    """Requests under way, produces that wait for the HW, fetches that are parked, things that a paused process has not done."""
    world = Watched()
    world.fire("cut", ("n3", ("n1", "n2")))
    asked = Operation(kind="append", topic="t", partition=0, value=1, acks=-1)
    world._clients[1].submit((asked,), lambda _: None)
    world.run(300 * MS)
    world.cluster.processes.pause(2)
    world.run(300 * MS)
    assert world.cluster.kernel.waits is not None
    waits = world.cluster.kernel.waits()
    assert "n1: 1 produces wait for the HW of t/0 (now 0), 0 for a sync" in waits
    assert "n3: Fetch to n1 on fetch-0, sent" in waits
    assert "things have happened to it that it has not taken up yet" in waits
    world.cluster.processes.kill(3)
    assert "n3: its process has ended" in world.cluster.kernel.waits()
