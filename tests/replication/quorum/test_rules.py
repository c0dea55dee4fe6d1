"""The rules of the quorum, in the order of PROTOCOL: each question with the answer it must get, and the near miss beside it."""

from __future__ import annotations

import inspect
import itertools
import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.env import NANOSECONDS
from replication.errors import Error
from replication.messages import EpochEndOffset
from replication.quorum.election_state import ElectionState, Role
from replication.quorum.settings import QuorumSettings
from replication.quorum_messages import FetchSnapshotRequest, SnapshotId, VoterKey
from replication.rules import Rules
from replication.rules.quorum import QuorumRules
from tests.replication.quorum.lone import chunk_request, fetch_request, vote_request
from tests.replication.quorum.world import CLUSTER, directory_id, key_of
from tests.replication.quorum.wrong import CountsOldEpochs

RULES = Rules()
SETTINGS = QuorumSettings()
A, B, C = key_of(1), key_of(2), key_of(3)
UNDECIDED = ElectionState(epoch=3)


def all_rules() -> dict[str, object]:
    return {name: rule for name, rule in inspect.getmembers(QuorumRules, inspect.isfunction) if not name.startswith("_")}


@pytest.mark.parametrize("name", all_rules())
def test_every_rule_opens_with_its_number(name: str) -> None:
    """A reader finds each rule's place in section 2 from its docstring alone."""
    assert re.match(r"2\.\d+\b", inspect.getdoc(all_rules()[name]) or ""), name


def test_every_rule_is_asked_about_here() -> None:
    """No rule without an example of its answer."""
    here = Path(__file__).read_text()
    assert [name for name in all_rules() if not re.search(rf"RULES\.{name}\b", here)] == []


# -- what is written down -------------------------------------------------------------------------------------------------


def test_epoch_leader_and_vote_are_written_before_they_count() -> None:
    """2.2 Any of the three; a role alone is nothing to write."""
    assert RULES.must_write_state(UNDECIDED, ElectionState(epoch=4))
    assert RULES.must_write_state(UNDECIDED, ElectionState(2, 3))
    assert RULES.must_write_state(UNDECIDED, ElectionState(epoch=3, voted=B))
    assert not RULES.must_write_state(UNDECIDED, ElectionState(epoch=3))
    assert RULES.state_is_written_first()


def test_a_vote_outlives_its_role_but_not_its_epoch() -> None:
    """2.3"""
    voted = ElectionState(epoch=3, voted=B)
    assert RULES.vote_after(voted, 3) == B
    assert RULES.vote_after(voted, 4) is None


def test_a_member_goes_on_from_what_it_wrote() -> None:
    """2.4 A leader has resigned, a candidate stands, a follower follows, everybody else starts from nothing."""
    assert RULES.role_at_start(ElectionState(1, 3, A), A, is_voter=True) is Role.RESIGNED
    assert RULES.role_at_start(ElectionState(-1, 3, A), A, is_voter=True) is Role.CANDIDATE
    assert RULES.role_at_start(ElectionState(2, 3, A), A, is_voter=True) is Role.FOLLOWER
    assert RULES.role_at_start(ElectionState(-1, 3, B), A, is_voter=True) is Role.UNATTACHED
    assert RULES.role_at_start(UNDECIDED, A, is_voter=True) is Role.UNATTACHED


def test_an_observer_follows_or_looks_for_somebody_to_follow() -> None:
    """2.5 Also one that was told that its own id leads: that was another disk."""
    assert RULES.role_at_start(ElectionState(2, 3), A, is_voter=False) is Role.FOLLOWER
    assert RULES.role_at_start(ElectionState(1, 3), A, is_voter=False) is Role.UNATTACHED


def test_the_log_may_know_a_newer_epoch_than_the_file() -> None:
    """2.4"""
    voted = ElectionState(2, 3, B)
    assert RULES.state_at_start(voted, 3) == voted
    assert RULES.state_at_start(voted, 4) == ElectionState(epoch=4)


# -- members and votes ----------------------------------------------------------------------------------------------------


def test_a_voter_with_another_disk_is_another_voter() -> None:
    """2.37, 2.42 (B49)"""
    assert RULES.same_voter(A, VoterKey(1, directory_id(1)))
    assert not RULES.same_voter(A, VoterKey(1, directory_id(1, life=1)))
    assert not RULES.same_voter(A, B)


@given(st.integers(1, 15))
def test_two_majorities_share_a_member(voters: int) -> None:
    """2.15"""
    assert 2 * RULES.majority_of(voters) > voters
    assert RULES.majority_of(voters) <= voters


@given(st.floats(0, 1, exclude_max=True))
def test_an_election_timeout_lies_between_once_and_twice_the_setting(chance: float) -> None:
    """2.7, 2.8 A lone voter has nobody to part from."""
    assert 1_000 <= RULES.election_timeout_ns(1_000, chance, 3) < 2_000
    assert RULES.election_timeout_ns(1_000, chance, 1) == 0


def test_requests_that_no_candidate_can_send_are_refused() -> None:
    """2.10 A log cannot hold records of the epoch that its owner stands for; of the one it asks a pre-vote in, it can."""

    def refused(own_epoch: int = 3, cluster: str = CLUSTER, **more: int | bool) -> Error | None:
        asked = {"last_epoch": 3, "last_offset": 7, "pre_vote": False, **more}
        return RULES.refuse_vote_request(vote_request(2, 4, **asked), cluster, own_epoch)  # type: ignore[arg-type]

    assert refused() is None
    assert refused(cluster="another") is Error.INCONSISTENT_CLUSTER_ID
    assert refused(last_epoch=4) is Error.INVALID_REQUEST
    assert refused(last_epoch=4, pre_vote=True) is None
    assert refused(last_epoch=5, pre_vote=True) is Error.INVALID_REQUEST
    assert refused(last_offset=-1) is Error.INVALID_REQUEST
    assert refused(own_epoch=5) is Error.FENCED_LEADER_EPOCH


def test_logs_are_compared_by_epoch_and_then_by_offset() -> None:
    """2.12 (B42)"""
    assert RULES.candidate_is_up_to_date(3, 10, 3, 10)
    assert RULES.candidate_is_up_to_date(4, 2, 3, 10)
    assert not RULES.candidate_is_up_to_date(3, 9, 3, 10)
    assert not RULES.candidate_is_up_to_date(2, 99, 3, 10)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=2))
def test_of_two_logs_at_least_one_is_up_to_date(logs: list[tuple[int, int]]) -> None:
    """2.12 Else two voters could refuse each other for ever."""
    one, other = logs
    assert RULES.candidate_is_up_to_date(*one, *other) or RULES.candidate_is_up_to_date(*other, *one)


def test_there_is_one_vote_and_whoever_has_it_may_hear_it_again() -> None:
    """2.13"""
    for role in (Role.UNATTACHED, Role.PROSPECTIVE):
        assert RULES.grants_vote(role, UNDECIDED, B, up_to_date=True)
        assert not RULES.grants_vote(role, UNDECIDED, B, up_to_date=False)
        assert RULES.grants_vote(role, ElectionState(epoch=3, voted=B), B, up_to_date=False)
        assert not RULES.grants_vote(role, ElectionState(epoch=3, voted=C), B, up_to_date=True)
        assert not RULES.grants_vote(role, ElectionState(2, 3), B, up_to_date=True)


def test_whoever_leads_follows_stands_or_resigned_has_no_vote_to_give() -> None:
    """2.13 Not even to the one that has it: the office may be taken."""
    voted = ElectionState(epoch=3, voted=B)
    for role in (Role.LEADER, Role.CANDIDATE, Role.FOLLOWER, Role.RESIGNED):
        assert not RULES.grants_vote(role, voted, B, up_to_date=True)


def test_a_pre_vote_asks_who_would_be_glad_of_an_election() -> None:
    """2.14"""
    glad = (Role.UNATTACHED, Role.PROSPECTIVE, Role.CANDIDATE, Role.RESIGNED)
    assert [role for role in Role if RULES.grants_pre_vote(role, has_fetched=True, up_to_date=True)] == [
        r for r in Role if r in glad
    ]
    assert RULES.grants_pre_vote(Role.FOLLOWER, has_fetched=False, up_to_date=True)
    assert not RULES.grants_pre_vote(Role.UNATTACHED, has_fetched=False, up_to_date=False)


def test_only_what_is_durable_is_claimed_and_counted() -> None:
    """2.38 (B56)"""
    assert RULES.claimed_end(leo=9, durable_end=7) == 7
    assert RULES.own_end_for_hw(leo=9, durable_end=7) == 7


def test_a_pre_vote_changes_no_epoch_and_gives_no_vote() -> None:
    """2.9, 2.15 (B46)"""
    assert RULES.epoch_of_pre_vote(3) == 3
    assert RULES.grants_at_candidacy(A, (1, 2, 3)) == (1,)


def test_an_election_ends_as_soon_as_it_can_end_only_one_way() -> None:
    """2.15 Two of three grants win; one grant and one refusal leave it open."""
    assert [RULES.is_elected(grants, 3) for grants in (1, 2, 3)] == [False, True, True]
    assert not RULES.is_rejected(grants=1, outstanding=1, voters=3)
    assert RULES.is_rejected(grants=1, outstanding=0, voters=3)


def test_two_leaders_of_one_epoch_contradict_each_other() -> None:
    """2.16 Not knowing one does not."""
    assert RULES.contradicts(1, 2)
    assert not RULES.contradicts(1, 1)
    assert not RULES.contradicts(-1, 2)
    assert not RULES.contradicts(1, -1)


# -- office ---------------------------------------------------------------------------------------------------------------


def test_silent_voters_are_told_again_who_leads() -> None:
    """2.18 After half a fetch timeout; never is longer than any time (1.12)."""
    assert RULES.must_tell_begin(None, 0, 2_000)
    assert RULES.must_tell_begin(0, 1_000, 2_000)
    assert not RULES.must_tell_begin(1, 1_000, 2_000)


def test_a_leader_keeps_office_while_a_majority_with_it_fetches() -> None:
    """2.19 (B51)"""
    assert RULES.check_quorum_timeout_ns(2_000) == 3_000
    assert [RULES.keeps_office(heard, 3) for heard in (0, 1, 2)] == [False, True, True]
    assert [RULES.keeps_office(heard, 5) for heard in (1, 2)] == [False, True]
    assert RULES.keeps_office(0, 1)


def test_the_successor_that_has_most_comes_first_and_waits_least() -> None:
    """2.20"""
    assert RULES.successors([(5, C), (9, B), (5, A)]) == (B, A, C)
    waits = [RULES.fetch_timeout_after_end_ns(place, 0.5, SETTINGS) for place in range(9)]
    assert waits[0] == 0
    assert waits == sorted(waits)
    longest = SETTINGS.controller_quorum_election_backoff_max_ms * NANOSECONDS
    assert all(0 < RULES.fetch_timeout_after_end_ns(9, chance, SETTINGS) <= longest for chance in (0.0, 0.99))


def test_back_off_grows_up_to_the_fetch_wait() -> None:
    """2.41"""
    waits = [RULES.retry_backoff_ns(failures, SETTINGS) // NANOSECONDS for failures in (0, 1, 2, 5, 60)]
    assert waits == [20, 40, 80, 500, 500]


def test_news_of_another_cluster_or_an_old_epoch_is_refused() -> None:
    """2.18, 2.20"""
    assert RULES.refuse_epoch_news(CLUSTER, CLUSTER, 3, 3) is None
    assert RULES.refuse_epoch_news("another", CLUSTER, 3, 3) is Error.INCONSISTENT_CLUSTER_ID
    assert RULES.refuse_epoch_news(CLUSTER, CLUSTER, 2, 3) is Error.FENCED_LEADER_EPOCH


def test_a_leader_acts_once_its_own_first_record_is_applied() -> None:
    """2.36 (B48)"""
    assert not RULES.may_be_active(applied_end=5, epoch_start=5)
    assert RULES.may_be_active(applied_end=6, epoch_start=5)


# -- fetching -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", [fetch_request(2, 3, 0, 0), chunk_request(2, 3, SnapshotId(5, 1), 0)])
def test_only_the_leader_of_that_epoch_answers(asked: FetchSnapshotRequest) -> None:
    """2.23, 2.34 In the order of the rule: the epochs come before the role."""
    assert RULES.refuse_quorum_fetch(asked, CLUSTER, 3, leads=True, shutting_down=False) is None
    assert RULES.refuse_quorum_fetch(asked, "another", 4, leads=True, shutting_down=False) is Error.INCONSISTENT_CLUSTER_ID
    assert RULES.refuse_quorum_fetch(asked, CLUSTER, 4, leads=False, shutting_down=True) is Error.FENCED_LEADER_EPOCH
    assert RULES.refuse_quorum_fetch(asked, CLUSTER, 2, leads=False, shutting_down=True) is Error.UNKNOWN_LEADER_EPOCH
    assert RULES.refuse_quorum_fetch(asked, CLUSTER, 3, leads=False, shutting_down=False) is Error.NOT_LEADER_OR_FOLLOWER
    assert RULES.refuse_quorum_fetch(asked, CLUSTER, 3, leads=True, shutting_down=True) is Error.BROKER_NOT_AVAILABLE


def test_what_the_oldest_snapshot_replaced_cannot_be_compared() -> None:
    """2.24 Before it, at it with another epoch, or of an epoch that it outlived."""
    oldest = SnapshotId(50, 4)
    assert not RULES.needs_snapshot(0, 0, 0, None)
    assert RULES.needs_snapshot(49, 4, 50, oldest)
    assert RULES.needs_snapshot(50, 3, 50, oldest)
    assert not RULES.needs_snapshot(50, 4, 50, oldest)
    assert RULES.needs_snapshot(60, 3, 50, oldest)
    assert not RULES.needs_snapshot(60, 4, 50, oldest)


def test_a_fetch_is_valid_where_the_leader_ends_the_same_epoch_no_earlier() -> None:
    """2.24, 2.25"""
    assert RULES.divergence(10, 3, 0, EpochEndOffset(3, 10)) is None
    assert RULES.divergence(11, 3, 0, EpochEndOffset(3, 10)) == EpochEndOffset(3, 10)
    assert RULES.divergence(5, 3, 0, EpochEndOffset(2, 10)) == EpochEndOffset(2, 10)
    assert RULES.divergence(5, 9, 2, None) == EpochEndOffset(-1, 2)
    assert RULES.fetch_counts(valid=True)
    assert not RULES.fetch_counts(valid=False)


def test_voters_flush_before_they_say_what_they_have() -> None:
    """2.26 (B44) Nobody counts on an observer."""
    assert RULES.flushes_before_fetch(is_voter=True)
    assert not RULES.flushes_before_fetch(is_voter=False)


@given(st.lists(st.integers(-1, 9), min_size=1, max_size=7))
def test_the_high_watermark_is_what_a_majority_has_and_no_more(ends: list[int]) -> None:
    """2.27"""
    candidate = RULES.quorum_hw_candidate(ends)
    holding = sum(end >= candidate for end in ends)
    assert holding >= RULES.majority_of(len(ends))
    assert sum(end > candidate for end in ends) < RULES.majority_of(len(ends))


def test_only_a_record_of_its_own_epoch_lets_a_leader_commit() -> None:
    """2.27 (B43) Raft's figure 8: what a majority holds of an older epoch may still be overwritten."""
    assert not RULES.may_advance_quorum_hw(candidate=5, epoch_start=5, hw=3)
    assert RULES.may_advance_quorum_hw(candidate=6, epoch_start=5, hw=3)
    assert not RULES.may_advance_quorum_hw(candidate=6, epoch_start=5, hw=6)
    assert CountsOldEpochs().may_advance_quorum_hw(candidate=5, epoch_start=5, hw=3)


def test_a_follower_believes_as_far_as_its_own_log_reaches() -> None:
    """2.28"""
    assert RULES.follower_quorum_hw(hw=3, told=9, leo=5) == 5
    assert RULES.follower_quorum_hw(hw=3, told=-1, leo=5) == 3


def test_what_is_committed_is_never_cut() -> None:
    """2.29 (B49) With no high watermark yet, the log's start is what is known to be committed."""
    assert RULES.may_cut_quorum_log(target=5, hw=5, log_start=0)
    assert not RULES.may_cut_quorum_log(target=4, hw=5, log_start=0)
    assert not RULES.may_cut_quorum_log(target=4, hw=-1, log_start=5)


def test_a_batch_newer_than_its_fetch_is_left() -> None:
    """2.30"""
    assert RULES.may_append_fetched(batch_epoch=3, fetched_epoch=3)
    assert not RULES.may_append_fetched(batch_epoch=4, fetched_epoch=3)


def test_a_fetch_waits_only_if_there_is_nothing_to_say() -> None:
    """2.31 Neither a record nor a high watermark that it does not know."""
    assert RULES.parks_fetch(offset=5, leo=5, known_hw=5, hw=5, max_wait_ms=500)
    assert not RULES.parks_fetch(offset=4, leo=5, known_hw=5, hw=5, max_wait_ms=500)
    assert not RULES.parks_fetch(offset=5, leo=5, known_hw=4, hw=5, max_wait_ms=500)
    assert not RULES.parks_fetch(offset=5, leo=5, known_hw=5, hw=5, max_wait_ms=0)


# -- applying and snapshots -----------------------------------------------------------------------------------------------


def test_what_is_not_committed_is_not_applied() -> None:
    """2.35"""
    assert RULES.applicable_end(hw=5, leo=9) == 5


def test_a_snapshot_ends_behind_the_last_record_that_was_applied() -> None:
    """2.32 (B50)"""
    assert RULES.snapshot_id(applied_end=8, applied_epoch=3) == SnapshotId(8, 3)
    assert RULES.may_take_snapshot(8, hw=8, log_start=0, newest=None)
    assert not RULES.may_take_snapshot(9, hw=8, log_start=0, newest=None)
    assert not RULES.may_take_snapshot(4, hw=8, log_start=5, newest=None)
    assert not RULES.may_take_snapshot(8, hw=8, log_start=0, newest=SnapshotId(8, 3))


def test_snapshots_are_made_of_much_or_of_old_news() -> None:
    """2.43"""
    small = msgspec.structs.replace(SETTINGS, metadata_log_max_record_bytes_between_snapshots=100)
    interval = small.metadata_log_max_snapshot_interval_ms
    answers = [RULES.wants_snapshot(size, ms, small) for size, ms in itertools.product((0, 99, 100), (0, interval))]
    assert answers == [False, False, False, True, True, True]


def test_of_several_snapshots_the_oldest_goes_when_it_is_too_much_or_too_old() -> None:
    """2.43 The last one stays."""
    size, age = SETTINGS.metadata_max_retention_bytes, SETTINGS.metadata_max_retention_ms
    assert not RULES.drops_oldest_snapshot(2, size, age, SETTINGS)
    assert RULES.drops_oldest_snapshot(2, size + 1, 0, SETTINGS)
    assert RULES.drops_oldest_snapshot(2, 0, age + 1, SETTINGS)
    assert not RULES.drops_oldest_snapshot(1, size + 1, age + 1, SETTINGS)


def test_a_log_starts_where_a_snapshot_ends() -> None:
    """2.33 (B50)"""
    assert RULES.log_start_for(None, 0, hw=9) == 0
    assert RULES.log_start_for(SnapshotId(5, 1), 0, hw=9) == 5
    assert RULES.log_start_for(SnapshotId(5, 1), 7, hw=9) == 7


def test_a_part_of_a_snapshot_is_no_snapshot() -> None:
    """2.34, 2.43 (B50) By its name, and by its end."""
    assert RULES.is_snapshot_file("00000000000000000008-0000000003.checkpoint")
    assert not RULES.is_snapshot_file("00000000000000000008-0000000003.checkpoint.part")
    assert not RULES.is_snapshot_file("leader-epoch-checkpoint")
    assert RULES.trusts_snapshot(has_end=True)
    assert not RULES.trusts_snapshot(has_end=False)


def test_what_lies_behind_a_snapshot_must_not_be_older_than_it() -> None:
    """2.34 A log that the snapshot was to replace, and that a crash left, is of older epochs."""
    snapshot = SnapshotId(8, 3)
    assert RULES.keeps_log_behind(snapshot, leo=8, epoch_at_end=-1)
    assert RULES.keeps_log_behind(snapshot, leo=9, epoch_at_end=3)
    assert not RULES.keeps_log_behind(snapshot, leo=9, epoch_at_end=2)


def test_chunks_come_from_inside_of_a_snapshot_that_is_there() -> None:
    """2.34"""
    assert RULES.refuse_snapshot_chunk(None, 0) is Error.SNAPSHOT_NOT_FOUND
    assert RULES.refuse_snapshot_chunk(10, 9) is None
    assert [RULES.refuse_snapshot_chunk(10, position) for position in (-1, 10)] == [Error.POSITION_OUT_OF_RANGE] * 2
