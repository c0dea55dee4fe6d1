"""replication/broker_state.py: what the parts of one broker share.

In     broker.py changes it: a registration, a new image
Out    its parts read it; they know one another only through what they are given here
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from replication.env import NANOSECONDS, Env
from replication.errors import Error
from replication.identity import NO_EPOCH, Key
from replication.image import MetadataImage
from replication.messages import LeaderIdAndEpoch
from replication.rules import Rules
from replication.settings import BrokerSettings

if TYPE_CHECKING:
    from replication.partition import Partition


class BrokerState:
    """One broker's identity, world, rules, settings, metadata and replicas."""

    def __init__(self, node_id: int, env: Env, rules: Rules, settings: BrokerSettings) -> None:
        self.node_id, self.env, self.rules, self.settings = node_id, env, rules, settings
        self.broker_epoch = NO_EPOCH
        self.image = MetadataImage()
        self.partitions: dict[Key, Partition] = {}
        self.lag_max_ns = settings.replica_lag_time_max_ms * NANOSECONDS
        self.taking_office: set[Key] = set()
        """5.41 Partitions whose new leader epoch is not yet durable: nothing is answered for them, requests are held."""
        self.offline: set[Key] = set()
        """10.3 Replicas of this broker whose log lies, as far as it knows, in a directory that is offline."""
        self.release: Callable[[], None] = lambda: None
        """Let go requests that waited for an office to be taken."""
        self.lag_now: Callable[[], int] = self._wall_ns if settings.tidemark_lag_clock == "wall" else env.monotonic_ns
        """1.12 The clock that replica lag is measured with; the wall clock, if a plan wants clock jumps to bite as in Kafka."""

    def _wall_ns(self) -> int:
        return self.env.wall_ms() * NANOSECONDS

    def missing(self, key: Key) -> Error:
        """6.12, 3.16 Why there is no such replica here."""
        if key in self.offline:
            return Error.KAFKA_STORAGE_ERROR
        topic_id, index = key
        topic = self.image.topics.get(topic_id)
        if topic is None:
            return Error.UNKNOWN_TOPIC_ID
        return Error.NOT_LEADER_OR_FOLLOWER if index in topic.partitions else Error.UNKNOWN_TOPIC_OR_PARTITION

    def by_name(self, topic: str, index: int) -> Partition | Error:
        """For requests that name topics."""
        topic_id = self.image.ids.get(topic)
        if topic_id is None:
            return Error.UNKNOWN_TOPIC_OR_PARTITION
        return self.partitions.get((topic_id, index)) or self.missing((topic_id, index))

    def current_leader(self, key: Key) -> LeaderIdAndEpoch | None:
        """6.12 A hint for whoever asked the wrong broker."""
        state = self.image.partition(*key)
        return LeaderIdAndEpoch(state.leader, state.leader_epoch) if state and state.has_leader else None
