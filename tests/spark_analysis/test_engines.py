"""The same rows in the same order from every engine. Spark has its own file, because it needs a Java: test_on_spark.py."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from harness.analysis_pool import OnPool
from model.store import Store
from spark_analysis.engines import Engine, OneByOne, packed_rows, unpacked_rows
from spark_analysis.planning import scope_of, units
from spark_analysis.rows import to_batch
from spark_analysis.unit import Unit
from tests.spark_analysis import deadly
from tests.spark_analysis.conftest import CAMPAIGN
from tests.spark_analysis.made_up import LOST, quarantined, run
from tests.spark_analysis.stores import RUIN, copy_run, flip

DEADLY = "deadly"


@pytest.fixture
def scattered(store: Store) -> Store:
    """Runs of two campaigns whose numbers lie in several blocks, so that there are several units; one is ruined."""
    for place, number in enumerate([199, 200, 405, 800, 801, 1200]):
        copy_run(store, CAMPAIGN, place, number)
    Path(store.base, DEADLY, "runs").mkdir(parents=True)
    for number in range(6):
        Path(store.directory(CAMPAIGN, number)).rename(store.directory(DEADLY, number))
    flip(Path(store.directory(CAMPAIGN, 800)))
    return store


def worked(engine: Engine, plan: list[Unit]) -> pa.Table:
    """Every piece, in the order in which it was given; and that it belongs to its unit."""
    pieces = []

    def take(unit: Unit, piece: object) -> None:
        rows = piece.rows  # type: ignore[attr-defined]  # a Piece
        assert rows.column("number").to_pylist() == list(unit.numbers)
        assert unit == plan[len(pieces)]
        pieces.append(rows)

    engine.run(plan, take)
    assert len(pieces) == len(plan)
    return pa.Table.from_batches(pieces)


def plan_of(store: Store) -> list[Unit]:
    return list(units(scope_of(store.uri)))


def test_a_pool_gives_the_rows_of_one_process(scattered: Store) -> None:
    """Row for row; quarantine too."""
    plan = plan_of(scattered)
    assert len(plan) == 6
    expected = worked(OneByOne(), plan)
    assert expected.num_rows == 12
    assert expected.column("quarantined").null_count == 11
    assert worked(OnPool(2), plan).equals(expected)
    assert worked(OnPool(3), plan_of(scattered)).equals(expected), "out of packs"


@pytest.mark.parametrize(
    ("work", "why"),
    [
        ("judge_unit_or_die", "the worker of this run died (signal 9)"),
        ("judge_unit_or_raise", "OSError: no file descriptors left"),
    ],
)
def test_a_run_that_takes_its_worker_along_costs_its_own_row(scattered: Store, work: str, why: str) -> None:
    """Its neighbours in the unit have theirs, and so has everybody behind it."""
    plan = plan_of(scattered)
    expected = worked(OneByOne(), plan).to_pylist()
    found = worked(OnPool(2, f"tests.spark_analysis.deadly:{work}"), plan).to_pylist()
    lost = [row for row in found if row["campaign"] == DEADLY and row["number"] == deadly.DEADLY]
    assert [row["quarantined"] for row in lost] == [f"the analysis of this run failed: {why}"]
    assert [row for row in found if row not in lost] == [
        row for row in expected if (row["campaign"], row["number"]) != (DEADLY, deadly.DEADLY)
    ]


def test_no_units_are_no_work() -> None:
    """Nobody starts a worker for nothing."""
    for engine in (OneByOne(), OnPool(2)):
        engine.run([], lambda unit, piece: pytest.fail("there was nothing to do"))


def test_rows_travel_as_bytes() -> None:
    """Lists, structs, nulls: as they were."""
    rows = to_batch([run(1, fails=[LOST]), quarantined(2)])
    assert unpacked_rows(packed_rows(rows)).equals(rows)


def test_every_kind_of_ruin_is_the_same_for_a_pool(store: Store) -> None:
    """Reasons too."""
    names = list(RUIN)
    for place in range(len(names)):
        copy_run(store, CAMPAIGN, place % 6, 20 + 2 * place)
        copy_run(store, CAMPAIGN, place % 6, 21 + 2 * place)
    for place, name in enumerate(names):
        RUIN[name][0](Path(store.directory(CAMPAIGN, 20 + 2 * place)))
    plan = plan_of(store)
    expected = worked(OneByOne(), plan)
    assert expected.column("quarantined").null_count == expected.num_rows - len(names)
    assert worked(OnPool(1), plan).equals(expected)
