"""replication/controller/brokers.py: registrations, heartbeats and sessions at the active controller (section 4).

In     BrokerRegistration, BrokerHeartbeat, UnregisterBroker; time
Out    records of one decision, in the order that a fail-over midway survives (3.6), and the answer
Keeps  nothing of its own: contacts are the tenure's (sessions.py), all else is in the draft's image
"""

from __future__ import annotations

import msgspec

from replication.admin_messages import AdminResponse, AdminResult, UnregisterBrokerRequest
from replication.controller.draft import Draft
from replication.controller.partition_changes import Intent, PartitionChanges, located, places
from replication.controller.sessions import Sessions
from replication.controller.withdrawal import Withdrawal
from replication.errors import Error
from replication.events import BrokerRegistered, BrokerUnfenced, BrokerUnregistered, SessionExpired
from replication.image import BrokerRegistration
from replication.lifecycle_messages import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from replication.records import BrokerRegistrationChange, PartitionChange, RegisterBroker, UnregisterBroker
from replication.rules.registrations import ShutdownProgress, Standing


class Brokers:
    """Who is who, and who is alive."""

    def __init__(self, changes: PartitionChanges) -> None:
        self.changes, self.rules = changes, changes.rules
        self.withdrawal = Withdrawal(changes)

    # -- registration (4.2 to 4.4) ----------------------------------------------------------------------------------------

    def on_registration(
        self, draft: Draft, asked: BrokerRegistrationRequest, sessions: Sessions, now: int
    ) -> BrokerRegistrationResponse:
        known = draft.image.brokers.get(asked.broker_id)
        valid = known is not None and sessions.is_valid(known, now)
        refusal = self.rules.refuse_registration(asked, draft.image, valid)
        if refusal is not None:
            return BrokerRegistrationResponse(refusal)
        if known is not None and self.rules.is_same_process(known, asked.incarnation_id):
            return self._refresh(draft, asked, known)
        clean = self.rules.is_clean_restart(known, asked.previous_broker_epoch)
        if clean or not draft.image.uses_elr:
            self.withdrawal.from_isrs(draft, asked.broker_id)
        else:
            self.withdrawal.from_isrs_and_elrs(draft, asked.broker_id)
        self._replace_directories(draft, asked, known)
        return self._register(draft, asked, known, clean)

    def _register(
        self, draft: Draft, asked: BrokerRegistrationRequest, known: BrokerRegistration | None, clean: bool
    ) -> BrokerRegistrationResponse:
        """3.6 Last of all: before it the old process is gone from everywhere. It begins fenced."""
        broker_epoch = self.rules.broker_epoch_for(known, asked.incarnation_id, draft.next_offset)
        draft.add(_record(asked, broker_epoch, fenced=True, in_controlled_shutdown=False))
        draft.tell(
            BrokerRegistered(
                broker_id=asked.broker_id,
                broker_epoch=broker_epoch,
                clean=clean,
                replaced_epoch=None if known is None else known.broker_epoch,
                offset=draft.last_offset,
            )
        )
        return BrokerRegistrationResponse(Error.NONE, broker_epoch)

    def _refresh(self, draft: Draft, asked: BrokerRegistrationRequest, known: BrokerRegistration) -> BrokerRegistrationResponse:
        """3.11, 1.5 The same process again: its epoch and its standing stay, where it is reached may have changed."""
        record = _record(asked, known.broker_epoch, known.fenced, known.in_controlled_shutdown)
        again = msgspec.structs.replace(known, host=asked.host, port=asked.port, rack=asked.rack, log_dirs=asked.log_dirs)
        if again != known:
            draft.add(record)
        return BrokerRegistrationResponse(Error.NONE, known.broker_epoch)

    def _replace_directories(self, draft: Draft, asked: BrokerRegistrationRequest, known: BrokerRegistration | None) -> None:
        """10.5 Replicas in directories that were replaced by new ones are looked for elsewhere."""
        before = None if known is None else known.log_dirs
        for place in places(draft.image):
            if asked.broker_id not in place.state.replicas:
                continue
            now = tuple(
                self.rules.replaced_directory(directory, before, asked.log_dirs) if replica == asked.broker_id else directory
                for replica, directory in located(place.state)
            )
            if now != place.state.directories and place.state.directories:
                draft.add(PartitionChange(place.topic_id, place.index, directories=now))

    def on_unregister(self, draft: Draft, asked: UnregisterBrokerRequest) -> AdminResponse:
        """8.14"""
        known = draft.image.brokers.get(asked.broker_id)
        if known is None:
            return AdminResponse(Error.NONE, (AdminResult(str(asked.broker_id), Error.BROKER_ID_NOT_REGISTERED),))
        self.withdrawal.from_isrs_and_elrs(draft, asked.broker_id)
        draft.add(UnregisterBroker(known.broker_id, known.broker_epoch))
        draft.tell(BrokerUnregistered(broker_id=known.broker_id, broker_epoch=known.broker_epoch, offset=draft.last_offset))
        return AdminResponse(Error.NONE, (AdminResult(str(asked.broker_id)),))

    # -- heartbeats (4.6, 4.19) -------------------------------------------------------------------------------------------

    def on_heartbeat(self, draft: Draft, asked: BrokerHeartbeatRequest, sessions: Sessions, now: int) -> BrokerHeartbeatResponse:
        known = draft.image.brokers.get(asked.broker_id)
        if known is None or not self.rules.is_registered_process(known, asked.broker_epoch):
            return BrokerHeartbeatResponse(Error.STALE_BROKER_EPOCH)
        contact = sessions.on_heartbeat(known, asked.current_metadata_offset, now)
        failed = tuple(directory for directory in asked.offline_log_dirs if directory in known.log_dirs)
        if failed:
            self.withdrawal.from_directories(draft, known, failed)
        if contact.shutdown_offset is None:  # 4.11: begun under an earlier controller, or not at all
            contact.shutdown_offset = draft.last_offset
        progress = ShutdownProgress(
            self._leads(draft, known.broker_id), contact.shutdown_offset, sessions.lowest_reported(draft.image.brokers)
        )
        standing = self.rules.next_standing(known, asked, progress)
        self._move(draft, draft.image.brokers[known.broker_id], standing)
        if standing is Standing.CONTROLLED_SHUTDOWN and draft.records:
            contact.shutdown_offset = draft.last_offset
        return BrokerHeartbeatResponse(
            Error.NONE,
            is_caught_up=self.rules.has_caught_up(asked.current_metadata_offset, known.broker_epoch),
            is_fenced=draft.image.brokers[known.broker_id].fenced,
            should_shut_down=standing is Standing.SHUT_DOWN,
        )

    def _move(self, draft: Draft, known: BrokerRegistration, standing: Standing) -> None:
        """From what the broker is to what it is to be."""
        if standing is Standing.UNFENCED and known.fenced:
            self._unfence(draft, known)
        elif standing is Standing.FENCED and not known.fenced:
            self.withdrawal.fence(draft, known, "it asked")
        elif standing is Standing.SHUT_DOWN and not known.fenced:
            self.withdrawal.fence(draft, known, "it shuts down")
        elif standing is Standing.CONTROLLED_SHUTDOWN and not known.in_controlled_shutdown:
            self.withdrawal.begin_shutdown(draft, known)

    def _unfence(self, draft: Draft, known: BrokerRegistration) -> None:
        """4.9, 3.6 The broker first, then whatever has no leader: it joins no ISR by being let serve."""
        draft.add(BrokerRegistrationChange(known.broker_id, known.broker_epoch, fenced=False))
        draft.tell(BrokerUnfenced(broker_id=known.broker_id, broker_epoch=known.broker_epoch, offset=draft.last_offset))
        for place in places(draft.image):
            if not place.state.has_leader:
                self.changes.write(draft, place, Intent(isr=place.state.isr))

    def _leads(self, draft: Draft, broker_id: int) -> bool:
        topics = draft.image.topics.values()
        return any(state.leader == broker_id for topic in topics for state in topic.partitions.values())

    # -- sessions (4.7) ---------------------------------------------------------------------------------------------------

    def fence_expired(self, draft: Draft, expired: list[int], sessions: Sessions, now: int) -> None:
        """4.7 In rounds: what a round sees is what the rounds before it left."""
        for together in self.rules.fencing_rounds(expired):
            seen = draft.image
            for broker_id in together:
                known = seen.brokers[broker_id]
                silent = sessions.silent_ns(known, now)
                draft.tell(SessionExpired(broker_id=broker_id, broker_epoch=known.broker_epoch, silent_ns=silent))
                self.withdrawal.fence(draft, known, "session expired", seen if len(together) > 1 else None)


def _record(asked: BrokerRegistrationRequest, broker_epoch: int, fenced: bool, in_controlled_shutdown: bool) -> RegisterBroker:
    return RegisterBroker(
        broker_id=asked.broker_id,
        incarnation_id=asked.incarnation_id,
        broker_epoch=broker_epoch,
        log_dirs=asked.log_dirs,
        host=asked.host,
        port=asked.port,
        rack=asked.rack,
        fenced=fenced,
        in_controlled_shutdown=in_controlled_shutdown,
    )
