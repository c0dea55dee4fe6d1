"""tests/replication/quorum/wrong.py: rules that are wrong in one way each, by their BUGS number."""

from __future__ import annotations

from collections.abc import Sequence

from replication.quorum.election_state import ElectionState, Role
from replication.quorum_messages import SnapshotId, VoterKey
from replication.rules import Rules


class ForgetsVotes(Rules):
    """B40a: a vote is never written; an epoch and a leader are."""

    def must_write_state(self, was: ElectionState, becomes: ElectionState) -> bool:
        return (was.epoch, was.leader_id) != (becomes.epoch, becomes.leader_id)


class SpeaksBeforeItIsWritten(Rules):
    """B40b: the answer leaves while the write is on its way."""

    def state_is_written_first(self) -> bool:
        return False


class FreshVoteWithEveryRole(Rules):
    """B41: whoever changes its role has a vote again."""

    def vote_after(self, state: ElectionState, epoch: int) -> VoterKey | None:
        return None


class OffsetBeforeEpoch(Rules):
    """B42: a long log of an old epoch wins over a short one of a new epoch."""

    def candidate_is_up_to_date(self, last_epoch: int, last_offset: int, own_last_epoch: int, own_leo: int) -> bool:
        return (last_offset, last_epoch) >= (own_leo, own_last_epoch)


class AnyLogWillDo(Rules):
    """B42: votes are given without a look at the log."""

    def candidate_is_up_to_date(self, last_epoch: int, last_offset: int, own_last_epoch: int, own_leo: int) -> bool:
        return True


class CountsOldEpochs(Rules):
    """B43: a record of an older epoch commits by being counted."""

    def may_advance_quorum_hw(self, candidate: int, epoch_start: int, hw: int) -> bool:
        return candidate > hw


class AcksBeforeFlush(Rules):
    """B44: a voter's fetch says what it has, durable or not."""

    def flushes_before_fetch(self, is_voter: bool) -> bool:
        return False


class ResumesOffice(Rules):
    """B45: a leader that was restarted leads on, in the same epoch."""

    def role_at_start(self, state: ElectionState, me: VoterKey, is_voter: bool) -> Role:
        right = super().role_at_start(state, me, is_voter)
        return Role.LEADER if right is Role.RESIGNED else right


class CountsPreVotes(Rules):
    """B46a: whoever granted a pre-vote is taken to have voted."""

    def grants_at_candidacy(self, me: VoterKey, pre_grants: Sequence[int]) -> tuple[int, ...]:
        return tuple(dict.fromkeys((me.voter_id, *pre_grants)))


class PreVoteWithNewEpoch(Rules):
    """B46b: a pre-vote disturbs everybody."""

    def epoch_of_pre_vote(self, epoch: int) -> int:
        return epoch + 1


class ActsTooEarly(Rules):
    """B48: active as soon as it leads and knows anything at all."""

    def may_be_active(self, applied_end: int, epoch_start: int) -> bool:
        return True


class VoterIsItsId(Rules):
    """B49a: a wiped voter is the one it was."""

    def same_voter(self, one: VoterKey, other: VoterKey) -> bool:
        return one.voter_id == other.voter_id


class CutsWhatIsCommitted(Rules):
    """B49b: a follower cuts wherever its leader says."""

    def may_cut_quorum_log(self, target: int, hw: int, log_start: int) -> bool:
        return True


class SnapshotEndsTooEarly(Rules):
    """B50a: the id names the last record that is inside."""

    def snapshot_id(self, applied_end: int, applied_epoch: int) -> SnapshotId:
        return SnapshotId(applied_end - 1, applied_epoch)


class ForgetsWithoutSnapshot(Rules):
    """B50c: the log starts where the high watermark is."""

    def log_start_for(self, oldest: SnapshotId | None, log_start: int, hw: int) -> int:
        return max(log_start, hw)


class LoadsPartialFiles(Rules):
    """B50d: what has a snapshot's name, or nearly, is one."""

    def is_snapshot_file(self, name: str) -> bool:
        return ".checkpoint" in name

    def trusts_snapshot(self, has_end: bool) -> bool:
        return True


class NeverResigns(Rules):
    """B51: a leader leads until somebody tells it otherwise."""

    def keeps_office(self, others_heard: int, voters: int) -> bool:
        return True


class ClaimsWhatItHas(Rules):
    """B56a: a candidate claims records that a power cut would take."""

    def claimed_end(self, leo: int, durable_end: int) -> int:
        return leo


class CountsItsOwnUnsynced(Rules):
    """B56b: a leader counts its own records before they are durable."""

    def own_end_for_hw(self, leo: int, durable_end: int) -> int:
        return leo


class AppliesWhatItHas(Rules):
    """2.35 broken: records are acted upon as they arrive."""

    def applicable_end(self, hw: int, leo: int) -> int:
        return leo


class BelievesTwoLeaders(Rules):
    """2.16 broken: a second leader of an epoch goes unnoticed."""

    def contradicts(self, known_leader: int, told_leader: int) -> bool:
        return False


class SnapshotsAboveTheHighWatermark(Rules):
    """B50b: a snapshot claims a record that is not committed, and not inside."""

    def snapshot_id(self, applied_end: int, applied_epoch: int) -> SnapshotId:
        return SnapshotId(applied_end + 1, applied_epoch)

    def may_take_snapshot(self, end: int, hw: int, log_start: int, newest: SnapshotId | None) -> bool:
        return newest is None or end > newest.end_offset


class CountsEveryFetch(Rules):
    """2.25 broken: a position that the leader's log does not share counts, too."""

    def fetch_counts(self, valid: bool) -> bool:
        return True
