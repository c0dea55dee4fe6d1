"""bench/history.py: rows while the run goes on, and the Parquet file that they end in (CHECKERS 1.4, 1.6).

In   made-up rows; a directory on a real disk
Out  rows per second through the stream, on one core; bytes per operation; speed of writing and reading the file
"""

from __future__ import annotations

import gc
import io
import os
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bench.figures import Figure, best_of_turns, progress
from bench.made_up import made_up_rows
from model.history import About, read_parquet, to_table, write_parquet
from model.operation import Row
from model.stream import HistoryStream

_STREAMED = 400_000
_STEADY = (50_000, 100_000)
_STORED = (1_000, 10_000, 100_000)
_ABOUT = About(run_id="bench/00001", run_tag=1, plan_digest="0" * 64, topics={"log": {"partitions": 3, "replicas": 3}})


def figures(scratch: Path) -> Iterator[Figure]:
    warm_up()
    yield from _streaming(scratch)
    for operations in _STORED:
        yield from _parquet(operations)


def warm_up() -> None:
    """Arrow imports half of pandas when it is first used; that is not what is measured."""
    sink = io.BytesIO()
    write_parquet(to_table(made_up_rows(100)), _ABOUT, sink)
    read_parquet(sink, "warm-up")


# -- the stream -------------------------------------------------------------------------------------------------------


def _streaming(scratch: Path) -> Iterator[Figure]:
    progress(f"making up {_STREAMED:,} rows")
    rows = made_up_rows(_STREAMED)
    progress("streaming them three times to the disk, on one core")
    paths = (scratch / f"{turn}.stream" for turn in range(3))
    with _on_one_core(), _out_of_the_collectors_sight():
        (best,) = best_of_turns(3, lambda: _stream(rows, next(paths)))
    yield Figure(name="rows streamed in a burst, synced, one core", value=_STREAMED / best, unit="rows/s", aim=200_000)
    for rate in _STEADY:
        progress(f"streaming {rate:,} rows a second, steadily")
        with _out_of_the_collectors_sight():
            waits = sorted(_waits(rows[: 2 * rate], rate, scratch / f"steady-{rate}.stream"))
        name = f"longest wait until durable at {rate:,} rows/s"
        yield Figure(name=name, value=1_000 * waits[-1], unit="ms", aim=200, higher_is_better=False)


def _stream(rows: list[Row], path: Path) -> None:
    """From the first append to the return of the last fsync; the rows come as fast as a loop can append them."""
    stream = HistoryStream(path)
    for row in rows:
        stream.append(row)
    stream.close()
    assert stream.durable == len(rows)


def _waits(rows: list[Row], rate: int, path: Path) -> list[float]:
    """For one row in every hundred, the seconds from its append until the stream called it durable (CHECKERS 1.6)."""
    stream = HistoryStream(path)
    waiting: deque[tuple[int, float]] = deque()
    waits: list[float] = []
    began = time.perf_counter()
    for number, row in enumerate(rows):
        stream.append(row)
        if number % 100 == 0:
            now = time.perf_counter()
            waiting.append((number, now))
            while waiting and waiting[0][0] < stream.durable:
                waits.append(now - waiting.popleft()[1])
            time.sleep(max(0.0, began + number / rate - now))
    while waiting:
        if waiting[0][0] < stream.durable:
            waits.append(time.perf_counter() - waiting.popleft()[1])
        else:
            time.sleep(0.001)
    stream.close()
    return waits


@contextmanager
def _out_of_the_collectors_sight() -> Iterator[None]:
    """A run does not hold all of its rows; the collector shall not walk over ours while we measure."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextmanager
def _on_one_core() -> Iterator[None]:
    """Every thread of this process on one core, also those that Arrow started earlier; later ones inherit it."""
    before = os.sched_getaffinity(0)
    _pin({min(before)})
    try:
        yield
    finally:
        _pin(before)


def _pin(cpus: set[int]) -> None:
    for thread in Path("/proc/self/task").iterdir():
        with suppress(ProcessLookupError):  # it ended in the meantime
            os.sched_setaffinity(int(thread.name), cpus)


# -- the file ---------------------------------------------------------------------------------------------------------


def _parquet(operations: int) -> Iterator[Figure]:
    """Size at every length; speed, in memory, for the longest: short files only measure their footer."""
    progress(f"a Parquet file of {operations:,} operations")
    rows = made_up_rows(operations)
    table = to_table(rows)
    sink = io.BytesIO()
    write_parquet(table, _ABOUT, sink)
    longest = operations == max(_STORED)
    yield Figure(
        name=f"Parquet of {operations:,} operations",
        value=sink.tell() / operations,
        unit="bytes/op",
        aim=20 if longest else None,
        higher_is_better=False,
    )
    if longest:
        values = sum(len(row.values or ()) for row in rows)
        yield Figure(name="values read per operation in that Parquet", value=values / operations, unit="values/op")
        writing, reading = best_of_turns(
            3, lambda: write_parquet(table, _ABOUT, io.BytesIO()), lambda: read_parquet(sink, "bench")
        )
        yield Figure(name="writing that Parquet", value=operations / writing, unit="rows/s")
        yield Figure(name="reading that Parquet", value=operations / reading, unit="rows/s")
