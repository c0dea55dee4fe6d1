"""One member in elections: when it asks, whom it votes for, what it wrote down before it said so."""

from __future__ import annotations

import json
from typing import Any

import pytest

from replication.errors import Error
from replication.quorum.election_state import Role
from replication.quorum.fatal import TwoLeaders
from replication.quorum_messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    QuorumFetchRequest,
    QuorumFetchResponse,
    VoteRequest,
    VoteResponse,
)
from tests.replication.quorum.lone import ME, Lone, vote_request
from tests.replication.quorum.world import CLUSTER, directory_id, key_of
from tests.replication.quorum.wrong import ForgetsVotes, PreVoteWithNewEpoch, SpeaksBeforeItIsWritten

STATE = "__cluster_metadata-0/quorum-state"


def written(lone: Lone) -> dict[str, Any]:
    """What a power cut would leave of quorum-state."""
    return dict(json.loads(lone.disk.durable[STATE]))


def stand(lone: Lone) -> list[VoteRequest]:
    """Wait until the member asks the others something, and see what."""
    while not lone.asked(VoteRequest):
        lone.advance(50)
    return [question.message for question in lone.asked(VoteRequest)]


def grant(lone: Lone, *, refuse: bool = False) -> None:
    question = lone.asked(VoteRequest)[0]
    lone.answer(question, VoteResponse(leader_epoch=question.message.replica_epoch, vote_granted=not refuse))


# -- standing -------------------------------------------------------------------------------------------------------------


def test_a_member_asks_for_pre_votes_in_its_own_epoch_and_writes_nothing() -> None:
    """2.6, 2.9, 2.2"""
    lone = Lone().start()
    asked = stand(lone)
    assert {(each.voter.voter_id, each.replica_epoch, each.pre_vote) for each in asked} == {(2, 0, True), (3, 0, True)}
    assert 1_000 <= lone.world.now_ns // 1_000_000 < 2_050
    assert STATE not in lone.disk.files


def test_a_won_pre_vote_makes_a_candidate_whose_own_vote_is_written_first() -> None:
    """2.9, 2.2 Nobody is asked for a vote in an epoch that a power cut could take back."""
    lone = Lone().start()
    stand(lone)
    lone.disk.held = []
    grant(lone)
    lone.advance(100)
    assert [each.message.pre_vote for each in lone.asked(VoteRequest)] == [True]
    lone.disk.release()
    assert written(lone)["votedId"] == ME
    asked = [each.message for each in lone.asked(VoteRequest) if not each.message.pre_vote]
    assert [(each.replica_epoch, each.pre_vote) for each in asked] == [(1, False), (1, False)]


def test_one_grant_of_three_beside_its_own_elects() -> None:
    """2.15, 2.17 The first record of the epoch follows at once."""
    lone = Lone().start()
    lone.elect()
    assert lone.quorum.role is Role.LEADER
    assert lone.quorum.epoch == 1
    assert lone.quorum.end_offset == 1
    assert written(lone)["leaderId"] == ME
    assert {each.message.leader_epoch for each in lone.asked(BeginQuorumEpochRequest)} == {1}


def test_a_lost_pre_vote_ends_at_once_and_a_lost_vote_waits() -> None:
    """2.6, 2.7, 2.15"""
    lone = Lone().start()
    stand(lone)
    grant(lone, refuse=True)
    assert lone.quorum.role is Role.PROSPECTIVE
    grant(lone, refuse=True)
    assert lone.quorum.role is Role.UNATTACHED
    stand(lone)
    grant(lone)
    assert lone.quorum.role is Role.CANDIDATE
    for question in lone.asked(VoteRequest):
        lone.answer(question, VoteResponse(leader_epoch=question.message.replica_epoch, vote_granted=False))
    assert lone.quorum.role is Role.CANDIDATE
    lone.advance(2_000)
    assert lone.quorum.role is not Role.CANDIDATE
    assert lone.quorum.epoch == 1


def test_a_lone_voter_leads_at_once() -> None:
    """2.8, 2.26 And commits after its own flush."""
    lone = Lone(voters=(1,)).start()
    lone.advance(0)
    assert lone.quorum.role is Role.LEADER
    assert lone.append("a") == 1
    assert lone.machine.words == ["a"]
    lone.disk.held = []
    lone.append("b")
    assert lone.quorum.hw == 2
    lone.disk.release()
    assert lone.quorum.hw == 3


def test_a_follower_without_an_answer_stands_after_the_fetch_timeout() -> None:
    """2.6 In the epoch that it follows in, of whose leader it still knows; losing, it follows again."""
    lone = Lone().start().follow(2, 5)
    lone.advance(1_999)
    assert lone.quorum.role is Role.FOLLOWER
    lone.advance(1)
    assert lone.quorum.role is Role.PROSPECTIVE
    assert (lone.quorum.epoch, lone.quorum.leader_id) == (5, 2)
    for _ in range(2):
        grant(lone, refuse=True)
    assert lone.quorum.role is Role.FOLLOWER


def test_an_isolated_voter_leaves_its_epoch_alone(rules: Any = None) -> None:
    """2.9, 2.14 (B46b) However often it asks: when it comes back it disturbs nobody."""
    lone = Lone(rules=rules).start().follow(2, 5)
    lone.advance(60_000)
    assert lone.quorum.epoch == 5


def test_pre_votes_that_step_the_epoch_are_seen() -> None:
    """The test above can fail: with B46b a voter in isolation counts epochs up."""
    with pytest.raises(AssertionError):
        test_an_isolated_voter_leaves_its_epoch_alone(PreVoteWithNewEpoch())


def test_answers_of_another_epoch_or_role_are_not_counted() -> None:
    """2.15 A pre-vote granted late is no vote."""
    lone = Lone().start()
    stand(lone)
    first, second = lone.asked(VoteRequest)
    lone.answer(first, VoteResponse(leader_epoch=0, vote_granted=True))
    assert lone.quorum.role is Role.CANDIDATE
    lone.answer(second, VoteResponse(leader_epoch=0, vote_granted=True))
    assert lone.quorum.role is Role.CANDIDATE


def test_a_higher_epoch_in_any_answer_ends_the_round() -> None:
    """2.16 With a leader's name it is followed, without one nobody is."""
    lone = Lone().start()
    stand(lone)
    lone.answer(lone.asked(VoteRequest)[0], VoteResponse(Error.FENCED_LEADER_EPOCH, 3, 7))
    assert (lone.quorum.role, lone.quorum.epoch, lone.quorum.leader_id) == (Role.FOLLOWER, 7, 3)
    fetch = lone.asked(QuorumFetchRequest)[0]
    lone.answer(fetch, QuorumFetchResponse(Error.FENCED_LEADER_EPOCH, -1, 8))
    assert (lone.quorum.role, lone.quorum.epoch, lone.quorum.leader_id) == (Role.UNATTACHED, 8, None)


def test_a_second_leader_of_one_epoch_ends_the_process() -> None:
    """2.16"""
    lone = Lone().start().follow(2, 5)
    with pytest.raises(TwoLeaders, match="two leaders in quorum epoch 5: 2 is known, 3 was told"):
        lone.ask(BeginQuorumEpochRequest(CLUSTER, key_of(ME), 3, 5))


# -- voting ---------------------------------------------------------------------------------------------------------------


def test_a_vote_is_given_once_in_an_epoch_and_survives_a_power_cut(rules: Any = None) -> None:
    """2.2, 2.3, 2.13 (B40)"""
    lone = Lone(rules=rules).start()
    assert lone.vote(2, 4)[0].vote_granted
    assert not lone.vote(3, 4)[0].vote_granted
    lone.restart(lossy=True)
    assert not lone.vote(3, 4)[0].vote_granted
    assert lone.vote(2, 4)[0].vote_granted
    assert lone.vote(3, 5)[0].vote_granted


def test_a_vote_waits_for_the_disk_and_so_does_everything_after_it(rules: Any = None) -> None:
    """2.2, 2.39 In order of arrival: the second candidate is answered after the first, and from the state that this left."""
    lone = Lone(rules=rules).start()
    lone.disk.held = []
    first, second = lone.vote(2, 4), lone.vote(3, 4)
    lone.advance(10)
    assert first == second == []
    while lone.disk.held is not None and not (first and second):
        lone.disk.release()
    assert (first[0].vote_granted, second[0].vote_granted) == (True, False)


@pytest.mark.parametrize(
    "claim",
    [
        test_a_vote_is_given_once_in_an_epoch_and_survives_a_power_cut,
        test_a_vote_waits_for_the_disk_and_so_does_everything_after_it,
    ],
)
def test_votes_that_are_not_written_first_are_seen(claim: Any) -> None:
    """The tests above can fail: B40a forgets the vote with the process, B40b says it too early."""
    wrong = ForgetsVotes() if "survives" in claim.__name__ else SpeaksBeforeItIsWritten()
    with pytest.raises(AssertionError):
        claim(wrong)


def test_a_higher_epoch_is_adopted_before_the_candidate_is_judged() -> None:
    """2.11 Also of a pre-vote, also when the vote is refused, also when somebody else was meant."""
    lone = Lone().start()
    lone.vote(2, 4, pre_vote=True)
    assert lone.quorum.epoch == 4
    answers = lone.ask(vote_request(2, 6, voter=3))
    assert answers[0].error_code is Error.INVALID_VOTER_KEY
    assert (lone.quorum.epoch, lone.quorum.role, written(lone)["leaderEpoch"]) == (6, Role.UNATTACHED, 6)


def test_a_pre_vote_leaves_the_vote_free() -> None:
    """2.14"""
    lone = Lone().start()
    assert lone.vote(2, 4, pre_vote=True)[0].vote_granted
    assert lone.vote(3, 4)[0].vote_granted
    assert lone.quorum.voted == key_of(3)


def test_a_follower_refuses_pre_votes_once_its_leader_has_answered() -> None:
    """2.14"""
    lone = Lone().start().follow(2, 5)
    assert lone.vote(3, 5, pre_vote=True)[0].vote_granted
    lone.fetched(hw=0)
    assert not lone.vote(3, 5, pre_vote=True)[0].vote_granted


def test_a_granted_vote_puts_the_election_timeout_off() -> None:
    """2.13"""
    lone = Lone().start()
    lone.advance(900)
    lone.vote(2, 4)
    lone.advance(999)
    assert lone.quorum.role is Role.UNATTACHED


def test_the_vote_stays_when_the_role_changes_within_the_epoch() -> None:
    """2.3 (B41)"""
    lone = Lone().start()
    lone.vote(2, 4)
    while lone.quorum.role is not Role.PROSPECTIVE:
        lone.advance(100)
    assert lone.quorum.voted == key_of(2)
    lone.follow(3, 4)
    assert lone.quorum.voted == key_of(2)
    assert written(lone)["votedId"] == 2


# -- the end of an office -------------------------------------------------------------------------------------------------


def test_a_leader_that_starts_again_has_resigned_and_asks_in_the_next_epoch() -> None:
    """2.4, 2.6 (B45)"""
    lone = Lone().start()
    lone.elect()
    lone.restart()
    assert (lone.quorum.role, lone.quorum.epoch, lone.quorum.leader_id) == (Role.RESIGNED, 1, None)
    assert not lone.vote(2, 1, last_offset=9)[0].vote_granted
    lone.advance(2_000)
    assert lone.quorum.epoch == 2
    assert lone.quorum.role in (Role.UNATTACHED, Role.PROSPECTIVE)


def test_a_candidate_that_starts_again_stands_in_the_same_epoch() -> None:
    """2.4 Its vote for itself is written, so nobody else has it."""
    lone = Lone().start()
    stand(lone)
    grant(lone)
    lone.restart(lossy=True)
    assert (lone.quorum.role, lone.quorum.epoch) == (Role.CANDIDATE, 1)
    assert {each.message.replica_epoch for each in lone.asked(VoteRequest)} == {1}


def test_the_first_successor_stands_at_once_and_the_second_soon() -> None:
    """2.20"""
    for place, heirs in enumerate([(ME, 3), (3, ME)]):
        lone = Lone().start().follow(2, 5)
        lone.fetched(hw=0)
        heirs_told = tuple(key_of(heir) for heir in heirs)
        assert lone.ask(EndQuorumEpochRequest(CLUSTER, 2, 5, heirs_told))[0].error_code is Error.NONE
        assert (lone.quorum.role is Role.PROSPECTIVE) == (place == 0)
        lone.advance(41)
        assert lone.quorum.role is Role.PROSPECTIVE


def test_an_old_leader_is_told_so() -> None:
    """2.18, 2.20"""
    lone = Lone().start().follow(2, 5)
    begin = lone.ask(BeginQuorumEpochRequest(CLUSTER, key_of(ME), 3, 4))[0]
    end = lone.ask(EndQuorumEpochRequest(CLUSTER, 3, 4, (key_of(ME),)))[0]
    for answer in (begin, end):
        assert (answer.error_code, answer.leader_id, answer.leader_epoch) == (Error.FENCED_LEADER_EPOCH, 2, 5)
    assert lone.quorum.role is Role.FOLLOWER


def test_another_cluster_is_not_heard() -> None:
    """2.10, 2.18, 2.23 Its epochs are not adopted."""
    lone = Lone().start()
    vote = VoteRequest("another", key_of(ME), 2, directory_id(2), 9, 0, 0, False)
    fetch = QuorumFetchRequest("another", 2, directory_id(2), 9, 0, 0, 0, 1_000)
    for message in (
        vote,
        fetch,
        BeginQuorumEpochRequest("another", key_of(ME), 2, 9),
        EndQuorumEpochRequest("another", 2, 9, ()),
    ):
        assert lone.ask(message)[0].error_code is Error.INCONSISTENT_CLUSTER_ID
    assert lone.quorum.epoch == 0


def test_the_machine_is_told_of_leaders_as_they_change() -> None:
    """2.21, 2.36 Every change of leader or epoch, and no more."""
    lone = Lone().start()
    lone.vote(2, 4)
    lone.follow(2, 4)
    lone.follow(2, 4)
    assert lone.machine.calls == ["leader None in 4", "leader 2 in 4"]
