"""replication/rules/quorum.py: who may lead the quorum, what is committed in its log, what a snapshot may replace (section 2)."""

from __future__ import annotations

from collections.abc import Sequence

from replication.env import NANOSECONDS
from replication.errors import Error
from replication.identity import NO_EPOCH, NO_LEADER
from replication.messages import EpochEndOffset
from replication.quorum.election_state import ElectionState, Role
from replication.quorum.settings import QuorumSettings
from replication.quorum_messages import FetchSnapshotRequest, QuorumFetchRequest, SnapshotId, VoteRequest, VoterKey


class QuorumRules:
    """What makes one log out of many."""

    # -- what is written down -------------------------------------------------------------------------------------------

    def must_write_state(self, was: ElectionState, becomes: ElectionState) -> bool:
        """2.2 An epoch, a leader or a vote that a restart forgets could be contradicted after it (B40)."""
        return was != becomes

    def state_is_written_first(self) -> bool:
        """2.2, 2.39 It takes effect, and is told to anyone, once it is durable: a vote in the page cache is no vote (B40)."""
        return True

    def vote_after(self, state: ElectionState, epoch: int) -> VoterKey | None:
        """2.3, 1.3 Whatever a member becomes in an epoch, it has voted as it has; only a new epoch gives a new vote (B41)."""
        return state.voted if state.epoch == epoch else None

    def state_at_start(self, found: ElectionState, log_epoch: int) -> ElectionState:
        """2.4 A log may know a newer epoch than the file beside it; in that one nothing is known and no vote was given."""
        return found if found.epoch >= log_epoch else ElectionState(epoch=log_epoch)

    def role_at_start(self, state: ElectionState, me: VoterKey, is_voter: bool) -> Role:
        """2.4 What a member is after a restart.

        A leader may have lost records of its epoch that others hold: it must not write other ones under the same epoch, so it
        never resumes its office (B45).
        """
        if is_voter and state.leader_id == me.voter_id:
            return Role.RESIGNED
        if is_voter and state.voted == me and state.leader_id == NO_LEADER:
            return Role.CANDIDATE
        follows = state.leader_id not in (NO_LEADER, me.voter_id)
        return Role.FOLLOWER if follows else Role.UNATTACHED

    # -- members --------------------------------------------------------------------------------------------------------

    def same_voter(self, one: VoterKey, other: VoterKey) -> bool:
        """2.37, 2.42 A voter is its id and its disk: one whose disk was wiped forgot its votes and its records (B49)."""
        return one == other

    def majority_of(self, voters: int) -> int:
        """2.15 Any two majorities share a member."""
        return voters // 2 + 1

    def election_timeout_ns(self, base_ns: int, chance: float, voters: int) -> int:
        """2.7, 2.8 Drawn from [T, 2T), so that rivals part; a member without rivals does not wait."""
        return base_ns + int(base_ns * chance) if voters > 1 else 0

    # -- votes ----------------------------------------------------------------------------------------------------------

    def refuse_vote_request(self, request: VoteRequest, cluster_id: str, own_epoch: int) -> Error | None:
        """2.10 What no candidate can ask. A candidate's log cannot hold records of the epoch that it stands for."""
        if request.cluster_id != cluster_id:
            return Error.INCONSISTENT_CLUSTER_ID
        newest_possible = request.replica_epoch if request.pre_vote else request.replica_epoch - 1
        negative = request.replica_id < 0 or request.last_offset < 0 or request.last_offset_epoch < 0
        if negative or request.replica_epoch < 0 or request.last_offset_epoch > newest_possible:
            return Error.INVALID_REQUEST
        return Error.FENCED_LEADER_EPOCH if request.replica_epoch < own_epoch else None

    def candidate_is_up_to_date(self, last_epoch: int, last_offset: int, own_last_epoch: int, own_leo: int) -> bool:
        """2.12 The candidate holds whatever this voter may have helped to commit: epoch first, then offset (B42)."""
        return (last_epoch, last_offset) >= (own_last_epoch, own_leo)

    def grants_vote(self, role: Role, state: ElectionState, candidate: VoterKey, up_to_date: bool) -> bool:
        """2.13 One vote in an epoch. Whoever got it may ask again, since the answer may have been lost (B40, B41)."""
        if role not in (Role.UNATTACHED, Role.PROSPECTIVE):
            return False
        if state.voted is not None:
            return state.voted == candidate
        return state.leader_id == NO_LEADER and up_to_date

    def grants_pre_vote(self, role: Role, has_fetched: bool, up_to_date: bool) -> bool:
        """2.14 Whether an election is worth its disturbance: no, says a follower whose leader answers it."""
        undisturbed = role is Role.LEADER or (role is Role.FOLLOWER and has_fetched)
        return up_to_date and not undisturbed

    def claimed_end(self, leo: int, durable_end: int) -> int:
        """2.38 A candidate claims what a power cut would leave it: a vote given again does not look at the log again (B56)."""
        del leo
        return durable_end

    def epoch_of_pre_vote(self, epoch: int) -> int:
        """2.6, 2.9 Asking whether one would be elected changes nothing, not even for the one who asks (B46)."""
        return epoch

    def grants_at_candidacy(self, me: VoterKey, pre_grants: Sequence[int]) -> tuple[int, ...]:
        """2.15 A candidate starts with its own vote: what it was granted before was no vote (B46)."""
        del pre_grants
        return (me.voter_id,)

    def is_elected(self, grants: int, voters: int) -> bool:
        """2.15"""
        return grants >= self.majority_of(voters)

    def is_rejected(self, grants: int, outstanding: int, voters: int) -> bool:
        """2.15 Not even if all who have not answered grant it."""
        return grants + outstanding < self.majority_of(voters)

    def contradicts(self, known_leader: int, told_leader: int) -> bool:
        """2.16 Two leaders of one epoch: at least one election was wrong, and nothing can be trusted any more."""
        return NO_LEADER not in (known_leader, told_leader) and known_leader != told_leader

    # -- office ---------------------------------------------------------------------------------------------------------

    def must_tell_begin(self, last_fetch_ns: int | None, now_ns: int, fetch_timeout_ns: int) -> bool:
        """2.18 A voter that has not been heard of for half a fetch timeout is told who leads."""
        return last_fetch_ns is None or now_ns - last_fetch_ns >= fetch_timeout_ns // 2

    def check_quorum_timeout_ns(self, fetch_timeout_ns: int) -> int:
        """2.19"""
        return fetch_timeout_ns * 3 // 2

    def keeps_office(self, others_heard: int, voters: int) -> bool:
        """2.19 A leader that no majority fetches from cannot commit, and keeps observers from the one that can (B51)."""
        return others_heard >= self.majority_of(voters) - 1

    def successors(self, ends: Sequence[tuple[int, VoterKey]]) -> tuple[VoterKey, ...]:
        """2.20 Who is furthest first; ids decide between equals."""
        return tuple(key for _, key in sorted(ends, key=lambda entry: (-entry[0], entry[1].voter_id)))

    def fetch_timeout_after_end_ns(self, place: int, chance: float, settings: QuorumSettings) -> int:
        """2.20 The first successor stands at once; those behind it hold back, twice as long each, and by chance."""
        if place == 0:
            return 0
        longest = settings.controller_quorum_election_backoff_max_ms
        spread = min(settings.controller_quorum_retry_backoff_ms << place, longest)
        return int(spread * (1 + chance) * NANOSECONDS) // 2

    def retry_backoff_ns(self, failures: int, settings: QuorumSettings) -> int:
        """2.41 Short at first, then twice as long each time up to the fetch wait: nobody is helped by knocking at a dead door."""
        shortest = settings.controller_quorum_retry_backoff_ms
        return min(shortest << min(failures, 16), max(shortest, settings.tidemark_quorum_fetch_wait_ms)) * NANOSECONDS

    def refuse_epoch_news(self, cluster_id: str, own_cluster_id: str, epoch: int, own_epoch: int) -> Error | None:
        """2.18, 2.20 Begin and end of an office: of another cluster, or of an epoch that is over."""
        if cluster_id != own_cluster_id:
            return Error.INCONSISTENT_CLUSTER_ID
        return Error.FENCED_LEADER_EPOCH if epoch < own_epoch else None

    def may_be_active(self, applied_end: int, epoch_start: int) -> bool:
        """2.36 A leader acts once it has applied everything that was committed before it, and its own first record (B48)."""
        return applied_end > epoch_start

    # -- fetching -------------------------------------------------------------------------------------------------------

    def refuse_quorum_fetch(
        self,
        request: QuorumFetchRequest | FetchSnapshotRequest,
        cluster_id: str,
        own_epoch: int,
        leads: bool,
        shutting_down: bool,
    ) -> Error | None:
        """2.23 Only the leader of the fetcher's own epoch answers, in this order."""
        if request.cluster_id != cluster_id:
            return Error.INCONSISTENT_CLUSTER_ID
        if request.current_leader_epoch < own_epoch:
            return Error.FENCED_LEADER_EPOCH
        if request.current_leader_epoch > own_epoch:
            return Error.UNKNOWN_LEADER_EPOCH
        if not leads:
            return Error.NOT_LEADER_OR_FOLLOWER
        return Error.BROKER_NOT_AVAILABLE if shutting_down else None

    def needs_snapshot(self, offset: int, last_epoch: int, log_start: int, oldest: SnapshotId | None) -> bool:
        """2.24 What the oldest snapshot replaced can no longer be compared: the fetcher gets the newest one instead."""
        if oldest is None:
            return False
        return offset < log_start or (offset == log_start and last_epoch != oldest.epoch) or last_epoch < oldest.epoch

    def divergence(self, offset: int, last_epoch: int, log_start: int, end: EpochEndOffset | None) -> EpochEndOffset | None:
        """2.24 Where the fetcher's log and this one part; None if it is a prefix. `end`: where this log ends its last epoch."""
        if end is None:
            return EpochEndOffset(NO_EPOCH, log_start)
        return end if end.epoch != last_epoch or end.end_offset < offset else None

    def fetch_counts(self, valid: bool) -> bool:
        """2.25 Only a fetch at a position that both logs share says what the fetcher holds."""
        return valid

    def flushes_before_fetch(self, is_voter: bool) -> bool:
        """2.26 A voter's fetch offset is its word that it holds everything below: first durable, then said (B44)."""
        return is_voter

    def own_end_for_hw(self, leo: int, durable_end: int) -> int:
        """2.26, 2.38 A leader counts its own records as it counts others': once they are durable (B56)."""
        del leo
        return durable_end

    def quorum_hw_candidate(self, ends: Sequence[int]) -> int:
        """2.27 The end that a majority of voters has reached."""
        return sorted(ends, reverse=True)[len(ends) // 2]

    def may_advance_quorum_hw(self, candidate: int, epoch_start: int, hw: int) -> bool:
        """2.27 Only a record of the leader's own epoch commits, and with it everything before.

        A record of an older epoch can be held by a majority and still be overwritten, by a leader elected with the votes of those
        who never saw it (B43).
        """
        return candidate > epoch_start and candidate > hw

    def follower_quorum_hw(self, hw: int, told: int, leo: int) -> int:
        """2.28 As far as the leader says and the own log reaches; never back."""
        return max(hw, min(told, leo))

    def may_cut_quorum_log(self, target: int, hw: int, log_start: int) -> bool:
        """2.29 What is committed is never cut: a leader that asks for it was wrongly elected, or lost its disk (B49)."""
        return target >= hw and target >= log_start

    def may_append_fetched(self, batch_epoch: int, fetched_epoch: int) -> bool:
        """2.30 A batch newer than the epoch that asked comes from a leader that was deposed while it answered."""
        return batch_epoch <= fetched_epoch

    def parks_fetch(self, offset: int, leo: int, known_hw: int, hw: int, max_wait_ms: int) -> bool:
        """2.31 A fetcher that has everything, and knows what is committed, waits for news."""
        return offset >= leo and known_hw >= hw and max_wait_ms > 0

    # -- applying and snapshots -----------------------------------------------------------------------------------------

    def applicable_end(self, hw: int, leo: int) -> int:
        """2.35 Only what is committed is acted upon."""
        del leo
        return hw

    def snapshot_id(self, applied_end: int, applied_epoch: int) -> SnapshotId:
        """2.32 The end is exclusive: the offset of the first record that is not inside (B50)."""
        return SnapshotId(applied_end, applied_epoch)

    def may_take_snapshot(self, end: int, hw: int, log_start: int, newest: SnapshotId | None) -> bool:
        """2.32 Of committed records only, and of more than the last one holds (B50)."""
        return log_start <= end <= hw and (newest is None or end > newest.end_offset)

    def wants_snapshot(self, applied_bytes: int, since_ms: int, settings: QuorumSettings) -> bool:
        """2.43 Enough has been applied, or something long ago."""
        if applied_bytes >= settings.metadata_log_max_record_bytes_between_snapshots:
            return True
        return applied_bytes > 0 and since_ms >= settings.metadata_log_max_snapshot_interval_ms

    def drops_oldest_snapshot(self, snapshots: int, size: int, age_ms: int, settings: QuorumSettings) -> bool:
        """2.43 Of several, the oldest goes when all together are too large or it is too old."""
        if snapshots < 2:
            return False
        return size > settings.metadata_max_retention_bytes or age_ms > settings.metadata_max_retention_ms

    def log_start_for(self, oldest: SnapshotId | None, log_start: int, hw: int) -> int:
        """2.33 A log starts at 0, or where a snapshot holds all that came before (B50)."""
        del hw
        return log_start if oldest is None else max(log_start, oldest.end_offset)

    def is_snapshot_file(self, name: str) -> bool:
        """2.34, 2.43 Only what was written to its end has this name: a partial file is worth nothing (B50)."""
        return name.endswith(".checkpoint")

    def trusts_snapshot(self, has_end: bool) -> bool:
        """2.34 A snapshot says where it ends; one that does not is a part of one, whatever it is called (B50)."""
        return has_end

    def keeps_log_behind(self, snapshot: SnapshotId, leo: int, epoch_at_end: int) -> bool:
        """2.34 What lies behind a snapshot may be kept, unless it is from an epoch that the snapshot overruled."""
        return leo <= snapshot.end_offset or epoch_at_end >= snapshot.epoch

    def refuse_snapshot_chunk(self, size: int | None, position: int) -> Error | None:
        """2.34"""
        if size is None:
            return Error.SNAPSHOT_NOT_FOUND
        return Error.POSITION_OUT_OF_RANGE if not 0 <= position < size else None
