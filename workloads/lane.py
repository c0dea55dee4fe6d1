"""workloads/lane.py: what one idempotent producer sends to one partition (PROTOCOL 6.8 to 6.10).

In     batches, as the workload makes them; the fact of every attempt
Out    attempts under producer id, epoch and sequence; each batch, when it is over
Keeps  order: a batch that must be sent again holds back whatever follows it, as Kafka's own producer does; so does the first one
       of all, for until its answer nobody knows that the leader was found
       one copy: what may have been written is sent again under the same sequence or not at all. Only what was certainly refused
       moves to a new epoch, which begins when nothing is on its way any more. Epochs are the producer's own to raise: without a
       transactional id no broker does it (6.15)
Not    outcomes (model/outcome.py); when batches are made, and by whom: idempotent.py
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from model.cluster import Timeline
from model.operation import Operation, Row
from model.outcome import CONNECTION_LOST, CORRUPT_ANSWER, NOT_SENT, SUCCESS, TIMED_OUT
from model.plan import Workload
from model.workload import Attempts, Process

SEQUENCES = 2**31
LAST_EPOCH = 2**15 - 1
BACK_OFF_NS, MOST_BACK_OFF_NS = 50_000_000, 1_000_000_000

WRITTEN = frozenset({SUCCESS, "DUPLICATE_SEQUENCE_NUMBER"})
OUT_OF_ORDER = "OUT_OF_ORDER_SEQUENCE_NUMBER"
MAY_PASS = frozenset(
    {
        NOT_SENT,
        TIMED_OUT,
        CONNECTION_LOST,
        CORRUPT_ANSWER,
        "CORRUPT_MESSAGE",
        "KAFKA_STORAGE_ERROR",
        "LEADER_NOT_AVAILABLE",
        "NOT_ENOUGH_REPLICAS",
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        "NOT_LEADER_OR_FOLLOWER",
        "REQUEST_TIMED_OUT",
        "UNKNOWN_TOPIC_ID",
        "UNKNOWN_TOPIC_OR_PARTITION",
    }
)
"""Facts after which the same batch may still succeed: Kafka's retriable errors, and no answer."""


class Identity(msgspec.Struct, frozen=True):
    """A producer as a broker named it, and the sequence with which it begins everywhere."""

    producer_id: int
    epoch: int
    first_sequence: int


class _Batch:
    """One batch that is not over."""

    __slots__ = ("attempts", "due_ns", "give_up_ns", "on_its_way", "over", "records", "retries", "was_first")

    attempts: Attempts

    def __init__(self, records: tuple[Operation, ...], give_up_ns: int, over: Callable[[tuple[Row, ...]], None]) -> None:
        self.records, self.give_up_ns, self.over = records, give_up_ns, over
        self.retries = self.due_ns = 0
        self.on_its_way = self.was_first = False


class Lane:
    """Batches in the order of their sequences: some on their way, some to be sent again."""

    def __init__(self, time: Timeline, process: Process, workload: Workload, identity: Identity) -> None:
        self._time, self._process, self._workload = time, process, workload
        self._id, self._epoch, self._next = identity.producer_id, identity.epoch, identity.first_sequence
        self._open: list[_Batch] = []
        self._flows = False  # what was sent last was written
        self._broken = self._stopped = self._worn_out = False

    @property
    def idle(self) -> bool:
        return not self._open

    @property
    def room(self) -> int:
        """How many batches may begin now."""
        if self._broken or self._worn_out or any(not each.on_its_way for each in self._open):
            return 0
        return max(0, (self._workload.in_flight if self._flows else 1) - len(self._open))

    @property
    def worn_out(self) -> bool:
        """There is no epoch left: only a new producer id helps."""
        return self._worn_out

    def begin(self, records: tuple[Operation, ...], over: Callable[[tuple[Row, ...]], None]) -> None:
        each = _Batch(self._numbered(records), self._time.now_ns() + self._workload.deliver_within, over)
        self._open.append(each)
        self._leaves(each)
        each.attempts = self._process.attempt(each.records, lambda fact: self._on_told(each, fact))

    def raise_epoch(self) -> None:
        """Begin anew, with sequence 0, while nothing is open."""
        if self._epoch == LAST_EPOCH:
            self._worn_out = True
        else:
            self._epoch, self._next = self._epoch + 1, 0

    def stop(self) -> None:
        """Nothing is sent again."""
        self._stopped = True
        for each in [each for each in self._open if not each.on_its_way]:
            self._end(each)

    # -- attempts -------------------------------------------------------------------------------------------------------

    def _numbered(self, records: tuple[Operation, ...]) -> tuple[Operation, ...]:
        """The next sequences of this epoch."""
        first, self._next = self._next, (self._next + len(records)) % SEQUENCES
        return tuple(
            msgspec.structs.replace(each, producer_id=self._id, producer_epoch=self._epoch, sequence=(first + index) % SEQUENCES)
            for index, each in enumerate(records)
        )

    def _leaves(self, each: _Batch) -> None:
        each.on_its_way, each.was_first = True, self._open[0] is each

    def _on_told(self, each: _Batch, fact: str) -> None:
        each.on_its_way, self._flows = False, fact in WRITTEN
        each.due_ns = self._time.now_ns() + min(BACK_OFF_NS << min(each.retries, 10), MOST_BACK_OFF_NS)
        if fact in WRITTEN:
            self._end(each)
        elif not self._broken and not self._may_pass(each, fact):
            self._broken = True
            self._end(each)
        if self._broken:
            self._mend()
        else:
            self._wait_for_the_first()

    def _may_pass(self, each: _Batch, fact: str) -> bool:
        """Out of order is what follows a batch that was not written yet; the first of all is so only if a broker knows better."""
        return (fact in MAY_PASS or (fact == OUT_OF_ORDER and not each.was_first)) and self._has_time(each)

    def _has_time(self, each: _Batch) -> bool:
        in_time = self._time.now_ns() < each.give_up_ns
        return in_time and each.retries < self._workload.retries and not self._stopped

    def _end(self, each: _Batch) -> None:
        self._open.remove(each)
        each.over(each.attempts.end())

    # -- one after the other --------------------------------------------------------------------------------------------

    def _wait_for_the_first(self) -> None:
        """Only the first that is not over is sent again; those behind it when it is."""
        if self._open and not self._open[0].on_its_way:
            first = self._open[0]
            attempt = first.retries
            delay_ns = max(0, first.due_ns - self._time.now_ns())
            self._time.after(delay_ns, lambda: self._repeat(first, attempt))

    def _repeat(self, each: _Batch, attempt: int) -> None:
        if each not in self._open or each.on_its_way or each.retries != attempt or self._broken:
            return  # something else came first
        if self._has_time(each):
            each.retries += 1
            self._leaves(each)
            each.attempts.again(each.records)
        else:
            self._broken = True
            self._end(each)
            self._mend()

    # -- a new epoch ----------------------------------------------------------------------------------------------------

    def _mend(self) -> None:
        """A batch was given up, so its sequences may never come: those behind it cannot be written in this epoch.

        Kafka's producer waits for what is on its way, then raises the epoch and numbers the rest anew. What may be in the log is
        not the rest: under another number it would be a second copy.
        """
        for each in [each for each in self._open if not each.on_its_way]:
            if each.attempts.outcome.type != "fail" or not self._has_time(each):
                self._end(each)
        if any(each.on_its_way for each in self._open):
            return
        self._broken = False
        self.raise_epoch()
        if self._worn_out:
            self.stop()
        for each in self._open:
            each.records = self._numbered(each.records)
        self._wait_for_the_first()
