"""clusters/sim/stand_in/controller.py: one played controller's process: it takes requests, watches sessions, hands out images.

In     requests of brokers, and of operators through them
Out    decisions of metadata.py, if this controller is the active one; NOT_CONTROLLER if not
Keeps  4.7: who has not been heard of for a session timeout is fenced; contact times are the active controller's own
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clusters.sim.env import SimEnv
from clusters.sim.stand_in.messages import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    ImageRequest,
    ImageResponse,
)
from clusters.sim.stand_in.metadata import Metadata
from replication.admin_messages import (
    AdminResponse,
    AdminResult,
    CreateTopicsRequest,
    ElectLeadersRequest,
    IncrementalAlterConfigsRequest,
)
from replication.env import NANOSECONDS, Request
from replication.errors import Error
from replication.messages import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
    AlterPartitionRequest,
    AlterPartitionResponse,
)

IMAGE_WAIT_MS = 500
PRODUCER_IDS = 1_000


class StandInController:
    """A controller that is active when the quorum says so."""

    def __init__(self, env: SimEnv, metadata: Metadata, session_ms: int, is_active: Callable[[], bool]) -> None:
        self.env, self.metadata = env, metadata
        self._session_ns, self._is_active = session_ms * NANOSECONDS, is_active
        self._heard: dict[int, int] = {}
        self._took_office: int | None = None
        self._waiting: list[tuple[Request, int, int]] = []  # request, behind which offset, since when
        self._handlers: dict[type, Callable[[Request], Any]] = {
            BrokerRegistrationRequest: self._on_registration,
            BrokerHeartbeatRequest: self._on_heartbeat,
            AlterPartitionRequest: self._on_alter_partition,
            AllocateProducerIdsRequest: self._on_allocate,
            CreateTopicsRequest: self._on_create_topics,
            ElectLeadersRequest: self._on_elect,
            IncrementalAlterConfigsRequest: self._on_alter_configs,
        }
        self._tick()

    def takes(self, message: object) -> bool:
        return type(message) in self._handlers or isinstance(message, ImageRequest)

    def on_request(self, request: Request) -> None:
        if not self._in_office():
            self.env.reply(request, AdminResponse(Error.NOT_CONTROLLER))
        elif isinstance(request.message, ImageRequest):
            self._on_image(request)
        else:
            handler = self._handlers.get(type(request.message))
            answer = AdminResponse(Error.UNSUPPORTED_VERSION) if handler is None else handler(request)
            self.env.reply(request, answer)

    def _in_office(self) -> bool:
        """4.7 Whoever takes office gives every session its full time again."""
        if not self._is_active():
            self._took_office = None
        elif self._took_office is None:
            self._took_office = self.env.monotonic_ns()
            self._heard = {}
        return self._took_office is not None

    # -- brokers --------------------------------------------------------------------------------------------------------

    def _last_heard(self, broker_id: int) -> int:
        return self._heard.get(broker_id, self._took_office or 0)

    def _on_registration(self, request: Request) -> BrokerRegistrationResponse:
        message: BrokerRegistrationRequest = request.message
        known = self.metadata.image.brokers.get(message.broker_id)
        now = self.env.monotonic_ns()
        if known is not None and known.incarnation_id != message.incarnation_id:
            if now - self._last_heard(message.broker_id) < self._session_ns:
                return BrokerRegistrationResponse(Error.DUPLICATE_BROKER_REGISTRATION)
        elif known is not None:
            return BrokerRegistrationResponse(Error.NONE, known.broker_epoch)
        self._heard[message.broker_id] = now
        return BrokerRegistrationResponse(Error.NONE, self.metadata.register(message.broker_id, message.incarnation_id))

    def _on_heartbeat(self, request: Request) -> BrokerHeartbeatResponse:
        """4.6, 4.9, 4.11"""
        message: BrokerHeartbeatRequest = request.message
        known = self.metadata.image.brokers.get(message.broker_id)
        if known is None or known.broker_epoch != message.broker_epoch:
            return BrokerHeartbeatResponse(Error.STALE_BROKER_EPOCH)
        self._heard[message.broker_id] = self.env.monotonic_ns()
        if message.want_shut_down:
            return self._let_go(message.broker_id)
        if known.fenced and not message.want_fence and message.current_metadata_offset >= known.broker_epoch:
            self.metadata.unfence(message.broker_id)
        return BrokerHeartbeatResponse(Error.NONE, self.metadata.image.brokers[message.broker_id].fenced)

    def _let_go(self, broker_id: int) -> BrokerHeartbeatResponse:
        if self.metadata.leads_anything(broker_id):
            self.metadata.change_broker(broker_id, in_controlled_shutdown=True)
            self.metadata.withdraw(broker_id)
            return BrokerHeartbeatResponse(Error.NONE, is_fenced=False)
        self.metadata.fence(broker_id)
        return BrokerHeartbeatResponse(Error.NONE, is_fenced=True, should_shut_down=True)

    def _tick(self) -> None:
        """4.7 One broker at a time, each seeing the effect of the one before."""
        if self._in_office():
            now = self.env.monotonic_ns()
            for broker_id, known in list(self.metadata.image.brokers.items()):
                if not known.fenced and now - self._last_heard(broker_id) >= self._session_ns:
                    self.metadata.fence(broker_id)
            self._answer_waiting(now)
        self.env.after(self._session_ns // 8, self._tick)

    # -- images ---------------------------------------------------------------------------------------------------------

    def _on_image(self, request: Request) -> None:
        self._waiting.append((request, request.message.offset, self.env.monotonic_ns()))
        self._answer_waiting(self.env.monotonic_ns())

    def on_commit(self) -> None:
        """There is something new: in a turn of its own, since this is called in the middle of a decision."""
        self.env.after(0, lambda: self._answer_waiting(self.env.monotonic_ns()))

    def _answer_waiting(self, now: int) -> None:
        image, waiting = self.metadata.image, self._waiting
        self._waiting = []
        for request, behind, since in waiting:
            if image.offset > behind:
                self.env.reply(request, ImageResponse(Error.NONE, image))
            elif now - since >= IMAGE_WAIT_MS * NANOSECONDS:
                self.env.reply(request, ImageResponse())
            else:
                self._waiting.append((request, behind, since))

    # -- partitions and topics ------------------------------------------------------------------------------------------

    def _on_alter_partition(self, request: Request) -> AlterPartitionResponse:
        message: AlterPartitionRequest = request.message
        known = self.metadata.image.brokers.get(message.broker_id)
        if known is None or known.broker_epoch != message.broker_epoch:
            return AlterPartitionResponse(Error.STALE_BROKER_EPOCH)
        return AlterPartitionResponse(Error.NONE, tuple(self.metadata.alter(item) for item in message.partitions))

    def _on_allocate(self, request: Request) -> AllocateProducerIdsResponse:
        return AllocateProducerIdsResponse(Error.NONE, self.metadata.producer_ids(PRODUCER_IDS), PRODUCER_IDS)

    def _on_create_topics(self, request: Request) -> AdminResponse:
        message: CreateTopicsRequest = request.message
        results = []
        for topic in message.topics:
            error = self.metadata.create_topic(topic.name, topic.num_partitions, topic.replication_factor, dict(topic.configs))
            results.append(AdminResult(topic.name, error))
        return AdminResponse(Error.NONE, tuple(results))

    def _on_elect(self, request: Request) -> AdminResponse:
        message: ElectLeadersRequest = request.message
        elect = self.metadata.elect_unclean if message.unclean else self.metadata.elect_preferred
        chosen = message.partitions or [(name, index) for name, index, _ in self.metadata.partitions()]
        return AdminResponse(Error.NONE, tuple(AdminResult(f"{name}/{index}", elect(name, index)) for name, index in chosen))

    def _on_alter_configs(self, request: Request) -> AdminResponse:
        message: IncrementalAlterConfigsRequest = request.message
        for alteration in message.alterations:
            resource = alteration.resource_type, alteration.resource_name
            self.metadata.configure(resource, alteration.name, alteration.value)
        return AdminResponse(Error.NONE, tuple(AdminResult(each.name) for each in message.alterations))
