"""replication/rules/elections.py: who leads a partition next, and what the change says about ISR and ELR (1.6, section 8)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import msgspec

from replication.errors import Error
from replication.identity import NO_LEADER, UNASSIGNED
from replication.image import BrokerRegistration, PartitionState


class Election(Enum):
    """How a leader came into office."""

    NONE = "none"  # nobody was elected: the leader stays, or there is none
    PREFERRED = "preferred"  # 8.11 a move that nobody's failure asked for
    CLEAN = "clean"  # 8.3 from the ISR
    ELR = "elr"  # 8.3 from the ELR, the ISR being empty
    LAST_KNOWN = "last_known"  # 8.8 the last leader, the only one whose name is left
    UNCLEAN = "unclean"  # 8.9 whoever is there


class Ballot(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that an election may look at: never a log (8.7)."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    """The target ISR: without whoever leaves in this change."""
    elr: tuple[int, ...]
    last_known_elr: tuple[int, ...]
    leader: int
    acceptable: tuple[int, ...]
    """8.2 in assignment order."""
    min_isr: int
    uses_elr: bool
    allows_unclean: bool
    preferred: bool = False

    def can_lead(self, replica: int) -> bool:
        """8.3 Acceptable, and complete by membership: of the ISR, or of the ELR once the ISR is empty."""
        return replica in self.acceptable and (replica in self.isr or (not self.isr and replica in self.elr))


class Elected(msgspec.Struct, frozen=True):
    """What an election decides."""

    leader: int
    election: Election
    isr: tuple[int, ...]
    elr: tuple[int, ...]


class ElectionRules:
    """Elections look at membership and liveness alone."""

    # -- who may lead ---------------------------------------------------------------------------------------------------

    def is_acceptable_leader(self, registration: BrokerRegistration | None, directory: bytes, leaving: bool) -> bool:
        """8.2 An active broker whose log directory is online, and that is not on its way out in this very change.

        A replica whose broker has not reported a directory is taken to be online (10.5).
        """
        if registration is None or leaving or not registration.active:
            return False
        return directory == UNASSIGNED or directory in registration.log_dirs

    def clean_leader(self, ballot: Ballot) -> int | None:
        """8.3 The leader stays if it may; else the first in assignment order that may: the ISR's order means nothing.

        A preferred election (8.11) asks the first of the assignment before the leader.
        """
        if ballot.preferred and ballot.can_lead(ballot.replicas[0]):
            return ballot.replicas[0]
        if ballot.can_lead(ballot.leader):
            return ballot.leader
        return next((replica for replica in ballot.replicas if ballot.can_lead(replica)), None)

    def last_known_leader(self, ballot: Ballot) -> int | None:
        """8.8 With nobody left in ISR and ELR the last leader may come back, if it lives (B25)."""
        if ballot.isr or ballot.elr or len(ballot.last_known_elr) != 1:
            return None
        last = ballot.last_known_elr[0]
        return last if self.may_elect_last_known(last, ballot.acceptable) else None

    def may_elect_last_known(self, last_known: int, acceptable: Sequence[int]) -> bool:
        """8.8 A leader that is not alive would be a leader for nobody (B25)."""
        return last_known in acceptable

    def unclean_leader(self, ballot: Ballot) -> int | None:
        """8.9 Where a topic may lose records rather than wait: the first acceptable replica in assignment order (B36)."""
        return next(iter(ballot.acceptable), None) if self.may_elect_uncleanly(ballot.allows_unclean) else None

    def may_elect_uncleanly(self, allowed: bool) -> bool:
        """8.9, 8.14 Only if the topic's setting says so, or an operator (B36)."""
        return allowed

    def elect(self, ballot: Ballot) -> Elected:
        """8.3, 8.8, 8.9 In this order: cleanly, the last known leader, uncleanly; else nobody."""
        clean = self.clean_leader(ballot)
        if clean is not None:
            return self.elected_cleanly(ballot, clean)
        last = self.last_known_leader(ballot) if ballot.uses_elr else None
        if last is not None:
            return Elected(last, Election.LAST_KNOWN, (last,), ())
        unclean = self.unclean_leader(ballot)
        if unclean is not None:
            return Elected(unclean, Election.UNCLEAN, (unclean,), ())
        return Elected(NO_LEADER, Election.NONE, ballot.isr, ballot.elr)

    def elected_cleanly(self, ballot: Ballot, leader: int) -> Elected:
        """8.6 Whoever is elected from the ELR moves to the ISR; then the ELR is asked again whether it is needed (m = 1)."""
        if leader in ballot.elr:
            others = () if self.empties_elr(1, ballot.min_isr) else tuple(each for each in ballot.elr if each != leader)
            return Elected(leader, Election.ELR, (leader,), others)
        if leader == ballot.leader:
            return Elected(leader, Election.NONE, ballot.isr, ballot.elr)
        kind = Election.PREFERRED if ballot.preferred else Election.CLEAN
        return Elected(leader, kind, ballot.isr, ballot.elr)

    # -- ISR and ELR ----------------------------------------------------------------------------------------------------

    def empties_elr(self, isr_size: int, min_isr: int) -> bool:
        """8.6 With min ISR members in sync the HW moves on, and leaves behind who is not among them (B23)."""
        return isr_size >= min_isr

    def elr_after(
        self, before: PartitionState, replicas: Sequence[int], isr: Sequence[int], unclean: Sequence[int], min_isr: int
    ) -> tuple[int, ...]:
        """8.6 Who left the ISR while the HW was frozen still holds everything that was promised; an unclean restart may not.

        In assignment order, so that equal memberships are equal values. What is kept of uncleanly restarted members: B21.
        """
        if self.empties_elr(len(isr), min_isr):
            return ()
        kept = frozenset(before.elr).union(before.isr).difference(isr).difference(self.distrusted(unclean))
        return tuple(replica for replica in replicas if replica in kept)

    def distrusted(self, uncleanly_restarted: Sequence[int]) -> Sequence[int]:
        """8.6 Who restarted uncleanly may have lost its log's end: it is in no ELR until it has caught up (B21)."""
        return uncleanly_restarted

    def isr_of_nobody(self, before: Sequence[int], replicas: Sequence[int], uses_elr: bool) -> tuple[int, ...]:
        """8.4, 8.5 With ELR an ISR may be empty; without, its last members stay in it, for only they can be elected cleanly.

        A cancelled reassignment can leave none of them in the assignment: then the first original replica (9.5).
        """
        if uses_elr:
            return ()
        return tuple(member for member in before if member in replicas) or (replicas[0],)

    def last_known_after(
        self, before: PartitionState, replicas: Sequence[int], leader: int, isr_size: int, min_isr: int
    ) -> tuple[int, ...]:
        """8.8, 8.6 Remembered when the leader goes and nobody follows; forgotten once somebody leads, or leaves the replicas."""
        if leader != NO_LEADER or self.empties_elr(isr_size, min_isr):
            return ()
        known = before.last_known_elr or ((before.leader,) if before.has_leader else ())
        return tuple(replica for replica in known if replica in replicas)

    def starts_leader_epoch(self, before: PartitionState, leader: int, replicas: Sequence[int]) -> bool:
        """1.6, 9.2 A new leader or none; or the same one when a replica has left that it would otherwise go on counting
        (B52)."""
        return leader != before.leader or any(replica not in replicas for replica in before.replicas)

    # -- elections that are asked for -----------------------------------------------------------------------------------

    def refuse_preferred(self, state: PartitionState, ballot: Ballot) -> Error | None:
        """8.11, 8.14"""
        if state.leader == state.replicas[0]:
            return Error.ELECTION_NOT_NEEDED
        return None if ballot.can_lead(state.replicas[0]) else Error.PREFERRED_LEADER_NOT_AVAILABLE

    def refuse_unclean(self, state: PartitionState, acceptable: Sequence[int]) -> Error | None:
        """8.14 An operator may choose to lose records, but not while somebody leads."""
        if state.has_leader:
            return Error.ELECTION_NOT_NEEDED
        return None if acceptable else Error.ELIGIBLE_LEADERS_NOT_AVAILABLE

    def elections_per_pass(self) -> int:
        """3.12 A check of all partitions must not stop everything else: the rest follows at once, in a pass of its own."""
        return 1_000
