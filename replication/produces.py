"""replication/produces.py: produce requests, from arrival to acknowledgement (section 6).

In     ProduceRequest
Out    appends, each partition alone; one answer when all are decided or the time is up
Keeps  a produce that waits knows its own results; where it waits for is the partition's business
"""

from __future__ import annotations

from replication.broker_state import BrokerState
from replication.deadlines import Deadlines
from replication.env import CLOSE, NANOSECONDS, Request
from replication.errors import Error
from replication.messages import ProducedPartition, ProducePartition, ProduceRequest, ProduceResponse
from replication.partition import Appended, Partition
from replication.rules.produce import Verdict


class Produces:
    """The produce path of one broker."""

    def __init__(self, broker: BrokerState, deadlines: Deadlines) -> None:
        self.broker, self.deadlines = broker, deadlines

    def on_produce(self, request: Request) -> None:
        """6.1 to 6.4, 6.13, 6.14"""
        message: ProduceRequest = request.message
        refusal = self.broker.rules.refuse_acks(message.acks)
        produce = _Produce(self.broker, request, len(message.partitions))
        for index, asked in enumerate(message.partitions):
            if refusal is not None:
                produce.refuse(index, asked, refusal)
            else:
                self._append(produce, index, asked, message.acks)
        if message.acks == 0:
            produce.end_without_ack()
        elif produce.undecided:
            self.deadlines.add(message.timeout_ms * NANOSECONDS, produce)

    def _append(self, produce: _Produce, index: int, asked: ProducePartition, acks: int) -> None:
        key = asked.topic_id, asked.index
        partition = self.broker.partitions.get(key)
        if partition is None:
            produce.refuse(index, asked, self.broker.missing(key))
            return
        appended = partition.append(asked.records, acks)
        if isinstance(appended, Error):
            produce.refuse(index, asked, appended)
            return
        produce.appended[index] = partition, appended
        if self.broker.rules.waits_for_hw(acks, appended.known_copy):
            verdict = partition.judge_waiting(appended.end_offset)
            if isinstance(verdict, Verdict):
                partition.waiting_for_hw.add(appended.end_offset, produce, index)
            else:
                produce.decide(index, verdict)
        elif partition.log.counted_end < appended.end_offset:
            partition.waiting_for_flush.add(appended.end_offset, produce, index)
        else:
            produce.decide(index, None)


class _Produce:
    """One request, and what has been decided of it."""

    def __init__(self, broker: BrokerState, request: Request, partitions: int) -> None:
        self.broker, self.request = broker, request
        self.done = False
        self.undecided = partitions
        self.results: list[ProducedPartition | None] = [None] * partitions
        self.appended: dict[int, tuple[Partition, Appended]] = {}
        if not partitions:
            self._answer()

    def refuse(self, index: int, asked: ProducePartition, error: Error) -> None:
        hint = self.broker.current_leader((asked.topic_id, asked.index)) if error is Error.NOT_LEADER_OR_FOLLOWER else None
        self._decided(index, ProducedPartition(asked.topic_id, asked.index, error, current_leader=hint))

    def decide(self, index: int, error: Error | None) -> None:
        """6.4 What became of an appended batch. With an error it may still be committed later (6.5)."""
        partition, appended = self.appended[index]
        topic_id, number = partition.key
        if error is None:
            start = partition.log.log_start
            result = ProducedPartition(topic_id, number, Error.NONE, appended.base_offset, appended.log_append_time_ms, start)
        else:
            hint = self.broker.current_leader(partition.key) if error is Error.NOT_LEADER_OR_FOLLOWER else None
            result = ProducedPartition(topic_id, number, error, current_leader=hint)
        self._decided(index, result)

    def expire(self) -> None:
        """6.13 The time is up: what is decided keeps its result."""
        for index in self.appended:
            if self.results[index] is None:
                self.decide(index, Error.REQUEST_TIMED_OUT)
        for partition, _ in self.appended.values():
            partition.waiting_for_hw.forget_done()
            partition.waiting_for_flush.forget_done()

    def end_without_ack(self) -> None:
        """6.2, 6.14 With acks=0 nobody waits for an answer; a lost connection is how the client learns of an error."""
        if any(result is not None and result.error_code is not Error.NONE for result in self.results):
            self.broker.env.reply(self.request, CLOSE)
        self.done = True

    def _decided(self, index: int, result: ProducedPartition) -> None:
        if self.results[index] is None:
            self.results[index] = result
            self.undecided -= 1
            if not self.undecided:
                self._answer()

    def _answer(self) -> None:
        if not self.done and self.request.message.acks != 0:
            self.done = True
            decided = tuple(result for result in self.results if result is not None)  # by now all of them
            self.broker.env.reply(self.request, ProduceResponse(decided))
