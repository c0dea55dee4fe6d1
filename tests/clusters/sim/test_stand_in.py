"""The played controllers: sessions, elections, registrations, and the orderly end."""

from __future__ import annotations

import pytest

from clusters.sim.latency import MS
from tests.clusters.sim.world import S, World

SESSION_NS = 1 * S  # brisk


def fenced(world: World, node: int) -> bool:
    return world.cluster.quorum.metadata.image.brokers[node].fenced


def test_a_leader_cut_off_from_the_controllers_is_fenced_and_another_leads() -> None:
    """4.7: within its session timeout and one look of the controller; healed, it is back in the ISR and follows."""
    world = World()
    world.run(500 * MS)
    fault = world.fire("cut", ("n1", "controllers"))
    took = world.until(lambda: world.leader == 2)
    assert 700 * MS < took <= SESSION_NS + SESSION_NS // 8 + 10 * MS  # from its last heartbeat, up to 200 ms before
    assert (fenced(world, 1), world.isr) == (True, (2, 3))
    fault.heal()
    world.until_healthy()
    assert (world.leader, fenced(world, 1)) == (2, False)


def test_a_broker_that_stands_still_is_fenced_and_one_that_is_in_time_is_not() -> None:
    """The controller goes by what it hears."""
    world = World()
    world.cluster.processes.pause(3)
    world.run(700 * MS)
    world.cluster.processes.resume(3)
    world.run(3 * S)
    assert not any(3 not in change["isr"] for change in world.cluster.told().changes)
    world.cluster.processes.pause(3)
    world.until(lambda: fenced(world, 3), 2 * S)


def test_the_last_in_sync_leaves_its_partition_without_a_leader_until_it_is_back() -> None:
    """8.3: nobody else may be elected, however long it takes; what it holds is all there is."""
    world = World()
    for node in (2, 3):
        world.cluster.processes.kill(node)
    world.until(lambda: world.isr == (1,))
    assert world.append(3, acks=1) == ["SUCCESS"] * 3
    world.cluster.processes.kill(1)
    for node in (2, 3):
        world.cluster.processes.start(node)
    world.until(lambda: world.leader is None)
    world.run(20 * S)
    assert (world.leader, world.isr) == (None, (1,))
    world.cluster.processes.start(1)
    world.until(lambda: world.leader == 1)
    world.until_healthy()
    assert world.partition.seen[2].leo == 3


def test_a_new_incarnation_waits_until_the_session_of_the_old_one_is_over() -> None:
    """4.3: before that its id is taken."""
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
    """The next registration says which it was, and neither lost a record."""
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
    """4.11: there is a leader at every moment of it, and it is fenced only when it leads nothing any more."""
    world = World()
    world.cluster.processes.stop(1)
    stages = []
    while world.runs(1):
        stages.append((world.leader, fenced(world, 1)))
        world.run(1 * MS)
    assert list(dict.fromkeys(stages)) == [(1, False), (2, False), (2, True)]
    assert (world.leader, world.isr) == (2, (2, 3))
    assert world.cluster.told().changes[-1]["election"] in ("clean", "none")


def test_the_first_controller_that_runs_is_active_and_brokers_find_it() -> None:
    """Whoever takes office gives every session its full time: nobody is fenced for the change."""
    world = World()
    assert world.cluster.observe().active_controller == 4
    world.cluster.processes.kill(4)
    assert world.cluster.observe().active_controller == 5
    began = world.now
    world.run(3 * S)
    assert not any(fenced(world, node) for node in (1, 2, 3))
    assert world.heard(1, 5, since=began, kind="BrokerHeartbeat")
    quorum_epoch = world.cluster.observe().quorum_epoch or 0
    world.cluster.processes.start(4)
    state = world.cluster.observe()
    assert (state.active_controller, state.quorum_epoch) == (4, quorum_epoch + 1)


def test_without_a_controller_nothing_is_decided_and_what_was_decided_stays() -> None:
    """The leader goes on; an ISR cannot shrink, so an append waits for a follower that is gone."""
    world = World()
    for controller in world.plan.nodes.controller_ids:
        world.cluster.processes.kill(controller)
    assert world.cluster.observe().active_controller is None
    assert world.append() == ["SUCCESS"]
    world.cluster.processes.kill(3)
    assert world.append() == ["TIMED_OUT"]
    assert world.isr == (1, 2, 3)
    world.cluster.processes.start(4)
    world.until(lambda: world.isr == (1, 2))
    assert world.append(group=2) == ["SUCCESS"]


def test_a_topic_that_allows_it_is_led_by_whoever_is_there() -> None:
    """8.5: the election is unclean, and says so."""
    world = World(config={"min.insync.replicas": 1, "unclean.leader.election.enable": True})
    for node in (2, 3):
        world.cluster.processes.kill(node)
    world.until(lambda: world.isr == (1,))
    world.cluster.processes.kill(1)
    world.cluster.processes.start(2)
    world.until(lambda: world.leader == 2)
    assert [change["election"] for change in world.cluster.told().changes if change["leader"] == 2] == ["unclean"]
    assert world.isr == (2,)
