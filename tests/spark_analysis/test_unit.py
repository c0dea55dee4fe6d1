"""One unit: what is read from packs, what is packed, and what a bad run does to its neighbours: nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from model import pack
from model.pack import PACKS, open_pack, packs_of, write_pack
from model.refusal import InfrastructureFailure
from model.store import Store
from model.whole_run import read_whole
from spark_analysis import unit as units_module
from spark_analysis.planning import scope_of, units
from spark_analysis.unit import Piece, Unit, judge_unit, lost, together
from tests.spark_analysis.conftest import CAMPAIGN, SIMULATED
from tests.spark_analysis.stores import flip, multiply

RUNS = 14


@pytest.fixture
def some(store: Store) -> Store:
    multiply(store, CAMPAIGN, RUNS, range(SIMULATED))
    return store


def only_unit(store: Store) -> Unit:
    (unit,) = units(scope_of(store.uri))
    return unit


def judged(store: Store) -> Piece:
    return judge_unit(only_unit(store))


def packed(store: Store) -> list[list[int]]:
    """The runs that lie in each pack."""
    found = [open_pack(store, place) for place in packs_of(store, CAMPAIGN)]
    return sorted([run.number for run in each.record.runs] for each in found)


def quarantine(piece: Piece) -> dict[int, str]:
    return {row["number"]: row["quarantined"] for row in piece.rows.to_pylist() if row["quarantined"] is not None}


def test_runs_are_packed_as_they_are_judged_and_taken_from_there_the_next_time(
    some: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same rows, and no run is opened any more."""
    first = judged(some)
    assert packed(some) == [list(range(RUNS))]
    monkeypatch.setattr(units_module, "read_whole", lambda *_: pytest.fail("a run was opened"))
    assert judged(some).rows.equals(first.rows)


def test_a_bad_run_is_not_packed_and_its_neighbours_are(some: Store) -> None:
    flip(Path(some.directory(CAMPAIGN, 3)))
    piece = judged(some)
    assert list(quarantine(piece)) == [3]
    assert packed(some) == [[number for number in range(RUNS) if number != 3]]
    assert piece.rows.column("number").to_pylist() == list(range(RUNS))


def test_few_new_runs_wait_until_a_pack_is_worth_while(some: Store) -> None:
    """Then a unit has one pack again, with all that it has."""
    multiply(some, CAMPAIGN, RUNS, range(SIMULATED))
    judged(some)
    multiply(some, CAMPAIGN, RUNS + 9, range(SIMULATED))
    judged(some)
    assert packed(some) == [list(range(RUNS))]
    multiply(some, CAMPAIGN, RUNS + 10, range(SIMULATED))
    judged(some)
    assert packed(some) == [list(range(RUNS + 10))]


def test_long_runs_are_not_packed(some: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening one costs little beside judging it."""
    rows = [some.record(CAMPAIGN, number).rows for number in range(RUNS)]
    monkeypatch.setattr(units_module, "LARGEST_PACKED", max(rows) - 1)
    judged(some)
    assert packed(some) == [[number for number in range(RUNS) if rows[number] < max(rows)]]


def test_a_run_that_lies_in_two_packs_counts_once(some: Store) -> None:
    """Two analyses had the same idea, or a pack of before lies across."""
    runs = [read_whole(some, CAMPAIGN, number) for number in range(RUNS)]
    write_pack(some, CAMPAIGN, runs[:10])
    write_pack(some, CAMPAIGN, runs[5:])
    assert judged(some).rows.column("number").to_pylist() == list(range(RUNS))


def test_a_run_whose_pack_is_rotten_is_read_from_its_files(some: Store) -> None:
    """Whichever file of the pack it is, pack.json too; few runs are packed again as well as many."""
    expected = judged(some).rows
    for name in ("pack.json", "runs.parquet", "changes.parquet"):
        (place,) = packs_of(some, CAMPAIGN)
        flip(Path(place.path), name)
        piece = judged(some)
        assert piece.rows.equals(expected)
        (note,) = piece.notes
        assert note.startswith(f"a rotten pack was made again from its runs: {place.path}/{name}: ")
        assert packed(some) == [list(range(RUNS))]


@pytest.mark.parametrize(("version", "stays"), [(1, False), (9, True)])
def test_a_pack_of_another_tidemark_is_no_rot(some: Store, version: int, stays: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of an earlier version is of no use to anybody; one of a later version is somebody else's."""
    monkeypatch.setattr(pack, "VERSION", version)
    runs = [read_whole(some, CAMPAIGN, number) for number in range(RUNS)]
    name = write_pack(some, CAMPAIGN, runs)
    monkeypatch.undo()
    piece = judged(some)
    assert piece.notes == ()
    assert quarantine(piece) == {}
    assert (Path(some.base) / CAMPAIGN / PACKS / name).exists() == stays


def test_a_mistake_of_ours_in_one_run_is_that_runs_row(some: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is raised."""
    real = units_module.judged_row

    def mistaken(store: str, campaign: str, run: object) -> object:
        if getattr(run, "number") == 5:  # noqa: B009  the type is beside the point
            raise ZeroDivisionError("a checker divided")
        return real(store, campaign, run)  # type: ignore[arg-type]  # as it came

    monkeypatch.setattr(units_module, "judged_row", mistaken)
    piece = judged(some)
    assert quarantine(piece) == {5: "the analysis of this run failed: ZeroDivisionError: a checker divided"}
    assert packed(some) == [[number for number in range(RUNS) if number != 5]]


def test_a_store_that_cannot_be_written_is_judged_all_the_same(some: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """And says that nothing was packed."""

    def full(*_: object) -> None:
        raise InfrastructureFailure("no space left")

    monkeypatch.setattr(units_module, "write_pack", full)
    piece = judged(some)
    assert quarantine(piece) == {}
    assert piece.notes == (f"{CAMPAIGN}: its runs could not be packed: InfrastructureFailure: no space left",)


def test_a_run_that_goes_while_it_is_analysed_is_named(some: Store) -> None:
    """Planned, and then removed."""
    unit = only_unit(some)
    shutil.rmtree(some.directory(CAMPAIGN, 2))
    assert quarantine(judge_unit(unit)) == {2: f"{some.uri}: no such run: {CAMPAIGN}/00002"}


def test_another_runs_history_is_no_history_of_this_one(some: Store) -> None:
    """Its digest is right in a run.json that was made to fit."""
    there, here = Path(some.directory(CAMPAIGN, 4)), Path(some.directory(CAMPAIGN, 3))
    shutil.rmtree(here)
    shutil.copytree(there, here)
    record = here / "run.json"
    record.write_bytes(record.read_bytes().replace(b'"number":4', b'"number":3'))
    assert quarantine(judged(some)) == {3: f"{CAMPAIGN}/00003: history.parquet: this is the history of {CAMPAIGN}/00004"}


def test_pieces_of_single_runs_make_the_piece_of_their_unit(some: Store) -> None:
    unit = only_unit(some)
    alone = [judge_unit(each) for each in unit.alone()]
    assert together(alone).rows.equals(judge_unit(unit).rows)
    assert quarantine(lost(unit.alone()[1], "gone")) == {1: "the analysis of this run failed: gone"}
