"""tests/replication/controller/stage.py: one controller, a log that commits when told, and brokers that are messages.

In     verbs of a test: start, kill, alter, reassign; time; what is to be committed
Out    answers; the committed image, folded from the log and compared with what the controller believes
Keeps  every committed image has the right shape (invariant 7) and no epoch that goes back (invariant 10)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from replication.admin_messages import (
    AdminResponse,
    AlterPartitionReassignmentsRequest,
    ConfigAlteration,
    CreateTopicsRequest,
    DescribeQuorumResponse,
    ElectLeadersRequest,
    IncrementalAlterConfigsRequest,
    NewTopic,
    Reassignment,
)
from replication.controller.controller import Controller
from replication.errors import Error
from replication.folding import fold
from replication.image import BROKER, CLUSTER_WIDE, TOPIC, MetadataImage, PartitionState
from replication.lifecycle_messages import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from replication.messages import AlteredPartition, AlterPartitionItem, AlterPartitionRequest, IsrMember
from replication.records import Decision, LeaderChange, MetadataRecord
from replication.rules import Rules
from tests.replication.controller.shape import require_progress, require_shape
from tests.replication.memory import MemoryEnv, World

NODE = 9
CLUSTER = "tidemark-test"
SESSION = 1_000
BRISK = {
    "broker.session.timeout.ms": str(SESSION),
    "broker.heartbeat.interval.ms": "200",
    "metadata.max.idle.interval.ms": "100000",
    "auto.leader.rebalance.enable": "false",
}


class HandLog:
    """A log of one node: what is appended is committed at once, or when the test says."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.decisions: list[Decision] = []
        self.epoch: int | None = None
        self.holds = False

    @property
    def end_offset(self) -> int:
        return self.decisions[-1].last_offset + 1 if self.decisions else 0

    def append(self, epoch: int, records: Sequence[MetadataRecord], *, by_quorum: bool = False) -> int | None:
        if epoch != self.epoch:
            return None
        base = self.end_offset
        self.decisions.append(Decision(base, base + len(records) - 1, epoch, tuple(records), by_quorum))
        if not self.holds:
            self.stage.world.soon(self.stage.commit)
        return self.end_offset - 1

    def describe(self) -> DescribeQuorumResponse:
        return DescribeQuorumResponse(Error.NONE, NODE, self.epoch or 0, self.end_offset)


class Stage:
    """One controller, in office unless a test says otherwise."""

    def __init__(self, rules: Rules | None = None, *, elr: bool = True, checked: bool = True, **properties: str) -> None:
        self.rules, self.checked = rules or Rules(), checked
        self.world = World()
        self.env = MemoryEnv(self.world, NODE, [], 1)
        self.world.up[NODE] = self.env
        self.log = HandLog(self)
        self.properties = {
            **BRISK,
            "eligible.leader.replicas.version": str(int(elr)),
            **{name.replace("_", "."): value for name, value in properties.items()},
        }
        self.image = MetadataImage(cluster_id=CLUSTER)
        self.images: list[MetadataImage] = []
        self.epochs: dict[int, int] = {}
        """Broker epochs, as the brokers know them."""
        self.beating: dict[int, None] = {}
        self._starts = 0
        self._new_controller()
        self.take_office(1)

    def _new_controller(self) -> None:
        self.controller = Controller(NODE, self.env, self.rules, self.properties, self.log)
        self.env.on_request = self.controller.on_request

    # -- the quorum -----------------------------------------------------------------------------------------------------

    def take_office(self, epoch: int) -> None:
        self.log.epoch = epoch
        self.log.append(epoch, [LeaderChange(NODE)], by_quorum=True)
        self.commit()
        self.controller.on_active(epoch)
        self.world.run()

    def lose_office(self, kept: int | None = None) -> None:
        """Only the first `kept` of the decisions that are not committed survive it."""
        committed = sum(each.last_offset <= self.image.offset for each in self.log.decisions)
        del self.log.decisions[committed + (kept or 0) :]
        self.log.epoch = None
        self.controller.on_inactive()
        self.world.run()

    def commit(self, upto: int | None = None) -> None:
        """Everything in the log, or up to an offset."""
        before = self.image
        for decision in self.log.decisions:
            if decision.base_offset > self.image.offset and (upto is None or decision.last_offset <= upto):
                self.image = fold(self.image, decision)
                if self.checked:
                    require_shape(self.image)
        if self.image is not before:
            if self.checked:
                require_progress(before, self.image)
            self.images.append(self.image)
            self.controller.on_committed(self.image)
            if self.checked and self.image.offset == self.log.end_offset - 1:
                assert self.controller.speculative == self.image

    def ask(self, message: Any) -> list[Any]:
        return self.world.ask(NODE, message)

    def answer(self, message: Any) -> Any:
        (answer,) = self.ask(message)
        return answer

    # -- brokers --------------------------------------------------------------------------------------------------------

    def register(
        self, broker_id: int, *, incarnation: bytes | None = None, previous: int = -1, dirs: int = 1, rack: str | None = None
    ) -> BrokerRegistrationResponse:
        if incarnation is None:
            self._starts += 1
            incarnation = self._starts.to_bytes(16, "big")
        answer: BrokerRegistrationResponse = self.answer(
            BrokerRegistrationRequest(
                broker_id,
                CLUSTER,
                incarnation,
                log_dirs=tuple(directory(broker_id, number) for number in range(dirs)),
                previous_broker_epoch=previous,
                rack=rack,
            )
        )
        if answer.error_code is Error.NONE:
            self.epochs[broker_id] = answer.broker_epoch
        return answer

    def beat(self, broker_id: int, **wants: Any) -> BrokerHeartbeatResponse:
        wants.setdefault("current_metadata_offset", self.image.offset)
        wants.setdefault("broker_epoch", self.epochs[broker_id])
        answer: BrokerHeartbeatResponse = self.answer(BrokerHeartbeatRequest(broker_id, **wants))
        return answer

    def start(self, *broker_ids: int, dirs: int = 1) -> None:
        """Registered and unfenced, in this order."""
        for broker_id in broker_ids:
            assert self.register(broker_id, dirs=dirs).error_code is Error.NONE
            self.unfence(broker_id)

    def unfence(self, broker_id: int) -> None:
        assert not self.beat(broker_id).is_fenced
        self.beating[broker_id] = None

    def fence(self, broker_id: int) -> None:
        """At its own wish: the quick way."""
        assert self.beat(broker_id, want_fence=True).is_fenced
        self.beating.pop(broker_id, None)

    def kill(self, *broker_ids: int) -> None:
        """They fall silent together, and time passes until they are fenced."""
        for broker_id in broker_ids:
            self.beating.pop(broker_id)
        self.pass_time(SESSION + SESSION // 8)

    def restart(self, broker_id: int, *, clean: bool = False) -> None:
        """A new process of a broker whose session is over. It stays fenced until `unfence`."""
        previous = self.epochs[broker_id] if clean else -1
        assert self.register(broker_id, previous=previous).error_code is Error.NONE

    def pass_time(self, ms: int) -> None:
        for _ in range(0, ms, 125):
            for broker_id in self.beating:
                self.beat(broker_id)
            self.world.advance(125)

    # -- partitions -----------------------------------------------------------------------------------------------------

    def create(self, replicas: tuple[int, ...] = (1, 2, 3), min_isr: int = 2, name: str = "t", **configs: str) -> None:
        settings = {"min.insync.replicas": str(min_isr), **{key.replace("_", "."): value for key, value in configs.items()}}
        topic = NewTopic(name, assignments=(replicas,), configs=tuple(settings.items()))
        assert errors(self.answer(CreateTopicsRequest(1_000, (topic,)))) == [Error.NONE]

    def state(self, name: str = "t", *, image: MetadataImage | None = None) -> PartitionState:
        image = image or self.image
        return image.topics[image.ids[name]].partitions[0]

    def shape(self) -> tuple[int, set[int], set[int]]:
        """(leader, ISR, ELR)"""
        state = self.state()
        return state.leader, set(state.isr), set(state.elr)

    def item(self, isr: Sequence[int], **given: Any) -> AlterPartitionItem:
        """A proposal of the leader as of now."""
        state = self.state()
        given.setdefault("leader_epoch", state.leader_epoch)
        given.setdefault("partition_epoch", state.partition_epoch)
        member_epochs = given.pop("member_epochs", {})
        members = tuple(IsrMember(each, member_epochs.get(each, self.epochs.get(each, -1))) for each in isr)
        return AlterPartitionItem(self.image.ids["t"], 0, new_isr_with_epochs=members, **given)

    def alter(self, isr: Sequence[int], *, sender: int | None = None, **given: Any) -> AlteredPartition:
        """What a leader gets for proposing this ISR."""
        return self.send(self.item(isr, **given), self.state().leader if sender is None else sender)

    def send(self, item: AlterPartitionItem, sender: int) -> AlteredPartition:
        answer = self.answer(AlterPartitionRequest(sender, self.epochs[sender], (item,)))
        assert answer.error_code is Error.NONE
        altered: AlteredPartition = answer.partitions[0]
        return altered

    def reassign(self, replicas: tuple[int, ...] | None, **given: Any) -> Error:
        return errors(self.answer(AlterPartitionReassignmentsRequest(1_000, (Reassignment("t", 0, replicas),), **given)))[0]

    def elect(self, *, unclean: bool = False) -> Error:
        return errors(self.answer(ElectLeadersRequest(1_000, unclean, (("t", 0),))))[0]

    def configure(self, name: str, value: str | None, topic: str | None = "t") -> Error:
        resource = (BROKER, CLUSTER_WIDE) if topic is None else (TOPIC, topic)
        return errors(self.answer(IncrementalAlterConfigsRequest(1_000, (ConfigAlteration(*resource, name, value),))))[0]


def directory(broker_id: int, number: int = 0) -> bytes:
    return bytes([0xD1, broker_id, number]) + bytes(13)


def errors(answer: AdminResponse) -> list[Error]:
    assert answer.error_code is Error.NONE
    return [result.error_code for result in answer.results]
