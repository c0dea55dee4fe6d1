"""Each invariant about clients and metadata is alive: it is broken, and says so. And how invariants are asked."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clusters.sim.latency import MS
from replication.env import NANOSECONDS
from replication.messages import AlterPartitionItem
from replication.rules import Rules
from tests.clusters.sim.invariants.watched import Watched, answer_by_hand, with_records
from tests.clusters.sim.world import S
from tests.replication.controller.wrong import AllAtOnce, AnybodyUncleanly, ElrOnlyGrows

# -- 5, 6, 12: clients --------------------------------------------------------------------------------------------------


def test_a_record_that_was_read_and_is_gone_is_found() -> None:
    """5, B32: reads above the HW, and a leader that dies."""

    class ReadsEverything(Rules):
        def readable_end(self, from_replica: bool, hw: int, leo: int) -> int:
            return leo

    world = with_records(3, rules=ReadsEverything())
    world.fire("cut", ("n1", ("n2", "n3")))
    world.append(1, acks=1)
    world.read(3)
    assert world.found == []  # it was shown too early; nothing is lost yet
    world.cluster.processes.kill(1)
    world.until(lambda: world.leader == 2)
    assert 5 in world.found
    assert world.said(5) == "t/0: a consumer has read up to 4, but n2 leads with LEO 3"


def test_a_record_that_was_read_and_became_another_is_found() -> None:
    """5: at the same offset the leader has something else."""

    class ReadsEverything(Rules):
        def readable_end(self, from_replica: bool, hw: int, leo: int) -> int:
            return leo

    world = with_records(3, rules=ReadsEverything())
    world.fire("cut", ("n1", ("n2", "n3")))
    world.append(1, acks=1)
    world.read(3)
    world.within(2, lambda: world.write_by_hand(2, "another"))
    world.cluster.processes.kill(1)
    world.until(lambda: world.leader == 2)
    assert "a consumer read a batch of leader epoch 0 at offset 3 from n1, where n2, which leads, has one" in world.said(5)


def test_an_acknowledged_record_that_nobody_has_is_found() -> None:
    """6: only when the last copy is gone."""
    world = with_records(3)
    for node in (2, 3):
        world.within(node, lambda node=node: world.replica(node).log.truncate_to(0))  # type: ignore[misc]
        assert 6 not in world.found
    world.within(1, lambda: world.replica(1).log.truncate_to(0))
    assert world.said(6) == "t/0: n1 acknowledged the write at offset 2, and no replica has it any more"


def test_a_copy_on_the_disk_of_a_broker_that_is_down_is_a_copy() -> None:
    """6: the near miss."""
    world = with_records(3)
    world.cluster.processes.kill(3)
    for node in (1, 2):
        world.within(node, lambda node=node: world.replica(node).log.truncate_to(0))  # type: ignore[misc]
    assert world.found == [1, 2, 11, 14]


def test_an_acknowledgement_that_waits_for_nobody_is_found() -> None:
    """12, B28"""

    class AcksAtOnce(Rules):
        def waits_for_hw(self, acks: int, known_copy: bool) -> bool:
            return False

    world = Watched(AcksAtOnce())
    world.append(1)
    assert world.found == [12]
    assert world.said(12).startswith("t/0: n1 acknowledged offsets 0 to 0 with HW 0")


def test_an_acknowledgement_below_min_isr_is_found() -> None:
    """12, B29: the ISR shrank below min ISR after the append, and the HW moved nevertheless."""

    class NeverMinds(Rules):
        def may_advance_hw(self, leader: Any, min_isr: int) -> bool:
            return True

        def refuse_produce(self, acks: int, is_leader: bool, isr_size: int, min_isr: int) -> Any:
            return super().refuse_produce(acks, is_leader, isr_size, 0)

        def judge_waiting(self, required: int, hw: int, maximal_isr_size: int, min_isr: int) -> Any:
            return super().judge_waiting(required, hw, maximal_isr_size, 0)

    world = Watched(NeverMinds())
    for node in (2, 3):
        world.cluster.processes.kill(node)
    world.until(lambda: world.isr == (1,))
    world.append(1)
    assert world.found == [11, 12]
    assert "with maximal ISR [1], which is too small" in world.said(12)
    assert world.said(11) == "t/0: n1 moved the HW from 0 to 1 with ISR (1,), although 2 must be in sync"


def test_an_acknowledgement_of_a_record_that_is_gone_is_found() -> None:
    """12, B30: what lies at its offset is another record."""

    class Rewrites(Rules):
        def judge_waiting(self, required: int, hw: int, maximal_isr_size: int, min_isr: int) -> Any:
            verdict = super().judge_waiting(required, hw, maximal_isr_size, min_isr)
            if verdict is None:
                log = world.replica(1).log
                log.truncate_to(required - 1)
                world.write_by_hand(1, "another")
                log.hw = hw
            return verdict

    world = Watched(Rewrites())
    world.append(1)
    assert "n1 acknowledged offsets 0 to 0, and does not have them" in world.said(12)


def test_an_acknowledgement_that_a_follower_lacks_is_found() -> None:
    """12, B09: the leader counts a follower for more than it has."""
    world = with_records(3)
    world.fire("cut", ("n3", ("n1", "n2")))

    def believe() -> None:
        world.leader_role().state.followers[3].leo = 10

    world.within(1, believe)
    world.append(1)
    assert world.found == [2, 12]
    assert world.said(12) == "t/0: n1 acknowledged offsets 3 to 3, but n3 has LEO 3 and may be elected"


# -- 7, 9, 10: metadata -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"isr": (1, 2, 2)}, "is in ISR (1, 2, 2) and ELR () more than once"),
        ({"isr": (1, 2), "elr": (2,)}, "is in ISR (1, 2) and ELR (2,) more than once"),
        ({"replicas": (1, 2)}, "[3] of ISR (1, 2, 3) and ELR () are not among the replicas (1, 2)"),
        ({"isr": (1, 2), "elr": (3,)}, "ELR (3,), although ISR (1, 2) has the 2 members that it needs"),
        ({"isr": (2, 3)}, "n1 leads and is not in the ISR (2, 3)"),
    ],
)
def test_lists_that_do_not_fit_are_found(changes: dict[str, Any], said: str) -> None:
    """7, B23, B52"""
    world = with_records(1)
    world.commit(**changes)
    assert 7 in world.found
    assert said in world.said(7)


def test_a_fenced_leader_and_a_fenced_member_are_found() -> None:
    """7, B20, B24: fencing one takes it out of every ISR."""
    world = with_records(1)
    world.commit_standing(2, fenced=True)
    assert world.said(7) == "t/0: n2 in ISR (1, 2, 3) is fenced"
    other = with_records(1)
    other.commit_standing(1, fenced=True)
    assert other.said(7) == "t/0: leader n1 is fenced"


def without_n3() -> Watched:
    """It is out of the ISR, and cannot come back by itself."""
    world = with_records(1)
    world.fire("cut", ("n3", ("n1", "n2")))
    world.commit(isr=(1, 2))
    return world


def test_a_broker_that_shuts_down_and_comes_into_the_isr_is_found() -> None:
    """7, B20: being in it already is no wrong yet."""
    world = without_n3()
    world.commit_standing(2, in_controlled_shutdown=True)
    assert world.found == []
    world.commit_standing(3, in_controlled_shutdown=True)
    world.commit(isr=(1, 2, 3))
    assert "n3 is shutting down, and came into office or into the ISR (1, 2, 3) nevertheless" in world.said(7)


def test_an_unclean_election_that_nobody_allowed_is_found() -> None:
    """7, B36: and one that somebody asked for is not."""
    world = without_n3()
    world.commit(leader=3, isr=(3,))
    assert "n3 was elected in leader epoch 1; it was not among ISR (1, 2) and ELR ()" in world.said(7)
    other = without_n3()
    other.invariants.world.asked_for_unclean = lambda topic, partition: True
    other.commit(leader=3, isr=(3,))
    assert other.found == []


@pytest.mark.parametrize(
    ("rules", "elr", "said"),
    [
        (ElrOnlyGrows(), True, "ELR (3,), although ISR (1, 2) has the 2 members that it needs"),
        (AnybodyUncleanly(), False, "n2 was elected in leader epoch 1; it was not among ISR (1,) and ELR ()"),
    ],
)
def test_controllers_that_decide_wrongly_are_found(rules: Rules, elr: bool, said: str) -> None:
    """7, B23, B36: one broker after the other ends, and those that were not the last come back."""
    world = with_records(1, rules=rules, elr=elr)
    for node in (3, 2):
        world.cluster.processes.kill(node)
        world.until(lambda node=node: node not in world.isr)  # type: ignore[misc]
    world.cluster.processes.kill(1)
    for node in (2, 3):
        world.cluster.processes.start(node)
    world.run(5 * S)
    assert said in world.said(7)


@pytest.mark.parametrize(("rules", "found"), [(AllAtOnce(), [7]), (Rules(), [])])
def test_controllers_that_fence_two_brokers_from_one_view_are_found(rules: Rules, found: list[int]) -> None:
    """7, B24: the second dead one succeeds the first; fenced one after the other they do not."""
    world = with_records(1, rules=rules)
    for node in (1, 2):
        world.cluster.processes.kill(node)
    world.until(lambda: world.registration(1).fenced and world.registration(2).fenced)
    assert world.found == found
    assert ("n2 leads and is not in the ISR (1, 3)" in world.said(7)) is bool(found)


def test_metadata_that_was_never_committed_is_found() -> None:
    """9, B47"""
    world = with_records(1)
    offset = world.image.offset
    world.show(2, msgspec.structs.replace(world.state, isr=(1, 2), partition_epoch=1), offset=offset + 5)
    assert 9 in world.found
    assert f"n2 acts on metadata up to offset {offset + 5}, but only {offset} is committed" in world.said(9)
    assert "which was never committed: nothing of that partition epoch" in world.said(9)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"partition_epoch": 0, "isr": (1, 2)}, "after leader epoch 0 and partition epoch 1 came 0 and 0"),
        ({"leader": 2, "leader_epoch": 0}, "leader 1 became 2 within leader epoch 0"),
    ],
)
def test_epochs_that_go_back_or_stand_still_are_found(changes: dict[str, Any], said: str) -> None:
    """10, B48"""
    world = with_records(1)
    world.commit(isr=(1, 2, 3))
    world.commit(**changes)
    assert 10 in world.found
    assert said in world.said(10)


def test_a_broker_epoch_that_goes_back_is_found() -> None:
    """10"""
    world = with_records(1)
    known = world.registration(2).broker_epoch
    world.commit_registration(2, known - 1)
    assert world.said(10) == f"n2 was registered with broker epoch {known}, and now with {known - 1}"


def test_a_replica_that_goes_back_to_an_older_epoch_is_found() -> None:
    """10, B38"""
    world = with_records(1)
    world.commit(isr=(1, 2, 3))
    world.run(500 * MS)
    world.within(2, lambda: setattr(world.replica(2).standing, "partition_epoch", 0))
    assert "n2 went back from leader epoch 0 and partition epoch 1 to 0 and 0" in world.said(10)


def test_two_writers_in_one_leader_epoch_are_found() -> None:
    """10, B39: offset and epoch must name one record."""
    world = with_records(1)
    world.show(2, msgspec.structs.replace(world.state, leader=2, partition_epoch=7))
    world.within(2, lambda: world.write_by_hand(2, "mine"))
    assert "n2 (start 1) appends in leader epoch 0, in which n1 (start 1) has appended before" in world.said(10)


def test_an_isr_change_of_a_state_that_is_gone_is_found() -> None:
    """10, B15: accepted although its partition epoch was old."""
    world = with_records(1)
    answer_by_hand(world, AlterPartitionItem(world.topic_id, 0, 0, 4, ()), 7)
    assert "n1 changed the ISR of partition epoch 4 and was accepted; the change made partition epoch 7" in world.said(10)
    other = with_records(1)
    answer_by_hand(other, AlterPartitionItem(other.topic_id, 0, 0, 6, ()), 7)
    assert other.found == []


# -- how it is asked ----------------------------------------------------------------------------------------------------


def test_while_loss_is_allowed_nothing_that_was_promised_is_asked_for() -> None:
    """1, 2, 5, 6, 14 stand down, and what was promised before does not count afterwards."""
    world = with_records(3)
    allowed = [True]
    world.invariants.world.forbidden = lambda topic, partition: not allowed[0]
    for node in (2, 3):
        world.within(node, lambda node=node: world.replica(node).log.truncate_to(0))  # type: ignore[misc]
    assert world.found == []
    allowed[0] = False
    world.commit(isr=(1, 2, 3))
    assert world.found == []
    world.within(2, lambda: world.replica(2).log.truncate_to(0))
    assert world.found == []


def test_a_violation_is_told_once_and_stops_the_world_if_it_should() -> None:
    """What follows from one wrong is not ten wrongs."""
    world = with_records(3)
    for _ in range(3):
        world.within(2, lambda: setattr(world.replica(2).log, "hw", 9))
        world.within(2, lambda: setattr(world.replica(2).log, "hw", 1))
    assert [violation.number for violation in world.invariants.violations] == [11]
    world.invariants._findings._stops = True
    before = world.now
    world.within(1, lambda: setattr(world.replica(1).log, "epochs", ((0, 0), (1, 9))))
    assert world.cluster.time.run_until(lambda: False, 5_000 * NANOSECONDS) is False
    assert world.now == before
