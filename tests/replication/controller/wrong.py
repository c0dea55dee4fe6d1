"""tests/replication/controller/wrong.py: the catalogue's bugs of the controller, each as one wrong answer (BUGS.md).

Every one of them is one method of one rules object: this file is the proof that each can be switched on that way.
"""

from __future__ import annotations

from collections.abc import Sequence

from replication.errors import Error
from replication.image import BrokerRegistration, MetadataImage, PartitionState
from replication.rules import Rules
from replication.rules.elections import Ballot
from replication.rules.reassignments import Layout


class NoCompareAndSet(Rules):
    """B15"""

    def refuse_partition_epoch(self, asked: int, current: int) -> Error | None:
        return None


class AnyBrokerEpoch(Rules):
    """B18: whoever has the id now."""

    def is_meant(self, claimed: int, registered: int) -> bool:
        return True


class EpochById(Rules):
    """B19: an id keeps its broker epoch, whatever became of its disk."""

    def broker_epoch_for(self, known: BrokerRegistration | None, incarnation_id: bytes, offset: int) -> int:
        return offset if known is None else known.broker_epoch


class EverybodyRestartsCleanly(Rules):
    """B19, B21: what an unclean restart lost is believed to be there."""

    def is_clean_restart(self, known: BrokerRegistration | None, previous_broker_epoch: int) -> bool:
        return True


class RegisteredIsEnough(Rules):
    """B20: fenced or on its way out, it is let in."""

    def counts_as_alive(self, known: BrokerRegistration | None) -> bool:
        return known is not None


class UncleanRestartsStay(Rules):
    """B21: the registration is known to be unclean, and the ELR keeps its broker."""

    def distrusted(self, uncleanly_restarted: Sequence[int]) -> Sequence[int]:
        return ()


class ElrOnlyGrows(Rules):
    """B23"""

    def empties_elr(self, isr_size: int, min_isr: int) -> bool:
        return False


class MinIsrOfItsOwn(Rules):
    """B23, the variant: a broker may mean another min.insync.replicas than its controllers."""

    def refuse_min_isr_of_brokers(self, owner: str, value: str | None) -> Error | None:
        return None


class AllAtOnce(Rules):
    """B24"""

    def fencing_rounds(self, expired: Sequence[int]) -> Sequence[Sequence[int]]:
        return [expired]


class DeadLastLeaders(Rules):
    """B25: the test for life, the wrong way round."""

    def may_elect_last_known(self, last_known: int, acceptable: Sequence[int]) -> bool:
        return last_known not in acceptable


class AnybodyUncleanly(Rules):
    """B36"""

    def may_elect_uncleanly(self, allowed: bool) -> bool:
        return True


class UnfencesAnybody(Rules):
    """B39: before it has seen its own registration."""

    def has_caught_up(self, current_metadata_offset: int, broker_epoch: int) -> bool:
        return True


class Blurts(Rules):
    """B47: answers before anybody has agreed."""

    def may_answer(self, offset: int, committed: int) -> bool:
        return True


class Remembers(Rules):
    """B47: keeps what was decided and never committed."""

    def believed(self, committed: MetadataImage, speculative: MetadataImage) -> MetadataImage:
        return speculative if speculative.offset > committed.offset else committed


class DecidesAtOnce(Rules):
    """B48, as far as it is the controller's: it does not wait for its own first records."""

    def may_decide(self, activation_offset: int, committed: int) -> bool:
        return True


class MovesTooEarly(Rules):
    """B52: before the new replicas hold anything."""

    def completes_reassignment(self, layout: Layout, isr: Sequence[int]) -> bool:
        return any(member not in layout.removing for member in isr)


class LeavesQuietly(Rules):
    """B52: a replica that is gone goes on being counted."""

    def starts_leader_epoch(self, before: PartitionState, leader: int, replicas: Sequence[int]) -> bool:
        return leader != before.leader


class SilentRefusals(Rules):
    """B54, the controller's side"""

    def steps_epoch_on_refusal(self, refusal: Error) -> bool:
        return False


class SilentSettings(Rules):
    """B55, the controller's side"""

    def steps_epochs_on_min_isr(self, uses_elr: bool) -> bool:
        return False


# -- wrong in ways that have no number ----------------------------------------------------------------------------------------


class NoElr(Rules):
    """8.6 forgotten: whoever leaves the ISR is nobody."""

    def elr_after(
        self, before: PartitionState, replicas: Sequence[int], isr: Sequence[int], unclean: Sequence[int], min_isr: int
    ) -> tuple[int, ...]:
        return ()


class EmptyIsr(Rules):
    """8.4 forgotten: without ELR nobody is left whom a clean election could find."""

    def isr_of_nobody(self, before: Sequence[int], replicas: Sequence[int], uses_elr: bool) -> tuple[int, ...]:
        return ()


class NeverUncleanly(Rules):
    """8.9: the topic's setting is not asked for."""

    def may_elect_uncleanly(self, allowed: bool) -> bool:
        return False


class FirstOfIsr(Rules):
    """8.3 as S3 and S4 have it (section 13, row 7)."""

    def clean_leader(self, ballot: Ballot) -> int | None:
        return next((member for member in (ballot.leader, *ballot.isr) if ballot.can_lead(member)), None)
