"""The small parts: what is written, what waits its turn, what rings when."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.env import IoError
from replication.files import meta_properties_text
from replication.quorum.alarm import Alarm
from replication.quorum.election_state import ElectionState, Role, election_state_text, read_election_state
from replication.quorum.settings import QuorumSettings, quorum_settings
from replication.quorum.snapshots import id_of_name, name_of
from replication.quorum.turnstile import Turnstile
from replication.quorum_messages import SnapshotId, VoterKey
from tests.replication.memory import MS, MemoryEnv, World
from tests.replication.quorum.lone import Lone
from tests.replication.quorum.world import QuorumWorld, key_of

DIRECTORY = bytes(range(16))


@given(st.integers(-1, 9), st.integers(0, 2**31 - 1), st.none() | st.builds(VoterKey, st.integers(0, 9), st.just(DIRECTORY)))
def test_an_election_state_reads_back(leader: int, epoch: int, voted: VoterKey | None) -> None:
    """2.1"""
    state = ElectionState(leader, epoch, voted)
    assert read_election_state(election_state_text(state)) == state


def test_quorum_state_is_written_as_kafka_writes_it() -> None:
    """5.51"""
    text = election_state_text(ElectionState(2, 7, VoterKey(3, DIRECTORY)))
    assert text == (b'{"leaderId":2,"leaderEpoch":7,"votedId":3,"votedDirectoryId":"AAECAwQFBgcICQoLDA0ODw","data_version":1}')


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"\xff", election_state_text(ElectionState()).replace(b"1}", b"9}")])
def test_a_damaged_quorum_state_is_none(data: bytes) -> None:
    """2.1"""
    assert read_election_state(data) is None


def test_a_member_with_a_damaged_quorum_state_does_not_run() -> None:
    """2.1, 2.3 A vote that cannot be read may be in there."""
    lone = Lone()
    lone.disk.files["__cluster_metadata-0/quorum-state"] = bytearray(b"{")
    lone.start()
    assert lone.env.halted == "quorum-state is damaged"


def test_a_broken_disk_ends_the_process() -> None:
    """10.1"""
    lone = Lone().start()
    lone.disk.broken = IoError("worn out")
    lone.vote(2, 4)
    assert lone.env.halted == "the directory of the metadata log failed: worn out"


def test_a_disk_of_another_cluster_is_not_used() -> None:
    """2.42"""
    lone = Lone()
    lone.disk.files["meta.properties"] = bytearray(meta_properties_text("elsewhere", 1, DIRECTORY))
    lone.start()
    assert lone.env.halted == "the disk belongs to cluster elsewhere, not to tidemark-test"


def test_settings_have_kafkas_names_and_defaults() -> None:
    """11"""
    assert quorum_settings({"broker.id": "1"}) == QuorumSettings()
    read = quorum_settings({"controller.quorum.fetch.timeout.ms": "300", "metadata.max.retention.bytes": "9"})
    assert (read.fetch_timeout_ns, read.metadata_max_retention_bytes) == (300 * MS, 9)
    with pytest.raises(ValueError, match=r"a setting of the quorum cannot be read: .*fetch_timeout"):
        quorum_settings({"controller.quorum.fetch.timeout.ms": "soon"})


@given(st.integers(0, 2**62), st.integers(0, 2**31 - 1))
def test_a_snapshots_name_tells_its_id(end_offset: int, epoch: int) -> None:
    """2.43"""
    snapshot = SnapshotId(end_offset, epoch)
    assert id_of_name(name_of(snapshot)) == id_of_name(name_of(snapshot) + ".part") == snapshot


def test_snapshot_names_are_as_long_as_kafkas() -> None:
    """2.43 Twenty digits and ten."""
    assert name_of(SnapshotId(5000, 3)) == "00000000000000005000-0000000003.checkpoint"


def test_whoever_waits_at_the_turnstile_goes_in_order_and_stops_when_it_closes_again() -> None:
    """2.39"""
    turnstile, seen = Turnstile(), list[str]()

    def close_again() -> None:
        seen.append("b")
        turnstile.close()

    turnstile.close()
    for call in (lambda: seen.append("a"), close_again, lambda: seen.append("c")):
        turnstile.enter(call)
    turnstile.open(lambda: seen.append("first"))
    assert seen == ["first", "a", "b"]
    turnstile.enter(lambda: seen.append("d"))
    turnstile.open(lambda: seen.append("second"))
    assert seen == ["first", "a", "b", "second", "c", "d"]


def test_nobody_passes_a_turnstile_that_is_shut() -> None:
    """2.20 A member that has ended does nothing more."""
    turnstile, seen = Turnstile(), list[str]()
    turnstile.close()
    turnstile.enter(lambda: seen.append("waiting"))
    turnstile.shut = True
    turnstile.enter(lambda: seen.append("late"))
    turnstile.open(lambda: seen.append("first"))
    assert seen == []


def test_an_alarm_rings_at_its_last_deadline_however_often_that_moved() -> None:
    """2.6 And costs one timer for each stretch, not one for each move."""
    world, rung = World(), list[int]()
    env = MemoryEnv(world, 1, (), 1)
    alarm = Alarm(env, env.monotonic_ns, lambda: rung.append(world.now_ns // MS))
    for _ in range(10):
        alarm.set(100 * MS)
        world.advance(50)
    before = world.steps
    world.advance(1_000)
    assert rung == [550]
    assert world.steps - before <= 2
    alarm.set(100 * MS)
    alarm.set(30 * MS)
    world.advance(200)
    assert rung == [550, 1_530]
    alarm.set(100 * MS)
    alarm.cancel()
    world.advance(200)
    assert len(rung) == 2


def test_a_wall_clock_that_jumps_ends_timeouts_if_a_plan_wants_that() -> None:
    """1.12 As in Kafka; by default a jump is nothing to a quorum."""
    for clock, role in (("monotonic", Role.FOLLOWER), ("wall", Role.PROSPECTIVE)):
        lone = Lone(settings=QuorumSettings(tidemark_lag_clock=clock)).start().follow(2, 5)
        lone.advance(1_500)
        lone.fetched(hw=0)
        lone.world.wall_start_ms += 5_000
        lone.advance(600)
        assert lone.quorum.role is role


def test_a_request_that_comes_before_the_log_is_open_waits() -> None:
    """2.39, 2.40"""
    world = QuorumWorld()
    member = world.members[1]
    member.disk.held = []
    member.start()
    closed: list[bool] = []
    assert member.quorum.end_offset == 0
    member.env.guard(lambda: member.quorum.close(lambda: closed.append(True)))
    assert closed == [True]
    assert member.quorum.member.voter_of(key_of(2)) == key_of(2)
