"""tests/clusters/sim/invariants/watched.py: a small simulated cluster that is looked into, and ways to break it by hand.

In     a topic with one partition on n1, n2, n3 (n1 leads), controllers n4, n5, n6; rules, if they are not the right ones
Out    which invariants were violated, and what was said
Keeps  a hand reaches into a node as an event of that node, so that it is looked at afterwards as after any other
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from clusters.sim.cluster import SimCluster
from clusters.sim.invariants import Violation
from clusters.sim.latency import MS
from model.operation import Operation
from model.plan import Plan, Topic
from replication.batch import Record, encode, header_at, stamped
from replication.leader import LeaderRole
from replication.messages import AlteredPartition, AlterPartitionItem, AlterPartitionRequest, AlterPartitionResponse
from replication.partition import Partition
from replication.rules import Rules
from tests.clusters.sim.world import IN_SYNC, Seen, World

TOPIC = bytes([0x7F] * 15) + b"t"


class Watched(World):
    """A cluster that is up, with its topic in sync and a few records in it."""

    def __init__(self, rules: Rules | None = None, *, seed: int = 1, config: Mapping[str, object] = IN_SYNC) -> None:
        topics = {"t": Topic(config=dict(config))}
        self.plan = Plan(tidemark=1, seed=seed, schedule="none", topics=topics)
        self.seen = Seen()
        self.cluster = SimCluster(self.plan, rules, watch=self.seen)
        self.invariants = self.cluster.assert_invariants("note")
        self.cluster.start()
        answers: list[str | None] = []
        self.cluster.admin.create_topic("t", topics["t"], answers.append)
        self.until(lambda: answers == [None])
        self.until_healthy()
        self._clients = {group: self.cluster.client(group) for group in (1, 2)}
        self._values = 0

    # -- what was found -------------------------------------------------------------------------------------------------

    @property
    def found(self) -> list[int]:
        """The numbers of the invariants that were violated, each once, in order."""
        return sorted({violation.number for violation in self.invariants.violations})

    def said(self, number: int) -> str:
        return "; ".join(violation.text for violation in self.invariants.violations if violation.number == number)

    def first(self, number: int) -> Violation:
        return next(violation for violation in self.invariants.violations if violation.number == number)

    # -- reaching in ----------------------------------------------------------------------------------------------------

    @property
    def metadata(self) -> Any:
        return self.cluster.quorum.metadata

    def replica(self, node: int) -> Partition:
        program: Any = self.cluster.processes.nodes[node].program
        partition: Partition = program.broker.broker.partitions[TOPIC, 0]
        return partition

    def leader_role(self, node: int = 1) -> LeaderRole:
        role = self.replica(node).leader
        assert role is not None
        return role

    def within(self, node: int, call: Callable[[], object]) -> None:
        """Do it as an event of that node."""
        env = self.env(node)
        self.cluster.kernel.at(self.now, lambda _: env.enter(lambda _: _done(call()), None), None)
        self.run(0)

    def commit(self, **changes: Any) -> None:
        """Let the controllers commit a change of the partition, whatever it is."""
        self.within(4, lambda: self.metadata._change("t", 0, **changes))

    def write_by_hand(self, node: int, value: str, epoch: int | None = None) -> None:
        """Append a batch to one log, past every rule."""
        partition = self.replica(node)
        data = stamped(
            encode([Record(value.encode())]), partition.log.leo, partition.standing.leader_epoch if epoch is None else epoch
        )
        header = header_at(data)
        assert header is not None
        partition.log.append(data, header, header.base_offset, header.partition_leader_epoch)

    # -- reading --------------------------------------------------------------------------------------------------------

    def read(self, offset: int) -> Any:
        answers: list[Any] = []
        asked = Operation(kind="read", topic="t", partition=0, from_offset=offset, max_records=100)
        self._clients[1].submit((asked,), lambda answer: answers.append(answer[0]))
        self.until(lambda: bool(answers))
        return answers[0]


def _done(_: object) -> None:
    """Whatever came of it."""


def with_records(count: int = 3, **given: Any) -> Watched:
    world = Watched(**given)
    assert world.append(count) == ["SUCCESS"] * count
    world.run(300 * MS)
    assert world.found == []
    return world


def answer_by_hand(world: Watched, item: AlterPartitionItem, partition_epoch: int) -> None:
    asked = AlterPartitionRequest(1, 0, (item,))
    altered = AlteredPartition(TOPIC, 0, partition_epoch=partition_epoch, isr=(1, 2, 3))
    life = world.invariants.world.lives[4]
    world.within(
        4,
        lambda: world.invariants._answers.by_kind[AlterPartitionResponse](
            life, asked, AlterPartitionResponse(partitions=(altered,))
        ),
    )
