"""Histories as lines of JSON: what is written is read again, and what is no operation is refused by line and field."""

from __future__ import annotations

import io
import json
import tracemalloc
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given

from model import history, jsonl
from model.history import SCHEMA
from model.jsonl import MOST_BYTES, MOST_NESTING, JsonLines, write_jsonl
from model.operation import Row
from model.refusal import UnusableFile
from tests.model.some_history import many
from tests.strategies import histories

LEAST = {"process": 0, "kind": "init", "type": "ok", "start_ns": 5, "took_ns": 1}
FINE = json.dumps(LEAST).encode() + b"\n"


def read(data: bytes) -> pa.Table:
    return history.concatenate(JsonLines(io.BytesIO(data), "h").batches())


def line(**changed: Any) -> bytes:
    """A line that says the least, and something else."""
    return json.dumps({key: value for key, value in {**LEAST, **changed}.items() if value != "absent"}).encode()


def refused(data: bytes) -> str:
    with pytest.raises(UnusableFile) as refusal:
        read(data)
    assert "\n" not in str(refusal.value)
    assert str(refusal.value).isprintable()
    return str(refusal.value)


def written(rows: list[Row]) -> bytes:
    sink = io.BytesIO()
    write_jsonl(history.to_table(rows), sink)
    return sink.getvalue()


@given(histories())
def test_what_is_written_is_read_again(rows: list[Row]) -> None:
    """Every column, present or absent, with its value and its exact type."""
    back = read(written(rows))
    assert back.schema == SCHEMA
    assert history.to_rows(back) == rows


def test_more_lines_than_one_batch_holds_are_all_read() -> None:
    """In their order, and each word once."""
    rows = many(2 * jsonl.ROWS_AT_ONCE + 7)
    source = JsonLines(io.BytesIO(written(rows)), "h")
    batches = list(source.batches())
    assert [batch.num_rows for batch in batches] == [jsonl.ROWS_AT_ONCE, jsonl.ROWS_AT_ONCE, 7]
    assert history.concatenate(batches).equals(history.to_table(rows))


def test_the_least_that_a_line_must_say() -> None:
    """Everything else is null, numbered by lines, of an unknown client."""
    (row,) = history.to_rows(read(FINE))
    assert row == Row(op=1, process=0, client="unknown", kind="init", type="ok", start_ns=5, took_ns=1)


@pytest.mark.parametrize("data", [FINE + line(), FINE + line() + b"\n", FINE.replace(b"\n", b"\r\n") * 2])
def test_lines_end_as_they_like(data: bytes) -> None:
    """The last one may end with the file."""
    assert read(data).column("op").to_pylist() == [1, 2]


@pytest.mark.parametrize(
    "changed",
    [{"took_ns": "absent", "end_ns": 6}, {"end_ns": 6}, {"later": {"a": [1, {"b": None}]}}, {"value": None, "node": None}],
)
def test_other_words_for_the_same(changed: dict[str, Any]) -> None:
    """The end instead of the duration, both, columns that nobody knows, and null for what is absent."""
    assert read(line(**changed)).equals(read(FINE))


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"kind": "absent"}, "kind: found nothing, expected append, assign, end_offset"),
        ({"kind": "write"}, "kind: found '\"write\"', expected append, assign, end_offset"),
        ({"type": "invoke"}, "type: found '\"invoke\"', expected fail, info or ok"),
        ({"process": "absent"}, "process: found nothing, expected a whole number from 0 to 2^31 - 1"),
        ({"process": -1}, "process: found '-1', expected a whole number from 0"),
        ({"process": "seven"}, "process: found '\"seven\"', expected a whole number from 0"),
        ({"process": None}, "process: found 'null', expected a whole number"),
        ({"op": 2**31}, "op: found '2147483648', expected a whole number from 0 to 2^31 - 1"),
        ({"start_ns": 0.5}, "start_ns: found '0.5', expected a whole number"),
        ({"start_ns": 1e9}, "start_ns: found '1000000000.0', expected a whole number"),
        ({"start_ns": -5}, "start_ns: found '-5', expected a whole number"),
        ({"took_ns": -5}, "took_ns: found '-5', expected a whole number from 0 to 2^63 - 1: nothing completes before it starts"),
        ({"took_ns": "absent"}, "end_ns: found nothing, expected `end_ns` or `took_ns`"),
        ({"end_ns": 4}, "end_ns: found 4, expected 5 (start_ns) or later: an operation that completes before it starts"),
        ({"end_ns": 7}, "end_ns: found 7, expected 6 (start_ns + took_ns)"),
        ({"offset": 2**62 + 1}, "offset: found '4611686018427387905', expected a whole number from 0 to 2^62"),
        ({"offset": 10**30}, "offset: found '1000000000000000000000000000000', expected a whole number from 0 to 2^62"),
        ({"offset": True}, "offset: found 'true', expected a whole number"),
        ({"at_end": 1}, "at_end: found '1', expected true or false"),
        ({"final": None}, "final: found 'null', expected true or false"),
        ({"acks": "all"}, "acks: found '\"all\"', expected -1, 0 or 1"),
        ({"values": 5}, "values: found '5', expected a list, each entry a whole number from 0 to 2^63 - 1"),
        ({"values": [1, None]}, "values: found '[1, null]', expected a list, each entry"),
        ({"topic": "x" * 250}, "topic: found '\"xxxxx"),
        ({"topic": "x" * 250}, "', expected a text of at most 249 characters"),
        ({"f": "write", "kind": "absent"}, "found a Jepsen-like operation (`f`, `type`), expected one with `kind`"),
        ({"op": 7}, "op: found 7, expected nothing: the lines before have no number"),
    ],
)
def test_a_line_that_is_no_operation_is_refused_by_field_finding_and_expectation(changed: dict[str, Any], told: str) -> None:
    """With its number, whatever stands after it."""
    said = refused(FINE * 3 + line(**changed) + b"\n" + FINE)
    assert said.startswith("h, line 4: ")
    assert told in said


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"\n", "found an empty line, expected one operation"),
        (b"   \n", "found an empty line"),
        (b"[1, 2]\n", "found '[1, 2]', expected a JSON object"),
        (b"17\n", "found '17', expected a JSON object"),
        (b'{"process": 1\n', "found '{\"process\": 1', expected one JSON object: Input data was truncated"),
        (b'{"process": 1} {}\n', "expected one JSON object: trailing characters"),
        (b'{"process": 00}\n', "expected one JSON object"),
        (b'{"topic": "\xff\xfe"}\n', "found '\\xff\\xfe\"}', expected UTF-8"),
        (b'{"\xc3": 1}\n', "expected UTF-8"),
        (b"\x00\x01\x02\n", "found '\\x00\\x01\\x02', expected one JSON object"),
        (b'{"a":' + b"[" * 65 + b"]" * 65 + b"}\n", f"found nesting deeper than {MOST_NESTING}"),
        (b"[" * 2_000_000, f"found nesting deeper than {MOST_NESTING}"),
        (b'{"offset": ' + b"9" * 1_000_000 + b"}\n", "process: found nothing"),
        (FINE[:-2] + b', "offset": ' + b"9" * 1_000_000 + b"}\n", "offset: found '9999"),
    ],
)
def test_a_line_that_is_not_even_an_object_is_quoted(data: bytes, told: str) -> None:
    """Its beginning, and nothing that moves a terminal."""
    said = refused(FINE + data)
    assert said.startswith("h, line 2: ")
    assert told in said
    assert len(said) < 300


@pytest.mark.parametrize(
    "inside", [b'"' + b"[" * 999 + b'"', b'"\\"' + b"[" * 999 + b'"', b'"\\\\", "b": [' + b"[]," * 99 + b"[]]"]
)
def test_brackets_in_texts_and_beside_each_other_are_no_nesting(inside: bytes) -> None:
    """Only depth costs."""
    assert read(FINE[:-2] + b', "a": ' + inside + b"}\n").num_rows == 1


def test_nesting_up_to_the_limit_is_passed_over() -> None:
    """The object itself is the first level."""
    deep = MOST_NESTING - 1
    assert read(FINE[:-2] + b', "a": ' + b"[" * deep + b"]" * deep + b"}\n").num_rows == 1


def test_a_line_without_an_end_is_refused_before_it_is_held() -> None:
    """20 MB of one line: 16 MiB are read, and the rest is not."""
    stream = io.BytesIO(FINE + b'{"topic": "' + b"x" * 20_000_000)
    with pytest.raises(UnusableFile, match="h, line 2: found more than 16 MiB without an end of line"):
        list(JsonLines(stream, "h").batches())
    assert stream.tell() <= len(FINE) + MOST_BYTES + 1


def test_operations_before_a_malformed_line_come_before_its_refusal() -> None:
    """Whoever checks them finds the earlier mistake first."""
    batches = JsonLines(io.BytesIO(FINE * 3 + b"x\n"), "h").batches()
    assert next(batches).num_rows == 3
    with pytest.raises(UnusableFile, match="line 4"):
        next(batches)


def test_long_lines_do_not_wait_for_each_other() -> None:
    """A batch ends at 16 MiB as well: a thousand lines of a megabyte never lie in memory together."""
    long = line(values=[10**18] * 250_000) + b"\n"
    tracemalloc.start()
    sizes = [batch.num_rows for batch in JsonLines(io.BytesIO(long * 8), "h").batches()]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sum(sizes) == 8
    assert max(sizes) <= MOST_BYTES // len(long) + 1
    assert peak < 400_000_000
