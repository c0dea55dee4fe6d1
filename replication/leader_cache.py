"""replication/leader_cache.py: what one client knows of a cluster: who leads which partition, and which nodes to ask (7.11).

In     metadata answers; hints in the answers of brokers; that a leader turned out not to be one
Out    the leader with the highest leader epoch ever heard of, and whether to ask again before believing in it
Keeps  for one topic id a leader epoch never goes back; another topic id under the same name is another topic, and starts anew.
       The nodes are those that the client began with and the brokers of the last metadata answer
Not    asking: client_calls.py
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from replication.errors import Error
from replication.identity import NO_LEADER
from replication.messages import LeaderIdAndEpoch, MetadataResponse, MetadataTopic

POINT_TO_ANOTHER_LEADER = frozenset(
    {
        Error.NOT_LEADER_OR_FOLLOWER,
        Error.FENCED_LEADER_EPOCH,
        Error.UNKNOWN_LEADER_EPOCH,
        Error.UNKNOWN_TOPIC_OR_PARTITION,
        Error.UNKNOWN_TOPIC_ID,
        Error.LEADER_NOT_AVAILABLE,
        Error.KAFKA_STORAGE_ERROR,
    }
)
"""7.11 Errors that say: what you know may be old. UNKNOWN_LEADER_EPOCH mostly means that the broker lags; but where the topic was
created again, epochs began anew, and a request that names it by name is told nothing else."""


class KnownLeader(msgspec.Struct, frozen=True, gc=False):
    """One partition's leader, as last heard."""

    topic_id: bytes
    leader_id: int
    leader_epoch: int
    stale: bool = False
    """Ask for metadata before the next use: there is no leader, or this one failed us."""


class LeaderCache:
    """Leaders by partition; nodes in turn."""

    def __init__(self, bootstrap: Sequence[int]) -> None:
        if not bootstrap:
            raise ValueError("a client needs at least one node to begin with")
        self._topics: dict[str, dict[int, KnownLeader]] = {}
        self._bootstrap = self._nodes = tuple(dict.fromkeys(bootstrap))
        self._turn = 0

    def nodes_in_turn(self) -> tuple[int, ...]:
        """Every known node once. Each time another one begins, so that one that is slow or lags does not serve all."""
        first = self._turn % len(self._nodes)
        self._turn += 1
        return self._nodes[first:] + self._nodes[:first]

    def find(self, topic: str, partition: int) -> KnownLeader | None:
        return self._topics.get(topic, {}).get(partition)

    def learn(self, answer: MetadataResponse) -> None:
        """3.18"""
        self._nodes = tuple(dict.fromkeys((*self._bootstrap, *(broker.node_id for broker in answer.brokers))))
        for topic in answer.topics:
            self._learn(topic)

    def _learn(self, topic: MetadataTopic) -> None:
        """The broker that answered may lag: where more is known than it says, that is kept, stale or not."""
        if topic.error_code is not Error.NONE or topic.name is None:
            return
        known = self._topics.setdefault(topic.name, {})
        if any(leader.topic_id != topic.topic_id for leader in known.values()):
            known.clear()
        for told in topic.partitions:
            before = known.get(told.partition_index)
            # An equal epoch counts as news: a leader that was fenced and is let serve again keeps its epoch.
            if before is None or told.leader_epoch >= before.leader_epoch:
                known[told.partition_index] = _heard(topic.topic_id, told.leader_id, told.leader_epoch)

    def take_hint(self, topic: str, partition: int, used: KnownLeader, hint: LeaderIdAndEpoch) -> None:
        """6.12 A broker that was asked as `used` says who leads instead."""
        now = self.find(topic, partition)
        if now is not None and now.topic_id == used.topic_id and hint.leader_epoch > now.leader_epoch:
            self._topics[topic][partition] = _heard(used.topic_id, hint.leader_id, hint.leader_epoch)

    def mark_stale(self, topic: str, partition: int, used: KnownLeader) -> None:
        """The leader `used` failed us. If another is known by now, that one did not."""
        now = self.find(topic, partition)
        if now is not None and (now.topic_id, now.leader_epoch) == (used.topic_id, used.leader_epoch):
            self._topics[topic][partition] = msgspec.structs.replace(now, stale=True)


def _heard(topic_id: bytes, leader_id: int, leader_epoch: int) -> KnownLeader:
    return KnownLeader(topic_id, leader_id, leader_epoch, stale=leader_id == NO_LEADER)
