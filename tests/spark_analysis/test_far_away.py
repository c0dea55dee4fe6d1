"""A store that is no local path: no packs, no looks, and the same rows."""

from __future__ import annotations

import pytest

from model.store import Store
from spark_analysis.analysis import analyse, baseline_of
from spark_analysis.engines import OneByOne
from spark_analysis.planning import scope_of, units
from spark_analysis.results import latest
from tests.model.test_object_store import ObjectStore, bucket, remote
from tests.spark_analysis.stores import simulate

__all__ = ["bucket", "remote"]  # fixtures

RUNS = 12


@pytest.fixture
def far_away(remote: Store) -> Store:
    simulate(remote, "nightly", range(RUNS))
    return remote


def test_a_store_far_away_is_analysed_and_keeps_its_tables(far_away: Store, bucket: ObjectStore) -> None:
    """Its runs are opened one by one; a file that was changed there is named."""
    scope = scope_of("bucket://store")
    (unit,) = units(scope)
    assert (unit.numbers, unit.packs) == (tuple(range(RUNS)), ())
    found = analyse(scope, OneByOne(), lambda known, total: None)
    assert found.record.counts == {"valid": RUNS}
    kept = latest(scope)
    assert kept is not None
    assert kept.table("rows").num_rows == RUNS
    assert kept.record.state == ""
    changed = far_away.open("nightly", 3)
    with bucket.local.open_output_stream(f"{changed.path}/{changed.record.files['events'].path}") as file:
        file.write(b"PAR1")
    again = analyse(scope, OneByOne(), lambda known, total: None)
    assert again.record.counts == {"valid": RUNS - 1, "quarantined": 1}
    ((run, why),) = again.quarantined
    assert run == "nightly/00003"
    assert "events.parquet: not the file that was written: 4 bytes instead of" in why
    assert latest(scope_of("bucket://store/nightly")) is None


def test_as_a_baseline_it_is_judged_every_time(far_away: Store) -> None:
    """Nobody can tell whether it has changed."""
    scope = scope_of(f"{far_away.uri}/nightly")
    for _ in range(2):
        assert baseline_of(scope, OneByOne(), lambda known, total: None).judged_again is True
