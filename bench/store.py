"""bench/store.py: many runs: writing one, reading them singly and from packs, listing them.

In   made-up runs, in a store on a real disk
Out  milliseconds per run written; operations per second read, both ways, and their ratio; seconds per listing.
     Files that were just written are still in memory: what is measured is our work, not the disk's.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path

import msgspec

from bench.figures import Figure, best_of_turns, progress, seconds
from bench.history import warm_up
from bench.made_up import PLAN, made_up_rows
from model import pack, run_record
from model.history import to_table
from model.identity import written_number
from model.run_record import RunEntry
from model.store import INDEX, RUNS, Store
from model.verdict import Verdict
from model.whole_run import read_whole

_RUNS, _OPERATIONS = 400, 1_000
_LISTED = 10_000


def figures(scratch: Path) -> Iterator[Figure]:
    warm_up()
    store = Store(scratch / "store")
    yield _writing(store)
    yield from _reading(store)
    yield from _listing(store)


def _write_run(store: Store, campaign: str, number: int) -> float:
    """Seconds from `begin` to the return of `finish`; the table is there already, as it is when the simulator has ended."""
    table = to_table(made_up_rows(_OPERATIONS, seed=number))

    def write() -> None:
        with store.begin(campaign, number, PLAN) as writer:
            writer.put_history(table)
            writer.finish("done", Verdict(run_id=f"{campaign}/{written_number(number)}", valid="valid"))

    return seconds(write)


def _writing(store: Store) -> Figure:
    progress(f"making up and writing {_RUNS} runs of {_OPERATIONS:,} operations")
    times = [_write_run(store, "read", number) for number in range(_RUNS)]
    name = f"writing a run of {_OPERATIONS:,} operations, median"
    return Figure(name=name, value=1_000 * statistics.median(times), unit="ms", higher_is_better=False)


def _reading(store: Store) -> Iterator[Figure]:
    entries = store.runs("read")
    progress(f"packing {len(entries)} runs, {pack.RUNS_PER_PACK} at a time")
    for at in range(0, len(entries), pack.RUNS_PER_PACK):
        runs = [read_whole(store, "read", entry.number) for entry in entries[at : at + pack.RUNS_PER_PACK]]
        pack.write_pack(store, "read", runs)
    progress("reading all of them, singly and packed, five times in turns")
    single, packed = best_of_turns(5, lambda: _read_singly(store, entries), lambda: _read_packed(store))
    operations = _RUNS * _OPERATIONS
    yield Figure(name=f"reading {_RUNS} runs singly", value=operations / single, unit="ops/s")
    yield Figure(name=f"reading {_RUNS} runs from packs", value=operations / packed, unit="ops/s")
    yield Figure(name="packs are quicker than single runs by", value=single / packed, unit="times")


def _read_singly(store: Store, entries: list[RunEntry]) -> None:
    rows = sum(store.open("read", entry.number).history().table.num_rows for entry in entries)
    assert rows == _RUNS * _OPERATIONS


def _read_packed(store: Store) -> None:
    packs = [pack.open_pack(store, place) for place in pack.packs_of(store, "read")]
    runs = (run for each in packs for run in each.runs(each.current(store, "read")))
    rows = sum(run.history.table.num_rows for run in runs if run.history is not None)
    assert rows == _RUNS * _OPERATIONS


# -- listing ----------------------------------------------------------------------------------------------------------


def _listing(store: Store) -> Iterator[Figure]:
    progress(f"faking a campaign of {_LISTED:,} runs")
    index = _fake_campaign(store, "listed", _LISTED) / INDEX

    def cold() -> None:
        index.unlink(missing_ok=True)
        assert len(store.runs("listed")) == _LISTED

    progress("listing them, three times without an index and three times with one")
    without, with_index = best_of_turns(3, cold, lambda: store.runs("listed"))
    yield Figure(name=f"listing {_LISTED:,} runs, no index", value=without, unit="s", aim=1, higher_is_better=False)
    yield Figure(name=f"listing {_LISTED:,} runs, with index", value=with_index, unit="s", aim=1, higher_is_better=False)


def _fake_campaign(store: Store, campaign: str, runs: int) -> Path:
    """One real run, and the others as bare directories with its run.json under other numbers: a listing looks at nothing else,
    and ten thousand real runs with their fsyncs would take minutes."""
    assert store.local is not None
    _write_run(store, campaign, 0)
    real = store.record(campaign, 0)
    base = store.local / campaign
    for number in range(1, runs):
        directory = base / RUNS / written_number(number)
        directory.mkdir()
        (directory / run_record.FILE).write_bytes(run_record.to_json(msgspec.structs.replace(real, number=number)))
    return base
