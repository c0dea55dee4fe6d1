"""The worked traces of PROTOCOL section 16 that concern the quorum, value by value."""

from __future__ import annotations

from typing import Any

import pytest

from replication.batch import stamped
from replication.quorum.election_state import Role
from replication.quorum.snapshots import PATH, name_of, snapshot_bytes
from replication.quorum_messages import FetchSnapshotRequest, FetchSnapshotResponse, QuorumFetchRequest, SnapshotId
from replication.records import batch_of
from replication.rules import Rules
from tests.replication.quorum.lone import Lone, chunk_request
from tests.replication.quorum.test_following import leading
from tests.replication.quorum.world import QuorumWorld, setting
from tests.replication.quorum.wrong import AnyLogWillDo, CountsItsOwnUnsynced, CountsOldEpochs


def after_the_leader_died(rules: Rules | None = None) -> QuorumWorld:
    """16.11 Voters 1, 2, 3 for S3's 0, 1, 2: 1 led epoch 3 and is dead, 3 has an older log than 2."""
    world = QuorumWorld(rules=rules)
    state = b'{"leaderId":1,"leaderEpoch":3,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}'
    for node, values in ((2, "abc"), (3, "a")):
        records = b"".join(stamped(batch_of([setting(value)], 7), offset, 3) for offset, value in enumerate(values))
        disk = world.members[node].disk
        for path, content in ((f"{PATH}/{0:020d}.log", records), (f"{PATH}/quorum-state", state)):
            disk.files[path], disk.durable[path] = bytearray(content), content
        world.members[node].start()
    return world


def hurry(world: QuorumWorld, *nodes: int) -> None:
    """Their timeouts are over now."""
    for node in nodes:
        member = world.members[node]
        member.env.guard(member.quorum.elections.on_timeout)


def roles(world: QuorumWorld, *nodes: int) -> list[tuple[Role, int]]:
    return [(world.members[node].quorum.role, world.members[node].quorum.epoch) for node in nodes]


def test_the_voter_with_the_longer_log_wins_the_pre_vote(rules: Rules | None = None) -> None:
    """16.11 Both prospective at 3; the shorter log grants, the longer refuses; the winner leads 4."""
    world = after_the_leader_died(rules)
    world.advance(5)
    assert roles(world, 2, 3) == [(Role.FOLLOWER, 3)] * 2
    hurry(world, 3, 2)
    assert roles(world, 2, 3) == [(Role.PROSPECTIVE, 3)] * 2
    world.advance(30)
    assert roles(world, 2, 3) == [(Role.LEADER, 4), (Role.FOLLOWER, 4)]
    one, other = (world.members[node].quorum for node in (2, 3))
    assert one.voted == one.member.key
    assert other.voted == one.member.key
    assert one.end_offset == 4
    world.advance(300)
    assert world.applied() == {2: ["a", "b", "c"], 3: ["a", "b", "c"]}
    assert world.judge.faults == []


def test_a_log_that_is_not_looked_at_is_seen() -> None:
    """The trace can fail: with B42 the shorter log is elected, and cuts what the longer one had."""
    with pytest.raises(AssertionError):
        test_the_voter_with_the_longer_log_wins_the_pre_vote(AnyLogWillDo())


@pytest.mark.parametrize(("first", "wins"), [(2, 5), (3, 6)])
def test_two_candidates_of_one_epoch_elect_nobody_and_the_longer_log_later(first: int, wins: int) -> None:
    """16.11 Without pre-vote, both candidates in 4: each has voted for itself. The longer log wins 5, or 6 if the other was
    first."""
    world = after_the_leader_died()
    world.advance(5)
    for node in (2, 3):
        member = world.members[node]
        member.env.guard(lambda quorum=member.quorum: quorum.transitions.change(Role.CANDIDATE, 4, vote_for=quorum.member.key))
    world.advance(30)
    assert roles(world, 2, 3) == [(Role.CANDIDATE, 4)] * 2
    order = (first, 2) if first == 3 else (2,)
    for epoch, node in enumerate(order, 5):
        member = world.members[node]
        member.env.guard(
            lambda quorum=member.quorum, epoch=epoch: quorum.transitions.change(Role.CANDIDATE, epoch, vote_for=quorum.member.key)
        )
        world.advance(30)
    assert roles(world, 2, 3) == [(Role.LEADER, wins), (Role.FOLLOWER, wins)]
    assert world.judge.faults == []


# -- 16.12: the high watermark of a quorum ----------------------------------------------------------------------------------


def hw_of(ends: tuple[int, int, int], *, start: int, rules: Rules | None = None) -> int | None:
    """What a leader whose epoch starts at `start` makes of three ends; None: it stays where it was."""
    rules = rules or Rules()
    candidate = rules.quorum_hw_candidate(ends)
    return candidate if rules.may_advance_quorum_hw(candidate, start, hw=-1) else None


def test_a_quorum_commits_what_the_second_best_of_three_has() -> None:
    """16.12"""
    assert hw_of((100, 98, 100), start=90) == 100
    assert hw_of((100, 98, 100), start=100) is None
    assert hw_of((100, 98, 97), start=90) == 98
    assert hw_of((100, 98, 100), start=100, rules=CountsOldEpochs()) == 100


def test_a_record_of_the_leader_counts_for_it_when_its_own_sync_is_done(rules: Rules | None = None) -> None:
    """16.12 Appended to 101, durable to 100; followers at 101 and 98: sorted 101, 100, 98 commits 100."""
    lone = leading(rules=rules)
    for number in range(1, 100):
        lone.append(f"w{number}")
    assert (lone.quorum.end_offset, lone.quorum.log.durable_end) == (100, 100)
    lone.disk.held = []
    lone.append("w100")
    assert (lone.quorum.end_offset, lone.quorum.log.durable_end) == (101, 100)
    lone.fetch(3, 98, last_epoch=1)
    assert lone.quorum.hw == 98
    lone.fetch(2, 101, last_epoch=1)
    assert lone.quorum.hw == 100


def test_an_unsynced_record_that_counts_is_seen() -> None:
    """The trace can fail: with B56b 101 is committed."""
    with pytest.raises(AssertionError):
        test_a_record_of_the_leader_counts_for_it_when_its_own_sync_is_done(CountsItsOwnUnsynced())


# -- 16.17: a snapshot ------------------------------------------------------------------------------------------------------


def leader_with_a_snapshot() -> Lone:
    """HW 80 and a snapshot (50, 4) for S3's 8000 and 5000; it leads epoch 5 from offset 80."""
    lone = Lone()
    state = b'{"leaderId":-1,"leaderEpoch":4,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}'
    records = b"".join(stamped(batch_of([setting(str(offset))], 7), offset, 4) for offset in range(80))
    snapshot = snapshot_bytes([setting(str(offset)) for offset in range(50)], 4, 7)
    found = {f"{0:020d}.log": records, "quorum-state": state, name_of(SnapshotId(50, 4)): snapshot}
    for name, content in found.items():
        lone.disk.files[f"{PATH}/{name}"] = bytearray(content)
    lone.start().elect()
    lone.fetch(2, 80, last_epoch=4)
    lone.fetch(2, 81, last_epoch=5)
    return lone


def test_a_follower_below_the_snapshot_loads_it_and_goes_on_behind_it() -> None:
    """16.17"""
    leader = leader_with_a_snapshot()
    assert (leader.quorum.log.log_start, leader.quorum.hw) == (50, 81)
    assert leader.fetch(3, 30, last_epoch=4)[0].snapshot_id == SnapshotId(50, 4)
    valid = leader.fetch(3, 50, last_epoch=4)[0]
    assert (valid.snapshot_id, valid.diverging_epoch, bool(valid.records)) == (None, None, True)
    assert leader.fetch(3, 50, last_epoch=3)[0].snapshot_id == SnapshotId(50, 4)

    follower = Lone().start().follow(2, 5)
    follower.fetched(snapshot_id=SnapshotId(50, 4))
    hand_over(leader, follower)
    assert (follower.quorum.log.log_start, follower.quorum.end_offset, follower.quorum.hw) == (50, 50, 50)
    fetch: Any = follower.asked(QuorumFetchRequest)[-1].message
    assert (fetch.fetch_offset, fetch.last_fetched_epoch) == (50, 4)
    assert follower.machine.words == [str(offset) for offset in range(50)]


def hand_over(leader: Lone, follower: Lone) -> None:
    """Chunk by chunk, as if 2 were the leader that 1 is in this test."""
    while questions := follower.asked(FetchSnapshotRequest):
        asked = questions[-1].message
        (answer,) = leader.ask(chunk_request(3, leader.quorum.epoch, asked.snapshot_id, asked.position, most=500))
        chunk = FetchSnapshotResponse(
            leader_id=2,
            leader_epoch=5,
            snapshot_id=answer.snapshot_id,
            size=answer.size,
            position=answer.position,
            unaligned_records=answer.unaligned_records,
        )
        follower.answer(questions[-1], chunk)
