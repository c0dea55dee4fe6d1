"""clusters/clients/raw.py: operations as requests of our own client, answers as facts.

In     batches of operations; an Env, the simulator's or the one over sockets
Out    one request per batch; `done`, once and after `submit` has returned, with one answer per operation
Keeps  nothing but what the client knows of leaders. An answer that cannot be one is CORRUPT_ANSWER, never a guess
       A poll names its position and does not have it checked against the log (7.5): what was cut off below it is for checkers to
       find, not for the client to hide
Not    retries and positions (workloads/), outcomes (model/outcome.py), times and numbers (harness/recorder.py)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from model.operation import Answer, Operation
from model.outcome import CORRUPT_ANSWER, SUCCESS
from model.value import from_payload, to_payload
from replication.batch import Record, encode
from replication.client import NO_WAIT, Client, Limits, Position
from replication.client_results import Fetched, Listed, Produced, ProducerId
from replication.env import Env
from replication.messages import EARLIEST, LATEST

Done = Callable[[tuple[Answer, ...]], None]

RECORD_ROOM = 96  # bytes a record may need beside its value: a batch header of its own, and its own fields
MOST_BYTES = 50 * 2**20  # of one answer, as with Kafka's own consumer
POLL_RECORDS = 500  # of one poll, as with Kafka's own consumer
POLL_WAIT_MS = 100  # how long the leader may wait for a record
SEQUENCES = 2**31  # PROTOCOL 6.10: sequences wrap to 0


class RawClient:
    """One client group's way in, through replication/client.py."""

    def __init__(self, env: Env, bootstrap: Sequence[int], timeout_ms: int) -> None:
        self._env = env
        self._client = Client(env, bootstrap, timeout_ms)
        self._calls: dict[str, Callable[[Operation, Done], None]] = {
            "read": self._read,
            "end_offset": lambda asked, done: self._list(asked, LATEST, done),
            "start_offset": lambda asked, done: self._list(asked, EARLIEST, done),
            "poll": self._poll,
            "assign": self._assign,
            "init": self._init,
        }

    def submit(self, batch: tuple[Operation, ...], done: Done) -> None:
        """Several appends to one partition are one record batch; everything else goes alone."""
        kind = batch[0].kind
        if kind == "append":
            self._append(batch, done)
        elif kind not in self._calls:
            raise ValueError(f"this client knows no {kind}")
        elif len(batch) > 1:
            raise ValueError(f"only appends can share a request, not {kind}")
        else:
            self._calls[kind](batch[0], done)

    # -- one request each -----------------------------------------------------------------------------------------------

    def _append(self, batch: tuple[Operation, ...], done: Done) -> None:
        acks = _shared_acks(batch)
        records = _encoded(batch, self._env.wall_ms())

        def then(result: Produced) -> None:
            done(tuple(_appended(result, index) for index in range(len(batch))))

        self._client.produce(*_partition_of(batch[0]), records, acks, then)

    def _read(self, asked: Operation, done: Done) -> None:
        if asked.from_offset is None:
            raise ValueError("a read needs an offset to begin at")
        from_offset, most = asked.from_offset, asked.max_records
        limits = NO_WAIT if most is None else Limits(min(MOST_BYTES, most * (RECORD_ROOM + asked.size)))

        def then(result: Fetched) -> None:
            done((_read_answer(result, from_offset, most),))

        self._client.fetch(*_partition_of(asked), Position(from_offset), limits, then)

    def _poll(self, asked: Operation, done: Done) -> None:
        """A consumer's fetch: it waits at the end of the log, and does not tell where that is (CHECKERS 1.1)."""
        if asked.from_offset is None:
            raise ValueError("a poll needs a position")
        from_offset = asked.from_offset
        limits = Limits(min(MOST_BYTES, POLL_RECORDS * (RECORD_ROOM + asked.size)), POLL_WAIT_MS)

        def then(result: Fetched) -> None:
            done((msgspec.structs.replace(_read_answer(result, from_offset, POLL_RECORDS), at_end=None),))

        self._client.fetch(*_partition_of(asked), Position(from_offset), limits, then)

    def _assign(self, asked: Operation, done: Done) -> None:
        """Nobody is asked: the consumer begins to read somewhere."""
        position = asked.offset
        if position is None:
            raise ValueError("an assignment needs a position")
        _partition_of(asked)
        self._env.after(0, lambda: done((Answer(fact=SUCCESS, offset=position),)))

    def _list(self, asked: Operation, timestamp: int, done: Done) -> None:
        self._client.list_offsets(*_partition_of(asked), timestamp, lambda result: done((_listed(result),)))

    def _init(self, asked: Operation, done: Done) -> None:
        self._client.init_producer_id(lambda result: done((_producer(result),)))


# -- operations to bytes ------------------------------------------------------------------------------------------------


def _partition_of(asked: Operation) -> tuple[str, int]:
    if asked.topic is None or asked.partition is None:
        raise ValueError(f"{asked.kind} needs a topic and a partition")
    return asked.topic, asked.partition


def _shared_acks(batch: tuple[Operation, ...]) -> int:
    first = batch[0]
    if first.acks is None:
        raise ValueError("an append needs acks")
    for index, each in enumerate(batch):
        if (each.kind, each.topic, each.partition, each.acks) != (first.kind, first.topic, first.partition, first.acks):
            raise ValueError("one request holds appends to one partition with the same acks")
        if (each.producer_id, each.producer_epoch) != (first.producer_id, first.producer_epoch):
            raise ValueError("one batch has one producer")
        if each.sequence != _following(first.sequence, index):
            raise ValueError("a batch carries only its first sequence: the others must follow it")
    return first.acks


def _following(sequence: int | None, index: int) -> int | None:
    return None if sequence is None else (sequence + index) % SEQUENCES


def _encoded(batch: tuple[Operation, ...], now_ms: int) -> bytes:
    first = batch[0]
    return encode(
        [Record(_payload(each), timestamp=now_ms) for each in batch],
        producer_id=_or_none(first.producer_id),
        producer_epoch=_or_none(first.producer_epoch),
        base_sequence=_or_none(first.sequence),
    )


def _payload(asked: Operation) -> bytes:
    if asked.value is None:
        raise ValueError("an append needs a value")
    return to_payload(asked.value, asked.size)


def _or_none(number: int | None) -> int:
    """Kafka writes "none" as -1."""
    return -1 if number is None else number


# -- results to answers -------------------------------------------------------------------------------------------------


def _appended(result: Produced, index: int) -> Answer:
    """CHECKERS 1.1: without a leader epoch, because a produce carries none and any answer may come from a later one."""
    base = result.base_offset if result.fact == SUCCESS else None
    return Answer(fact=result.fact, node=result.node, offset=None if base is None else base + index)


def _read_answer(result: Fetched, from_offset: int, most: int | None) -> Answer:
    if result.fact != SUCCESS:
        return Answer(fact=result.fact, node=result.node)
    records = result.records[:most]
    values = tuple(value for record in records if (value := from_payload(record.value or b"")) is not None)
    if len(values) < len(records):  # not one of ours: left out, it would look like a hole in the log
        return Answer(fact=CORRUPT_ANSWER, node=result.node)
    offsets = tuple(record.offset for record in records)
    dense = not offsets or offsets == tuple(range(offsets[0], offsets[0] + len(offsets)))
    return Answer(
        fact=SUCCESS,
        node=result.node,
        base_offset=offsets[0] if dense and offsets else None,
        values=values,
        offsets=None if dense else offsets,
        epochs=_epochs(records),
        at_end=_at_end(offsets[-1] + 1 if offsets else from_offset, result.high_watermark, empty=not offsets),
        leader_epoch=_known(result.leader_epoch),
    )


def _at_end(end: int, high_watermark: int | None, *, empty: bool) -> bool | None:
    """CHECKERS 1.1: whether the answer reached the high watermark, whatever limit it had."""
    if high_watermark is None:
        return None
    return end >= high_watermark if empty else end == high_watermark


def _epochs(records: Sequence[Record]) -> tuple[int, ...] | None:
    epochs = tuple(record.leader_epoch for record in records)
    return epochs if min(epochs, default=0) >= 0 else None


def _listed(result: Listed) -> Answer:
    if result.fact != SUCCESS:
        return Answer(fact=result.fact, node=result.node)
    if result.offset is None:  # every log has a start and an end
        return Answer(fact=CORRUPT_ANSWER, node=result.node)
    return Answer(fact=SUCCESS, node=result.node, offset=result.offset, leader_epoch=_known(result.leader_epoch))


def _producer(result: ProducerId) -> Answer:
    if result.fact != SUCCESS:
        return Answer(fact=result.fact, node=result.node)
    if result.producer_id is None or result.producer_epoch is None:
        return Answer(fact=CORRUPT_ANSWER, node=result.node)
    return Answer(fact=SUCCESS, node=result.node, producer_id=result.producer_id, producer_epoch=result.producer_epoch)


def _known(epoch: int | None) -> int | None:
    return None if epoch is None or epoch < 0 else epoch
