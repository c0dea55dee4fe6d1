"""spark_analysis/tally.py: how many operations of each kind ended how, over every run of a campaign.

In   a store, and the numbers of runs: only these travel through Spark; a worker opens whole runs
Out  one row per run, kind and type; or, for a run that could not be read, one row that says why
Why  it is the smallest job that has the shape of all the others: a pure function of one run, and plumbing round it
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import pyarrow as pa

from model.refusal import Refusal
from model.store import Store

RUN = pa.schema([("store", pa.string()), ("campaign", pa.string()), ("number", pa.int64())])
TALLY = pa.schema(
    [
        ("number", pa.int64()),
        ("kind", pa.string()),
        ("type", pa.string()),
        ("operations", pa.int64()),
        ("unreadable", pa.string()),
    ]
)
TALLY_FOR_SPARK = "number long, kind string, type string, operations long, unreadable string"

Runs = Sequence[tuple[str, str, int]]
"""Store, campaign and number of each run."""


def tally_run(store: str, campaign: str, number: int) -> list[dict[str, Any]]:
    """The pure part: one run in, its rows out. A run that cannot be read never fails the job."""
    try:
        table = Store(store).open(campaign, number).history().table
    except Refusal as refusal:
        return [{"number": number, "unreadable": str(refusal)}]
    counted = table.select(["kind", "type"]).cast(pa.schema([("kind", pa.string()), ("type", pa.string())]))
    groups = counted.group_by(["kind", "type"]).aggregate([([], "count_all")]).to_pylist()
    return [{"number": number, "kind": g["kind"], "type": g["type"], "operations": g["count_all"]} for g in groups]


def tally_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What a Spark worker does with the runs it was handed."""
    for batch in batches:
        for run in batch.to_pylist():
            yield pa.RecordBatch.from_pylist(tally_run(run["store"], run["campaign"], run["number"]), schema=TALLY)


def on_spark(session: Any, runs: Runs, slices: int = 4) -> list[dict[str, Any]]:
    """The tally by Spark. No operation is ever shuffled."""
    frame = session.createDataFrame(list(runs), "store string, campaign string, number long").repartition(slices)
    return [row.asDict() for row in frame.mapInArrow(tally_batches, TALLY_FOR_SPARK).collect()]


def on_pool(runs: Runs, jobs: int = 2) -> list[dict[str, Any]]:
    """The same tally without Java."""
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        return [row for rows in pool.map(_tally_one, runs) for row in rows]


def _tally_one(run: tuple[str, str, int]) -> list[dict[str, Any]]:
    return tally_run(*run)


def total(rows: Iterable[dict[str, Any]]) -> Counter[tuple[str, str]]:
    """All runs together, by kind and type."""
    counter: Counter[tuple[str, str]] = Counter()
    for row in rows:
        if row.get("unreadable") is None:
            counter[row["kind"], row["type"]] += row["operations"]
    return counter
