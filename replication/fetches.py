"""replication/fetches.py: fetch requests of followers and consumers, answered at once or parked (5.14 to 5.18, 5.40, 7.1, 7.2,
7.7).

In     FetchRequest; wake-ups from partitions
Out    one FetchResponse each
Keeps  a follower's state is updated once, when its fetch arrives; a parked fetch is judged and read again when it completes (B57)
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from replication.broker_state import BrokerState
from replication.deadlines import Deadlines
from replication.env import NANOSECONDS, Request
from replication.errors import Error
from replication.messages import CONSUMER, FetchedPartition, FetchPartition, FetchRequest, FetchResponse
from replication.partition import Partition
from replication.waiting import FetchWaiters


class Readable(msgspec.Struct):
    """One partition of a fetch that may be read: its bounds as they were at one moment."""

    asked: FetchPartition
    partition: Partition
    hw: int
    log_start: int
    end: int


Looks = Sequence[Readable | FetchedPartition]
"""Each partition of a fetch: what may be read, or what must be told instead."""


class Fetches:
    """The fetch path of one broker."""

    def __init__(self, broker: BrokerState, deadlines: Deadlines) -> None:
        self.broker, self.deadlines = broker, deadlines

    def on_fetch(self, request: Request) -> None:
        """5.17, 5.40 Judge, sample, remember; then answer or park."""
        fetch: FetchRequest = request.message
        if fetch.session_id:
            self.broker.env.reply(request, FetchResponse((), Error.FETCH_SESSION_ID_NOT_FOUND))  # 7.8
            return
        looks = self.looks(fetch)
        if fetch.replica_id != CONSUMER:
            self.remember(fetch, looks)
        if self.must_park(fetch, looks):
            self.deadlines.add(fetch.max_wait_ms * NANOSECONDS, ParkedFetch(self, request, looks))
        else:
            self.answer(request, looks)

    def looks(self, fetch: FetchRequest) -> Looks:
        """5.14 to 5.16, 7.1 to 7.3 Each partition as it is now."""
        broker, from_replica = self.broker, fetch.replica_id != CONSUMER
        looks: list[Readable | FetchedPartition] = []
        for asked in fetch.partitions:
            key = asked.topic_id, asked.partition
            partition = broker.partitions.get(key)
            if partition is None:
                looks.append(FetchedPartition(*key, error_code=broker.missing(key), current_leader=broker.current_leader(key)))
            elif trouble := partition.refuse_fetch(fetch.replica_id, fetch.replica_epoch, asked):
                looks.append(trouble)
            else:
                log = partition.log
                end = broker.rules.readable_end(from_replica, log.hw, log.leo)
                looks.append(Readable(asked, partition, log.hw, log.log_start, end))
        return looks

    def remember(self, fetch: FetchRequest, looks: Looks) -> None:
        """5.16 to 5.18 What a fetch tells its leaders; the bounds in `looks` are those of before it counted."""
        counts = self.broker.rules.counts
        for asked, look in zip(fetch.partitions, looks, strict=True):
            partition: Partition | None
            if isinstance(look, Readable):
                partition, told = look.partition, None
            else:
                partition, told = self.broker.partitions.get((asked.topic_id, asked.partition)), look
            if counts(told) and partition is not None and partition.leader is not None:
                partition.leader.remember(fetch.replica_id, fetch.replica_epoch, asked)

    def must_park(self, fetch: FetchRequest, looks: Looks) -> bool:
        """5.40"""
        readable, telling = 0, not looks
        for look in looks:
            if not isinstance(look, Readable):
                telling = True
            elif look.asked.fetch_offset < look.end:
                readable += look.partition.log.readable_bytes(look.asked.fetch_offset, look.end)
        return self.broker.rules.must_park(fetch.max_wait_ms, readable, fetch.min_bytes, telling)

    def answer(self, request: Request, looks: Looks) -> None:
        """7.7 In the order asked, while there is room; the first partition with anything gives at least one whole batch."""
        fetch: FetchRequest = request.message
        room, first, responses = fetch.max_bytes, True, []
        for look in looks:
            response = self._read(look, room, first) if isinstance(look, Readable) else look
            room -= len(response.records)
            first = first and not response.records
            responses.append(response)
        self.broker.env.reply(request, FetchResponse(tuple(responses)))

    def _read(self, look: Readable, room: int, first: bool) -> FetchedPartition:
        asked = look.asked
        records: bytes | None = b""
        if (first or room > 0) and asked.fetch_offset < look.end:
            records = look.partition.log.read(asked.fetch_offset, look.end, min(room, asked.partition_max_bytes), first)
        if records is None:
            return FetchedPartition(asked.topic_id, asked.partition, Error.KAFKA_STORAGE_ERROR)
        return FetchedPartition(asked.topic_id, asked.partition, Error.NONE, look.hw, look.hw, look.log_start, records)


class ParkedFetch:
    """A fetch that waits for something to read."""

    def __init__(self, fetches: Fetches, request: Request, looks: Looks) -> None:
        self.fetches, self.request, self.at_arrival = fetches, request, looks
        self.fetch: FetchRequest = request.message
        self.done = False
        self._overdue = False
        self._partitions = [look.partition for look in looks if isinstance(look, Readable)]
        for partition in self._partitions:
            self._waiters(partition).add(self)

    def recheck(self) -> None:
        """Something moved: answer if that makes it ready. Nothing is answered for a leader that is taking office (5.41)."""
        offices = self.fetches.broker.taking_office
        if self.done or (offices and any(partition.taking_office for partition in self._partitions)):
            return
        looks = self.fetches.looks(self.fetch)
        if self._overdue or not self.fetches.must_park(self.fetch, looks):
            self._complete(looks)

    def expire(self) -> None:
        self._overdue = True
        self.recheck()

    def _complete(self, looks: Looks) -> None:
        """5.40 With what is true now."""
        self.done = True
        for partition in self._partitions:
            self._waiters(partition).remove(self)
        rules = self.fetches.broker.rules
        if rules.counts_again_at_completion():
            self.fetches.remember(self.fetch, looks)
        self.fetches.answer(self.request, rules.bounds_of_completion(self.at_arrival, looks))

    def _waiters(self, partition: Partition) -> FetchWaiters:
        return partition.consumer_fetches if self.fetch.replica_id == CONSUMER else partition.replica_fetches
