"""A store in which some runs are ruined, each in another way: all of them are named with the reason, the others are counted.

At a twentieth of the size of tests/acceptance/test_many_runs.py.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from model.pack import packs_of
from model.store import Store
from spark_analysis.analysis import Analysis, analyse
from spark_analysis.engines import OneByOne
from spark_analysis.planning import scope_of
from spark_analysis.results import latest
from tests.spark_analysis.conftest import CAMPAIGN, SIMULATED
from tests.spark_analysis.stores import RUIN, multiply, rot_a_pack

RUNS = 50


def analysed(store: Store) -> Analysis:
    return analyse(scope_of(store.uri), OneByOne(), lambda known, total: None)


def rows_of(store: Store) -> pa.Table:
    found = latest(scope_of(store.uri))
    assert found is not None
    return found.table("rows")


def ruin(store: Store) -> dict[str, str]:
    """One run of each kind: what its reason must say, by run. They lie apart, because one kind copies its neighbour."""
    expected = {}
    for place, (damage, words) in enumerate(RUIN.values()):
        number = 3 + 4 * place
        damage(Path(store.directory(CAMPAIGN, number)))
        expected[f"{CAMPAIGN}/{number:05d}"] = words
    return expected


def assert_all_are_named(found: Analysis, expected: dict[str, str]) -> None:
    named = dict(found.quarantined)
    assert named.keys() == expected.keys()
    for run, words in expected.items():
        assert words in named[run], named[run]
    assert found.record.runs == RUNS
    assert found.record.counts == {"valid": RUNS - len(expected), "quarantined": len(expected)}
    assert found.exit_code == 2


@pytest.fixture
def many(store: Store) -> Store:
    multiply(store, CAMPAIGN, RUNS, range(SIMULATED))
    return store


def test_ruined_runs_are_named_and_the_others_are_counted_and_packed(many: Store) -> None:
    """A store that nobody has analysed yet. A second look finds the same, now that the others lie in a pack."""
    expected = ruin(many)
    first = analysed(many)
    assert_all_are_named(first, expected)
    assert first.record.notes == ()
    (place,) = packs_of(many, CAMPAIGN)
    rows = rows_of(many)
    assert_all_are_named(analysed(many), expected)
    assert rows_of(many).equals(rows)
    assert packs_of(many, CAMPAIGN) == [place], "nothing new was packed"


def test_runs_that_are_ruined_after_they_were_packed_are_named_as_well(many: Store) -> None:
    """Truth lies in the run: what was touched since is opened itself."""
    before = analysed(many)
    assert before.record.counts == {"valid": RUNS}
    assert before.exit_code == 0
    expected = ruin(many)
    assert_all_are_named(analysed(many), expected)


def test_a_rotten_pack_is_named_and_made_again_from_its_runs(many: Store) -> None:
    """No run is the worse for it, also where some are ruined besides."""
    analysed(many)
    rows = rows_of(many)
    name = rot_a_pack(many, CAMPAIGN)
    found = analysed(many)
    assert found.record.counts == {"valid": RUNS}
    (note,) = found.record.notes
    assert note.startswith("a rotten pack was made again from its runs: ")
    assert f"{name}/history.parquet: not the file that was written: its digest differs" in note
    assert rows_of(many).equals(rows)
    (place,) = packs_of(many, CAMPAIGN)
    assert place.name != name
    rot_a_pack(many, CAMPAIGN)
    expected = ruin(many)
    found = analysed(many)
    assert_all_are_named(found, expected)
    assert len(found.record.notes) == 1
    assert analysed(many).record.notes == ()


def test_a_run_that_was_mended_is_no_longer_in_quarantine(many: Store) -> None:
    """Nothing that an earlier analysis said of it is remembered."""
    path = Path(many.directory(CAMPAIGN, 7)) / "events.parquet"
    data = path.read_bytes()
    path.write_bytes(data[:-1])
    assert analysed(many).record.counts == {"valid": RUNS - 1, "quarantined": 1}
    path.write_bytes(data)
    assert analysed(many).record.counts == {"valid": RUNS}
