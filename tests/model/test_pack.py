"""Packs: the same histories and tables as in the runs themselves, or the pack is not used."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model import evidence, history
from model.evidence import NAMES, Name
from model.history import About
from model.operation import Row
from model.pack import FILE, PACKS, Pack, drop_pack, usable_packs, write_pack
from model.refusal import Refusal
from model.run_record import RunEntry
from model.store import Store
from tests.model.recording import PLAN, row
from tests.model.test_evidence import ROWS
from tests.strategies import histories

CAMPAIGN = "nightly"
Table = tuple[list[dict[str, Any]], dict[bytes, bytes]]


def put_run(store: Store, number: int, rows: Sequence[Row], tables: Sequence[Name] = NAMES, empty: bool = False) -> None:
    """A run with its own tag, and tables that tell its number in their first column."""
    plan = msgspec.structs.replace(PLAN, tag=number, seed=number)
    with store.begin(CAMPAIGN, number, plan, clock="monotonic" if number % 2 else "virtual") as writer:
        writer.put_history(history.to_table(rows))
        for name in tables:
            first = evidence.SCHEMAS[name].names[0]
            found = [] if empty else [{**one, first: number} for one in ROWS[name]]
            record = {"record": "sampled" if number % 2 else "complete"} if name == "changes" else {}
            writer.put_table(name, evidence.to_table(name, found, **record))
        writer.finish("done", None)


def put_some_runs(store: Store) -> list[RunEntry]:
    """Every sort: with rows and without, with all tables, with some, with none, with empty ones."""
    put_run(store, 0, [])
    put_run(store, 1, [row(1, op) for op in range(5)])
    put_run(store, 2, [row(2, op) for op in range(3)], tables=())
    put_run(store, 3, [], tables=("changes", "events"))
    put_run(store, 4, [row(4, op) for op in range(4)], tables=("observations",), empty=True)
    put_run(store, 5, [row(5, 0)], empty=True)
    return store.runs(CAMPAIGN)


def histories_of_runs(store: Store) -> dict[str, tuple[About, list[Row]]]:
    found = [run.history() for run in store.open_all(CAMPAIGN)]
    return {one.about.run_id: (one.about, history.to_rows(one.table)) for one in found}


def tables_of_runs(store: Store, name: Name) -> dict[str, Table]:
    runs = [run for run in store.open_all(CAMPAIGN) if name in run.record.files]
    return {run.record.run_id: _table(run.table(name)) for run in runs}


def _table(table: Any) -> Table:
    return table.to_pylist(), table.schema.metadata


def histories_of_packs(packs: Sequence[Pack]) -> dict[str, tuple[About, list[Row]]]:
    found = [one for pack in packs for one in pack.histories()]
    assert all(one.table.schema == history.SCHEMA for one in found)
    assert len({one.about.run_id for one in found}) == len(found), "no run twice"
    return {one.about.run_id: (one.about, history.to_rows(one.table)) for one in found}


def tables_of_packs(packs: Sequence[Pack], name: Name) -> dict[str, Table]:
    found = [one for pack in packs for one in pack.tables(name)]
    assert all(table.schema == evidence.SCHEMAS[name] for _, table in found)
    assert len({run_id for run_id, _ in found}) == len(found), "no run twice"
    return {run_id: _table(table) for run_id, table in found}


def assert_packed(store: Store, packs: Sequence[Pack]) -> None:
    """These packs hold every run of the store, and exactly what the runs hold."""
    assert histories_of_packs(packs) == histories_of_runs(store)
    for name in NAMES:
        assert tables_of_packs(packs, name) == tables_of_runs(store, name), name


def usable(store: Store) -> list[Pack]:
    return usable_packs(store, CAMPAIGN, store.runs(CAMPAIGN))


def pack_directories(store: Store) -> list[Path]:
    return [Path(path) for path in store.directories(CAMPAIGN, PACKS)]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


# -- what is in a pack ------------------------------------------------------------------------------------------------


def test_a_pack_holds_what_its_runs_hold(store: Store) -> None:
    """Row for row, with `About` and the tables' metadata; runs without rows and runs without tables among them."""
    write_pack(store, CAMPAIGN, put_some_runs(store))
    assert_packed(store, usable(store))
    assert tables_of_packs(usable(store), "changes")[f"{CAMPAIGN}/00003"][1][b"record"] == b"sampled"
    assert tables_of_packs(usable(store), "observations").keys() == {f"{CAMPAIGN}/0000{number}" for number in (0, 1, 4, 5)}
    assert list(store.staging(CAMPAIGN).iterdir()) == []


def test_a_pack_is_read_by_somebody_else(store: Store) -> None:
    """Everything that a reader needs lies in the store; a run keeps its order within the pack."""
    entries = put_some_runs(store)
    write_pack(store, CAMPAIGN, entries)
    (pack,) = usable(Store(f"file://{store.base}"))
    assert [one.about.run_id for one in pack.histories()] == [f"{CAMPAIGN}/{entry.number:05d}" for entry in entries]


@pytest.mark.parametrize("rows", [[], [1]], ids=["no rows at all", "one row"])
def test_a_pack_of_one_run(store: Store, rows: list[int]) -> None:
    """The smallest packs there are."""
    put_run(store, 7, [row(7, op) for op in rows], tables=())
    write_pack(store, CAMPAIGN, store.runs(CAMPAIGN))
    assert_packed(store, usable(store))


def test_a_pack_of_many_row_groups(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that begins in one row group and ends in another is still in one piece."""
    entries = put_some_runs(store)
    monkeypatch.setattr(history, "ROW_GROUP", 3)
    write_pack(store, CAMPAIGN, entries)
    assert_packed(store, usable(store))


def test_a_pack_of_runs_with_many_words(store: Store) -> None:
    """Each run's clients fit the small dictionary of a history; those of all runs together need not."""
    for number in range(3):
        put_run(store, number, [msgspec.structs.replace(row(number, op), client=f"raw-{number}-{op}") for op in range(100)])
    write_pack(store, CAMPAIGN, store.runs(CAMPAIGN))
    assert_packed(store, usable(store))


runs_and_their_packs = st.lists(st.tuples(histories(), st.integers(0, 3)), min_size=1, max_size=6)


@settings(max_examples=15)
@given(runs_and_their_packs)
def test_any_split_into_packs_gives_the_same_histories(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[list[Row], int]]
) -> None:
    """Whichever runs lie together, and in whatever order: the set of histories is that of the single runs."""
    store = Store(tmp_path_factory.mktemp("split"))
    for number, (rows, _) in enumerate(drawn):
        put_run(store, number, rows, tables=NAMES[: number % 3])
    entries = store.runs(CAMPAIGN)
    for group in {pack for _, pack in drawn}:
        write_pack(store, CAMPAIGN, [entry for entry, (_, pack) in zip(entries, drawn, strict=True) if pack == group])
    assert_packed(store, usable(store))
    shutil.rmtree(store.base)


# -- when it is not used ----------------------------------------------------------------------------------------------


def test_a_run_replaced_after_packing_makes_its_pack_unusable(store: Store) -> None:
    """Truth lies in the run; other packs are used as before, and the pack can be made again."""
    entries = put_some_runs(store)
    write_pack(store, CAMPAIGN, entries[:3])
    write_pack(store, CAMPAIGN, entries[3:])
    shutil.rmtree(store.open(CAMPAIGN, 1).path)
    put_run(store, 1, [row(1, op) for op in range(2)])
    (pack,) = usable(store)
    assert {run.number for run in pack.record.runs} == {3, 4, 5}
    write_pack(store, CAMPAIGN, store.runs(CAMPAIGN)[:3])
    assert_packed(store, usable(store))


def test_a_run_touched_or_removed_after_packing_makes_its_pack_unusable(store: Store) -> None:
    """Size and time of run.json are all that is asked, and they must be what they were."""
    entries = put_some_runs(store)
    write_pack(store, CAMPAIGN, entries)
    os.utime(Path(store.open(CAMPAIGN, 1).path) / "run.json", ns=(0, entries[1].mtime_ns + 1))
    assert usable(store) == []
    os.utime(Path(store.open(CAMPAIGN, 1).path) / "run.json", ns=(0, entries[1].mtime_ns))
    assert_packed(store, usable(store))
    shutil.rmtree(store.open(CAMPAIGN, 5).path)
    assert usable(store) == []


def test_a_run_that_is_damaged_is_not_packed(store: Store) -> None:
    """A pack is made of what run.json says, so that it never hides a rotten run."""
    entries = put_some_runs(store)
    _flip(Path(store.open(CAMPAIGN, 1).path) / "events.parquet")
    with pytest.raises(Refusal, match=f"^{CAMPAIGN}/00001: events.parquet: "):
        write_pack(store, CAMPAIGN, entries)
    assert pack_directories(store) == []
    assert list(store.staging(CAMPAIGN).iterdir()) == []


def test_of_packs_that_overlap_no_run_is_taken_twice(store: Store) -> None:
    """A pack that shares a run with one that is used already is left alone."""
    entries = put_some_runs(store)
    for part in (entries[0:4], entries[2:6], entries[4:6], entries):
        write_pack(store, CAMPAIGN, part)
    packed = [run.number for pack in usable(store) for run in pack.record.runs]
    assert packed, "some pack is used"
    assert len(packed) == len(set(packed))
    truth = histories_of_runs(store)
    assert all(truth[run_id] == found for run_id, found in histories_of_packs(usable(store)).items())


def test_the_same_pack_twice_is_used_once(store: Store) -> None:
    """Two workers had the same idea."""
    entries = put_some_runs(store)
    write_pack(store, CAMPAIGN, entries)
    write_pack(store, CAMPAIGN, entries)
    assert_packed(store, usable(store))


def _flip(path: Path, at: int | None = None) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2 if at is None else at] ^= 1
    path.write_bytes(data)


def _swap_for(data: bytes) -> Callable[[Path], None]:
    def swap(path: Path) -> None:
        path.write_bytes(data)

    return swap


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


ROT: dict[str, Callable[[Path], None]] = {
    "missing": Path.unlink,
    "empty": _swap_for(b""),
    "cut": _cut,
    "another": _swap_for(b'{"schema": 1, "runs": [], "files": {}}'),
}


@pytest.mark.parametrize("rot", ROT.values(), ids=ROT)
def test_half_a_pack_and_a_rotten_one_are_not_used(store: Store, rot: Callable[[Path], None]) -> None:
    """Without a pack.json that can be read there is no pack; the others are used."""
    entries = put_some_runs(store)
    name = write_pack(store, CAMPAIGN, entries[:3])
    write_pack(store, CAMPAIGN, entries[3:])
    rot(Path(store.base) / CAMPAIGN / PACKS / name / FILE)
    (pack,) = usable(store)
    assert {run.number for run in pack.record.runs} == {3, 4, 5}


@pytest.mark.parametrize(
    "data", [b"", b"[]", b'{"schema": 2, "runs": [], "files": {}}', b'{"schema": 1, "runs": [], "files": {"\xff": 1}}']
)
def test_a_pack_that_nobody_understands_is_not_used(store: Store, data: bytes) -> None:
    """Its name may be right, as that of a pack from a later Tidemark is."""
    put_some_runs(store)
    directory = Path(store.base) / CAMPAIGN / PACKS / f"00000-00005-aabbccdd-{hashlib.sha256(data).hexdigest()}"
    directory.mkdir(parents=True)
    (directory / FILE).write_bytes(data)
    assert usable(store) == []


def test_no_flipped_bit_of_pack_json_changes_what_is_read(store: Store) -> None:
    """Wherever it is: pack.json holds `About` and metadata, and nothing else says what they were."""
    put_run(store, 1, [row(1, 0)])
    name = write_pack(store, CAMPAIGN, store.runs(CAMPAIGN))
    path = Path(store.base) / CAMPAIGN / PACKS / name / FILE
    entries = store.runs(CAMPAIGN)
    for at in range(path.stat().st_size):
        _flip(path, at)
        assert usable_packs(store, CAMPAIGN, entries) == [], f"byte {at} was changed and nobody saw it"
        _flip(path, at)
    assert_packed(store, usable(store))


@pytest.mark.parametrize("damage", [_flip, _cut, Path.unlink], ids=["flipped", "cut", "missing"])
@pytest.mark.parametrize("name", ["history", *NAMES])
def test_a_damaged_table_of_a_pack_is_refused_by_name(store: Store, damage: Callable[[Path], None], name: str) -> None:
    """Then the pack is thrown away, made again, and all is well."""
    entries = put_some_runs(store)
    write_pack(store, CAMPAIGN, entries)
    (pack,) = usable(store)
    damage(Path(pack.path) / f"{name}.parquet")
    with pytest.raises(Refusal, match=f"^{pack.path}/{name}.parquet: "):
        list(pack.histories() if name == "history" else pack.tables(name))  # type: ignore[arg-type]
    drop_pack(store, pack)
    assert pack_directories(store) == []
    write_pack(store, CAMPAIGN, entries)
    assert_packed(store, usable(store))


def test_packs_are_made_where_the_store_is_local(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Elsewhere it is refused, before anything is read."""
    entries = put_some_runs(store)
    monkeypatch.setattr(store, "local", None)
    with pytest.raises(Refusal, match="packs are made where the store is a local path"):
        write_pack(store, CAMPAIGN, entries)
