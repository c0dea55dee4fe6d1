"""tests/spark_analysis/stores.py: stores of many runs, made quickly; and every way to ruin one of them.

Few runs are simulated. The others are copies of them under numbers of their own, with everything that says which run it is put
right, so that nobody can tell them from runs that were made there.
"""

from __future__ import annotations

import hashlib
import io
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pyarrow.parquet as pq

from harness.execute import execute, plan_of_run
from model import history, run_record
from model.identity import run_id
from model.plan import Judge, Nodes, Plan, Topic, Workload
from model.quantity import Rate
from model.run_record import RunRecord, StoredFile
from model.schedule import Event
from model.store import Store
from model.verdict import Verdict

PLAN = Plan(tidemark=1, for_ns=2 * 10**9)
SECOND = 10**9


def losing_plan(first: str, second: str) -> Plan:
    """Two brokers, one of them paused until the other is the whole ISR; then one is killed. Where that was the leader, B36 elects
    the one that lacks what was acknowledged meanwhile."""
    return Plan(
        tidemark=1,
        for_ns=6 * SECOND,
        nodes=Nodes(brokers=2, controllers=1),
        topics={"t": Topic(replicas=2, config={"min.insync.replicas": 1})},
        workload=Workload(processes=3, rate=Rate(30, "s")),
        judge=Judge(on_violation="off"),
        schedule=(
            Event(at_ns=SECOND // 2, fault="pause", target=first, for_ns=7 * SECOND // 2),
            Event(at_ns=39 * SECOND // 10, fault="kill", target=second, for_ns=SECOND),
        ),
    )


LOSES = losing_plan("follower", "leader")
LOSES_NOW_AND_THEN = losing_plan("any-broker", "any-broker")
MUTANT = "B36"


def simulate(store: Store, campaign: str, numbers: Sequence[int], plan: Plan = PLAN) -> None:
    """Real runs: those with two brokers take a fifteenth of a second each."""
    for number in numbers:
        execute(store, campaign, number, plan_of_run(plan, campaign, number, single=False))


def multiply(store: Store, campaign: str, count: int, sources: Sequence[int]) -> None:
    """So many runs in all, those that are not there yet as copies of these in turn."""
    there = set(store.numbers(campaign))
    for number in range(count):
        if number not in there:
            copy_run(store, campaign, sources[number % len(sources)], number)


def copy_run(store: Store, campaign: str, source: int, number: int) -> None:
    """A copy, as if it had been made under this number; nothing is synced, for nobody will miss it after a crash."""
    old, new = Path(store.directory(campaign, source)), Path(store.directory(campaign, number))
    shutil.copytree(old, new)
    run = store.open(campaign, source)
    found = run.history()
    sink = io.BytesIO()
    history.write_parquet(found.table, msgspec.structs.replace(found.about, run_id=run_id(campaign, number)), sink)
    (new / "history.parquet").write_bytes(sink.getvalue())
    verdict = run.record.verdict
    rewrite(
        new,
        campaign=campaign,
        number=number,
        verdict=None if verdict is None else msgspec.structs.replace(verdict, run_id=run_id(campaign, number)),
        files={**run.record.files, "history": stored(new / "history.parquet")},
    )


def stored(path: Path) -> StoredFile:
    data = path.read_bytes()
    return StoredFile(path.name, len(data), hashlib.sha256(data).hexdigest())


def rewrite(directory: Path, **changes: object) -> None:
    """run.json with other fields."""
    path = directory / run_record.FILE
    record = run_record.from_json(path.read_bytes(), str(path))
    path.write_bytes(run_record.to_json(msgspec.structs.replace(record, **changes)))


def record_of(directory: Path) -> RunRecord:
    return run_record.from_json((directory / run_record.FILE).read_bytes(), str(directory))


# -- ruin ---------------------------------------------------------------------------------------------------------------


def truncate(directory: Path) -> None:
    path = directory / "history.parquet"
    path.write_bytes(path.read_bytes()[:-40])


def flip(directory: Path, name: str = "events.parquet") -> None:
    data = bytearray((directory / name).read_bytes())
    data[len(data) // 2] ^= 1
    (directory / name).write_bytes(data)


def flip_schedule(directory: Path) -> None:
    """Nobody judges by it, but it is not what was written."""
    flip(directory, "schedule.parquet")


def lose(directory: Path) -> None:
    (directory / "changes.parquet").unlink()


def lose_the_record(directory: Path) -> None:
    (directory / run_record.FILE).unlink()


def unknown_record(directory: Path) -> None:
    path = directory / run_record.FILE
    path.write_bytes(path.read_bytes().replace(b'"schema":1', b'"schema":9', 1))


def garbled_record(directory: Path) -> None:
    path = directory / run_record.FILE
    path.write_bytes(path.read_bytes()[:-30])


def later_history(directory: Path) -> None:
    """A history of a schema that is not known yet, and a run.json that agrees."""
    path = directory / "history.parquet"
    table = pq.read_table(path)
    metadata = {**(table.schema.metadata or {}), b"tidemark.schema": b"9"}
    pq.write_table(table.replace_schema_metadata(metadata), path)
    rewrite(directory, files={**record_of(directory).files, "history": stored(path)})


def acquit(directory: Path) -> None:
    """A verdict that contradicts what the checkers say: the other way round where it was valid."""
    verdict = record_of(directory).verdict
    assert verdict is not None
    if verdict.valid == "valid":
        rewrite(directory, verdict=msgspec.structs.replace(verdict, valid="invalid", signatures=("s1:made:up:C3:-:-:A",)))
    else:
        rewrite(directory, verdict=Verdict(run_id=verdict.run_id, valid="valid"))


def renumber(directory: Path) -> None:
    """Another run's directory, copied over this one."""
    other = directory.with_name(f"{int(directory.name) + 1:05d}")
    shutil.rmtree(directory)
    shutil.copytree(other, directory)


RUIN: dict[str, tuple[Callable[[Path], None], str]] = {
    "truncated": (truncate, "history.parquet: not the file that was written: "),
    "flipped": (flip, "events.parquet: not the file that was written: its digest differs"),
    "flipped schedule": (flip_schedule, "schedule.parquet: not the file that was written: its digest differs"),
    "missing": (lose, "changes.parquet: the file is missing"),
    "no record": (lose_the_record, "run.json: the file is missing"),
    "unknown schema": (unknown_record, "run.json: not a run record: "),
    "garbled record": (garbled_record, "run.json: not a run record: "),
    "later history": (later_history, "history.parquet: schema version '9'"),
    "contradiction": (acquit, "run.json: its verdict contradicts the checkers: it says "),
    "another's number": (renumber, "run.json: this is run "),
}
"""What is done to a run's directory, and what its reason must say."""


def rot_a_pack(store: Store, campaign: str) -> str:
    """One flipped byte in a table of the first pack; its name."""
    (first, *_) = sorted((Path(store.base) / campaign / "packs").iterdir())
    flip(first, "history.parquet")
    return first.name
