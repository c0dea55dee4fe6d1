"""Malformed histories: each sentence has a history that breaks it, and one beside it that does not."""

from __future__ import annotations

import pyarrow as pa
import pytest

from harness.run import run
from harness.worlds import schedule_of, simulated
from model import history
from model.history_checks import ROW_SENTENCES, check_rows, check_well_formed
from model.history_together import TOGETHER_SENTENCES
from model.operation import Acks, Row
from model.plan import Plan, Workload
from model.refusal import UnusableFile
from tests.model.some_history import append, end_offset, many, poll, read

NO_ACK = {"type": "info", "error": "NO_ACK", "acks": 0, "offset": None}
INFO = {"type": "info", "error": "TIMED_OUT", "offset": None}
REGISTER = {"client": "c", "topic": "t", "partition": 0, "start_ns": 0, "took_ns": 0}


def check(rows: list[Row]) -> None:
    check_well_formed(history.to_table(rows), "h")


def refused(rows: list[Row]) -> str:
    with pytest.raises(UnusableFile) as refusal:
        check(rows)
    return str(refusal.value)


ROWS: dict[str, tuple[Row, str]] = {
    "no value": (append(3, value=None), "value: found nothing, expected a number: every append has one"),
    "no topic": (read(3, topic=None), "topic: found nothing, expected a name: every read has one"),
    "no acks": (append(3, acks=None), "acks: found nothing, expected -1, 0 or 1: every append has one"),
    "no values": (read(3, values=None), "values: found nothing, expected a list of values, which may be empty: every read that"),
    "no answer": (end_offset(3, offset=None), "offset: found nothing, expected a number: every end_offset that ended ok has one"),
    "no session": (poll(3, session=None), "session: found nothing, expected a number: every poll that ended ok has one"),
    "no key": (
        Row(op=3, process=3, kind="reg_read", type="fail", **REGISTER),
        "key: found nothing, expected a number: every reg_read has one",
    ),
    "nothing to replace": (
        Row(op=3, process=3, kind="reg_cas", type="fail", key=0, value=1, **REGISTER),
        "expected: found nothing, expected a number: every reg_cas has one",
    ),
    "negative offset": (append(3, offset=-1), "offset: found -1, expected a whole number from 0 to 2^62"),
    "offset too far": (append(3, offset=2**62 + 1), f"offset: found {2**62 + 1}, expected a whole number from 0 to 2^62"),
    "negative value": (append(3, value=-7), "value: found -7, expected a whole number from 0 to 2^63 - 1"),
    "negative start": (append(3, start=-7), "start_ns: found -7, expected a whole number from 0 to 2^63 - 1"),
    "no such acks": (append(3, acks=2), "acks: found 2, expected -1, 0 or 1"),
    "before it starts": (append(3, took=-1), "took_ns: found -1, expected a whole number from 0 to 2^63 - 1: nothing completes"),
    "end beyond int64": (
        append(3, start=2**62, took=2**62),
        "took_ns: found an end beyond any clock, expected start_ns + took_ns",
    ),
    "acks=0 is never ok": (append(3, acks=0), "type: found 'ok', expected 'info': with acks=0 nobody acknowledges"),
    "ok with an error": (append(3, error="TIMED_OUT"), "error: found 'TIMED_OUT', expected nothing: the operation ended ok"),
    "read info": (read(3, type="info"), "type: found 'info', expected 'fail': a read without an answer changed nothing"),
    "end info": (end_offset(3, type="info"), "type: found 'info', expected 'fail': an end_offset without an answer"),
    "offsets": (read(3, values=[1, 2], offsets=[1]), "offsets: found 1 entry, expected 2, one for each of `values`"),
    "epochs": (read(3, values=[1], epochs=[1, 1]), "epochs: found 2 entries, expected 1, one for each of `values`"),
    "no values for epochs": (
        read(3, type="fail", values=None, epochs=[]),
        "epochs: found 0 entries, expected nothing: there are",
    ),
    "negative entry": (read(3, values=[5, -6]), "values: found -6, expected entries from 0 to 2^63 - 1"),
    "poll from nowhere": (
        poll(3, values=[5]),
        "base_offset: found nothing, expected the offset of the first value, or `offsets`",
    ),
}


@pytest.mark.parametrize("wrong", ROWS)
def test_a_malformed_row_is_refused_by_place_field_finding_and_expectation(wrong: str) -> None:
    """In one line, whatever stands around it."""
    row, told = ROWS[wrong]
    said = refused([append(0), read(1), append(2), row, append(4)])
    assert said.startswith(f"h, row 3, op 3: {told}")
    assert "\n" not in said


FINE: dict[str, list[Row]] = {
    "nothing at all": [],
    "a failed read has no values": [read(0, type="fail", error="TIMED_OUT", values=None)],
    "a failed poll has no session": [poll(0, type="fail", error="TIMED_OUT", values=None, session=None)],
    "an empty poll needs no offset": [poll(0)],
    "a poll with offsets": [poll(0, values=[5, 7], offsets=[2, 4])],
    "an ack without an offset": [append(0, offset=None)],
    "a register that was never written": [Row(op=0, process=0, kind="reg_read", type="ok", key=4, **REGISTER)],
    "init has no topic": [Row(op=0, process=0, client="c", kind="init", type="ok", producer_id=5, start_ns=0, took_ns=0)],
    "the greatest numbers": [append(0, offset=2**62, value=2**63 - 1, start=2**63 - 2, took=0)],
    "acks=0 without an answer": [append(0, **NO_ACK)],
    "appends in flight together": [append(0, process=0, took=9), append(1, process=0, start=1)],
    "touching operations": [read(0, process=0, took=5), read(1, process=0, start=5), read(2, process=0, start=6, took=0)],
    "rows of one poll": [poll(0, process=0, took=5), poll(1, process=0, took=5, partition=1)],
    "one value in two partitions": [append(0, value=5), append(1, value=5, partition=1)],
    "one value in two topics": [append(0, value=5), append(1, value=5, topic="u")],
    "a value that is read often": [append(0, value=5), read(1, values=[5]), read(2, values=[5, 5])],
    "the last words of a process": [append(0, process=7, took=9, **INFO), append(1, process=7, start=9)],
    "acks=0 goes on": [append(0, process=7, **NO_ACK), append(1, process=7, start=5)],
    "after a failure": [append(0, process=7, type="fail", error="NOT_SENT", offset=None), append(1, process=7, start=5)],
}


@pytest.mark.parametrize("name", FINE)
def test_what_is_merely_strange_is_well_formed(name: str) -> None:
    """It is for checkers to say what it means."""
    check(FINE[name])


TOGETHER: dict[str, tuple[list[Row], str]] = {
    "op": ([append(0), append(1), append(0, value=9)], "h, row 2, op 0: op: found 0, expected a number that no other"),
    "value": (
        [append(0, value=5), read(1), append(2, value=6), append(3, value=5)],
        "h, row 3, op 3: value: found 5, expected a value that no other append to this partition has (h, row 0)",
    ),
    "two reads": (
        [read(0, took=9, process=4), read(1, process=5), read(2, start=8, process=4)],
        "h, row 2, op 2: start_ns: found 8 (process 4), expected a start after its process's earlier operations ended (h, row 0)",
    ),
    "a read during an append": (
        [append(0, took=9, process=4), read(1, start=8, process=4)],
        "h, row 1, op 1: start_ns: found 8 (process 4), expected a start after",
    ),
    "an append during a read": (
        [read(0, took=9, process=4), append(1, start=3, process=4), append(2, start=5, process=4)],
        "h, row 1, op 1: start_ns: found 3 (process 4), expected a start after",
    ),
    "the long one is not the last": (
        [append(0, took=99, process=4), append(1, start=3, process=4), end_offset(2, start=50, process=4)],
        "h, row 2, op 2: start_ns: found 50 (process 4), expected a start after its process's earlier operations ended (h, row 0",
    ),
    "rows of two polls": (
        [poll(0, process=0, took=5), poll(1, process=0, took=6, partition=1)],
        "h, row 1, op 1: start_ns: found 0 (process 0), expected a start after",
    ),
    "after info": (
        [append(0, process=7, **INFO), append(1, process=8), read(2, process=7, start=5)],
        "h, row 2, op 2: start_ns: found 5 (process 7), expected no operation of a process after its `info`",
    ),
}


@pytest.mark.parametrize("wrong", TOGETHER)
def test_rows_that_contradict_each_other_are_refused_with_both_places(wrong: str) -> None:
    """The later one is refused; each of them alone would be well formed."""
    rows, told = TOGETHER[wrong]
    assert refused(rows).startswith(told)
    for row in rows:
        check([row])


def test_the_first_malformed_row_is_the_one_that_is_told() -> None:
    """Not the first sentence's."""
    assert refused([append(0), append(1, acks=0), append(2, value=None)]).startswith("h, row 1, op 1: type")
    assert refused([append(0), append(0), append(2, value=0)]).startswith("h, row 1, op 0")


def test_row_order_changes_nothing_but_which_row_is_told() -> None:
    """Processes are followed in the order of their time, not of the table."""
    rows, _ = TOGETHER["after info"]
    assert refused(rows[::-1]).startswith("h, row 0, op 2: start_ns: found 5")
    check(many(300)[::-1])


def test_a_piece_of_a_history_is_named_by_whoever_knows_where_it_lies() -> None:
    """So that a stream can be refused where it goes wrong."""
    with pytest.raises(UnusableFile, match=r"^line 1002, op 1: acks"):
        check_rows(history.to_table([append(0), append(1, acks=9)]), lambda row: f"line {row + 1001}")


@pytest.mark.parametrize("column", ["op", "process", "client", "kind", "type", "start_ns", "took_ns", "final"])
def test_what_must_be_there_is_there(column: str) -> None:
    """Arrow's `nullable` is a remark; nothing holds it."""
    table = history.to_table([append(0), append(1)])
    kind = table.schema.field(column).type
    holed = pa.array([table.column(column)[0].as_py(), None], kind.value_type if pa.types.is_dictionary(kind) else kind)
    loose = table.set_column(table.schema.get_field_index(column), column, holed)
    with pytest.raises(UnusableFile, match=f"row 1.*: {column}: found nothing, expected something in every row"):
        check_well_formed(history.conform(loose), "h")


@pytest.mark.parametrize(("column", "allowed"), [("kind", "append, read"), ("type", "ok, fail or info")])
def test_words_that_nobody_knows_are_quoted(column: str, allowed: str) -> None:
    """Short, and without anything that moves a terminal."""
    table = history.to_table([append(0)])
    strange = table.set_column(table.schema.get_field_index(column), column, pa.array(["\x1b[2J" + "x" * 999]))
    with pytest.raises(UnusableFile, match=allowed) as refusal:
        check_well_formed(history.conform(strange), "h")
    assert str(refusal.value).isprintable()
    assert len(str(refusal.value)) < 300


@pytest.mark.parametrize("acks", [-1, 0, 1])
def test_no_history_of_ours_is_malformed(acks: Acks) -> None:
    """Of real runs, under random faults, in the order they came and in the order of the file."""
    endings = set()
    for seed in range(1, 5):
        plan = Plan(tidemark=1, seed=seed, workload=Workload(acks=acks))
        recorded = run(plan, schedule_of(plan), simulated(plan))
        endings |= {row.type for row in recorded.rows}
        check(recorded.rows)
        check_well_formed(history.sorted_table(history.to_table(recorded.rows)), "h")
    assert endings == {"ok", "fail", "info"}


def test_every_sentence_is_said_here() -> None:
    """A sentence that refuses none of these histories has no test."""
    from model.history_rows import Rows

    told = [history.to_table([row]) for row, _ in ROWS.values()] + [history.to_table(rows) for rows, _ in TOGETHER.values()]
    silent = []
    for sentence in (*ROW_SENTENCES, *TOGETHER_SENTENCES):
        tables = told[len(ROWS) :] if sentence in TOGETHER_SENTENCES else told[: len(ROWS)]
        if not any(list(sentence(Rows(table))) for table in tables):
            silent.append(sentence.__name__)
    assert silent == ["_always_there", "_known_words"]  # rows of ours cannot break these two: their tests build tables
