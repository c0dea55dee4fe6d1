"""replication/rules/topics.py: new topics, and where their replicas go (3.9, 3.15 to 3.17, 6.15)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from replication.errors import Error
from replication.image import BrokerRegistration, PartitionState
from replication.records import METADATA_TOPIC

_LEGAL_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")

Assignment = tuple[int, ...]


class TopicRules:
    """What a topic may be called, and who holds it."""

    def refuse_topic_name(self, name: str, taken: Collection[str]) -> Error | None:
        """3.15 A name is a directory's name and a metric's: '.' and '_' are the same there."""
        if not _LEGAL_NAME.fullmatch(name) or name in (".", "..", METADATA_TOPIC):
            return Error.INVALID_TOPIC_EXCEPTION
        if name in taken:
            return Error.TOPIC_ALREADY_EXISTS
        collides = any(name.replace(".", "_") == other.replace(".", "_") for other in taken)
        return Error.INVALID_TOPIC_EXCEPTION if collides else None

    def refuse_placement(self, partitions: int, replication_factor: int, brokers: Iterable[BrokerRegistration]) -> Error | None:
        """3.15 Fenced brokers count as places, but somebody has to be there to lead."""
        if partitions < 1:
            return Error.INVALID_PARTITIONS
        known = list(brokers)
        enough = 1 <= replication_factor <= len(known) and any(each.active for each in known)
        return None if enough else Error.INVALID_REPLICATION_FACTOR

    def refuse_assignment(self, assignments: Sequence[Assignment], brokers: Mapping[int, BrokerRegistration]) -> Error | None:
        """3.15 An assignment by hand: registered brokers, each once, as many for every partition, and one that can lead."""
        for assigned in assignments:
            known = [brokers[replica] for replica in assigned if replica in brokers]
            wrong = len(known) < len(assigned) or len(set(assigned)) < len(assigned) or len(assigned) != len(assignments[0])
            if wrong or not any(each.active for each in known):
                return Error.INVALID_REPLICA_ASSIGNMENT
        return None

    def placement(
        self, brokers: Iterable[BrokerRegistration], partitions: int, replication_factor: int, start: int
    ) -> tuple[Assignment, ...]:
        """3.15 Round the racks, then round the brokers of each, from a random start; the active ones first, so that each
        partition has a leader."""
        known = sorted(brokers, key=lambda each: each.broker_id)
        first = _round_the_racks([each for each in known if each.active])
        last = _round_the_racks([each for each in known if not each.active])
        return tuple(
            (_turned(first, start + index) + _turned(last, start + index))[:replication_factor] for index in range(partitions)
        )

    def first_state(self, replicas: Assignment, active: Collection[int], directories: tuple[bytes, ...]) -> PartitionState:
        """3.9 The first active replica leads, all active ones are in sync: there is nothing yet to be behind with."""
        isr = tuple(replica for replica in replicas if replica in active)
        return PartitionState(
            replicas=replicas, isr=isr, leader=isr[0], leader_epoch=0, partition_epoch=0, directories=directories
        )

    def producer_id_block(self, next_producer_id: int) -> tuple[int, int]:
        """6.15 Its first id, and how many: ids of a block that is lost are never handed out again."""
        return next_producer_id, 1_000


def _round_the_racks(brokers: Sequence[BrokerRegistration]) -> Assignment:
    """Neighbours are on different racks for as long as there are any."""
    racks: dict[str, list[int]] = {}
    for each in brokers:
        racks.setdefault(each.rack or "", []).append(each.broker_id)
    longest = max(map(len, racks.values()), default=0)
    return tuple(rack[turn] for turn in range(longest) for _, rack in sorted(racks.items()) if turn < len(rack))


def _turned(ring: Assignment, by: int) -> Assignment:
    if not ring:
        return ()
    by %= len(ring)
    return ring[by:] + ring[:by]
