"""tests/checkers/injected.py: long histories with one thing wrong, and the name under which it must be found.

In     a long history that is right (long_histories.py), a seeded `random.Random`
Out    `spliced`: a worked example goes on where a long history ended: its offsets, times, processes and values follow
       `INJECTIONS`: by the anomaly that must then be found, what to do to a long history; None where it offers no place for it
Keeps  a history that was given is left as it was. More anomalies may follow from one wrong thing; the named one must be there
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from model.operation import Row
from tests.checkers.long_histories import Long
from tests.checkers.notation import rows

Wrong = Callable[[random.Random, list[Row]], list[Row] | None]


def copied(history: Sequence[Row]) -> list[Row]:
    return [msgspec.structs.replace(row) for row in history]


def numbered(history: Sequence[Row]) -> list[Row]:
    """In order of invocation, as `op` wants it (1.1)."""
    ordered = sorted(copied(history), key=lambda row: (row.start_ns, row.op))
    for op, row in enumerate(ordered):
        row.op = op
    return ordered


# -- a worked example behind a long history ------------------------------------------------------------------------------------


def spliced(long: Long, text: str, attempts: int | None = 1) -> list[Row]:
    """`long` has had no final read, and every write of it is known: nothing of it can explain what the example shows.

    If the example has a final read, then so has the whole: what closed the long history is read once more when it begins.
    """
    example = rows(text, attempts=attempts)
    closing = [row for row in long.rows if row.kind == "read" and row.process == long.rows[-1].process]
    beginning = min((row.start_ns for row in example if row.final), default=0)
    whole = copied(long.rows)
    if any(row.final for row in example):
        for row in copied(closing):
            row.final, row.process, row.start_ns, row.took_ns = True, row.process + 1, long.end_ns + beginning, 0
            row.at_end = False  # the example has grown it since
            whole.append(row)
    for row in example:
        whole.append(_behind(row, long))
    for op, row in enumerate(whole):  # the example's operations keep their order
        row.op = op
    return whole


def _behind(row: Row, long: Long) -> Row:
    """An operation of the example, as it would look behind a log that is as long as this."""

    def moved(offset: int | None) -> int | None:
        return None if offset is None else offset + long.length

    return msgspec.structs.replace(
        row,
        start_ns=row.start_ns + long.end_ns,
        process=row.process + long.processes + 1,
        offset=moved(row.offset),
        from_offset=moved(row.from_offset),
        base_offset=moved(row.base_offset),
        offsets=None if row.offsets is None else [offset + long.length for offset in row.offsets],
        batch=None if row.batch is None else row.batch + len(long.rows),
        producer_id=None if row.producer_id is None else row.producer_id + long.processes,
    )


# -- one wrong thing in the middle ---------------------------------------------------------------------------------------------


def _offsets(row: Row) -> list[int]:
    first = row.from_offset or 0
    return list(row.offsets or range(first, first + len(row.values or [])))


def _show(row: Row, records: Sequence[tuple[int, int, int]]) -> None:
    """Offset, value and batch epoch of each; offsets are named, since some may be missing."""
    row.offsets, row.values = [record[0] for record in records] or None, [record[1] for record in records]
    row.epochs = [record[2] for record in records]


def _records(row: Row) -> list[tuple[int, int, int]]:
    return list(zip(_offsets(row), row.values or [], row.epochs or [], strict=True))


def _answers(history: Sequence[Row]) -> Iterator[Row]:
    return (row for row in history if row.type == "ok" and row.kind in ("read", "poll"))


def _end(row: Row) -> int:
    return row.start_ns + row.took_ns


def _acknowledged(history: Sequence[Row]) -> list[Row]:
    return [row for row in history if row.kind == "append" and row.type == "ok" and row.acks == -1 and not row.idempotent]


def _proved_before(history: Sequence[Row], moment: int) -> int:
    """The greatest length that anybody had proved by then."""
    ended = [row for row in history if row.type == "ok" and _end(row) < moment]
    acked = [row.offset + 1 for row in ended if row.kind == "append" and row.acks == -1 and row.offset is not None]
    told = [row.offset for row in ended if row.kind == "end_offset" and row.offset is not None]
    return max([0, *acked, *told, *(offset + 1 for row in _answers(ended) for offset in _offsets(row))])


def _lose_a_write(rng: random.Random, history: list[Row]) -> list[Row] | None:
    """Its record is gone from every answer."""
    inside = _inside(history)
    candidates = [row.value for row in _acknowledged(history) if row.value in inside]
    return _hide(history, rng.choice(candidates), _anywhere) if candidates else None


def _make_a_record_vanish(rng: random.Random, history: list[Row]) -> list[Row] | None:
    """It was read once, and by nobody who began later."""
    inside = _inside(history)
    seen = [(row, value) for row in _answers(history) if not row.final for value in row.values or [] if value in inside]
    if not seen:
        return None
    first, value = rng.choice(seen)
    return _hide(history, value, lambda row: row.start_ns > _end(first))


def _inside(history: Sequence[Row]) -> set[int]:
    """What a final read shows between other records, so that it still reaches as far without it."""
    return {value for row in _answers(history) if row.final for value in list(row.values or [])[1:-1]}


def _anywhere(row: Row) -> bool:
    return True


def _hide(history: list[Row], value: int | None, where: Callable[[Row], bool]) -> list[Row]:
    for row in _answers(history):
        if where(row) and value in (row.values or []):
            _show(row, [record for record in _records(row) if record[1] != value])
    return history


def _write_twice(rng: random.Random, history: list[Row]) -> list[Row] | None:
    """One write's record stands where an uncertain one's did."""
    uncertain = {row.value for row in history if row.kind == "append" and row.type == "info"}
    shown = [value for row in _answers(history) if row.final for value in row.values or [] if value in uncertain]
    if not shown:
        return None
    other, again = rng.choice(shown), rng.choice(_acknowledged(history)).value
    for row in _answers(history):
        row.values = [again if value == other else value for value in row.values or []]  # type: ignore[misc]
    return history


def _answer_something_else(rng: random.Random, history: list[Row]) -> list[Row] | None:
    """Another record's value, in one answer of those that others gave, too."""
    row = rng.choice([row for row in _answers(history) if row.values and not row.final] or [None])
    if row is None:
        return None
    elsewhere = [append.value for append in _acknowledged(history) if append.value not in (row.values or [])]
    _replace_one(rng, row, rng.choice(elsewhere))
    return history


def _replace_one(rng: random.Random, row: Row, value: int | None) -> None:
    assert value is not None
    values = list(row.values or [])
    values[rng.randrange(len(values))] = value
    row.values = values


def _read_what_nobody_wrote(rng: random.Random, history: list[Row]) -> list[Row] | None:
    _replace_one(rng, rng.choice([row for row in _answers(history) if row.values]), 7)
    return history


def _refuse_what_was_read(rng: random.Random, history: list[Row]) -> list[Row] | None:
    row = rng.choice(_acknowledged(history))
    row.type, row.error, row.offset = "fail", "NOT_ENOUGH_REPLICAS", None
    return history


def _leave_out_of_a_range(rng: random.Random, history: list[Row]) -> list[Row] | None:
    row = rng.choice([row for row in _answers(history) if row.kind == "read" and len(row.values or []) > 2] or [None])
    if row is None:
        return None
    records = _records(row)
    del records[rng.randrange(1, len(records) - 1)]
    _show(row, records)
    return history


def _tell_an_old_end(rng: random.Random, history: list[Row]) -> list[Row] | None:
    told = [row for row in history if row.kind == "end_offset" and not row.final and _proved_before(history, row.start_ns)]
    if not told:
        return None
    row = rng.choice(told)
    row.offset = rng.randrange(_proved_before(history, row.start_ns))
    return history


def _read_an_old_end(rng: random.Random, history: list[Row]) -> list[Row] | None:
    reads = [row for row in history if row.kind == "read" and not row.final and _proved_before(history, row.start_ns)]
    if not reads:
        return None
    row = rng.choice(reads)
    row.from_offset = rng.randrange(_proved_before(history, row.start_ns))
    row.values, row.offsets, row.epochs, row.at_end = [], None, [], True
    return history


def _go_back_inside_a_poll(rng: random.Random, history: list[Row]) -> list[Row] | None:
    row = rng.choice([row for row in history if row.kind == "poll" and len(row.values or []) > 1] or [None])
    if row is None:
        return None
    _show(row, _records(row)[::-1])
    return history


def _leave_out_of_a_poll(rng: random.Random, history: list[Row]) -> list[Row] | None:
    row = rng.choice([row for row in history if row.kind == "poll" and len(row.values or []) > 2] or [None])
    if row is None:
        return None
    records = _records(row)
    del records[rng.randrange(1, len(records) - 1)]
    _show(row, records)
    return history


def _poll_again(rng: random.Random, history: list[Row]) -> list[Row] | None:
    """The second of two polls of one session brings once more what the first brought."""
    pairs = list(_consecutive_polls(history))
    if not pairs:
        return None
    first, second = rng.choice(pairs)
    _show(second, _records(first))
    return history


def _poll_past_a_record(rng: random.Random, history: list[Row]) -> list[Row] | None:
    pairs = [pair for pair in _consecutive_polls(history) if len(pair[1].values or []) > 1]
    if not pairs:
        return None
    _, second = rng.choice(pairs)
    _show(second, _records(second)[1:])
    return history


def _consecutive_polls(history: Sequence[Row]) -> Iterator[tuple[Row, Row]]:
    last: dict[tuple[int, int | None], Row] = {}
    for row in sorted(history, key=lambda row: row.start_ns):
        if row.kind == "poll" and row.values:
            session = row.process, row.session
            if session in last:
                yield last[session], row
            last[session] = row


def _refuse_a_position(rng: random.Random, history: list[Row]) -> list[Row] | None:
    reads = [row for row in history if row.kind == "read" and not row.final and _proved_before(history, row.start_ns)]
    if not reads:
        return None
    row = rng.choice(reads)
    row.from_offset = rng.randrange(_proved_before(history, row.start_ns))
    row.type, row.error, row.node = "fail", "OFFSET_OUT_OF_RANGE", 1
    row.values = row.offsets = row.epochs = row.at_end = row.leader_epoch = None
    return history


def _skip_a_sequence(rng: random.Random, history: list[Row]) -> list[Row] | None:
    """Everything of one session from some record on counts one too far."""
    return _renumber(rng, history, lambda sequence: sequence + 1)


def _repeat_older_sequences(rng: random.Random, history: list[Row]) -> list[Row] | None:
    return _renumber(rng, history, lambda sequence: sequence - 2**20)


def _renumber(rng: random.Random, history: list[Row], change: Callable[[int], int]) -> list[Row] | None:
    """Of a record that is in the log and follows another one there, and of all after it."""
    known = {value for row in _answers(history) for value in row.values or []}
    later = [row for row in history if row.sequence and row.value in known and row.type == "ok"]
    if not later:
        return None
    chosen = rng.choice(later)
    for row in history:
        if row.producer_id == chosen.producer_id and row.sequence is not None:
            row.sequence += 2**20  # far from the end of the numbers
    at = chosen.sequence or 0
    for row in history:
        if row.producer_id == chosen.producer_id and (row.sequence or 0) >= at:
            row.sequence = change(row.sequence or 0)
    return history


def _tear_a_batch(rng: random.Random, history: list[Row]) -> list[Row] | None:
    """Two records that lie apart were one batch."""
    appends = _acknowledged(history)
    one = rng.choice(appends)
    apart = [row for row in appends if abs((row.offset or 0) - (one.offset or 0)) > 3]
    if not apart:
        return None
    other = rng.choice(apart)
    one.batch = other.batch = max(row.batch or 0 for row in history) + 1
    other.process, other.start_ns, other.took_ns = one.process, one.start_ns, one.took_ns
    return history


INJECTIONS: Final[Mapping[str, Wrong]] = {
    "lost_write": _lose_a_write,
    "vanished_read": _make_a_record_vanish,
    "duplicate": _write_twice,
    "inconsistent_offset": _answer_something_else,
    "phantom": _read_what_nobody_wrote,
    "aborted_read": _refuse_what_was_read,
    "read_gap": _leave_out_of_a_range,
    "stale_end_offset": _tell_an_old_end,
    "stale_read": _read_an_old_end,
    "int_nonmonotonic_poll": _go_back_inside_a_poll,
    "int_poll_skip": _leave_out_of_a_poll,
    "nonmonotonic_poll": _poll_again,
    "poll_skip": _poll_past_a_record,
    "refused_position": _refuse_a_position,
    "sequence_gap": _skip_a_sequence,
    "sequence_reorder": _repeat_older_sequences,
    "torn_batch": _tear_a_batch,
}
