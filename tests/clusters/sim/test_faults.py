"""Every fault the simulator can do: its effect measured inside the world, healed, measured again; and one without teeth.

A scenario tells one fault through the nemesis. `bites`: something measurable changes and is well again after the heal, and the
event's row says so. `toothless`: the same fault where it can change nothing, and its row says that.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import pytest

from clusters.sim.cluster import CAN
from clusters.sim.latency import MS
from model.schedule import Target
from model.vocabulary import FAULTS
from replication.batch import crc_is_right, headers
from tests.clusters.sim.world import IN_SYNC, LOG, SOON_NS, SYNCED, S, World, both_ways

Scenario = Callable[[], None]
BITES: dict[str, Scenario] = {}
TOOTHLESS: dict[str, Scenario] = {}

POSSIBLE = [name for name, fault in FAULTS.items() if fault.needs <= CAN]
UNUSED = ("n2", "n3")  # two followers: neither dials the other
MORE = {**IN_SYNC, "message.timestamp.type": "LogAppendTime"}


def bites(scenario: Scenario) -> Scenario:
    BITES[scenario.__name__] = scenario
    return scenario


def toothless(scenario: Scenario) -> Scenario:
    TOOTHLESS[scenario.__name__.removeprefix("toothless_")] = scenario
    return scenario


@pytest.mark.parametrize("name", POSSIBLE)
def test_each_fault_changes_what_it_says_and_heals(name: str) -> None:
    """Measured by what nodes, clients and disks see, not by what the fault thinks of itself."""
    BITES[name]()


@pytest.mark.parametrize("name", POSSIBLE)
def test_a_toothless_instance_of_each_fault_is_reported_as_such(name: str) -> None:
    """It fires, changes nothing, and its row says that it had no effect."""
    TOOTHLESS[name]()


def test_no_fault_is_without_both_scenarios() -> None:
    """And no scenario without its fault."""
    assert set(BITES) == set(TOOTHLESS) == set(POSSIBLE)
    assert set(FAULTS) == set(POSSIBLE)


# -- links --------------------------------------------------------------------------------------------------------------


@bites
def cut() -> None:
    """A follower that cannot reach its leader falls out of the ISR, and comes back."""
    world = World()
    fault = world.fire("cut", ("n1", "n2"))
    world.run(1 * MS)  # what was on its way
    began = world.now
    world.until(lambda: world.isr == (1, 3))
    world.run(1 * S)
    assert world.heard(2, 1, since=began) == world.heard(2, 1, since=began, way="answer") == []
    assert len(world.heard(3, 1, since=began)) > 10
    fault.heal()
    healed = world.now
    world.until_healthy()
    assert world.heard(2, 1, since=healed)
    assert (fault.effect, fault.row["damage"]) == (True, [])


@bites
def hold() -> None:
    """What was sent while it lasted arrives at the moment it ends."""
    world = World()
    fault = world.fire("hold", ("n1", "n2"))
    world.run(1 * MS)
    began = world.now
    world.until(lambda: world.isr == (1, 3))
    assert world.heard(2, 1, since=began) == world.heard(2, 1, since=began, way="answer") == []
    fault.heal()
    assert {*world.heard(2, 1, since=began), *world.heard(2, 1, since=began, way="answer")} == {world.now}
    world.until_healthy()
    assert fault.effect is True


@bites
def refuse() -> None:
    """A client is told at once that nothing was sent, and another group notices nothing."""
    world = World()
    world.append()
    fault = world.fire("refuse", ("c1", "n1"))
    fact, took = world.timed_append()
    assert (fact, took < SOON_NS) == ("NOT_SENT", True)
    assert world.append(group=2) == ["SUCCESS"]
    fault.heal()
    assert world.append() == ["SUCCESS"]
    assert fault.effect is True


@bites
def silent() -> None:
    """Not even the end of the leader's process is heard of: its follower waits on a dead connection."""
    world = World()
    link = world.cluster.network.link(2, 1)
    fault = world.fire("silent", ("n2", "n1"))
    world.cluster.processes.kill(1)
    world.run(500 * MS)
    waiting = list(link.connections)
    assert waiting
    assert not world.cluster.network.link(3, 1).connections  # whoever is not behind it has noticed
    fault.heal()
    assert not any(connection in link.connections for connection in waiting)
    world.cluster.processes.start(1)
    world.until_healthy()
    assert fault.effect is True


@bites
def delay() -> None:
    """An append that must reach the followers takes at least one such way longer."""
    world = World()
    world.append()
    before = world.timed_append()[1]
    fault = world.fire("delay", ("n1", "followers"), latency="200ms", jitter="50ms")
    world.append()
    during = world.timed_append()[1]
    fault.heal()
    world.append()
    after = world.timed_append()[1]
    assert max(before, after) < 20 * MS < 200 * MS <= during
    assert fault.effect is True


@bites
def throttle() -> None:
    """So many bytes take so many seconds."""
    world = World()
    world.append()
    before = world.timed_append()[1]
    fault = world.fire("throttle", ("c1", "n1"), rate="512B/s")
    during = world.timed_append()[1]  # some 200 bytes there, some 120 back
    fault.heal()
    after = world.timed_append()[1]
    assert max(before, after) < 20 * MS < 500 * MS <= during
    assert fault.effect is True


@bites
def slice() -> None:  # noqa: A001  by its name in the vocabulary
    """So many pieces have so many gaps between them."""
    world = World()
    world.append()
    before = world.timed_append()[1]
    fault = world.fire("slice", ("c1", "n1"), size="10B", gap="20ms", streams="requests")
    during = world.timed_append()[1]
    fault.heal()
    after = world.timed_append()[1]
    assert max(before, after) < 20 * MS < 300 * MS <= during < 500 * MS
    assert fault.effect is True


@bites
def reset() -> None:
    """The connections are other ones than before; it is over at once, and nobody falls out of the ISR for it."""
    world = World()
    world.run(200 * MS)
    link = world.cluster.network.link(2, 1)
    old = set(link.connections)
    fault = world.fire("reset", ("n2", "n1"))
    assert old
    assert not old & set(link.connections)
    assert (fault.effect, fault.row["healed_ns"]) == (True, world.now)
    began = world.now
    world.run(3 * S)
    assert world.heard(2, 1, since=began, way="answer")
    assert [change["isr"] for change in world.cluster.told().changes] == [[1, 2, 3]]


@bites
def gate() -> None:
    """One kind of message is held, the others pass; healed, it arrives."""
    world = World()
    fault = world.fire("gate", ("n2", ("n1", "n4")), message="Fetch", action="hold", streams="requests", one_way=True)
    world.run(1 * MS)
    began = world.now
    world.run(700 * MS)
    assert world.heard(2, 1, since=began) == []
    assert len(world.heard(2, 4, since=began, kind="BrokerHeartbeat")) >= 3
    fault.heal()
    assert world.heard(2, 1, since=began, kind="Fetch") == [world.now]
    assert fault.effect is True


def on_an_unused_link(fault: str, **args: object) -> None:
    """Two followers have nothing to say to each other."""
    world = World()
    fired = world.fire(fault, UNUSED, **args)
    world.run(3 * S)
    assert fired.heal().effect is False
    assert world.isr == (1, 2, 3)


@toothless
def toothless_cut() -> None:
    on_an_unused_link("cut")


@toothless
def toothless_hold() -> None:
    on_an_unused_link("hold")


@toothless
def toothless_refuse() -> None:
    on_an_unused_link("refuse")


@toothless
def toothless_silent() -> None:
    on_an_unused_link("silent")


@toothless
def toothless_delay() -> None:
    on_an_unused_link("delay", latency="1s")


@toothless
def toothless_throttle() -> None:
    on_an_unused_link("throttle", rate="1B/s")


@toothless
def toothless_slice() -> None:
    """Every message fits into one piece."""
    world = World()
    fault = world.fire("slice", ("n1", "n2"), size="1MiB", gap="1s")
    world.run(3 * S)
    assert world.isr == (1, 2, 3)
    assert fault.heal().effect is False


@toothless
def toothless_reset() -> None:
    on_an_unused_link("reset")


@toothless
def toothless_gate() -> None:
    """Nobody votes here."""
    world = World()
    fault = world.fire("gate", "n1", message="Vote", action="drop")
    world.run(3 * S)
    assert world.isr == (1, 2, 3)
    assert fault.heal().effect is False


# -- shapes of cuts: who can still talk to whom ----------------------------------------------------------------------------

Pairs = set[tuple[int, int]]


def cut_off(target: Target | None, **args: object) -> tuple[World, Pairs]:
    """The pairs that a cut separates, dialler first; healed, everybody can talk again."""
    world = World()
    fault = world.fire("cut", target, **args)
    lost = world.everybody() - world.talking()
    fault.heal()
    assert world.talking() == world.everybody()
    assert fault.effect is True
    return world, lost


def test_a_cut_between_two_sides_separates_them_both_ways() -> None:
    """Each of one side from each of the other, and nobody else."""
    _, lost = cut_off((("n1", "n2"), ("n4", "c1")))
    assert lost == both_ways([(1, 4), (2, 4), (-1, 1), (-1, 2)])


def test_an_isolated_node_reaches_nobody_and_is_reached_by_nobody() -> None:
    """Clients are somebody, too."""
    _, lost = cut_off("n2", shape="isolate")
    assert lost == both_ways([(2, other) for other in (1, 3, 4, 5, 6)] + [(-1, 2), (-2, 2)])


def test_isolated_nodes_still_have_each_other() -> None:
    """Two that are cut off together are a side."""
    _, lost = cut_off((("n2", "n3"),), shape="isolate")
    assert not lost & {(2, 3), (3, 2)}
    assert {(2, 1), (1, 2), (3, 1), (1, 3)} <= lost


def groups_of(lost: Pairs) -> list[frozenset[int]]:
    """For every node whom it can still talk to, itself included; both ways alike."""
    assert all((b, a) in lost for a, b in lost)
    return [frozenset(b for b in range(1, 7) if (a, b) not in lost) for a in range(1, 7)]


def test_halves_are_two_groups_that_do_not_hear_of_each_other() -> None:
    """Clients reach both."""
    _, lost = cut_off(None, shape="halves")
    assert sorted(len(group) for group in set(groups_of(lost))) == [3, 3]


def test_in_a_ring_everybody_sees_a_majority_and_no_two_see_the_same() -> None:
    """So nobody agrees on who is there."""
    _, lost = cut_off(None, shape="ring")
    groups = groups_of(lost)
    assert all(4 <= len(group) < 6 for group in groups)
    assert all(one != other for one, other in combinations(groups, 2))


def test_a_bridge_sees_both_sides_which_do_not_see_each_other() -> None:
    """Of six nodes one is the bridge, the others are two and three."""
    _, lost = cut_off(None, shape="bridge")
    assert sorted(len(group) for group in groups_of(lost)) == [3, 3, 4, 4, 4, 6]


def test_one_way_cuts_only_what_the_first_side_dials() -> None:
    """n1 hears n2 and answers it, but its own questions to n2 get nowhere."""
    _, lost = cut_off(("n1", "n2"), one_way=True)
    assert lost == {(1, 2)}


@pytest.mark.parametrize(("streams", "arrives"), [("requests", False), ("answers", True)])
def test_a_cut_of_one_stream_lets_the_other_pass(streams: str, arrives: bool) -> None:
    """A request is heard and nobody is told, or it is not heard at all."""
    world = World()
    began = world.now
    fault = world.fire("cut", ("n2", "n1"), streams=streams)
    assert world.everybody() - world.talking() == {(1, 2), (2, 1)}
    assert bool(world.heard(2, 1, since=began, kind="Metadata")) is arrives
    assert world.heard(2, 1, since=began, way="answer", kind="MetadataResponse") == []
    assert fault.heal().effect is True


# -- processes ----------------------------------------------------------------------------------------------------------


@bites
def kill() -> None:
    """The leader is gone, another leads, and nothing was lost: it is back as soon as it is started."""
    world = World()
    assert world.append(3) == ["SUCCESS"] * 3
    fault = world.fire("kill", "leader")
    assert not world.runs(1)
    world.until(lambda: world.leader == 2)
    assert (world.records_on_disk(1), fault.row["resolved"]) == (3, [1])
    fault.heal()
    assert world.runs(1)
    world.until_healthy()
    assert (fault.effect, fault.dropped) == (True, {1: 0})
    assert [damage["how"] for damage in fault.row["damage"]] == ["restart"]


@bites
def lossy_kill() -> None:
    """What was never synced is gone from the disk, counted there; the others still have it, and give it back."""
    world = World()
    assert world.append(5) == ["SUCCESS"] * 5
    before = world.records_on_disk(2)
    fault = world.fire("lossy_kill", "n2")
    lost = before - world.records_on_disk(2)
    assert lost == 5
    fault.heal()
    assert (fault.effect, fault.dropped, fault.row["damage"][0]["dropped_from"]) == (True, {2: 5}, 0)
    world.until_healthy()
    assert world.records_on_disk(2) == 5


@bites
def stop() -> None:
    """It hands its leadership over and ends; started again, it knows that it had ended well."""
    world = World()
    world.append(3)
    fault = world.fire("stop", "n1")
    world.until(lambda: not world.runs(1))
    assert (world.leader, world.isr, world.records_on_disk(1)) == (2, (2, 3), 3)
    world.run(50 * MS)
    fault.heal()
    world.until_healthy()
    last = world.cluster.told().registrations[-1]
    assert (fault.effect, fault.row["damage"], last["node"], last["clean"]) == (True, [], 1, True)


@bites
def pause() -> None:
    """Nothing comes from it while it stands still, yet its process is there and goes on where it was."""
    world = World()
    world.append()
    fault = world.fire("pause", "n1")
    world.run(1 * MS)
    began = world.now
    assert world.timed_append() == ("TIMED_OUT", 2 * S)
    assert [ends for at, _, ends, _ in world.seen.messages if at > began and ends[0] == 1] == []
    assert (world.runs(1), world.starts(1), world.leader) == (True, 1, 2)
    fault.heal()
    world.until_healthy()
    assert world.starts(1) == 1
    assert (fault.effect, fault.row["damage"]) == (True, [])


@bites
def slow() -> None:
    """A thousandth of a CPU makes milliseconds of microseconds."""
    world = World()
    world.append()
    before = world.timed_append()[1]
    fault = world.fire("slow", "n1", share="0.001")
    during = world.timed_append()[1]
    fault.heal()
    world.run(500 * MS)  # it catches up
    after = world.timed_append()[1]
    assert max(before, after) < 20 * MS < 60 * MS <= during
    assert fault.effect is True


@bites
def restart_loop() -> None:
    """A new life every second, each an unclean end without loss; healed, the last one stays."""
    world = World()
    world.append(2)
    fault = world.fire("restart_loop", "n3", every="1s")
    world.run(2_500 * MS)
    assert world.starts(3) == 1 + 3
    fault.heal()
    world.run(5 * S)
    world.until_healthy()
    assert (world.starts(3), world.runs(3)) == (4, True)
    assert fault.effect is True
    assert [(damage["node"], damage["how"], damage["dropped"]) for damage in fault.row["damage"]] == [(3, "restart", 0)] * 3


@bites
def rolling_restart() -> None:
    """Each broker once, one down at a time, each with a clean stop."""
    world = World()
    world.append(2)
    began = world.now
    fault = world.fire("rolling_restart", "brokers", gap="2s")
    world.until(lambda: fault.row["healed_ns"] is not None)
    steps = [(node, what) for at, node, what in world.seen.processes if at >= began]
    assert steps == [(node, what) for node in (1, 2, 3) for what in ("ends", "starts")]
    world.until_healthy()
    assert [row["clean"] for row in world.cluster.told().registrations] == [False] * 3 + [True] * 3
    assert (fault.effect, fault.row["damage"]) == (True, [])


def on_a_node_that_is_down(fault: str, lasts_ns: int = 500 * MS, **args: object) -> None:
    """Nothing runs that could feel it."""
    world = World()
    world.cluster.processes.kill(3)
    fired = world.fire(fault, "n3", **args)
    world.run(lasts_ns)
    fired.heal()
    assert (fired.effect, fired.row["damage"]) == (False, [])


@toothless
def toothless_kill() -> None:
    on_a_node_that_is_down("kill")


@toothless
def toothless_stop() -> None:
    on_a_node_that_is_down("stop")


@toothless
def toothless_pause() -> None:
    on_a_node_that_is_down("pause")


@toothless
def toothless_slow() -> None:
    on_a_node_that_is_down("slow")


@toothless
def toothless_restart_loop() -> None:
    """Healed before its second round, it ended no process."""
    on_a_node_that_is_down("restart_loop", every="1s")


@toothless
def toothless_rolling_restart() -> None:
    on_a_node_that_is_down("rolling_restart", lasts_ns=2 * S, gap="100ms")


def with_everything_synced(fault: str) -> None:
    """The process ends, and nothing is lost."""
    world = World(config=SYNCED)
    assert world.append(5) == ["SUCCESS"] * 5
    world.run(500 * MS)
    fired = world.fire(fault, "n2")
    assert (world.runs(2), world.records_on_disk(2)) == (False, 5)
    fired.heal()
    assert (fired.effect, fired.dropped) == (False, {2: 0})


@toothless
def toothless_lossy_kill() -> None:
    with_everything_synced("lossy_kill")


# -- clocks -------------------------------------------------------------------------------------------------------------


def timestamp_error_ms(world: World) -> int:
    """How far the time that the leader gave to a new record is from the true one."""
    assert world.append() == ["SUCCESS"]
    header = [header for _, header in headers(world.disk(1).content()[LOG])][-1]
    return header.max_timestamp - (world.env(1).wall_ms() - world.wall_error_ms(1))


@bites
def skew() -> None:
    """Records are stamped with exactly that error, and with the true time afterwards."""
    world = World(config=MORE)
    fault = world.fire("skew", "n1", offset="-1h")
    assert world.wall_error_ms(1) == -3_600_000
    assert -3_600_000 - 20 < timestamp_error_ms(world) <= -3_600_000
    assert fault.heal().effect is True
    assert world.wall_error_ms(1) == 0
    assert -20 < timestamp_error_ms(world) <= 0


@bites
def jump() -> None:
    """Once, by so much; it is over when it has happened, and a restored clock is right again."""
    world = World()
    fault = world.fire("jump", "n1", by="2s")
    assert (fault.effect, fault.row["healed_ns"]) == (True, world.now)
    assert world.wall_error_ms(1) == 2_000
    world.run(5 * S)
    assert world.wall_error_ms(1) == 2_000
    world.cluster.clocks.restore(1)
    assert world.wall_error_ms(1) == 0


@bites
def strobe() -> None:
    """To and fro: two readings a stretch apart differ by exactly that."""
    world = World()
    fault = world.fire("strobe", "n1", by="3s", every="100ms")
    errors = []
    for _ in range(6):
        errors.append(world.wall_error_ms(1))
        world.run(100 * MS)
    assert errors == [0, 3_000] * 3
    assert fault.heal().effect is True
    for _ in range(2):
        assert world.wall_error_ms(1) == 0
        world.run(100 * MS)


@bites
def drift() -> None:
    """A clock that is fast by half makes three heartbeats of two."""
    world = World()

    def heartbeats() -> int:
        began = world.now
        world.run(6 * S)
        return len(world.heard(1, 4, since=began, kind="BrokerHeartbeat"))

    before = heartbeats()
    fault = world.fire("drift", "n1", ppm=500_000)
    began, own = world.now, world.env(1).monotonic_ns()
    during = heartbeats()
    assert world.env(1).monotonic_ns() - own == (world.now - began) * 3 // 2
    assert fault.heal().effect is True
    own = world.env(1).monotonic_ns()
    after = heartbeats()
    assert world.env(1).monotonic_ns() - own == 6 * S
    assert abs(before - after) <= 2  # of some thirty: a slow answer delays the next one
    assert abs(during - before * 3 // 2) <= 3


def on_a_controller_that_reads_no_wall_clock(fault: str, **args: object) -> None:
    """Elections go by the monotonic clock, and only the active controller stamps records."""
    world = World()
    fired = world.fire(fault, "n5", **args)
    world.run(3 * S)
    assert fired.heal().effect is False


@toothless
def toothless_skew() -> None:
    on_a_controller_that_reads_no_wall_clock("skew", offset="1h")


@toothless
def toothless_strobe() -> None:
    on_a_controller_that_reads_no_wall_clock("strobe", by="1s")


@toothless
def toothless_jump() -> None:
    on_a_node_that_is_down("jump", by="1s")


@toothless
def toothless_drift() -> None:
    on_a_node_that_is_down("drift", ppm=1_000)


# -- disks --------------------------------------------------------------------------------------------------------------


@bites
def wipe() -> None:
    """The directory is empty, synced or not, and fills up again from the leader."""
    world = World(config=SYNCED)
    assert world.append(4) == ["SUCCESS"] * 4
    fault = world.fire("wipe", "n2")
    assert (world.disk(2).content(), world.runs(2)) == ({}, False)
    fault.heal()
    world.until_healthy()
    assert world.records_on_disk(2) == 4
    assert (fault.effect, fault.dropped, fault.row["damage"][0]["how"]) == (True, {2: 4}, "wipe")


@bites
def lose_unsynced() -> None:
    """Counted on the disk itself, before and after."""
    world = World()
    assert world.append(4) == ["SUCCESS"] * 4
    before = world.records_on_disk(3)
    fault = world.fire("lose_unsynced", "n3")
    assert (before, world.records_on_disk(3), world.runs(3)) == (4, 0, False)
    fault.heal()
    world.until_healthy()
    assert world.records_on_disk(3) == 4
    assert (fault.effect, fault.dropped, fault.row["damage"][0]["how"]) == (True, {3: 4}, "lossy")


@bites
def tear() -> None:
    """The log ends inside a batch; the next start cuts that off, and the leader fills it up."""
    for seed in range(1, 20):  # one log of several is torn
        world = World(seed=seed)
        assert world.append(4) == ["SUCCESS"] * 4
        whole = world.disk(2).content()[LOG]
        world.disk(2).sync(LOG, lambda _: None)
        world.run(50 * MS)
        assert world.append(3) == ["SUCCESS"] * 3
        fault = world.fire("tear", "n2")
        torn, left = world.disk(2).content()[LOG], world.records_on_disk(2)
        if len(whole) < len(torn):
            break
    assert sum(header.size for _, header in headers(torn)) < len(torn)
    assert 4 <= left < 7
    fault.heal()
    world.until_healthy()
    assert world.disk(2).content()[LOG] == world.disk(1).content()[LOG]
    assert (fault.effect, fault.dropped, fault.row["damage"][0]["dropped_from"]) == (True, {2: 7 - left}, left)


@bites
def rot() -> None:
    """One bit of a synced log is another one, and the node comes back."""
    world = World(config=SYNCED)
    assert world.append(6) == ["SUCCESS"] * 6
    world.run(500 * MS)
    before = world.disk(2).content()[LOG]
    fault = world.fire("rot", "n2")
    after = world.disk(2).content()[LOG]
    assert sum((a ^ b).bit_count() for a, b in zip(before, after, strict=True)) == 1
    assert not world.runs(2)
    fault.heal()
    world.until_healthy()
    assert (fault.effect, [damage["how"] for damage in fault.row["damage"]]) == (True, ["rot"])
    lost = fault.dropped[2]
    assert lost is None or lost == 6 - sum(end - base for base, end in whole_batches(after))


def whole_batches(log: bytes) -> list[tuple[int, int]]:
    """Up to the first whose CRC is wrong."""
    found = []
    for position, header in headers(log):
        if not crc_is_right(log, header, position):
            break
        found.append((header.base_offset, header.end_offset))
    return found


def gives_its_only_directory_up(fault: str, node: int, **args: object) -> None:
    """10.4: it cannot write, so it ends by itself, as it may; mended and started, it has what it missed."""
    world = World()
    assert world.append(2) == ["SUCCESS"] * 2
    fired = world.fire(fault, f"n{node}", **args)
    world.append(2, acks=1, group=2)
    world.until(lambda: not world.runs(node))
    assert [(end.node, end.allowed) for end in world.cluster.told().exits] == [(node, True)]
    assert world.records_on_disk(node) == 2
    fired.heal()
    world.until_healthy()
    assert world.append(group=2) == ["SUCCESS"]
    world.run(500 * MS)
    assert world.records_on_disk(node) == world.partition.seen[1].leo
    assert (fired.effect, fired.row["damage"]) == (True, [])


@bites
def fill() -> None:
    gives_its_only_directory_up("fill", 2)


@bites
def read_only() -> None:
    gives_its_only_directory_up("read_only", 3)


@bites
def io_error() -> None:
    gives_its_only_directory_up("io_error", 2, on="write")


@bites
def slow_sync() -> None:
    """What is appended is durable so much later."""
    world = World(config=SYNCED)

    def durable_after() -> int:
        began = world.now
        assert world.append(acks=1) == ["SUCCESS"]
        log = world.disk(1).content()[LOG]
        world.until(lambda: world.disk(1).durable.get(LOG) == log)
        return world.now - began

    before = durable_after()
    fault = world.fire("slow_sync", "n1", delay="400ms")
    during = durable_after()
    fault.heal()
    world.run(2 * S)
    after = durable_after()
    assert max(before, after) < 50 * MS < 350 * MS <= during
    assert fault.effect is True


@toothless
def toothless_fill() -> None:
    on_a_node_that_is_down("fill")


@toothless
def toothless_read_only() -> None:
    on_a_node_that_is_down("read_only")


@toothless
def toothless_slow_sync() -> None:
    on_a_node_that_is_down("slow_sync", delay="1s")


@toothless
def toothless_io_error() -> None:
    on_a_node_that_is_down("io_error", on="read")


@toothless
def toothless_lose_unsynced() -> None:
    with_everything_synced("lose_unsynced")


@toothless
def toothless_tear() -> None:
    with_everything_synced("tear")


def on_a_disk_that_is_empty(fault: str) -> None:
    """It was wiped just now."""
    world = World()
    first = world.fire("wipe", "n5")
    fired = world.fire(fault, "n5")
    assert not world.runs(5)
    fired.heal()
    assert (fired.effect, fired.row["damage"]) == (False, [])
    assert [(one["topic"], one["how"]) for one in first.row["damage"]] == [("__cluster_metadata", "wipe")]


@toothless
def toothless_wipe() -> None:
    on_a_disk_that_is_empty("wipe")


@toothless
def toothless_rot() -> None:
    on_a_disk_that_is_empty("rot")


# -- operators ----------------------------------------------------------------------------------------------------------


def another_leads(world: World) -> None:
    """n2 leads, and n1, which should, is in sync again."""
    world.cluster.processes.kill(1)
    world.until(lambda: world.leader == 2)
    world.cluster.processes.start(1)
    world.until_healthy()
    assert world.leader == 2


@bites
def elect() -> None:
    """The preferred leader leads again, in a new leader epoch."""
    world = World()
    another_leads(world)
    leader_epoch = world.partition.leader_epoch
    fault = world.fire("elect", "t/0")
    world.until(lambda: fault.row["healed_ns"] is not None)
    assert (fault.effect, world.leader, world.partition.leader_epoch) == (True, 1, (leader_epoch or 0) + 1)
    assert world.cluster.told().changes[-1]["election"] == "preferred"


@toothless
def toothless_elect() -> None:
    """It leads already."""
    world = World()
    before = world.partition
    fault = world.fire("elect", "t/0")
    world.until(lambda: fault.row["healed_ns"] is not None)
    assert (fault.effect, world.partition.leader_epoch) == (False, before.leader_epoch)


@bites
def reassign() -> None:
    """Another one is preferred, and so leads once the preferred leader is asked for."""
    world = World()
    fault = world.fire("reassign", "t/0", to=("n2", "n1", "n3"))
    world.until(lambda: fault.row["healed_ns"] is not None)
    assert (fault.effect, world.partition.replicas) == (True, (2, 1, 3))
    world.fire("elect", "t/0")
    world.until(lambda: world.leader == 2)


@toothless
def toothless_reassign() -> None:
    """Nobody can hold two replicas of one partition."""
    world = World()
    fault = world.fire("reassign", "t/0", to=("n1", "n1", "n2"))
    world.until(lambda: fault.row["healed_ns"] is not None)
    assert (fault.effect, world.partition.replicas) == (False, (1, 2, 3))


@bites
def change_config() -> None:
    """With a min ISR of three, two are not enough; put back, they are."""
    world = World()
    world.cluster.processes.kill(3)
    world.until(lambda: world.isr == (1, 2))
    assert world.append() == ["SUCCESS"]
    fault = world.fire("change_config", None, topic="t", key="min.insync.replicas", value="3")
    world.run(500 * MS)
    assert world.append() == ["NOT_ENOUGH_REPLICAS"]
    fault.heal()
    world.run(500 * MS)
    assert world.append() == ["SUCCESS"]
    assert fault.effect is True


@toothless
def toothless_change_config() -> None:
    """No controller is there that could commit it."""
    world = World()
    for node in world.plan.nodes.controller_ids:
        world.cluster.processes.kill(node)
    fault = world.fire("change_config", None, topic="t", key="min.insync.replicas", value="3")
    world.run(9 * S)
    assert fault.heal().effect is False
