"""harness/recorder.py: every operation of a run, as a row of its history (CHECKERS 1.1, 2.4; DESIGN 11.3).

In     what processes submit; what their clients answer; one clock
Out    rows to a sink, as operations end; at `close` also the rows of those that have not
Keeps  operations numbered as they are invoked, all times from one Timeline, the start read before the client is called and the
       end after it called back; a process has one request open at a time, or several appends, and a new id after `info` or when
       its values run out: what is open by then ends under the old one
Not    outcomes (model/outcome.py), retries (workloads/), where rows go (model/stream.py, model/history.py)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from model.cluster import Client, Timeline
from model.operation import WRITES, Answer, Operation, Row
from model.outcome import NOT_SENT, OPEN_AT_END, Outcome, outcome, retires_process
from model.value import LAST_COUNTER, make_value

Sink = Callable[[Row], None]
Done = Callable[[tuple[Row, ...]], None]

_NO_ANSWER = Answer(fact=OPEN_AT_END)
_IN_SESSIONS = frozenset({"poll", "assign"})


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
        self.closed = False

    def process(self, number: int, client: Client, client_name: str, *, hidden_retries: bool = False) -> RecordedProcess:
        """`client_name` goes into the rows, such as `raw-3`. `hidden_retries`: the library may resend behind our back."""
        return RecordedProcess(self, number, client, client_name, hidden_retries)

    def close(self) -> None:
        """The run is over: what is open is written down as that. Later answers are dropped, later operations not even sent."""
        if self.closed:
            return
        self.closed = True
        for request in self._open.values():
            if request.on_its_way:
                request.answered.append((_NO_ANSWER,) * len(request.batch))
            self._write(request.rows(self.now_ns()))

    # -- for processes --------------------------------------------------------------------------------------------------

    def now_ns(self) -> int:
        return self._time.now_ns() - self._origin_ns

    def new_id(self) -> int:
        self._ids += 1
        return self._ids - 1

    def first_value(self, process_id: int) -> int:
        return make_value(self._tag, process_id, 0)

    def begin(self, request: _Request) -> bool:
        """Number the operations of a request; False when the run is over."""
        if self.closed:
            return False
        request.first, request.start_ns = self._operations, self.now_ns()
        self._operations += len(request.batch)
        if len(request.batch) > 1:
            request.number = self._batches
            self._batches += 1
        self._open[request.first] = request
        return True

    def is_open(self, request: _Request) -> bool:
        return request.first in self._open and not self.closed

    def end(self, request: _Request) -> tuple[Row, ...]:
        """Write down what came of it; nothing once the run is over."""
        if self.closed:
            return ()
        del self._open[request.first]
        rows = request.rows(self.now_ns())
        self._write(rows)
        request.process.ended(request, rows)
        return rows

    def _write(self, rows: Iterable[Row]) -> None:
        for row in rows:
            if row.type == "ok" and row.kind in WRITES:
                self.acked += 1
            self._sink(row)
            if self._on_row is not None:
                self._on_row(row)


class RecordedProcess:
    """One process of the plan: model/workload.Process. Its id changes, its number stays."""

    __slots__ = (
        "_next_value",
        "_open",
        "_open_appends",
        "_values_end",
        "client",
        "client_name",
        "hidden_retries",
        "id",
        "number",
        "recorder",
        "session",
    )

    def __init__(self, recorder: Recorder, number: int, client: Client, client_name: str, hidden_retries: bool) -> None:
        self.number, self.client_name, self.hidden_retries = number, client_name, hidden_retries
        self.recorder, self.client = recorder, client
        self._open = self._open_appends = 0
        self.session = -1
        self._become_new()

    def submit(self, batch: tuple[Operation, ...], done: Done) -> None:
        """`done` comes once, with the rows; not at all once the recorder is closed."""

        def told(fact: str) -> None:
            done(request.end())

        request = self.attempt(batch, told)

    def attempt(self, batch: tuple[Operation, ...], told: Callable[[str], None]) -> _Request:
        """`told` comes once for each attempt, until it has ended or the recorder is closed."""
        is_append = batch[0].kind == "append"
        if self._open > (self._open_appends if is_append else 0):
            raise RuntimeError(f"process {self.number} has an operation open already")
        batch = self._with_values(batch)
        if batch[0].kind == "assign":
            self.session += 1
        request = _Request(self, batch, told)
        if self.recorder.begin(request):
            self._open += 1
            self._open_appends += is_append
            request.send()
        return request

    def ended(self, request: _Request, rows: tuple[Row, ...]) -> None:
        self._open -= 1
        self._open_appends -= request.batch[0].kind == "append"
        retired = any(retires_process(Outcome(row.type, row.error)) for row in rows)
        if retired and request.process_id == self.id:
            self._become_new()
        elif rows[0].kind == "poll" and rows[0].type != "ok":
            self.session += 1

    def _become_new(self) -> None:
        self.id = self.recorder.new_id()
        self.session += 1
        self._next_value = self.recorder.first_value(self.id)
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


class _Request:
    """What one process asked for at once, in one attempt or in several, until it is over: model/workload.Attempts."""

    __slots__ = ("answered", "batch", "first", "number", "on_its_way", "process", "process_id", "session", "start_ns", "told")

    def __init__(self, process: RecordedProcess, batch: tuple[Operation, ...], told: Callable[[str], None]) -> None:
        self.process, self.process_id, self.batch, self.told = process, process.id, batch, told
        self.session = process.session if batch[0].kind in _IN_SESSIONS else None
        self.answered: list[tuple[Answer, ...]] = []
        """Of each attempt, what it was told."""
        self.first = -1  # number of its first operation
        self.number: int | None = None  # of the batch, where it holds more than one operation
        self.start_ns = 0
        self.on_its_way = False

    @property
    def outcome(self) -> Outcome:
        """Of its first record: appends sent as one batch share their fate."""
        return self._outcome(0)

    def again(self, batch: tuple[Operation, ...]) -> None:
        if self.process.recorder.is_open(self):
            pairs = zip(batch, self.batch, strict=True)
            self.batch = tuple(msgspec.structs.replace(each, value=sent.value) for each, sent in pairs)
            self.send()

    def end(self) -> tuple[Row, ...]:
        return self.process.recorder.end(self)

    def send(self) -> None:
        if self.on_its_way:
            raise RuntimeError("an attempt is on its way already")
        self.on_its_way = True
        attempt = len(self.answered)
        self.process.client.submit(self.batch, lambda answers: self._on_answers(attempt, answers))

    def _on_answers(self, attempt: int, answers: tuple[Answer, ...]) -> None:
        if self.process.recorder.closed:
            return
        if attempt != len(self.answered) or len(answers) != len(self.batch):
            raise RuntimeError("a client answers each request once, and every operation of it")
        self.answered.append(answers)
        self.on_its_way = False
        self.told(answers[0].fact)

    # -- rows -----------------------------------------------------------------------------------------------------------

    def rows(self, end_ns: int) -> tuple[Row, ...]:
        return tuple(_row(self, index, self._outcome(index), end_ns) for index in range(len(self.batch)))

    def _outcome(self, index: int) -> Outcome:
        asked, last = self.batch[index], self.answered[-1][index]
        facts = [answers[index].fact for answers in self.answered]
        hidden_retries, has_offset = self.process.hidden_retries, last.offset is not None
        return outcome(asked.kind, facts, hidden_retries=hidden_retries, has_offset=has_offset, acks=asked.acks)

    def attempts(self, index: int) -> int | None:
        """How many may have reached a broker; not known where the library makes more of one and does not tell."""
        told = self.answered[-1][index].attempts
        if told is not None or self.process.hidden_retries:
            return told
        return max(1, sum(answers[index].fact != NOT_SENT for answers in self.answered))


def _wants_value(asked: Operation) -> bool:
    return asked.value is None and asked.kind in WRITES


def _row(request: _Request, index: int, result: Outcome, end_ns: int) -> Row:
    asked, process, answer = request.batch[index], request.process, request.answered[-1][index]
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
        attempts=request.attempts(index) if is_append else None,
        batch=request.number,
        session=request.session,
        final=asked.final,
        barrier=asked.barrier,
    )
