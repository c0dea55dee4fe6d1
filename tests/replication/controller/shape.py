"""tests/replication/controller/shape.py: what every committed image must look like (invariants 7 and 10), in plain code."""

from __future__ import annotations

from replication.identity import NO_LEADER
from replication.image import BROKER, CLUSTER_WIDE, TOPIC, MetadataImage, PartitionState


def min_isr(image: MetadataImage, topic: str, replicas: int) -> int:
    own = image.configs.get((TOPIC, topic), {}).get("min.insync.replicas")
    everybody = image.configs.get((BROKER, CLUSTER_WIDE), {}).get("min.insync.replicas", "1")
    return min(int(own or everybody), replicas)


def faults(image: MetadataImage) -> list[str]:
    """Invariant 7: what is wrong with the shape of any partition."""
    return [
        f"{topic.name}/{index}: {fault}"
        for topic in image.topics.values()
        for index, state in topic.partitions.items()
        for fault in _of_partition(image, topic.name, state)
    ]


def _of_partition(image: MetadataImage, topic: str, state: PartitionState) -> list[str]:
    isr, elr, replicas = set(state.isr), set(state.elr), set(state.replicas)
    active = {known.broker_id for known in image.brokers.values() if known.active}
    fenced = {member for member in isr if member not in image.brokers or image.brokers[member].fenced}
    wrong = {
        "ISR and ELR are replicas": not isr | elr <= replicas,
        "ISR and ELR are disjoint": bool(isr & elr),
        "no ELR beside an ISR of min ISR": len(isr) >= min_isr(image, topic, len(replicas)) and bool(elr),
        "the leader is in the ISR": state.leader != NO_LEADER and state.leader not in isr,
        "the leader is active": state.leader != NO_LEADER and state.leader not in active,
        "coming and going are replicas": not {*state.adding_replicas, *state.removing_replicas} <= replicas,
        "a directory for each replica": bool(state.directories) and len(state.directories) != len(state.replicas),
        "a last known leader has no successor": bool(state.last_known_elr) and state.leader != NO_LEADER,
        "each replica once": len(replicas) < len(state.replicas) or len(isr) < len(state.isr),
    }
    if image.uses_elr:
        wrong["nobody fenced in the ISR"] = bool(fenced)
    else:
        alone = len(isr) == 1 and state.leader == NO_LEADER
        wrong["without ELR nobody fenced in the ISR except as the last"] = bool(fenced) and not alone
        wrong["without ELR the ISR is never empty"] = not isr
        wrong["without ELR there is none"] = bool(elr or state.last_known_elr)
    return [claim for claim, broken in wrong.items() if broken]


def require_shape(image: MetadataImage) -> None:
    assert faults(image) == []


def require_progress(before: MetadataImage, after: MetadataImage) -> None:
    """Invariant 10: no epoch goes back, and a change of a partition is never silent."""
    assert after.offset > before.offset
    assert after.epoch >= before.epoch
    assert after.next_producer_id >= before.next_producer_id
    for broker_id, known in before.brokers.items():
        assert broker_id not in after.brokers or after.brokers[broker_id].broker_epoch >= known.broker_epoch
    for topic in before.topics.values():
        for index, old in topic.partitions.items():
            new = after.partition(topic.topic_id, index)
            if new is not None and new is not old:
                assert new.partition_epoch > old.partition_epoch
                assert new.leader_epoch >= old.leader_epoch
                assert new.leader == old.leader or new.leader_epoch > old.leader_epoch
