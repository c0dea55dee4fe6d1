"""replication/leader.py: one replica while it leads: followers, ISR, high watermark (5.8, 5.9, 5.17, 5.18, 5.27 to 5.39).

In     fetches of followers, appends, lag ticks, answers of the controller, metadata
Out    a high watermark that moves; proposals to change the ISR; events
Keeps  `Leadership`, for one tenure or several of the same replica. Nothing of it is persistent: 5.11 forgets it all
Not    records and waiting requests: partition.py
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from replication.broker_state import BrokerState
from replication.directory import OnDone
from replication.errors import Error
from replication.events import AlterPartitionRefused, HighWatermarkHeldBack, IsrChanged, IsrChangeProposed
from replication.image import PartitionState, RecoveryState
from replication.log import Log
from replication.messages import AlteredPartition, AlterPartitionItem, FetchPartition
from replication.rules.isr import AfterAlter, HwTrigger
from replication.state import Follower, Leadership, PendingChange, Standing

Propose = Callable[["LeaderRole", AlterPartitionItem, PendingChange], bool]


class LeaderRole:
    """The office, and what its holder knows about the others."""

    def __init__(self, standing: Standing, broker: BrokerState, log: Log, propose: Propose, advanced: OnDone) -> None:
        self.standing, self.broker, self.log = standing, broker, log
        self.state = Leadership(isr=(), maximal_isr=frozenset(), leso=log.leo, followers={})
        self.min_isr = 1
        self._propose = propose
        self._advanced = advanced

    # -- metadata -------------------------------------------------------------------------------------------------------

    def take_up(self, state: PartitionState, new_tenure: bool) -> None:
        """5.7 to 5.9 Newer metadata names this replica leader: its ISR is the committed one, and ends any pending change."""
        leader = self.state
        if new_tenure:
            leader.leso = self.log.leo
        self._commit(state.isr, "metadata")
        self.know_replicas(forget=new_tenure)

    def know_replicas(self, forget: bool) -> None:
        """5.7, 5.8, 9.3 One state per follower: those that left are forgotten, new ones, and in a new tenure all, start from
        nothing."""
        rules, leader, now = self.broker.rules, self.state, self.broker.lag_now()
        known = leader.followers
        leader.followers = {
            replica: rules.follower_at_start(replica, replica in leader.isr, now, known.get(replica))
            if forget or replica not in known
            else known[replica]
            for replica in self.standing.replicas
            if replica != self.broker.node_id
        }
        self.read_settings()

    def read_settings(self) -> None:
        """5.30"""
        self.min_isr = self.broker.rules.effective_min_isr(self.log.settings.min_insync_replicas, len(self.standing.replicas))

    def resign(self) -> None:
        """5.11 The office ends: nobody waits for the answer to a pending change any more."""
        self.state.pending = None

    # -- followers ------------------------------------------------------------------------------------------------------

    def remember(self, replica_id: int, broker_epoch: int, asked: FetchPartition) -> None:
        """5.18 One accepted fetch: note it, let the follower join if it may (5.31), and move the HW if it moved (5.28)."""
        follower = self.state.followers[replica_id]
        rules, now, leo = self.broker.rules, self.broker.lag_now(), self.log.leo
        moved = follower.leo != asked.fetch_offset
        follower.last_caught_up = rules.last_caught_up(follower, asked.fetch_offset, leo, now)
        follower.leo = asked.fetch_offset
        follower.log_start = asked.log_start_offset
        follower.broker_epoch = broker_epoch
        follower.last_fetch = now
        follower.leader_leo_at_last_fetch = leo
        if replica_id not in self.state.isr:
            self._maybe_expand(follower)
        if moved:
            self.advance_hw(HwTrigger.FOLLOWER_MOVED)

    def low_watermark(self) -> int:
        """5.43"""
        brokers = self.broker.image.brokers
        alive = [f.log_start for f in self.state.followers.values() if (known := brokers.get(f.broker_id)) and not known.fenced]
        return self.broker.rules.low_watermark(self.log.log_start, alive)

    # -- the high watermark ---------------------------------------------------------------------------------------------

    def advance_hw(self, trigger: HwTrigger) -> None:
        """5.28 As far as everyone who counts has come."""
        leader, broker, log = self.state, self.broker, self.log
        rules = broker.rules
        if not rules.rechecks_hw(trigger) or not rules.may_advance_hw(leader, self.min_isr):
            return
        counts, leo, now, lag, brokers = rules.counts_for_hw, log.leo, broker.lag_now(), broker.lag_max_ns, broker.image.brokers
        counting = [f.leo for f in leader.followers.values() if counts(leader, f, leo, now, lag, brokers)]
        hw = rules.leader_hw(log.hw, rules.hw_candidate(log.counted_end, counting, self.min_isr))
        if hw != log.hw:
            log.hw = hw
            self._advanced()

    def on_lag_tick(self) -> None:
        """5.32, then 5.28; and who keeps readers waiting."""
        self._maybe_shrink()
        if self.broker.rules.may_join_between_fetches():
            for follower in self.state.followers.values():
                self._maybe_expand(follower)
        self.advance_hw(HwTrigger.LAG_TICK)
        if self.log.hw < self.log.leo:
            self._tell_who_holds_back()

    def _tell_who_holds_back(self) -> None:
        leader, broker, log = self.state, self.broker, self.log
        counts, now, brokers = broker.rules.counts_for_hw, broker.lag_now(), broker.image.brokers
        behind = [f for f in leader.followers.values() if f.leo < log.leo]
        holding = tuple(f.broker_id for f in behind if counts(leader, f, log.leo, now, broker.lag_max_ns, brokers))
        broker.env.emit(HighWatermarkHeldBack(**self.standing.where(), hw=log.hw, leo=log.leo, by=holding))

    # -- ISR changes ----------------------------------------------------------------------------------------------------

    def _maybe_expand(self, follower: Follower) -> None:
        """5.31"""
        registration = self.broker.image.brokers.get(follower.broker_id)
        if self.broker.rules.may_join_isr(self.state, follower, self.log.hw, registration):
            self._propose_isr("expand", (*self.state.isr, follower.broker_id))

    def _maybe_shrink(self) -> None:
        """5.32"""
        rules, broker = self.broker.rules, self.broker
        lagging = rules.lagging_members(self.state, broker.node_id, self.log.leo, broker.lag_now(), broker.lag_max_ns)
        if lagging and rules.may_shrink_isr(self.state):
            self._propose_isr("shrink", tuple(member for member in self.state.isr if member not in lagging))

    def _propose_isr(self, kind: Literal["expand", "shrink"], new_isr: tuple[int, ...]) -> None:
        """5.33, 5.34, 5.47 Ask the controller; from now on the HW waits for old and new members alike."""
        leader, broker = self.state, self.broker
        standing = self.standing
        pending = PendingChange(kind, new_isr, standing.leader_epoch, standing.partition_epoch)
        members = tuple(
            broker.rules.proposed_member(member, broker.node_id, broker.broker_epoch, leader.followers.get(member))
            for member in new_isr
        )
        # 5.10: an uncleanly elected leader says with its first change that it has taken over.
        item = AlterPartitionItem(
            standing.topic_id,
            standing.partition,
            standing.leader_epoch,
            standing.partition_epoch,
            members,
            int(RecoveryState.RECOVERED),
        )
        leader.pending = pending
        leader.maximal_isr = broker.rules.maximal_isr(leader.isr, pending)
        if self._propose(self, item, pending):
            broker.env.emit(IsrChangeProposed(**standing.where(), kind=kind, isr=leader.isr, proposed=new_isr))
        else:
            never_sent = AlteredPartition(standing.topic_id, standing.partition, Error.OPERATION_NOT_ATTEMPTED)
            self.on_altered(pending, never_sent)

    def on_altered(self, pending: PendingChange, answer: AlteredPartition) -> bool:
        """5.37 The controller's answer to one proposal. False: it must be sent again."""
        if self.state.pending is not pending:
            return True  # metadata was faster (5.38)
        standing = self.standing
        verdict = self.broker.rules.judge_alter_answer(answer, standing.leader_epoch, standing.partition_epoch)
        if verdict is AfterAlter.COMMIT:
            standing.partition_epoch = answer.partition_epoch
            self._commit(answer.isr, "controller accepted")
            self.advance_hw(HwTrigger.ISR_COMMITTED)
        else:
            self._tell_refusal(answer.error_code, pending.new_isr)
        if verdict is AfterAlter.REVERT:
            self._commit(self.state.isr, "controller accepted")
        return verdict is not AfterAlter.RESEND

    def _commit(self, isr: tuple[int, ...], because: Literal["controller accepted", "metadata"]) -> None:
        leader = self.state
        was, leader.isr, leader.pending = leader.isr, isr, None
        leader.maximal_isr = self.broker.rules.maximal_isr(isr, None)
        if was and was != isr:  # a leader that takes office has seen no ISR before
            self.broker.env.emit(IsrChanged(**self.standing.where(), was=was, now=isr, because=because))

    def _tell_refusal(self, error: Error, proposed: tuple[int, ...]) -> None:
        self.broker.env.emit(AlterPartitionRefused(**self.standing.where(), error=error.name, proposed=proposed))
