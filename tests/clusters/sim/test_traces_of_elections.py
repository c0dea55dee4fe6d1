"""The worked traces of PROTOCOL section 16 about who leads, above all when members of the ISR are lost, with whole nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from clusters.sim.latency import MS
from model.cluster import NodeId
from model.plan import Topic
from replication.errors import Error
from replication.events import Truncated
from replication.image import PartitionState, RecoveryState
from replication.messages import EpochEndOffset
from replication.rules import Rules
from tests.clusters.sim.traced import Held, Traced, Violated
from tests.clusters.sim.world import IN_SYNC, LOG, S
from tests.replication.controller import wrong

FETCH_WAIT_NS = 100 * MS  # brisk
UNCLEAN = {**IN_SYNC, "unclean.leader.election.enable": True}
TRUSTING = (wrong.EverybodyRestartsCleanly(), wrong.UncleanRestartsStay())
"""B19, B21"""


def breaks(trace: Callable[[Rules], None], rules: Rules) -> int:
    """Which invariant says so."""
    with pytest.raises(Violated) as found:
        trace(rules)
    return found.value.number


# -- 16.7: eligible leader replicas -------------------------------------------------------------------------------------------


def shrunk_to_one(rules: Rules | None = None) -> tuple[Traced, list[Held]]:
    """First n2 stands still and leaves the ISR, and the HW moves on without it; then n3 does, and the HW stands."""
    world = Traced(rules)
    world.write(1, "a", "b")
    world.run(250 * MS)
    of_2 = world.hold_fetches((2, 1), (2, 3))
    first = world.produce(1, "c")
    world.until(lambda: first.fact is not None)
    assert (first.fact, world.leos(1, 2, 3), world.hws(1)) == ("NONE", (3, 2, 3), (3,))
    of_3 = world.hold_fetches((3, 1))
    second = world.produce(1, "d")
    world.until(lambda: world.isr == (1,))
    world.run(50 * MS)
    assert (second.fact, world.leos(1, 2, 3), world.hws(1)) == (None, (4, 2, 3), (3,))
    return world, [of_2, of_3]


def test_a_member_that_left_under_min_isr_leads_again(rules: Rules | None = None) -> None:
    """16.7 (8.3, 8.6, 4.3): ISR and ELR after each step; n1 loses its power and what it had not synced; nothing acked is lost."""
    world, others = shrunk_to_one(rules)
    assert world.history() == [(1, (1, 3), ()), (1, (1,), (3,))]
    world.power_cut(1)
    world.until(lambda: world.believes_to_lead(3) and not world.replica(3).taking_office)
    assert (world.shape, world.elections) == ((3, (3,), (1,)), ["elr"])
    fetches = world.hold_fetches((1, 3))
    world.start(1)
    world.until_unfenced(1)
    assert world.shape == (3, (3,), ())
    fetches.release()
    world.until(lambda: world.isr == (1, 3))
    assert world.history()[2:] == [(3, (3,), (1,)), (3, (3,), ()), (3, (1, 3), ())]
    assert world.contents(3) == [(0, 0, "a"), (1, 0, "b"), (2, 0, "c")] == world.contents(1)
    world.until(lambda: world.hws(3) == (3,))
    assert world.read(3, 0) == ["a", "b", "c"]
    for held in others:
        held.release()
    world.ends_well()
    assert world.contents(1) == world.contents(2) == world.contents(3)


@pytest.mark.parametrize(("rules", "number"), [(TRUSTING[0], 2), (TRUSTING[1], 2), (wrong.ElrOnlyGrows(), 7)])
def test_eligible_leaders_break_with(rules: Rules, number: int) -> None:
    """16.7 (4.3, 8.6) with B19 and B21, by which n1 stays in the ELR; with B23, by which n2 comes into it."""
    assert breaks(test_a_member_that_left_under_min_isr_leads_again, rules) == number


# -- 16.8: a power cut on everybody -------------------------------------------------------------------------------------------


def written_back(world: Traced, node: NodeId) -> bool:
    """Nobody asked for a sync: the operating system has done it."""
    return bool(world.disk(node).durable.get(LOG) == world.disk(node).content()[LOG])


def test_after_a_power_cut_on_all_only_the_last_leader_comes_back(rules: Rules | None = None) -> None:
    """16.8 (8.6, 8.8): nobody is complete for certain; the last known leader is elected, although n2 has more."""
    world = Traced(rules)
    world.write(1, "0")
    while not (written_back(world, 2) and not written_back(world, 1) and not written_back(world, 3)):
        if written_back(world, 1) or written_back(world, 3):
            world.write(1, str(world.log(1).leo))
        world.run(100 * MS)
        assert world.now < 100 * S
    leo = world.log(1).leo
    cuts = []
    for node in (1, 2):  # so that they are missed in this order
        cuts.append(world.fire("cut", (f"n{node}", "controllers")))
        world.run(250 * MS)
    world.power_cut(1, 2, 3)
    for cut in cuts:
        cut.heal()
    world.until(lambda: world.shape[0] is None)
    assert world.history() == [(2, (2, 3), ()), (3, (3,), (2,)), (None, (), (2, 3))]
    assert world.state.last_known_elr == (3,)
    kept = world.records_on_disk(3)
    assert world.records_on_disk(2) == leo > max(kept, world.records_on_disk(1))

    world.start(1, 2)
    world.until_unfenced(1, 2)
    world.run(2 * S)
    assert (world.shape, world.state.last_known_elr) == ((None, (), (3,)), (3,))
    world.start(3)
    world.until(lambda: world.state.leader == 3)
    assert world.history()[3:] == [(None, (), (3,)), (None, (), ()), (3, (3,), ())]
    assert (world.elections, world.state.leader_recovery_state) == (["clean", "clean", "last_known"], RecoveryState.RECOVERING)
    world.ends_well()
    assert [world.contents(node) for node in (1, 2, 3)] == [[(offset, 0, str(offset)) for offset in range(kept)]] * 3


@pytest.mark.parametrize(
    ("rules", "number"),
    [(TRUSTING[0], 2), (TRUSTING[1], 2), (wrong.DeadLastLeaders(), 2), (wrong.AnybodyUncleanly(), 1)],
)
def test_the_last_leaders_return_breaks_with(rules: Rules, number: int) -> None:
    """16.8 (4.3, 8.6, 8.8, 8.9) with B19 and B21, by which n2 stays in the ELR; with B25, by which n3 is elected before it is
    back; with B36, by which whoever is back first is elected."""
    assert breaks(test_after_a_power_cut_on_all_only_the_last_leader_comes_back, rules) == number


# -- 16.10: all members of the ISR are lost -----------------------------------------------------------------------------------


class Lost:
    """LEOs 102/102/101, ISR {1, 2}, HW 102, and a consumer has read 101. n1 has lost its power and what it had not synced; n2
    leads, alone, does not know that the HW is 102, and is cut off. n3 has never been able to fetch 101."""

    def __init__(self, rules: Rules | None = None, *, elr: bool = True, unclean: bool = False, noted: bool = False) -> None:
        config = UNCLEAN if unclean else IN_SYNC
        world = self.world = Traced(rules, config=config, elr=elr, on_violation="note" if noted else "stop")
        world.write(1, *(str(offset) for offset in range(101)))
        world.run(250 * MS)
        assert world.hws(1, 2, 3) == (101, 101, 101)
        self.of_3 = world.hold_fetches((3, 1), (3, 2))
        last = world.produce(1, "101")
        world.until(lambda: world.isr == (1, 2) and world.hws(1) == (102,))
        assert (world.leos(1, 2, 3), world.hws(2), world.read(1, 101)) == ((102, 102, 101), (101,), ["101"])
        world.until(lambda: last.fact == "NONE")
        assert world.hws(2) == (101,)
        self.e1 = world.state.leader_epoch
        world.power_cut(1)
        world.until(lambda: world.believes_to_lead(2) and not world.replica(2).taking_office)
        assert (world.records_on_disk(1) < 102, world.leos(2), world.leadership(2).leso) == (True, (102,), 102)
        self.cut = world.fire("cut", ("n2", ("n1", "n3", "controllers")))
        world.until(lambda: world.fenced(2))

    def restart_1(self) -> None:
        """n1 is back, without what it had not synced, and cannot fetch from n2 yet."""
        world = self.world
        self.of_1 = world.hold_fetches((1, 2))
        world.start(1)
        world.until_unfenced(1)
        world.run(5 * S)

    def heal_2(self) -> None:
        """n2 leads, alone, in e4."""
        world = self.world
        self.cut.heal()
        world.until(lambda: world.believes_to_lead(2) and world.leadership(2).leso == 102 and world.leader == 2)
        world.until(lambda: world.replica(2).standing.leader_epoch == self.e1 + 3)
        world.run(50 * MS)
        assert (world.leader, world.isr, world.state.leader_epoch) == (2, (2,), self.e1 + 3)
        assert (world.hws(2), world.latest(2), world.leos(3)) == ((101,), "OFFSET_NOT_AVAILABLE", (101,))

    def catch_up_3(self) -> None:
        """A fetch at 102 lets it join, and the HW move."""
        world = self.world
        self.of_3.release()
        world.until(lambda: world.isr == (2, 3))
        world.until(lambda: world.hws(2) == (102,))
        assert (world.latest(2), world.read(2, 101)) == (102, ["101"])
        self.of_1.release()
        world.ends_well()
        assert [len(world.contents(node)) for node in (1, 2, 3)] == [102, 102, 102]


def test_with_elr_a_member_that_only_was_cut_off_brings_everything_back(rules: Rules | None = None) -> None:
    """16.10, ELR on, clean (4.3, 8.3, 8.6, 7.4, 5.31): n1 is trusted no more; n2 was only away; nothing is lost."""
    story = Lost(rules)
    world = story.world
    assert world.history() == [(1, (1, 2), ()), (2, (2,), (1,)), (None, (), (1, 2))]
    assert world.state.leader_epoch == story.e1 + 2
    story.restart_1()
    assert (world.shape, world.state.leader_epoch) == ((None, (), (2,)), story.e1 + 2)
    story.heal_2()
    assert world.shape == (2, (2,), ())
    assert world.elections == ["clean", "elr"]
    story.catch_up_3()


def test_without_elr_only_the_last_member_can_be_elected(rules: Rules | None = None) -> None:
    """16.10, ELR off (8.4): the ISR stays {2}, and that n1 and n3 are there changes nothing."""
    story = Lost(rules, elr=False)
    world = story.world
    assert world.history() == [(1, (1, 2), ()), (2, (2,), ()), (None, (2,), ())]
    story.restart_1()
    assert (world.shape, world.state.leader_epoch) == ((None, (2,), ()), story.e1 + 2)
    story.heal_2()
    assert world.elections == ["clean", "clean"]
    story.catch_up_3()


@pytest.mark.parametrize(("rules", "number"), [(TRUSTING[0], 2), (TRUSTING[1], 2), (wrong.AnybodyUncleanly(), 5)])
def test_the_way_back_breaks_with(rules: Rules, number: int) -> None:
    """16.10, ELR on (4.3, 8.6, 8.9) with B19 and B21, by which n1 stays in the ELR; with B36, by which n3 is elected."""
    assert breaks(test_with_elr_a_member_that_only_was_cut_off_brings_everything_back, rules) == number


@pytest.mark.parametrize("rules", TRUSTING)
def test_a_member_that_restarted_uncleanly_leads_without_what_was_read(rules: Rules) -> None:
    """16.10, ELR on (4.3, 8.6) with B19 and B21, to its end: n1 is elected, and what a consumer has read is gone."""
    story = Lost(rules, noted=True)
    world = story.world
    story.restart_1()
    assert (world.leader, world.elections) == (1, ["clean", "elr"])
    story.cut.heal()
    story.of_3.release()
    story.of_1.release()
    world.until_healthy()
    assert all("101" not in [value for _, _, value in world.contents(node)] for node in (1, 2, 3))
    world.invariants.at_the_end()
    assert {1, 2, 5, 6} <= set(world.found)


def test_the_last_member_breaks_with_unclean_elections() -> None:
    """16.10, ELR off (8.9) with B36: n3 leads without what was acknowledged and read."""
    assert breaks(test_without_elr_only_the_last_member_can_be_elected, wrong.AnybodyUncleanly()) == 5


def test_where_it_is_allowed_the_third_replica_takes_over_at_once() -> None:
    """16.10, unclean on (8.9, 8.14, 5.10, 5.24, 6.3): n3 leads in e3, alone; what it lacks is cut from n2, as is expected."""
    story = Lost(unclean=True)
    world, e3 = story.world, story.e1 + 2
    world.until(lambda: world.believes_to_lead(3) and not world.replica(3).taking_office)
    assert world.history()[:3] == [(1, (1, 2), ()), (2, (2,), (1,)), (3, (3,), ())]
    assert (world.elections, world.state.leader_epoch) == (["clean", "unclean"], e3)
    assert world.state.leader_recovery_state is RecoveryState.RECOVERING
    assert (world.leadership(3).leso, world.leos(3), world.hws(3)) == (101, (101,), (101,))
    assert world.refused(3) == "NOT_ENOUGH_REPLICAS"
    assert (world.hws(3), world.leos(3)) == ((101,), (101,))
    diverging = world.consume(3, 102, epoch=e3, last_epoch=story.e1)
    assert (diverging.diverging_epoch, diverging.records) == (EpochEndOffset(story.e1, 101), b"")
    assert world.consume(3, 102).error_code is Error.OFFSET_OUT_OF_RANGE
    assert world.log(2).epochs == ((story.e1, 0), (story.e1 + 1, 102))

    fetched = len(world.heard_of.asked)
    story.cut.heal()
    world.until(lambda: world.isr == (2, 3))
    assert world.fetches(2, 3, fetched)[:2] == [(102, story.e1 + 1), (101, story.e1)]
    assert world.diverging(2, 3) == [(story.e1, 101)]
    assert [(cut.was, cut.now) for cut in world.told_by(2, Truncated)] == [(102, 101)]
    assert world.state.leader_recovery_state is RecoveryState.RECOVERED
    world.until(lambda: world.hws(3) == (101,))
    story.of_3.release()
    world.start(1)
    world.ends_well()
    assert [len(world.contents(node)) for node in (1, 2, 3)] == [101, 101, 101]


# -- 16.14: fetchers ----------------------------------------------------------------------------------------------------------


def test_each_broker_asks_each_leader_for_its_partitions_and_follows_a_leader_that_moves() -> None:
    """16.14 (5.46, 8.11): p0 led by n1, p1 and p2 by n2; who asks whom for what, before and after p1 moves to n1."""
    world = Traced()
    done: list[str | None] = []
    admin = world.cluster.admin
    admin.create_topic("p", Topic(partitions=3, config=dict(IN_SYNC)), done.append)
    world.until(lambda: done == [None])

    def lead(leaders: Sequence[NodeId]) -> None:
        for index, leader in enumerate(leaders):
            others = [node for node in (1, 2, 3) if node != leader]
            admin.reassign(("p", index), (leader, *others), done.append)
        world.until(lambda: [part.replicas[0] for part in partitions(world)] == list(leaders))
        for index in range(len(leaders)):
            admin.elect(("p", index), "preferred", done.append)
        world.until(lambda: [part.leader for part in partitions(world)] == list(leaders))
        world.run(3 * FETCH_WAIT_NS)  # every fetch from before has ended

    lead((1, 2, 2))
    assert fetched_by(world) == {(1, 2): {1, 2}, (2, 1): {0}, (3, 1): {0}, (3, 2): {1, 2}}
    began, epochs = len(world.heard_of.asked), [part.leader_epoch for part in partitions(world)]
    lead((1, 1, 2))
    assert fetched_by(world) == {(1, 2): {2}, (2, 1): {0, 1}, (3, 1): {0, 1}, (3, 2): {2}}
    assert [part.leader_epoch for part in partitions(world)] == [epochs[0], epochs[1] + 1, epochs[2]]
    assert [set(part.isr) for part in partitions(world)] == [{1, 2, 3}] * 3
    assert len(world.heard_of.asked) > began
    world.ends_well()


def partitions(world: Traced) -> list[PartitionState]:
    image = world.cluster.tail.image
    return [image.topics[image.ids["p"]].partitions[index] for index in range(3)]


def fetched_by(world: Traced) -> dict[tuple[NodeId, NodeId], set[int]]:
    """(who, whom): the partitions of `p` in its latest fetch. The fetchers say the same, and have each partition once."""
    topic_id = world.cluster.tail.image.ids["p"]
    placed: dict[tuple[NodeId, NodeId], set[int]] = {}
    for who in (1, 2, 3):
        for index in range(3):
            if fetcher := world.broker(who).fetchers.of((topic_id, index)):
                placed.setdefault((who, fetcher.leader), set()).add(index)
    heard = {ends: fetch for ends in placed if (fetch := world.last_fetched(*ends)) is not None}
    assert placed == {
        ends: {part.partition for part in fetch.partitions if part.topic_id == topic_id} for ends, fetch in heard.items()
    }
    return placed


# -- 16.15: the last replica --------------------------------------------------------------------------------------------------


class Last:
    """n3 has left the ISR because it stood still, n2 because its session ended; then n1, which was alone, is fenced as well.
    All of them run all the time."""

    def __init__(self, rules: Rules | None = None, *, elr: bool = True) -> None:
        world = self.world = Traced(rules, elr=elr)
        world.write(1, "a", "b")
        world.run(250 * MS)
        self.of_3 = world.hold_fetches((3, 1), (3, 2))
        assert world.write(1, "c") == 2
        world.until(lambda: world.isr == (1, 2))
        assert (world.shape, world.leos(1, 2, 3)) == ((1, (1, 2), ()), (3, 3, 2))
        self.of_2 = world.fire("cut", ("n2", "controllers"))
        self.from_1 = world.fire("cut", ("n2", "n1"))
        world.until(lambda: world.isr == (1,))
        world.run(50 * MS)
        assert world.refused(1) == "NOT_ENOUGH_REPLICAS"
        assert world.write(1, "d", acks=1) == 3
        assert (world.leos(1), world.hws(1)) == ((4,), (3,))
        self.of_1 = world.fire("cut", ("n1", "controllers"))
        world.until(lambda: world.leader is None)
        assert world.fenced(1)
        world.run(5 * S)


def test_the_last_replica_hands_over_to_whoever_was_complete(rules: Rules | None = None) -> None:
    """16.15, ELR on (8.3, 8.6, 8.8): n3 left while the HW moved and is never eligible; n2 left while it stood still and is."""
    story = Last(rules)
    world = story.world
    assert world.history() == [(1, (1, 2), ()), (1, (1,), (2,)), (None, (), (1, 2))]
    assert world.state.last_known_elr == (1,)
    story.of_2.heal()
    world.until(lambda: world.leader is not None)
    assert (world.shape, world.state.last_known_elr, world.elections) == ((2, (2,), (1,)), (), ["elr"])
    world.until(lambda: world.believes_to_lead(2))
    assert (world.leadership(2).leso, world.leos(2, 3)) == (3, (3, 2))
    story.of_3.release()
    story.of_1.heal()
    story.from_1.heal()
    world.ends_well()
    assert [[value for _, _, value in world.contents(node)] for node in (1, 2, 3)] == [["a", "b", "c"]] * 3


def test_without_elr_the_last_replica_waits_for_itself(rules: Rules | None = None) -> None:
    """16.15, ELR off (8.4): the ISR stays {1}, and n2's return changes nothing."""
    story = Last(rules, elr=False)
    world = story.world
    assert world.history() == [(1, (1, 2), ()), (1, (1,), ()), (None, (1,), ())]
    assert world.state.last_known_elr == ()
    story.of_2.heal()
    story.from_1.heal()
    world.until(lambda: not world.fenced(2))
    world.run(5 * S)
    assert world.shape == (None, (1,), ())
    story.of_1.heal()
    world.until(lambda: world.leader is not None)
    assert world.history()[3:] == [(1, (1,), ())]
    story.of_3.release()
    world.ends_well()
    assert [[value for _, _, value in world.contents(node)] for node in (1, 2, 3)] == [["a", "b", "c", "d"]] * 3


@pytest.mark.parametrize(("rules", "number"), [(wrong.AnybodyUncleanly(), 1), (wrong.ElrOnlyGrows(), 7)])
def test_the_last_replica_breaks_with(rules: Rules, number: int) -> None:
    """16.15, ELR on (8.6, 8.9) with B36, by which n3 is elected for want of others; with B23, by which it is eligible."""
    assert breaks(test_the_last_replica_hands_over_to_whoever_was_complete, rules) == number


def test_without_elr_the_last_replica_breaks_with_unclean_elections() -> None:
    """16.15, ELR off (8.9) with B36: n3 leads without what was acknowledged."""
    assert breaks(test_without_elr_the_last_replica_waits_for_itself, wrong.AnybodyUncleanly()) == 1
