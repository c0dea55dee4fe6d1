"""tests/clusters/sim/invariants/watched.py: a small simulated cluster that is looked into, and ways to break it by hand.

In     a topic with one partition on n1, n2, n3 (n1 leads), controllers n4, n5, n6 (n4 is active); rules, if they are not the
       right ones
Out    which invariants were violated, and what was said
Keeps  a hand reaches into a node as an event of that node, so that it is looked at afterwards as after any other. What it commits
       goes through the log of the quorum, past every rule of the controllers
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from clusters.sim.cluster import SimCluster
from clusters.sim.invariants import Violation
from clusters.sim.latency import MS
from model.operation import Operation
from model.plan import Plan
from replication.batch import Record, encode, header_at, stamped
from replication.broker import Broker
from replication.image import BrokerRegistration, MetadataImage, PartitionState, TopicImage
from replication.leader import LeaderRole
from replication.messages import AlteredPartition, AlterPartitionItem, AlterPartitionRequest, AlterPartitionResponse
from replication.node import Node
from replication.partition import Partition
from replication.records import BrokerRegistrationChange, MetadataRecord, PartitionRecord, RegisterBroker
from replication.rules import Rules
from tests.clusters.sim.world import IN_SYNC, S, World


class Watched(World):
    """A cluster that is up, with its topic in sync and a few records in it."""

    def __init__(
        self, rules: Rules | None = None, *, seed: int = 1, config: Mapping[str, object] = IN_SYNC, elr: bool = False
    ) -> None:
        self._rules = rules
        super().__init__(seed=seed, config=config, elr=elr)

    def _make(self, plan: Plan) -> SimCluster:
        cluster = SimCluster(plan, self._rules, watch=self.seen)
        self.invariants = cluster.assert_invariants("note")
        return cluster

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

    def node(self, node: int) -> Node:
        program: Any = self.cluster.processes.nodes[node].program
        assert isinstance(program, Node)
        return program

    def broker(self, node: int) -> Broker:
        broker = self.node(node).broker
        assert broker is not None
        return broker

    def replica(self, node: int) -> Partition:
        return self.broker(node).partitions[self.topic_id, 0]

    def leader_role(self, node: int = 1) -> LeaderRole:
        role = self.replica(node).leader
        assert role is not None
        return role

    def within(self, node: int, call: Callable[[], object]) -> None:
        """Do it as an event of that node."""
        env = self.env(node)
        self.cluster.kernel.at(self.now, lambda _: env.enter(lambda _: _done(call()), None), None)
        self.run(0)

    def write_by_hand(self, node: int, value: str, epoch: int | None = None) -> None:
        """Append a batch to one log, past every rule."""
        partition = self.replica(node)
        data = stamped(
            encode([Record(value.encode())]), partition.log.leo, partition.standing.leader_epoch if epoch is None else epoch
        )
        header = header_at(data)
        assert header is not None
        partition.log.append(data, header, header.base_offset, header.partition_leader_epoch)

    # -- what the controllers committed, and what a hand commits in their name --------------------------------------------

    @property
    def image(self) -> MetadataImage:
        return self.cluster.tail.image

    @property
    def topic_id(self) -> bytes:
        return self.image.ids["t"]

    @property
    def state(self) -> PartitionState:
        return self.image.topics[self.topic_id].partitions[0]

    def registration(self, broker: int) -> BrokerRegistration:
        return self.image.brokers[broker]

    def commit(self, **changes: Any) -> None:
        """Let the controllers commit a change of the partition, whatever it is: epochs step as they should (3.3) or are given."""
        old = self.state
        epochs = {"partition_epoch": old.partition_epoch + 1, "leader_epoch": old.leader_epoch + ("leader" in changes)}
        new = {**msgspec.structs.asdict(old), **epochs, **changes}
        self.commit_records(PartitionRecord(self.topic_id, 0, **new))

    def commit_standing(self, broker: int, **changes: Any) -> None:
        """Let them commit that a broker is fenced, or on its way out, and that nothing else follows from it."""
        self.commit_records(BrokerRegistrationChange(broker, self.registration(broker).broker_epoch, **changes))

    def commit_registration(self, broker: int, broker_epoch: int, incarnation_id: bytes = b"another process.") -> None:
        """Let them register another process of a broker, and take nothing from the one before."""
        known = msgspec.structs.asdict(self.registration(broker))
        self.commit_records(RegisterBroker(**{**known, "broker_epoch": broker_epoch, "incarnation_id": incarnation_id}))

    def commit_records(self, *records: MetadataRecord) -> None:
        """Until it is committed, and no longer: whoever does not commit it has not heard of it yet."""
        active = self.cluster.observe().active_controller
        assert active is not None
        quorum = self.node(active).quorum
        ends: list[int | None] = []
        self.within(active, lambda: ends.append(quorum.append(quorum.epoch, records)))
        end = ends[0]
        assert end is not None
        self.until(lambda: self.image.offset >= end, 1 * S)

    def show(self, node: int, state: PartitionState, **changes: Any) -> None:
        """Let a broker act on an image that nobody committed."""
        topics = {self.topic_id: TopicImage("t", self.topic_id, {0: state})}
        image = msgspec.structs.replace(self.image, topics=topics, **changes)
        self.within(node, lambda: self.broker(node).on_image(image))

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
    """Let n4 answer that it was accepted, and made that partition epoch."""
    asked = AlterPartitionRequest(1, 0, (item,))
    altered = AlteredPartition(item.topic_id, 0, partition_epoch=partition_epoch, isr=(1, 2, 3))
    life = world.invariants.world.lives[4]
    world.within(
        4,
        lambda: world.invariants._answers.by_kind[AlterPartitionResponse](
            life, asked, AlterPartitionResponse(partitions=(altered,))
        ),
    )
