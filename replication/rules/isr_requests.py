"""replication/rules/isr_requests.py: which ISR a controller accepts from a leader (5.35 to 5.37)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from replication.errors import Error
from replication.identity import NO_EPOCH
from replication.image import BrokerRegistration, PartitionState, RecoveryState
from replication.messages import AlterPartitionItem, IsrMember


class IsrRequestRules:
    """A leader asks; the controller compares with what it knows, epochs first."""

    def refuse_alter(
        self, sender: int, asked: AlterPartitionItem, state: PartitionState, brokers: Mapping[int, BrokerRegistration]
    ) -> Error | None:
        """5.35 In this order: what is stale is told before what is wrong, what is wrong before what has changed its mind."""
        return (
            self.refuse_future_epochs(asked, state)
            or self.refuse_leader_epoch(asked.leader_epoch, state.leader_epoch)
            or self.refuse_sender(sender, state)
            or self.refuse_partition_epoch(asked.partition_epoch, state.partition_epoch)
            or self.refuse_shape(asked, state)
            or self.refuse_recovery(asked, state)
            or self.refuse_members(asked.new_isr_with_epochs, brokers)
        )

    def refuse_future_epochs(self, asked: AlterPartitionItem, state: PartitionState) -> Error | None:
        """5.35 Somebody decided what this controller has not heard of: it is not the active one any more."""
        ahead = asked.leader_epoch > state.leader_epoch or asked.partition_epoch > state.partition_epoch
        return Error.NOT_CONTROLLER if ahead else None

    def refuse_leader_epoch(self, asked: int, current: int) -> Error | None:
        """5.35 A leader of the past."""
        return Error.FENCED_LEADER_EPOCH if asked < current else None

    def refuse_sender(self, sender: int, state: PartitionState) -> Error | None:
        """5.35"""
        return None if sender == state.leader else Error.INVALID_REQUEST

    def refuse_partition_epoch(self, asked: int, current: int) -> Error | None:
        """1.7, 5.35 Compare and set: what was asked of an older state would undo what has happened since (B15)."""
        return Error.INVALID_UPDATE_VERSION if asked < current else None

    def refuse_shape(self, asked: AlterPartitionItem, state: PartitionState) -> Error | None:
        """5.35 Some of the replicas, each once, the leader among them."""
        members = [member.broker_id for member in asked.new_isr_with_epochs]
        fits = state.leader in members and len(set(members)) == len(members) and set(members) <= set(state.replicas)
        return None if fits else Error.INVALID_REQUEST

    def refuse_recovery(self, asked: AlterPartitionItem, state: PartitionState) -> Error | None:
        """5.10, 5.35 Until an unclean leader says that it has taken over it is alone; nothing makes a clean one unclean."""
        if asked.leader_recovery_state == RecoveryState.RECOVERED:
            return None
        if asked.leader_recovery_state != RecoveryState.RECOVERING:
            return Error.INVALID_REQUEST
        clean = state.leader_recovery_state is RecoveryState.RECOVERED
        return Error.INVALID_REQUEST if clean or len(asked.new_isr_with_epochs) > 1 else None

    def refuse_members(self, members: Sequence[IsrMember], brokers: Mapping[int, BrokerRegistration]) -> Error | None:
        """5.35 One that may not be in sync is enough to refuse the whole set."""
        allowed = all(self.may_be_member(member, brokers.get(member.broker_id)) for member in members)
        return None if allowed else Error.INELIGIBLE_REPLICA

    def may_be_member(self, member: IsrMember, known: BrokerRegistration | None) -> bool:
        """5.35, 4.8 Registered and active (B20), and the process that the leader meant (B18)."""
        return self.counts_as_alive(known) and known is not None and self.is_meant(member.broker_epoch, known.broker_epoch)

    def counts_as_alive(self, known: BrokerRegistration | None) -> bool:
        """4.13, 5.35 Neither fenced nor on its way out: it would be elected, or hold back the HW (B20)."""
        return known is not None and known.active

    def is_meant(self, claimed: int, registered: int) -> bool:
        """5.35 A broker epoch names one process: the next one may have an empty disk (B18). -1 claims nothing (5.34)."""
        return claimed in (NO_EPOCH, registered)

    def steps_epoch_on_refusal(self, refusal: Error) -> bool:
        """5.37 A copy of a request that was refused for its members may come when they are eligible again: the same ISR in a
        new partition epoch takes its chance away, and tells the leader that it may stop waiting (B54)."""
        return refusal is Error.INELIGIBLE_REPLICA
