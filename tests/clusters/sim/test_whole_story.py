"""From formatted, empty disks: load, and everything that goes wrong in the life of a cluster, one after the other (4.18, 2.42).

Six nodes with one role each, or three with both. Nothing acknowledged is missing at the end, and no invariant was violated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from clusters.sim.cluster import SimCluster
from clusters.sim.damage import batches_of
from clusters.sim.latency import MS
from harness.run import converged
from model.cluster import NodeId, PartitionState
from model.operation import Answer, Operation
from model.plan import Nodes, Plan, Topic
from replication.batch import decode, headers
from replication.files import META_PROPERTIES

S = 1_000 * MS
TOPICS = {"t": Topic(replicas=3, config={"min.insync.replicas": 2})}
SHAPES = {"dedicated": Nodes(brokers=3, controllers=3), "combined": Nodes(brokers=3, controllers=3, combined=True)}


class Load:
    """A client that appends one value after another, and remembers which were acknowledged."""

    def __init__(self, cluster: SimCluster) -> None:
        self.cluster, self.client = cluster, cluster.client(1)
        self.acknowledged: list[int] = []
        self.sent = 0
        self.stopped = False
        self._append()

    def _append(self) -> None:
        self.sent += 1
        asked = Operation(kind="append", topic="t", partition=0, value=self.sent, acks=-1)
        self.client.submit((asked,), lambda answers: self._on_answer(asked.value or 0, answers[0]))

    def _on_answer(self, value: int, answer: Answer) -> None:
        if answer.fact == "SUCCESS":
            self.acknowledged.append(value)
        if not self.stopped:
            self.cluster.time.after(10 * MS, self._append)


class Cluster:
    """The cluster of the story, with somebody who looks into it."""

    def __init__(self, nodes: Nodes) -> None:
        self.plan = Plan(tidemark=1, seed=5, schedule="none", topics=TOPICS, nodes=nodes)
        self.sim = SimCluster(self.plan)
        self.invariants = self.sim.assert_invariants()
        assert all(not disk.files for process in self.sim.processes.nodes.values() for disk in process.disks)
        self.sim.start()
        for node in self.plan.nodes.ids:
            assert META_PROPERTIES in self.sim.processes.nodes[node].disks[0].durable
        created: list[str | None] = []
        self.sim.admin.create_topic("t", TOPICS["t"], created.append)
        self.until(lambda: created == [None])
        self.until_healthy()
        self.load = Load(self.sim)

    @property
    def partition(self) -> PartitionState:
        return self.sim.observe().partitions["t", 0]

    @property
    def leader(self) -> NodeId:
        assert self.partition.leader is not None
        return self.partition.leader

    @property
    def active(self) -> NodeId | None:
        return self.sim.observe().active_controller

    def run(self, ns: int) -> None:
        self.sim.time.run_until(lambda: False, ns)
        assert [str(violation) for violation in self.invariants.violations] == []

    def until(self, done: Callable[[], bool], limit_ns: int = 30 * S) -> None:
        reached = self.sim.time.run_until(done, limit_ns)
        assert [str(violation) for violation in self.invariants.violations] == []
        assert reached, "it never came to that"

    def until_healthy(self) -> None:
        self.until(lambda: self.active is not None and converged(self.sim.observe(), self.plan))

    def until_more_is_acknowledged(self) -> None:
        before = len(self.load.acknowledged)
        self.until(lambda: len(self.load.acknowledged) > before + 10)

    def values_of(self, node: NodeId) -> list[int]:
        """What lies in the log of a node."""
        content = self.sim.processes.nodes[node].disks[0].content()
        logs = [content[path] for path in sorted(content) if path.startswith("t-0/") and path.endswith(".log")]
        return [
            int.from_bytes((record.value or b"")[:8], "big")
            for log in logs
            for position, header in headers(log)
            for record in decode(log, header, position)
        ]


def the_leader_is_killed(cluster: Cluster) -> None:
    leader = cluster.leader
    cluster.sim.processes.kill(leader)
    cluster.until(lambda: cluster.partition.leader not in (None, leader))
    cluster.until_more_is_acknowledged()
    cluster.sim.processes.start(leader)
    cluster.until_healthy()


def the_active_controller_is_killed_during_an_isr_change(cluster: Cluster) -> None:
    """A follower stands still until its leader asks for a shrink; that very moment the one who should decide it dies."""
    active = cluster.active
    assert active is not None
    follower = next(node for node in cluster.partition.replicas if node not in (cluster.leader, active))
    cut = [cluster.sim.links.cut(link) for link in _links_of(cluster, follower, cluster.leader)]
    cluster.until(lambda: _pending(cluster))
    cluster.sim.processes.kill(active)
    if not cluster.plan.nodes.combined:  # elsewhere two voters would be left that cannot reach each other
        cluster.until(lambda: cluster.active not in (None, active))
        cluster.until(lambda: follower not in cluster.partition.isr)
        cluster.until_more_is_acknowledged()
    for grip in cut:
        grip.release()
    cluster.until(lambda: cluster.active not in (None, active))
    cluster.sim.processes.start(active)
    cluster.until_healthy()


def _links_of(cluster: Cluster, one: NodeId, other: NodeId) -> list[Any]:
    network = cluster.sim.network
    return [network.link(one, other).link, network.link(other, one).link]


def _pending(cluster: Cluster) -> bool:
    broker = cluster.sim.processes.nodes[cluster.leader].program.broker
    return any(each.leader is not None and each.leader.state.pending is not None for each in broker.partitions.values())


def every_node_is_restarted_in_turn(cluster: Cluster) -> None:
    for node in cluster.plan.nodes.ids:
        cluster.sim.processes.stop(node)
        cluster.until(lambda node=node: not cluster.sim.processes.nodes[node].running)  # type: ignore[misc]
        cluster.sim.processes.start(node)
        cluster.until_healthy()
    assert cluster.sim.told().exits == ()


def all_nodes_are_killed_at_once(cluster: Cluster) -> None:
    for node in cluster.plan.nodes.ids:
        cluster.sim.processes.kill(node)
    cluster.run(2 * S)
    for node in cluster.plan.nodes.ids:
        cluster.sim.processes.start(node)
    cluster.until_healthy()


@pytest.mark.parametrize("shape", SHAPES)
def test_nothing_acknowledged_is_lost_whatever_happens_to_the_nodes(shape: str) -> None:
    """4.18, 2.42, 3.12: the leader, the active controller in the middle of a decision, each in turn, all at once."""
    cluster = Cluster(SHAPES[shape])
    cluster.until_more_is_acknowledged()
    for chapter in (
        the_leader_is_killed,
        the_active_controller_is_killed_during_an_isr_change,
        every_node_is_restarted_in_turn,
        all_nodes_are_killed_at_once,
    ):
        chapter(cluster)
        cluster.until_more_is_acknowledged()
    cluster.load.stopped = True
    cluster.run(3 * S)
    acknowledged = cluster.load.acknowledged
    cluster.invariants.at_the_end()
    assert cluster.invariants.violations == []
    assert len(acknowledged) > 100
    for node in cluster.partition.replicas:
        values = cluster.values_of(node)
        assert [value for value in values if value in set(acknowledged)] == acknowledged
        assert sum(end - base for base, end, _, _ in batches_of(_content(cluster, node))["t", 0]) == len(values)


def _content(cluster: Cluster, node: NodeId) -> dict[str, bytes]:
    return cluster.sim.processes.nodes[node].disks[0].content()
