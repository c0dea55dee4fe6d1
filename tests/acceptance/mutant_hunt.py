"""tests/acceptance/mutant_hunt.py: how many random runs it takes until a mutant is found, by invariants and by what clients saw.

    python -m tests.acceptance.mutant_hunt --runs 100 --jobs 1 [B11 B13 ... | right]

In     mutants; how many runs of each; whether plans are drawn as well (random_plans.py) or are the default plan
Out    a line per mutant: the first run that each way of looking found it in, and in how many of all runs
Keeps  the seed of a run is a campaign's (model/identity.py), so every mutant is hunted through the same worlds
"""

from __future__ import annotations

import argparse
import multiprocessing
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import msgspec

from clusters.sim.cluster import SimCluster
from harness.run import run
from harness.worlds import schedule_of
from model.identity import run_seed
from model.plan import Plan
from model.vocabulary import MUTANTS
from tests.acceptance.crude_look import looked_at
from tests.clusters.sim.random_plans import random_plan

RIGHT = "right"
CAMPAIGN_SEED = 1


class Caught(msgspec.Struct, frozen=True):
    """One run: what was found in it, and how."""

    number: int
    invariants: frozenset[int]
    clients: frozenset[str]
    crashed: tuple[str, ...]


class Tally(msgspec.Struct, frozen=True):
    """One mutant: number of the first run that found it, counted from 1, and in how many runs each sign was seen."""

    mutant: str
    runs: int
    first_by_invariants: int | None
    first_by_clients: int | None
    signs: dict[str, int]

    def __str__(self) -> str:
        signs = ", ".join(f"{name} {count}" for name, count in sorted(self.signs.items()))
        by = [f"{each or '-':>5}" for each in (self.first_by_invariants, self.first_by_clients)]
        return f"{self.mutant:6} {self.runs:5} {by[0]} {by[1]}   {signs}"


def plan_of(mutant: str, number: int, *, drawn: bool) -> Plan:
    """Every second plan is drawn, unless all shall be the default plan."""
    seed = run_seed(CAMPAIGN_SEED, number)
    plan = random_plan(seed) if drawn and number % 2 else Plan(tidemark=1, seed=seed, tag=number)
    return msgspec.structs.replace(plan, mutants=() if mutant == RIGHT else (mutant,))


def caught(mutant: str, number: int, *, drawn: bool, invariants: bool = True) -> Caught:
    plan = plan_of(mutant, number, drawn=drawn)
    cluster = SimCluster(plan)
    if invariants:
        cluster.assert_invariants("note")
    else:
        cluster.keep_ledger()
    recorded = run(plan, schedule_of(plan), cluster)
    ledger = cluster.ledger
    assert ledger is not None
    clients = looked_at(recorded.rows, lambda at: ledger.forbids_loss(*at))
    return Caught(number, frozenset(each.number for each in recorded.violations), clients, recorded.crashed)


def hunt(mutant: str, runs: int, jobs: int, *, drawn: bool = True, invariants: bool = True, stop: bool = False) -> Tally:
    """Runs of one mutant, on so many cores. `stop`: at the first run in which clients saw it."""
    look = partial(caught, mutant, drawn=drawn, invariants=invariants)
    found: list[Caught] = []
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        for first in range(1, runs + 1, 10):
            found += pool.map(look, range(first, min(first + 10, runs + 1)))
            if stop and any(each.clients for each in found):
                break
    return tally(mutant, found)


def tally(mutant: str, found: Sequence[Caught]) -> Tally:
    signs = Counter[str]()
    for each in found:
        signs.update([*(f"i{number:02}" for number in each.invariants), *each.clients, *(["crash"] if each.crashed else [])])
    return Tally(
        mutant,
        len(found),
        next((each.number for each in found if each.invariants), None),
        next((each.number for each in found if each.clients), None),
        dict(signs),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mutants", nargs="*", default=[RIGHT, *MUTANTS])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--default-plan", action="store_true", help="no drawn plans")
    parser.add_argument("--blind", action="store_true", help="without invariants")
    parser.add_argument("--stop", action="store_true", help="at the first run in which clients saw it")
    asked = parser.parse_args()
    print("mutant  runs  first by invariants, by clients; in how many runs: i = invariant, else what clients saw", flush=True)
    for mutant in asked.mutants:
        found = hunt(mutant, asked.runs, asked.jobs, drawn=not asked.default_plan, invariants=not asked.blind, stop=asked.stop)
        print(found, flush=True)


if __name__ == "__main__":
    main()
