"""What an analysis leaves beside the runs: one analysis, whole, whenever somebody looks."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from model.store import Store
from spark_analysis import results
from spark_analysis.groups import GROUPS, groups_of
from spark_analysis.planning import Scope, scope_of
from spark_analysis.results import Record, Writing, latest, place_of
from spark_analysis.rows import ROW, to_batch
from tests.spark_analysis.conftest import CAMPAIGN
from tests.spark_analysis.made_up import batches, run


@pytest.fixture
def scope(store: Store) -> Scope:
    return scope_of(store.uri)


def write(scope: Scope, runs: int, size: int = 7) -> Record:
    with Writing(scope) as writing:
        rows = writing.rows()
        for batch in batches((run(number) for number in range(runs)), size):
            rows.add(batch)
        rows.close()
        writing.put("groups", groups_of(writing.written().batches()))
        return writing.finish(Record(store=scope.store, campaigns=scope.campaigns, runs=runs))


def directories(scope: Scope) -> list[str]:
    return sorted(path.name for path in Path(place_of(scope)).iterdir() if path.is_dir())


def test_whoever_comes_later_reads_the_tables_without_spark(scope: Scope) -> None:
    """Rows in pieces, other tables as a whole; with the version of their schema."""
    assert latest(scope) is None
    write(scope, 20)
    found = latest(scope)
    assert found is not None
    assert found.record.names == ("rows", "groups")
    assert [row["number"] for batch in found.batches(columns=["number"]) for row in batch.to_pylist()] == list(range(20))
    assert found.table("rows").schema.equals(ROW)
    assert found.table("groups").schema.equals(GROUPS)
    for name in found.record.names:
        metadata = pq.read_schema(f"{found.place}/{found.record.tables}/{name}.parquet").metadata
        assert metadata[b"tidemark.analysis"] == b"1"


def test_rows_are_written_in_groups_and_read_in_order(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    """However the pieces came."""
    monkeypatch.setattr(results, "ROWS_AT_ONCE", 8)
    write(scope, 50, 3)
    found = latest(scope)
    assert found is not None
    assert found.table("rows").column("number").to_pylist() == list(range(50))
    metadata = pq.ParquetFile(f"{found.place}/{found.record.tables}/rows.parquet").metadata
    assert 1 < metadata.num_row_groups <= 7
    assert max(batch.num_rows for batch in found.batches()) <= 8


def test_the_next_analysis_takes_the_place_of_the_last(scope: Scope) -> None:
    first = write(scope, 5)
    second = write(scope, 6)
    found = latest(scope)
    assert found is not None
    assert found.record == second
    assert found.table("rows").num_rows == 6
    assert directories(scope) == [second.tables] != [first.tables]


def test_an_analysis_that_fails_leaves_the_last_one_as_it_was(scope: Scope) -> None:
    first = write(scope, 5)
    with pytest.raises(ZeroDivisionError), Writing(scope) as writing:
        rows = writing.rows()
        rows.add(to_batch([run(1)]))
        raise ZeroDivisionError
    found = latest(scope)
    assert found is not None
    assert found.table("rows").num_rows == 5
    assert directories(scope) == [first.tables]


def test_tables_of_killed_analyses_go_and_those_of_one_at_work_stay(scope: Scope) -> None:
    """Told apart by age; what is not called as tables are is never touched."""
    place = Path(place_of(scope))
    killed, at_work, runs = place / ("0" * 16), place / ("1" * 16), place / "runs"
    for path in (killed, at_work, runs):
        path.mkdir(parents=True)
        (path / "rows.parquet").write_bytes(b"half")
    for path in (killed, runs):
        os.utime(path, (0, 0))
    last = write(scope, 1)
    assert directories(scope) == sorted([at_work.name, last.tables, "runs"])


def test_a_store_and_a_campaign_have_analyses_of_their_own(store: Store) -> None:
    whole, one = scope_of(store.uri), scope_of(f"{store.uri}/{CAMPAIGN}")
    write(whole, 3)
    write(one, 4)
    assert place_of(whole) == f"{store.base}/analysis"
    assert place_of(one) == f"{store.base}/{CAMPAIGN}/analysis"
    for scope, runs in ((whole, 3), (one, 4)):
        found = latest(scope)
        assert found is not None
        assert found.record.runs == runs
    assert scope_of(store.uri).campaigns == (CAMPAIGN,), "an analysis is no campaign"


@pytest.mark.parametrize("data", [b"", b"{}", b'{"schema": 2, "store": "x", "campaigns": []}', b"\xff"])
def test_an_analysis_that_nobody_understands_is_none(scope: Scope, data: bytes) -> None:
    """And the next one replaces it."""
    Path(place_of(scope)).mkdir()
    (Path(place_of(scope)) / "analysis.json").write_bytes(data)
    assert latest(scope) is None
    write(scope, 2)
    assert latest(scope) is not None


def test_a_store_that_may_only_be_read_is_analysed_all_the_same(scope: Scope) -> None:
    """Here: where the directory should be lies a file."""
    Path(place_of(scope)).write_text("in the way")
    with Writing(scope) as writing:
        rows = writing.rows()
        rows.add(to_batch([run(1)]))
        rows.close()
        assert writing.written().table("rows").num_rows == 1
        writing.finish(Record(store=scope.store, campaigns=scope.campaigns))
        scratch = Path(writing.place)
        assert scratch.is_dir()
        assert writing.why_not_kept.startswith("the tables could not be written beside the runs: ")
    assert not scratch.exists()
    assert Path(place_of(scope)).read_text() == "in the way"
