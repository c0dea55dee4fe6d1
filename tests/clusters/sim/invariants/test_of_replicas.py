"""Each invariant about replicas, leaders and the ISR is alive: it is broken, and says so."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from clusters.sim.invariants.replica import AT_ONCE
from clusters.sim.latency import MS
from replication.messages import AlterPartitionItem, IsrMember
from replication.rules import Rules
from replication.state import PendingChange
from tests.clusters.sim.invariants.watched import Watched, answer_by_hand, with_records
from tests.clusters.sim.world import S
from tests.replication.controller.wrong import EverybodyRestartsCleanly, UncleanRestartsStay


def test_a_healthy_cluster_violates_nothing() -> None:
    """All of them, at every event and at the end."""
    world = with_records(20)
    world.run(5 * S)
    world.invariants.at_the_end()
    assert world.invariants.violations == []
    truth = world.invariants.world.partitions[world.topic_id, 0]
    assert (truth.true_hw, truth.acked_end, len(truth.agreed)) == (20, 20, 20)


# -- 1, 2, 14: whoever leads or can be elected --------------------------------------------------------------------------


def test_a_leader_without_a_committed_record_is_found_and_the_message_needs_no_debugger() -> None:
    """1, and with it 2 and 14: the leader can be elected, too."""
    world = with_records(3)
    world.within(1, lambda: world.replica(1).log.truncate_to(2))
    assert world.found == [1, 2, 11, 14]
    violation = world.first(1)
    assert violation.text == "t/0: n1 leads with LEO 2, but all below 3 was committed by n1"
    assert (violation.where, violation.at_ns, violation.name) == ("t/0", world.now, "leader_completeness")
    assert violation.beliefs[0].startswith("controllers: leader n1 in leader epoch 0, ISR (1, 2, 3)")
    assert violation.beliefs[2] == "n2: follows n1 in leader epoch 0, partition epoch 0, log 0 to 3, HW 3"
    assert any("LeaderChanged" in line for _, line in violation.story)


def test_a_member_of_the_isr_that_lacks_a_committed_record_is_found() -> None:
    """2, 14: it may be elected at any moment."""
    world = with_records(3)
    world.within(2, lambda: world.replica(2).log.truncate_to(1))
    assert world.found == [2, 14]
    assert world.said(2) == "t/0: n2 can be elected with LEO 1; all below 3 was committed by n1"
    assert world.said(14) == "t/0: n2 can be elected and cut its log from 3 to 1, but all below 3 was committed by n1"


def test_a_replica_outside_of_isr_and_elr_may_lack_what_it_likes() -> None:
    """2, 14: the near miss."""
    world = with_records(3)
    world.commit(isr=(1, 2))
    world.within(3, lambda: world.replica(3).log.truncate_to(1))
    assert world.found == []


def test_a_new_leader_with_another_record_at_a_committed_offset_is_found() -> None:
    """1: its length is right, its content is not."""
    world = with_records(3)

    world.within(2, lambda: world.replica(2).log.truncate_to(2))
    world.within(2, lambda: world.write_by_hand(2, "another"))
    assert 1 not in world.found
    world.commit(leader=2)
    assert "n2 was elected and holds a batch of leader epoch 0 at offset 2, where n1 had committed one" in world.said(1)


def with_n3_in_the_elr(rules: Rules, end: Literal["kill", "stop"]) -> Watched:
    """n2 is down, and n3 has come to that end after it."""
    world = with_records(3, rules=rules, elr=True)
    world.cluster.processes.kill(2)
    world.until(lambda: world.isr == (1, 3))
    getattr(world.cluster.processes, end)(3)
    world.until(lambda: not world.runs(3) and world.isr == (1,))
    assert (world.state.elr, world.found) == ((3,), [])
    return world


def start_n3(world: Watched) -> None:
    before = world.registration(3).broker_epoch
    world.cluster.processes.start(3)
    world.until(lambda: world.registration(3).broker_epoch > before)


@pytest.mark.parametrize("rules", [UncleanRestartsStay(), EverybodyRestartsCleanly()])
def test_a_broker_that_comes_back_from_an_unclean_end_and_keeps_its_place_is_found(rules: Rules) -> None:
    """2 (UncleanExclusion), B19, B21: with ELR on."""
    world = with_n3_in_the_elr(rules, "kill")
    start_n3(world)
    assert world.state.elr == (3,)
    assert world.said(2) == "t/0: n3 registered again after an unclean end and is still in the ELR"


def test_a_registration_that_was_sent_before_the_end_brings_nobody_back() -> None:
    """2 (UncleanExclusion), the near miss: it is that of the process that has ended, and the next one is judged."""
    world = with_records(3, elr=True)
    incarnation_id = world.registration(3).incarnation_id
    world.cluster.processes.kill(3)
    world.commit_registration(3, world.image.offset + 1, incarnation_id)
    assert world.said(2) == ""
    world.commit_registration(3, world.image.offset + 1)
    assert world.said(2) == "t/0: n3 registered again after an unclean end and is still in the ISR"


def test_a_broker_that_comes_back_from_an_unclean_end_into_the_isr_is_found() -> None:
    """2 (UncleanExclusion): its session is not over yet, and nothing is taken from it."""
    world = with_records(3, elr=True)
    world.cluster.processes.kill(3)
    world.commit_registration(3, world.image.offset + 1)
    assert world.said(2) == "t/0: n3 registered again after an unclean end and is still in the ISR"


def test_a_clean_stop_excludes_nobody() -> None:
    """2: the near miss, with the same broken controllers."""
    world = with_n3_in_the_elr(UncleanRestartsStay(), "stop")
    start_n3(world)
    assert world.state.elr == (3,)
    world.run(3 * S)
    assert world.found == []


def test_a_broker_that_lost_its_place_with_an_unclean_end_is_no_violation() -> None:
    """2: the other near miss, with controllers that do what they should."""
    world = with_n3_in_the_elr(Rules(), "kill")
    start_n3(world)
    assert world.state.elr == ()
    world.run(3 * S)
    assert world.found == []


# -- 3, 13, 26: the ISR -------------------------------------------------------------------------------------------------


def test_a_leader_that_does_not_wait_for_whoever_can_be_elected_is_found() -> None:
    """3: the controllers have three members, the leader waits for two."""
    world = with_records(3)
    leader = world.leader_role()

    def forget() -> None:
        leader.state.isr, leader.state.maximal_isr = (1, 2), frozenset({1, 2})

    world.within(1, forget)
    assert world.found == [3]
    assert world.said(3) == "t/0: n1 leads and waits for n1 n2 only, but n3 can be elected as well"


def test_a_leader_that_shrinks_before_the_controllers_agree_is_found() -> None:
    """3, B13: the shrink is proposed, never answered, and already counts."""

    class Optimistic(Rules):
        def maximal_isr(self, isr: Any, pending: PendingChange | None) -> frozenset[int]:
            return frozenset(isr if pending is None else pending.new_isr)

    world = with_records(3, rules=Optimistic())
    world.fire("gate", ("n1", "controllers"), message="AlterPartition", action="hold")
    world.fire("cut", ("n3", ("n1", "n2")))
    world.append(1, acks=1)
    world.run(3 * S)
    assert 3 in world.found
    assert "n3 can be elected as well" in world.said(3)


def test_a_maximal_isr_without_a_pending_change_is_the_isr() -> None:
    """3: the other half."""
    world = with_records(3)
    leader = world.leader_role()
    world.within(1, lambda: setattr(leader.state, "maximal_isr", frozenset({1, 2})))
    assert "has no change pending, ISR (1, 2, 3) and maximal ISR n1 n2" in world.said(3)


def test_a_joiner_that_lacks_what_was_promised_is_found() -> None:
    """13, and 2 with it; n1 hears of neither change, and goes on waiting for all three."""
    world = with_records(3)
    world.fire("cut", ("n1", "controllers"))
    world.commit(isr=(1, 2))
    world.fire("cut", ("n3", ("n1", "n2")))
    world.within(3, lambda: world.replica(3).log.truncate_to(1))
    world.commit(isr=(1, 2, 3))
    assert world.found == [2, 13]
    assert world.said(13) == "t/0: n3 joined the ISR with LEO 1; its leader n1 has HW 3 and began its epoch at 0"


def test_a_joiner_that_is_not_the_process_that_fetched_is_found() -> None:
    """13, B18: the request speaks of a broker epoch that is gone."""
    world = with_records(3)
    item = AlterPartitionItem(world.topic_id, 0, 0, 0, (IsrMember(3, 1),))
    answer_by_hand(world, item, 1)
    registered = world.registration(3).broker_epoch
    assert world.said(13) == f"t/0: n3 joined the ISR as the process with broker epoch 1, but {registered} is registered"


def test_a_high_watermark_that_could_move_and_does_not_is_found_at_the_lag_tick() -> None:
    """26, B26: it waits for a replica that may not join."""

    class WaitsForAll(Rules):
        def counts_for_hw(self, *_: Any) -> bool:
            return True

    world = with_records(3, rules=WaitsForAll())
    world.cluster.processes.kill(3)
    world.until(lambda: world.isr == (1, 2))
    world.append(1, acks=1)
    world.run(2 * S)
    assert world.found == [26]
    assert world.said(26).startswith("t/0: nothing keeps n1 from moving its HW from 3 to 4, and it stays (n2 at 4, n3 at 3)")


# -- 4, 15: logs --------------------------------------------------------------------------------------------------------


def test_two_records_at_one_offset_below_the_hw_are_found() -> None:
    """4: whichever came second is told."""
    world = with_records(3)
    world.fire("cut", ("n2", ("n1", "n3")))

    def write(node: int, value: str) -> None:
        log = world.replica(node).log
        for _ in range(AT_ONCE):
            world.write_by_hand(node, value)
        log.hw = log.leo

    world.within(1, lambda: write(1, "one"))
    world.within(2, lambda: write(2, "other"))
    assert "n2 has HW 19 and offsets 3 to 3 of leader epoch 0" in world.said(4)
    assert "where n1 had offsets 3 to 3 of leader epoch 0" in world.said(4)


@pytest.mark.parametrize(
    ("epochs", "said"),
    [
        (((0, 0), (1, 5)), "believes that leader epoch 1 starts at 5, but its log ends at 3"),
        (((2, 0), (1, 2)), "has an epoch cache that does not increase"),
        (((0, 0), (1, 2)), "believes that leader epoch 1 starts at 2; its batch there is of epoch 0"),
    ],
)
def test_an_epoch_cache_that_does_not_fit_the_log_is_found(epochs: Any, said: str) -> None:
    """15"""
    world = with_records(3)
    world.within(2, lambda: setattr(world.replica(2).log, "epochs", epochs))
    assert world.found == [15]
    assert said in world.said(15)


def test_an_epoch_cache_that_outlives_its_records_is_found() -> None:
    """15, B10a: a cut leaves the entry of what it cut."""

    class Keeps(Rules):
        def epochs_below(self, epochs: Any, cut: int, leo: int) -> Any:
            return epochs

    world = with_records(3, rules=Keeps())
    world.commit(leader=2)
    world.until_healthy()
    world.append(2)
    world.run(300 * MS)
    world.commit(isr=(2, 3))
    world.within(1, lambda: world.replica(1).log.truncate_to(3))
    assert "n1 believes that leader epoch 1 starts at 3, but its log ends at 3" in world.said(15)


# -- 11, 16, 17: high watermarks, fetchers, the end ---------------------------------------------------------------------


def test_a_leaders_high_watermark_that_moves_back_is_found() -> None:
    """11, B37; a follower's may."""
    world = with_records(3)
    world.within(2, lambda: setattr(world.replica(2).log, "hw", 1))
    assert world.found == []
    world.within(1, lambda: setattr(world.replica(1).log, "hw", 1))
    assert world.said(11) == "t/0: n1 leads in leader epoch 0 and moved its HW back from 3 to 1"


def test_a_high_watermark_beyond_the_log_is_found() -> None:
    """11"""
    world = with_records(3)
    world.within(2, lambda: setattr(world.replica(2).log, "hw", 9))
    assert "n2 has HW 9 in a log from 0 to 3" in world.said(11)


def test_a_follower_that_fetches_from_nobody_is_found() -> None:
    """16: after it was told of another leader."""
    world = with_records(1)
    fetchers: Any = world.broker(3).fetchers
    fetchers.place = lambda partition: fetchers.remove(partition.key)
    world.commit(leader=2)
    world.run(500 * MS)
    assert world.said(16) == "t/0: n3 should fetch from n2, and fetches from nobody"


def test_a_second_change_of_the_isr_is_found() -> None:
    """16: a change that speaks of an older state."""
    world = with_records(1)
    world.commit(isr=(1, 2, 3))
    world.run(500 * MS)
    state = world.leader_role().state

    def propose() -> None:
        state.pending, state.maximal_isr = PendingChange("shrink", (1, 2), 0, 0), frozenset({1, 2, 3})

    world.within(1, propose)
    assert "n1 has a change pending from leader epoch 0 and partition epoch 0, and is by now in 0 and 1" in world.said(16)


def test_a_cluster_that_has_not_come_to_rest_is_found_at_the_end() -> None:
    """4, 6, 17: everything is read once more."""
    world = with_records(3)
    world.cluster.processes.pause(1)
    world.replica(2).log.truncate_to(1)
    world.replica(3).log.truncate_to(2)
    world.write_by_hand(3, "another")
    world.invariants.at_the_end()
    assert world.found == [4, 17]
    assert "n2 (LEO 1) does not hold what n1 (LEO 3) holds" in world.said(17)
    assert world.said(4) == "t/0: n1 and n3 both have offset 2 of leader epoch 0, and differ at offset 2"
    world.replica(1).log.truncate_to(2)
    world.invariants.at_the_end()
    assert "1 acknowledged writes are not in the log of n1, which leads; the first is that at offset 2" in world.said(6)
