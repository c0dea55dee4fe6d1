"""replication/fetcher.py: the connections on which a broker follows others (5.13, 5.23, 5.46).

In     partitions that follow, as their roles come and go; answers
Out    one fetch in flight per fetcher, for all its partitions that are ready and not backing off
Keeps  a follower with a leader is with exactly one fetcher, to that leader; a leader with none
"""

from __future__ import annotations

import msgspec

from replication.broker_state import BrokerState
from replication.crc import crc32c
from replication.env import NANOSECONDS, Failure
from replication.errors import Error
from replication.identity import Key
from replication.messages import (
    EARLIEST,
    LATEST,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    ListedOffset,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
)
from replication.partition import Partition
from replication.rules.fetch import AfterError
from replication.state import FetchAsked, LeaderEnd


class Fetchers:
    """All fetchers of one broker."""

    def __init__(self, broker: BrokerState) -> None:
        self.broker = broker
        self._fetchers: dict[tuple[int, int], Fetcher] = {}
        self._home: dict[Key, Fetcher] = {}

    def place(self, partition: Partition) -> None:
        """5.11, 5.12, 5.46 Put a partition where its role says, afresh: what an older fetch still brings is then not asked
        for."""
        role = partition.follower
        self.remove(partition.key)
        if role is None or role.failed or partition.offline or role.following.leader not in self.broker.image.brokers:
            return
        fetcher = self._fetcher(role.following.leader, self._number(partition.key))
        self._home[partition.key] = fetcher
        fetcher.add(partition)
        partition.log.on_settled = fetcher.kick
        fetcher.kick_soon()

    def remove(self, key: Key) -> None:
        if fetcher := self._home.pop(key, None):
            fetcher.remove(key)
            fetcher.kick_soon()  # the others may have waited for this one

    def of(self, key: Key) -> Fetcher | None:
        return self._home.get(key)

    def _number(self, key: Key) -> int:
        return crc32c(key[0] + key[1].to_bytes(4, "big")) % self.broker.settings.num_replica_fetchers

    def _fetcher(self, leader: int, number: int) -> Fetcher:
        fetcher = self._fetchers.get((leader, number))
        if fetcher is None:
            fetcher = self._fetchers[leader, number] = Fetcher(self.broker, leader, number)
        return fetcher


class Place(msgspec.Struct):
    """One partition at its fetcher."""

    partition: Partition
    resting: bool = False
    """Backing off, asking the leader for its ends, or waiting for new metadata: left out of fetches."""


class Fetcher:
    """One connection to one leader."""

    def __init__(self, broker: BrokerState, leader: int, number: int) -> None:
        self.broker, self.leader, self.channel = broker, leader, f"fetch-{number}"
        self.places: dict[Key, Place] = {}
        self._in_flight = False
        self._resting = False
        self._kicking = False

    def add(self, partition: Partition) -> None:
        self.places[partition.key] = Place(partition)

    def remove(self, key: Key) -> None:
        del self.places[key]

    # -- fetching -------------------------------------------------------------------------------------------------------

    def kick_soon(self) -> None:
        """After this event: partitions that come together are asked for together."""
        if not self._kicking:
            self._kicking = True
            self.broker.env.after(0, self._kick_now)

    def _kick_now(self) -> None:
        self._kicking = False
        self.kick()

    def kick(self) -> None:
        """Send the next fetch, if none is under way and every partition is ready for it (5.41: synced before the next fetch).

        One that is not holds up the others, as a synchronous write would; left out, it would miss a whole fetch wait.
        """
        if self._in_flight or self._resting:
            return
        asked: dict[Key, FetchPartition] = {}
        for key, place in self.places.items():
            role = place.partition.follower
            if not place.resting and role is not None:
                if not role.log.settled:
                    return
                asked[key] = role.request()
        if not asked:
            return
        self._in_flight = True
        settings = self.broker.settings
        request = FetchRequest(
            settings.replica_fetch_wait_max_ms,
            settings.replica_fetch_min_bytes,
            settings.replica_fetch_response_max_bytes,
            tuple(asked.values()),
            self.broker.node_id,
            self.broker.broker_epoch,
        )
        timeout = settings.replica_socket_timeout_ms * NANOSECONDS
        self.broker.env.request(self.leader, self.channel, request, timeout, lambda answer: self._on_answer(asked, answer))

    def _on_answer(self, asked: dict[Key, FetchPartition], answer: FetchResponse | Failure) -> None:
        self._in_flight = False
        if isinstance(answer, Failure) or answer.error_code is not Error.NONE:
            self._rest()
            return
        for response in answer.responses:
            key = response.topic_id, response.partition_index
            partition, fetched = self.broker.partitions.get(key), asked.get(key)
            if partition is not None and fetched is not None and partition.follower is not None:
                asked_then = FetchAsked(self.leader, fetched.current_leader_epoch, fetched.fetch_offset)
                self._then(self.places.get(key), partition.follower.on_fetched(asked_then, response))
        self.kick()

    def _then(self, place: Place | None, action: AfterError | None) -> None:
        """5.23"""
        if place is None or action is None or action is AfterError.IGNORE:
            return
        place.resting = True
        if action is AfterError.BACK_OFF:
            self._wake_later(place)
        elif action is AfterError.ASK:
            self._ask(place, LATEST, None)

    # -- backing off ----------------------------------------------------------------------------------------------------

    def _rest(self) -> None:
        """The connection failed: all of its partitions wait."""
        self._resting = True
        self.broker.env.after(self._backoff_ns(), self._wake)

    def _wake(self) -> None:
        self._resting = False
        self.kick()

    def _wake_later(self, place: Place) -> None:
        def wake() -> None:
            place.resting = False
            self.kick()

        self.broker.env.after(self._backoff_ns(), wake)

    def _backoff_ns(self) -> int:
        return self.broker.settings.replica_fetch_backoff_ms * NANOSECONDS

    # -- out of range ---------------------------------------------------------------------------------------------------

    def _ask(self, place: Place, timestamp: int, leader_end: int | None) -> None:
        """5.23 Where does the leader's log end, and then where does it start?"""
        role = place.partition.follower
        if role is None:
            return
        topic, index = place.partition.log.name
        question = ListOffsetsPartition(topic, index, timestamp, role.following.leader_epoch)
        request = ListOffsetsRequest((question,), self.broker.node_id)
        timeout = self.broker.settings.replica_socket_timeout_ms * NANOSECONDS

        def on_answer(answer: ListOffsetsResponse | Failure) -> None:
            if self.places.get(place.partition.key) is not place or place.partition.follower is not role:
                return  # the partition has moved on
            if isinstance(answer, Failure):
                self._wake_later(place)
            else:
                self._on_listed(place, answer.partitions[0], leader_end)

        self.broker.env.request(self.leader, self.channel, request, timeout, on_answer)

    def _on_listed(self, place: Place, listed: ListedOffset, leader_end: int | None) -> None:
        role = place.partition.follower
        if role is None:
            return
        if listed.error_code is not Error.NONE:
            epoch = role.following.leader_epoch
            action = self.broker.rules.after_fetch_error(listed.error_code, epoch, epoch)
            if action is not AfterError.STOP:
                self._wake_later(place)
        elif leader_end is None:
            self._ask(place, EARLIEST, listed.offset)
        elif role.on_leader_end(LeaderEnd(listed.offset, leader_end)):
            place.resting = False
            self.kick()
        else:
            self._wake_later(place)
