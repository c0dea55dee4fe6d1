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
from model.operation import Row
from model.pack import FILE, PACKS, OtherVersion, Pack, Place, drop_pack, open_pack, packs_of, write_pack
from model.refusal import Refusal
from model.store import Store
from model.whole_run import WholeRun, read_whole
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


def put_bare_run(store: Store, number: int) -> None:
    """One that failed before there was a history."""
    with store.begin(CAMPAIGN, number, PLAN) as writer:
        writer.finish("infrastructure", None, "no disk")


def put_some_runs(store: Store) -> list[WholeRun]:
    """Every sort: with rows and without, with all tables, with some, with none, with empty ones; and one without a history."""
    put_run(store, 0, [])
    put_run(store, 1, [row(1, op) for op in range(5)])
    put_run(store, 2, [row(2, op) for op in range(3)], tables=())
    put_run(store, 3, [], tables=("changes", "events"))
    put_run(store, 4, [row(4, op) for op in range(4)], tables=("observations",), empty=True)
    put_run(store, 5, [row(5, 0)], empty=True)
    put_bare_run(store, 6)
    return whole_runs(store)


def whole_runs(store: Store) -> list[WholeRun]:
    return [read_whole(store, CAMPAIGN, number) for number in store.numbers(CAMPAIGN)]


Content = tuple[Any, ...]


def content(run: WholeRun) -> Content:
    """Everything about a run that can be compared: record, plan, rows and tables, with what these say of themselves."""
    about, rows = (run.history.about, history.to_rows(run.history.table)) if run.history else (None, None)
    tables = {name: _table(table) for name, table in run.tables.items()}
    return run.record, run.plan_json, about, rows, tables, run.look


def _table(table: Any) -> Table:
    return table.to_pylist(), table.schema.metadata


def packed(store: Store, packs: Sequence[Pack]) -> dict[int, Content]:
    """What these packs give, of the runs that are still as they were."""
    found = [run for pack in packs for run in pack.runs(pack.current(store, CAMPAIGN))]
    for run in found:
        assert run.history is None or run.history.table.schema == history.SCHEMA
        assert all(table.schema == evidence.SCHEMAS[name] for name, table in run.tables.items())
    assert len({run.number for run in found}) == len(found), "no run twice"
    return {run.number: content(run) for run in found}


def assert_packed(store: Store, packs: Sequence[Pack]) -> None:
    """These packs hold every run of the store, and exactly what the runs hold."""
    assert packed(store, packs) == {run.number: content(run) for run in whole_runs(store)}


def usable(store: Store) -> list[Pack]:
    """The packs that can be opened."""
    packs = []
    for place in packs_of(store, CAMPAIGN):
        try:
            packs.append(open_pack(store, place))
        except Refusal:
            continue
    return packs


def numbers(pack: Pack) -> list[int]:
    return [run.number for run in pack.record.runs]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


# -- what is in a pack ------------------------------------------------------------------------------------------------


def test_a_pack_holds_what_its_runs_hold(store: Store) -> None:
    """Row for row, with `About` and the tables' metadata; runs without rows, without tables and without a history among them."""
    write_pack(store, CAMPAIGN, put_some_runs(store))
    assert_packed(store, usable(store))
    found = {run.number: run for run in usable(store)[0].runs(range(9))}
    assert found[3].tables["changes"].schema.metadata[b"record"] == b"sampled"
    assert [number for number, run in found.items() if "observations" in run.tables] == [0, 1, 4, 5]
    assert found[6].history is None
    assert found[6].record.status == "infrastructure"
    assert list(store.staging(CAMPAIGN).iterdir()) == []


def test_a_pack_is_read_by_somebody_else(store: Store) -> None:
    """Everything that a reader needs lies in the store; runs keep their order within the pack, and only those asked for come."""
    write_pack(store, CAMPAIGN, put_some_runs(store))
    (pack,) = usable(Store(f"file://{store.base}"))
    assert [run.record.run_id for run in pack.runs({5, 1, 2})] == [f"{CAMPAIGN}/{number:05d}" for number in (1, 2, 5)]


@pytest.mark.parametrize("rows", [[], [1]], ids=["no rows at all", "one row"])
def test_a_pack_of_one_run(store: Store, rows: list[int]) -> None:
    """The smallest packs there are."""
    put_run(store, 7, [row(7, op) for op in rows], tables=())
    write_pack(store, CAMPAIGN, whole_runs(store))
    assert_packed(store, usable(store))


def test_a_pack_without_runs_is_a_mistake(store: Store) -> None:
    with pytest.raises(ValueError, match="needs a run"):
        write_pack(store, CAMPAIGN, [])


def test_a_pack_of_many_row_groups(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that begins in one row group and ends in another is still in one piece."""
    runs = put_some_runs(store)
    monkeypatch.setattr(history, "ROW_GROUP", 3)
    write_pack(store, CAMPAIGN, runs)
    assert_packed(store, usable(store))


def test_a_pack_of_runs_with_many_words(store: Store) -> None:
    """Each run's clients fit the small dictionary of a history; those of all runs together need not."""
    for number in range(3):
        put_run(store, number, [msgspec.structs.replace(row(number, op), client=f"raw-{number}-{op}") for op in range(100)])
    write_pack(store, CAMPAIGN, whole_runs(store))
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
    runs = whole_runs(store)
    for group in {pack for _, pack in drawn}:
        write_pack(store, CAMPAIGN, [run for run, (_, pack) in zip(runs, drawn, strict=True) if pack == group])
    assert_packed(store, usable(store))
    shutil.rmtree(store.base)


def test_packs_are_found_by_their_names(store: Store) -> None:
    """Between which numbers its runs lie is known before anything of it is read; other directories are no packs."""
    runs = put_some_runs(store)
    write_pack(store, CAMPAIGN, runs[1:3])
    write_pack(store, CAMPAIGN, [runs[5], runs[3]])
    (Path(store.base) / CAMPAIGN / PACKS / "notes").mkdir()
    assert [(place.first, place.last) for place in packs_of(store, CAMPAIGN)] == [(1, 2), (3, 5)]


# -- what is not taken from it ----------------------------------------------------------------------------------------


def _of(store: Store, number: int, name: str) -> Path:
    return Path(store.directory(CAMPAIGN, number)) / name


def _other_bytes(path: Path) -> None:
    path.write_bytes(path.read_bytes()[::-1])


def _other_bytes_at_the_same_time(path: Path) -> None:
    """Somebody flips a byte and puts the time back."""
    status = path.stat()
    _flip(path)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def _beside(path: Path) -> None:
    path.with_name("notes.txt").write_text("look at this one")


TOUCHES: dict[str, Callable[[Path], None]] = {
    "changed": _other_bytes,
    "changed, its time put back": _other_bytes_at_the_same_time,
    "touched": Path.touch,
    "removed": Path.unlink,
    "a file beside it": _beside,
}


@pytest.mark.parametrize("touch", TOUCHES.values(), ids=TOUCHES)
@pytest.mark.parametrize("name", ["run.json", "history.parquet", "plan.json"])
def test_a_run_that_was_touched_is_not_taken_from_its_pack(store: Store, touch: Callable[[Path], None], name: str) -> None:
    """Truth lies in the run, whichever file it was; the others of the pack are taken as before."""
    write_pack(store, CAMPAIGN, put_some_runs(store))
    (pack,) = usable(store)
    assert pack.current(store, CAMPAIGN) == set(range(7))
    touch(_of(store, 1, name))
    assert pack.current(store, CAMPAIGN) == {0, 2, 3, 4, 5, 6}


def test_a_run_that_was_replaced_or_is_gone_is_not_taken_from_its_pack(store: Store) -> None:
    """And can be packed anew."""
    write_pack(store, CAMPAIGN, put_some_runs(store))
    shutil.rmtree(_of(store, 1, ""))
    shutil.rmtree(_of(store, 2, ""))
    put_run(store, 1, [row(1, op) for op in range(2)])
    (pack,) = usable(store)
    assert pack.current(store, CAMPAIGN) == {0, 3, 4, 5, 6}
    write_pack(store, CAMPAIGN, [read_whole(store, CAMPAIGN, 1)])
    assert_packed(store, usable(store))


def test_a_run_that_is_damaged_cannot_be_packed(store: Store) -> None:
    """Whoever wants to pack it must have read it, and every file is held against what run.json says."""
    put_some_runs(store)
    _flip(_of(store, 1, "events.parquet"))
    with pytest.raises(Refusal, match=f"^{CAMPAIGN}/00001: events.parquet: "):
        read_whole(store, CAMPAIGN, 1)


def test_a_run_without_its_record_is_refused_by_name(store: Store) -> None:
    """It was published whole, so somebody has taken run.json away; a number that never was is no run at all."""
    put_some_runs(store)
    _of(store, 1, "run.json").unlink()
    assert 1 in store.numbers(CAMPAIGN)
    with pytest.raises(Refusal, match=f"^{CAMPAIGN}/00001: run.json: the file is missing$"):
        read_whole(store, CAMPAIGN, 1)
    with pytest.raises(Refusal, match="no such run"):
        read_whole(store, CAMPAIGN, 77)


# -- rotten packs -----------------------------------------------------------------------------------------------------


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
    "another": _swap_for(b'{"schema": 2, "runs": [], "files": {}}'),
}


@pytest.mark.parametrize("rot", ROT.values(), ids=ROT)
def test_half_a_pack_and_a_rotten_one_are_refused(store: Store, rot: Callable[[Path], None]) -> None:
    """Without a pack.json that can be read there is no pack; the others are used."""
    runs = put_some_runs(store)
    name = write_pack(store, CAMPAIGN, runs[:3])
    write_pack(store, CAMPAIGN, runs[3:])
    rot(Path(store.base) / CAMPAIGN / PACKS / name / FILE)
    (pack,) = usable(store)
    assert numbers(pack) == [3, 4, 5, 6]
    with pytest.raises(Refusal, match=f"^{store.base}/{CAMPAIGN}/{PACKS}/{name}/{FILE}: "):
        open_pack(store, next(place for place in packs_of(store, CAMPAIGN) if place.name == name))


@pytest.mark.parametrize(
    ("data", "other"),
    [
        (b"", False),
        (b"[]", False),
        (b'{"schema": 2, "runs": 7}', False),
        (b'{"schema": 2, "runs": [], "files": {"\xff": 1}}', False),
        (b'{"schema": 1, "runs": [], "files": {}}', True),
        (b'{"schema": 3, "pages": []}', True),
    ],
)
def test_a_pack_that_nobody_understands_is_refused(store: Store, data: bytes, other: bool) -> None:
    """Its name may be right, as that of a pack of another Tidemark is: nothing is wrong with that one."""
    put_some_runs(store)
    directory = Path(store.base) / CAMPAIGN / PACKS / f"00000-00005-aabbccdd-{hashlib.sha256(data).hexdigest()}"
    directory.mkdir(parents=True)
    (directory / FILE).write_bytes(data)
    (place,) = packs_of(store, CAMPAIGN)
    with pytest.raises(Refusal) as refused:
        open_pack(store, place)
    assert isinstance(refused.value, OtherVersion) == other


def test_no_flipped_bit_of_pack_json_changes_what_is_read(store: Store) -> None:
    """Wherever it is: pack.json holds `About` and metadata, and nothing else says what they were."""
    put_run(store, 1, [row(1, 0)])
    name = write_pack(store, CAMPAIGN, whole_runs(store))
    path = Path(store.base) / CAMPAIGN / PACKS / name / FILE
    for at in range(path.stat().st_size):
        _flip(path, at)
        assert usable(store) == [], f"byte {at} was changed and nobody saw it"
        _flip(path, at)
    assert_packed(store, usable(store))


@pytest.mark.parametrize("damage", [_flip, _cut, Path.unlink], ids=["flipped", "cut", "missing"])
@pytest.mark.parametrize("name", ["history", "runs", *NAMES])
def test_a_damaged_table_of_a_pack_is_refused_by_name(store: Store, damage: Callable[[Path], None], name: str) -> None:
    """Then the pack is thrown away, made again, and all is well."""
    runs = put_some_runs(store)
    write_pack(store, CAMPAIGN, runs)
    (pack,) = usable(store)
    damage(Path(pack.path) / f"{name}.parquet")
    with pytest.raises(Refusal, match=f"^{pack.path}/{name}.parquet: "):
        list(pack.runs({1}))
    drop_pack(store, Place(pack.path, 0, 6))
    assert packs_of(store, CAMPAIGN) == []
    write_pack(store, CAMPAIGN, runs)
    assert_packed(store, usable(store))


def test_packs_are_made_and_found_where_the_store_is_local(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Elsewhere nobody could tell which run was touched."""
    runs = put_some_runs(store)
    write_pack(store, CAMPAIGN, runs)
    monkeypatch.setattr(store, "local", None)
    assert packs_of(store, CAMPAIGN) == []
    with pytest.raises(Refusal, match="packs are made where the store is a local path"):
        write_pack(store, CAMPAIGN, runs)
