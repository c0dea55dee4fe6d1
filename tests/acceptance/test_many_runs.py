"""A thousand runs of which twenty are ruined: all twenty are named, each with its reason, and the other 980 are counted.

The same at a twentieth of the size stands in tests/spark_analysis/test_ruined_stores.py.
"""

from __future__ import annotations

import random
import shutil
from itertools import cycle, islice
from pathlib import Path

import pyarrow as pa
import pytest

from harness.analysis_pool import OnPool
from model.pack import RUNS_PER_PACK, packs_of
from model.store import Store
from spark_analysis.analysis import Analysis, analyse
from spark_analysis.engines import Engine, OnSpark
from spark_analysis.planning import scope_of
from spark_analysis.results import latest
from spark_analysis.session import spark_session
from tests.spark_analysis.stores import RUIN, multiply, rot_a_pack, simulate

pytestmark = pytest.mark.acceptance

CAMPAIGN = "nightly"
RUNS, RUINED, SIMULATED = 1_000, 20, 40


@pytest.fixture
def many(tmp_path: Path) -> Store:
    store = Store(tmp_path / "store")
    simulate(store, CAMPAIGN, range(SIMULATED))
    multiply(store, CAMPAIGN, RUNS, range(SIMULATED))
    return store


def ruin(store: Store) -> dict[str, str]:
    """Every kind twice, anywhere; no two beside each other, because one kind copies its neighbour."""
    places = random.Random(20).sample(range(0, RUNS - 1, 2), RUINED)
    expected = {}
    for number, (damage, words) in zip(places, islice(cycle(RUIN.values()), RUINED), strict=True):
        damage(Path(store.directory(CAMPAIGN, number)))
        expected[f"{CAMPAIGN}/{number:05d}"] = words
    return expected


def assert_named(found: Analysis, expected: dict[str, str]) -> None:
    named = dict(found.quarantined)
    assert named.keys() == expected.keys()
    for run, words in expected.items():
        assert words in named[run], named[run]
    assert found.record.counts == {"valid": RUNS - RUINED, "quarantined": RUINED}
    assert found.exit_code == 2


def analysed(store: Store, engine: Engine) -> Analysis:
    return analyse(scope_of(store.uri), engine, lambda known, total: None)


def rows_of(store: Store) -> pa.Table:
    found = latest(scope_of(store.uri))
    assert found is not None
    return found.table("rows")


@pytest.mark.needs("java")
def test_twenty_of_a_thousand_are_named_whenever_and_by_whomever(many: Store, tmp_path: Path) -> None:
    """Before the runs were packed and after; with a rotten pack besides; by a pool and by Spark: the same rows every time."""
    untouched = tmp_path / "untouched"
    shutil.copytree(many.base, untouched)
    expected = ruin(many)
    assert_named(analysed(many, OnPool(2)), expected)
    rows = rows_of(many)
    assert len(packs_of(many, CAMPAIGN)) == RUNS // RUNS_PER_PACK
    with spark_session("local[2]", "acceptance") as session:
        assert_named(analysed(many, OnSpark(session)), expected)
        assert rows_of(many).equals(rows)
        store = Store(untouched)
        assert analysed(store, OnSpark(session)).record.counts == {"valid": RUNS}
        assert ruin(store) == expected
        rotten = rot_a_pack(store, CAMPAIGN)
        found = analysed(store, OnSpark(session))
        assert_named(found, expected)
        (note,) = found.record.notes
        assert rotten in note
        assert analysed(store, OnSpark(session)).record.notes == ()
