"""model/history_checks.py: what a history may not say although every column has its type (CHECKERS 1.2, 1.3, 2.3, 2.4).

In   a table of the canonical schema, from whoever wrote it; how to name one of its rows
Out  nothing; or the one refusal of its first malformed row: place, field, what was found, what was expected
Each function is one sentence about histories. ROW_SENTENCES look at each row alone, so that a stream can be refused where it goes
wrong; TOGETHER_SENTENCES are about rows beside each other (model/history_together.py) and need all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from model.history import SCHEMA
from model.history_rows import Mask, Rows
from model.history_together import TOGETHER_SENTENCES, Fault
from model.operation import KINDS, TYPES, WRITES, Kind
from model.refusal import UnusableFile

Place = Callable[[int], str]
"""How people find a row: `h.jsonl, line 18`."""

GREATEST = 2**63 - 1
GREATEST_OFFSET = 2**62  # beyond it the end of a log could no longer be counted
_SHORT = 48
_OFFSETS = ("offset", "from_offset", "base_offset")
_LISTS = ("values", "offsets", "epochs")
_PER_VALUE = ("offsets", "epochs")
_NUMBERS = tuple(f.name for f in SCHEMA if pa.types.is_integer(f.type) and f.name not in ("acks", *_OFFSETS))

REQUIRED: Mapping[Kind, tuple[str, ...]] = {
    "append": ("topic", "partition", "value", "acks"),
    "read": ("topic", "partition", "from_offset"),
    "end_offset": ("topic", "partition"),
    "start_offset": ("topic", "partition"),
    "poll": ("topic", "partition"),
    "assign": ("topic", "partition"),
    "init": (),
    "reg_write": ("topic", "partition", "key", "value"),
    "reg_read": ("topic", "partition", "key"),
    "reg_cas": ("topic", "partition", "key", "value", "expected"),
}
"""What every operation of a kind has, however it ended."""

REQUIRED_OF_OK: Mapping[Kind, tuple[str, ...]] = {
    "read": ("values",),
    "poll": ("values", "session"),
    "assign": ("session",),
    "end_offset": ("offset",),
    "start_offset": ("offset",),
}
"""What it has as well when it ended ok."""


def check_well_formed(table: pa.Table, name: str) -> None:
    """Every sentence there is, about a whole history. `name` is what a refusal calls it; rows count from 0."""

    def place(row: int) -> str:
        return f"{name}, row {row}"

    check_rows(table, place)
    check_together(table, place)


def check_rows(table: pa.Table, place: Place) -> None:
    """The sentences about each row alone; the table may be a piece of a history."""
    rows = Rows(table)
    _refuse_first(rows, (fault for sentence in ROW_SENTENCES for fault in sentence(rows)), place)


def check_together(table: pa.Table, place: Place) -> None:
    """The sentences about rows beside each other, of a history whose rows are well formed."""
    rows = Rows(table)
    _refuse_first(rows, (fault for sentence in TOGETHER_SENTENCES for fault in sentence(rows)), place)


def _refuse_first(rows: Rows, faults: Iterable[Fault], place: Place) -> None:
    first = min(faults, key=lambda fault: fault.row, default=None)
    if first is None:
        return
    op = rows.value("op", first.row)
    named = place(first.row) if op is None else f"{place(first.row)}, op {op}"
    beside = "" if first.beside is None else f" ({place(first.beside)})"
    raise UnusableFile(f"{first.field}: found {first.found}, expected {first.expected}{beside}", where=named)


# -- each row alone ---------------------------------------------------------------------------------------------------


def _always_there(rows: Rows) -> Iterator[Fault]:
    for field in SCHEMA:
        if not field.nullable and rows.table.column(field.name).null_count:
            yield from _first(rows.missing(field.name), field.name, "nothing", "something in every row")


def _known_words(rows: Rows) -> Iterator[Fault]:
    for field, known in (("kind", KINDS), ("type", TYPES)):
        for word in dict.fromkeys(rows.words(field)):
            if word not in known:
                yield from _first(rows.is_word(field, word), field, quoted(word), one_of(known))


def _numbers_in_range(rows: Rows) -> Iterator[Fault]:
    for field, least, greatest in (
        *((name, 0, GREATEST) for name in _NUMBERS),
        *((name, 0, GREATEST_OFFSET) for name in _OFFSETS),
        ("acks", -1, 1),
    ):
        wrong = rows.outside(field, least, greatest)
        if wrong is not None:
            for fault in _first(wrong, field, "", expected_number(field, least, greatest)):
                yield msgspec.structs.replace(fault, found=str(rows.value(field, fault.row)))


def _times_can_be_added(rows: Rows) -> Iterator[Fault]:
    start, took = rows.numbers("start_ns"), rows.numbers("took_ns")
    late = (start >= 0) & (took >= 0) & (took > GREATEST - 1 - start)
    yield from _first(late, "took_ns", "an end beyond any clock", "start_ns + took_ns to be an int64")


def _required_of_its_kind(rows: Rows) -> Iterator[Fault]:
    ok = rows.is_word("type", "ok")
    for kind in KINDS:
        mine = rows.is_word("kind", kind)
        if not mine.any():
            continue
        for field in REQUIRED[kind]:
            yield from _absent(rows, mine, field, f"every {kind} has one")
        for field in REQUIRED_OF_OK.get(kind, ()):
            yield from _absent(rows, mine & ok, field, f"every {kind} that ended ok has one")


def _ok_has_no_error(rows: Rows) -> Iterator[Fault]:
    if not rows.unused("error"):
        with_error = rows.is_word("type", "ok") & ~rows.missing("error")
        for fault in _first(with_error, "error", "", "nothing: the operation ended ok"):
            yield msgspec.structs.replace(fault, found=quoted(rows.value("error", fault.row)))


def _only_writes_stay_unknown(rows: Rows) -> Iterator[Fault]:
    """2.3 Reads change nothing, so they are never info."""
    wrong = rows.is_word("type", "info") & ~rows.is_word("kind", *WRITES)
    for fault in _first(wrong, "type", "'info'", ""):
        kind = rows.value("kind", fault.row)
        yield msgspec.structs.replace(fault, expected=f"'fail': {_a(kind)} without an answer changed nothing")


def _acks_0_is_never_ok(rows: Rows) -> Iterator[Fault]:
    if not rows.unused("acks"):
        acked = (rows.numbers("acks") == 0) & ~rows.missing("acks")
        wrong = acked & rows.is_word("kind", "append") & rows.is_word("type", "ok")
        yield from _first(wrong, "type", "'ok'", "'info': with acks=0 nobody acknowledges")


def _one_entry_per_value(rows: Rows) -> Iterator[Fault]:
    for field in _PER_VALUE:
        if rows.unused(field):
            continue
        lengths, values = rows.lengths(field), rows.lengths("values")
        for fault in _first((lengths >= 0) & (lengths != values), field, "", ""):
            found, wanted = int(lengths[fault.row]), int(values[fault.row])
            expected = "nothing: there are no values" if wanted < 0 else f"{wanted}, one for each of `values`"
            yield msgspec.structs.replace(fault, found=_entries(found), expected=expected)


def _entries_in_range(rows: Rows) -> Iterator[Fault]:
    for field in _LISTS:
        if rows.unused(field):
            continue
        greatest = GREATEST_OFFSET if field == "offsets" else GREATEST
        entries = rows.flat(field)
        wrong = pc.fill_null(pc.or_(pc.less(entries, 0), pc.greater(entries, greatest)), True)
        first = pc.index(wrong, True).as_py()
        if first >= 0:
            found = entries[first].as_py()
            expected = f"entries from 0 to {written(greatest)}"
            yield Fault(rows.row_of_entry(field, first), field, "null" if found is None else str(found), expected)


def _values_have_offsets(rows: Rows) -> Iterator[Fault]:
    """A poll may begin anywhere; a read says where (from_offset is required)."""
    wrong = (rows.lengths("values") > 0) & rows.is_word("kind", "poll") & rows.is_word("type", "ok")
    if wrong.any():
        for field in ("base_offset", "offsets", "from_offset"):
            wrong = wrong & rows.missing(field)
        yield from _first(wrong, "base_offset", "nothing", "the offset of the first value, or `offsets`, or `from_offset`")


ROW_SENTENCES: tuple[Callable[[Rows], Iterator[Fault]], ...] = (
    _always_there,
    _known_words,
    _numbers_in_range,
    _times_can_be_added,
    _required_of_its_kind,
    _ok_has_no_error,
    _only_writes_stay_unknown,
    _acks_0_is_never_ok,
    _one_entry_per_value,
    _entries_in_range,
    _values_have_offsets,
)


def _first(wrong: Mask, field: str, found: str, expected: str) -> Iterator[Fault]:
    if wrong.any():
        yield Fault(int(wrong.argmax()), field, found, expected)


def _absent(rows: Rows, where: Mask, field: str, why: str) -> Iterator[Fault]:
    if rows.table.column(field).null_count:
        yield from _first(where & rows.missing(field), field, "nothing", f"{_MEANT.get(field, 'a number')}: {why}")


_MEANT = {"topic": "a name", "values": "a list of values, which may be empty", "acks": "-1, 0 or 1"}


# -- words for both forms of a history ----------------------------------------------------------------------------------


def expected_number(field: str, least: int, greatest: int) -> str:
    """What a column of numbers takes, in words."""
    if field == "acks":
        return "-1, 0 or 1"
    told = f"a whole number from {least} to {written(greatest)}"
    return f"{told}: nothing completes before it starts" if field == "took_ns" else told


def written(number: int) -> str:
    """Powers of two as such: nobody recognises 9223372036854775807."""
    power = number.bit_length()
    if number > 2**15 and number == 2**power - 1:
        return f"2^{power} - 1"
    return f"2^{power - 1}" if number > 2**15 and number == 2 ** (power - 1) else str(number)


def one_of(words: Sequence[str]) -> str:
    return " or ".join((", ".join(words[:-1]), words[-1])) if len(words) > 1 else words[0]


def quoted(word: object) -> str:
    """Somebody else's text: short, and nothing in it that moves a terminal."""
    text = str(word)
    return ascii(text if len(text) <= _SHORT else text[:_SHORT] + "...")


def _a(word: str) -> str:
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count} entries"
