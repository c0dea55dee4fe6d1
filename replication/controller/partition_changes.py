"""replication/controller/partition_changes.py: one change of one partition, with everything that follows from it (15, 5.36, 9.2).

In     what is meant: another ISR, other replicas, an election; and the image that it is decided on
Out    at most one record, so that leader, ISR, ELR and replicas change together (3.6), and an event where a leader came or went
Keeps  the order of the questions: does a reassignment end, who is eligible, who leads, what is left of the ISR
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from replication.controller.draft import Draft
from replication.controller.settings import ControllerSettings, Terms, terms
from replication.events import LeaderElected, LeaderLost, ReassignmentEnded
from replication.identity import UNASSIGNED
from replication.image import MetadataImage, PartitionState, RecoveryState
from replication.records import PartitionChange
from replication.rules import Rules
from replication.rules.elections import Ballot, Elected, Election
from replication.rules.reassignments import Layout, layout_of


class Intent(msgspec.Struct, frozen=True, kw_only=True):
    """What a partition is meant to become, before anything follows from it."""

    isr: tuple[int, ...]
    layout: Layout | None = None
    leaving: int | None = None
    """8.2 A broker on its way out in this very change."""
    uncleanly_restarted: tuple[int, ...] = ()
    preferred: bool = False
    unclean: bool = False
    """8.14 An operator, or a cancelled reassignment, accepts a loss."""
    recovery_state: RecoveryState | None = None


class Place(msgspec.Struct, frozen=True):
    """A partition in one image."""

    topic: str
    topic_id: bytes
    index: int
    state: PartitionState


class PartitionChanges:
    """Asks the rules in their order."""

    def __init__(self, rules: Rules, settings: ControllerSettings) -> None:
        self.rules, self.settings = rules, settings

    def write(self, draft: Draft, place: Place, intent: Intent, seen: MetadataImage | None = None) -> bool:
        """8.1, 8.13 Add the record that the intent comes to, if it changes anything. `seen`: not the draft's newest image.

        Whatever sets off an election comes through here, and nothing but an accepted proposal or an election makes an ISR grow.
        """
        image = draft.image if seen is None else seen
        planned, election = self._plan(image, place, intent)
        change = self._difference(place, planned)
        if change is None:
            return False
        draft.add(change)
        _tell(draft, place, election)
        return True

    def terms(self, image: MetadataImage, topic: str) -> Terms:
        return terms(image, topic, self.settings, self.rules)

    def acceptable(self, image: MetadataImage, state: PartitionState, leaving: int | None = None) -> tuple[int, ...]:
        """8.2 In assignment order."""
        return tuple(
            replica
            for replica, directory in located(state)
            if self.rules.is_acceptable_leader(image.brokers.get(replica), directory, replica == leaving)
        )

    def ballot(self, image: MetadataImage, place: Place, intent: Intent) -> Ballot:
        """What an election of this partition goes by, after 9.2 and 8.6."""
        rules, state, on = self.rules, place.state, self.terms(image, place.topic)
        layout = rules.layout_after(intent.layout or layout_of(state), intent.isr)
        isr = tuple(member for member in intent.isr if member in layout.replicas)
        min_isr = rules.effective_min_isr(on.min_insync_replicas, len(layout.replicas))
        moved = self._moved(image, state, layout)
        return Ballot(
            replicas=layout.replicas,
            isr=isr,
            elr=rules.elr_after(state, layout.replicas, isr, intent.uncleanly_restarted, min_isr) if on.uses_elr else (),
            last_known_elr=tuple(replica for replica in state.last_known_elr if replica in layout.replicas),
            leader=state.leader,
            acceptable=self.acceptable(image, moved, intent.leaving),
            min_isr=min_isr,
            uses_elr=on.uses_elr,
            allows_unclean=intent.unclean or on.allows_unclean,
            preferred=intent.preferred,
        )

    def _plan(self, image: MetadataImage, place: Place, intent: Intent) -> tuple[PartitionState, Election]:
        rules, state = self.rules, place.state
        ballot = self.ballot(image, place, intent)
        elected = rules.elect(ballot)
        layout = rules.layout_after(intent.layout or layout_of(state), intent.isr)
        planned = msgspec.structs.replace(
            self._moved(image, state, layout),
            adding_replicas=layout.adding,
            removing_replicas=layout.removing,
            leader=elected.leader,
            isr=elected.isr or rules.isr_of_nobody(state.isr, layout.replicas, ballot.uses_elr),
            elr=elected.elr,
            last_known_elr=self._last_known(state, ballot, elected),
            leader_recovery_state=_recovery_state(state, intent, elected.election),
        )
        return planned, elected.election

    def _last_known(self, state: PartitionState, ballot: Ballot, elected: Elected) -> tuple[int, ...]:
        if not ballot.uses_elr:
            return ()
        return self.rules.last_known_after(state, ballot.replicas, elected.leader, len(elected.isr), ballot.min_isr)

    def _moved(self, image: MetadataImage, state: PartitionState, layout: Layout) -> PartitionState:
        """10.5 The same partition on other replicas, each in its directory."""
        if layout.replicas == state.replicas:
            return state
        known = dict(located(state))
        directories = tuple(known[replica] if replica in known else self.directory(image, replica) for replica in layout.replicas)
        return msgspec.structs.replace(state, replicas=layout.replicas, directories=directories)

    def directory(self, image: MetadataImage, replica: int) -> bytes:
        """10.5 Where a new replica of this broker goes, as far as a controller can tell."""
        registration = image.brokers.get(replica)
        return UNASSIGNED if registration is None else self.rules.default_directory(registration.log_dirs)

    def _difference(self, place: Place, planned: PartitionState) -> PartitionChange | None:
        state = place.state
        given: dict[str, Any] = {
            field: getattr(planned, field) for field in _CARRIED if getattr(planned, field) != getattr(state, field)
        }
        if self.rules.starts_leader_epoch(state, planned.leader, planned.replicas):
            given["leader"] = planned.leader
        if planned.leader_recovery_state is not state.leader_recovery_state:
            given["leader_recovery_state"] = int(planned.leader_recovery_state)
        return PartitionChange(place.topic_id, place.index, **given) if given else None


_CARRIED = (
    "isr",
    "replicas",
    "adding_replicas",
    "removing_replicas",
    "elr",
    "last_known_elr",
    "directories",
)


def located(state: PartitionState) -> Sequence[tuple[int, bytes]]:
    """Each replica with its directory."""
    missing = len(state.replicas) - len(state.directories)
    return tuple(zip(state.replicas, (*state.directories, *(UNASSIGNED,) * missing), strict=False))


def places(image: MetadataImage) -> list[Place]:
    """Every partition of an image."""
    return [
        Place(topic.name, topic.topic_id, index, state)
        for topic in image.topics.values()
        for index, state in topic.partitions.items()
    ]


def place_of(image: MetadataImage, topic: str, index: int) -> Place | None:
    """A partition by its topic's name."""
    topic_id = image.ids.get(topic)
    state = None if topic_id is None else image.partition(topic_id, index)
    return None if topic_id is None or state is None else Place(topic, topic_id, index, state)


def _recovery_state(state: PartitionState, intent: Intent, election: Election) -> RecoveryState:
    if election in (Election.UNCLEAN, Election.LAST_KNOWN):
        return RecoveryState.RECOVERING
    return state.leader_recovery_state if intent.recovery_state is None else intent.recovery_state


def _tell(draft: Draft, place: Place, election: Election) -> None:
    """Who came, who went, and whether a move is over."""
    before, after = place.state, draft.image.topics[place.topic_id].partitions[place.index]
    where: dict[str, Any] = {
        "topic": place.topic,
        "partition": place.index,
        "leader_epoch": after.leader_epoch,
        "partition_epoch": after.partition_epoch,
        "offset": draft.last_offset,
    }
    if election is not Election.NONE:
        draft.tell(
            LeaderElected(**where, election=election.value, was=before.leader, leader=after.leader, isr=after.isr, elr=after.elr)
        )
    elif before.has_leader and not after.has_leader:
        lost = after.last_known_elr
        draft.tell(LeaderLost(**where, was=before.leader, isr=after.isr, elr=after.elr, last_known_elr=lost))
    if layout_of(before).is_moving and not layout_of(after).is_moving:
        draft.tell(ReassignmentEnded(**where, replicas=after.replicas))
