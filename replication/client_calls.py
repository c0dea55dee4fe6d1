"""replication/client_calls.py: one call of a client on its way: whom it asks, in which order, until when.

In     a question for the leader of a partition, or a request for one node or any
Out    requests through `Env`; `then`, once, by the deadline
Keeps  what may change something, or is answered with data, is sent at most once: no hidden retries. Metadata changes nothing: a
       call whose leader is not known, or failed last time, asks for it first, of one node after another
Not    who leads: leader_cache.py; what answers mean: client_results.py
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from replication.client_results import CORRUPT_ANSWER, FACT_OF_FAILURE, NO_ACK, NOT_SENT, Result, Source
from replication.env import NANOSECONDS, Env, Failure, Then
from replication.errors import Error
from replication.identity import NO_LEADER
from replication.leader_cache import POINT_TO_ANOTHER_LEADER, KnownLeader, LeaderCache
from replication.messages import (
    FetchResponse,
    LeaderIdAndEpoch,
    ListOffsetsResponse,
    Message,
    MetadataRequest,
    MetadataResponse,
    OffsetForLeaderEpochResponse,
    ProduceResponse,
)

CHANNEL = "client"
PARTS = {
    ProduceResponse: "responses",
    FetchResponse: "responses",
    ListOffsetsResponse: "partitions",
    OffsetForLeaderEpochResponse: "partitions",
}
"""Where an answer of a partition's leader keeps what it says of each partition."""

R = TypeVar("R", bound=Result)


class Allowance:
    """The time that one call has for everything, and the world in which it passes."""

    def __init__(self, env: Env, timeout_ms: int) -> None:
        self.env = env
        self._deadline_ns = env.monotonic_ns() + timeout_ms * NANOSECONDS

    def left_ns(self) -> int:
        return self._deadline_ns - self.env.monotonic_ns()

    def request(self, to: int, message: Message, then: Then, shares: int = 1) -> None:
        """A request that takes one of so many equal shares of the time that is left."""
        self.env.request(to, CHANNEL, message, self.left_ns() // shares, then)


class Walk:
    """One request, asked of one node after another until one takes it.

    A node that refuses the connection is passed over, since nothing was sent. Silence ends the walk, because the request may have
    been carried out; only metadata is then asked of the next node. So each node has an equal share of the time for metadata, and
    what is to come after the walk has `shares_after`.
    """

    def __init__(
        self,
        nodes: tuple[int, ...],
        message: Message,
        allowance: Allowance,
        cache: LeaderCache,
        then: Callable[[int, Any], None],
        shares_after: int = 0,
    ) -> None:
        self.message, self.allowance, self.cache, self.then = message, allowance, cache, then
        self.left = list(nodes)
        self.shares_after = shares_after
        self.harmless = isinstance(message, MetadataRequest)

    def ask_next(self) -> None:
        node = self.left.pop(0)
        shares = 1 + len(self.left) + self.shares_after if self.harmless else 1
        self.allowance.request(node, self.message, lambda answer: self._on_answer(node, answer), shares)

    def _on_answer(self, node: int, answer: Any) -> None:
        passed_over = answer is Failure.REFUSED or (self.harmless and isinstance(answer, Failure))
        if passed_over and self.left and self.allowance.left_ns() > 0:
            self.ask_next()
            return
        if isinstance(answer, MetadataResponse):
            self.cache.learn(answer)
        self.then(node, answer)


class Question(Generic[R]):
    """What is asked of a partition's leader, and how to read what it says."""

    def __init__(
        self,
        message: Callable[[KnownLeader, int], Message],
        response: type[Message],
        result: type[R],
        read: Callable[[Any, Source], R],
        is_answered: bool = True,
    ) -> None:
        """`message` is told the leader and the milliseconds left; `read` gets the partition out of a `response`."""
        self.message, self.response, self.result, self.read, self.is_answered = message, response, result, read, is_answered

    def part(self, answer: Any) -> Any:
        """The one partition that an answer speaks of; None where it is no answer to this."""
        if not isinstance(answer, self.response):
            return None
        parts = getattr(answer, PARTS[self.response])
        return parts[0] if len(parts) == 1 else None


class LeaderCall(Generic[R]):
    """One call: perhaps metadata, then the one request to the leader, then the one result."""

    def __init__(
        self, where: tuple[str, int], question: Question[R], allowance: Allowance, cache: LeaderCache, then: Callable[[R], None]
    ) -> None:
        self.where, self.question, self.allowance, self.cache, self.then = where, question, allowance, cache, then
        self.done = False

    def start(self) -> None:
        leader = self.cache.find(*self.where)
        if leader is None or leader.stale:
            nodes, message = self.cache.nodes_in_turn(), MetadataRequest((self.where[0],))
            Walk(nodes, message, self.allowance, self.cache, self._on_metadata, shares_after=1).ask_next()
        else:
            self._send(leader)

    def _on_metadata(self, node: int, answer: Any) -> None:
        """3.18 Send to the leader with the highest leader epoch known by now, which need not be the one in this answer."""
        if not isinstance(answer, MetadataResponse):
            self._not_sent(f"no metadata: {answer.value if isinstance(answer, Failure) else CORRUPT_ANSWER}")
        elif error := self._missing(answer):
            self._not_sent(error.name)
        else:
            leader = self.cache.find(*self.where)
            if leader is None or leader.leader_id == NO_LEADER:
                self._not_sent(Error.LEADER_NOT_AVAILABLE.name)
            elif self.allowance.left_ns() <= 0:
                self._not_sent("no time was left when the leader was found")
            else:
                self._send(leader)

    def _missing(self, answer: MetadataResponse) -> Error | None:
        """Why this answer does not know the partition."""
        topic, partition = self.where
        for told in answer.topics:
            if told.name == topic:
                if told.error_code is not Error.NONE:
                    return told.error_code
                if any(each.partition_index == partition for each in told.partitions):
                    return None
        return Error.UNKNOWN_TOPIC_OR_PARTITION

    def _send(self, leader: KnownLeader) -> None:
        message = self.question.message(leader, self.allowance.left_ns() // NANOSECONDS)
        self.allowance.request(leader.leader_id, message, lambda answer: self._on_answer(leader, answer))
        if not self.question.is_answered:
            self.allowance.env.after(0, lambda: self._end(self.question.result(fact=NO_ACK, leader_epoch=leader.leader_epoch)))

    def _on_answer(self, leader: KnownLeader, answer: Any) -> None:
        if isinstance(answer, Failure):
            self._on_failure(leader, answer)
            return
        part = self.question.part(answer)
        if part is not None:
            self._learn(leader, part.error_code, getattr(part, "current_leader", None))
            self._end(self.question.read(part, Source(leader.leader_id, leader.leader_epoch)))
        else:
            error: Error = getattr(answer, "error_code", Error.NONE)  # of the whole answer, which then speaks of no partition
            self._learn(leader, error, None)
            fact = CORRUPT_ANSWER if error is Error.NONE else error.name
            self._end(self.question.result(fact=fact, node=leader.leader_id, leader_epoch=leader.leader_epoch))

    def _on_failure(self, leader: KnownLeader, failure: Failure) -> None:
        """7.11 Silence counts as a disconnect: a leader behind a cut would else be asked for ever. Not with acks=0, where it is
        the rule."""
        if self.question.is_answered or failure is not Failure.TIMED_OUT:
            self.cache.mark_stale(*self.where, leader)
        fact = FACT_OF_FAILURE[failure] if self.question.is_answered or failure is Failure.REFUSED else NO_ACK
        self._end(self.question.result(fact=fact, leader_epoch=leader.leader_epoch, detail=failure.value))

    def _learn(self, leader: KnownLeader, error: Error, hint: LeaderIdAndEpoch | None) -> None:
        """7.11, 6.12"""
        if error in POINT_TO_ANOTHER_LEADER:
            self.cache.mark_stale(*self.where, leader)
        if hint is not None:
            self.cache.take_hint(*self.where, leader, hint)

    def _not_sent(self, why: str) -> None:
        self._end(self.question.result(fact=NOT_SENT, detail=why))

    def _end(self, result: R) -> None:
        """Once: with acks=0 the connection may still end after the call has."""
        if not self.done:
            self.done = True
            self.then(result)
