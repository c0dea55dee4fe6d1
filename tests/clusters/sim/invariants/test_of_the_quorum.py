"""Each invariant about the controllers' quorum is alive: members made by hand, with real logs, are led astray."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.sim.env import SimEnv
from clusters.sim.invariants import Invariants
from clusters.sim.invariants.world import Parts
from replication.events import QuorumStateChanged
from replication.quorum.election_state import ElectionState, Role, election_state_text
from replication.quorum.snapshots import PATH, name_of, snapshot_bytes
from replication.quorum.transitions import STATE_PATH
from replication.quorum_messages import SnapshotId, VoteRequest, VoteResponse, VoterKey
from replication.records import NoOp, TopicRecord
from tests.clusters.sim.bare import Bare
from tests.replication.lone_log import LoneLog

DIRECTORY = bytes(16)


class MadeUp:
    """What a member shows of itself, and a log of its own."""

    def __init__(self) -> None:
        self.disk = LoneLog(start=0)
        self.role, self.epoch = Role.UNATTACHED, 0
        self.leader_id: int | None = None
        self.voted: VoterKey | None = None
        self.hw, self.is_voter = -1, True
        self.snapshots: tuple[SnapshotId, ...] = ()
        self.log, self.directory = self.disk.log, self.disk.directory

    def become(self, role: Role, epoch: int, leader: int | None = None, voted: int | None = None) -> None:
        self.role, self.epoch, self.leader_id = role, epoch, leader
        self.voted = None if voted is None else VoterKey(voted, DIRECTORY)
        self.persist(epoch, voted)

    def persist(self, epoch: int, voted: int | None) -> None:
        vote = None if voted is None else VoterKey(voted, DIRECTORY)
        self.disk.disk.durable[STATE_PATH] = election_state_text(ElectionState(-1, epoch, vote))

    def holds(self, *epochs: int, sync: bool = True) -> None:
        for epoch in epochs:
            self.disk.append("x", epoch=epoch)
        if sync:
            self.log.sync()
            self.disk.world.run()


class Quorum:
    """Three voters, n1 to n3."""

    def __init__(self) -> None:
        self.bare = Bare()
        self.members = {node: MadeUp() for node in (1, 2, 3)}
        self.invariants = Invariants(self.bare.kernel, self._parts, {}, (1, 2, 3), on_violation="note")
        self.bare.kernel.waits = None  # here nothing is left to happen between two events
        for node in self.members:
            self.start(node)

    def _parts(self, node: int) -> Parts:
        return Parts(None, self.members[node])

    def env(self, node: int) -> SimEnv:
        return self.bare[node].env

    def start(self, node: int) -> None:
        self.invariants.on_start(self.env(node), 1)
        self.look(node)

    def look(self, *nodes: int) -> None:
        """An event touches them, one after the other."""
        for node in nodes:
            told = QuorumStateChanged(quorum_epoch=0, was="", now="", leader=-1, voted=-1)
            self.invariants.on_told(node, told)
            self.bare.kernel.at(self.bare.kernel.now, self._touch, self.env(node))
            self.bare.run(0)

    def _touch(self, env: SimEnv) -> None:
        env.enter(lambda _: None, None)

    def lead(self, node: int, epoch: int, *held: int) -> MadeUp:
        """Make a member the leader of an epoch, with so many records in its log."""
        member = self.members[node]
        member.holds(*held)
        member.become(Role.LEADER, epoch, node, node)
        self.look(node)
        return member

    def commit(self, node: int, hw: int) -> None:
        self.members[node].hw = hw
        self.look(node)

    @property
    def found(self) -> list[int]:
        return sorted({violation.number for violation in self.invariants.violations})

    def said(self, number: int) -> str:
        return "; ".join(violation.text for violation in self.invariants.violations if violation.number == number)


def with_three_committed() -> Quorum:
    """n1 leads epoch 1, everybody holds three records, and all three are committed."""
    quorum = Quorum()
    for node in (2, 3):
        quorum.members[node].holds(1, 1, 1)
        quorum.members[node].become(Role.FOLLOWER, 1, 1)
        quorum.look(node)
    quorum.lead(1, 1, 1, 1, 1)
    for node in (1, 2, 3):
        quorum.commit(node, 3)
    assert quorum.found == []
    return quorum


def test_a_quorum_that_changes_its_leader_violates_nothing() -> None:
    """18 to 25: n2 leads on, with everything that was committed."""
    quorum = with_three_committed()
    quorum.lead(2, 2, 2)
    quorum.members[3].holds(2)
    quorum.members[3].become(Role.FOLLOWER, 2, 2, 2)
    quorum.look(3)
    quorum.commit(2, 4)
    quorum.invariants.at_the_end()
    assert quorum.found == []
    assert quorum.invariants.world.quorum.committed_end == 4


def test_two_leaders_of_one_epoch_are_found() -> None:
    """18: and what everybody believes is told."""
    quorum = with_three_committed()
    quorum.lead(2, 1)
    assert quorum.said(18) == "n2 believes that n2 leads quorum epoch 1; n2 knew n1 as its leader"
    beliefs = quorum.invariants.violations[0].beliefs
    assert beliefs[0] == "committed up to 3 by n1; voters (1, 2, 3)"
    assert beliefs[1] == "n1: leader in quorum epoch 1, leader n1, vote for n1, log 0 to 3 (durable to 3), HW 3"


def test_an_epoch_that_goes_back_is_found_and_a_wiped_disk_is_another_voter() -> None:
    """19"""
    quorum = with_three_committed()
    quorum.members[3].become(Role.FOLLOWER, 0, 1)
    quorum.look(3)
    assert "n3 is in quorum epoch 0, after having been in 1" in quorum.said(19)
    other = with_three_committed()
    other.members[3].directory.id = b"another".ljust(16)
    other.members[3].become(Role.UNATTACHED, 0)
    other.look(3)
    assert other.found == []


@pytest.mark.parametrize(("epoch", "voted"), [(1, None), (2, 3)])
def test_an_epoch_or_vote_that_is_not_on_the_disk_is_found(epoch: int, voted: int | None) -> None:
    """19, B40: said before it was written down."""
    quorum = with_three_committed()
    quorum.members[3].become(Role.UNATTACHED, 2, voted=2)
    quorum.members[3].persist(epoch, voted)
    quorum.look(3)
    assert "n3 is in quorum epoch 2 with a vote for n2; its disk says epoch" in quorum.said(19)


def test_two_votes_in_one_epoch_are_found_also_across_a_restart() -> None:
    """20, B40, B41"""
    quorum = with_three_committed()
    quorum.members[3].become(Role.UNATTACHED, 2, voted=2)
    quorum.look(3)
    quorum.invariants.on_start(quorum.env(3), 2)
    quorum.members[3].become(Role.CANDIDATE, 2, voted=3)
    quorum.look(3)
    assert quorum.said(20) == "n3 votes for n3 in quorum epoch 2, and has voted for n2"


def vote(quorum: Quorum, voter: int, candidate: int, *, epoch: int = 2, pre_vote: bool = False) -> None:
    asked = VoteRequest("c", VoterKey(voter, DIRECTORY), candidate, DIRECTORY, epoch, 1, 3, pre_vote)
    life = quorum.invariants.world.lives[voter]
    quorum.invariants._answers.by_kind[VoteResponse](life, asked, VoteResponse(vote_granted=True))


def test_two_granted_votes_in_one_epoch_are_found_and_pre_votes_bind_nobody() -> None:
    """20: what counts is what candidates were told."""
    quorum = with_three_committed()
    vote(quorum, 3, 1)
    vote(quorum, 3, 1)
    vote(quorum, 3, 2, pre_vote=True)
    vote(quorum, 3, 2, epoch=3)
    assert quorum.found == []
    vote(quorum, 3, 2)
    assert quorum.said(20) == "n3 votes for n2 in quorum epoch 2, and has voted for n1"


def test_a_high_watermark_of_the_quorum_that_moves_back_is_found() -> None:
    """21: of one leader, and from one to the next."""
    quorum = with_three_committed()
    quorum.commit(1, 2)
    assert "n1 leads quorum epoch 1 and moved its HW back from 3 to 2" in quorum.said(21)
    other = with_three_committed()
    other.commit(2, 1)
    other.lead(2, 2)
    other.commit(2, 2)
    assert other.said(21) == "n2 leads quorum epoch 2 with HW 2; n1 committed 3"


def test_a_deposed_leader_may_not_know_what_was_committed() -> None:
    """21: the near miss."""
    quorum = with_three_committed()
    quorum.lead(2, 2, 2)
    quorum.members[3].holds(2)
    quorum.look(3)
    quorum.commit(2, 4)
    quorum.members[1].hw = 2
    quorum.look(1)
    assert "committed" not in quorum.said(21)


def test_what_is_committed_and_on_too_few_disks_is_found() -> None:
    """22, B44, B56: a sync that is still to come does not count."""
    quorum = with_three_committed()
    quorum.members[2].holds(1, sync=False)
    quorum.look(2)
    quorum.members[1].holds(1)
    quorum.commit(1, 4)
    assert quorum.said(22) == "n1 leads quorum epoch 1 and committed up to 4; durable are n1 to 4, n2 to 3, n3 to 3"


def test_a_new_leader_that_lacks_what_was_committed_is_found() -> None:
    """23, B42"""
    quorum = with_three_committed()
    quorum.members[3].log.truncate_to(2)
    quorum.members[3].hw = 2
    quorum.lead(3, 2)
    assert 23 in quorum.found
    assert quorum.said(23) == "n3 leads quorum epoch 2 with LEO 2; n1 had committed 3"


def test_a_new_leader_with_other_records_than_were_committed_is_found() -> None:
    """23, 24, B43: as long as the right one, and not the same."""
    quorum = with_three_committed()
    quorum.invariants.on_start(quorum.env(3), 2)
    quorum.members[3] = MadeUp()
    quorum.members[3].holds(1, 1, 2)
    quorum.lead(3, 3)
    assert (
        quorum.said(23) == "n3 leads quorum epoch 3 with a batch of epoch 2 at offset 2, where one of epoch 1 was committed (n1)"
    )
    quorum.commit(3, 3)
    assert "n3 has HW 3 and at offset 2 a batch of quorum epoch 2" in quorum.said(24)


@pytest.mark.parametrize(
    ("role", "leader", "voted", "is_voter", "said"),
    [
        (Role.LEADER, 1, 3, True, "n3 leads quorum epoch 1 and believes that n1 does"),
        (Role.UNATTACHED, 1, None, True, "n3 is unattached in quorum epoch 1 and knows its leader n1"),
        (Role.CANDIDATE, None, 2, True, "n3 is a candidate in quorum epoch 1 and votes for n2"),
        (Role.PROSPECTIVE, None, None, False, "n3 is no voter and is prospective in quorum epoch 1"),
    ],
)
def test_a_role_that_does_not_fit_is_found(role: Role, leader: int | None, voted: int | None, is_voter: bool, said: str) -> None:
    """25"""
    quorum = with_three_committed()
    quorum.members[3].become(role, 1, leader, voted)
    quorum.members[3].is_voter = is_voter
    quorum.look(3)
    assert said in quorum.said(25)


def test_snapshots_that_do_not_fit_the_log_are_found() -> None:
    """24, 25, B50: above the HW, of another epoch, in the middle of a batch; a log that begins where none ends."""
    quorum = with_three_committed()
    quorum.members[3].snapshots = (SnapshotId(2, 1),)
    quorum.look(3)
    assert quorum.found == []
    quorum.members[3].snapshots = (SnapshotId(2, 7),)
    quorum.look(3)
    assert quorum.said(24) == "n3 has the snapshot (2, 7); the batch that ends there is of epoch 1"
    other = with_three_committed()
    other.members[3].snapshots = (SnapshotId(9, 1),)
    other.look(3)
    assert other.said(25) == "n3 has snapshots that end at [9], and HW 3"
    third = with_three_committed()
    third.members[3].log.log_start = 2
    third.look(3)
    assert third.said(25) == "n3 has a metadata log that begins at 2, and snapshots that end at []"


def test_a_cut_below_the_high_watermark_is_found() -> None:
    """25, B49"""
    quorum = with_three_committed()
    quorum.members[3].log.truncate_to(1)
    quorum.look(3)
    assert "n3 cut its metadata log from 3 to 1, below its HW 3" in quorum.said(25)


def test_a_leader_that_loads_a_snapshot_is_found() -> None:
    """25"""
    quorum = with_three_committed()
    leader = quorum.members[1]
    leader.snapshots = (SnapshotId(8, 1),)
    leader.log.restart_at(8)
    quorum.commit(1, 8)
    assert "n1 leads quorum epoch 1 and loaded the snapshot that ends at 8" in quorum.said(25)


def test_two_snapshots_of_one_name_and_different_content_are_found_at_the_end() -> None:
    """24: in whatever order their records stand."""
    quorum = with_three_committed()
    name = SnapshotId(2, 1)
    one, other = TopicRecord("t", bytes(16)), TopicRecord("u", bytes(16))
    for node, records in ((1, (one, other)), (2, (other, one))):
        quorum.members[node].snapshots = (name,)
        content: Any = bytearray(snapshot_bytes(records, 1, 0))
        quorum.members[node].disk.disk.files[f"{PATH}/{name_of(name)}"] = content
        quorum.look(node)
    quorum.invariants.at_the_end()
    assert quorum.found == []
    quorum.members[2].disk.disk.files[f"{PATH}/{name_of(name)}"] = bytearray(snapshot_bytes((one, NoOp()), 1, 0))
    quorum.invariants.at_the_end()
    assert quorum.said(24) == "n2 and n1 have different snapshots (2, 1)"
