"""The schedules of BUGS, each a claim that the right rules keep and the mutant breaks: seen by an invariant, as it happens.

Whole nodes, n1 leads. Where a worked trace of PROTOCOL section 16 tells the story already, it is played from there.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from clusters.sim.cluster import SimCluster
from clusters.sim.latency import MS
from harness.trace_words import of_event
from model.plan import Plan
from model.refusal import Refusal
from replication.events import MutantsSwitchedOn
from replication.mutants import rules_with
from replication.rules import Rules
from tests.clusters.sim.test_traces import (
    acknowledged_sixth,
    five_on_all,
    test_a_leader_cut_off_from_the_controllers_promises_nothing_and_falls_in_line_when_it_heals,
    test_a_new_leader_tells_no_latest_offset_until_it_knows_what_was_promised,
    test_the_hw_is_the_least_of_the_members_ends,
)
from tests.clusters.sim.traced import Heard, Traced, Violated
from tests.clusters.sim.world import S

Story = Callable[[Rules | None], None]


def elected(world: Traced, node: int) -> None:
    world.until(lambda: world.believes_to_lead(node) and not world.replica(node).taking_office)


def test_a_follower_keeps_what_it_holds_above_its_own_hw(rules: Rules | None = None) -> None:
    """B01: n2 and n3 hold what n1 acknowledged and have not heard that it is committed; n1 dies, then n2: n3 still has it."""
    world = five_on_all(rules)
    acknowledged_sixth(world)
    world.hold_fetches((3, 2))
    world.kill(1)
    elected(world, 2)
    world.kill(2)
    elected(world, 3)
    assert world.contents(3)[5][2] == "new"


def test_a_follower_that_diverges_is_not_counted_where_it_stands(rules: Rules | None = None) -> None:
    """B09: n1 comes back with two records that nobody else has; what n2 has at their offsets is not held by n1 yet."""
    world = five_on_all(rules)
    world.hold_fetches((2, 1), (3, 1))
    world.write(1, "tail", "end", acks=1)
    world.kill(1)
    elected(world, 2)
    world.write(2, "x", "y")
    requests, answers = (world.hold("Fetch", streams, (1, 2)) for streams in ("requests", "answers"))
    world.start(1)
    world.until_unfenced(1)
    world.run(300 * MS)  # by then n2 knows it too
    requests.release()
    world.run(1 * S)
    assert world.leos(1, 2) == (7, 7)
    answers.release()
    world.ends_well()
    assert [value for _, _, value in world.contents(1)[5:]] == ["x", "y"]


def test_a_follower_joins_only_where_the_leaders_epoch_starts(rules: Rules | None = None) -> None:
    """B11: n1 acknowledged 8 and 9 with n2 and dies; n2 knows of no HW above 8, at which n3 stands: too early to join."""
    world = Traced(rules)
    world.write(1, *"01234567")
    world.run(250 * MS)
    old = world.hold_fetches((3, 1))
    assert world.write(1, "8", "9") == 8  # once n3 is no member any more
    world.kill(1)
    answers = world.hold("Fetch", "answers", (3, 2))
    elected(world, 2)
    assert (world.hws(2), world.leos(2, 3), world.leadership(2).leso) == ((8,), (10, 8), 10)
    world.run(1 * S)
    assert world.shape == (2, (2,), (1,))
    old.release()
    answers.release()
    world.start(1)
    world.ends_well()


def test_the_elr_is_empty_once_min_isr_members_are_in_sync(rules: Rules | None = None) -> None:
    """B23: n2 left an ISR of one and may lead; when n3 has joined n1, more is committed, and n2 may not lead any more."""
    world = Traced(rules)
    world.kill(3)
    world.until(lambda: world.shape == (1, (1, 2), ()))
    world.kill(2)
    world.until(lambda: world.shape == (1, (1,), (2,)))
    world.start(3)
    world.until(lambda: world.isr == (1, 3))
    world.write(1, "more")
    world.kill(1, 3)
    world.start(2)
    world.until_unfenced(2)
    world.run(2 * S)
    assert world.leader is None or world.leader == 3
    world.start(1, 3)
    world.ends_well()


def test_an_acknowledgement_waits_for_every_member(rules: Rules | None = None) -> None:
    """B28a: while nobody has fetched the record its client hears nothing."""
    world = five_on_all(rules)
    fetches = world.hold_fetches((2, 1), (3, 1))
    sent = world.produce(1, "x")
    world.run(300 * MS)
    assert sent.fact is None
    fetches.release()
    world.until(lambda: sent.fact == "NONE")
    world.ends_well()


def test_nobody_reads_what_only_the_leader_has(rules: Rules | None = None) -> None:
    """B32: n1 dies with a record that it alone has; whoever has read it would not find it again."""
    world = five_on_all(rules)
    fetches = world.hold_fetches((2, 1), (3, 1))
    world.write(1, "tail", acks=1)
    read = world.read(1, 5)
    world.kill(1)
    elected(world, 2)
    assert read == []
    fetches.release()
    world.start(1)
    world.ends_well()


def test_a_leader_of_the_past_cuts_what_it_wrote_meanwhile(rules: Rules | None = None) -> None:
    """B35: cut off from the controllers alone, n1 writes x where n2, elected since, writes z; both are healed into one log."""
    world = five_on_all(rules)
    cut = world.fire("cut", ("n1", "controllers"))
    elected(world, 2)
    assert world.write(1, "x", acks=1) == world.write(2, "z") == 5
    cut.heal()
    world.ends_well()
    assert world.contents(1) == world.contents(2) == world.contents(3)


def test_nobody_outside_the_isr_is_elected(rules: Rules | None = None) -> None:
    """B36: n1 alone acknowledged the last record, and dies; n2 and n3 live and wait for it."""
    world = Traced(rules, config={"min.insync.replicas": 1}, elr=False)
    fetches = world.hold_fetches((2, 1), (3, 1))
    world.until(lambda: world.isr == (1,))
    world.write(1, "alone")
    world.kill(1)
    world.until(lambda: world.fenced(1))
    world.run(2 * S)
    assert world.shape == (None, (1,), ())
    fetches.release()
    world.start(1)
    world.ends_well()
    assert [value for _, _, value in world.contents(2)] == ["alone"]


SHRINK = test_a_leader_cut_off_from_the_controllers_promises_nothing_and_falls_in_line_when_it_heals


@pytest.mark.parametrize(
    ("mutant", "story", "number"),
    [
        ("B01", test_a_follower_keeps_what_it_holds_above_its_own_hw, 14),
        ("B09", test_a_follower_that_diverges_is_not_counted_where_it_stands, 14),
        ("B11", test_a_follower_joins_only_where_the_leaders_epoch_starts, 13),
        ("B13", SHRINK, 4),
        ("B23", test_the_elr_is_empty_once_min_isr_members_are_in_sync, 7),
        ("B28", test_an_acknowledgement_waits_for_every_member, 12),
        ("B28a", test_an_acknowledgement_waits_for_every_member, 12),
        ("B28b", test_the_hw_is_the_least_of_the_members_ends, 12),
        ("B32", test_nobody_reads_what_only_the_leader_has, 5),
        ("B35", test_a_leader_of_the_past_cuts_what_it_wrote_meanwhile, 4),
        ("B36", test_nobody_outside_the_isr_is_elected, 1),
    ],
)
def test_the_schedule_of_a_mutant_breaks_with_it(mutant: str, story: Story, number: int) -> None:
    """By the invariant that is the first to see it."""
    with pytest.raises(Violated) as found:
        story(rules_with([mutant]))
    assert found.value.number == number


def test_an_end_that_goes_back_is_seen_by_clients_alone() -> None:
    """B33: no node is in a wrong state; one has said what it should not."""
    with pytest.raises(AssertionError, match="assert 5 == 'OFFSET_NOT_AVAILABLE'"):
        test_a_new_leader_tells_no_latest_offset_until_it_knows_what_was_promised(rules_with(["B33"]))


# -- how a plan switches them on ------------------------------------------------------------------------------------------------


def cluster_of(*mutants: str) -> tuple[SimCluster, Heard]:
    heard = Heard()
    return SimCluster(Plan(tidemark=1, schedule="none", mutants=mutants), watch=heard), heard


def test_every_node_of_a_plan_with_mutants_runs_with_them_and_says_so_first() -> None:
    """As the property `tidemark.mutants`; without mutants there is no such property, and nothing is told."""
    cluster, heard = cluster_of("B11", "B13")
    cluster.start()
    assert cluster.hosts.common["tidemark.mutants"] == "B11,B13"
    for node in cluster.nodes:
        program = cluster.processes.nodes[node].program
        assert program.rules.maximal_isr((1, 2, 3), None) == {1, 2, 3}
        assert type(program.rules) is not Rules
        first = next(event for teller, event in heard.events if teller == node)
        assert first == MutantsSwitchedOn(names=("B11", "B13"))
        assert of_event(first)[1] == "runs with wrong rules: B11, B13"


def test_a_plan_without_mutants_has_no_such_property() -> None:
    """The near miss."""
    cluster, heard = cluster_of()
    cluster.start()
    assert "tidemark.mutants" not in cluster.hosts.common
    assert type(cluster.processes.nodes[1].program.rules) is Rules
    assert not any(isinstance(event, MutantsSwitchedOn) for _, event in heard.events)


def test_two_mutants_of_one_question_are_refused_before_anything_starts() -> None:
    """One of them would be without effect, and nobody would know."""
    with pytest.raises(Refusal, match="B28 and B28a answer the same question"):
        cluster_of("B28", "B28a")
