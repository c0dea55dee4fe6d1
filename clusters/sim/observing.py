"""clusters/sim/observing.py: what can be seen of the cluster from outside, at once: for targets, conditions and reports.

In     the controllers' memory and the nodes themselves, read and not asked
Out    `model.cluster.ClusterState`
"""

from __future__ import annotations

from clusters.sim.processes import NodeProcess, SimProcesses
from clusters.sim.stand_in.node import StandInQuorum
from model.cluster import ClusterState, NodeId, PartitionState, ReplicaState, TopicPartition
from replication import image
from replication.identity import NO_LEADER, Key


def observe(now_ns: int, quorum: StandInQuorum, processes: SimProcesses) -> ClusterState:
    metadata = quorum.metadata.image
    partitions: dict[TopicPartition, PartitionState] = {}
    for topic_id, topic in metadata.topics.items():
        for index, state in topic.partitions.items():
            seen = {node: _replica(processes.nodes[node], (topic_id, index)) for node in state.replicas}
            partitions[topic.name, index] = _partition(topic.name, index, state, seen)
    running = frozenset(node for node, process in processes.nodes.items() if process.running)
    return ClusterState(now_ns, partitions, quorum.active(), quorum.epoch, running)


def _partition(topic: str, index: int, state: image.PartitionState, seen: dict[NodeId, ReplicaState]) -> PartitionState:
    return PartitionState(
        topic=topic,
        partition=index,
        leader=None if state.leader == NO_LEADER else state.leader,
        leader_epoch=state.leader_epoch,
        partition_epoch=state.partition_epoch,
        replicas=state.replicas,
        isr=state.isr,
        elr=state.elr,
        seen=seen,
    )


def _replica(process: NodeProcess, key: Key) -> ReplicaState:
    life = process.program.broker if process.running and process.program is not None else None
    replica = None if life is None else life.broker.partitions.get(key)
    if life is None or replica is None:
        return ReplicaState(process.node_id, "none", process.running)
    return ReplicaState(
        node=process.node_id,
        role="leader" if replica.leader is not None else "follower" if replica.follower is not None else "none",
        running=True,
        leader_epoch=replica.standing.leader_epoch,
        broker_epoch=life.broker.state.broker_epoch,
        log_start=replica.log.log_start,
        hw=replica.log.hw,
        leo=replica.log.leo,
    )
