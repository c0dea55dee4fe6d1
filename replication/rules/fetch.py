"""replication/rules/fetch.py: a follower's fetch, on both sides (5.13 to 5.25, 5.40)."""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum
from typing import TypeVar

from replication.errors import Error
from replication.identity import NO_EPOCH
from replication.image import BrokerRegistration
from replication.messages import EpochEndOffset, FetchedPartition
from replication.rules.log import LogRules
from replication.state import Epochs, FetchAsked, Follower, LeaderEnd

T = TypeVar("T")


class AfterError(Enum):
    """What a follower does when a fetch was refused."""

    IGNORE = "the refusal is about an epoch that is gone"
    STOP = "wait for new metadata"
    BACK_OFF = "try again after replica.fetch.backoff.ms"
    ASK = "ask the leader where its log starts and ends"


class FetchRules(LogRules):
    """Who may fetch, what a fetch tells, what its answer may do."""

    # -- the leader's side, in the order of its checks ------------------------------------------------------------------

    def check_leader_epoch(self, asked: int, own: int) -> Error | None:
        """5.14, 7.3 Whoever names an epoch must name the one in force; a leader does not step down for a higher one (5.48,
        B35)."""
        if asked in (own, NO_EPOCH):
            return None
        return Error.FENCED_LEADER_EPOCH if asked < own else Error.UNKNOWN_LEADER_EPOCH

    def refuse_replica_fetch(
        self, asked: int, own: int, is_leader: bool, replica_id: int, replicas: Collection[int]
    ) -> Error | None:
        """5.14 First the epoch, then the office, then whether the follower belongs here at all."""
        if asked != own and (error := self.check_leader_epoch(asked, own)):
            return error
        if not is_leader:
            return Error.NOT_LEADER_OR_FOLLOWER
        return None if replica_id in replicas else Error.UNKNOWN_LEADER_EPOCH

    def judge_divergence(
        self, epochs: Epochs, leo: int, last_fetched_epoch: int, fetch_offset: int
    ) -> EpochEndOffset | Error | None:
        """5.16 The fetcher's last epoch must reach at least to where it fetches; else it is told where its epoch ends here.

        None: no divergence. An epoch this log cannot place is answered as out of range.
        """
        if last_fetched_epoch == NO_EPOCH or (epochs and last_fetched_epoch == epochs[-1][0] and fetch_offset <= leo):
            return None
        end = self.end_offset_for(epochs, last_fetched_epoch, leo)
        if end is None:
            return Error.OFFSET_OUT_OF_RANGE
        return end if end.epoch < last_fetched_epoch or end.end_offset < fetch_offset else None

    def is_in_range(self, fetch_offset: int, log_start: int, hw: int, leo: int, from_replica: bool) -> bool:
        """5.15, 7.2 From the first retained offset to the end of the log, the end included, for clients too.

        Above the HW is no error, only nothing to read yet: a client that was refused there would start over elsewhere (B34).
        """
        del hw, from_replica
        return log_start <= fetch_offset <= leo

    def refuse_broker_epoch(self, broker_epoch: int, registration: BrokerRegistration | None) -> Error | None:
        """5.18 A fetch from a process that has since been replaced says nothing about the broker that now has its id."""
        if broker_epoch == NO_EPOCH or registration is None or broker_epoch >= registration.broker_epoch:
            return None
        return Error.NOT_LEADER_OR_FOLLOWER

    def last_caught_up(self, follower: Follower, fetch_offset: int, leader_leo: int, now: int) -> int | None:
        """5.18 The latest moment at which the follower is known to have had everything.

        A fetch at the leader's end proves it for now; a fetch that reaches the end of the fetch before proves it for that one.
        """
        previous = follower.last_caught_up
        if fetch_offset >= leader_leo:
            proven: int | None = now
        elif follower.last_fetch is not None and fetch_offset >= follower.leader_leo_at_last_fetch:
            proven = follower.last_fetch
        else:
            return previous
        return (
            proven if previous is None or proven is None or proven > previous else previous
        )  # never back, whatever the clock does

    def counts(self, told: FetchedPartition | None) -> bool:
        """5.16, 5.17 A fetch that was told anything but records was refused or diverges: it says nothing about what its sender
        holds (B09)."""
        return told is None

    def counts_again_at_completion(self) -> bool:
        """5.40 A parked fetch told all it knew when it arrived; its completion is not news from the follower (B57)."""
        return False

    def bounds_of_completion(self, at_arrival: T, at_completion: T) -> T:
        """5.40 A parked fetch is judged and read again: epoch, HW and records are those of the moment it is answered (B57)."""
        del at_arrival
        return at_completion

    def must_park(self, max_wait_ms: int, readable_bytes: int, min_bytes: int, anything_to_tell: bool) -> bool:
        """5.40 A fetch waits only if it asked to, and there is neither enough to read nor an error or divergence to tell."""
        return max_wait_ms > 0 and readable_bytes < min_bytes and not anything_to_tell

    # -- the follower's side --------------------------------------------------------------------------------------------

    def is_current(self, asked: FetchAsked, wanted: FetchAsked | None) -> bool:
        """5.20 An answer counts only for the leader, epoch and offset that were asked; a late one may order a cut of what is by
        now
        committed (B06)."""
        return asked == wanted

    def may_append(self, batch_epoch: int, fetched_epoch: int) -> bool:
        """5.21 A batch newer than the epoch fetched in was not written by the leader that was asked (B07)."""
        return batch_epoch <= fetched_epoch

    def follower_hw(self, leader_hw: int, log_start: int, leo: int) -> int:
        """5.21 A follower repeats what its leader says, within its own log; so it may go back, unlike a leader's (5.29)."""
        return max(log_start, min(leader_hw, leo))

    def hw_while_diverging(self, own_hw: int, leader_hw: int) -> int:
        """5.22 A diverging answer says where to cut and nothing else: its HW is about records that this log does not have
        (B08)."""
        del leader_hw
        return own_hw

    def after_fetch_error(self, error: Error, asked_epoch: int, own_epoch: int) -> AfterError:
        """5.23 Fenced means that newer metadata is on its way; most other refusals pass by themselves."""
        if error is Error.FENCED_LEADER_EPOCH:
            return AfterError.IGNORE if asked_epoch < own_epoch else AfterError.STOP
        return AfterError.ASK if error is Error.OFFSET_OUT_OF_RANGE else AfterError.BACK_OFF

    def cut_after_out_of_range(self, leader: LeaderEnd, leo: int) -> int | None:
        """5.23 A leader whose log ends below ours was elected uncleanly: what reaches beyond it goes."""
        return leader.end if leader.end < leo else None

    def restart_after_out_of_range(self, leader: LeaderEnd, leo: int) -> int | None:
        """5.23 A leader whose log starts above our end has let go of what we lack: begin anew at its start."""
        return leader.start if leader.start > leo else None
