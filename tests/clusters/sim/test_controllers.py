"""Controllers and brokers together: sessions, elections, registrations and orderly ends, over a network that takes its time."""

from __future__ import annotations

import pytest

from clusters.sim.latency import MS
from tests.clusters.sim.world import S, World

SESSION_NS = 1 * S  # brisk
TAKEOVER_NS = 3 * S  # a fetch timeout, two elections, and time to spare


def fenced(world: World, node: int) -> bool:
    return world.cluster.tail.image.brokers[node].fenced


def test_a_leader_cut_off_from_the_controllers_is_fenced_and_another_leads() -> None:
    """4.7, 4.8: within its session timeout and one look of the controller; healed, it is back in the ISR and follows."""
    world = World()
    world.run(500 * MS)
    fault = world.fire("cut", ("n1", "controllers"))
    took = world.until(lambda: world.leader == 2)
    assert 700 * MS < took <= SESSION_NS + SESSION_NS // 8 + 20 * MS  # from its last heartbeat, up to 200 ms before
    assert (fenced(world, 1), world.isr) == (True, (2, 3))
    fault.heal()
    world.until_healthy()
    assert (world.leader, fenced(world, 1)) == (2, False)


def test_a_broker_that_stands_still_is_fenced_and_one_that_is_in_time_is_not() -> None:
    """4.7: the controller goes by what it hears."""
    world = World()
    pause = world.cluster.processes.pause(3)
    world.run(700 * MS)
    pause.release()
    world.run(3 * S)
    assert not any(3 not in change["isr"] for change in world.cluster.told().changes)
    world.cluster.processes.pause(3)
    world.until(lambda: fenced(world, 3), 2 * S)


@pytest.mark.parametrize(("elr", "isr"), [(False, (1,)), (True, ())])
def test_the_last_in_sync_leaves_its_partition_without_a_leader_until_it_is_back(elr: bool, isr: tuple[int, ...]) -> None:
    """8.4, 8.5, 8.8: nobody who may lack something is elected, however long it takes; what it holds is all there is."""
    world = World(elr=elr)
    for node in (2, 3):
        world.cluster.processes.kill(node)
    world.until(lambda: world.isr == (1,))
    assert world.append(3, acks=1) == ["SUCCESS"] * 3
    world.cluster.processes.kill(1)
    for node in (2, 3):
        world.cluster.processes.start(node)
    world.until(lambda: world.leader is None)
    world.run(20 * S)
    assert (world.leader, world.isr) == (None, isr)
    world.cluster.processes.start(1)
    world.until(lambda: world.leader == 1)
    world.until_healthy()
    assert world.partition.seen[2].leo == 3


def test_an_eligible_leader_replica_that_never_stopped_leads_when_the_isr_is_gone() -> None:
    """8.3, 8.6 (16.15): it holds everything that was ever committed, because nothing is committed below the min ISR."""
    world = World()
    world.append(4)
    cut = world.fire("cut", ("n2", ("controllers", "n1", "n3")))
    world.until(lambda: world.isr == (1, 3))
    world.cluster.processes.kill(3)
    world.until(lambda: world.isr == (1,))
    assert world.partition.elr == (3,)
    world.cluster.processes.kill(1)
    world.until(lambda: world.isr == ())
    assert sorted(world.partition.elr) == [1, 3]
    cut.heal()
    world.run(5 * S)
    assert world.leader is None  # n2 was taken out while two others were in sync
    world.cluster.processes.stop(3)
    world.cluster.processes.start(1)
    world.cluster.processes.start(3)
    world.until(lambda: world.leader is not None)
    world.until_healthy()
    assert world.partition.seen[2].leo == 4


def test_a_new_incarnation_waits_until_the_session_of_the_old_one_is_over() -> None:
    """4.2: before that its id is taken."""
    world = World()
    world.run(500 * MS)
    heard = world.heard(3, 4, since=0, kind="BrokerHeartbeat")[-1]
    world.cluster.processes.kill(3)
    world.cluster.processes.start(3)
    before = len(world.cluster.told().registrations)
    world.until(lambda: len(world.cluster.told().registrations) > before)
    assert world.now - heard >= SESSION_NS
    assert world.now - heard < SESSION_NS + 500 * MS
    row = world.cluster.told().registrations[-1]
    assert (row["node"], row["clean"]) == (3, False)


@pytest.mark.parametrize(("end", "clean"), [("stop", True), ("kill", False)])
def test_a_clean_stop_leaves_a_mark_and_a_kill_does_not(end: str, clean: bool) -> None:
    """4.4, 4.5: the next registration says which it was, and neither lost a record."""
    world = World()
    world.append(4)
    getattr(world.cluster.processes, end)(2)
    world.until(lambda: not world.runs(2))
    world.cluster.processes.start(2)
    world.until(lambda: len(world.cluster.told().registrations) == 4)
    assert world.cluster.told().registrations[-1]["clean"] is clean
    world.until_healthy()
    assert world.records_on_disk(2) == 4


def test_a_leader_that_stops_hands_over_before_it_ends() -> None:
    """4.11, 4.12, 4.19: there is a leader at every moment of it, and it is fenced only when it leads nothing any more."""
    world = World()
    world.cluster.processes.stop(1)
    stages = []
    while world.runs(1):
        stages.append((world.leader, fenced(world, 1)))
        world.run(1 * MS)
    assert list(dict.fromkeys(stages)) == [(1, False), (2, False), (2, True)]
    assert (world.leader, world.isr) == (2, (2, 3))


def test_another_controller_takes_over_and_nobody_is_fenced_for_it() -> None:
    """2.6, 4.7: whoever takes office gives every session its full time, and brokers find it by themselves (3.19)."""
    world = World()
    quorum_epoch = world.cluster.observe().quorum_epoch or 0
    world.cluster.processes.kill(4)
    took = world.until(lambda: world.cluster.observe().active_controller not in (None, 4))
    assert took <= TAKEOVER_NS
    active = world.cluster.observe().active_controller
    assert active is not None
    began = world.now
    world.run(3 * S)
    assert not any(fenced(world, node) for node in (1, 2, 3))
    assert world.heard(1, active, since=began, kind="BrokerHeartbeat")
    assert (world.cluster.observe().quorum_epoch or 0) > quorum_epoch
    world.cluster.processes.start(4)
    world.run(3 * S)
    assert world.cluster.observe().active_controller == active  # 2.14: who comes back disturbs nobody


def test_an_active_controller_that_nobody_follows_steps_down() -> None:
    """2.19: it could decide, but nothing of it would ever count (B51)."""
    world = World()
    world.fire("cut", ("n4", ("n5", "n6")))
    took = world.until(lambda: world.cluster.observe().active_controller in (5, 6))
    assert took <= TAKEOVER_NS
    world.until(lambda: not world.cluster.processes.nodes[4].program.controller.active, 3 * S)
    assert world.append() == ["SUCCESS"]


def test_without_a_majority_of_controllers_nothing_is_decided_and_what_was_decided_stays() -> None:
    """The leader goes on; an ISR cannot shrink, so an append waits for a follower that is gone."""
    world = World()
    for controller in (4, 5):
        world.cluster.processes.kill(controller)
    world.run(5 * S)
    assert world.append() == ["SUCCESS"]
    world.cluster.processes.kill(3)
    assert world.append() == ["TIMED_OUT"]
    assert world.isr == (1, 2, 3)
    world.cluster.processes.start(4)
    world.until(lambda: world.isr == (1, 2))
    assert world.append(group=2) == ["SUCCESS"]


def test_a_topic_that_allows_it_is_led_by_whoever_is_there() -> None:
    """8.9: the election is unclean, and says so."""
    world = World(config={"min.insync.replicas": 1, "unclean.leader.election.enable": True})
    for node in (2, 3):
        world.cluster.processes.kill(node)
    world.until(lambda: world.isr == (1,))
    world.cluster.processes.kill(1)
    world.cluster.processes.start(2)
    world.until(lambda: world.leader == 2)
    assert [change["election"] for change in world.cluster.told().changes if change["leader"] == 2] == ["unclean"]
    assert world.isr == (2,)


def test_a_voter_whose_disk_was_wiped_is_a_voter_no_more() -> None:
    """2.37, 2.42: it is another one by its directory id, follows, and never votes; the two that are left go on (B49)."""
    world = World()
    fault = world.fire("wipe", "n5")
    world.run(1 * S)
    fault.heal()
    world.run(3 * S)
    wiped = world.cluster.processes.nodes[5].program.quorum
    assert not wiped.is_voter
    assert wiped.hw > 0
    world.cluster.processes.kill(4)
    world.run(5 * S)
    assert world.cluster.observe().active_controller is None  # one of two voters is no majority of three
    world.cluster.processes.start(4)
    world.until(lambda: world.cluster.observe().active_controller is not None)
    assert world.append() == ["SUCCESS"]


def test_a_broker_that_nobody_registers_in_time_ends() -> None:
    """4.16"""
    world = World()
    for controller in world.plan.nodes.controller_ids:
        world.cluster.processes.kill(controller)
    world.cluster.processes.kill(2)
    world.cluster.processes.start(2)
    world.until(lambda: not world.runs(2), 11 * S)
    assert [(end.node, end.reason, end.allowed) for end in world.cluster.told().exits] == [
        (2, "nobody registered it in time", True)
    ]


def test_reassigned_replicas_move_under_load() -> None:
    """9.1, 9.2, 9.3: the new one catches up before the old one is let go, and nothing acknowledged is missing."""
    world = World(brokers=4)
    world.append(20)
    world.fire("reassign", "t/0", to=("n4", "n2", "n3"))
    acknowledged = 20 + world.append(20).count("SUCCESS")
    assert acknowledged > 30  # its leader leaves, so an append or two may find nobody
    world.until(lambda: sorted(world.partition.replicas) == [2, 3, 4])
    world.until(lambda: sorted(world.partition.isr) == [2, 3, 4])
    world.until(lambda: world.records_on_disk(4) >= acknowledged)
    world.until(lambda: world.records_on_disk(1) == 0)
