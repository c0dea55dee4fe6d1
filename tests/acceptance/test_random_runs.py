"""The right rules survive thousands of random runs over plans of every kind: nothing violated, nothing stuck, nobody crashed."""

from __future__ import annotations

import multiprocessing
import os
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

import msgspec
import pytest

from harness.run import run
from harness.worlds import schedule_of, simulated
from tests.clusters.sim.random_plans import random_plan

pytestmark = pytest.mark.acceptance

RUNS = int(os.environ.get("TIDEMARK_RANDOM_RUNS", "2000"))


class Outcome(msgspec.Struct, frozen=True):
    """What became of one run."""

    seed: int
    wrong: tuple[str, ...]
    excused: bool
    fired: dict[str, int]
    bitten: dict[str, int]
    events: int


def outcome_of(seed: int) -> Outcome:
    plan = random_plan(seed)
    cluster = simulated(plan)
    recorded = run(plan, schedule_of(plan), cluster)
    excused = bool(recorded.excuse)
    wrong = [*(each.text for each in recorded.violations), *recorded.crashed]
    if not excused and not (recorded.converged and recorded.read_to_the_end):
        wrong.append("it did not come back")
    mine = [row for row in recorded.events if row["fault"] != "exit" and row["fired_ns"] is not None]
    fired = Counter(row["fault"] for row in mine)
    bitten = Counter(row["fault"] for row in mine if row["effect"])
    return Outcome(seed, tuple(wrong), excused, fired, bitten, cluster.kernel.steps)


def test_the_right_rules_violate_nothing_and_always_come_back() -> None:
    """Dedicated and combined, 3 to 5 brokers, 1 to 5 voters, min ISR 1 and 2, ELR on and off, acks 1 and all, every fault."""
    with ProcessPoolExecutor(os.cpu_count(), mp_context=multiprocessing.get_context("spawn")) as pool:
        outcomes = list(pool.map(outcome_of, range(1, RUNS + 1), chunksize=10))
    fired, bitten = Counter[str](), Counter[str]()
    for each in outcomes:
        fired.update(each.fired)
        bitten.update(each.bitten)
    excused = [each.seed for each in outcomes if each.excused]
    print(f"\n{len(outcomes):,} runs of 30 virtual seconds, {sum(each.events for each in outcomes):,} events")
    print(f"damaged beyond what is promised: {len(excused)}")
    print("fault: fired, bitten")
    for name, count in sorted(fired.items()):
        print(f"  {name}: {count}, {bitten[name]}")
    assert {each.seed: each.wrong for each in outcomes if each.wrong} == {}
    assert all(bitten[name] for name in fired)
