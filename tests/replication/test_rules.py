"""The rules, in the order of PROTOCOL: each question with the answer it must get, and the near miss beside it."""

from __future__ import annotations

import inspect
import itertools
import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.batch import Header, header_at
from replication.errors import Error
from replication.identity import NO_EPOCH, UNASSIGNED
from replication.image import BrokerRegistration, PartitionState
from replication.messages import AlteredPartition, EpochEndOffset, FetchedPartition, IsrMember
from replication.rules import Rules
from replication.rules.fetch import AfterError
from replication.rules.isr import AfterAlter, HwTrigger
from replication.rules.leadership import MetadataVerdict
from replication.rules.log import FollowerAppend
from replication.rules.produce import WAIT
from replication.settings import UNLIMITED, TopicSettings
from replication.state import FetchAsked, Follower, Following, LeaderEnd, Leadership, PendingChange, ProducedBatch, ProducerEntry
from tests.replication.scripted import batch

RULES = Rules()
NOW_MS = 1_700_000_000_000


def header(data: bytes) -> Header:
    found = header_at(data)
    assert found is not None
    return found


def leading(isr: tuple[int, ...] = (1, 2), leso: int = 0, pending: PendingChange | None = None) -> Leadership:
    return Leadership(isr=isr, maximal_isr=RULES.maximal_isr(isr, pending), leso=leso, followers={}, pending=pending)


def registered(
    broker_id: int = 3, broker_epoch: int = 7, *, fenced: bool = False, shutting_down: bool = False
) -> BrokerRegistration:
    return BrokerRegistration(broker_id=broker_id, broker_epoch=broker_epoch, fenced=fenced, in_controlled_shutdown=shutting_down)


def expand(*new_isr: int) -> PendingChange:
    return PendingChange("expand", new_isr, 0, 0)


# -- the rules themselves -----------------------------------------------------------------------------------------------


def all_rules() -> dict[str, object]:
    return {name: rule for name, rule in inspect.getmembers(Rules, inspect.isfunction) if not name.startswith("_")}


@pytest.mark.parametrize("name", all_rules())
def test_every_rule_opens_with_its_number(name: str) -> None:
    """A reader finds each rule's place in PROTOCOL from its docstring alone."""
    assert re.match(r"\d+\.\d+\b", inspect.getdoc(all_rules()[name]) or ""), name


def test_every_rule_is_asked_about_here() -> None:
    """No rule without an example of its answer."""
    here = "".join(path.read_text() for path in sorted(Path(__file__).parent.rglob("test_rules*.py")))
    assert [name for name in all_rules() if not re.search(rf"RULES\.{name}\b", here)] == []


def test_rules_keep_nothing() -> None:
    """A rules object has no state: the same question always gets the same answer."""
    assert vars(Rules()) == {}


def test_a_rule_that_is_replaced_is_asked_by_the_other_rules_too() -> None:
    """A mutant overrides one method, and whatever leans on that question follows."""

    class NobodyIsEligible(Rules):
        def is_eligible(self, follower: Follower, registration: BrokerRegistration | None) -> bool:
            return False

    follower = Follower(3, leo=10, broker_epoch=7)
    assert RULES.may_join_isr(leading(), follower, 10, registered())
    assert not NobodyIsEligible().may_join_isr(leading(), follower, 10, registered())


# -- metadata -----------------------------------------------------------------------------------------------------------


def test_metadata_never_takes_a_replica_back() -> None:
    """3.8: older is ignored, the same change again only refreshes, newer is applied."""
    assert RULES.judge_metadata(5, 4) is MetadataVerdict.IGNORE
    assert RULES.judge_metadata(5, 5) is MetadataVerdict.REFRESH
    assert RULES.judge_metadata(5, 6) is MetadataVerdict.APPLY
    assert RULES.judge_metadata(NO_EPOCH, 0) is MetadataVerdict.APPLY


def test_settings_are_applied_before_partition_states() -> None:
    """3.14"""
    assert RULES.settings_come_first()


def test_clients_hear_of_a_leader_only_while_its_broker_is_unfenced() -> None:
    """3.18"""
    state = PartitionState(replicas=(3,), isr=(3,), leader=3, leader_epoch=1, partition_epoch=1)
    assert RULES.shows_leader(state, registered())
    assert not RULES.shows_leader(state, registered(fenced=True))
    assert not RULES.shows_leader(state, None)


# -- stopping and starting --------------------------------------------------------------------------------------------------


def test_a_clean_stop_is_what_every_directory_agrees_on() -> None:
    """4.4: all present, all equal, none offline."""
    assert RULES.clean_epoch([7, 7], any_offline=False) == 7
    assert RULES.clean_epoch([7, None], any_offline=False) == NO_EPOCH
    assert RULES.clean_epoch([7, 8], any_offline=False) == NO_EPOCH
    assert RULES.clean_epoch([7, 7], any_offline=True) == NO_EPOCH
    assert RULES.clean_epoch([None], any_offline=False) == NO_EPOCH


def test_a_marker_is_believed_once_and_names_this_run() -> None:
    """4.5: a run that never registered leaves a marker that reads as unclean."""
    assert RULES.forgets_marker()
    assert RULES.epoch_for_marker(9) == 9
    assert RULES.epoch_for_marker(NO_EPOCH) == NO_EPOCH


# -- epochs and truncation ------------------------------------------------------------------------------------------------


def test_an_epoch_that_is_told_again_keeps_its_first_offset() -> None:
    """5.2"""
    assert RULES.epochs_with(((1, 0), (3, 5)), 3, 9) == ((1, 0), (3, 5))
    assert RULES.epochs_with(((1, 0), (3, 5)), 4, 9) == ((1, 0), (3, 5), (4, 9))


def test_a_new_entry_drops_what_contradicts_it() -> None:
    """5.2: higher epochs, and equal or later starts, cannot stand beside it."""
    assert RULES.epochs_with(((1, 0), (3, 5), (4, 9)), 3, 7) == ((1, 0), (3, 7))
    assert RULES.epochs_with(((1, 0), (3, 5)), 4, 5) == ((1, 0), (4, 5))
    assert RULES.epochs_with(((2, 0),), 3, 0) == ((3, 0),)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 50)), max_size=12))
def test_the_cache_is_strictly_increasing_whatever_is_assigned(assigned: list[tuple[int, int]]) -> None:
    """5.2: both columns, after every step."""
    epochs: tuple[tuple[int, int], ...] = ()
    for epoch, start in assigned:
        epochs = RULES.epochs_with(epochs, epoch, start)
        assert all(a[0] < b[0] and a[1] < b[1] for a, b in itertools.pairwise(epochs))


def test_the_end_of_an_epoch_is_the_start_of_the_next() -> None:
    """5.3: the latest ends at the LEO; a missing one is answered by its floor; above all known ones nothing can be said."""
    epochs = ((2, 10), (5, 20), (7, 30))
    assert RULES.end_offset_for(epochs, 7, 42) == EpochEndOffset(7, 42)
    assert RULES.end_offset_for(epochs, 5, 42) == EpochEndOffset(5, 30)
    assert RULES.end_offset_for(epochs, 6, 42) == EpochEndOffset(5, 30)
    assert RULES.end_offset_for(epochs, 1, 42) == EpochEndOffset(1, 10)
    assert RULES.end_offset_for(epochs, 8, 42) is None
    assert RULES.end_offset_for((), 0, 42) is None


def test_a_cut_takes_the_epochs_that_start_there_or_later() -> None:
    """5.4: also an empty epoch at the end, when nothing else is cut."""
    assert RULES.epochs_below(((1, 0), (2, 5), (3, 9)), 9, 12) == ((1, 0), (2, 5))
    assert RULES.epochs_below(((1, 0), (2, 5), (3, 9)), 10, 12) == ((1, 0), (2, 5), (3, 9))
    assert RULES.epochs_below(((1, 0), (3, 12)), 20, 12) == ((1, 0),)
    assert RULES.hw_after_truncation(8, 5) == 5
    assert RULES.hw_after_truncation(3, 5) == 3
    assert RULES.must_rebuild_producers(4, 5)
    assert not RULES.must_rebuild_producers(5, 5)


def test_after_an_unclean_stop_what_was_not_known_durable_is_checked() -> None:
    """5.5"""
    assert RULES.must_check(clean=False, end_offset=11, recovery_point=10)
    assert not RULES.must_check(clean=False, end_offset=10, recovery_point=10)
    assert not RULES.must_check(clean=True, end_offset=11, recovery_point=0)


def test_the_loaded_hw_stays_within_the_log() -> None:
    """5.6"""
    assert RULES.hw_at_load(None, 3, 9) == 3
    assert [RULES.hw_at_load(checkpoint, 3, 9) for checkpoint in (1, 5, 12)] == [3, 5, 9]


# -- offices --------------------------------------------------------------------------------------------------------------


def test_a_new_tenure_assumes_nothing_about_followers() -> None:
    """5.8, 1.12: members of the ISR get a grace period, others were never caught up; memories of another tenure do not count."""
    remembered = Follower(2, leo=99, broker_epoch=5, last_caught_up=7)
    assert RULES.starts_tenure(4, 5)
    assert not RULES.starts_tenure(5, 5)
    assert RULES.follower_at_start(2, True, 1_000, remembered) == Follower(2, last_caught_up=1_000)
    assert RULES.follower_at_start(3, False, 1_000, None) == Follower(3, last_caught_up=None)
    assert RULES.epoch_recorded_on_election(5, 42) == (5, 42)


def test_waiting_produces_end_with_the_office() -> None:
    """5.11, 6.4"""
    assert RULES.waiting_produces_after(still_leads=False) is Error.NOT_LEADER_OR_FOLLOWER
    assert RULES.waiting_produces_after(still_leads=True) is None


def test_a_follower_starts_afresh_in_every_epoch() -> None:
    """5.11, 5.12: also with the same leader."""
    assert not RULES.must_restart_fetching(Following(1, 4), 1, 4)
    assert RULES.must_restart_fetching(Following(1, 4), 1, 5)
    assert RULES.must_restart_fetching(Following(1, 4), 2, 4)
    assert RULES.must_restart_fetching(None, 1, 4)


def test_only_a_log_without_epochs_is_cut_before_the_first_fetch() -> None:
    """5.11"""
    assert RULES.truncation_before_fetching(((1, 0),), 3, 9) is None
    assert RULES.truncation_before_fetching((), 3, 9) == 3
    assert RULES.truncation_before_fetching((), 0, 0) is None


# -- fetching -------------------------------------------------------------------------------------------------------------


def test_a_replica_fetch_is_checked_in_order() -> None:
    """5.14: epoch, office, membership; the first that fails is what is told."""
    assert RULES.refuse_replica_fetch(3, 4, False, 9, (1, 2)) is Error.FENCED_LEADER_EPOCH
    assert RULES.refuse_replica_fetch(5, 4, False, 9, (1, 2)) is Error.UNKNOWN_LEADER_EPOCH
    assert RULES.refuse_replica_fetch(4, 4, False, 9, (1, 2)) is Error.NOT_LEADER_OR_FOLLOWER
    assert RULES.refuse_replica_fetch(4, 4, True, 9, (1, 2)) is Error.UNKNOWN_LEADER_EPOCH
    assert RULES.refuse_replica_fetch(4, 4, True, 2, (1, 2)) is None


def test_offsets_from_the_start_to_the_end_are_in_range() -> None:
    """5.15, 7.2"""
    for from_replica in (True, False):
        in_range = [RULES.is_in_range(offset, 5, 9, 9, from_replica) for offset in (4, 5, 9, 10)]
        assert in_range == [False, True, True, False]


def test_a_client_between_the_hw_and_the_end_waits_and_is_not_refused() -> None:
    """7.2: HW 4, end 6."""
    assert [RULES.is_in_range(offset, 0, 4, 6, from_replica=False) for offset in (4, 5, 6, 7)] == [True, True, True, False]


def test_divergence_is_an_epoch_that_ends_earlier_here() -> None:
    """5.16"""
    epochs = ((1, 0), (3, 5))
    assert RULES.judge_divergence(epochs, 9, 3, 9) is None
    assert RULES.judge_divergence(epochs, 9, 1, 5) is None
    assert RULES.judge_divergence(epochs, 9, 1, 6) == EpochEndOffset(1, 5)
    assert RULES.judge_divergence(epochs, 9, 2, 4) == EpochEndOffset(1, 5)
    assert RULES.judge_divergence(epochs, 9, 3, 10) == EpochEndOffset(3, 9)
    assert RULES.judge_divergence(epochs, 9, 4, 9) is Error.OFFSET_OUT_OF_RANGE
    assert RULES.judge_divergence(epochs, 9, NO_EPOCH, 99) is None


def test_only_an_accepted_fetch_tells_the_leader_anything_and_only_once() -> None:
    """5.16, 5.40: and a parked one is answered with what is true when it is answered."""
    told = FetchedPartition(b"t" * 16, 0)
    assert RULES.counts(None)
    assert not RULES.counts(msgspec.structs.replace(told, error_code=Error.OFFSET_OUT_OF_RANGE))
    assert not RULES.counts(msgspec.structs.replace(told, diverging_epoch=EpochEndOffset(1, 5)))
    assert not RULES.counts_again_at_completion()
    assert RULES.bounds_of_completion("then", "now") == "now"


def test_a_fetch_of_a_process_that_was_replaced_is_refused() -> None:
    """5.18"""
    assert RULES.refuse_broker_epoch(6, registered(broker_epoch=7)) is Error.NOT_LEADER_OR_FOLLOWER
    assert RULES.refuse_broker_epoch(7, registered(broker_epoch=7)) is None
    assert RULES.refuse_broker_epoch(8, registered(broker_epoch=7)) is None  # this broker's image lags
    assert RULES.refuse_broker_epoch(NO_EPOCH, registered()) is None
    assert RULES.refuse_broker_epoch(6, None) is None


def test_caught_up_is_measured_from_the_fetch_before() -> None:
    """5.18: now at the end; at the last fetch's time when that fetch's end is reached; else as it was."""
    follower = Follower(2, leo=100, last_fetch=10, leader_leo_at_last_fetch=110, last_caught_up=3)
    assert RULES.last_caught_up(follower, 120, 120, 20) == 20
    assert RULES.last_caught_up(follower, 110, 120, 20) == 10
    assert RULES.last_caught_up(follower, 109, 120, 20) == 3
    assert RULES.last_caught_up(follower, 120, 120, 2) == 3  # the clock went back, what was proven stays
    assert RULES.last_caught_up(Follower(2), 50, 120, 20) is None  # never fetched before: no earlier fetch to be judged by


def test_a_follower_that_was_never_caught_up_is_not_excused_by_the_clock() -> None:
    """5.19, 1.12: "never" is not time zero."""
    assert not RULES.is_caught_up(Follower(2, leo=5), 9, now=10, lag_max=30)
    assert RULES.is_caught_up(Follower(2, leo=5, last_caught_up=0), 9, now=30, lag_max=30)
    assert not RULES.is_caught_up(Follower(2, leo=5, last_caught_up=0), 9, now=31, lag_max=30)
    assert RULES.is_caught_up(Follower(2, leo=9), 9, now=10**9, lag_max=30)


def test_an_answer_counts_only_for_what_is_still_wanted() -> None:
    """5.20"""
    asked = FetchAsked(1, 4, 10)
    assert RULES.is_current(asked, FetchAsked(1, 4, 10))
    assert not any(
        RULES.is_current(asked, other) for other in (FetchAsked(2, 4, 10), FetchAsked(1, 5, 10), FetchAsked(1, 4, 9), None)
    )


def test_a_follower_takes_its_leaders_hw_within_its_own_log() -> None:
    """5.21, 5.22"""
    assert [RULES.follower_hw(hw, 3, 9) for hw in (1, 5, 12)] == [3, 5, 9]
    assert RULES.hw_while_diverging(5, 9) == 5
    assert RULES.may_append(4, 4)
    assert not RULES.may_append(5, 4)


def test_what_a_refused_follower_does() -> None:
    """5.23"""
    assert RULES.after_fetch_error(Error.FENCED_LEADER_EPOCH, 4, 4) is AfterError.STOP
    assert RULES.after_fetch_error(Error.FENCED_LEADER_EPOCH, 3, 4) is AfterError.IGNORE
    assert RULES.after_fetch_error(Error.OFFSET_OUT_OF_RANGE, 4, 4) is AfterError.ASK
    for error in (Error.UNKNOWN_LEADER_EPOCH, Error.NOT_LEADER_OR_FOLLOWER, Error.UNKNOWN_TOPIC_ID, Error.KAFKA_STORAGE_ERROR):
        assert RULES.after_fetch_error(error, 4, 4) is AfterError.BACK_OFF


def test_out_of_range_cuts_restarts_or_changes_nothing() -> None:
    """5.23"""
    assert RULES.cut_after_out_of_range(LeaderEnd(0, 8), 10) == 8
    assert RULES.cut_after_out_of_range(LeaderEnd(0, 10), 10) is None
    assert RULES.restart_after_out_of_range(LeaderEnd(11, 20), 10) == 11
    assert RULES.restart_after_out_of_range(LeaderEnd(10, 20), 10) is None


def test_where_a_follower_cuts() -> None:
    """5.24: with the same epoch at the lower end; with another at its own end, to ask again; knowing none at the leader's."""
    assert RULES.truncation_point(EpochEndOffset(5, 130), EpochEndOffset(5, 142), 142) == 130
    assert RULES.truncation_point(EpochEndOffset(5, 130), EpochEndOffset(5, 120), 142) == 120
    assert RULES.truncation_point(EpochEndOffset(4, 130), EpochEndOffset(3, 100), 142) == 100
    assert RULES.truncation_point(EpochEndOffset(4, 130), None, 120) == 120


# -- the high watermark and the ISR ---------------------------------------------------------------------------------------


def test_the_hw_waits_for_members_and_for_those_about_to_join() -> None:
    """5.28: not for a caught-up follower that may not join, nor for an eligible one that lags."""
    brokers = {3: registered()}
    caught_up = Follower(3, leo=5, broker_epoch=7, last_caught_up=90)
    assert RULES.counts_for_hw(leading(isr=(1, 3)), Follower(3, leo=5), 9, 100, 30, brokers)
    assert RULES.counts_for_hw(leading(), caught_up, 9, 100, 30, brokers)
    assert not RULES.counts_for_hw(leading(), caught_up, 9, 100, 30, {3: registered(fenced=True)})
    assert not RULES.counts_for_hw(leading(), Follower(3, leo=5, broker_epoch=7, last_caught_up=60), 9, 100, 30, brokers)


def test_the_hw_is_the_least_of_all_that_count() -> None:
    """5.27, 5.28: an unknown end (-1) holds it; whatever may have moved it is a reason to look."""
    assert RULES.hw_candidate(10, [8, 9], min_isr=2) == 8
    assert RULES.hw_candidate(7, [8, 9], min_isr=2) == 7
    assert RULES.hw_candidate(10, [-1, 9], min_isr=2) == -1
    assert RULES.hw_candidate(10, [], min_isr=1) == 10
    assert all(RULES.rechecks_hw(trigger) for trigger in HwTrigger)


def test_under_min_isr_the_hw_is_frozen() -> None:
    """5.28, 5.30: what counts is the committed ISR; min ISR never asks for more than there are replicas."""
    assert RULES.may_advance_hw(leading(isr=(1, 2)), 2)
    assert not RULES.may_advance_hw(leading(isr=(1,), pending=expand(1, 2)), 2)
    assert RULES.effective_min_isr(3, 2) == 2
    assert RULES.effective_min_isr(2, 3) == 2


def test_a_leaders_hw_never_moves_back() -> None:
    """5.29"""
    assert RULES.leader_hw(7, 9) == 9
    assert RULES.leader_hw(7, 5) == RULES.leader_hw(7, -1) == 7


def test_who_may_be_a_member() -> None:
    """5.31: the living, unfenced process that did the fetching."""
    follower = Follower(3, broker_epoch=7)
    assert RULES.is_eligible(follower, registered())
    assert RULES.is_eligible(Follower(3, broker_epoch=NO_EPOCH), registered())
    assert not RULES.is_eligible(Follower(3), registered())
    assert not RULES.is_eligible(Follower(3, broker_epoch=6), registered())
    assert not RULES.is_eligible(follower, registered(fenced=True))
    assert not RULES.is_eligible(follower, registered(shutting_down=True))
    assert not RULES.is_eligible(follower, None)


def test_a_follower_joins_once_it_holds_all_that_may_have_been_promised() -> None:
    """5.31: HW and LESO both, no change in flight, not a member yet."""
    at_ten = Follower(3, leo=10, broker_epoch=7)
    assert RULES.may_join_isr(leading(leso=10), at_ten, 8, registered())
    assert not RULES.may_join_isr(leading(leso=11), at_ten, 8, registered())
    assert not RULES.may_join_isr(leading(leso=10), at_ten, 11, registered())
    assert not RULES.may_join_isr(leading(isr=(1, 3)), at_ten, 8, registered())
    assert not RULES.may_join_isr(leading(pending=expand(1, 2, 4)), at_ten, 8, registered())
    assert not RULES.may_join_between_fetches()


def test_members_that_lag_or_were_never_heard_of_are_shrunk() -> None:
    """5.32: never the leader itself."""
    leader = leading(isr=(1, 2, 3, 4))
    leader.followers = {2: Follower(2, leo=9), 3: Follower(3, leo=5, last_caught_up=0)}
    assert RULES.lagging_members(leader, 1, 9, now=31, lag_max=30) == (3, 4)
    assert RULES.may_shrink_isr(leading())
    assert not RULES.may_shrink_isr(leading(pending=expand(1, 2, 3)))


def test_a_pending_change_only_ever_adds_to_whom_the_hw_waits_for() -> None:
    """5.33, 5.39"""
    assert RULES.maximal_isr((1, 2), expand(1, 2, 3)) == {1, 2, 3}
    assert RULES.maximal_isr((1, 2, 3), PendingChange("shrink", (1, 2), 0, 0)) == {1, 2, 3}
    assert RULES.maximal_isr((1, 2), None) == {1, 2}


def test_each_proposed_member_carries_the_epoch_of_its_last_fetch() -> None:
    """5.34"""
    assert RULES.proposed_member(1, 1, 9, None) == IsrMember(1, 9)
    assert RULES.proposed_member(3, 1, 9, Follower(3, broker_epoch=7)) == IsrMember(3, 7)
    assert RULES.proposed_member(3, 1, 9, Follower(3)) == IsrMember(3, NO_EPOCH)


def test_every_refusal_of_a_controller_leaves_the_change_open() -> None:
    """5.37: only a success in this epoch commits; what did not come from a decision is sent again."""

    def verdict(error: Error, leader_epoch: int = 4, partition_epoch: int = 8) -> AfterAlter:
        answer = AlteredPartition(bytes(16), 0, error, 1, leader_epoch, (1, 2), 0, partition_epoch)
        return RULES.judge_alter_answer(answer, 4, 7)

    assert verdict(Error.NONE) is AfterAlter.COMMIT
    assert verdict(Error.NONE, leader_epoch=5) is AfterAlter.WAIT
    assert verdict(Error.NONE, partition_epoch=6) is AfterAlter.WAIT
    for error in (Error.INELIGIBLE_REPLICA, Error.INVALID_UPDATE_VERSION, Error.FENCED_LEADER_EPOCH, Error.NEW_LEADER_ELECTED):
        assert verdict(error) is AfterAlter.WAIT
    assert verdict(Error.OPERATION_NOT_ATTEMPTED) is AfterAlter.REVERT  # 5.47: it never left the node
    for error in (Error.NOT_CONTROLLER, Error.UNKNOWN_SERVER_ERROR):
        assert verdict(error) is AfterAlter.RESEND


def test_a_fetch_waits_only_for_records() -> None:
    """5.40"""
    assert RULES.must_park(500, 0, 1, False)
    assert not RULES.must_park(0, 0, 1, False)
    assert not RULES.must_park(500, 1, 1, False)
    assert not RULES.must_park(500, 0, 1, True)


def test_a_flush_interval_that_is_reached_comes_before_the_append_counts() -> None:
    """5.41: by default it never is."""
    assert not RULES.must_flush(10**9, 10**9, TopicSettings())
    assert RULES.must_flush(3, 0, TopicSettings(flush_messages=3))
    assert not RULES.must_flush(2, 0, TopicSettings(flush_messages=3))
    assert RULES.must_flush(1, 50, TopicSettings(flush_ms=50))


def test_a_batch_found_while_loading_starts_an_epoch_that_is_newer() -> None:
    """5.42: the first batch of an epoch starts it."""
    assert RULES.assigns_at_load((), 0)
    assert RULES.assigns_at_load(((1, 0),), 2)
    assert not RULES.assigns_at_load(((1, 0),), 1)


def test_the_low_watermark_is_what_every_live_replica_let_go_of() -> None:
    """5.43"""
    assert RULES.low_watermark(9, [7, 12]) == 7
    assert RULES.low_watermark(9, []) == 9


def test_a_followers_log_has_no_gaps() -> None:
    """5.44: an empty log may start again inside the leader's first batch."""
    assert RULES.judge_follower_append(10, 12, 5, 10) is FollowerAppend.APPEND
    assert RULES.judge_follower_append(8, 12, 10, 10) is FollowerAppend.RESTART
    assert RULES.judge_follower_append(8, 12, 5, 10) is FollowerAppend.FAULT
    assert RULES.judge_follower_append(8, 9, 10, 10) is FollowerAppend.FAULT
    assert RULES.judge_follower_append(11, 12, 10, 10) is FollowerAppend.FAULT


def test_when_a_segment_ends() -> None:
    """5.49"""
    settings = TopicSettings(segment_bytes=100, segment_ms=1_000)
    assert not RULES.must_roll(60, 40, 1_000, False, settings)
    assert RULES.must_roll(60, 41, 0, False, settings)
    assert RULES.must_roll(0, 1, 1_001, False, settings)
    assert RULES.must_roll(0, 1, 0, True, settings)


def test_a_later_log_start_keeps_the_epoch_that_covers_it() -> None:
    """5.49"""
    assert RULES.epochs_from(((1, 0), (3, 5), (4, 9)), 7) == ((3, 7), (4, 9))
    assert RULES.epochs_from(((1, 0), (3, 5)), 5) == ((3, 5),)
    assert RULES.epochs_from(((1, 3),), 2) == ((1, 3),)


# -- producing ------------------------------------------------------------------------------------------------------------


def test_three_kinds_of_acknowledgement() -> None:
    """6.1, 6.2, 6.3: min ISR concerns acks=all alone."""
    assert [RULES.refuse_acks(acks) for acks in (-1, 0, 1)] == [None] * 3
    assert RULES.refuse_acks(2) is Error.INVALID_REQUIRED_ACKS
    assert RULES.refuse_produce(-1, False, 0, 0) is Error.NOT_LEADER_OR_FOLLOWER
    assert RULES.refuse_produce(-1, True, 1, 2) is Error.NOT_ENOUGH_REPLICAS
    assert RULES.refuse_produce(1, True, 1, 2) is None
    assert RULES.refuse_produce(-1, True, 2, 2) is None
    assert RULES.waits_for_hw(-1, known_copy=False)
    assert RULES.waits_for_hw(-1, known_copy=True)
    assert not RULES.waits_for_hw(1, known_copy=True)


def test_an_acknowledgement_needs_the_hw_and_enough_members() -> None:
    """6.4"""
    assert RULES.judge_waiting(10, 9, 3, 2) is WAIT
    assert RULES.judge_waiting(10, 10, 3, 2) is None
    assert RULES.judge_waiting(10, 10, 1, 2) is Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND


def produced(epoch: int, *batches: tuple[int, int]) -> ProducerEntry:
    return ProducerEntry(epoch, tuple(ProducedBatch(first, last, first, last) for first, last in batches))


def test_a_batch_that_came_before_is_recognised_by_its_sequences() -> None:
    """6.9: both ends, and the same producer epoch."""
    entry = produced(0, (0, 1), (2, 4))
    again = header(batch("a", "b", producer_id=9, producer_epoch=0, base_sequence=0))
    assert RULES.known_copy(entry, again) == ProducedBatch(0, 1, 0, 1)
    assert RULES.known_copy(entry, header(batch("a", producer_id=9, producer_epoch=0, base_sequence=0))) is None
    assert RULES.known_copy(entry, header(batch("a", "b", producer_id=9, producer_epoch=1, base_sequence=0))) is None
    assert RULES.known_copy(None, again) is None


def test_sequences_go_on_where_they_stopped() -> None:
    """6.10: a new epoch starts at 0, an old one is refused, an unknown producer may start anywhere, numbers wrap."""

    def refusal(entry: ProducerEntry | None, epoch: int, sequence: int) -> Error | None:
        return RULES.refuse_sequence(entry, header(batch("a", producer_id=9, producer_epoch=epoch, base_sequence=sequence)))

    entry = produced(1, (0, 4))
    assert refusal(entry, 1, 5) is None
    assert refusal(entry, 1, 6) is Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert refusal(entry, 2, 0) is None
    assert refusal(entry, 2, 5) is Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert refusal(entry, 0, 5) is Error.INVALID_PRODUCER_EPOCH
    assert refusal(None, 0, 77) is None
    assert refusal(produced(1, (0, 2**31 - 1)), 1, 0) is None
    assert RULES.last_sequence(header(batch("a", "b", producer_id=9, producer_epoch=0, base_sequence=2**31 - 1))) == 0


def test_a_log_remembers_the_last_five_batches_of_a_producer() -> None:
    """6.8: a new producer epoch starts anew."""
    entry: ProducerEntry | None = None
    for sequence in range(7):
        data = batch("a", producer_id=9, producer_epoch=0, base_sequence=sequence)
        entry = RULES.producer_after(entry, header(data), base_offset=100 + sequence)
    assert entry is not None
    assert [known.first_sequence for known in entry.batches] == [2, 3, 4, 5, 6]
    assert entry.batches[-1].last_offset == 106
    bumped = RULES.producer_after(entry, header(batch("a", producer_id=9, producer_epoch=1, base_sequence=0)), 107)
    assert bumped == ProducerEntry(1, (ProducedBatch(0, 0, 107, 107),))


def test_followers_remember_producers_too() -> None:
    """6.11"""
    assert RULES.follower_tracks_producers()


def test_what_is_not_one_whole_intact_batch_is_not_written() -> None:
    """6.12"""
    data, settings = batch("a", "b", timestamp=NOW_MS), TopicSettings()

    def refusal(data: bytes, settings: TopicSettings = settings) -> Error | None:
        return RULES.refuse_batch(data, header_at(data), settings, NOW_MS)

    assert refusal(data) is None
    assert refusal(data + data) is Error.INVALID_RECORD
    assert refusal(data[:-1]) is Error.CORRUPT_MESSAGE
    assert refusal(b"") is Error.CORRUPT_MESSAGE
    assert refusal(data[:-1] + bytes([data[-1] ^ 1])) is Error.CORRUPT_MESSAGE
    assert refusal(data[:16] + b"\x01" + data[17:]) is Error.INVALID_RECORD  # an older format
    assert refusal(data, TopicSettings(max_message_bytes=len(data) - 1)) is Error.MESSAGE_TOO_LARGE
    assert refusal(data, TopicSettings(segment_bytes=len(data) - 1)) is Error.RECORD_LIST_TOO_LARGE


def test_a_producers_clock_is_believed_within_a_window() -> None:
    """6.12: the broker's own time is not asked; no time at all is allowed."""
    settings = TopicSettings(message_timestamp_after_max_ms=1_000, message_timestamp_before_max_ms=UNLIMITED)
    assert RULES.is_believable(NOW_MS + 1_000, settings, NOW_MS)
    assert not RULES.is_believable(NOW_MS + 1_001, settings, NOW_MS)
    assert RULES.is_believable(0, settings, NOW_MS)
    assert not RULES.is_believable(0, TopicSettings(message_timestamp_before_max_ms=1_000), NOW_MS)
    assert RULES.is_believable(NOW_MS + 10**9, TopicSettings(message_timestamp_type="LogAppendTime"), NOW_MS)
    assert RULES.is_believable(-1, settings, NOW_MS)


# -- reading --------------------------------------------------------------------------------------------------------------


def test_clients_read_to_the_hw_and_replicas_to_the_end() -> None:
    """5.17, 7.1"""
    assert RULES.readable_end(False, 4, 6) == 4
    assert RULES.readable_end(True, 4, 6) == 6


def test_a_named_leader_epoch_must_be_the_one_in_force() -> None:
    """7.3"""
    assert RULES.check_leader_epoch(3, 4) is Error.FENCED_LEADER_EPOCH
    assert RULES.check_leader_epoch(5, 4) is Error.UNKNOWN_LEADER_EPOCH
    assert RULES.check_leader_epoch(4, 4) is RULES.check_leader_epoch(NO_EPOCH, 4) is None


def test_a_new_leader_tells_no_end_before_it_knows_what_was_promised() -> None:
    """7.4"""
    assert RULES.latest_offset(False, 5, 8, leso=6) is Error.OFFSET_NOT_AVAILABLE
    assert RULES.latest_offset(False, 6, 8, leso=6) == 6
    assert RULES.latest_offset(True, 5, 8, leso=6) == 8


def test_negative_timestamps_are_questions() -> None:
    """7.9"""
    assert [RULES.asks_for_latest(timestamp) for timestamp in (-1, -2, 0)] == [True, False, False]
    assert [RULES.asks_for_earliest(timestamp) for timestamp in (-2, -4, -1)] == [True, True, False]


def test_no_empty_log_is_made_while_the_real_one_may_be_offline() -> None:
    """10.3"""
    one, other = b"1" * 16, b"2" * 16
    assert RULES.may_create_log(one, [one], any_offline=True)
    assert not RULES.may_create_log(one, [other], any_offline=True)
    assert RULES.may_create_log(UNASSIGNED, [one], any_offline=False)
    assert not RULES.may_create_log(UNASSIGNED, [one], any_offline=True)
