"""The worked traces of PROTOCOL section 16 in which ISR changes and decisions of the controllers cross, with whole nodes."""

from __future__ import annotations

from clusters.sim.latency import MS
from model.cluster import Link
from replication.errors import Error
from replication.events import AlterPartitionRefused, IsrChanged
from replication.messages import AlteredPartition
from replication.rules import Rules
from replication.rules.isr import AfterAlter
from replication.rules.leadership import MetadataVerdict
from tests.clusters.sim.traced import Sent, Traced
from tests.clusters.sim.world import S
from tests.replication.controller.wrong import SilentRefusals, SilentSettings

A, B, C = 1, 2, 3
ONE = {"min.insync.replicas": 1}


# -- 16.19: a late copy of a refused expand -----------------------------------------------------------------------------------


class LateCopy:
    """ISR {A, B}; C, at the HW, is proposed; the request stands in the network, its connection breaks, and A sends it again, to
    a controller that has fenced C in the meantime. A has heard the answer, and no metadata since."""

    def __init__(self, rules: Rules | None = None) -> None:
        world = self.world = Traced(rules, on_violation="stop" if rules is None else "note")
        world.write(A, "old")
        world.kill(C)
        world.until(lambda: world.shape == (A, (A, B), ()))
        self.copy = world.hold("AlterPartition", "requests", (A, 4), count=1)
        world.start(C)
        world.until(lambda: self.copy.touched == 1)
        self.partition_epoch = world.state.partition_epoch
        assert world.leadership(A).maximal_isr == {A, B, C}
        assert world.known(A, C) == world.hws(A) == (1,)
        self.fetches = world.hold_fetches((C, A), (C, B))
        self.cut = world.fire("cut", (f"n{C}", "controllers"))
        world.until(lambda: world.fenced(C))
        world.run(20 * MS)
        self.metadata = world.hold_metadata(A)
        world.cluster.links.reset(Link(A, 4), "answers")  # what was sent still arrives
        world.until(lambda: bool(world.told_by(A, AlterPartitionRefused)))
        assert [event.error for event in world.told_by(A, AlterPartitionRefused)] == ["INELIGIBLE_REPLICA"]
        self.ack: Sent = world.produce(A, "kept 1", "kept 2")
        world.until(lambda: world.known(A, B) == (3,))

    def arrives(self) -> None:
        """C is unfenced, and the first copy comes."""
        world = self.world
        self.cut.heal()
        world.until(lambda: not world.fenced(C))
        heard, began = world.heard(A, 4, since=0, kind="AlterPartition"), world.now
        self.copy.release()
        world.run(20 * MS)
        assert (len(heard), len(world.heard(A, 4, since=began, kind="AlterPartition"))) == (1, 1)


def test_a_late_copy_of_a_refused_proposal_is_refused_again() -> None:
    """16.19 (5.37, 5.35): the refusal has stepped the partition epoch; until A knows of the step it waits for C as well."""
    story = LateCopy()
    world = story.world
    assert (world.state.partition_epoch, world.isr) == (story.partition_epoch + 1, (A, B))
    world.run(50 * MS)
    assert (world.leadership(A).maximal_isr, world.hws(A), story.ack.fact) == ({A, B, C}, (1,), None)
    story.metadata.release()
    world.until(lambda: story.ack.fact is not None)
    assert (story.ack.fact, world.leadership(A).maximal_isr, world.hws(A)) == ("NONE", {A, B}, (3,))

    story.arrives()
    assert (world.shape, world.state.partition_epoch) == ((A, (A, B), ()), story.partition_epoch + 1)
    assert world.leos(C) == (1,)
    world.kill(A, B)
    world.until(lambda: world.state.leader != A and world.fenced(A) and world.fenced(B))
    world.run(2 * S)
    assert world.shape[0] is None  # C is there, and is not asked
    world.start(A, B)
    story.fetches.release()
    world.ends_well()
    assert [value for _, _, value in world.contents(C)] == ["old", "kept 1", "kept 2"]


class RevertsAsKafkaDoes(SilentRefusals):
    """B54: a refusal for its members steps no epoch, and the leader goes back to the ISR before."""

    def judge_alter_answer(self, answer: AlteredPartition, own_leader_epoch: int, own_partition_epoch: int) -> AfterAlter:
        if answer.error_code is Error.INELIGIBLE_REPLICA:
            return AfterAlter.REVERT
        return super().judge_alter_answer(answer, own_leader_epoch, own_partition_epoch)


def test_the_late_copy_of_a_refused_proposal_lets_a_replica_lead_without_what_was_acknowledged() -> None:
    """16.19 (5.37) with B54: A reverts and acknowledges two records; copy 1 is accepted; A and B fail, and C leads."""
    story = LateCopy(RevertsAsKafkaDoes())
    world = story.world
    assert world.leadership(A).maximal_isr == {A, B}
    world.until(lambda: story.ack.fact is not None)
    assert (story.ack.fact, world.hws(A), world.state.partition_epoch) == ("NONE", (3,), story.partition_epoch)
    assert world.found == []
    story.metadata.release()

    story.arrives()
    assert (world.shape, world.state.partition_epoch) == ((A, (A, B, C), ()), story.partition_epoch + 1)
    assert {2, 13} <= set(world.found)
    world.kill(A, B)
    world.until(lambda: world.state.leader == C and world.believes_to_lead(C))
    assert "clean" in world.elections
    assert world.leos(C) == (1,)
    story.fetches.release()
    world.start(A, B)
    world.until_healthy()
    assert [[value for _, _, value in world.contents(node)] for node in (A, B, C)] == [["old"]] * 3
    assert 1 in world.found


# -- 16.20: a raise of min.insync.replicas ------------------------------------------------------------------------------------


class Raised:
    """Min ISR 1, ISR {A, B}; B fetches no more, and w waits for it. The controllers set min ISR 2, and A does not hear of it."""

    def __init__(self, rules: Rules | None = None) -> None:
        world = self.world = Traced(rules, config=ONE, on_violation="stop" if rules is None else "note")
        world.write(A, "old")
        world.kill(C)
        world.until(lambda: world.shape == (A, (A, B), ()))
        world.run(250 * MS)
        self.metadata = world.hold_metadata(A)
        self.fetches = world.hold_fetches((B, A))
        self.w: Sent = world.produce(A, "w")
        world.until(lambda: world.leos(A) == (2,))
        self.partition_epoch = world.state.partition_epoch
        done: list[str | None] = []
        world.cluster.admin.change_config("t", "min.insync.replicas", "2", done.append)
        world.until(lambda: done == [None])
        assert (world.replica(A).leader.min_isr, world.leos(B), self.w.fact) == (1, (1,), None)  # type: ignore[union-attr]

    def elect_b(self) -> None:
        """A is gone."""
        world = self.world
        world.kill(A)
        world.until(lambda: world.state.leader == B and world.believes_to_lead(B))
        self.fetches.release()

    def is_over(self) -> None:
        self.world.start(A, C)
        self.world.until_healthy()


def test_a_leader_that_does_not_know_the_new_min_isr_cannot_shrink() -> None:
    """16.20 (8.12): the change of the setting has stepped the partition epoch in the same batch; w waits, and B has all."""
    story = Raised()
    world = story.world
    assert world.state.partition_epoch == story.partition_epoch + 1
    world.until(lambda: bool(world.told_by(A, AlterPartitionRefused)))
    refused = world.told_by(A, AlterPartitionRefused)[0]
    assert (refused.error, refused.proposed) == ("INVALID_UPDATE_VERSION", (A,))
    world.run(1 * S)
    assert (world.shape, world.state.partition_epoch) == ((A, (A, B), ()), story.partition_epoch + 1)
    assert (world.hws(A), story.w.fact) == ((1,), None)

    story.elect_b()
    assert (world.shape, story.w.fact, world.leos(B)) == ((B, (B,), (A,)), "LOST", (1,))
    story.metadata.release()
    story.is_over()
    world.ends_well()


def test_the_raise_breaks_with_settings_that_step_nothing() -> None:
    """16.20 (8.12) with B55: the shrink is accepted, A acknowledges w alone, and B is elected from the ELR without it."""
    story = Raised(SilentSettings())
    world = story.world
    world.until(lambda: story.w.fact is not None)
    assert (story.w.fact, world.shape, world.hws(A)) == ("NONE", (A, (A,), (B,)), (2,))
    assert 2 in world.found
    story.elect_b()
    assert (world.shape[0], world.elections, world.leos(B)) == (B, ["elr"], (1,))
    story.metadata.release()
    story.is_over()
    assert [[value for _, _, value in world.contents(node)] for node in (A, B, C)] == [["old"]] * 3
    assert 1 in world.found


def one_delta(rules: Rules | None = None) -> Raised:
    """The config record and B's fencing reach A together."""
    story = Raised(rules)
    world = story.world
    cut = world.fire("cut", (f"n{B}", "controllers"))
    world.until(lambda: world.shape == (A, (A,), (B,)))
    assert (world.leadership(A).isr, story.w.fact) == ((A, B), None)
    story.metadata.release()
    world.until(lambda: world.leadership(A).isr == (A,))
    world.run(50 * MS)
    cut.heal()
    return story


def test_a_setting_and_the_fencing_under_it_are_taken_up_in_that_order() -> None:
    """16.20 (3.14), the variant: A knows of min ISR 2 before it sees itself alone, so w waits until B is back."""
    story = one_delta()
    world = story.world
    assert (world.hws(A), story.w.fact) == ((1,), None)
    story.fetches.release()
    world.until(lambda: story.w.fact is not None)
    assert (story.w.fact, world.shape, world.hws(A)) == ("NONE", (A, (A, B), ()), (2,))
    world.start(C)
    world.ends_well()


def test_the_raise_breaks_with_partitions_that_are_taken_up_before_settings() -> None:
    """16.20 (3.14) with B55, the variant: A sees itself alone under the old min ISR and acknowledges w; B may lead without it."""

    class PartitionsFirst(Rules):
        def settings_come_first(self) -> bool:
            return False

    story = one_delta(PartitionsFirst())
    world = story.world
    assert (story.w.fact, world.hws(A)) == ("NONE", (2,))
    assert 2 in world.found
    story.elect_b()
    story.is_over()
    assert [[value for _, _, value in world.contents(node)] for node in (A, B, C)] == [["old"]] * 3


# -- 16.22: the states of an ISR ----------------------------------------------------------------------------------------------


def isr_of(world: Traced) -> tuple[tuple[int, ...], set[int], tuple[int, ...] | None, int]:
    """Committed ISR, maximal ISR, what is proposed, and the partition epoch, as the leader has them."""
    leader = world.leadership(A)
    proposed = leader.pending.new_isr if leader.pending else None
    return leader.isr, set(leader.maximal_isr), proposed, world.replica(A).standing.partition_epoch


def because(world: Traced) -> str:
    return str(world.told_by(A, IsrChanged)[-1].because)


def alone(rules: Rules | None = None) -> tuple[Traced, int]:
    """Committed{A}, with a partition epoch; B and C run again and cannot fetch yet."""
    world = Traced(rules, config=ONE)
    world.write(A, "old")
    world.kill(B, C)
    world.until(lambda: world.shape == (A, (A,), ()))
    world.run(50 * MS)
    return world, world.state.partition_epoch


def pending_expand(world: Traced, partition_epoch: int) -> None:
    """B is caught up and proposed."""
    world.start(B)
    world.until(lambda: world.leadership(A).pending is not None)
    assert isr_of(world) == ((A,), {A, B}, (A, B), partition_epoch)


def test_metadata_before_the_reply_commits_and_the_reply_is_ignored() -> None:
    """16.22 (5.37, 5.38): both tell the same change, and the first to arrive counts."""
    world, epoch = alone()
    reply = world.hold("AlterPartition", "answers", (A, 4))
    pending_expand(world, epoch)
    world.until(lambda: world.leadership(A).pending is None)
    assert (isr_of(world), because(world)) == (((A, B), {A, B}, None, epoch + 1), "metadata")

    world.until(lambda: reply.touched == 1)
    reply.release()
    world.run(20 * MS)
    assert (isr_of(world), because(world)) == (((A, B), {A, B}, None, epoch + 1), "metadata")
    assert (len(world.told_by(A, IsrChanged)), world.told_by(A, AlterPartitionRefused)) == (2, [])
    world.start(C)
    world.ends_well()


class ToldAgain:
    """The reply has committed B, C is proposed, and only now does the metadata tell of B."""

    def __init__(self, rules: Rules | None = None) -> None:
        world = self.world = Traced(rules, config=ONE, on_violation="stop" if rules is None else "note")
        world.write(A, "old")
        world.kill(B, C)
        world.until(lambda: world.shape == (A, (A,), ()))
        of_b, of_c = world.hold_fetches((B, A)), world.hold_fetches((C, A))
        world.start(B, C)
        world.until_unfenced(B, C)
        world.run(50 * MS)
        self.epoch = world.state.partition_epoch
        metadata = world.hold_metadata(A)
        of_b.release()
        world.until(lambda: world.leadership(A).pending is not None)
        assert isr_of(world) == ((A,), {A, B}, (A, B), self.epoch)
        world.until(lambda: world.leadership(A).pending is None)
        assert (isr_of(world), because(world)) == (((A, B), {A, B}, None, self.epoch + 1), "controller accepted")

        self.request = world.hold("AlterPartition", "requests", (A, 4))
        of_c.release()
        world.until(lambda: self.request.touched == 1)
        assert isr_of(world) == ((A, B), {A, B, C}, (A, B, C), self.epoch + 1)
        metadata.release()
        world.until(lambda: world.broker(A).state.image.offset >= world.cluster.tail.image.offset)


def test_metadata_after_the_reply_changes_nothing() -> None:
    """16.22 (5.37, 3.8): the same change, told again, does not end the proposal of C that came after it."""
    story = ToldAgain()
    world = story.world
    assert isr_of(world) == ((A, B), {A, B, C}, (A, B, C), story.epoch + 1)
    assert len(world.told_by(A, IsrChanged)) == 2
    story.request.release()
    world.until(lambda: world.leadership(A).pending is None)
    assert isr_of(world) == ((A, B, C), {A, B, C}, None, story.epoch + 2)
    world.ends_well()


def test_the_states_break_with_a_leader_that_takes_up_the_same_metadata_twice() -> None:
    """16.22 (3.8) with B53: the second telling ends the pending expand; C is let in, and the HW does not wait for it."""

    class TakesUpEqual(Rules):
        def judge_metadata(self, own_partition_epoch: int, partition_epoch: int) -> MetadataVerdict:
            return MetadataVerdict.APPLY if partition_epoch >= own_partition_epoch else MetadataVerdict.IGNORE

    story = ToldAgain(TakesUpEqual())
    world = story.world
    assert isr_of(world) == ((A, B), {A, B}, None, story.epoch + 1)
    assert world.found == []
    story.request.release()
    world.until(lambda: world.isr == (A, B, C))
    world.run(0)
    assert world.found == [3]
