"""From two stores to what has changed between them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from model.config_cell import cell_of
from model.store import Store
from spark_analysis import state
from spark_analysis.analysis import CODES, Analysis, Baseline, analyse, baseline_of
from spark_analysis.engines import OneByOne
from spark_analysis.groups import CLASSES
from spark_analysis.planning import scope_of
from spark_analysis.results import latest
from spark_analysis.rows import to_batch
from spark_analysis.unit import Piece, Unit
from tests.spark_analysis.conftest import CAMPAIGN
from tests.spark_analysis.made_up import run
from tests.spark_analysis.stores import LOSES, LOSES_NOW_AND_THEN, MUTANT, PLAN, flip, simulate

CELLS = {"quiet": PLAN, "loses": LOSES, "now-and-then": LOSES_NOW_AND_THEN}
RUNS = 8


class Silent:
    """Somebody who follows and counts."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, int]] = []

    def show(self, known: object, total: int) -> None:
        self.seen.append((known.runs, total))  # type: ignore[attr-defined]  # a Progress


def analysed(store: Store, baseline: Baseline | None = None) -> Analysis:
    return analyse(scope_of(store.uri), OneByOne(), Silent().show, baseline)


def as_baseline(store: Store) -> Baseline:
    return baseline_of(scope_of(store.uri), OneByOne(), Silent().show)


def campaigns(path: Path, *wrong: str, seed: int = 1) -> Store:
    """A campaign for each cell; in these the mutant is on."""
    store = Store(path)
    for name, plan in CELLS.items():
        mutants = (MUTANT,) if name in wrong else ()
        simulate(store, name, range(RUNS), msgspec.structs.replace(plan, mutants=mutants, seed=seed))
    return store


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Nothing is wrong anywhere."""
    return campaigns(tmp_path_factory.mktemp("quiet") / "store")


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return campaigns(tmp_path_factory.mktemp("wrong") / "store", "loses", "now-and-then")


def said(found: Analysis) -> set[tuple[str, str]]:
    """What has changed, and in which cell."""
    names = {cell_of(plan): name for name, plan in CELLS.items()}
    assert found.comparison is not None
    assert found.comparison.compared == len(CELLS)
    changes = {(change.what, names[change.cell]) for change in found.comparison.changes}
    return changes | {(shift.pace, names[shift.cell]) for shift in found.comparison.shifts}


@pytest.mark.parametrize("cell", ["loses", "now-and-then"])
def test_a_mutant_in_one_cell_is_new_in_that_cell_and_nowhere_else(quiet: Store, tmp_path: Path, cell: str) -> None:
    """Whether it shows in every run or in some; of the other cells nothing is said, though their seeds are others."""
    found = analysed(campaigns(tmp_path / "store", cell, seed=2), as_baseline(quiet))
    assert said(found) == {("new", cell)}
    assert found.record.counts.keys() == {"broken", "valid"}
    assert found.exit_code == 1


def test_what_failed_before_is_flaky_or_fails_still_and_is_not_new(wrong: Store, tmp_path: Path) -> None:
    """The same seeds once more: what every run shows fails still, what some of them show is flaky."""
    again = campaigns(tmp_path / "store", "loses", "now-and-then")
    found = said(analysed(again, as_baseline(wrong)))
    assert found == {("still failing", "loses"), ("flaky", "loses"), ("flaky", "now-and-then")}


def test_what_failed_before_and_fails_no_more_is_fixed_where_that_is_no_luck(quiet: Store, wrong: Store) -> None:
    """Eight of eight are no luck; of eight that failed now and then nobody can say."""
    assert said(analysed(quiet, as_baseline(wrong))) == {("fixed", "loses"), ("not seen again", "now-and-then")}


def test_a_baseline_that_has_not_changed_is_not_judged_again(quiet: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless a run was touched, or the checkers have changed."""
    as_baseline(quiet)
    held = as_baseline(quiet)
    assert held.judged_again is False
    assert {cell: found.judged for cell, found in held.failures.items()} == {cell_of(plan): RUNS for plan in CELLS.values()}
    (Path(quiet.directory("loses", 3)) / "plan.json").touch()
    assert as_baseline(quiet).judged_again is True
    assert as_baseline(quiet).judged_again is False
    monkeypatch.setattr(state, "code", lambda: "another")
    assert as_baseline(quiet).judged_again is True


def test_what_is_rotten_in_the_baseline_is_named_too(store: Store) -> None:
    """Whether it was judged just now or before."""
    flip(Path(store.directory(CAMPAIGN, 2)))
    for judged_again in (True, False):
        found = as_baseline(store)
        assert found.judged_again is judged_again
        ((run, why),) = found.quarantined
        assert run == f"{CAMPAIGN}/00002"
        assert "events.parquet: not the file that was written" in why


def test_progress_is_told_from_nothing_to_everything(store: Store) -> None:
    follower = Silent()
    analyse(scope_of(store.uri), OneByOne(), follower.show)
    assert follower.seen == [(0, 6), (6, 6)]


def test_the_record_of_an_analysis_says_what_was_found(store: Store) -> None:
    """Next to its tables, for reports."""
    found = analysed(store)
    kept = latest(scope_of(store.uri))
    assert kept is not None
    assert kept.record == found.record
    assert kept.record.names == ("rows", "groups", "signatures")
    assert (kept.record.runs, kept.record.counts, kept.record.engine) == (6, {"valid": 6}, "one process")
    assert kept.record.campaigns == (CAMPAIGN,)
    assert found.place == f"{kept.place}/{kept.record.tables}"
    assert found.operations == sum(row["operation_count"] for row in kept.table("rows").to_pylist())


def test_the_worst_verdict_decides(store: Store) -> None:
    """1 before 4 before 2 before 0; who is in quarantine is a doubt."""
    found = analysed(store)
    codes = {}
    for name in CLASSES:
        counts = dict.fromkeys({"valid", name}, 1)
        codes[name] = int(msgspec.structs.replace(found, record=msgspec.structs.replace(found.record, counts=counts)).exit_code)
    assert codes == {"valid": 0, "unknown": 2, "broken": 1, "infrastructure": 4, "killed": 2, "quarantined": 2}
    everything = msgspec.structs.replace(found.record, counts=dict.fromkeys(CLASSES, 1))
    assert msgspec.structs.replace(found, record=everything).exit_code == 1
    assert CODES.keys() == set(CLASSES)


def test_few_are_named_of_very_many(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is held does not grow with the number of runs; the table has all of them."""
    monkeypatch.setattr("spark_analysis.analysis.MOST_NAMED", 2)
    for number in range(4):
        flip(Path(store.directory(CAMPAIGN, number)))
    found = analysed(store)
    assert [run for run, _ in found.quarantined] == [f"{CAMPAIGN}/00000", f"{CAMPAIGN}/00001"]
    assert found.record.counts == {"valid": 2, "quarantined": 4}
    kept = latest(scope_of(store.uri))
    assert kept is not None
    assert Counter(row["quarantined"] is None for row in kept.table("rows").to_pylist()) == {True: 2, False: 4}


def test_one_campaign_is_analysed_alone(quiet: Store) -> None:
    found = analyse(scope_of(f"{quiet.uri}/loses"), OneByOne(), Silent().show)
    assert found.record.runs == RUNS
    assert found.record.campaigns == ("loses",)


def test_what_is_held_does_not_grow_with_the_number_of_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows go into their file as they come: of ten times as many no more is held at once."""
    monkeypatch.setattr("spark_analysis.planning.RUNS_PER_PACK", 10)
    monkeypatch.setattr("spark_analysis.results.ROWS_AT_ONCE", 25)
    for number in range(400):
        (tmp_path / "store" / "c" / "runs" / f"{number:05d}").mkdir(parents=True)
    held: list[int] = []

    def judged(unit: Unit) -> Piece:
        held.append(pa.total_allocated_bytes())
        return Piece(to_batch([run(number, campaign=unit.campaign) for number in unit.numbers]))

    found = analyse(scope_of(str(tmp_path / "store")), OneByOne(judged), Silent().show)
    assert found.record.counts == {"valid": 400}
    assert len(held) == 40
    assert max(held) - held[0] < 2 * (max(held[:4]) - held[0])
