"""What is still promised after what happened: the worked examples of CHECKERS 8.4, and the bounds of a loss (6.3, 6.4)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from model.damage import DamageLedger, ledger_told
from model.damage_inputs import UncleanEnd
from model.promise_level import Facts, PromiseTable
from tests.model.damage_stories import AT, STEP_NS, A, B, C, D, Story

FORBIDDEN, ALLOWED, NOT_JUDGED = "forbidden", "allowed", "not judged"


def stripped(story: Story, node: int) -> Story:
    """P 4.3: an unclean process registers again; it is in nothing any more."""
    return story.restart(node)


def last_known(story: Story, node: int, start: int | None = None) -> Story:
    """P 8.8: ISR and ELR are empty, and the last known leader comes back."""
    return story.leaderless(last_known=node).restart(node).elected(node, "last_known", start)


def b_leads(story: Story) -> Story:
    return story.change(B, C, election="clean", leader=B)


EXAMPLES: dict[str, tuple[Callable[[], Story], str, str]] = {
    "P1 the leader is killed, its page cache kept": (lambda: b_leads(Story().kill(A)), "C3", FORBIDDEN),
    "P2 all are killed and the last known leads": (lambda: last_known(Story().kill(A).kill(B).kill(C), A), "C3", FORBIDDEN),
    "P3 one of three loses records": (lambda: b_leads(Story().hurt(A)), "C5", FORBIDDEN),
    "P4 one loses records, the other is killed": (
        lambda: last_known(Story((A, B)).hurt(A, "lossy", 1).kill(B), A),
        "C7",
        ALLOWED,
    ),
    "P6 two lose records, the third is elected": (
        lambda: Story().hurt(A).hurt(B).change(C, election="clean", leader=C),
        "C6",
        FORBIDDEN,
    ),
    "P7 one after the other, the first repaired between": (
        lambda: b_leads(Story().hurt(A)).restart(A).change(A, B, C).hurt(B),
        "C5",
        FORBIDDEN,
    ),
    "P8 the same, the first not yet back": (
        lambda: last_known(Story((A, B)).hurt(A).change(B, elr=(), leader=B, election="clean").restart(A).hurt(B), B),
        "C7",
        ALLOWED,
    ),
    "P9 min 1, one of two loses records": (
        lambda: Story((A, B), min_isr=1).hurt(A).change(B, election="clean", leader=B),
        "C6",
        FORBIDDEN,
    ),
    "P10 min 1, the only one loses records": (lambda: last_known(Story((A,), min_isr=1).hurt(A), A), "C7", ALLOWED),
    "P11 ELR off, one loses records": (lambda: b_leads(Story(elr=False).hurt(A)), "C8", FORBIDDEN),
    "P12 ELR off, the whole ISR loses records": (
        lambda: Story((A,), elr=False).hurt(A).change(leader=None).restart(A).change(A, election="clean", leader=A),
        "C9",
        ALLOWED,
    ),
    "P13 ELR off, min 1, the whole ISR is killed": (lambda: Story((A,), elr=False, min_isr=1).kill(A), "C3", FORBIDDEN),
    "P14 ELR off, min 1, the whole ISR loses records": (lambda: Story((A,), elr=False, min_isr=1).hurt(A), "C9", ALLOWED),
    "P15 flush each, all lose what was never synced": (
        lambda: last_known(Story(flush_each=True).hurt(A).hurt(B).hurt(C), A),
        "C3",
        FORBIDDEN,
    ),
    "P16 flush each, both are wiped": (
        lambda: last_known(Story((A, B), flush_each=True).hurt(A, "wipe", 0).hurt(B, "wipe", 0), A),
        "C7",
        ALLOWED,
    ),
    "P17 unclean on, a clean election": (lambda: b_leads(Story(unclean=True).kill(A)), "C3", FORBIDDEN),
    "P18 unclean on, an unclean election": (lambda: Story((A,), unclean=True).kill(A).elected(C, "unclean", 1), "C2", ALLOWED),
    "P20 unclean on, changes sampled": (lambda: Story(unclean=True, changes_complete=False).kill(A), "C2", ALLOWED),
    "P21 one is wiped": (lambda: b_leads(Story().hurt(A, "wipe", 0)), "C5", FORBIDDEN),
    "P22 ELR off, the whole ISR is wiped": (lambda: Story((A,), elr=False).hurt(A, "wipe", 0), "C9", ALLOWED),
    "P23 one voter of three is wiped": (lambda: Story().voter(11, "wipe"), "C3", FORBIDDEN),
    "P24 two voters of three are wiped": (lambda: Story().voter(11, "wipe").voter(12, "wipe"), "Q1", NOT_JUDGED),
    "P25 nothing but skewed clocks": (Story, "C3", FORBIDDEN),
    "P26 bits rot": (lambda: Story().hurt(A, "rot"), "C1", NOT_JUDGED),
    "P27 reassigned to an ISR of one": (
        lambda: Story().change(A, replicas=(A, D, B)).change(A, replicas=(A, D)),
        "C3",
        FORBIDDEN,
    ),
    "P28 the same, then it loses records": (
        lambda: last_known(Story().change(A, replicas=(A, D, B)).change(A, replicas=(A, D)).hurt(A), A),
        "C7",
        ALLOWED,
    ),
    "like P28, but one of two replicas left afterwards": (
        lambda: last_known(Story((A, B)).hurt(A), A).change(A, replicas=(A,)),
        "C7",
        ALLOWED,
    ),
    "P29 min changed, one is killed": (lambda: b_leads(Story().min_isr_becomes(1).kill(A)), "C3", FORBIDDEN),
    "P30 min changed, one loses records, last known": (
        lambda: last_known(Story((A,)).min_isr_becomes(1).hurt(A), A),
        "C4",
        NOT_JUDGED,
    ),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_worked_examples_are_decided_as_written(name: str) -> None:
    """CHECKERS 8.4, P1 to P30 without the bounds: the row and its cell."""
    build, rule, cell = EXAMPLES[name]
    story = build()
    assert (story.rule, story.cell) == (rule, cell)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_answer_that_is_kept_is_the_answer_of_a_ledger_that_was_never_asked(name: str) -> None:
    """What was remembered from asking after every step is what one question at the end finds."""
    story = EXAMPLES[name][0]()
    asked, step_by_step = story.ledger, DamageLedger({AT: story.setting}, story.voters)
    for happening in story.told:
        step_by_step.on(happening)
        step_by_step.level(AT)
    assert step_by_step.level(AT) == asked.level(AT) == ledger_told(story.told, {AT: story.setting}, story.voters).level(AT)


# -- near misses of single rows -------------------------------------------------------------------------------------------


def test_rot_in_any_voter_ends_every_promise_and_its_death_none() -> None:
    """Q1, Q2. Brokers keep a copy of the metadata log too, and that is no vote."""
    assert Story().voter(11, "rot").rule == "Q1"
    assert Story().metadata_of(11, "rot").rule == "Q1"
    assert Story().metadata_of(A, "rot").rule == "C3"
    assert Story().voter(11, "lossy").voter(12, "lossy").voter(13, "restart").rule == "C3"


def test_a_voter_wiped_twice_is_one_voter() -> None:
    """Q1 asks for a majority of different voters."""
    assert Story().voter(11, "wipe").voter(11, "wipe").rule == "C3"
    assert Story(voters=(11,)).voter(11, "wipe").rule == "Q1"
    assert Story(voters=(11, 12, 13, 14)).voter(11, "wipe").voter(12, "wipe").rule == "C3"


def test_rot_of_a_replica_that_is_no_member_is_nothing_until_it_is_one() -> None:
    """C1: nobody looks at synced bytes again, so it brings them along; unless its log was emptied, or deleted, meanwhile."""
    lagging = Story((A, B)).hurt(C, "rot").restart(C)
    assert lagging.rule == "C3"
    assert lagging.change(A, B, C).rule == "C1"
    assert Story((A, B)).hurt(C, "rot").hurt(C, "wipe", 0).restart(C).change(A, B, C).rule == "C3"
    unknown = Story((A, B)).hurt(C, "rot").tell(UncleanEnd(500, C, None)).restart(C)
    assert unknown.change(A, B, C).rule == "C1"
    moved = Story((A, B)).hurt(C, "rot").change(A, B, replicas=(A, B)).restart(C)
    assert moved.change(A, B, replicas=(A, B, C)).change(A, B, C).rule == "C3"


def test_a_tear_below_the_synced_end_is_not_judged_and_one_above_it_is_a_loss() -> None:
    """C1 beside C5."""
    assert Story().hurt(A, "deep_tear").rule == "C1"
    assert Story().hurt(A, "torn").rule == "C5"


def test_an_unclean_election_excuses_only_where_somebody_permitted_it() -> None:
    """C2, B36: the setting of the plan, a change of it, or an operator. Nothing permits it afterwards what was done before."""

    def elected(story: Story) -> Story:
        return story.kill(A).elected(C, "unclean", 1)

    assert elected(Story((A,))).rule == "C3"
    assert elected(Story((A,)).asked_for_an_unclean_election()).rule == "C2"
    assert elected(Story((A,)).configured("unclean.leader.election.enable", "true")).rule == "C2"
    assert elected(Story((A,)).configured("unclean.leader.election.enable", "false")).rule == "C3"


def test_an_unpermitted_unclean_election_does_not_count_as_the_election_of_the_last_known_leader() -> None:
    """C6: beyond the tolerance, too, only a last known leader is elected without being complete by the rules."""
    assert Story().hurt(A).hurt(B).elected(A, "unclean").rule == "C6"


def test_a_changed_min_isr_matters_only_with_a_last_known_election_or_samples() -> None:
    """C4 and its near miss C6: the tolerance is not asked, since it was not one number."""
    assert b_leads(Story().min_isr_becomes(1).hurt(A)).rule == "C6"
    assert Story(changes_complete=False).min_isr_becomes(1).hurt(A).rule == "C4"
    assert Story(changes_complete=False).hurt(A).rule == "C5"


def test_a_change_of_the_clusters_value_does_not_reach_a_topic_that_has_its_own() -> None:
    """C4 beside C5, C7."""
    assert last_known(Story((A, B)).min_isr_becomes(1).hurt(A), A).rule == "C4"
    own = Story((A, B), of_the_topic=("min.insync.replicas",)).min_isr_becomes(1)
    assert last_known(own.hurt(A), A).rule == "C5"
    assert last_known(Story((A, B)).min_isr_becomes(1, topic="other").hurt(A), A).rule == "C5"


def test_sampled_changes_do_not_show_that_nobody_incomplete_was_elected() -> None:
    """C6 to C7, C8 to C9."""
    assert Story(changes_complete=False).hurt(A).hurt(B).rule == "C7"
    assert Story(changes_complete=False, elr=False).hurt(A).rule == "C9"
    assert Story(elr=False).hurt(A).rule == "C8"


def test_a_flush_that_an_operator_made_rarer_is_no_flush_of_each() -> None:
    """6.2: from then on what was never synced may have been promised."""
    assert Story(flush_each=True).configured("flush.messages", "1").hurt(A).rule == "C3"
    assert Story(flush_each=True).configured("flush.messages", "1000").hurt(A).rule == "C5"


def test_fewer_replicas_than_min_isr_ask_for_no_more_than_there_are() -> None:
    """m is min(min.insync.replicas, replicas), also after a reassignment to fewer."""
    alone = Story().change(A, replicas=(A, B)).change(A, replicas=(A,))
    assert alone.ledger.facts(AT).min_isr == 1
    assert Story(min_isr=3).change(A, B, replicas=(A, B)).ledger.facts(AT).min_isr == 2
    assert Story(min_isr=2).change(A, B, replicas=(A, B)).ledger.facts(AT).min_isr == 2


def test_loss_is_forbidden_until_something_permits_it_and_only_in_partitions_that_were_promised() -> None:
    """6.3, as invariants ask it after every event."""
    story = Story((A,))
    ledger = story.ledger
    assert [ledger.forbids_loss(*AT), ledger.forbids_loss("t", 1), ledger.forbids_loss("other", 0)] == [True, False, False]
    last_known(story.hurt(A).hurt(A), A)
    assert ledger.forbids_loss(*AT)  # one of two that min ISR asks for
    last_known(story.change(A, B).hurt(A).kill(B), A)
    assert not ledger.forbids_loss(*AT)


# -- bounds -------------------------------------------------------------------------------------------------------------


def test_an_unclean_election_may_cost_what_lies_above_the_start_of_its_epoch() -> None:
    """b1, P18 and P19: the least of several; none where one is unknown, or where an election may have been missed (P20)."""
    story = Story((A,), unclean=True).kill(A).elected(C, "unclean", 2)
    assert story.bound == ("b1", 2)
    assert story.kill(C).elected(B, "unclean", 1).bound == ("b1", 1)
    assert story.kill(B).elected(C, "unclean").bound == ("b1", 0)
    assert Story(unclean=True, changes_complete=False).kill(A).bound == ("b1", 0)
    assert Story((A,), unclean=True, changes_complete=False).kill(A).elected(C, "unclean", 2).bound == ("b1", 0)


def test_a_start_that_is_told_later_bounds_as_well() -> None:
    """b1: node events come after the change that they explain; the first word stands."""
    story = Story((A,), unclean=True).kill(A).elected(C, "unclean")
    assert story.epoch_starts(story.state["leader_epoch"], 7).bound == ("b1", 7)
    assert story.epoch_starts(story.state["leader_epoch"], 3).bound == ("b1", 7)


@pytest.mark.parametrize(
    ("dropped", "start", "least"), [((1, 5), 1, 1), ((2, 1), 2, 2), ((4, 9), 6, 6), ((4, 9), None, 4), ((None, 9), 6, 6)]
)
def test_a_last_known_leader_may_cost_what_was_dropped_and_what_lies_above_its_epoch(
    dropped: tuple[int | None, int], start: int | None, least: int
) -> None:
    """b2 with ELR, P4 and P5: both must hold. What is unknown bounds nothing."""
    story = last_known(Story((A, B)).hurt(A, "lossy", dropped[0]).hurt(B, "lossy", dropped[1]), A, start)
    assert (story.rule, story.bound) == ("C7", ("b2", least))


def test_the_last_replica_standing_may_cost_what_lies_above_the_start_of_its_next_epoch() -> None:
    """b2 without ELR: the epoch that it won after it came back, not one that it was given while it was dead."""
    story = Story((A, B), elr=False).hurt(A, "lossy", 2).change(A, election="clean", leader=A, epoch_start=1)
    assert (story.rule, story.bound) == ("C9", ("b2", 2))
    back = story.change(leader=None).restart(A).now
    assert story.bound == ("b2", 2)
    assert story.change(A, election="clean", leader=A, epoch_start=4).bound == ("b2", 4)
    earlier = story.ledger.bound(AT, 0, back)
    assert earlier is not None
    assert earlier.least_offset == 2


def test_beside_an_unclean_election_the_last_replica_standing_costs_what_it_costs_anyway() -> None:
    """6.4: two reasons for a loss in one window, so whatever either of them may take. Seeds 1427 and 1563 of the swarm."""
    story = Story((A,), elr=False, unclean=True).kill(A).elected(C, "unclean", 9)
    assert (story.rule, story.bound) == ("C2", ("b1", 9))
    story.hurt(C, "lossy", 2).change(leader=None).restart(C).change(C, election="clean", leader=C, epoch_start=2)
    assert (story.rule, story.bound) == ("C2", ("b1", 2))


def test_beside_an_unclean_election_the_last_known_leader_does_too() -> None:
    """Seed 406; and where the rest is not judged, there is no bound at all."""
    story = last_known(Story((A, B), unclean=True).elected(A, "unclean", 9).change(A, B).hurt(A).hurt(B), A, 4)
    assert (story.rule, story.bound) == ("C2", ("b1", 4))
    story.min_isr_becomes(1)
    assert (story.rule, story.bound) == ("C2", None)


def test_what_was_flushed_by_interval_is_not_lost_later_than_that() -> None:
    """6.4: acknowledged later than crash - interval - 1 s; a wipe takes synced records as well."""

    def after(how: str) -> int | None:
        story = Story((A,), elr=False, flush_interval_ns=5 * 10**9).hurt(A, how)  # type: ignore[arg-type]
        found = story.ledger.bound(AT)
        assert found is not None
        return found.acked_after_ns

    assert after("lossy") == Story().now + STEP_NS - 6 * 10**9
    assert after("wipe") is None


def test_only_what_is_allowed_has_a_bound() -> None:
    """6.4"""
    assert Story().hurt(A).bound is None
    assert Story().hurt(A, "rot").bound is None


# -- the table has teeth ----------------------------------------------------------------------------------------------------


class ToleratesOneMore(PromiseTable):
    def within_the_tolerance(self, facts: Facts) -> bool:
        return facts.most_damaged <= facts.min_isr


class ExcusesAnyUncleanElection(PromiseTable):
    def may_elect_anybody(self, facts: Facts) -> bool:
        return facts.unclean_elections > 0


@pytest.mark.parametrize(("table", "example"), [(ToleratesOneMore(), "P4"), (ExcusesAnyUncleanElection(), "B36")])
def test_a_wrong_row_gives_another_answer(table: PromiseTable, example: str) -> None:
    """A table with one wrong question is told from the right one by these examples."""
    b36 = Story((A,)).kill(A).elected(C, "unclean", 1)
    story = b36 if example == "B36" else EXAMPLES["P4 one loses records, the other is killed"][0]()
    wrong = DamageLedger({AT: story.setting}, story.voters, table)
    for happening in story.told:
        wrong.on(happening)
    assert wrong.level(AT) != story.ledger.level(AT)
