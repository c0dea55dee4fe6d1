"""harness/recorder.py: every operation of a run, as a row of its history (CHECKERS 1.1, 2.4; DESIGN 11.3).

In     what processes submit; what their clients answer; one clock
Out    rows to a sink, as operations end; at `close` also the rows of those that have not
Keeps  operations numbered as they are invoked, all times from one Timeline, the start read before the client is called and the
       end after it called back; a process has one request open at a time, and a new id after `info` or when its values run out
Not    outcomes (model/outcome.py), retries (workloads/), where rows go (model/stream.py, model/history.py)
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from model.cluster import Client, Timeline
from model.operation import WRITES, Answer, Operation, Row
from model.outcome import OPEN_AT_END, Outcome, outcome, retires_process
from model.value import LAST_COUNTER, make_value

Sink = Callable[[Row], None]
Done = Callable[[tuple[Row, ...]], None]

_NO_ANSWER = Answer(fact=OPEN_AT_END)
_OPEN_WRITE, _OPEN_READ = Outcome("info", OPEN_AT_END), Outcome("fail", OPEN_AT_END)


class Recorder:
    """The history of one run, while it is made."""

    def __init__(
        self, time: Timeline, tag: int, sink: Sink, *, origin_ns: int = 0, on_row: Callable[[Row], None] | None = None
    ) -> None:
        """`origin_ns`: the run's start on this timeline. `on_row` sees each row behind the sink: for traces."""
        self.acked = 0
        """How many writes were acknowledged so far."""
        self._time, self._tag, self._origin_ns = time, tag, origin_ns
        self._sink, self._on_row = sink, on_row
        self._operations = self._batches = self._ids = 0
        self._open: dict[int, _Request] = {}
        self._closed = False

    def process(self, number: int, client: Client, client_name: str, *, hidden_retries: bool = False) -> RecordedProcess:
        """`client_name` goes into the rows, such as `raw-3`. `hidden_retries`: the library may resend behind our back."""
        return RecordedProcess(self, number, client, client_name, hidden_retries)

    def close(self) -> None:
        """The run is over: what is open is written down as that. Later answers are dropped, later operations not even sent."""
        if self._closed:
            return
        self._closed = True
        end_ns = self.now_ns()
        for request in self._open.values():
            results = [_OPEN_WRITE if asked.kind in WRITES else _OPEN_READ for asked in request.batch]
            self._write([_row(request, index, _NO_ANSWER, result, end_ns) for index, result in enumerate(results)])

    # -- for processes --------------------------------------------------------------------------------------------------

    def now_ns(self) -> int:
        return self._time.now_ns() - self._origin_ns

    def new_id(self) -> int:
        self._ids += 1
        return self._ids - 1

    def first_value(self, process_id: int) -> int:
        return make_value(self._tag, process_id, 0)

    def begin(self, process: RecordedProcess, batch: tuple[Operation, ...], done: Done) -> _Request | None:
        """Number the operations of one request; None when the run is over."""
        if self._closed:
            return None
        first, number = self._operations, None
        self._operations += len(batch)
        if len(batch) > 1:
            number = self._batches
            self._batches += 1
        request = _Request(process, process.id, batch, first, number, self.now_ns(), done)
        self._open[first] = request
        return request

    def end(self, request: _Request, answers: tuple[Answer, ...]) -> None:
        if self._closed:
            return
        end_ns = self.now_ns()
        del self._open[request.first]  # a client that answers twice is stopped here
        process, retired = request.process, False
        rows: list[Row] = []
        for asked, answer in zip(request.batch, answers, strict=True):
            result = _judged(asked, answer, process.hidden_retries)
            retired = retired or retires_process(result)
            rows.append(_row(request, len(rows), answer, result, end_ns))
        self._write(rows)
        process.ended(retired)
        request.done(tuple(rows))

    def _write(self, rows: list[Row]) -> None:
        for row in rows:
            if row.type == "ok" and row.kind in WRITES:
                self.acked += 1
            self._sink(row)
            if self._on_row is not None:
                self._on_row(row)


class RecordedProcess:
    """One process of the plan: model/workload.Process. Its id changes, its number stays."""

    __slots__ = ("_busy", "_client", "_next_value", "_recorder", "_values_end", "client_name", "hidden_retries", "id", "number")

    def __init__(self, recorder: Recorder, number: int, client: Client, client_name: str, hidden_retries: bool) -> None:
        self.number, self.client_name, self.hidden_retries = number, client_name, hidden_retries
        self._recorder, self._client, self._busy = recorder, client, False
        self._become_new()

    def submit(self, batch: tuple[Operation, ...], done: Done) -> None:
        """`done` comes once, with the rows; not at all once the recorder is closed."""
        if self._busy:
            raise RuntimeError(f"process {self.number} has an operation open already")
        recorder = self._recorder
        batch = self._with_values(batch)
        request = recorder.begin(self, batch, done)
        if request is not None:
            self._busy = True
            self._client.submit(batch, lambda answers: recorder.end(request, answers))

    def ended(self, retired: bool) -> None:
        self._busy = False
        if retired:
            self._become_new()

    def _become_new(self) -> None:
        self.id = self._recorder.new_id()
        self._next_value = self._recorder.first_value(self.id)
        self._values_end = self._next_value + LAST_COUNTER + 1

    def _with_values(self, batch: tuple[Operation, ...]) -> tuple[Operation, ...]:
        """CHECKERS 1.3: the values of one batch are all of one process id."""
        if not any(map(_wants_value, batch)):
            return batch
        if self._next_value + len(batch) > self._values_end:
            self._become_new()
        return tuple(self._given_value(each) if _wants_value(each) else each for each in batch)

    def _given_value(self, asked: Operation) -> Operation:
        value = self._next_value
        self._next_value = value + 1
        return msgspec.structs.replace(asked, value=value)


class _Request(msgspec.Struct, frozen=True):
    """What one `submit` asked for, until it is answered."""

    process: RecordedProcess
    process_id: int
    batch: tuple[Operation, ...]
    first: int  # number of its first operation
    number: int | None  # of the batch, where it holds more than one operation
    start_ns: int
    done: Done


def _wants_value(asked: Operation) -> bool:
    return asked.value is None and asked.kind in WRITES


def _judged(asked: Operation, answer: Answer, hidden_retries: bool) -> Outcome:
    has_offset = answer.offset is not None
    return outcome(asked.kind, (answer.fact,), hidden_retries=hidden_retries, has_offset=has_offset, acks=asked.acks)


def _row(request: _Request, index: int, answer: Answer, result: Outcome, end_ns: int) -> Row:
    asked, process = request.batch[index], request.process
    is_append = asked.kind == "append"
    return Row(
        op=request.first + index,
        process=request.process_id,
        client=process.client_name,
        node=answer.node,
        kind=asked.kind,
        type=result.type,
        error=result.error,
        topic=asked.topic,
        partition=asked.partition,
        key=asked.key,
        value=answer.value if asked.value is None else asked.value,
        expected=asked.expected,
        offset=answer.offset,
        from_offset=asked.from_offset,
        max_records=asked.max_records,
        at_end=answer.at_end,
        base_offset=answer.base_offset,
        values=answer.values,
        offsets=answer.offsets,
        epochs=answer.epochs,
        leader_epoch=answer.leader_epoch,
        start_ns=request.start_ns,
        took_ns=end_ns - request.start_ns,
        acks=asked.acks,
        idempotent=asked.idempotent or asked.producer_id is not None if is_append else None,
        producer_id=answer.producer_id if asked.producer_id is None else asked.producer_id,
        producer_epoch=answer.producer_epoch if asked.producer_epoch is None else asked.producer_epoch,
        sequence=asked.sequence,
        attempts=_attempts(answer, process.hidden_retries) if is_append else None,
        batch=request.number,
        final=asked.final,
        barrier=asked.barrier,
    )


def _attempts(answer: Answer, hidden_retries: bool) -> int | None:
    """One request is one attempt, unless the library makes more of it and does not tell."""
    return 1 if answer.attempts is None and not hidden_retries else answer.attempts
