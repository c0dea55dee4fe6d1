"""bench/one_analysis.py: what it takes to analyse one store, in a process that does nothing else.

In     `python -m bench.one_analysis STORE ENGINE TURNS`; ENGINE: one, pool, spark
Out    one line of JSON: seconds of the first analysis, start of the engine included, and the shortest of the later ones; the
       peak of this process's memory, and of its JVM's (`Analysed`)
Keeps  `one` is one plain core, Arrow's threads too. What is measured is the whole analysis, from planning to its tables
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

CORES: Final = 2


class Analysed(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds and bytes."""

    engine: str
    runs: int
    operations: int
    counts: dict[str, int]
    first_s: float
    best_s: float
    peak: int
    jvm_peak: int


def analysed(store: Path | str, engine: str, turns: int) -> Analysed:
    """From another process."""
    command = [sys.executable, "-m", "bench.one_analysis", str(store), engine, str(turns)]
    return msgspec.json.decode(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout, type=Analysed)


def _main(store: str, engine: str, turns: str) -> None:
    if engine == "one":
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # before anything starts a thread
    from spark_analysis.analysis import analyse
    from spark_analysis.engines import settle
    from spark_analysis.planning import scope_of

    if engine == "one":
        settle()
    began = time.perf_counter()

    times = []
    with _engine(engine) as working:
        for _ in range(int(turns)):
            found = analyse(scope_of(store), working, lambda known, total: None)
            times.append(time.perf_counter() - began)
            began = time.perf_counter()
        jvm_peak = max(map(_peak_of, _jvms()), default=0)
    told = Analysed(
        engine=found.record.engine,
        runs=found.record.runs,
        operations=found.operations,
        counts=dict(found.record.counts),
        first_s=times[0],
        best_s=min(times[1:], default=times[0]),
        peak=_peak_of(os.getpid()),
        jvm_peak=jvm_peak,
    )
    sys.stdout.buffer.write(msgspec.json.encode(told))


@contextmanager
def _engine(name: str) -> Iterator[Any]:
    from spark_analysis.engines import OneByOne, OnSpark

    if name == "one":
        yield OneByOne()
    elif name == "pool":
        from harness.analysis_pool import OnPool

        yield OnPool(CORES)
    else:
        from spark_analysis.session import spark_session

        with spark_session(f"local[{CORES}]", "bench") as session:
            yield OnSpark(session)


def _jvms() -> list[int]:
    """Children that are a Java."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return [int(child) for child in children if Path(f"/proc/{child}/comm").read_text().strip() == "java"]


def _peak_of(process: int) -> int:
    """A line of the kernel's, in bytes. Not ru_maxrss: a child inherits its parent's."""
    status = Path(f"/proc/{process}/status").read_text().splitlines()
    return int(next(line for line in status if line.startswith("VmHWM:")).split()[1]) * 1024


if __name__ == "__main__":
    _main(*sys.argv[1:])
