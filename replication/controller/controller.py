"""replication/controller/controller.py: one controller: standing by, or the active one (3.5, 3.10, 3.12, 3.13).

In     committed images; winning and losing office; requests on the controller's listener besides Raft's
Out    atomic batches to the quorum's log; answers and events
Keeps  `image`, which is committed, and `speculative`, on which the active controller decides; with the office goes the second
Not    what to decide (rules/) and how a request becomes records (the other files of this package)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from replication.admin_messages import (
    AdminResponse,
    AlterPartitionReassignmentsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    ElectLeadersRequest,
    IncrementalAlterConfigsRequest,
    ListPartitionReassignmentsRequest,
    UnregisterBrokerRequest,
)
from replication.controller.bootstrap import bootstrap
from replication.controller.brokers import Brokers
from replication.controller.configs import Configs
from replication.controller.draft import Draft
from replication.controller.elections import Elections
from replication.controller.isr_requests import IsrRequests
from replication.controller.partition_changes import PartitionChanges
from replication.controller.producer_id_blocks import allocate
from replication.controller.reassignments import Reassignments
from replication.controller.sessions import Sessions
from replication.controller.settings import ControllerSettings
from replication.controller.tenure import Tenure, refuse
from replication.controller.topics import Topics
from replication.env import NANOSECONDS, Env, Request
from replication.errors import Error
from replication.events import ControllerActivated, ControllerResigned
from replication.image import MetadataImage
from replication.lifecycle_messages import BrokerHeartbeatRequest, BrokerRegistrationRequest
from replication.messages import AllocateProducerIdsRequest, AlterPartitionRequest
from replication.records import MetadataRecord, NoOp
from replication.rules import Rules
from replication.settings import read_settings

Handler = Callable[[Draft, Any], Any]


class DecisionLog(Protocol):
    """What a controller needs of the quorum."""

    @property
    def end_offset(self) -> int:
        """The offset that the next record gets."""
        ...

    def append(self, epoch: int, records: Sequence[MetadataRecord]) -> int | None:
        """One atomic batch. The offset of its last record; None: this node leads that epoch no longer."""
        ...

    def describe(self) -> DescribeQuorumResponse: ...


class Controller:
    """Decides while it is active, and only then."""

    def __init__(self, node_id: int, env: Env, rules: Rules, properties: Mapping[str, str], log: DecisionLog) -> None:
        self.node_id, self.env, self.rules, self.log = node_id, env, rules, log
        self.settings = read_settings(ControllerSettings, [properties])
        self.image = self.speculative = MetadataImage()
        self._tenure: Tenure | None = None
        self._sessions = self._new_sessions()
        changes = PartitionChanges(rules, self.settings)
        self._brokers, self._elections = Brokers(changes), Elections(changes)
        isr_requests, configs = IsrRequests(changes), Configs(changes)
        topics, reassignments = Topics(changes, env.random), Reassignments(changes)
        self._handlers: Mapping[type, Handler] = {
            BrokerRegistrationRequest: self._on_registration,
            BrokerHeartbeatRequest: self._on_heartbeat,
            UnregisterBrokerRequest: self._brokers.on_unregister,
            AlterPartitionRequest: isr_requests.on_alter_partition,
            AllocateProducerIdsRequest: lambda draft, asked: allocate(draft, asked, rules),
            CreateTopicsRequest: topics.on_create_topics,
            DeleteTopicsRequest: topics.on_delete_topics,
            IncrementalAlterConfigsRequest: configs.on_alter_configs,
            ElectLeadersRequest: self._elections.on_elect_leaders,
            AlterPartitionReassignmentsRequest: reassignments.on_reassign,
            ListPartitionReassignmentsRequest: reassignments.on_list,
        }

    @property
    def active(self) -> bool:
        return self._tenure is not None

    # -- the quorum -----------------------------------------------------------------------------------------------------

    def on_committed(self, image: MetadataImage) -> None:
        """3.5 Everything up to `image.offset` is committed."""
        self.image, tenure = image, self._tenure
        if tenure is not None:
            tenure.on_committed(image.offset)
        if tenure is None or not tenure.outstanding:
            self.speculative = self.rules.believed(image, self.speculative)

    def on_active(self, epoch: int) -> None:
        """2.36, 3.12 In office: first what every cluster begins with, if this one has not begun yet; then the clocks start."""
        self.speculative = self.rules.believed(self.image, self.speculative)
        self._sessions = self._new_sessions()
        self._tenure = tenure = Tenure(self.env, self.rules, epoch, self.image.offset)
        self.env.emit(ControllerActivated(quorum_epoch=epoch, offset=self.image.offset))
        draft = self._draft()
        bootstrap(draft, self.settings, self.rules)
        self._write(tenure, draft)
        tenure.activation_offset = tenure.appended
        self._start_timers(tenure)

    def on_inactive(self) -> None:
        """3.5"""
        tenure, self._tenure = self._tenure, None
        if tenure is None:
            return
        self.speculative = self.rules.believed(self.image, self.speculative)
        self.env.emit(ControllerResigned(quorum_epoch=tenure.epoch, offset=self.image.offset, decided_offset=tenure.appended))
        tenure.end()

    def _new_sessions(self) -> Sessions:
        session_ns = self.settings.broker_session_timeout_ms * NANOSECONDS
        return Sessions(self.rules, session_ns, self.speculative.brokers, self.env.monotonic_ns())

    # -- requests -------------------------------------------------------------------------------------------------------

    def on_request(self, request: Request) -> None:
        """3.13 Whoever is not active can only tell who is."""
        tenure, asked = self._tenure, request.message
        if isinstance(asked, DescribeQuorumRequest):
            self.env.reply(request, self.log.describe())
        elif tenure is None or not tenure.may_decide:
            refuse(self.env, request)
        elif handler := self._handlers.get(type(asked)):
            self._handle(tenure, request, handler)
        else:
            self.env.reply(request, AdminResponse(Error.UNSUPPORTED_VERSION))

    def _handle(self, tenure: Tenure, request: Request, handler: Handler) -> None:
        draft = self._draft()
        answer = handler(draft, request.message)
        if self._write(tenure, draft):
            tenure.answer(request, answer)
        else:
            refuse(self.env, request)

    def _on_registration(self, draft: Draft, asked: BrokerRegistrationRequest) -> Any:
        return self._brokers.on_registration(draft, asked, self._sessions, self.env.monotonic_ns())

    def _on_heartbeat(self, draft: Draft, asked: BrokerHeartbeatRequest) -> Any:
        return self._brokers.on_heartbeat(draft, asked, self._sessions, self.env.monotonic_ns())

    # -- decisions ------------------------------------------------------------------------------------------------------

    def _draft(self) -> Draft:
        return Draft(self.speculative, self.log.end_offset)

    def _write(self, tenure: Tenure, draft: Draft) -> bool:
        """3.5 One batch; its effect is believed from here on, and told to nobody yet. False: this node is out of office."""
        if draft.records:
            last_offset = self.log.append(tenure.epoch, draft.records)
            if last_offset is None:
                return False
            self.speculative = draft.sealed(tenure.epoch)
            tenure.on_appended(last_offset)
        for event in draft.events:
            self.env.emit(event)
        return True

    # -- time (18) ------------------------------------------------------------------------------------------------------

    def _start_timers(self, tenure: Tenure) -> None:
        settings = self.settings
        self._every(tenure, max(1, settings.broker_session_timeout_ms // 8), self._fence_expired)
        self._every(tenure, settings.unclean_leader_election_interval_ms, self._elections.elect_leaderless)
        if settings.auto_leader_rebalance_enable:
            self._every(tenure, settings.leader_imbalance_check_interval_seconds * 1_000, self._elections.balance)
        self._no_op_after(tenure, settings.metadata_max_idle_interval_ms * NANOSECONDS)

    def _every(self, tenure: Tenure, period_ms: int, task: Callable[[Draft], bool]) -> None:
        """3.12 Again after the period; at once where the task says that there is more."""

        def fire() -> None:
            if self._tenure is not tenure:
                return
            more = False
            if tenure.may_decide:
                draft = self._draft()
                more = task(draft)
                more = self._write(tenure, draft) and more  # what cannot be written now is not asked for again at once
            self.env.after(0 if more else period_ms * NANOSECONDS, fire)

        self.env.after(period_ms * NANOSECONDS, fire)

    def _fence_expired(self, draft: Draft) -> bool:
        """4.7"""
        now = self.env.monotonic_ns()
        expired = self._sessions.expired(draft.image.brokers, now)
        self._brokers.fence_expired(draft, expired, self._sessions, now)
        return False

    def _no_op_after(self, tenure: Tenure, delay_ns: int) -> None:
        """3.10 One timer, armed for when the last write will have been long enough ago."""
        idle_ns = self.settings.metadata_max_idle_interval_ms * NANOSECONDS

        def fire() -> None:
            if self._tenure is not tenure:
                return
            now = self.env.monotonic_ns()
            delay = tenure.last_write_ns + idle_ns - now
            if self.rules.must_write_no_op(tenure.last_write_ns, now, idle_ns):
                draft = self._draft()
                draft.add(NoOp())
                self._write(tenure, draft)
                delay = idle_ns
            self._no_op_after(tenure, delay)

        self.env.after(delay_ns, fire)
