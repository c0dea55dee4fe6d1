"""bench/analysis.py: how fast many stored runs are judged again: Spark, a pool, one plain core; and what the driver holds.

In     stores of many small runs and of few large ones: some are simulated, the others are copies under numbers of their own
Out    operations per second of whole analyses, as ratios to one core, which does the same work; the driver's peak memory at a
       tenth of the runs and at nearly all of them. Each engine works in a process of its own, which measures itself
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from bench.figures import Figure, progress
from bench.one_analysis import CORES, Analysed, analysed
from harness.campaign import Campaign, run_campaign
from model.plan import Plan, Workload, to_json
from model.quantity import Rate
from model.store import Store
from spark_analysis.java import find_java
from tests.spark_analysis.stores import multiply

_RUNS: Final = 10_000
_FEWER: Final = _RUNS // 10
_SIMULATED: Final = 200
_LARGE_RUNS: Final = 20
_SMALL: Final = Plan(tidemark=1)  # 30 s, about a thousand operations
_LARGE: Final = Plan(
    tidemark=1, for_ns=120 * 10**9, workload=Workload(processes=20, rate=Rate(1_000, "s"))
)  # a hundred times that
_TURNS: Final = 3
_AIM: Final = 3_000_000


def figures(scratch: Path) -> Iterator[Figure]:
    small = _store(scratch / "small", _SMALL, {"fewer": _FEWER, "many": _RUNS - _FEWER}, _SIMULATED)
    large = _store(scratch / "large", _LARGE, {"large": _LARGE_RUNS}, 2)
    yield from _speed(f"{_RUNS:,} runs", small)
    yield from _speed(f"{_LARGE_RUNS} large runs", large)
    yield from _memory(small)


def _store(path: Path, plan: Plan, campaigns: dict[str, int], simulated: int) -> Path:
    """Simulated on all cores, multiplied in this one."""
    store = Store(path)
    for name, runs in campaigns.items():
        real = min(simulated, runs)
        progress(f"simulating {real} of {runs:,} runs for {path.name}/{name}, copying the others")
        campaign = Campaign(store=store.uri, name=name, plan=msgspec.Raw(to_json(plan)))
        run_campaign(store, campaign, range(real), CORES, lambda summary: None)
        multiply(store, name, runs, range(real))
    return path


def _speed(what: str, store: Path) -> Iterator[Figure]:
    progress(f"analysing {what} for the first time, on one core: every run is opened, and packed if it is small")
    opened = analysed(store, "one", 1)
    yield _rate(f"{what}, one core, not packed yet", opened, opened.first_s)
    progress(f"analysing {what}, out of packs, {_TURNS} times with each engine")
    one = analysed(store, "one", _TURNS)
    yield _rate(f"{what}, one core", one, one.best_s)
    pool = analysed(store, "pool", _TURNS)
    yield _rate(f"{what}, pool of {CORES}", pool, pool.best_s)
    yield _ratio(f"{what}, pool of {CORES} against one core", one.best_s / pool.best_s)
    if find_java() is None:
        progress("no Java here: nothing is measured on Spark")
        return
    spark = analysed(store, "spark", 1 + _TURNS)
    yield _rate(f"{what}, Spark local[{CORES}], cold", spark, spark.first_s)
    yield _rate(f"{what}, Spark local[{CORES}], warm", spark, spark.best_s, aim=_AIM)
    yield _ratio(f"{what}, warm Spark against one core", one.best_s / spark.best_s, aim=1)


def _rate(name: str, found: Analysed, taken_s: float, aim: float | None = None) -> Figure:
    return Figure(name=name, value=found.operations / taken_s, unit="ops/s", aim=aim)


def _ratio(name: str, value: float, aim: float | None = None) -> Figure:
    return Figure(name=name, value=value, unit="times", aim=aim)


def _memory(store: Path) -> Iterator[Figure]:
    """Of one analysis each: a tenth of the runs, and nearly all of them."""
    for engine in ("pool", "spark") if find_java() else ("pool",):
        progress(f"the driver's memory with {engine}")
        few, many = analysed(store / "fewer", engine, 1), analysed(store / "many", engine, 1)
        for found in (few, many):
            name = f"driver's peak, {engine}, {found.runs:,} runs"
            yield Figure(name=name, value=found.peak / 1e6, unit="MB", higher_is_better=False)
            if found.jvm_peak:
                yield Figure(name=f"{name}: its JVM", value=found.jvm_peak / 1e6, unit="MB", higher_is_better=False)
        yield Figure(
            name=f"driver's memory grows, {engine}", value=(many.peak - few.peak) / 1e6, unit="MB", higher_is_better=False
        )
