"""Histories in Parquet that nobody has checked: every damage is one sentence, and none becomes another history."""

from __future__ import annotations

import io
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from model import history
from model.history import SCHEMA, About
from model.history_file import ParquetRows
from model.refusal import UnusableFile
from tests.model.some_history import many

ABOUT = About(run_id="nightly/00412", run_tag=77, plan_digest="ab12")
PLAIN = {"op": [0, 1], "process": [0, 1], "client": ["c", "d"], "kind": ["init", "init"], "type": ["ok", "ok"]}
TIMED = {**PLAIN, "start_ns": [0, 1], "took_ns": [1, 1], "final": [False, False]}


@pytest.fixture(scope="module")
def whole() -> tuple[bytes, pa.Table]:
    table = history.to_table(many(600))
    sink = io.BytesIO()
    history.write_parquet(table, ABOUT, sink)
    return sink.getvalue(), history.sorted_table(table)


def read(where: Path, data: bytes) -> pa.Table:
    path = where / "h.parquet"
    path.write_bytes(data)
    return history.concatenate(ParquetRows(path, "h").batches())


def refused(where: Path, data: bytes) -> str:
    with pytest.raises(UnusableFile) as refusal:
        read(where, data)
    assert "\n" not in str(refusal.value)
    assert str(refusal.value).isprintable()
    assert str(refusal.value).startswith("h")
    return str(refusal.value)


def foreign(columns: dict[str, Any], metadata: dict[str, str] | None = None, **options: Any) -> bytes:
    """A file that another program wrote."""
    sink = io.BytesIO()
    pq.write_table(pa.table(columns).replace_schema_metadata(metadata), sink, **options)
    return sink.getvalue()


def test_a_history_of_ours_is_read_as_it_is(tmp_path: Path, whole: tuple[bytes, pa.Table]) -> None:
    """And says which run it is."""
    data, table = whole
    assert read(tmp_path, data).equals(table)
    assert ParquetRows(tmp_path / "h.parquet", "h").run_id == "nightly/00412"


def test_a_file_of_another_program_needs_only_the_columns(tmp_path: Path) -> None:
    """Other integers, plain texts, large lists, columns that nobody knows; no metadata."""
    values = pa.array([[1], None], pa.large_list(pa.int64()))
    table = read(tmp_path, foreign({**TIMED, "values": values, "offset": [None, None], "later": ["x", "y"]}))
    assert table.schema == SCHEMA
    assert table.column("op").to_pylist() == [0, 1]
    assert table.column("values").to_pylist() == [[1], None]
    assert table.column("client").to_pylist() == ["c", "d"]
    assert ParquetRows(tmp_path / "h.parquet", "h").run_id is None


def test_a_file_that_is_cut_off_anywhere_is_refused(tmp_path: Path, whole: tuple[bytes, pa.Table]) -> None:
    """In the magic, in a column, in the footer, before its length."""
    data, _ = whole
    footer = int.from_bytes(data[-8:-4], "little")
    for cut in (0, 3, 4, 100, len(data) // 2, len(data) - footer - 8, len(data) - footer // 2, len(data) - 8, len(data) - 1):
        assert "expected a whole Parquet file" in refused(tmp_path, data[:cut])
    assert "expected a whole Parquet file" in refused(tmp_path, data[: len(data) // 2] + data[-8:])


def test_a_flipped_bit_never_becomes_another_history(tmp_path: Path, whole: tuple[bytes, pa.Table]) -> None:
    """Pages have checksums, and the footer names every column: it is refused, or it was a bit that nothing depends on."""
    data, table = whole
    chance = random.Random(7)
    harmless = 0
    for _ in range(300):
        flipped = bytearray(data)
        flipped[chance.randrange(4, len(data))] ^= 1 << chance.randrange(8)
        try:
            assert read(tmp_path, bytes(flipped)).equals(table)
            harmless += 1
        except UnusableFile as refusal:
            assert str(refusal).isprintable()
    assert harmless < 100


def test_overwritten_stretches_are_refused(tmp_path: Path, whole: tuple[bytes, pa.Table]) -> None:
    """Wherever they lie."""
    data, _ = whole
    chance = random.Random(8)
    for _ in range(100):
        at = chance.randrange(4, len(data) - 48)
        refused(tmp_path, data[:at] + chance.randbytes(48) + data[at + 48 :])


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        (
            {name: column for name, column in TIMED.items() if name != "kind"},
            "h: kind: found no such column, expected one of type text",
        ),
        ({**TIMED, "start_ns": [0.5, 1.0]}, "h: start_ns: found a column of type double, expected int64"),
        ({**TIMED, "client": [1, 2]}, "h: client: found a column of type int64, expected text"),
        ({**TIMED, "values": [[0.5], []]}, "h: values: found a column of type list<element: double>, expected a list of int64"),
        ({**TIMED, "at_end": [1, 0]}, "h: at_end: found a column of type int64, expected bool"),
        ({**TIMED, "process": [0, 2**31]}, "h, row group 0, row 1: process: found 2147483648, expected a number of type int32"),
        (
            {**TIMED, "value": pa.array([1, 2**63], pa.uint64())},
            "h, row group 0, row 1: value: found 9223372036854775808, expected",
        ),
        ({**TIMED, "epochs": [[0], [2**31]]}, "h, row group 0: found what cannot be read (Integer value 2147483648 not in range"),
        ({**TIMED, "run": ["a", "b"]}, "h: run: found a pack of many runs, expected the history of one"),
        (
            {**TIMED, "client": pa.array([b"c", b"\xff"]).view(pa.string())},
            "h, row group 0, row 0 and those after it: client: found what cannot be read (Invalid UTF8 sequence",
        ),
    ],
)
def test_columns_that_cannot_be_ours_are_refused_by_name(tmp_path: Path, columns: dict[str, Any], told: str) -> None:
    """By the first row that does not fit, where it is a row."""
    assert refused(tmp_path, foreign(columns)).startswith(told)


def test_a_file_that_says_it_is_ours_has_all_our_columns(tmp_path: Path) -> None:
    """Otherwise a damaged name would be a column that nobody knows."""
    assert "tidemark.schema: found '2', expected 1" in refused(tmp_path, foreign(TIMED, {"tidemark.schema": "2"}))
    assert "node: found no such column" in refused(tmp_path, foreign(TIMED, {"tidemark.schema": "1"}))


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    """Nobody could say which one is meant."""
    sink = io.BytesIO()
    table = pa.table(TIMED)
    pq.write_table(table.append_column("op", table.column("op")), sink)
    assert "op: found several such columns, expected one" in refused(tmp_path, sink.getvalue())


def test_rows_are_named_by_row_group(tmp_path: Path) -> None:
    """Counted from 0, as every tool for Parquet does."""
    path = tmp_path / "h.parquet"
    path.write_bytes(
        foreign({"op": list(range(25)), **{k: [v[0]] * 25 for k, v in TIMED.items() if k != "op"}}, row_group_size=10)
    )
    source = ParquetRows(path, "h")
    assert [source.place(row) for row in (0, 9, 10, 24)] == [
        "h, row group 0, row 0",
        "h, row group 0, row 9",
        "h, row group 1, row 0",
        "h, row group 2, row 4",
    ]
    assert source.rows == 25


def test_an_empty_history_is_one(tmp_path: Path) -> None:
    """It has nothing to say, which is for a verdict."""
    sink = io.BytesIO()
    history.write_parquet(history.to_table([]), ABOUT, sink)
    assert read(tmp_path, sink.getvalue()).num_rows == 0
