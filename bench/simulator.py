"""bench/simulator.py: what the simulator sustains: three brokers, three controllers, 50 operations per second, random faults.

In   the default plan, seed after seed
Out  events per second on one core, with somebody who looks into the nodes after every event and without; virtual seconds per real
     second; runs per minute on all cores with everything stored; where the time goes
"""

from __future__ import annotations

import cProfile
import gc
import os
from collections.abc import Iterator
from pathlib import Path

from bench.figures import Figure, best_of_turns, progress
from bench.profiles import shares, undisturbed
from clusters.sim.cluster import SimCluster
from harness.campaign import by_workers, campaign_of, run_campaign
from harness.run import run
from harness.worlds import schedule_of, simulated
from model.plan import Plan
from model.store import Store

_TURNS = 5
_RUNS = 20
_CAMPAIGN = 200
_AIM = 100_000
_AIM_A_MINUTE = 1_000 / 3


def figures(scratch: Path) -> Iterator[Figure]:
    with undisturbed():
        progress(f"{_RUNS} runs of the default plan on one core, the best of {_TURNS} turns")
        yield from _one_core()
        _where_the_time_goes()
    cores = len(os.sched_getaffinity(0))
    progress(f"a campaign of {_CAMPAIGN} runs on {cores} cores, everything stored")
    store = Store(str(scratch / "store"))
    campaign = campaign_of(store, "bench", Plan(tidemark=1))
    workers = by_workers(store, campaign, cores)
    (seconds,) = best_of_turns(1, lambda: run_campaign(store, campaign, range(_CAMPAIGN), workers, lambda _: None))
    a_minute = _CAMPAIGN / seconds * 60
    yield Figure(name=f"simulated runs, {cores} workers, stored", value=a_minute, unit="runs/min", aim=_AIM_A_MINUTE)


def _one_core() -> Iterator[Figure]:
    """With and without invariants in turns, so that both see the machine in the same mood."""
    best = {True: (0.0, 0.0), False: (0.0, 0.0)}
    for _ in range(_TURNS):
        for looks in (True, False):
            counted: list[tuple[int, int]] = []
            (seconds,) = best_of_turns(1, lambda counted=counted, looks=looks: counted.extend(_runs(looks)))
            gc.collect()
            events, virtual_ns = sum(e for e, _ in counted), sum(t for _, t in counted)
            best[looks] = max(best[looks], (events / seconds, virtual_ns / 1e9 / seconds))
    yield Figure(name="simulated events, one core", value=best[True][0], unit="events/s", aim=_AIM)
    yield Figure(name="simulated events, one core, no invariants", value=best[False][0], unit="events/s")
    yield Figure(name="virtual time, one core", value=best[True][1], unit="s/s")


def _runs(looks: bool) -> list[tuple[int, int]]:
    return [_run(seed, looks=looks) for seed in range(_RUNS)]


def _run(seed: int, *, looks: bool = True) -> tuple[int, int]:
    plan = Plan(tidemark=1, seed=seed, tag=seed)
    cluster = simulated(plan) if looks else SimCluster(plan)
    run(plan, schedule_of(plan), cluster)
    return cluster.kernel.steps, cluster.kernel.now


def _where_the_time_goes() -> None:
    """By file, from a profile: its shares are right, its times are not."""
    profile = cProfile.Profile()
    profile.runcall(lambda: [_run(seed) for seed in range(5)])
    for room, share in shares(profile, most=16):
        progress(f"{100 * share:5.1f} %  {room}")
