"""The recorder: numbers, ids, times and values of operations, however their answers come."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby, pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import recorder as recorder_module
from harness.recorder import RecordedProcess, Recorder
from model.operation import WRITES, Answer, Kind, Operation, Row
from model.value import Writer, writer_of
from model.workload import Attempts
from tests.workloads.virtual import MS, TAG, VirtualTime

READ = Operation(kind="read", topic="t", partition=0, from_offset=3, max_records=10)
APPEND = Operation(kind="append", topic="t", partition=0, acks=-1)
END = Operation(kind="end_offset", topic="t", partition=0)
ACKED = Answer(fact="SUCCESS", node=2, offset=7)
Answers = tuple[Answer, ...]


class Kept:
    """A client that answers when the test says so."""

    def __init__(self) -> None:
        self.asked: list[tuple[Operation, ...]] = []
        self.waiting: list[Callable[[Answers], None]] = []

    def submit(self, batch: tuple[Operation, ...], done: Callable[[Answers], None]) -> None:
        self.asked.append(batch)
        self.waiting.append(done)

    def answer(self, *answers: Answer) -> None:
        self.waiting.pop(0)(answers)


class Book:
    """A recorder, one process with a client that keeps its requests, and the rows."""

    def __init__(self, origin_ns: int = 0, hidden_retries: bool = False) -> None:
        self.time = VirtualTime(origin_ns)
        self.rows: list[Row] = []
        self.recorder = Recorder(self.time, TAG, self.rows.append, origin_ns=origin_ns)
        self.client = Kept()
        self.process = self.recorder.process(0, self.client, "raw-3", hidden_retries=hidden_retries)

    def ask(self, *batch: Operation) -> list[tuple[Row, ...]]:
        told: list[tuple[Row, ...]] = []
        self.process.submit(batch, told.append)
        return told

    def recorded(self, asked: Operation, answer: Answer) -> Row:
        """The row of one operation that is answered at once."""
        self.ask(asked)
        self.client.answer(answer)
        return self.rows[-1]


# -- one operation ------------------------------------------------------------------------------------------------------


def test_an_append_is_a_row_with_both_times_since_the_start_of_the_run() -> None:
    """Number, process, client, value, offset, and an interval on the run's own clock."""
    book = Book(origin_ns=1_000 * MS)
    book.time.advance(5 * MS)
    told = book.ask(APPEND)
    book.time.advance(2 * MS)
    book.client.answer(ACKED)
    wanted = Row(
        op=0,
        process=0,
        client="raw-3",
        node=2,
        kind="append",
        type="ok",
        topic="t",
        partition=0,
        value=TAG << 44,
        offset=7,
        start_ns=5 * MS,
        took_ns=2 * MS,
        acks=-1,
        idempotent=False,
        attempts=1,
    )
    assert (book.rows, told) == ([wanted], [(wanted,)])


def test_a_read_keeps_what_was_asked_and_what_came_back() -> None:
    """Every column that a read has goes from operation and answer into its row."""
    answer = Answer(
        fact="SUCCESS",
        node=1,
        values=(8, 9),
        offsets=(3, 5),
        epochs=(0, 2),
        at_end=True,
        leader_epoch=2,
    )
    row = Book().recorded(msgspec.structs.replace(READ, final=True), answer)
    assert (row.type, row.error, row.from_offset, row.max_records, row.final) == ("ok", None, 3, 10, True)
    assert (row.values, row.offsets, row.epochs, row.at_end, row.leader_epoch) == ((8, 9), (3, 5), (0, 2), True, 2)
    assert (row.value, row.acks, row.attempts, row.idempotent, row.batch) == (None, None, None, None, None)
    assert Book().recorded(READ, Answer(fact="SUCCESS", base_offset=4, values=(8,))).base_offset == 4


def test_an_idempotent_append_is_recorded_as_sent_and_an_init_as_received() -> None:
    """Producer id and epoch come from where they are known."""
    sent = msgspec.structs.replace(APPEND, producer_id=9, producer_epoch=1, sequence=4)
    row = Book().recorded(sent, ACKED)
    assert (row.idempotent, row.producer_id, row.producer_epoch, row.sequence) == (True, 9, 1, 4)
    row = Book().recorded(Operation(kind="init"), Answer(fact="SUCCESS", producer_id=9, producer_epoch=0))
    assert (row.kind, row.idempotent, row.producer_id, row.producer_epoch) == ("init", None, 9, 0)


@pytest.mark.parametrize(
    ("asked", "answer", "wanted"),
    [
        (APPEND, ACKED, ("ok", None)),
        (APPEND, Answer(fact="SUCCESS"), ("info", "NO_OFFSET")),
        (APPEND, Answer(fact="NOT_SENT"), ("fail", "NOT_SENT")),
        (APPEND, Answer(fact="NOT_ENOUGH_REPLICAS"), ("fail", "NOT_ENOUGH_REPLICAS")),
        (APPEND, Answer(fact="TIMED_OUT"), ("info", "TIMED_OUT")),
        (msgspec.structs.replace(APPEND, acks=0), ACKED, ("info", "NO_ACK")),
        (msgspec.structs.replace(APPEND, acks=0), Answer(fact="NO_ACK"), ("info", "NO_ACK")),
        (READ, Answer(fact="TIMED_OUT"), ("fail", "TIMED_OUT")),
    ],
)
def test_facts_become_outcomes(asked: Operation, answer: Answer, wanted: tuple[str, str | None]) -> None:
    """CHECKERS 2.2, through model/outcome.py: with the acks of the operation and the offset of the answer."""
    row = Book().recorded(asked, answer)
    assert (row.type, row.error) == wanted


def test_a_library_that_may_resend_gives_no_certainty() -> None:
    """CHECKERS 2.3: behind hidden retries a refusal proves nothing, and the attempts are not known unless it tells."""
    row = Book(hidden_retries=True).recorded(APPEND, Answer(fact="NOT_ENOUGH_REPLICAS"))
    assert (row.type, row.attempts) == ("info", None)
    assert Book(hidden_retries=True).recorded(APPEND, msgspec.structs.replace(ACKED, attempts=2)).attempts == 2


# -- batches, ids, values -----------------------------------------------------------------------------------------------


def test_the_rows_of_a_batch_share_its_number_and_both_times() -> None:
    """Each has its own operation number, value and offset; a batch of one has no number."""
    book = Book()
    book.recorded(APPEND, ACKED)
    book.ask(APPEND, APPEND)
    book.time.advance(MS)
    book.client.answer(ACKED, msgspec.structs.replace(ACKED, offset=8))
    assert [(row.op, row.batch, row.offset, row.start_ns, row.took_ns) for row in book.rows] == [
        (0, None, 7, 0, 0),
        (1, 0, 7, 0, MS),
        (2, 0, 8, 0, MS),
    ]
    assert [row.value for row in book.rows] == [TAG << 44, (TAG << 44) + 1, (TAG << 44) + 2]


@pytest.mark.parametrize(
    ("answers", "retires"),
    [
        ((ACKED, ACKED), False),
        ((Answer(fact="NOT_SENT"),) * 2, False),
        ((Answer(fact="NO_ACK"),) * 2, False),
        ((ACKED, Answer(fact="TIMED_OUT")), True),
        ((Answer(fact="TIMED_OUT"), ACKED), True),
    ],
)
def test_a_process_is_retired_by_info_unless_it_asked_for_no_ack(answers: Answers, retires: bool) -> None:
    """CHECKERS 2.4: it goes on under a new id and counts its values from 0; its number and client stay."""
    book = Book()
    book.ask(APPEND, APPEND)
    book.client.answer(*answers)
    row = book.recorded(APPEND, ACKED)
    assert row.process == (1 if retires else 0)
    assert writer_of(row.value or 0) == Writer(TAG, row.process, 0 if retires else 2)
    assert (book.process.number, row.client) == (0, "raw-3")


def test_a_write_that_has_a_value_keeps_it() -> None:
    """Who sends one value again says so; the process's own counter does not move."""
    book = Book()
    assert book.recorded(msgspec.structs.replace(APPEND, value=77), ACKED).value == 77
    assert writer_of(book.recorded(APPEND, ACKED).value or 0).counter == 0


def test_a_process_that_has_used_up_its_values_goes_on_under_a_new_id(monkeypatch: pytest.MonkeyPatch) -> None:
    """CHECKERS 1.3: and a batch is never split over two ids."""
    monkeypatch.setattr(recorder_module, "LAST_COUNTER", 2)
    book = Book()
    book.ask(APPEND, APPEND)
    book.client.answer(ACKED, ACKED)
    book.ask(APPEND, APPEND)
    book.client.answer(ACKED, ACKED)
    assert [(row.process, writer_of(row.value or 0).counter) for row in book.rows] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert book.recorded(APPEND, ACKED).process == 1


def test_acknowledged_writes_are_counted() -> None:
    """Every record counts, reads and everything that is not ok do not."""
    book = Book()
    book.ask(APPEND, APPEND)
    book.client.answer(ACKED, ACKED)
    book.recorded(APPEND, Answer(fact="TIMED_OUT"))
    book.recorded(END, ACKED)
    assert book.recorder.acked == 2


def test_a_trace_sees_each_row_once_the_sink_has_it() -> None:
    """`on_row` comes behind the sink, row by row."""
    rows: list[Row] = []
    seen: list[tuple[int, int]] = []
    client = Kept()
    book = Recorder(VirtualTime(), TAG, rows.append, on_row=lambda row: seen.append((row.op, len(rows))))
    book.process(0, client, "raw-0").submit((APPEND, APPEND), lambda rows: None)
    client.answer(ACKED, ACKED)
    assert seen == [(0, 1), (1, 2)]


# -- several requests of one process ------------------------------------------------------------------------------------


def test_appends_may_be_in_flight_together_and_nothing_else_may() -> None:
    """CHECKERS 1.1: each is a row of its own, whichever is answered first."""
    book = Book()
    book.ask(APPEND)
    book.ask(APPEND, APPEND)
    with pytest.raises(RuntimeError, match="process 0 has an operation open"):
        book.ask(READ)
    book.client.waiting.pop()((ACKED, ACKED))
    with pytest.raises(RuntimeError, match="process 0 has an operation open"):
        book.ask(READ)
    book.client.answer(ACKED)
    book.ask(READ)
    with pytest.raises(RuntimeError, match="process 0 has an operation open"):
        book.ask(APPEND)
    assert [row.op for row in book.rows] == [1, 2, 0]


def test_what_is_in_flight_when_a_process_retires_ends_under_its_old_id() -> None:
    """CHECKERS 2.4: nothing new begins under it, and a second `info` retires nobody twice."""
    book = Book()
    for _ in range(3):
        book.ask(APPEND)
    book.client.answer(Answer(fact="TIMED_OUT"))
    book.ask(APPEND)
    for fact in ("TIMED_OUT", "SUCCESS", "SUCCESS"):
        book.client.answer(Answer(fact=fact, offset=0))
    book.recorded(APPEND, ACKED)
    assert [(row.process, row.type) for row in book.rows] == [(0, "info"), (0, "info"), (0, "ok"), (1, "ok"), (1, "ok")]
    assert [writer_of(row.value or 0).counter for row in book.rows] == [0, 1, 2, 0, 1]


def attempted(*facts: str, batch: tuple[Operation, ...] = (APPEND,)) -> tuple[Book, Attempts]:
    """An append that was told this, attempt by attempt, 2 ms each and 1 ms between them; it has not ended."""
    book, told = Book(), list[str]()
    attempts = book.process.attempt(batch, told.append)
    for number, fact in enumerate(facts):
        if number:
            book.time.advance(MS)
            attempts.again(batch)
        book.time.advance(2 * MS)
        book.client.answer(*(Answer(fact=fact, offset=7 + i if fact == "SUCCESS" else None) for i in range(len(batch))))
    assert told == list(facts)
    assert book.rows == []
    return book, attempts


@pytest.mark.parametrize(
    ("facts", "wanted"),
    [
        (("SUCCESS",), ("ok", None, 1)),
        (("NOT_SENT", "SUCCESS"), ("ok", None, 1)),
        (("TIMED_OUT", "SUCCESS"), ("ok", None, 2)),
        (("NOT_SENT", "NOT_SENT"), ("fail", "NOT_SENT", 1)),
        (("NOT_ENOUGH_REPLICAS", "NOT_SENT", "NOT_ENOUGH_REPLICAS"), ("fail", "NOT_ENOUGH_REPLICAS", 2)),
        (("TIMED_OUT", "NOT_ENOUGH_REPLICAS"), ("info", "NOT_ENOUGH_REPLICAS", 2)),
        (("CONNECTION_LOST", "OUT_OF_ORDER_SEQUENCE_NUMBER", "NOT_SENT"), ("info", "NOT_SENT", 2)),
    ],
)
def test_several_attempts_are_one_row(facts: tuple[str, ...], wanted: tuple[str, str | None, int]) -> None:
    """CHECKERS 2.2: failed only if every attempt has failed for certain. `attempts` are those that may have reached a broker;
    the row begins with the first and ends with the last."""
    book, attempts = attempted(*facts)
    assert (attempts.outcome.type, attempts.outcome.error) == wanted[:2]
    (row,) = attempts.end()
    assert book.rows == [row]
    assert (row.type, row.error, row.attempts) == wanted
    assert (row.start_ns, row.took_ns) == (0, (3 * len(facts) - 1) * MS)


def test_what_is_sent_again_keeps_its_values_and_shows_its_last_sequences() -> None:
    """A producer may number anew what was refused; the row is about the copy that may be in the log."""
    book = Book()
    first = msgspec.structs.replace(APPEND, producer_id=9, producer_epoch=0, sequence=4)
    attempts = book.process.attempt((first, first), lambda fact: None)
    book.client.answer(*(Answer(fact="NOT_ENOUGH_REPLICAS"),) * 2)
    attempts.again((msgspec.structs.replace(first, producer_epoch=1, sequence=0),) * 2)
    book.client.answer(ACKED, ACKED)
    rows = attempts.end()
    assert [each.value for each in book.client.asked[0]] == [each.value for each in book.client.asked[1]]
    assert [(row.value, row.producer_epoch, row.sequence, row.batch) for row in rows] == [
        (book.client.asked[0][i].value, 1, 0, 0) for i in range(2)
    ]


def test_one_attempt_is_on_its_way_at_a_time() -> None:
    """Two copies on their way at once would be two requests with one answer."""
    book = Book()
    attempts = book.process.attempt((APPEND,), lambda fact: None)
    with pytest.raises(RuntimeError, match="on its way already"):
        attempts.again((APPEND,))


def test_between_two_attempts_the_end_leaves_what_is_known() -> None:
    """Nothing is on its way: what was told so far decides, and later attempts are not sent."""
    for facts, wanted in (("NOT_SENT",), ("fail", "NOT_SENT")), (("TIMED_OUT",), ("info", "TIMED_OUT")):
        book, attempts = attempted(*facts)
        book.recorder.close()
        (row,) = book.rows
        assert (row.type, row.error, row.attempts) == (*wanted, 1)
        attempts.again((APPEND,))
        assert attempts.end() == ()
        assert len(book.client.asked) == 1


# -- sessions -----------------------------------------------------------------------------------------------------------


def test_a_session_ends_with_an_assignment_a_failed_poll_and_its_process() -> None:
    """CHECKERS 1.1, 2.4: polls and assignments carry its number, nothing else does."""
    book = Book()
    poll, assign = (Operation(kind=kind, topic="t", partition=0, from_offset=3) for kind in ("poll", "assign"))
    script = [
        (assign, "SUCCESS"),
        (poll, "SUCCESS"),
        (poll, "OFFSET_OUT_OF_RANGE"),
        (poll, "SUCCESS"),
        (assign, "SUCCESS"),
        (END, "TIMED_OUT"),
        (poll, "SUCCESS"),
        (APPEND, "TIMED_OUT"),
        (poll, "SUCCESS"),
    ]
    sessions = [book.recorded(asked, Answer(fact=fact, offset=3)).session for asked, fact in script]
    assert sessions == [1, 1, 1, 2, 3, None, 3, None, 4]


# -- misuse and the end -------------------------------------------------------------------------------------------------


def test_a_process_has_one_request_open() -> None:
    """A workload that asks while it waits is wrong, and hears of it at once; in `done` it may ask again."""
    book = Book()
    book.process.submit((READ,), lambda rows: book.process.submit((END,), lambda rows: None))
    with pytest.raises(RuntimeError, match="process 0 has an operation open"):
        book.ask(READ)
    book.client.answer(Answer(fact="TIMED_OUT"))
    assert [batch[0].kind for batch in book.client.asked] == ["read", "end_offset"]


def test_a_client_that_answers_twice_or_for_too_few_is_found_out() -> None:
    """One answer per operation, once: anything else is a bug of ours, never a row."""
    book = Book()
    book.ask(READ)
    twice = book.client.waiting[0]
    book.client.answer(ACKED)
    with pytest.raises(RuntimeError, match="answers each request once"):
        twice((ACKED,))
    book.ask(APPEND, APPEND)
    with pytest.raises(RuntimeError, match="every operation of it"):
        book.client.answer(ACKED)
    assert len(book.rows) == 1


def test_what_is_open_at_the_end_is_written_down_as_that() -> None:
    """Writes may have happened, hence info; the rest changed nothing, hence fail. In order of invocation, up to the end."""
    book = Book()
    other = book.recorder.process(1, book.client, "raw-4")
    book.ask(APPEND, APPEND)
    book.time.advance(MS)
    other.submit((READ,), lambda rows: None)
    book.time.advance(2 * MS)
    book.recorder.close()
    assert [(row.op, row.kind, row.type, row.error, row.start_ns, row.took_ns, row.batch) for row in book.rows] == [
        (0, "append", "info", "OPEN_AT_END", 0, 3 * MS, 0),
        (1, "append", "info", "OPEN_AT_END", 0, 3 * MS, 0),
        (2, "read", "fail", "OPEN_AT_END", MS, 2 * MS, None),
    ]
    assert book.rows[0].attempts == 1


def test_after_the_end_nothing_is_sent_and_nothing_written() -> None:
    """A late answer is dropped, a late operation does not reach the client: it would be a write without a row."""
    book = Book()
    told = book.ask(APPEND)
    book.recorder.close()
    book.recorder.close()
    book.client.answer(ACKED)
    late = book.recorder.process(1, book.client, "raw-0")
    late.submit((APPEND,), told.append)
    assert (len(book.rows), len(book.client.asked), told) == (1, 1, [])
    assert book.recorder.acked == 0


# -- whatever happens ---------------------------------------------------------------------------------------------------

FACTS = ["SUCCESS", "SUCCESS", "NOT_SENT", "TIMED_OUT", "NO_ACK", "NOT_ENOUGH_REPLICAS", "CORRUPT_ANSWER"]
KINDS: list[Kind] = ["append", "append", "read", "end_offset"]
steps = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(KINDS), st.integers(1, 4), st.integers(0, 5), st.sampled_from(FACTS)),
    max_size=40,
)


class Timed:
    """A client that answers each request after the next delay, with the next fact."""

    def __init__(self, time: VirtualTime) -> None:
        self.time, self.delay_ns, self.fact = time, 0, "SUCCESS"
        self.asked = 0

    def submit(self, batch: tuple[Operation, ...], done: Callable[[Answers], None]) -> None:
        self.asked += len(batch)
        answers = tuple(Answer(fact=self.fact, offset=i if self.fact == "SUCCESS" else None) for i in range(len(batch)))
        self.time.after(self.delay_ns, lambda: done(answers))


@given(steps, st.integers(0, 12))
def test_however_answers_come_the_history_is_well_formed(
    script: list[tuple[int, Kind, int, int, str]], closes_after: int
) -> None:
    """Every operation that was sent has one row, also when the recorder closes early. Numbers follow invocations. Operations of
    one process id do not overlap, batches aside, and nothing follows its `info`. Values are unique and name their process."""
    time = VirtualTime()
    rows: list[Row] = []
    book = Recorder(time, TAG, rows.append)
    client = Timed(time)
    processes = [book.process(i, client, f"raw-{i}") for i in range(4)]
    busy: dict[int, bool] = {}
    for number, kind, size, delay, fact in script:
        if not busy.get(number):
            client.delay_ns, client.fact, busy[number] = delay, fact, True
            send(processes[number], kind, size, busy)
        time.advance(1)
    time.advance(closes_after)
    book.close()
    time.advance(100)

    rows.sort(key=lambda row: row.op)
    assert [row.op for row in rows] == list(range(client.asked))
    assert [row.start_ns for row in rows] == sorted(row.start_ns for row in rows)
    values = [row.value for row in rows if row.kind in WRITES]
    assert len(set(values)) == len(values)
    assert all(writer_of(row.value or 0).process == row.process for row in rows if row.kind in WRITES)
    for _, own in groupby(sorted(rows, key=lambda row: (row.process, row.op)), key=lambda row: row.process):
        for earlier, later in pairwise(own):
            together = earlier.batch is not None and earlier.batch == later.batch
            assert together or later.start_ns >= earlier.start_ns + earlier.took_ns
            assert together or earlier.type != "info" or earlier.error == "NO_ACK"
            if together:
                assert (earlier.start_ns, earlier.took_ns) == (later.start_ns, later.took_ns)


def send(process: RecordedProcess, kind: Kind, size: int, busy: dict[int, bool]) -> None:
    def done(rows: tuple[Row, ...]) -> None:
        busy[process.number] = False
        assert len(rows) == len(batch)

    asked = Operation(kind=kind, topic="t", partition=0, acks=1 if kind == "append" else None)
    batch = (asked,) * (size if kind == "append" else 1)
    process.submit(batch, done)
