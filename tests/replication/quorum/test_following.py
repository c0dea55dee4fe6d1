"""One member as a leader's follower, and as a leader for others: fetches, high watermarks, cuts, parked answers."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from replication.admin_messages import QuorumReplica
from replication.batch import headers, stamped
from replication.env import Failure
from replication.errors import Error
from replication.messages import EpochEndOffset
from replication.quorum.election_state import Role
from replication.quorum.fatal import CutBelowHighWatermark
from replication.quorum_messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    QuorumFetchRequest,
    QuorumFetchResponse,
)
from replication.records import batch_of, decisions
from tests.replication.quorum.lone import ME, Lone
from tests.replication.quorum.world import key_of, setting, words
from tests.replication.quorum.wrong import AcksBeforeFlush, ActsTooEarly, CountsItsOwnUnsynced, NeverResigns


def batches(first: int, epoch: int, *values: str) -> bytes:
    """One decision for each value, from offset `first` on."""
    return b"".join(stamped(batch_of([setting(value)], 7), first + number, epoch) for number, value in enumerate(values))


def fetch_of(lone: Lone) -> QuorumFetchRequest:
    fetch: QuorumFetchRequest = lone.asked(QuorumFetchRequest)[-1].message
    return fetch


# -- following ------------------------------------------------------------------------------------------------------------


def test_a_voter_says_what_it_has_once_it_is_durable(rules: Any = None) -> None:
    """2.26 (B44)"""
    lone = Lone(rules=rules).start().follow(2, 5)
    assert (fetch_of(lone).fetch_offset, fetch_of(lone).last_fetched_epoch, fetch_of(lone).max_wait_ms) == (0, 0, 500)
    lone.disk.held = []
    lone.fetched(records=batches(0, 5, "a", "b"), hw=0)
    assert lone.quorum.end_offset == 2
    assert lone.asked(QuorumFetchRequest) == []
    lone.disk.release()
    assert (fetch_of(lone).fetch_offset, fetch_of(lone).last_fetched_epoch) == (2, 5)


def test_a_voter_that_acknowledges_before_its_flush_is_seen() -> None:
    """The test above can fail."""
    with pytest.raises(AssertionError):
        test_a_voter_says_what_it_has_once_it_is_durable(AcksBeforeFlush())


def test_an_observer_need_not_wait_for_its_disk() -> None:
    """2.26, 2.41 It finds the leader by asking the voters in turn, and follows whom they name."""
    lone = Lone(voters=(2, 3, 4)).start()
    assert not lone.quorum.is_voter
    first = lone.asked(QuorumFetchRequest)[-1]
    assert (first.to, first.message.max_wait_ms) == (3, 0)
    lone.answer(first, Failure.REFUSED)
    lone.advance(20)
    second = lone.asked(QuorumFetchRequest)[-1]
    assert second.to == 4
    lone.answer(second, QuorumFetchResponse(Error.FENCED_LEADER_EPOCH, 2, 5))
    assert (lone.quorum.role, lone.asked(QuorumFetchRequest)[-1].to) == (Role.FOLLOWER, 2)
    lone.disk.held = []
    lone.fetched(records=batches(0, 5, "a"), hw=1)
    assert (fetch_of(lone).fetch_offset, lone.machine.words) == (1, ["a"])
    lone.advance(60_000)
    assert lone.quorum.role is Role.FOLLOWER


def test_the_high_watermark_goes_as_far_as_the_log_and_never_back() -> None:
    """2.28, 2.35 Each decision is applied once."""
    lone = Lone().start().follow(2, 5)
    lone.fetched(records=batches(0, 5, "a", "b", "c"), hw=2)
    assert (lone.quorum.hw, lone.machine.words) == (2, ["a", "b"])
    lone.fetched(hw=-1)
    assert lone.quorum.hw == 2
    lone.fetched(hw=9)
    assert (lone.quorum.hw, lone.machine.words) == (3, ["a", "b", "c"])


def test_nothing_is_applied_after_a_start_until_the_leader_says_what_is_committed() -> None:
    """2.40"""
    lone = Lone().start().follow(2, 5)
    lone.fetched(records=batches(0, 5, "a", "b"), hw=2)
    lone.restart()
    assert (lone.quorum.hw, lone.machine.words, lone.quorum.end_offset) == (-1, [], 2)
    assert lone.quorum.role is Role.FOLLOWER
    lone.fetched(hw=2)
    assert lone.machine.words == ["a", "b"]


def test_a_diverging_log_is_cut_to_where_both_agree_and_asks_again() -> None:
    """2.29, 5.24"""
    lone = Lone().start().follow(2, 5)
    lone.fetched(records=batches(0, 4, "a", "b", "c"), hw=1)
    lone.fetched(diverging_epoch=EpochEndOffset(4, 2), hw=3)
    assert (lone.quorum.end_offset, lone.quorum.hw) == (2, 1)
    assert (fetch_of(lone).fetch_offset, fetch_of(lone).last_fetched_epoch) == (2, 4)
    lone.fetched(records=batches(2, 5, "d"), hw=3)
    assert lone.machine.words == ["a", "b", "d"]


def test_the_high_watermark_of_a_diverging_answer_says_nothing_about_this_log() -> None:
    """2.28 Records that only look as old as the leader's are not applied."""
    lone = Lone().start().follow(2, 5)
    lone.fetched(records=batches(0, 4, "a", "b", "c"), hw=0)
    lone.fetched(diverging_epoch=EpochEndOffset(3, 3), hw=3)
    assert lone.machine.words == []


def test_a_cut_below_what_is_committed_ends_the_process() -> None:
    """2.29 (B49)"""
    lone = Lone().start().follow(2, 5)
    lone.fetched(records=batches(0, 4, "a", "b", "c"), hw=2)
    with pytest.raises(CutBelowHighWatermark, match="leader 2 asks to cut the metadata log to 1, but all below 2 is committed"):
        lone.fetched(diverging_epoch=EpochEndOffset(4, 1))


def test_the_rest_of_an_answer_that_is_newer_than_its_question_is_dropped() -> None:
    """2.30"""
    lone = Lone().start().follow(2, 5)
    lone.fetched(records=batches(0, 5, "a") + batches(1, 6, "b"), hw=2)
    assert (lone.quorum.end_offset, lone.machine.words) == (1, ["a"])


def test_a_late_answer_of_the_old_leader_is_not_taken() -> None:
    """2.30 Its question belongs to another epoch."""
    lone = Lone().start().follow(2, 5)
    old = lone.asked(QuorumFetchRequest)[-1]
    lone.follow(3, 6)
    lone.answer(old, QuorumFetchResponse(leader_id=2, leader_epoch=5, records=batches(0, 5, "a"), high_watermark=1))
    assert lone.quorum.end_offset == 0
    assert lone.asked(QuorumFetchRequest)[-1].to == 3


def test_a_damaged_batch_is_fetched_again() -> None:
    """5.45"""
    lone = Lone().start().follow(2, 5)
    data = bytearray(batches(0, 5, "a", "b"))
    data[-1] ^= 1
    lone.fetched(records=bytes(data), hw=2)
    assert (lone.quorum.end_offset, lone.asked(QuorumFetchRequest)) == (1, [])
    lone.advance(20)
    assert fetch_of(lone).fetch_offset == 1


def test_a_follower_whose_leader_is_silent_asks_somebody_else_meanwhile() -> None:
    """2.31, 2.41"""
    lone = Lone().start().follow(2, 5)
    lone.answer(lone.asked(QuorumFetchRequest)[-1], Failure.REFUSED)
    lone.advance(20)
    other = lone.asked(QuorumFetchRequest)[-1]
    assert (other.to, other.message.max_wait_ms) == (3, 0)
    lone.answer(other, QuorumFetchResponse(Error.NOT_LEADER_OR_FOLLOWER, 2, 5))
    lone.advance(40)
    assert lone.asked(QuorumFetchRequest)[-1].to == 2


def test_a_log_survives_a_power_cut_as_far_as_it_was_acknowledged() -> None:
    """2.26, 5.5"""
    lone = Lone().start().follow(2, 5)
    lone.fetched(records=batches(0, 5, "a", "b"), hw=0)
    assert fetch_of(lone).fetch_offset == 2
    lone.disk.held = []
    lone.fetched(records=batches(2, 5, "c"), hw=0)
    lone.restart(lossy=True)
    assert lone.quorum.end_offset == 2


# -- leading --------------------------------------------------------------------------------------------------------------


def leading(**how: Any) -> Lone:
    """In epoch 1, with its LeaderChange at offset 0 and nothing committed."""
    lone = Lone(**how).start().elect()
    assert (lone.quorum.role, lone.quorum.epoch, lone.quorum.end_offset) == (Role.LEADER, 1, 1)
    return lone


def test_a_leader_counts_its_own_records_once_they_are_durable(rules: Any = None) -> None:
    """2.26, 2.38 (B56) It may serve them before."""
    lone = leading(rules=rules)
    lone.fetch(2, 1, last_epoch=1)
    assert lone.quorum.hw == 1
    lone.disk.held = []
    assert lone.append("a") == 1
    served = lone.fetch(2, 1, last_epoch=1, hw=1)[0]
    assert [words(each.records) for each in decisions(served.records)] == [["a"]]
    lone.fetch(2, 2, last_epoch=1, hw=1)
    assert lone.quorum.hw == 1
    lone.disk.release()
    assert lone.quorum.hw == 2


def test_a_leader_that_counts_what_it_may_lose_is_seen() -> None:
    """The test above can fail: B56b."""
    with pytest.raises(AssertionError):
        test_a_leader_counts_its_own_records_once_they_are_durable(CountsItsOwnUnsynced())


def test_a_leader_is_active_once_its_own_first_record_is_applied(rules: Any = None) -> None:
    """2.36 (B48)"""
    lone = Lone(rules=rules).start().follow(2, 5)
    lone.fetched(records=batches(0, 5, "a", "b"), hw=1)
    lone.elect()
    lone.fetch(3, 2, last_epoch=5)
    assert "active 6" not in lone.machine.calls
    lone.fetch(3, 3, last_epoch=6)
    assert lone.machine.words == ["a", "b"]
    assert lone.machine.calls[-2:] == ["commit", "active 6"]


def test_a_lost_office_is_told_once() -> None:
    """2.21, 2.36 Fetches that wait are failed, appends are refused."""
    lone = leading()
    lone.fetch(2, 1, last_epoch=1)
    parked = lone.fetch(3, 1, last_epoch=1, hw=1, wait_ms=500)
    assert lone.append("a") == 1
    assert parked[0].records
    waiting = lone.fetch(3, 2, last_epoch=1, hw=2, wait_ms=500)
    lone.follow(2, 7)
    assert (waiting[0].error_code, waiting[0].leader_id, waiting[0].leader_epoch) == (Error.NOT_LEADER_OR_FOLLOWER, 2, 7)
    assert lone.machine.calls.count("inactive") == 1
    assert lone.append("b") is None
    assert lone.quorum.append(1, [setting("b")]) is None


def test_nothing_is_appended_while_the_office_is_on_its_way_out() -> None:
    """2.39 A record behind a decision to step down would be one of an epoch that is over."""
    lone = leading()
    lone.disk.held = []
    lone.vote(2, 9, last_epoch=1, last_offset=9)
    assert lone.quorum.role is Role.LEADER
    assert lone.append("a") is None


def test_a_parked_fetch_ends_with_records_with_a_high_watermark_or_with_time() -> None:
    """2.31"""
    lone = leading()
    lone.fetch(2, 1, last_epoch=1)
    for_time = lone.fetch(3, 1, last_epoch=1, hw=1, wait_ms=300)
    lone.advance(299)
    assert for_time == []
    lone.advance(1)
    assert (for_time[0].error_code, for_time[0].records) == (Error.NONE, b"")
    lone.disk.held = []
    lone.append("a")
    for_hw = lone.fetch(3, 2, last_epoch=1, hw=1, wait_ms=300)
    assert for_hw == []
    lone.disk.release()
    assert for_hw[0].high_watermark == 2


def test_only_a_valid_fetch_of_a_voter_moves_the_high_watermark() -> None:
    """2.25 Not a diverging one, not an observer's, not one of the wrong epoch."""
    lone = leading()
    assert lone.fetch(2, 5, last_epoch=1)[0].diverging_epoch == EpochEndOffset(1, 1)
    assert lone.fetch(9, 1, last_epoch=1)[0].error_code is Error.NONE
    assert lone.fetch(2, 1, last_epoch=1, epoch=0)[0].error_code is Error.FENCED_LEADER_EPOCH
    assert lone.fetch(2, 1, last_epoch=1, epoch=2)[0].error_code is Error.UNKNOWN_LEADER_EPOCH
    assert lone.quorum.hw == -1
    assert lone.fetch(2, 1, last_epoch=1)[0].high_watermark == 1


def test_silent_voters_are_told_every_half_fetch_timeout() -> None:
    """2.18"""
    lone = leading()
    for question in lone.asked(BeginQuorumEpochRequest):
        lone.answer(question, Failure.LOST)
    lone.advance(500)
    lone.fetch(2, 1, last_epoch=1)
    lone.advance(500)
    assert [each.to for each in lone.asked(BeginQuorumEpochRequest)] == [3]


def test_a_leader_that_no_majority_fetches_from_resigns(rules: Any = None) -> None:
    """2.19, 2.20 (B51) One and a half fetch timeouts after the last fetch; the furthest is the first successor."""
    lone = leading(rules=rules)
    lone.advance(1_000)
    lone.fetch(3, 1, last_epoch=1)
    lone.advance(2_999)
    assert lone.quorum.role is Role.LEADER
    lone.advance(2)
    assert (lone.quorum.role, lone.quorum.leader_id) == (Role.RESIGNED, None)
    ends = [each.message for each in lone.asked(EndQuorumEpochRequest)]
    assert [each.preferred_successors for each in ends] == [(key_of(3), key_of(2))] * 2


@pytest.mark.parametrize(
    ("claim", "wrong"),
    [
        (test_a_leader_that_no_majority_fetches_from_resigns, NeverResigns()),
        (test_a_leader_is_active_once_its_own_first_record_is_applied, ActsTooEarly()),
    ],
)
def test_an_office_that_begins_too_early_or_never_ends_is_seen(claim: Any, wrong: Any) -> None:
    """The tests above can fail: B48, B51."""
    with pytest.raises(AssertionError):
        claim(rules=wrong)


def test_the_orderly_end_of_a_leader_waits_for_an_heir() -> None:
    """2.20, 2.23 Meanwhile fetchers are told to go, and votes are still given."""
    lone = leading()
    ended: list[bool] = []
    lone.quorum.close(lambda: ended.append(True))
    lone.world.run()
    assert (lone.quorum.role, ended) == (Role.RESIGNED, [])
    assert lone.fetch(2, 1, last_epoch=1)[0].error_code is Error.NOT_LEADER_OR_FOLLOWER
    assert lone.vote(2, 1, last_epoch=1, last_offset=1, pre_vote=True)[0].vote_granted
    assert lone.vote(2, 2, last_epoch=1, last_offset=1)[0].vote_granted
    lone.follow(2, 2)
    assert ended == [True]


def test_without_an_heir_it_ends_after_the_request_timeout() -> None:
    """2.20"""
    lone = leading()
    ended: list[bool] = []
    lone.quorum.close(lambda: ended.append(True))
    lone.advance(1_999)
    assert ended == []
    lone.advance(1)
    assert ended == [True]
    assert lone.ask(BeginQuorumEpochRequest("c", key_of(ME), 2, 9)) == []


def test_operators_are_shown_how_far_everybody_is() -> None:
    """1.14"""
    lone = leading()
    lone.fetch(2, 1, last_epoch=1)
    lone.fetch(9, 0, last_epoch=0)
    shown = lone.quorum.describe()
    assert (shown.leader_id, shown.leader_epoch, shown.high_watermark) == (ME, 1, 1)
    assert shown.current_voters == (QuorumReplica(1, 1), QuorumReplica(2, 1), QuorumReplica(3, -1))
    assert shown.observers == (QuorumReplica(9, 0),)
    lone.follow(2, 7)
    assert msgspec.structs.replace(lone.quorum.describe(), high_watermark=-1).error_code is Error.NOT_LEADER_OR_FOLLOWER


def test_appends_of_one_moment_share_a_sync() -> None:
    """2.38 At most one is in flight."""
    lone = leading()
    lone.disk.held = []
    for value in "abcde":
        lone.append(value)
    assert len(lone.disk.held) == 1
    assert [header.base_offset for _, header in headers(bytes(lone.disk.files["__cluster_metadata-0/" + "0" * 20 + ".log"]))] == [
        *range(6)
    ]
