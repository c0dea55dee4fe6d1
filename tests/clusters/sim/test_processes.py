"""Node processes, life after life: what each ends and starts, and what an end costs."""

from __future__ import annotations

from clusters.sim.env import SimEnv
from clusters.sim.latency import MS
from model.cluster import Exit
from tests.clusters.sim.world import SYNCED, S, World


def test_a_kill_ends_a_process_at_once_and_tells_every_partition_it_had() -> None:
    """An unclean end that lost nothing counts all the same; a second one finds nobody."""
    world = World()
    world.append(3)
    damage = world.cluster.processes.kill(1)
    assert [(one.node, one.topic, one.partition, one.how, one.dropped) for one in damage] == [(1, "t", 0, "restart", 0)]
    assert not world.runs(1)
    assert world.cluster.processes.kill(1) == ()
    assert world.cluster.told().exits == ()  # it was asked for


def test_a_killed_process_loses_nothing_that_it_had_written() -> None:
    """The page cache stays: the same bytes are there for its next life."""
    world = World()
    world.append(5)
    before = world.disk(1).content()
    world.cluster.processes.kill(1)
    assert world.disk(1).content() == before
    world.cluster.processes.start(1)
    world.until_healthy()
    assert world.records_on_disk(1) == 5


def test_a_node_that_runs_is_not_started_again() -> None:
    """Nor does it get another life by being asked twice."""
    world = World()
    env = world.env(2)
    world.cluster.processes.start(2)
    assert (world.env(2), world.starts(2)) == (env, 1)
    world.cluster.processes.kill(2)
    world.cluster.processes.start(2)
    world.cluster.processes.start(2)
    assert world.starts(2) == 2
    assert world.env(2) is not env


def test_a_clean_stop_takes_its_time_and_loses_nothing() -> None:
    """What it had is synced: even a power cut after it takes nothing."""
    world = World()
    world.append(5)
    world.cluster.processes.stop(2)
    assert world.runs(2)
    took = world.until(lambda: not world.runs(2))
    assert 0 < took < 5 * S
    world.disk(2).lose_unsynced()
    assert world.records_on_disk(2) == 5
    assert world.cluster.told().exits == ()


def test_a_stop_of_what_does_not_run_changes_nothing() -> None:
    """It stays down."""
    world = World()
    world.cluster.processes.kill(2)
    world.cluster.processes.stop(2)
    world.run(11 * S)
    assert (world.runs(2), world.cluster.told().exits) == (False, ())


def test_a_broker_that_is_not_let_go_ends_all_the_same() -> None:
    """4.20: uncleanly, and that is allowed."""
    world = World()
    for controller in world.plan.nodes.controller_ids:
        world.cluster.processes.kill(controller)
    world.cluster.processes.stop(1)
    world.run(9 * S)
    assert world.runs(1)
    world.run(2 * S)
    assert not world.runs(1)
    assert [(end.node, end.allowed) for end in world.cluster.told().exits] == [(1, True)]


def test_a_node_on_its_way_down_starts_once_it_is_there() -> None:
    """So that whoever wanted it to run has not asked in vain; it ended cleanly in between."""
    world = World()
    world.cluster.processes.stop(1)
    world.cluster.processes.start(1)
    assert world.starts(1) == 1
    world.until(lambda: world.starts(1) == 2)
    world.until_healthy()
    assert world.cluster.told().registrations[-1]["clean"] is True


def test_a_stop_that_comes_too_late_ends_no_later_life() -> None:
    """The deadline of a life that was killed meanwhile is nobody's."""
    world = World()
    for controller in world.plan.nodes.controller_ids:
        world.cluster.processes.kill(controller)
    world.cluster.processes.stop(1)
    world.run(1 * S)
    world.cluster.processes.kill(1)
    world.cluster.processes.start(1)
    world.run(9500 * MS)  # past the deadline of that stop, and before nobody has registered it in time
    assert (world.runs(1), world.cluster.told().exits) == (True, ())


def test_a_process_goes_on_when_the_last_of_its_pauses_is_released() -> None:
    """Two pauses are two, and releasing one twice is releasing it once."""
    world = World()
    one, other = world.cluster.processes.pause(1), world.cluster.processes.pause(1)
    one.release()
    one.release()
    began = world.now
    world.run(500 * MS)
    assert world.heard(1, 4, since=began + 1 * MS) == []
    assert other.touched() > 0
    other.release()
    world.run(500 * MS)
    assert world.heard(1, 4, since=began + 1 * MS) != []


def test_of_two_shares_of_a_cpu_the_least_counts() -> None:
    """Whatever the order in which they end."""
    world = World()
    little, less = world.cluster.processes.slow(1, 0.01), world.cluster.processes.slow(1, 0.0001)
    little.release()
    slow = world.timed_append()[1]
    less.release()
    world.run(5 * S)
    assert slow > 10 * world.timed_append()[1]


def test_a_new_life_is_neither_paused_nor_slow() -> None:
    """A pause ends with the process that stood still; released later, it takes nobody else's away."""
    world = World()
    paused, _ = world.cluster.processes.pause(2), world.cluster.processes.slow(3, 0.0001)
    for node in (2, 3):
        world.cluster.processes.kill(node)
        world.cluster.processes.start(node)
    world.until_healthy()
    world.cluster.processes.pause(2)
    paused.release()
    began = world.now
    world.run(500 * MS)
    assert world.heard(2, 4, since=began + 1 * MS) == []
    assert world.heard(3, 4, since=began + 1 * MS) != []


def test_a_pause_of_a_process_that_does_not_run_is_none() -> None:
    """It touches nothing, whatever an earlier pause has touched, and the next life runs."""
    world = World()
    earlier = world.cluster.processes.pause(2)
    world.run(500 * MS)
    earlier.release()
    world.cluster.processes.kill(2)
    pause = world.cluster.processes.pause(2)
    world.run(500 * MS)
    world.cluster.processes.start(2)
    world.until_healthy()
    assert (earlier.touched() > 0, pause.touched()) == (True, 0)


def test_what_waits_is_counted_from_the_beginning_of_the_pause() -> None:
    """And not what waited in one before."""
    world = World()
    first = world.cluster.processes.pause(1)
    world.run(1 * S)
    first.release()
    world.run(1 * S)
    assert first.touched() > 0
    assert world.cluster.processes.pause(1).touched() == 0


def test_a_node_that_halts_on_its_way_down_is_started_as_it_was_asked_to_be() -> None:
    """Somebody wants it to run, however it came to its end."""
    world = World()
    for controller in world.plan.nodes.controller_ids:
        world.cluster.processes.kill(controller)
    world.cluster.processes.stop(1)
    world.run(1 * S)
    world.cluster.processes.start(1)
    world.env(1).halt("every log directory has failed")
    world.run(1 * S)
    assert world.runs(1)


def test_an_exception_in_a_node_ends_that_node_and_is_an_exit_nobody_allowed() -> None:
    """The others go on, and the cluster heals once it is started again."""
    world = World(config=SYNCED)

    def stumble() -> None:
        raise ZeroDivisionError("in the middle of nowhere")

    world.env(1).after(100 * MS, stumble)
    world.run(200 * MS)
    at = world.cluster.told().exits[0].at_ns
    assert world.cluster.told().exits == (Exit(at, 1, "ZeroDivisionError: in the middle of nowhere", allowed=False),)
    world.until(lambda: world.leader == 2)
    assert world.append(group=2)[0] in ("SUCCESS", "NOT_SENT", "NOT_LEADER_OR_FOLLOWER")
    world.cluster.processes.start(1)
    world.until_healthy()


def test_a_node_that_halts_was_allowed_to() -> None:
    """10.1, 10.4."""
    world = World()
    world.env(3).halt("every log directory has failed")
    assert [(end.node, end.allowed) for end in world.cluster.told().exits] == [(3, True)]
    assert not world.runs(3)


def test_every_life_draws_from_a_stream_of_its_own() -> None:
    """1.13: a restart of one node moves no draw of another, and no two lives are alike."""

    def draws(*, restarted: bool) -> tuple[int, int]:
        world = World()
        if restarted:
            world.cluster.processes.kill(1)
            world.cluster.processes.start(1)
        return _draw(world.env(1)), _draw(world.env(3))

    (one, other), (again, same) = draws(restarted=False), draws(restarted=True)
    assert one != again
    assert other == same


def _draw(env: SimEnv) -> int:
    return env.random.getrandbits(64)
