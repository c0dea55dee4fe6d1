"""The worked traces of PROTOCOL section 16 about the high watermark, the ISR and leaders that are cut off, with whole nodes.

The replication module and the controllers have these traces to themselves, each with the other side scripted; here nobody is.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from clusters.sim.latency import MS
from replication.errors import Error
from replication.events import AlterPartitionRefused, Truncated
from replication.rules import Rules
from replication.rules.isr import Brokers
from replication.state import Follower, Leadership, PendingChange
from tests.clusters.sim.traced import Held, Sent, Traced, Violated
from tests.clusters.sim.world import S

FETCH_WAIT_NS, LAG_MAX_NS = 100 * MS, 1_500 * MS  # brisk


# -- 16.1, 16.2: commit needs two fetch rounds, and a successor does not know of it --------------------------------------------


def five_on_all(rules: Rules | None = None) -> Traced:
    """LEOs 5/5/5, HW 5, and everybody knows."""
    world = Traced(rules)
    assert world.write(1, *"abcde") == 0
    world.run(250 * MS)  # in the middle of a fetch wait
    assert world.leos(1, 2, 3) == world.hws(1, 2, 3) == (5, 5, 5)
    return world


def acknowledged_sixth(world: Traced) -> None:
    """A record at offset 5, fetch by fetch, until the moment in which its client hears that it is committed."""
    ack = world.produce(1, "new")
    world.until(lambda: world.leos(1) == (6,))  # the fetches at 5 that waited for it are on their way back
    first, second = world.hold("Fetch", "requests", (2, 1)), world.hold("Fetch", "requests", (3, 1))
    assert (world.known(1, 2, 3), world.hws(1)) == ((5, 5), (5,))

    world.until(lambda: world.leos(2, 3) == (6, 6))
    assert (world.known(1, 2, 3), world.hws(1, 2, 3)) == ((5, 5), (5, 5, 5))

    first.release()
    world.until(lambda: world.known(1, 2) == (6,))
    assert (world.known(1, 2, 3), world.hws(1)) == ((6, 5), (5,))
    assert ack.fact is None

    second.release()
    world.until(lambda: world.known(1, 3) == (6,))
    assert world.hws(1, 2, 3) == (6, 5, 5)
    world.until(lambda: ack.fact is not None)
    assert (ack.fact, ack.base, world.hws(2, 3)) == ("NONE", 5, (5, 5))


def test_a_record_is_committed_by_the_second_fetch_of_the_last_follower() -> None:
    """16.1 (5.17, 5.28): a fetch tells what its follower had before it; followers learn the HW with their next answer."""
    world = five_on_all()
    acknowledged_sixth(world)
    world.run(2 * FETCH_WAIT_NS)
    assert world.hws(1, 2, 3) == (6, 6, 6)
    world.ends_well()


def test_a_new_leader_tells_no_latest_offset_until_it_knows_what_was_promised(rules: Rules | None = None) -> None:
    """16.2 (5.29, 7.4): the old leader dies right after the ack; until F2 has fetched at 6 its successor knows of no HW of 6."""
    world = five_on_all(rules)
    acknowledged_sixth(world)
    world.kill(1)
    fetches = world.hold_fetches((3, 2))
    world.until(lambda: world.believes_to_lead(2) and not world.replica(2).taking_office)
    assert world.shape == (2, (2, 3), ())
    assert (world.hws(2), world.leos(2), world.leadership(2).leso) == ((5,), (6,), 6)
    assert world.latest(2) == "OFFSET_NOT_AVAILABLE"
    read = world.consume(2, 6)
    assert (read.error_code, read.records) == (Error.NONE, b"")

    fetches.release()
    world.until(lambda: world.known(2, 3) == (6,))
    assert world.hws(2) == (6,)
    assert (world.latest(2), world.read(2, 5)) == (6, ["new"])
    world.start(1)
    world.ends_well()


def test_the_stale_hw_breaks_with_a_leader_that_tells_its_hw_at_any_time() -> None:
    """16.2 (7.4) with B33: the end is told as 5 after a client was told that 5 is written."""

    class TellsAnyHw(Rules):
        def latest_offset(self, from_replica: bool, hw: int, leo: int, leso: int) -> int | Error:
            return leo if from_replica else hw

    with pytest.raises(AssertionError, match="assert 5 == 'OFFSET_NOT_AVAILABLE'"):
        test_a_new_leader_tells_no_latest_offset_until_it_knows_what_was_promised(TellsAnyHw())


# -- 16.6: the maximal ISR ----------------------------------------------------------------------------------------------------


class Joiner:
    """ISR {1, 2}; n3 has fetched the empty log and is proposed; 0 to 9 are written and n2 has them."""

    def __init__(self, rules: Rules | None = None, *, accepted: bool) -> None:
        world = self.world = Traced(rules)
        world.kill(3)
        world.until(lambda: world.shape == (1, (1, 2), ()))
        self.alters = world.hold("AlterPartition", "answers" if accepted else "requests", (1, 4))
        world.start(3)
        world.until_unfenced(3)
        self.metadata: Held | None = world.hold_metadata(1) if accepted else None
        world.until(lambda: world.leadership(1).pending is not None)
        self.fetches = world.hold_fetches((3, 1))
        self.ack: Sent = world.produce(1, *"0123456789")
        world.until(lambda: world.known(1, 2) == (10,))
        assert (world.known(1, 3), world.hws(1), world.leos(3)) == ((0,), (0,), (0,))

    def waits(self, *isr: int) -> None:
        """With a committed ISR in the eyes of the controllers."""
        assert (self.world.isr, self.world.leadership(1).isr) == (isr, (1, 2))
        assert self.world.leadership(1).maximal_isr == {1, 2, 3}
        assert (self.world.hws(1), self.ack.fact) == ((0,), None)


def test_the_hw_waits_for_a_member_that_the_leader_has_not_heard_is_one(rules: Rules | None = None) -> None:
    """16.6 (5.33, 5.39): n3 was accepted long ago, and n1 hears neither the answer nor the metadata; the HW waits for 10."""
    joiner = Joiner(rules, accepted=True)
    world = joiner.world
    world.until(lambda: world.isr == (1, 2, 3))
    joiner.waits(1, 2, 3)
    world.run(3 * LAG_MAX_NS)  # no longer caught up by time: nothing but the proposal speaks for it
    joiner.waits(1, 2, 3)

    joiner.fetches.release()
    world.until(lambda: world.known(1, 3) == (10,))
    assert world.hws(1) == (10,)
    world.until(lambda: joiner.ack.fact is not None)
    assert joiner.ack.fact == "NONE"
    joiner.alters.release()
    assert joiner.metadata is not None
    joiner.metadata.release()
    world.ends_well()


def test_the_hw_goes_on_without_a_proposed_member_once_metadata_says_so() -> None:
    """16.6 (5.37): the refusal itself is not definite, for a copy may still arrive; the step of the partition epoch is."""
    joiner = Joiner(accepted=False)
    world = joiner.world
    cut = world.fire("cut", ("n3", "controllers"))
    world.until(lambda: world.fenced(3))
    world.run(FETCH_WAIT_NS)
    joiner.waits(1, 2)
    partition_epoch = world.state.partition_epoch

    metadata = world.hold_metadata(1)
    joiner.alters.release()
    world.until(lambda: bool(world.told_by(1, AlterPartitionRefused)))
    assert world.told_by(1, AlterPartitionRefused)[0].error == "INELIGIBLE_REPLICA"
    joiner.waits(1, 2)

    metadata.release()
    world.until(lambda: world.leadership(1).maximal_isr == {1, 2})
    assert (world.hws(1), world.state.partition_epoch) == ((10,), partition_epoch + 1)
    world.until(lambda: joiner.ack.fact is not None)
    assert joiner.ack.fact == "NONE"
    joiner.fetches.release()
    cut.heal()
    world.ends_well()


def test_waiting_for_a_joiner_breaks_with_a_maximal_isr_that_ignores_what_is_pending() -> None:
    """16.6 (5.33) with B12: ten records are promised that the next leader may not have."""

    class OnlyCommitted(Rules):
        def maximal_isr(self, isr: Sequence[int], pending: PendingChange | None) -> frozenset[int]:
            return frozenset(isr)

    with pytest.raises(Violated) as found:
        test_the_hw_waits_for_a_member_that_the_leader_has_not_heard_is_one(OnlyCommitted())
    assert found.value.number == 3


# -- 16.9: the high watermark as a minimum ------------------------------------------------------------------------------------


def test_the_hw_is_the_least_of_the_members_ends(rules: Rules | None = None) -> None:
    """16.9 (5.28): LEOs 105/104/102, readable below 102; n3 comes to 105 and the HW to 104, which is n2's; then n2 too."""
    world = Traced(rules)
    world.write(1, *(str(offset) for offset in range(102)))
    of_3 = world.hold("Fetch", "requests", (3, 1))
    world.until(lambda: of_3.touched == 1)
    acks = [world.produce(1, "102")]
    world.until(lambda: world.leos(1) == (103,))
    acks.append(world.produce(1, "103"))
    world.until(lambda: world.known(1, 2) == (104,))
    of_2 = world.hold("Fetch", "answers", (2, 1))
    acks.append(world.produce(1, "104"))  # only on the leader
    world.until(lambda: of_2.touched == 1)
    assert (world.leos(1, 2, 3), world.known(1, 2, 3), world.isr) == ((105, 104, 102), (104, 102), (1, 2, 3))
    assert world.hws(1) == (102,)
    assert (len(world.read(1, 0)), world.latest(1)) == (102, 102)
    assert [ack.fact for ack in acks] == [None, None, None]

    of_3.release()
    world.until(lambda: world.known(1, 3) == (105,))
    assert world.hws(1) == (104,)
    world.until(lambda: None not in (acks[0].fact, acks[1].fact))
    assert [ack.fact for ack in acks] == ["NONE", "NONE", None]

    of_2.release()
    world.until(lambda: world.known(1, 2) == (105,))
    assert world.hws(1) == (105,)
    world.until(lambda: acks[2].fact is not None)
    assert [(ack.fact, ack.base) for ack in acks] == [("NONE", 102), ("NONE", 103), ("NONE", 104)]
    world.ends_well()


def test_the_least_end_breaks_with_a_leader_for_whom_min_isr_copies_are_enough() -> None:
    """16.9 (5.28) with B28: 102 and 103 are promised while n3, a member, has neither."""

    class TwoCopiesAreEnough(Rules):
        def counts_for_hw(
            self, leader: Leadership, follower: Follower, leo: int, now: int, lag_max: int, brokers: Brokers
        ) -> bool:
            return not any(other.leo > follower.leo for other in leader.followers.values())

    with pytest.raises(Violated) as found:
        test_the_hw_is_the_least_of_the_members_ends(TwoCopiesAreEnough())
    assert found.value.number == 12


# -- 16.16: split brain -------------------------------------------------------------------------------------------------------


def test_a_leader_cut_off_from_the_controllers_promises_nothing_and_falls_in_line_when_it_heals(
    rules: Rules | None = None,
) -> None:
    """16.16 (5.33, 5.47, 6.4, 5.16): x with acks=1 is lost, y is never promised, z is acknowledged and everywhere."""
    world = Traced(rules)
    world.write(1, *(f"old{number}" for number in range(1_000)))
    world.run(250 * MS)
    assert world.leos(1, 2, 3) == world.hws(1, 2, 3) == (1_000, 1_000, 1_000)
    e = world.state.leader_epoch
    cut = world.fire("cut", ("n1", "controllers"))
    world.until(lambda: world.believes_to_lead(2) and not world.replica(2).taking_office)
    assert (world.shape, world.state.leader_epoch, world.fenced(1)) == ((2, (2, 3), ()), e + 1, True)

    assert world.write(1, "x", acks=1) == 1_000
    y = world.produce(1, "y", timeout_ms=4_000)
    world.until(lambda: world.leos(1) == (1_002,))
    assert world.write(2, "z") == 1_000
    assert world.consume(1, 1_000, epoch=e + 1, last_epoch=e, replica=3).error_code is Error.UNKNOWN_LEADER_EPOCH
    world.until(lambda: world.leadership(1).pending is not None)  # 2 and 3 lag in its eyes: nobody hears of it
    zombie = world.leadership(1)
    assert zombie.pending is not None
    assert (zombie.pending.kind, zombie.pending.new_isr) == ("shrink", (1,))
    assert (zombie.isr, zombie.maximal_isr, y.fact) == ((1, 2, 3), {1, 2, 3}, None)
    world.until(lambda: y.fact is not None)
    assert (y.fact, world.hws(1), world.leos(1)) == ("REQUEST_TIMED_OUT", (1_000,), (1_002,))
    assert world.leadership(1) is zombie
    assert world.replica(1).standing.leader_epoch == e

    fetched = len(world.heard_of.asked)
    cut.heal()
    world.until(lambda: world.replica(1).leader is None)
    world.until(lambda: world.leos(1) == (1_001,))
    assert world.fetches(1, 2, fetched)[:2] == [(1_002, e), (1_000, e)]
    assert world.diverging(1, 2) == [(e, 1_000)]
    assert [(cut.was, cut.now) for cut in world.told_by(1, Truncated)] == [(1_002, 1_000)]
    world.ends_well()
    assert (world.shape, world.state.leader_epoch) == ((2, (1, 2, 3), ()), e + 1)
    assert world.contents(1) == world.contents(2) == world.contents(3)
    assert world.contents(1)[1_000:] == [(1_000, e + 1, "z")]


class CountsWhenProposed(Rules):
    """B13: the maximal ISR as S4 words it (section 13, row 4)."""

    def maximal_isr(self, isr: Sequence[int], pending: PendingChange | None) -> frozenset[int]:
        return frozenset(isr if pending is None else pending.new_isr)


def test_split_brain_breaks_with_a_shrink_that_counts_when_it_is_proposed() -> None:
    """16.16 (5.33) with B13: alone in its own eyes, the cut-off leader shows x and y as committed, where n2 has z."""
    with pytest.raises(Violated) as found:
        test_a_leader_cut_off_from_the_controllers_promises_nothing_and_falls_in_line_when_it_heals(CountsWhenProposed())
    assert found.value.number == 4
    assert "n1 has HW 1002" in str(found.value)


def test_what_a_leader_promised_alone_is_gone_when_it_heals() -> None:
    """16.16 (5.33) with B13, to its end, where one in sync is enough: y was acknowledged, and no log has it."""
    world = Traced(CountsWhenProposed(), config={"min.insync.replicas": 1}, on_violation="note")
    world.write(1, "old")
    cut = world.fire("cut", ("n1", "controllers"))
    world.until(lambda: world.shape == (2, (2, 3), ()))
    assert world.write(1, "y") == 1
    assert world.write(2, "z") == 1
    cut.heal()
    world.until_healthy()
    assert [world.contents(node) for node in (1, 2, 3)] == [[(0, 0, "old"), (1, 1, "z")]] * 3
    world.invariants.at_the_end()
    assert world.found == [4, 6]


# -- 16.21: what KIP-101 cuts, and may ----------------------------------------------------------------------------------------


def test_a_record_that_was_never_committed_is_cut_when_the_other_leads(rules: Rules | None = None) -> None:
    """16.21 (5.8, 5.16, 5.24): A has 0 to 5, B 0 to 4, HW 5; both crash and B leads: offset 5 goes, nobody was told of it.

    Without ELR, in which the last of the ISR may lead again whatever became of its process.
    """
    a, b = 1, 2
    world = Traced(rules, elr=False)
    world.kill(3)
    world.until(lambda: world.shape == (a, (a, b), ()))
    world.write(a, *"01234")
    world.run(2 * S)
    assert world.hws(a, b) == (5, 5)
    e1 = world.state.leader_epoch
    fetches = world.hold_fetches((b, a))
    lost = world.produce(a, "lost")
    world.until(lambda: world.leos(a) == (6,))
    assert (world.leos(b), world.hws(a, b), lost.fact) == ((5,), (5, 5), None)
    world.kill(a)
    world.run(300 * MS)
    world.kill(b)
    fetches.release()
    assert lost.fact == "LOST"
    world.until(lambda: world.shape == (None, (b,), ()))

    world.start(b)
    world.until(lambda: world.believes_to_lead(b) and not world.replica(b).taking_office)
    e2 = world.state.leader_epoch
    assert (world.log(b).epochs, world.leos(b), world.hws(b)) == (((e1, 0), (e2, 5)), (5,), (5,))
    world.start(a)
    world.until(lambda: world.shape == (b, (a, b), ()))
    assert world.fetches(a, b)[:2] == [(6, e1), (5, e1)]
    assert world.diverging(a, b) == [(e1, 5)]
    assert [(cut.was, cut.now) for cut in world.told_by(a, Truncated)] == [(6, 5)]
    assert world.contents(a) == world.contents(b) == [(offset, e1, str(offset)) for offset in range(5)]
    world.start(3)
    world.ends_well()


def test_the_cut_breaks_with_a_leader_that_records_no_epoch_until_it_writes() -> None:
    """16.21 (5.8) with B04: B's cache does not tell where its predecessor's epoch ended."""

    class RecordsNothing(Rules):
        def epoch_recorded_on_election(self, leader_epoch: int, leo: int) -> tuple[int, int] | None:
            return None

    with pytest.raises(AssertionError, match=r"\(\(0, 0\),\) != \(\(0, 0\), \(3, 5\)\)"):
        test_a_record_that_was_never_committed_is_cut_when_the_other_leads(RecordsNothing())
