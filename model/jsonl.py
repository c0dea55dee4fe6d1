"""model/jsonl.py: histories as lines of JSON, one operation per line: the form for tools that know no Parquet (docs/check.md).

In     a stream of bytes that nobody has checked; or a table
Out    record batches of the canonical schema, as the stream goes on; or a file of such lines
Keeps  at most one batch of lines in memory, whatever the input. The first line that is none ends it, with one sentence: line,
       field, what was found, what was expected. Columns that nobody knows are passed over
Not    what operations may not say beside each other, or by their kind: model/history_checks.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import IO, Annotated, Any, Literal

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import Meta

from model.history import SCHEMA, batch_of
from model.history_checks import GREATEST, GREATEST_OFFSET, expected_number, one_of
from model.operation import Kind, Row, Type
from model.refusal import UnusableFile

MOST_BYTES = 16 * 2**20  # of one line
MOST_NESTING = 64
ROWS_AT_ONCE = 16_384
NO_CLIENT = "unknown"

_Number16 = Annotated[int, Meta(ge=0, le=2**15 - 1)]
_Number32 = Annotated[int, Meta(ge=0, le=2**31 - 1)]
_Number64 = Annotated[int, Meta(ge=0, le=GREATEST)]
_Offset = Annotated[int, Meta(ge=0, le=GREATEST_OFFSET)]
_Word = Annotated[str, Meta(max_length=249)]


class Line(msgspec.Struct, kw_only=True, gc=False):
    """One operation. The columns of the history in their order, then `end_ns`, which only this form has."""

    op: _Number32 | None = None
    process: _Number32
    client: _Word = NO_CLIENT
    node: _Number16 | None = None
    kind: Kind
    type: Type
    error: _Word | None = None
    topic: _Word | None = None
    partition: _Number32 | None = None
    key: _Number64 | None = None
    value: _Number64 | None = None
    expected: _Number64 | None = None
    offset: _Offset | None = None
    from_offset: _Offset | None = None
    max_records: _Number32 | None = None
    at_end: bool | None = None
    base_offset: _Offset | None = None
    values: list[_Number64] | None = None
    offsets: list[_Offset] | None = None
    epochs: list[_Number32] | None = None
    leader_epoch: _Number32 | None = None
    start_ns: _Number64
    took_ns: _Number64 | None = None
    acks: Literal[-1, 0, 1] | None = None
    idempotent: bool | None = None
    producer_id: _Number64 | None = None
    producer_epoch: _Number16 | None = None
    sequence: _Number32 | None = None
    attempts: _Number16 | None = None
    batch: _Number32 | None = None
    session: _Number32 | None = None
    final: bool = False
    barrier: bool | None = None
    end_ns: _Number64 | None = None


FIELDS = {field.name: field for field in msgspec.inspect.type_info(Line).fields}  # type: ignore[attr-defined]
_decode = msgspec.json.Decoder(Line).decode
_decode_raw = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_NOT_WELL_FORMED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError)


class _Wrong(Exception):
    """A line that is none; the reader knows which one it is."""


# -- reading ----------------------------------------------------------------------------------------------------------


class JsonLines:
    """The reader. `name` is what a refusal calls the file."""

    def __init__(self, stream: IO[bytes], name: str) -> None:
        self._stream, self._name = stream, name
        self._numbered: bool | None = None
        self._line = 0

    def place(self, row: int) -> str:
        """A row is a line: there are no empty ones."""
        return f"{self._name}, line {row + 1}"

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The operations, in pieces. Those before a malformed line come before its refusal."""
        pending: list[tuple[Any, ...]] = []
        held = 0
        while line := self._stream.readline(MOST_BYTES + 1):
            self._line += 1
            try:
                pending.append(self._columns(line))
            except _Wrong as wrong:
                if pending:
                    yield batch_of(pending)
                raise UnusableFile(str(wrong), where=self.place(self._line - 1)) from None
            held += len(line)
            if len(pending) == ROWS_AT_ONCE or held > MOST_BYTES:
                yield batch_of(pending)
                pending, held = [], 0
        if pending:
            yield batch_of(pending)

    def _columns(self, line: bytes) -> tuple[Any, ...]:
        _check_shape(line)
        try:
            said = _decode(line)
        except _NOT_WELL_FORMED as error:
            raise _Wrong(_explained(line, error)) from None
        self._number(said)
        said.took_ns = _duration(said)
        return msgspec.structs.astuple(said)[:-1]

    def _number(self, said: Line) -> None:
        """Without numbers of its own an operation has its line's; half of them numbered would be two ways of counting."""
        given = said.op is not None
        if self._numbered is None:
            self._numbered = given
        if given != self._numbered:
            raise _Wrong(f"op: found {'nothing' if said.op is None else said.op}, expected {_as_before(self._numbered)}")
        if said.op is None:
            said.op = self._line


def _as_before(numbered: bool) -> str:
    return "a number: the lines before have one" if numbered else "nothing: the lines before have no number"


def _duration(said: Line) -> int:
    start, end, took = said.start_ns, said.end_ns, said.took_ns
    if end is None:
        if took is None:
            raise _Wrong("end_ns: found nothing, expected `end_ns` or `took_ns`")
        return took
    if end < start:
        raise _Wrong(f"end_ns: found {end}, expected {start} (start_ns) or later: an operation that completes before it starts")
    if took is not None and start + took != end:
        raise _Wrong(f"end_ns: found {end}, expected {start + took} (start_ns + took_ns)")
    return end - start


def _check_shape(line: bytes) -> None:
    """What would cost too much to parse, and what no JSON can be."""
    if len(line) > MOST_BYTES:
        raise _Wrong(f"found more than {MOST_BYTES >> 20} MiB without an end of line, expected one operation")
    if not line.strip():
        raise _Wrong("found an empty line, expected one operation")
    if line.count(b"[") + line.count(b"{") > MOST_NESTING and _nesting(line) > MOST_NESTING:
        raise _Wrong(f"found nesting deeper than {MOST_NESTING}, expected one operation")
    if not line.isascii():
        try:
            line.decode()
        except UnicodeDecodeError as error:
            raise _Wrong(f"found {quoted_bytes(line[error.start :])}, expected UTF-8") from None


def _nesting(line: bytes) -> int:
    """How deep brackets stand in each other, outside of strings."""
    bare = line.replace(rb"\\", b"").replace(rb"\"", b"")
    letters = np.frombuffer(bare, np.uint8)
    outside = np.cumsum(letters == ord('"'), dtype=np.uint8) % 2 == 0
    opens = np.isin(letters, np.frombuffer(b"[{", np.uint8)) & outside
    closes = np.isin(letters, np.frombuffer(b"]}", np.uint8)) & outside
    depth = np.cumsum(opens.astype(np.int8) - closes.astype(np.int8), dtype=np.int32)
    return int(depth.max(initial=0))


# -- what is wrong with a line ------------------------------------------------------------------------------------------


def _explained(line: bytes, error: Exception) -> str:
    """Line by line the decoder need only be fast; here somebody wants to know."""
    try:
        raw = _decode_raw(line)
    except msgspec.ValidationError:
        return f"found {quoted_bytes(line)}, expected a JSON object"
    except _NOT_WELL_FORMED as why:
        reason = str(why).removeprefix("JSON is malformed: ")
        return f"found {quoted_bytes(line)}, expected one JSON object: {reason}"
    if "kind" not in raw and ("f" in raw or raw.get("type") == msgspec.Raw(b'"invoke"')):
        return "found a Jepsen-like operation (`f`, `type`), expected one with `kind`: this form cannot be read yet"
    for name, field in FIELDS.items():
        if name not in raw and field.required:
            return f"{name}: found nothing, expected {expected_of(name)}"
    name = _field_of(error)
    return f"{name}: found {quoted_bytes(bytes(raw.get(name, b'')))}, expected {expected_of(name)}"


def _field_of(error: Exception) -> str:
    """The decoder says `... - at `$.values[2]``."""
    found = re.search(r"`\$\.(\w+)", str(error))
    return found[1] if found else ""


def quoted_bytes(found: bytes, most: int = 48) -> str:
    """The beginning of somebody else's bytes, on one line, whatever they are."""
    return repr(found[:most].strip() + b"..." * (len(found) > most))[1:]


def expected_of(name: str) -> str:
    """What a field takes, in words: the refusal's and the documentation's."""
    return _told(name, FIELDS[name].type) if name in FIELDS else "a known field"


def _told(name: str, kind: Any) -> str:
    if isinstance(kind, msgspec.inspect.UnionType):
        return _told(name, next(each for each in kind.types if not isinstance(each, msgspec.inspect.NoneType)))
    if isinstance(kind, msgspec.inspect.IntType):
        return expected_number(name, kind.ge or 0, kind.le or GREATEST)
    if isinstance(kind, msgspec.inspect.LiteralType):
        return one_of([str(word) for word in kind.values])
    if isinstance(kind, msgspec.inspect.StrType):
        return f"a text of at most {kind.max_length} characters"
    if isinstance(kind, msgspec.inspect.ListType):
        return f"a list, each entry {_told(name, kind.item_type)}"
    return "true or false"


# -- writing ------------------------------------------------------------------------------------------------------------


def write_jsonl(table: pa.Table, where: IO[bytes]) -> None:
    """Every operation on a line, in the table's order; what is null is not written."""
    encode = msgspec.json.Encoder().encode
    for batch in table.to_batches(max_chunksize=ROWS_AT_ONCE):
        for row in batch.to_pylist():
            where.write(encode({name: value for name, value in row.items() if value is not None}) + b"\n")


assert tuple(FIELDS) == (*Row.__struct_fields__, "end_ns"), "a line has the columns of a row, in their order"
assert tuple(SCHEMA.names) == Row.__struct_fields__
