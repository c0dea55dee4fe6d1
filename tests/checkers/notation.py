"""tests/checkers/notation.py: histories as people write them: `A1@0 0-1; E0 2-3` (CHECKERS 8.1).

In     one text per partition: `[process:]operation start-end`, separated by `;`. No process: a process of its own. No end: info
Out    `rows`: rows of model/operation.py, numbered from 1 in the order of the text; `table`: the same as an Arrow table;
       `spell`: rows as text again, so that a failing test prints what it was about
Keeps  every form of 8.1, and two that it lacks: `[A1@0 A2@2] 0-1` are appends of one batch; a batch epoch (`A1@0/1`) is shown by
       the reads of the text, if they returned nothing whose epoch nobody says, else by one more read behind everything else. That
       read contradicts nobody: it begins after all others ended and is not at the end, so it proves too late and denies nothing
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa

from model.history import to_table
from model.operation import Acks, Row

TICK_NS: Final = 1_000_000
TOPIC: Final = "t"
_ACKS: dict[str, Acks] = {"A": -1, "a": 1, "z": 0}
_PRODUCER: Final = 1_000

_OPERATION = re.compile(r"(?:(?P<process>[a-z]+):)?(?P<what>\[[^]]+\]|\S+) +(?P<start>\d+)-(?P<end>\d*)")
_APPEND = re.compile(r"(?P<acks>[Aaz])(?P<value>\d+)(?P<how>[?!]|@-|@\d+)(?:#(?P<sequence>\d+))?(?:/(?P<epoch>\d+))?")
_READ = re.compile(r"(?P<letter>[RF])(?P<at>\d+)=(?P<answer>oor|[\d:,]*)(?P<at_end>\.?)(?:/(?P<epoch>\d+))?")
_END = re.compile(r"E(?P<offset>\d+)(?:/(?P<epoch>\d+))?")
_POLL = re.compile(r"P=(?P<answer>[\d:,]+)")
_SESSION = re.compile(r"S(?P<offset>\d+)")


def table(*texts: str, attempts: int | None = 1) -> pa.Table:
    return to_table(rows(*texts, attempts=attempts))


def rows(*texts: str, attempts: int | None = 1) -> list[Row]:
    """The i-th text is partition i. `attempts`: what every append says of itself; 1 = never sent again."""
    reader = _Reader(attempts)
    for partition, text in enumerate(texts):
        for operation in text.split(";"):
            reader.read(operation.strip(), partition)
    reader.show_epochs()
    return reader.rows


class _Reader:
    """Reads one history; knows its processes, their sessions, and the batch epochs that somebody must show."""

    def __init__(self, attempts: int | None) -> None:
        self.rows: list[Row] = []
        self._attempts = attempts
        self._processes: dict[str, int] = {}
        self._sessions: dict[int, int] = {}
        self._batches = 0
        self._epochs: dict[int, tuple[int, int, int]] = {}  # of a value: its batch epoch, partition and offset

    def read(self, text: str, partition: int) -> None:
        found = _OPERATION.fullmatch(text)
        if not found:
            raise ValueError(f"not an operation: {text!r}")
        name = found["process"] or f"of its own {len(self._processes)}"
        process = self._processes.setdefault(name, len(self._processes))
        start = int(found["start"]) * TICK_NS
        end = int(found["end"] or int(found["start"]) + 1) * TICK_NS
        what = found["what"]
        if what.startswith("["):
            self._batches += 1
        for each in what.strip("[]").split():
            row = self._row(each, process, start, end)
            row.partition, row.batch = partition, self._batches if what.startswith("[") else None
            self.rows.append(row)
            if row.type == "info" and found["end"]:
                raise ValueError(f"info has no end: {text!r}")

    def _row(self, what: str, process: int, start: int, end: int) -> Row:
        row = Row(
            op=len(self.rows) + 1,
            process=process,
            client=f"raw-{process}",
            node=1,
            kind="append",
            type="ok",
            topic=TOPIC,
            start_ns=start,
            took_ns=end - start,
        )
        for form, fill in ((_APPEND, self._append), (_READ, self._range), (_END, self._end), (_POLL, self._poll)):
            if found := form.fullmatch(what):
                fill(row, found)
                return row
        if found := _SESSION.fullmatch(what):
            self._assign(row, found)
            return row
        raise ValueError(f"not an operation: {what!r}")

    def _append(self, row: Row, found: re.Match[str]) -> None:
        row.value, row.acks, row.attempts = int(found["value"]), _ACKS[found["acks"]], self._attempts
        how = found["how"]
        if how == "?":
            row.type, row.error, row.node = "info", "NO_ACK" if row.acks == 0 else "TIMED_OUT", None
        elif how == "!":
            row.type, row.error = "fail", "NOT_ENOUGH_REPLICAS"
        elif how != "@-":
            row.offset = int(how[1:])
        row.idempotent = found["sequence"] is not None
        if row.idempotent:
            row.producer_id, row.producer_epoch, row.sequence = _PRODUCER + row.process, 0, int(found["sequence"])
        if found["epoch"]:
            if row.offset is None:
                raise ValueError(f"a batch epoch needs an offset to be read at: {found[0]!r}")
            self._epochs[row.value] = int(found["epoch"]), 0, row.offset

    def _range(self, row: Row, found: re.Match[str]) -> None:
        row.kind, row.from_offset, row.max_records, row.final = "read", int(found["at"]), 1_000, found["letter"] == "F"
        row.leader_epoch = int(found["epoch"]) if found["epoch"] else None
        if found["answer"] == "oor":
            row.type, row.error = "fail", "OFFSET_OUT_OF_RANGE"
            return
        row.at_end = bool(found["at_end"])
        _answer(row, found["answer"])

    def _end(self, row: Row, found: re.Match[str]) -> None:
        row.kind, row.offset = "end_offset", int(found["offset"])
        row.leader_epoch = int(found["epoch"]) if found["epoch"] else None

    def _poll(self, row: Row, found: re.Match[str]) -> None:
        row.kind, row.session = "poll", self._sessions.get(row.process, 0)
        _answer(row, found["answer"])

    def _assign(self, row: Row, found: re.Match[str]) -> None:
        row.kind, row.offset = "assign", int(found["offset"])
        row.session = self._sessions[row.process] = self._sessions.get(row.process, 0) + 1

    def show_epochs(self) -> None:
        """Batch epochs are found by reads: by those of the text, where they say everything about a read, else by one more."""
        if not self._epochs:
            return
        shown: set[int] = set()
        for row in self.rows:
            if row.values and all(value in self._epochs for value in row.values):
                row.epochs = [self._epochs[value][0] for value in row.values]
                shown.update(row.values)
        behind = max(row.start_ns + row.took_ns for row in self.rows) + TICK_NS
        for append in [row for row in self.rows if row.kind == "append" and row.value in self._epochs]:
            if append.value in shown:
                continue
            row = self._row(f"R{append.offset}={append.value}", len(self._processes), behind, behind + TICK_NS)
            assert append.value is not None
            row.partition, row.epochs, row.node = append.partition, [self._epochs[append.value][0]], None
            self.rows.append(row)


def _answer(row: Row, answer: str) -> None:
    records = [record.split(":") for record in answer.split(",") if record]
    row.values = [int(record[-1]) for record in records]
    if records and len(records[0]) == 2:
        row.offsets = [int(record[0]) for record in records]


# -- and back -----------------------------------------------------------------------------------------------------------------


def spell(history: Sequence[Row]) -> str:
    """In order of op. Times are ticks where all of them are, else nanoseconds."""
    ordered = sorted(history, key=lambda row: row.op)
    whole = all(row.start_ns % TICK_NS == row.took_ns % TICK_NS == 0 for row in ordered)
    return "; ".join(_spelled(ordered, TICK_NS if whole else 1))


def _spelled(history: Sequence[Row], tick: int) -> Iterator[str]:
    for row in history:
        end = "" if row.type == "info" else f"{(row.start_ns + row.took_ns) // tick}"
        yield f"{_letters(row.process)}:{_what(row)} {row.start_ns // tick}-{end}"


def _letters(process: int) -> str:
    """p0 is a, p26 is ba."""
    rest, last = divmod(process, 26)
    return (_letters(rest) if rest else "") + chr(ord("a") + last)


def _what(row: Row) -> str:
    if row.kind == "append":
        letter = {acks: letter for letter, acks in _ACKS.items()}[row.acks]  # type: ignore[index]
        how = {"info": "?", "fail": "!", "ok": f"@{'-' if row.offset is None else row.offset}"}[row.type]
        return f"{letter}{row.value}{how}" + (f"#{row.sequence}" if row.sequence is not None else "")
    epoch = f"/{row.leader_epoch}" if row.leader_epoch is not None else ""
    if row.kind == "end_offset":
        return f"E{row.offset}{epoch}"
    if row.kind == "assign":
        return f"S{row.offset}"
    records = row.values or []
    answer = (
        ",".join(f"{o}:{v}" for o, v in zip(row.offsets, records, strict=True)) if row.offsets else ",".join(map(str, records))
    )
    if row.kind == "poll":
        return f"P={answer}"
    letter = "F" if row.final else "R"
    return f"{letter}{row.from_offset}={answer if row.type == 'ok' else 'oor'}{'.' if row.at_end else ''}{epoch}"
