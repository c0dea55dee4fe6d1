"""replication/rules/registrations.py: which process a broker id stands for, and what it may do next (4.2 to 4.19, 10.2, 10.5)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import msgspec

from replication.errors import Error
from replication.identity import UNASSIGNED
from replication.image import BrokerRegistration, MetadataImage
from replication.lifecycle_messages import BrokerHeartbeatRequest, BrokerRegistrationRequest


class Standing(Enum):
    """4.19 What a broker is in the controllers' eyes."""

    FENCED = "fenced"
    UNFENCED = "unfenced"
    CONTROLLED_SHUTDOWN = "controlled shutdown"
    SHUT_DOWN = "shut down now"  # only as an answer: it may end, and is fenced


class ShutdownProgress(msgspec.Struct, frozen=True):
    """4.11 How far a broker that wants to go has come."""

    leads: bool
    changes_offset: int
    """Of the last change that took something from it."""
    lowest_reported: int | None
    """The least metadata offset that any active broker has reported; None: there is no active broker."""


class RegistrationRules:
    """Identity by incarnation, life by heartbeats."""

    # -- registration ---------------------------------------------------------------------------------------------------

    def session_is_valid(self, last_contact: int | None, now: int, session_ns: int) -> bool:
        """4.2, 4.7 Heard of within the session timeout. Never heard of is not within any time."""
        return last_contact is not None and now - last_contact < session_ns

    def contact_at_office(self, registration: BrokerRegistration, now: int) -> int | None:
        """4.2, 4.7 A new active controller gives every unfenced broker its full session: it has heard of nobody yet."""
        return None if registration.fenced else now

    def refuse_registration(self, asked: BrokerRegistrationRequest, image: MetadataImage, session_valid: bool) -> Error | None:
        """4.2 An id belongs to one process at a time, for as long as its session lasts: fencing does not end it."""
        known = image.brokers.get(asked.broker_id)
        if asked.cluster_id != image.cluster_id:
            return Error.INCONSISTENT_CLUSTER_ID
        if known is not None and session_valid and not self.is_same_process(known, asked.incarnation_id):
            return Error.DUPLICATE_BROKER_REGISTRATION
        return self.refuse_log_dirs(asked, image)

    def refuse_log_dirs(self, asked: BrokerRegistrationRequest, image: MetadataImage) -> Error | None:
        """4.2 A directory belongs to one broker, and a broker has at least one."""
        others = [known for known in image.brokers.values() if known.broker_id != asked.broker_id]
        taken = any(directory in other.log_dirs for other in others for directory in asked.log_dirs)
        repeated = len(set(asked.log_dirs)) < len(asked.log_dirs)
        return Error.INVALID_REGISTRATION if taken or repeated or not asked.log_dirs else None

    def is_same_process(self, known: BrokerRegistration, incarnation_id: bytes) -> bool:
        """1.5"""
        return known.incarnation_id == incarnation_id

    def broker_epoch_for(self, known: BrokerRegistration | None, incarnation_id: bytes, offset: int) -> int:
        """1.4, 1.5 The offset of the record that registers a process names that process; asking again gives the same (B19)."""
        if known is not None and self.is_same_process(known, incarnation_id):
            return known.broker_epoch
        return offset

    def is_clean_restart(self, known: BrokerRegistration | None, previous_broker_epoch: int) -> bool:
        """4.4 The marker vouches for exactly the process that is registered, and for no older one (B19)."""
        return known is not None and previous_broker_epoch == known.broker_epoch

    def replaced_directory(self, assigned: bytes, before: Sequence[bytes] | None, now: Sequence[bytes]) -> bytes:
        """10.3, 10.5 A directory that was there and is gone, with none missing in number, was replaced: its replicas go where
        the broker puts them. One that may be merely offline keeps its replicas. `before` is None for a broker nobody knew."""
        if assigned == UNASSIGNED or assigned in now:
            return assigned
        replaced = before is None or (assigned in before and len(now) >= len(before))
        return self.default_directory(now) if replaced else assigned

    def default_directory(self, log_dirs: Sequence[bytes]) -> bytes:
        """10.5 With one directory there is nothing to choose; with several the broker chooses."""
        return log_dirs[0] if len(log_dirs) == 1 else UNASSIGNED

    # -- heartbeats -----------------------------------------------------------------------------------------------------

    def is_registered_process(self, known: BrokerRegistration | None, broker_epoch: int) -> bool:
        """4.6, 4.17, 5.35, 6.15 Only the process that holds the registration speaks for the broker."""
        return known is not None and known.broker_epoch == broker_epoch

    def has_caught_up(self, current_metadata_offset: int, broker_epoch: int) -> bool:
        """4.9 It has seen its own registration, so it cannot act on what is older (B39)."""
        return current_metadata_offset >= broker_epoch

    def standing(self, known: BrokerRegistration) -> Standing:
        """4.19 Fenced comes first: a broker fenced on its way out may end at its next heartbeat."""
        if known.fenced:
            return Standing.FENCED
        return Standing.CONTROLLED_SHUTDOWN if known.in_controlled_shutdown else Standing.UNFENCED

    def next_standing(self, known: BrokerRegistration, asked: BrokerHeartbeatRequest, progress: ShutdownProgress) -> Standing:
        """4.19 The heartbeat table."""
        now = self.standing(known)
        if now is Standing.CONTROLLED_SHUTDOWN:
            return Standing.SHUT_DOWN if self.may_leave(progress) else now
        if now is Standing.FENCED:
            if asked.want_shut_down:
                return Standing.SHUT_DOWN
            return Standing.UNFENCED if self.may_unfence(asked) else now
        if asked.want_fence:
            return Standing.SHUT_DOWN if asked.want_shut_down else Standing.FENCED
        if asked.want_shut_down:
            return Standing.CONTROLLED_SHUTDOWN if progress.leads else Standing.SHUT_DOWN
        return now

    def may_unfence(self, asked: BrokerHeartbeatRequest) -> bool:
        """4.9 It wants to serve, and has caught up with its own registration (B39)."""
        return not asked.want_fence and self.has_caught_up(asked.current_metadata_offset, asked.broker_epoch)

    def may_leave(self, progress: ShutdownProgress) -> bool:
        """4.11 It leads nothing, and everybody who serves has heard so."""
        told = progress.lowest_reported is None or progress.lowest_reported >= progress.changes_offset
        return told and not progress.leads

    def lies_in(self, assigned: bytes, failed: Sequence[bytes]) -> bool:
        """10.2, 10.5 A replica whose directory is not known may lie in the one that failed."""
        return assigned == UNASSIGNED or assigned in failed

    # -- fencing --------------------------------------------------------------------------------------------------------

    def fencing_rounds(self, expired: Sequence[int]) -> Sequence[Sequence[int]]:
        """4.7 One broker at a time, each seeing the effect of the one before: else the second dead one succeeds the first
        (B24). Brokers of one round are fenced from one view of the metadata."""
        return [(broker_id,) for broker_id in expired]
