"""Which replicas are damaged, since when and until when (CHECKERS 6.2); windows; the same answers online and afterwards."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.damage import DamageLedger, ledger_told
from model.damage_scope import Hurt, Scope
from tests.model.damage_stories import AT, STEP_NS, A, B, C, D, Story

# What happened; how many replicas were damaged at one moment, how many of the damaged lost records.
CASES: dict[str, tuple[Callable[[], Story], int, int]] = {
    "nothing happened": (Story, 0, 0),
    "killed in the ISR": (lambda: Story().kill(A), 1, 0),
    "killed in the ELR": (lambda: Story((A,)).change(A, elr=(B,)).kill(B), 1, 0),
    "killed while it is the last known leader": (lambda: Story((A,)).leaderless(last_known=A).kill(A), 1, 0),
    "killed while it is in none of these": (lambda: Story((A, B)).kill(C), 0, 0),
    "lost records while in none of these": (lambda: Story((A, B)).hurt(C), 0, 0),
    "not a replica at all": (lambda: Story().hurt(D), 0, 0),
    "an expand in flight brings the dead one in": (lambda: Story((A, B)).hurt(C).change(A, B, C), 1, 1),
    "it registered before the expand landed": (lambda: Story((A, B)).hurt(C).restart(C).change(A, B, C), 0, 0),
    "an election brings the dead one into the ELR": (lambda: Story((A, B)).hurt(C).change(A, elr=(C,)), 1, 1),
    "the dead one becomes last known": (lambda: Story((A, B)).hurt(C).leaderless(elr=(A, B), last_known=C), 1, 1),
    "it left the ISR before it died": (lambda: Story().change(A, B).kill(C), 0, 0),
    "it left the ISR after it died": (lambda: Story().kill(C).change(A, B), 1, 0),
    "two at one moment": (lambda: Story().kill(A).hurt(B), 2, 1),
    "two, the first repaired between": (lambda: Story().kill(A).restart(A).change(A, B, C).hurt(B), 1, 1),
    "registered is not repaired": (lambda: Story().kill(A).change(B, C).restart(A).kill(B), 2, 0),
    "put back under its old epoch": (lambda: Story().kill(A).restart(A).change(A, B, C, epochs=(1, 2, 3)).kill(B), 2, 0),
    "back before it registered": (lambda: Story().kill(A).change(A, leader=A, elr=()).kill(B), 1, 0),
    "in the ELR is not repaired": (lambda: Story().kill(A).restart(A).change(B, elr=(A,)).kill(B), 2, 0),
    "the same replica twice is one": (lambda: Story().kill(A).hurt(A).hurt(A, "torn"), 1, 1),
    "hurt twice, repaired after the first only": (
        lambda: Story().kill(A).restart(A).kill(A).change(A, B, C, epochs=(4, 2, 3)).kill(B),
        2,
        0,
    ),
    "hurt twice, repaired after both": (lambda: Story().kill(A).restart(A).kill(A).restart(A).change(A, B, C).kill(B), 1, 0),
    "repaired under the first epoch after the end": (
        lambda: Story().kill(A).restart(A).restart(A).change(A, B, C, epochs=(4, 2, 3)).kill(B),
        1,
        0,
    ),
    "lost records again while catching up": (lambda: Story().kill(A).change(B, C).restart(A).hurt(A), 1, 0),
    "nothing was dropped": (lambda: Story().hurt(A, "lossy", None, 0), 1, 0),
    "nobody counted what was dropped": (lambda: Story().hurt(A, "lossy", None, None), 1, 1),
    "a wiped log that was empty": (lambda: Story().hurt(A, "wipe", None, 0), 1, 0),
    "a torn tail": (lambda: Story().hurt(A, "torn"), 1, 1),
    "flush each: a torn tail": (lambda: Story(flush_each=True).hurt(A, "torn"), 1, 0),
    "flush each: a wipe": (lambda: Story(flush_each=True).hurt(A, "wipe"), 1, 1),
    "sampled: a replica of which no sample shows that it is a member": (
        lambda: Story((A, B), changes_complete=False).hurt(C),
        1,
        1,
    ),
    "sampled: a node that is no replica": (lambda: Story((A, B), changes_complete=False).hurt(D), 0, 0),
}


@pytest.mark.parametrize("name", CASES)
def test_the_corners_of_scope_and_repair(name: str) -> None:
    """6.2, sentence by sentence."""
    build, damaged, lost = CASES[name]
    story = build()
    assert (story.damaged, story.lost) == (damaged, lost)


def test_without_any_sample_every_node_may_be_a_member() -> None:
    """6.2: of a complete record the partition does not exist yet; of a sampled one nobody knows."""
    for complete, damaged in ((True, 0), (False, 1)):
        setting = Story(changes_complete=complete).setting
        told = [Story().hurt(A).told[-1]]
        assert ledger_told(told, {AT: setting}).facts(AT).most_damaged == damaged


def test_a_node_that_died_before_the_partition_was_created_is_a_member_from_then_on() -> None:
    """6.2: its session had not run out, so it was still active when replicas were placed (P 3.9)."""
    story = Story()
    created = next(one for one in story.told if type(one).__name__ == "CommittedChange")
    registrations = [one for one in story.told if one is not created]
    end = Story().hurt(A).told[-1]
    assert ledger_told([*registrations, end, created], {AT: story.setting}).facts(AT).lost == 1
    assert ledger_told([*registrations, end], {AT: story.setting}).facts(AT).lost == 0


def test_an_end_is_one_hurt_however_often_it_is_looked_at() -> None:
    """6.2: changes while a node is down bring each of its ends into scope once, and memory is one line for each."""
    story = Story().kill(A).change(A, B).change(A, B, C).hurt(A).change(A, C)
    assert [hurt.how for hurt in story.ledger.partitions[AT].scope.hurts] == ["restart", "lossy"]


def test_of_two_that_pass_the_baton_only_one_is_damaged_at_a_time() -> None:
    """6.2: at the moment of its repair a replica is whole."""
    story = Story().kill(A).restart(A).change(A, B, C)
    story.now -= STEP_NS
    story.kill(B)
    assert story.damaged == 1


def test_a_partition_that_the_plan_does_not_name_is_nobodys_promise() -> None:
    """6.1: other topics, and the metadata log of brokers, are told too."""
    story = Story()
    told = Story().hurt(A).change(B, C).epoch_starts(0, 1).asked_for_an_unclean_election().told
    assert ledger_told(told, {("other", 0): story.setting}).facts(("other", 0)).most_damaged == 0


# -- the last replica standing ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "rule"),
    [
        (lambda: Story((A,), elr=False).hurt(A), "C9"),
        (lambda: Story((A, B), elr=False).hurt(A).change(A), "C9"),  # the other one is fenced first
        (lambda: Story((A, B), elr=False).hurt(A).change(B, leader=B).restart(A), "C8"),
        (lambda: Story((A, B), elr=False).hurt(A).change(B, leader=B).restart(A).change(A, B).change(A, leader=A), "C8"),
        (lambda: Story((A, B), elr=False).kill(A).change(A), "C3"),  # it stood alone, and lost nothing
    ],
)
def test_without_elr_it_matters_whether_the_loser_stood_alone_before_it_was_back(build: Callable[[], Story], rule: str) -> None:
    """C8, C9: at any moment from its crash until it had caught up."""
    assert build().rule == rule


# -- windows ------------------------------------------------------------------------------------------------------------


def test_a_window_sees_what_was_damaged_at_some_moment_of_it() -> None:
    """6.1: not what was repaired before it, nor what came after."""
    story = Story()
    before = story.now
    dead = story.hurt(A).now
    back = story.restart(A).change(A, B, C).now
    facts = story.ledger.facts
    assert facts(AT, 0, before).most_damaged == 0
    assert facts(AT, 0, dead).most_damaged == 1
    assert facts(AT, dead + 1, dead + 2).lost == 1
    assert facts(AT, back - 1, back + 9).lost == 1
    assert facts(AT, back, back + 9).lost == 0


def test_elections_settings_and_voters_count_in_the_windows_in_which_they_happened() -> None:
    """6.1, 6.3; a wiped voter stays wiped."""
    story = Story((A, B, C), unclean=True)
    elected = story.elected(C, "unclean", 1).now
    changed = story.min_isr_becomes(1).now
    reassigned = story.change(C, replicas=(C, B)).now
    wiped = story.voter(11, "wipe").now
    facts = story.ledger.facts
    assert [facts(AT, elected + since, elected + 5).unclean_elections for since in (0, 1)] == [1, 0]
    assert [facts(AT, changed + since, changed + 5).min_isr_changed for since in (0, 1)] == [True, False]
    assert [facts(AT, 0, to_ns).min_isr for to_ns in (changed - 1, changed)] == [2, 1]
    assert facts(AT, reassigned, wiped).min_isr == 1
    assert [facts(AT, since, since).voters_wiped for since in (wiped - 1, wiped, wiped + 10**9)] == [0, 1, 1]


def test_a_value_that_was_put_back_is_the_promise_again() -> None:
    """C5: in a window in which it was never lower."""
    story = Story().min_isr_becomes(1)
    put_back = story.configured("min.insync.replicas", None).now
    facts = story.ledger.facts
    assert (facts(AT, put_back, put_back).min_isr, facts(AT, put_back, put_back).min_isr_changed) == (2, True)
    assert (facts(AT, put_back + 1, put_back + 9).min_isr, facts(AT, put_back + 1, put_back + 9).min_isr_changed) == (2, False)
    assert facts(AT, put_back - 1, put_back + 9).min_isr == 1


def test_a_change_of_which_nobody_knows_when_it_took_effect_is_a_change_in_all_of_that_time() -> None:
    """C4, from tables: the old value and the new one are both possible until then."""
    story = Story()
    asked = story.min_isr_becomes(1, unsettled_ns=100).now
    facts = story.ledger.facts
    assert (facts(AT, asked + 90, asked + 95).min_isr, facts(AT, asked + 90, asked + 95).min_isr_changed) == (1, True)
    assert (facts(AT, asked + 101, asked + 102).min_isr, facts(AT, asked + 101, asked + 102).min_isr_changed) == (1, False)
    never = Story()
    asked = never.min_isr_becomes(3, unsettled_ns=None).now
    later = never.ledger.facts(AT, asked + 10**12, asked + 10**12)
    assert (later.min_isr, later.min_isr_changed) == (2, True)


def test_a_reassignment_that_asked_too_little_is_over_when_the_window_begins_and_fewer_replicas_are_not() -> None:
    """6.3: read m as |isr'| where it completed in the window; the number of replicas stays in force."""
    story = Story(min_isr=3)
    moved = story.change(A, replicas=(A, B)).now
    facts = story.change(A, B).ledger.facts
    assert facts(AT, moved, moved + 10**9).min_isr == 1
    assert facts(AT, moved + 1, moved + 10**9).min_isr == 2
    assert facts(AT, 0, moved - 1).min_isr == 3


# -- online and afterwards ----------------------------------------------------------------------------------------------

WORDS: tuple[Callable[[Story, int], Story], ...] = (
    lambda story, node: story.kill(node),
    lambda story, node: story.hurt(node, "lossy", node),
    lambda story, node: story.hurt(node, "wipe", 0),
    lambda story, node: story.hurt(node, "rot"),
    lambda story, node: story.restart(node),
    lambda story, node: story.restart(node),
    lambda story, node: story.change(A, B, C),
    lambda story, node: story.change(node, leader=node, election="clean", epoch_start=node),
    lambda story, node: story.change(*sorted({A, node}), elr=()),
    lambda story, node: story.leaderless(elr=(node,), last_known=A),
    lambda story, node: story.leaderless(last_known=node),
    lambda story, node: story.elected(node, "last_known", node),
    lambda story, node: story.elected(node, "unclean", node),
    lambda story, node: story.change(A, B, replicas=(A, B) if node == A else (A, B, C)),
    lambda story, node: story.min_isr_becomes(node),
    lambda story, node: story.asked_for_an_unclean_election(),
    lambda story, node: story.voter(10 + node, "wipe"),
)
steps = st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from((A, B, C))), max_size=25)


def told(words: list[tuple[Callable[[Story, int], Story], int]], *, elr: bool, complete: bool) -> Story:
    story = Story(elr=elr, changes_complete=complete)
    for word, node in words:
        word(story, node)
    return story


@settings(max_examples=150, deadline=None)
@given(steps, st.booleans(), st.booleans())
def test_what_is_answered_meanwhile_is_what_a_window_finds_afterwards(words: list, elr: bool, complete: bool) -> None:  # type: ignore[type-arg]
    """Invariants ask after every event, promises ask when all is over: what came later changes nothing (6.1)."""
    story = told(words, elr=elr, complete=complete)
    online, between = DamageLedger({AT: story.setting}, story.voters), story.now // 2
    seen = []
    for happening in story.told:
        online.on(happening)
        seen.append((happening.at_ns, online.level(AT), online.facts(AT), online.facts(AT, between), online.bound(AT)))
    for at_ns, level, facts, part, bound in seen:
        assert story.ledger.level(AT, 0, at_ns) == level
        assert story.ledger.facts(AT, 0, at_ns) == facts
        assert at_ns < between or story.ledger.facts(AT, between, at_ns) == part
        assert story.ledger.bound(AT, 0, at_ns) == bound


@settings(max_examples=100, deadline=None)
@given(steps, st.booleans(), st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(0, 30)))
def test_a_longer_window_never_counts_less(words: list, elr: bool, cuts: tuple[int, int, int]) -> None:  # type: ignore[type-arg]
    """6.2: D and l are maxima and counts over the window."""
    facts = told(words, elr=elr, complete=True).ledger.facts
    first, middle, last = (cut * STEP_NS for cut in sorted(cuts))
    for inner, outer in (((first, middle), (first, last)), ((middle, last), (first, last))):
        small, large = facts(AT, *inner), facts(AT, *outer)
        assert small.most_damaged <= large.most_damaged
        assert small.lost <= large.lost
        assert small.min_isr >= large.min_isr
        assert small.sole_lost <= large.sole_lost


@settings(max_examples=100, deadline=None)
@given(steps)
def test_d_is_what_looking_at_every_moment_finds(words: list) -> None:  # type: ignore[type-arg]
    """6.2, the slow way: at each moment the replicas with an open hurt, once each."""
    story = told(words, elr=True, complete=True)
    hurts = story.ledger.partitions[AT].scope.hurts
    moments = range(0, story.now + 1, STEP_NS)
    slow = max(len({hurt.node for hurt in hurts if open_at(hurt, moment)}) for moment in moments)
    assert story.damaged == slow


def open_at(hurt: Hurt, moment: int) -> bool:
    return hurt.since_ns <= moment and (hurt.until_ns is None or moment < hurt.until_ns)


# -- a wrong scope is found -------------------------------------------------------------------------------------------------


class OnlyAtTheEndItself(Scope):
    """Scope taken only at the moment of the crash (CHECKERS 9.5: false alarms)."""

    def on_change(self, change, down):  # type: ignore[no-untyped-def]
        return super().on_change(change, {})


@pytest.mark.parametrize("name", ["an expand in flight brings the dead one in", "the dead one becomes last known"])
def test_scope_taken_only_at_the_crash_misses_damage(name: str) -> None:
    """6.2: these stories tell that rule from the right one."""
    story = CASES[name][0]()
    wrong = DamageLedger({AT: story.setting})
    wrong.partitions[AT].scope = OnlyAtTheEndItself(AT, changes_complete=True)
    for happening in story.told:
        wrong.on(happening)
    assert wrong.facts(AT).most_damaged < story.damaged
