"""Schedules of BUGS that chance seldom finds, each played with the right rules and with the wrong one."""

from __future__ import annotations

import pytest

from replication.quorum.election_state import Role
from replication.quorum.fatal import CutBelowHighWatermark
from replication.quorum.settings import QuorumSettings
from replication.rules import Rules
from tests.replication.quorum.test_traces import hurry
from tests.replication.quorum.world import Member, QuorumWorld
from tests.replication.quorum.wrong import (
    AcksBeforeFlush,
    ClaimsWhatItHas,
    CutsWhatIsCommitted,
    NeverResigns,
    PreVoteWithNewEpoch,
    ResumesOffice,
    VoterIsItsId,
)


class CutsAndForgetsDisks(VoterIsItsId, CutsWhatIsCommitted):
    """B49, both halves."""


def led_by(node: int, rules: Rules | None = None, observers: tuple[int, ...] = ()) -> tuple[QuorumWorld, Member]:
    """Three voters, of which this one leads, with one word that everybody applied."""
    world = QuorumWorld(rules=rules, observers=observers)
    world.start()
    world.advance(5)
    hurry(world, node)
    leader = world.leader()
    assert leader.node_id == node
    leader.append("first")
    world.advance(200)
    assert all(words == ["first"] for words in world.applied().values())
    return world, leader


def complaints(world: QuorumWorld) -> list[str]:
    return world.judge.faults + [str(error) for _, error in world.judge.crashes]


def converged(world: QuorumWorld, *words: str) -> bool:
    for member in world.members.values():
        if not member.up:
            member.start()
    world.cut.clear()
    world.advance(5_000)
    return all(applied == list(words) for applied in world.applied().values())


# -- B56: a candidate that claims what it may lose --------------------------------------------------------------------------


def claim_then_lose(rules: Rules | None) -> QuorumWorld:
    """2 has the word in its page cache only. 3, which has it durably, votes for 2, unheard; 2 loses power and stands again."""
    world, leader = led_by(1, rules)
    world.members[2].disk.stalled = ".log"
    leader.append("second")
    world.advance(50)
    assert world.members[3].quorum.log.durable_end == world.members[2].quorum.end_offset == 3
    assert world.members[2].quorum.log.durable_end == 2
    assert leader.quorum.hw == 3
    leader.crash()
    world.part((2,), (3,))
    hurry(world, 3)  # it gives its leader up, so it has a vote to give
    world.advance(5)
    world.cut.clear()
    hurry(world, 2)
    world.advance(3)  # the pre-vote is answered
    world.cut.add((3, 2))
    world.advance(10)
    world.members[2].crash(lossy=True)
    world.members[2].disk.stalled = None
    world.cut.clear()
    world.members[2].start()
    world.advance(2_000)
    return world


def test_a_candidate_that_loses_what_it_claimed_is_not_elected_for_it() -> None:
    """2.38"""
    world = claim_then_lose(None)
    assert complaints(world) == []
    assert converged(world, "first", "second")
    assert complaints(world) == []


def test_a_candidate_that_claims_its_page_cache_is_seen() -> None:
    """B56a: the vote that is given again does not look at the log again."""
    world = claim_then_lose(ClaimsWhatItHas())
    assert complaints(world) or not converged(world, "first", "second")


# -- B49: a wiped voter -----------------------------------------------------------------------------------------------------


def wipe_one_and_kill_another(rules: Rules | None) -> QuorumWorld:
    """The word is on 1 and 2. 1 is down, 2 comes back with an empty disk, 3 has never seen the word."""
    world, leader = led_by(1, rules)
    world.isolate(3)
    leader.append("second")
    world.advance(200)
    assert world.applied()[2] == ["first", "second"]
    leader.crash()
    world.members[2].crash()
    world.members[2].wipe()
    world.cut.clear()
    world.members[2].start()
    world.advance(5_000)
    return world


def test_a_wiped_voter_has_no_vote_and_nothing_committed_is_lost() -> None:
    """2.37, 2.42 Until 1 is back nobody leads: two of three disks are needed, and one is gone."""
    world = wipe_one_and_kill_another(None)
    assert world.leaders() == []
    assert not world.members[2].quorum.is_voter
    world.members[1].start()
    world.leader().append("third")
    assert converged(world, "first", "second", "third")
    assert complaints(world) == []


def test_a_wiped_voter_that_votes_as_itself_is_seen() -> None:
    """B49a: what was committed is gone; whoever still has it refuses to give it up."""
    world = wipe_one_and_kill_another(VoterIsItsId())
    assert world.leaders()
    world.members[1].start()
    world.advance(3_000)
    assert any(isinstance(error, CutBelowHighWatermark) for _, error in world.judge.crashes) or world.judge.faults


def test_a_member_that_gives_up_what_is_committed_is_seen() -> None:
    """B49b: nobody refuses, and the histories part."""
    world = wipe_one_and_kill_another(CutsAndForgetsDisks())
    world.leaders()[0].append("another")
    world.members[1].start()
    world.advance(3_000)
    assert [fault for fault in world.judge.faults if fault.startswith(("21", "24"))]


# -- B44, B45: lossy crashes ------------------------------------------------------------------------------------------------


def acknowledge_then_lose(rules: Rules | None) -> QuorumWorld:
    """2 answers for a word that is not on its disk; then both it and the leader are gone for a while."""
    world, leader = led_by(1, rules)
    world.isolate(3)
    world.members[2].disk.stalled = ".log"
    leader.append("second")
    world.advance(100)
    world.members[2].crash(lossy=True)
    world.members[2].disk.stalled = None
    leader.crash()
    world.cut.clear()
    world.members[2].start()
    world.leader().append("third")
    world.advance(500)
    return world


def test_a_word_that_one_disk_holds_was_not_committed() -> None:
    """2.26"""
    world = acknowledge_then_lose(None)
    assert converged(world, "first", "third")
    assert complaints(world) == []


def test_an_acknowledgement_before_the_flush_is_seen() -> None:
    """B44"""
    assert [fault for fault in complaints(acknowledge_then_lose(AcksBeforeFlush())) if fault.startswith("22")]


def restart_a_leader(rules: Rules | None) -> QuorumWorld:
    """2 has a word of the leader's that the leader loses; it writes another one."""
    world, leader = led_by(1, rules)
    world.isolate(3)
    leader.disk.stalled = ".log"
    leader.append("second")
    world.advance(50)
    leader.crash(lossy=True)
    leader.disk.stalled = None
    leader.start()
    world.advance(20)
    leader.append("other")
    world.cut.clear()
    world.advance(3_000)
    return world


def test_a_restarted_leader_writes_nothing_in_its_old_epoch() -> None:
    """2.4 The word that 2 holds is on no majority, and may stay or go; but there is only one at its offset."""
    world = restart_a_leader(None)
    assert complaints(world) == []
    assert world.leader().quorum.epoch > 1
    assert "other" not in world.applied()[1]


def test_a_leader_that_resumes_is_seen() -> None:
    """B45: two words at one offset in one epoch."""
    world = restart_a_leader(ResumesOffice())
    applied = [words for words in world.applied().values() if "other" in words or "second" in words]
    assert complaints(world) or len({tuple(words) for words in applied}) > 1


# -- B46, B51: those who cannot reach the others ----------------------------------------------------------------------------


def isolate_a_voter(rules: Rules | None) -> tuple[int, int]:
    """The leader's epoch before one voter was cut off for long, and after it is back."""
    world, leader = led_by(1, rules)
    world.isolate(3)
    world.advance(20_000)
    world.cut.clear()
    world.advance(3_000)
    return leader.quorum.epoch, world.leader().quorum.epoch


def test_a_voter_that_was_cut_off_comes_back_without_an_election() -> None:
    """2.14 (B46b)"""
    before, after = isolate_a_voter(None)
    assert before == after == 1


def test_a_voter_that_counts_epochs_in_its_isolation_is_seen() -> None:
    """B46b: its return deposes a leader that works."""
    _, after = isolate_a_voter(PreVoteWithNewEpoch())
    assert after > 10


def cut_a_leader_from_the_voters(rules: Rules | None) -> QuorumWorld:
    world, _ = led_by(1, rules, observers=(4,))
    world.part((1,), (2, 3))
    world.advance(3_000)
    world.leaders()[0].append("second")
    world.advance(1_000)
    return world


def test_observers_leave_a_leader_that_no_voter_follows() -> None:
    """2.19 It resigns, and they look for another."""
    world = cut_a_leader_from_the_voters(None)
    assert world.members[1].quorum.role is not Role.LEADER
    assert world.applied()[4] == ["first", "second"]


def test_a_leader_that_stays_for_ever_is_seen() -> None:
    """B51: it keeps its observers from everything that is decided."""
    world = cut_a_leader_from_the_voters(NeverResigns())
    assert world.members[1].quorum.role is Role.LEADER
    assert world.applied()[4] == ["first"]


# -- an idle quorum ---------------------------------------------------------------------------------------------------------


def test_an_idle_quorum_is_quiet() -> None:
    """2.31 Five fetchers that wait half a second each, and little else: what a simulation pays for doing nothing."""
    world = QuorumWorld(observers=(4, 5, 6), settings=QuorumSettings())
    world.start()
    world.leader()
    world.advance(2_000)
    before = world.steps
    world.advance(60_000)
    assert (world.steps - before) / 60 < 60


@pytest.mark.parametrize("node", [1, 2, 3])
def test_a_leader_that_stops_hands_over_quickly(node: int) -> None:
    """2.20 Faster than any timeout of a follower."""
    world, leader = led_by(node)
    began = world.now_ns
    leader.env.guard(lambda: leader.quorum.close(leader.crash))
    world.until(lambda: any(each.machine.active is not None for each in world.leaders()))
    assert (world.now_ns - began) / 1_000_000 < 100
    assert not leader.up
    assert complaints(world) == []
