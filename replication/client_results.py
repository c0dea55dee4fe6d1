"""replication/client_results.py: what a client tells of one call: facts, never outcomes (CHECKERS section 2).

In     an answer, or why there is none
Out    one immutable result per call. `fact` is SUCCESS, the name of Kafka's error, or one of the words below
Keeps  None means "not known" or "does not apply": Kafka's -1 ends here
Not    whether a fact means that something happened: the harness decides that, for every kind of client
"""

from __future__ import annotations

from typing import Any

import msgspec

from replication.admin_messages import AdminResponse
from replication.batch import Record, decode, header_at, is_whole
from replication.env import Failure
from replication.errors import Error
from replication.messages import (
    EpochEndOffset,
    FetchedPartition,
    InitProducerIdResponse,
    ListedOffset,
    Message,
    OffsetForLeaderResult,
    ProducedPartition,
)

SUCCESS = "SUCCESS"
NOT_SENT = "NOT_SENT"  # the request never left: nothing can have happened
CONNECTION_LOST = "CONNECTION_LOST"  # it left, then the connection ended
TIMED_OUT = "TIMED_OUT"  # it left, and no answer came in time
NO_ACK = "NO_ACK"  # it left, with acks=0: nobody will ever answer
CORRUPT_ANSWER = "CORRUPT_ANSWER"  # an answer came, and is damaged or no answer to this

FACT_OF_FAILURE = {Failure.REFUSED: NOT_SENT, Failure.LOST: CONNECTION_LOST, Failure.TIMED_OUT: TIMED_OUT}


class Source(msgspec.Struct, frozen=True):
    """Where an answer comes from."""

    node: int
    leader_epoch: int


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What every call tells."""

    fact: str
    node: int | None = None
    """Who answered."""
    leader_epoch: int | None = None
    """Under which the leader was asked. A produce carries none (6.1): there it is what the client believed."""
    detail: str | None = None
    """For people, and where nothing was sent: why."""


class Produced(Result, frozen=True, kw_only=True):
    base_offset: int | None = None
    log_append_time_ms: int | None = None
    log_start_offset: int | None = None


class Fetched(Result, frozen=True, kw_only=True):
    """In an answer with fact CORRUPT_ANSWER, `records` are those before the damage."""

    records: tuple[Record, ...] = ()
    high_watermark: int | None = None
    log_start_offset: int | None = None
    diverging_epoch: EpochEndOffset | None = None


class Listed(Result, frozen=True, kw_only=True):
    """`offset` None with SUCCESS: no record is that young (7.9)."""

    offset: int | None = None
    timestamp: int | None = None
    offset_leader_epoch: int | None = None
    """Under which the record at `offset` was, or would be, appended."""


class EpochEnd(Result, frozen=True, kw_only=True):
    """`end_offset` None with SUCCESS: the leader knows no such leader epoch (7.5)."""

    end_leader_epoch: int | None = None
    end_offset: int | None = None


class ProducerId(Result, frozen=True, kw_only=True):
    producer_id: int | None = None
    producer_epoch: int | None = None


class Answered(Result, frozen=True, kw_only=True):
    """Of requests that any node may take: the answer itself. `fact` is the first error in it."""

    answer: Any = None


# -- from answers -------------------------------------------------------------------------------------------------------


def fact_of(error: Error) -> str:
    return SUCCESS if error is Error.NONE else error.name


def produced(part: ProducedPartition, source: Source) -> Produced:
    return Produced(
        fact=fact_of(part.error_code),
        node=source.node,
        leader_epoch=source.leader_epoch,
        base_offset=_known(part.base_offset),
        log_append_time_ms=_known(part.log_append_time_ms),
        log_start_offset=_known(part.log_start_offset),
    )


def fetched(part: FetchedPartition, source: Source, asked_offset: int) -> Fetched:
    """7.7 Without the records of the first batch that lie below the offset asked for."""
    records, whole = _records(part.records)
    return Fetched(
        fact=fact_of(part.error_code) if whole else CORRUPT_ANSWER,
        node=source.node,
        leader_epoch=source.leader_epoch,
        records=tuple(record for record in records if record.offset >= asked_offset),
        high_watermark=_known(part.high_watermark),
        log_start_offset=_known(part.log_start_offset),
        diverging_epoch=part.diverging_epoch,
    )


def listed(part: ListedOffset, source: Source) -> Listed:
    return Listed(
        fact=fact_of(part.error_code),
        node=source.node,
        leader_epoch=source.leader_epoch,
        offset=_known(part.offset),
        timestamp=_known(part.timestamp),
        offset_leader_epoch=_known(part.leader_epoch),
    )


def epoch_end(part: OffsetForLeaderResult, source: Source) -> EpochEnd:
    return EpochEnd(
        fact=fact_of(part.error_code),
        node=source.node,
        leader_epoch=source.leader_epoch,
        end_leader_epoch=_known(part.leader_epoch),
        end_offset=_known(part.end_offset),
    )


def producer_id(asked: Answered) -> ProducerId:
    answer = asked.answer
    if answer is None:
        return ProducerId(fact=asked.fact, node=asked.node, detail=asked.detail)
    if not isinstance(answer, InitProducerIdResponse):
        return ProducerId(fact=CORRUPT_ANSWER, node=asked.node)
    return ProducerId(
        fact=asked.fact,
        node=asked.node,
        producer_id=_known(answer.producer_id),
        producer_epoch=_known(answer.producer_epoch),
    )


def answered(node: int, answer: Any) -> Answered:
    """Of the things that an administrative request names each has its own error: the first one is the fact, all are in it."""
    if isinstance(answer, Failure):
        return Answered(fact=FACT_OF_FAILURE[answer], detail=answer.value)
    if not isinstance(answer, Message):
        return Answered(fact=CORRUPT_ANSWER, node=node)
    errors: list[Error] = [getattr(answer, "error_code", Error.NONE)]
    if isinstance(answer, AdminResponse):
        errors += [result.error_code for result in answer.results]
    fact = next((error.name for error in errors if error is not Error.NONE), SUCCESS)
    return Answered(fact=fact, node=node, answer=answer)


def _known(number: int) -> int | None:
    return None if number < 0 else number


def _records(data: bytes) -> tuple[list[Record], bool]:
    """5.45 The records up to the first damage, and whether there is none.

    A broker may cut its answer inside a batch, behind at least one whole one: the rest comes with the next fetch.
    """
    records: list[Record] = []
    position = 0
    while header := header_at(data, position):
        if not is_whole(data, header, position):
            return records, False
        try:
            batch = decode(data, header, position)
        except ValueError:
            return records, False
        records += batch
        position += header.size
    return records, position > 0 or not data
