"""The same rows from Spark, out of one session that all tests here share."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from model.refusal import InfrastructureFailure
from model.store import Store
from spark_analysis.analysis import analyse
from spark_analysis.engines import OneByOne, OnSpark
from spark_analysis.planning import scope_of, units
from spark_analysis.results import latest
from spark_analysis.session import spark_session
from spark_analysis.unit import Piece, Unit
from tests.spark_analysis.conftest import CAMPAIGN, SIMULATED
from tests.spark_analysis.deadly import DEADLY, judge_unit_or_die
from tests.spark_analysis.stores import copy_run, multiply, rot_a_pack
from tests.spark_analysis.test_ruined_stores import RUNS, assert_all_are_named, ruin

pytestmark = [pytest.mark.needs("java"), pytest.mark.xdist_group("spark")]


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    with spark_session("local[2]", "tests") as session:
        yield session


def rows_of(path: Path) -> pa.Table:
    found = latest(scope_of(str(path)))
    assert found is not None
    return found.table("rows")


def test_spark_and_one_process_say_the_same_of_a_ruined_store(spark: Any, store: Store, tmp_path: Path) -> None:
    """Before anything was packed, out of packs, and with a rotten one: the same rows, in the same order, and the same reasons."""
    multiply(store, CAMPAIGN, RUNS, range(SIMULATED))
    expected = ruin(store)
    copy = tmp_path / "copy" / "store"
    shutil.copytree(store.base, copy)
    for engine, path in ((OneByOne(), Path(store.base)), (OnSpark(spark), copy)):
        assert_all_are_named(analyse(scope_of(str(path)), engine, lambda known, total: None), expected)
    moved = rows_of(copy).drop_columns(["store", "quarantined"])
    assert moved.equals(rows_of(Path(store.base)).drop_columns(["store", "quarantined"]))
    rows = rows_of(copy)
    packed = analyse(scope_of(str(copy)), OnSpark(spark), lambda known, total: None)
    assert packed.record.engine.startswith("Spark ")
    assert rows_of(copy).equals(rows)
    name = rot_a_pack(Store(copy), CAMPAIGN)
    rotten = analyse(scope_of(str(copy)), OnSpark(spark), lambda known, total: None)
    (note,) = rotten.record.notes
    assert name in note
    assert rows_of(copy).equals(rows)


def test_many_units_come_back_in_order(spark: Any, store: Store) -> None:
    """More than a job takes at once."""
    for place in range(8):
        copy_run(store, CAMPAIGN, place % SIMULATED, 200 * (place + 1))
    plan = list(units(scope_of(store.uri)))
    assert len(plan) == 9
    taken: list[tuple[int, ...]] = []
    OnSpark(spark).run(plan, lambda unit, piece: taken.append(tuple(piece.rows.column("number").to_pylist())))
    assert taken == [unit.numbers for unit in plan]


def test_a_run_that_takes_its_worker_along_costs_its_own_row(spark: Any, store: Store) -> None:
    """The job fails, and then its unit; its neighbours have their rows all the same."""
    (Path(store.base) / CAMPAIGN).rename(Path(store.base) / "deadly")
    for number in range(6):
        copy_run(store, "deadly", number, 300 + number)
    (first, second) = units(scope_of(store.uri))
    pieces: list[Piece] = []
    engine = OnSpark(spark, judge_unit_or_die)
    engine.run([first, second], lambda unit, piece: pieces.append(piece))
    rows = [row for piece in pieces for row in piece.rows.to_pylist()]
    assert [row["number"] for row in rows] == [*range(6), *range(300, 306)]
    (lost,) = [row for row in rows if row["quarantined"] is not None]
    assert lost["number"] == DEADLY
    assert lost["quarantined"].startswith("the analysis of this run failed: its worker was lost: ")


def test_nobody_waits_for_the_jobs_of_an_interrupted_analysis(spark: Any, store: Store) -> None:
    """What interrupts it comes out as it is, and Spark can be used again."""
    copy_run(store, CAMPAIGN, 0, 700)
    plan = list(units(scope_of(store.uri)))

    def stop(unit: Unit, piece: Piece) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        OnSpark(spark).run(plan, stop)
    assert spark.range(3).count() == 3


class _Ended:
    """A session whose JVM has gone."""

    version = "4"

    class sparkContext:  # noqa: N801  as the real one calls it
        master = "local[2]"
        defaultParallelism = 2  # noqa: N815  too

        @staticmethod
        def cancelAllJobs() -> None:
            raise ConnectionRefusedError

    def range(self, *_: int) -> Any:
        raise ConnectionRefusedError("Connection refused")


def test_a_spark_that_has_ended_is_no_mistake_of_the_runs() -> None:
    """Nobody is put into quarantine for it."""
    with pytest.raises(InfrastructureFailure, match="Spark ended while it was working: ConnectionRefusedError"):
        OnSpark(_Ended()).run([Unit("/store", "c", (1, 2))], lambda unit, piece: pytest.fail("nothing was judged"))
