"""Which runs there are, and how they are cut into units."""

from __future__ import annotations

from pathlib import Path

import pytest

from model.refusal import Refusal
from model.store import Store
from spark_analysis import planning
from spark_analysis.planning import scope_of, units
from tests.spark_analysis.conftest import CAMPAIGN


def bare(store: Path, campaign: str, numbers: range | list[int], history_bytes: int = 10) -> None:
    """Directories that are called as runs are: planning opens none."""
    for number in numbers:
        directory = store / campaign / "runs" / f"{number:05d}"
        directory.mkdir(parents=True)
        (directory / "history.parquet").write_bytes(b"x" * history_bytes)


def cut(path: Path) -> list[tuple[str, tuple[int, ...]]]:
    return [(unit.campaign, unit.numbers) for unit in units(scope_of(str(path)))]


def test_every_run_stands_in_one_unit_in_order_campaign_by_campaign(tmp_path: Path) -> None:
    """What shares a block of two hundred numbers shares a unit, however many there are."""
    bare(tmp_path, "b", [7, 3, 199, 200, 1000])
    bare(tmp_path, "a", range(201))
    assert cut(tmp_path) == [
        ("a", tuple(range(200))),
        ("a", (200,)),
        ("b", (3, 7, 199)),
        ("b", (200,)),
        ("b", (1000,)),
    ]


def test_long_histories_make_short_units(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that several workers read them; a single one may be as long as it likes."""
    monkeypatch.setattr(planning, "MOST_BYTES", 100)
    bare(tmp_path, "a", range(5), history_bytes=40)
    bare(tmp_path, "b", range(2), history_bytes=400)
    assert [numbers for _, numbers in cut(tmp_path)] == [(0, 1), (2, 3), (4,), (0,), (1,)]


def test_packs_go_to_the_units_whose_numbers_they_span(tmp_path: Path) -> None:
    """By their names alone."""
    bare(tmp_path, "a", [0, 150, 250])
    for first, last in [(0, 150), (100, 300), (400, 500)]:
        (tmp_path / "a" / "packs" / f"{first:05d}-{last:05d}-aabbccdd-{'0' * 64}").mkdir(parents=True)
    found = {unit.numbers: [(place.first, place.last) for place in unit.packs] for unit in units(scope_of(str(tmp_path)))}
    assert found == {(0, 150): [(0, 150), (100, 300)], (250,): [(100, 300)]}


def test_a_store_and_one_campaign_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As they were typed; workers are told where that is."""
    monkeypatch.chdir(tmp_path)
    bare(tmp_path / "store", "a", [1])
    bare(tmp_path / "store", "runs", [2])
    whole = scope_of("store/")
    assert (whole.store, whole.campaigns, whole.whole, whole.shown) == (f"{tmp_path}/store", ("a", "runs"), True, "store")
    one = scope_of("store/a")
    assert (one.store, one.campaigns, one.whole, one.shown) == (f"{tmp_path}/store", ("a",), False, "store")
    assert one.path == f"{tmp_path}/store/a"


def test_the_campaign_of_single_runs_is_called_runs(tmp_path: Path) -> None:
    """And so is the directory in every campaign."""
    bare(tmp_path / "store", "runs", [0])
    assert scope_of(f"{tmp_path}/store").campaigns == ("runs",)
    assert scope_of(f"{tmp_path}/store/runs").whole is False
    bare(tmp_path / "other", "a", [0])
    with pytest.raises(Refusal, match="there are no runs here"):
        scope_of(f"{tmp_path}/other/a/runs")


@pytest.mark.parametrize("path", ["nowhere", "", "a/runs", "a/runs/00001"])
def test_where_there_are_no_runs_it_says_what_there_is(tmp_path: Path, path: str) -> None:
    bare(tmp_path / "store", "a", [1])
    with pytest.raises(Refusal, match="there are no runs here") as refused:
        scope_of(f"{tmp_path}/store/{path}" if path else f"{tmp_path}")
    assert ("a store, or STORE/campaign" in refused.value.allowed) and (": a" in refused.value.allowed) == (path == "nowhere")


def test_only_numbers_are_runs(store: Store) -> None:
    """What else lies there is nobody's run."""
    runs = Path(store.base) / CAMPAIGN / "runs"
    (runs / "notes").mkdir()
    (runs / "7").mkdir()
    (unit,) = units(scope_of(store.uri))
    assert unit.numbers == tuple(range(6))
