"""replication/rules/life.py: starting, serving and stopping without lying about it (4.1, 4.4, 4.5, 4.10, 4.14, 4.17, 4.20)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from replication.identity import NO_EPOCH
from replication.image import MetadataImage, PartitionState


class BrokerLife(Enum):
    """4.1 How far a broker's process has come."""

    STARTING = "starting"  # it does not know its own registration yet
    RECOVERY = "recovery"  # it follows, and is not let serve
    RUNNING = "running"
    LEAVING = "pending controlled shutdown"
    CLOSING = "shutting down"


class LifeRules:
    """What the marker of a clean stop says and who may believe it; when a broker may act, serve and go."""

    def clean_epoch(self, markers: Sequence[int | None], any_offline: bool) -> int:
        """4.4 The broker epoch of a clean stop, if every directory tells the same one; -1 otherwise: then anything may be
        missing."""
        told = set(markers)
        return NO_EPOCH if any_offline or len(told) != 1 or None in told else next(epoch for epoch in told if epoch is not None)

    def forgets_marker(self) -> bool:
        """4.5 The marker is deleted before anything is written: it vouches for one stop, not for the next crash (B19)."""
        return True

    def epoch_for_marker(self, own_broker_epoch: int) -> int:
        """4.5 The epoch obtained in this run; -1, which reads as unclean, if it never registered (B19)."""
        return own_broker_epoch

    def may_apply(self, image: MetadataImage, broker_id: int, incarnation_id: bytes) -> bool:
        """4.10, 4.14 A broker acts on metadata only once it contains the registration of its own process.

        An older image can make it leader again in the same leader epoch, with a shorter log (B39).
        """
        known = image.brokers.get(broker_id)
        return known is not None and known.incarnation_id == incarnation_id

    def wants_fence(self, applied: bool) -> bool:
        """4.10 It asks to be let serve once it has applied an image that knows it (B39)."""
        return not applied

    def may_serve(self, life: BrokerLife) -> bool:
        """4.10, 4.14 Nobody is served before the controllers have let this process serve; once they have, it goes on (B39)."""
        return life in (BrokerLife.RUNNING, BrokerLife.LEAVING)

    def fetches_while_leaving(self, broker_id: int, state: PartitionState) -> bool:
        """4.20 A broker on its way out follows only where it still counts: else it would be asked back into the ISR (B20)."""
        return state.has_leader and broker_id in state.isr

    def must_exit_unknown(self, unknown_since: int, now: int, session_ns: int) -> bool:
        """4.17 Its id was taken or unregistered: after a session of such answers there is nothing left to wait for."""
        return now - unknown_since >= session_ns
