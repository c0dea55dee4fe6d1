"""The controller's part of the worked traces of PROTOCOL section 16, value by value.

A trace takes the rules to play by; beside it, it is played again with one wrong rule and breaks at the step that the rule
decides. Where a wrong rule would also break the shape that every image must have, the stage does not look at shapes.
"""

from __future__ import annotations

import pytest

from replication.errors import Error
from replication.events import LeaderElected
from replication.identity import NO_LEADER
from replication.image import RecoveryState
from replication.messages import IsrMember
from replication.rules import Rules
from tests.replication.controller import wrong
from tests.replication.controller.stage import Stage

NOBODY: set[int] = set()
TRUSTING = (wrong.EverybodyRestartsCleanly(), wrong.UncleanRestartsStay())
"""B19, B21"""


def staged(rules: Rules | None = None, *, min_isr: int = 2, elr: bool = True, **configs: str) -> Stage:
    """Brokers 1, 2, 3 and one partition of them, which 1 leads. A wrong rule may give it any shape."""
    stage = Stage(rules, elr=elr, checked=rules is None)
    stage.start(1, 2, 3)
    stage.create((1, 2, 3), min_isr, **configs)
    return stage


def kinds(stage: Stage) -> list[str]:
    return [event.election for event in stage.world.told(LeaderElected)]


# -- 16.7: eligible leader replicas -----------------------------------------------------------------------------------------


def test_a_member_that_left_under_min_isr_leads_again(rules: Rules | None = None) -> None:
    """16.7 ISR and ELR after each of the five steps (8.3, 8.6, 4.3)."""
    stage = staged(rules)

    assert stage.alter((1, 3)).error_code is Error.NONE
    assert stage.shape() == (1, {1, 3}, NOBODY)
    assert stage.alter((1,)).error_code is Error.NONE
    assert stage.shape() == (1, {1}, {3})
    stage.kill(1)
    assert stage.shape() == (3, {3}, {1})
    assert kinds(stage) == ["elr"]
    stage.restart(1)
    assert stage.shape() == (3, {3}, NOBODY)
    stage.unfence(1)
    assert stage.shape() == (3, {3}, NOBODY)
    assert stage.alter((1, 3)).error_code is Error.NONE
    assert stage.shape() == (3, {1, 3}, NOBODY)


@pytest.mark.parametrize("rules", [wrong.ElrOnlyGrows(), *TRUSTING, wrong.NoElr()])
def test_eligible_leaders_break_with(rules: Rules) -> None:
    """16.7 with B23, B19, B21, and without any ELR."""
    with pytest.raises(AssertionError):
        test_a_member_that_left_under_min_isr_leads_again(rules)


# -- 16.8: a power cut on everybody -------------------------------------------------------------------------------------------


def test_after_a_power_cut_on_all_only_the_last_leader_comes_back(rules: Rules | None = None) -> None:
    """16.8 Nobody is complete for certain; the last known leader is elected as if uncleanly (8.8), even if unclean elections are
    forbidden."""
    stage = staged(rules)

    stage.kill(1)
    assert stage.shape() == (2, {2, 3}, NOBODY)
    stage.kill(2)
    assert stage.shape() == (3, {3}, {2})
    stage.kill(3)
    assert stage.shape() == (NO_LEADER, NOBODY, {2, 3})
    assert stage.state().last_known_elr == (3,)

    for broker_id in (1, 2, 3):
        stage.restart(broker_id)
    assert stage.shape() == (NO_LEADER, NOBODY, NOBODY)
    stage.unfence(1)
    stage.unfence(2)
    assert stage.shape() == (NO_LEADER, NOBODY, NOBODY)
    stage.unfence(3)

    assert stage.shape() == (3, {3}, NOBODY)
    assert stage.state().leader_recovery_state is RecoveryState.RECOVERING
    assert stage.state().last_known_elr == ()
    assert kinds(stage) == ["clean", "clean", "last_known"]


@pytest.mark.parametrize("rules", [*TRUSTING, wrong.DeadLastLeaders(), wrong.AnybodyUncleanly()])
def test_the_last_leaders_return_breaks_with(rules: Rules) -> None:
    """16.8 with B19, B21, B25 (the dead one is elected instead), B36."""
    with pytest.raises(AssertionError):
        test_after_a_power_cut_on_all_only_the_last_leader_comes_back(rules)


# -- 16.10: all members of the ISR are lost -----------------------------------------------------------------------------------


def test_with_elr_a_member_that_only_was_cut_off_brings_everything_back(rules: Rules | None = None) -> None:
    """16.10, ELR on, clean: leader epochs e1 to e4, here 0 to 3; broker 1's unclean restart does not make it eligible."""
    stage = staged(rules)
    stage.alter((1, 2))
    assert stage.shape() == (1, {1, 2}, NOBODY)

    stage.fence(1)
    assert (*stage.shape(), stage.state().leader_epoch) == (2, {2}, {1}, 1)
    stage.fence(2)
    assert (*stage.shape(), stage.state().leader_epoch) == (NO_LEADER, NOBODY, {1, 2}, 2)
    stage.pass_time(1_250)
    stage.restart(1)
    stage.unfence(1)
    assert (*stage.shape(), stage.state().leader_epoch) == (NO_LEADER, NOBODY, {2}, 2)
    stage.unfence(2)
    assert (*stage.shape(), stage.state().leader_epoch) == (2, {2}, NOBODY, 3)
    assert stage.alter((2, 3)).error_code is Error.NONE
    assert stage.shape() == (2, {2, 3}, NOBODY)
    assert kinds(stage) == ["clean", "elr"]


@pytest.mark.parametrize("rules", [*TRUSTING, wrong.AnybodyUncleanly(), wrong.NoElr()])
def test_the_way_back_breaks_with(rules: Rules) -> None:
    """16.10 with B19, B21, B36, and without any ELR."""
    with pytest.raises(AssertionError):
        test_with_elr_a_member_that_only_was_cut_off_brings_everything_back(rules)


def test_without_elr_only_the_last_member_can_be_elected(rules: Rules | None = None) -> None:
    """16.10, ELR off: the ISR stays {2} (8.4), and 1's and 3's presence changes nothing."""
    stage = staged(rules, elr=False)
    stage.alter((1, 2))
    stage.fence(1)
    assert stage.shape() == (2, {2}, NOBODY)
    stage.fence(2)
    assert stage.shape() == (NO_LEADER, {2}, NOBODY)
    stage.pass_time(1_250)
    stage.restart(1)
    stage.unfence(1)
    assert stage.shape() == (NO_LEADER, {2}, NOBODY)
    stage.unfence(2)
    assert stage.shape() == (2, {2}, NOBODY)


def test_the_last_member_breaks_with_an_isr_that_empties() -> None:
    """16.10, ELR off, without 8.4: nobody is left whom a clean election could find."""

    with pytest.raises(AssertionError):
        test_without_elr_only_the_last_member_can_be_elected(wrong.EmptyIsr())


def test_where_it_is_allowed_the_third_replica_takes_over_at_once(rules: Rules | None = None) -> None:
    """16.10, unclean on: fencing 2 elects 3 in e3, alone, RECOVERING, with no ELR (8.9, 8.14)."""
    stage = staged(rules, unclean_leader_election_enable="true")
    stage.alter((1, 2))
    stage.fence(1)
    assert stage.shape() == (2, {2}, {1})
    stage.fence(2)
    assert (*stage.shape(), stage.state().leader_epoch) == (3, {3}, NOBODY, 2)
    assert stage.state().leader_recovery_state is RecoveryState.RECOVERING
    assert kinds(stage) == ["clean", "unclean"]

    alone = RecoveryState.RECOVERING
    assert stage.alter((2, 3), leader_recovery_state=alone).error_code is Error.INVALID_REQUEST  # 5.10
    assert stage.alter((3,)).error_code is Error.NONE
    assert stage.state().leader_recovery_state is RecoveryState.RECOVERED


def test_the_take_over_breaks_with_a_rule_that_never_elects_uncleanly() -> None:
    """16.10, unclean on: the topic's setting is asked for."""

    with pytest.raises(AssertionError):
        test_where_it_is_allowed_the_third_replica_takes_over_at_once(wrong.NeverUncleanly())


# -- 16.15: the last replica --------------------------------------------------------------------------------------------------


def test_the_last_replica_hands_over_to_whoever_was_complete(rules: Rules | None = None) -> None:
    """16.15 with ELR: 3 left while the HW moved and is never eligible; 2 left while it stood still and is."""
    stage = staged(rules)
    stage.alter((1, 2))
    assert stage.shape() == (1, {1, 2}, NOBODY)
    stage.fence(2)
    assert stage.shape() == (1, {1}, {2})
    stage.fence(1)
    assert stage.shape() == (NO_LEADER, NOBODY, {1, 2})
    assert stage.state().last_known_elr == (1,)
    stage.unfence(2)
    assert stage.shape() == (2, {2}, {1})
    assert stage.state().last_known_elr == ()


def test_without_elr_the_last_replica_waits_for_itself(rules: Rules | None = None) -> None:
    """16.15 without ELR: the ISR stays {1}; 2's return changes nothing."""
    stage = staged(rules, elr=False)
    stage.alter((1, 2))
    stage.fence(2)
    stage.fence(1)
    assert stage.shape() == (NO_LEADER, {1}, NOBODY)
    assert stage.state().last_known_elr == ()
    stage.unfence(2)
    assert stage.shape() == (NO_LEADER, {1}, NOBODY)
    stage.unfence(1)
    assert stage.shape() == (1, {1}, NOBODY)


@pytest.mark.parametrize("rules", [wrong.NoElr(), wrong.AnybodyUncleanly(), wrong.ElrOnlyGrows()])
def test_the_last_replica_breaks_with(rules: Rules) -> None:
    """16.15 without any ELR; with B36, which elects 3 for want of 1 and 2; with B23, under which 3 is eligible."""
    with pytest.raises(AssertionError):
        test_the_last_replica_hands_over_to_whoever_was_complete(rules)


def test_without_elr_the_last_replica_breaks_with_unclean_elections() -> None:
    """16.15 without ELR, with B36."""
    with pytest.raises(AssertionError):
        test_without_elr_the_last_replica_waits_for_itself(wrong.AnybodyUncleanly())


# -- 16.19: a late copy of a refused expand -----------------------------------------------------------------------------------


def test_a_late_copy_of_a_refused_proposal_is_refused_again(rules: Rules | None = None) -> None:
    """16.19 The refusal stepped the partition epoch (5.37), so the other copy is of the past (5.35)."""
    stage = staged(rules)
    stage.alter((1, 2))
    assert stage.state().partition_epoch == 1
    copy = stage.item((1, 2, 3))  # sent twice: the connection broke

    stage.fence(3)
    assert stage.send(copy, 1).error_code is Error.INELIGIBLE_REPLICA
    assert (stage.state().isr, stage.state().partition_epoch, stage.state().leader_epoch) == ((1, 2), 2, 0)
    stage.unfence(3)

    assert stage.send(copy, 1).error_code is Error.INVALID_UPDATE_VERSION
    assert stage.shape() == (1, {1, 2}, NOBODY)


def test_the_late_copy_breaks_with_a_refusal_that_leaves_no_trace() -> None:
    """16.19 with B54: the copy is accepted, and 3 can be elected without what 1 and 2 have acknowledged since."""
    with pytest.raises(AssertionError):
        test_a_late_copy_of_a_refused_proposal_is_refused_again(wrong.SilentRefusals())


def test_the_late_copy_breaks_without_compare_and_set() -> None:
    """16.19 with B15"""

    with pytest.raises(AssertionError):
        test_a_late_copy_of_a_refused_proposal_is_refused_again(wrong.NoCompareAndSet())


# -- 16.20: a raise of min.insync.replicas ------------------------------------------------------------------------------------


def test_a_leader_that_does_not_know_the_new_min_isr_cannot_shrink(rules: Rules | None = None) -> None:
    """16.20 The change of the setting stepped the partition epoch in the same batch (8.12)."""
    stage = staged(rules, min_isr=1)
    stage.alter((1, 2))
    shrink = stage.item((1,))  # of a leader that has heard of nothing since

    decisions = len(stage.log.decisions)
    assert stage.configure("min.insync.replicas", "2") is Error.NONE
    assert len(stage.log.decisions) == decisions + 1
    assert stage.state().partition_epoch == 2

    assert stage.send(shrink, 1).error_code is Error.INVALID_UPDATE_VERSION
    assert stage.shape() == (1, {1, 2}, NOBODY)


def test_the_raise_breaks_with_settings_that_step_nothing() -> None:
    """16.20 with B55: the shrink is accepted, and 2 becomes eligible for an election that loses what 1 acknowledges alone."""
    with pytest.raises(AssertionError):
        test_a_leader_that_does_not_know_the_new_min_isr_cannot_shrink(wrong.SilentSettings())


# -- what the traces lean on --------------------------------------------------------------------------------------------------


def test_a_request_for_a_process_that_is_gone_is_refused(rules: Rules | None = None) -> None:
    """5.35, B18: the follower that fetched up to the HW is not the process that is registered now."""
    stage = staged(rules)
    stage.alter((1, 2))
    late = stage.item((1, 2, 3))
    stage.kill(3)
    stage.restart(3)
    stage.unfence(3)
    assert stage.send(late, 1).error_code is Error.INELIGIBLE_REPLICA


def test_the_process_that_is_gone_joins_with_any_broker_epoch() -> None:
    """B18: an empty replica in the ISR."""

    with pytest.raises(AssertionError):
        test_a_request_for_a_process_that_is_gone_is_refused(wrong.AnyBrokerEpoch())


def test_the_process_that_is_gone_joins_when_a_wiped_broker_keeps_its_epoch() -> None:
    """B19: an id that keeps its broker epoch makes two processes one."""

    with pytest.raises(AssertionError):
        test_a_request_for_a_process_that_is_gone_is_refused(wrong.EpochById())


def test_a_fenced_replica_is_not_let_into_the_isr(rules: Rules | None = None) -> None:
    """4.8, 5.35, B20: it goes on fetching, and its leader goes on asking."""
    stage = staged(rules)
    stage.fence(3)
    assert stage.shape() == (1, {1, 2}, NOBODY)
    assert stage.alter((1, 2, 3)).error_code is Error.INELIGIBLE_REPLICA


def test_a_fenced_replica_is_let_in_with_a_rule_that_only_wants_it_registered() -> None:
    """B20"""

    with pytest.raises(AssertionError):
        test_a_fenced_replica_is_not_let_into_the_isr(wrong.RegisteredIsEnough())


def test_two_brokers_that_fall_silent_together_do_not_succeed_each_other(rules: Rules | None = None) -> None:
    """4.7, B24: when 1 is fenced 2 still looks alive; when 2 is fenced nobody may believe that any more."""
    stage = staged(rules)
    stage.kill(1, 2)
    assert stage.shape() == (3, {3}, {2})
    assert stage.state().leader_epoch == 2


def test_two_silent_brokers_break_with_one_view_for_both() -> None:
    """B24: broker 2 leads, fenced."""

    with pytest.raises(AssertionError):
        test_two_brokers_that_fall_silent_together_do_not_succeed_each_other(wrong.AllAtOnce())


def test_a_leader_is_elected_in_assignment_order_whatever_the_isr_says(rules: Rules | None = None) -> None:
    """8.3, section 13 row 7: not the first of the ISR."""
    stage = staged(rules)
    stage.alter((1, 3, 2))
    stage.fence(1)
    assert stage.state().isr == (3, 2)
    assert stage.state().leader == 2


def test_assignment_order_breaks_with_the_first_of_the_isr() -> None:
    """8.3 as S3 and S4 have it."""

    with pytest.raises(AssertionError):
        test_a_leader_is_elected_in_assignment_order_whatever_the_isr_says(wrong.FirstOfIsr())


def test_nothing_is_claimed_about_a_member_that_has_not_fetched() -> None:
    """5.34, 5.35: -1 is no epoch, and no reason to refuse."""
    stage = staged()
    assert stage.alter((1, 2, 3), member_epochs={2: -1}).error_code is Error.NONE
    assert IsrMember(2, -1) in stage.item((1, 2), member_epochs={2: -1}).new_isr_with_epochs
