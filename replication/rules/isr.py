"""replication/rules/isr.py: the high watermark and the in-sync replicas (5.19, 5.27 to 5.39)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum

from replication.errors import Error
from replication.identity import NO_EPOCH
from replication.image import BrokerRegistration
from replication.messages import AlteredPartition, IsrMember
from replication.state import Follower, Leadership, PendingChange

Brokers = Mapping[int, BrokerRegistration]


class AfterAlter(Enum):
    """What a leader does with an answer to its AlterPartition."""

    COMMIT = "the answer's ISR is the committed one"
    WAIT = "stay pending until metadata of a higher partition epoch tells what became of it"
    RESEND = "send it again"
    REVERT = "it was never sent: the committed ISR stands"


class HwTrigger(Enum):
    """5.27 Why the high watermark may have to move."""

    FOLLOWER_MOVED = "a follower reported another end"
    ISR_COMMITTED = "the controller accepted a change"
    APPEND = "the leader appended"
    OFFICE = "the leader took up metadata"
    LAG_TICK = "time has passed"
    IMAGE = "brokers or settings changed"


class IsrRules:
    """Who counts, and how far the promise reaches."""

    # -- followers ------------------------------------------------------------------------------------------------------

    def is_caught_up(self, follower: Follower, leader_leo: int, now: int, lag_max: int) -> bool:
        """5.19 At the leader's end, or there recently enough. A time of never is no time ago enough."""
        if follower.leo == leader_leo:
            return True
        return follower.last_caught_up is not None and now - follower.last_caught_up <= lag_max

    def is_eligible(self, follower: Follower, registration: BrokerRegistration | None) -> bool:
        """5.31 A member must be the living, unfenced process that did the fetching (B18, B20).

        An unknown broker epoch is not eligible: this leader has not yet heard from that follower.
        """
        if registration is None or not registration.active or follower.broker_epoch is None:
            return False
        return follower.broker_epoch in (NO_EPOCH, registration.broker_epoch)

    # -- the high watermark ---------------------------------------------------------------------------------------------

    def effective_min_isr(self, min_insync_replicas: int, replicas: int) -> int:
        """5.30 A partition cannot be asked for more copies than it has replicas."""
        return min(min_insync_replicas, replicas)

    def maximal_isr(self, isr: Sequence[int], pending: PendingChange | None) -> frozenset[int]:
        """5.33, 5.39 Everyone the controller may already take for a member: with a proposed joiner, and with a leaver that has
        not left.

        The controller may elect any of them, so the high watermark waits for all of them (B12, B13).
        """
        return frozenset(isr) if pending is None else frozenset(isr).union(pending.new_isr)

    def counts_for_hw(self, leader: Leadership, follower: Follower, leo: int, now: int, lag_max: int, brokers: Brokers) -> bool:
        """5.28 The HW waits for the maximal ISR, and for a follower about to join it; not for one that may not join (B26)."""
        if follower.broker_id in leader.maximal_isr:
            return True
        return self.is_caught_up(follower, leo, now, lag_max) and self.is_eligible(follower, brokers.get(follower.broker_id))

    def may_advance_hw(self, leader: Leadership, min_isr: int) -> bool:
        """5.28 Below min ISR the HW is frozen: members that left keep everything that was ever promised, and may lead again
        (B22)."""
        return len(leader.isr) >= min_isr

    def rechecks_hw(self, trigger: HwTrigger) -> bool:
        """5.27 Whatever may have moved the bound is a reason to look again: else a produce waits for an event that never comes
        (B26)."""
        del trigger
        return True

    def hw_candidate(self, own_end: int, counting: Sequence[int], min_isr: int) -> int:
        """5.28 The least of all that count: not of as many as min ISR asks for (B28)."""
        del min_isr
        return min(own_end, min(counting)) if counting else own_end  # noqa: PLW3301  twice as fast as one `min` of all

    def leader_hw(self, hw: int, candidate: int) -> int:
        """5.29 A leader's HW never moves back: what was readable stays readable (B37)."""
        return candidate if candidate > hw else hw

    # -- changes --------------------------------------------------------------------------------------------------------

    def may_join_isr(self, leader: Leadership, follower: Follower, hw: int, registration: BrokerRegistration | None) -> bool:
        """5.31 A follower joins the ISR once it holds everything that may have been promised.

        The leader's own HW can lag behind what its predecessor acknowledged (5.29), so reaching it is not enough: the follower
        must
        also reach the offset at which this leader took office. `follower` is one snapshot: offsets and broker epoch of one fetch.
        """
        return (
            leader.pending is None
            and follower.broker_id not in leader.isr
            and follower.leo >= hw
            and follower.leo >= leader.leso  # without this line: B11
            and self.is_eligible(follower, registration)
        )

    def lagging_members(self, leader: Leadership, own_id: int, leader_leo: int, now: int, lag_max: int) -> tuple[int, ...]:
        """5.32 Members that have not been at the leader's end for too long; one the leader never heard of is lagging."""
        return tuple(
            member
            for member in leader.isr
            if member != own_id
            and not ((known := leader.followers.get(member)) and self.is_caught_up(known, leader_leo, now, lag_max))
        )

    def may_join_between_fetches(self) -> bool:
        """5.31 What is remembered of a follower may be from before it lost its log: only a fetch of now lets it join (B17)."""
        return False

    def may_shrink_isr(self, leader: Leadership) -> bool:
        """5.32, 5.33 One change at a time."""
        return leader.pending is None

    def proposed_member(self, member: int, own_id: int, own_broker_epoch: int, follower: Follower | None) -> IsrMember:
        """5.34 Each proposed member with the broker epoch of its last fetch, so that the controller can refuse a process that is
        gone.

        -1 for an existing member that has not fetched from this leader: nothing is claimed about it.
        """
        if member == own_id:
            return IsrMember(member, own_broker_epoch)
        known = follower.broker_epoch if follower else None
        return IsrMember(member, NO_EPOCH if known is None else known)

    def judge_alter_answer(self, answer: AlteredPartition, own_leader_epoch: int, own_partition_epoch: int) -> AfterAlter:
        """5.37 Success counts in the epoch that asked. A refusal leaves open whether an earlier copy was accepted, so the leader
        goes on
        as if it might be, until metadata says more (B14, B54)."""
        error = answer.error_code
        if error is Error.OPERATION_NOT_ATTEMPTED:
            return AfterAlter.REVERT  # 5.47: it never left this node
        if error is Error.NONE:
            current = answer.leader_epoch == own_leader_epoch and answer.partition_epoch >= own_partition_epoch
            return AfterAlter.COMMIT if current else AfterAlter.WAIT
        return AfterAlter.WAIT if error in _REFUSALS else AfterAlter.RESEND


_REFUSALS = frozenset(
    {
        Error.UNKNOWN_TOPIC_OR_PARTITION,
        Error.UNKNOWN_TOPIC_ID,
        Error.FENCED_LEADER_EPOCH,
        Error.INVALID_REQUEST,
        Error.INVALID_UPDATE_VERSION,
        Error.INELIGIBLE_REPLICA,
        Error.NEW_LEADER_ELECTED,
    }
)
"""5.35, 5.36 What a controller that decided can answer. Anything else did not come from a decision."""
