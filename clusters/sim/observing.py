"""clusters/sim/observing.py: what can be seen of the cluster from outside, at once: for targets, conditions and reports.

In     what is committed, and the nodes themselves, read and not asked
Out    `model.cluster.ClusterState`
"""

from __future__ import annotations

from clusters.sim.processes import NodeProcess, SimProcesses
from model.cluster import ClusterState, NodeId, PartitionState, ReplicaState, TopicPartition
from replication import image
from replication.broker import Broker
from replication.identity import NO_LEADER, Key
from replication.node import Node


def observe(now_ns: int, metadata: image.MetadataImage, processes: SimProcesses) -> ClusterState:
    partitions: dict[TopicPartition, PartitionState] = {}
    for topic_id, topic in metadata.topics.items():
        for index, state in topic.partitions.items():
            seen = {node: _replica(processes.nodes[node], (topic_id, index)) for node in state.replicas}
            partitions[topic.name, index] = _partition(topic.name, index, state, seen)
    running = [process for process in processes.nodes.values() if process.running]
    active, quorum_epoch = _active_controller(running)
    stopping = frozenset(process.node_id for process in running if process.stopping)
    return ClusterState(now_ns, partitions, active, quorum_epoch, frozenset(process.node_id for process in running), stopping)


def _active_controller(running: list[NodeProcess]) -> tuple[NodeId | None, int | None]:
    """Of several that believe to be active, the one of the highest epoch; and the highest epoch that anybody knows."""
    nodes: list[Node] = [process.program for process in running if process.program is not None]
    epochs = [node.quorum.epoch for node in nodes]
    active = [node for node in nodes if node.controller is not None and node.controller.active]
    newest = max(active, key=lambda node: node.quorum.epoch, default=None)
    return (None if newest is None else newest.identity.node_id), max(epochs, default=None)


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
    broker: Broker | None = process.program.broker if process.running and process.program is not None else None
    replica = None if broker is None else broker.partitions.get(key)
    if broker is None or replica is None:
        return ReplicaState(process.node_id, "none", process.running)
    return ReplicaState(
        node=process.node_id,
        role="leader" if replica.leader is not None else "follower" if replica.follower is not None else "none",
        running=True,
        leader_epoch=replica.standing.leader_epoch,
        broker_epoch=broker.state.broker_epoch,
        log_start=replica.log.log_start,
        hw=replica.log.hw,
        leo=replica.log.leo,
    )
