"""replication/controller/withdrawal.py: taking a broker out of ISRs and out of office (4.3, 4.8, 4.11, 10.2).

In     a broker that is fenced, shut down, registered anew, unregistered, or has lost a directory
Out    a change for every partition that counts on it, and the broker's own record on the right side of them (3.6, 3.20)
Keeps  the partitions of one withdrawal are decided one after the other on the newest image, unless the caller says otherwise
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from replication.controller.draft import Draft
from replication.controller.partition_changes import Intent, PartitionChanges, Place, located, places
from replication.events import BrokerFenced, ControlledShutdownStarted, LogDirectoriesTakenOffline
from replication.identity import id_text
from replication.image import BrokerRegistration, MetadataImage
from replication.records import BrokerRegistrationChange

Reason = Literal["session expired", "it asked", "it shuts down"]


class Withdrawal:
    """What a broker loses."""

    def __init__(self, changes: PartitionChanges) -> None:
        self.changes, self.rules = changes, changes.rules

    def fence(self, draft: Draft, known: BrokerRegistration, because: Reason, seen: MetadataImage | None = None) -> None:
        """4.8, 3.6 Partitions first, then the broker: a fail-over in between finds it unfenced and does the rest again."""
        self.from_isrs(draft, known.broker_id, seen)
        draft.add(BrokerRegistrationChange(known.broker_id, known.broker_epoch, fenced=True))
        draft.tell(
            BrokerFenced(broker_id=known.broker_id, broker_epoch=known.broker_epoch, because=because, offset=draft.last_offset)
        )

    def begin_shutdown(self, draft: Draft, known: BrokerRegistration) -> None:
        """4.11, 3.20 The broker first: from then on nobody takes it for a leader or a member."""
        draft.add(BrokerRegistrationChange(known.broker_id, known.broker_epoch, in_controlled_shutdown=True))
        draft.tell(
            ControlledShutdownStarted(broker_id=known.broker_id, broker_epoch=known.broker_epoch, offset=draft.last_offset)
        )
        self.from_isrs(draft, known.broker_id)

    def from_isrs(self, draft: Draft, broker_id: int, seen: MetadataImage | None = None) -> None:
        """4.8 Whoever leaves an ISR while the HW is frozen stays eligible (8.6)."""
        for place in places(draft.image if seen is None else seen):
            if broker_id in place.state.isr:
                self._drop(draft, place, broker_id, seen=seen)

    def from_isrs_and_elrs(self, draft: Draft, broker_id: int) -> None:
        """4.3, 8.14 A broker whose logs nobody vouches for any more counts nowhere."""
        for place in places(draft.image):
            if broker_id in place.state.isr or broker_id in place.state.elr:
                self._drop(draft, place, broker_id, distrusted=(broker_id,))

    def from_directories(self, draft: Draft, known: BrokerRegistration, failed: Sequence[bytes]) -> None:
        """10.2, 3.20 Like fencing, but only where its replica may lie in one of these; then its directories."""
        for place in places(draft.image):
            directory = dict(located(place.state)).get(known.broker_id)
            if directory is not None and known.broker_id in place.state.isr and self.rules.lies_in(directory, failed):
                self._drop(draft, place, known.broker_id)
        online = tuple(directory for directory in known.log_dirs if directory not in failed)
        draft.add(BrokerRegistrationChange(known.broker_id, known.broker_epoch, log_dirs=online))
        draft.tell(
            LogDirectoriesTakenOffline(
                broker_id=known.broker_id,
                broker_epoch=known.broker_epoch,
                directories=tuple(id_text(directory) for directory in failed),
                offset=draft.last_offset,
            )
        )

    def _drop(
        self,
        draft: Draft,
        place: Place,
        broker_id: int,
        *,
        distrusted: tuple[int, ...] = (),
        seen: MetadataImage | None = None,
    ) -> None:
        isr = tuple(member for member in place.state.isr if member != broker_id)
        self.changes.write(draft, place, Intent(isr=isr, leaving=broker_id, uncleanly_restarted=distrusted), seen)
