"""Partitions at the active controller: accepted and refused ISRs, elections on request and over time, moves."""

from __future__ import annotations

import pytest

from replication.admin_messages import (
    AlterPartitionReassignmentsRequest,
    ElectLeadersRequest,
    ListPartitionReassignmentsRequest,
    Reassignment,
)
from replication.errors import Error
from replication.events import AlterPartitionRefusedByController, LeaderElected, ReassignmentEnded
from replication.identity import NO_LEADER
from replication.image import RecoveryState
from replication.messages import AlterPartitionRequest
from replication.rules import Rules
from tests.replication.controller import wrong
from tests.replication.controller.stage import Stage, directory, errors

NOBODY: set[int] = set()


def staged(rules: Rules | None = None, *, elr: bool = True, brokers: int = 3, **configs: str) -> Stage:
    stage = Stage(rules, elr=elr, checked=rules is None)
    stage.start(*range(1, brokers + 1))
    stage.create((1, 2, 3), **configs)
    return stage


def epochs(stage: Stage) -> tuple[int, int]:
    return stage.state().leader_epoch, stage.state().partition_epoch


# -- AlterPartition -------------------------------------------------------------------------------------------------------


def test_an_accepted_isr_comes_back_with_its_epochs() -> None:
    """5.36, 1.6: the partition epoch steps, the leader epoch does not."""
    stage = staged()
    answer = stage.alter((1, 3))
    assert (answer.error_code, answer.leader_id, answer.leader_epoch, answer.partition_epoch) == (Error.NONE, 1, 0, 1)
    assert answer.isr == stage.state().isr == (1, 3)


def test_a_proposal_of_what_is_there_already_changes_nothing() -> None:
    """5.36: there is nothing to write down, and the answer is what holds."""
    stage = staged()
    answer = stage.alter((1, 2, 3))
    assert (answer.error_code, answer.partition_epoch) == (Error.NONE, 0)


def test_each_item_of_a_request_is_judged_after_the_one_before() -> None:
    """5.35: two proposals for one partition in one request; one batch."""
    stage = staged()
    items = (stage.item((1, 2)), stage.item((1, 3)))
    decided = len(stage.log.decisions)
    answer = stage.answer(AlterPartitionRequest(1, stage.epochs[1], items))
    assert [each.error_code for each in answer.partitions] == [Error.NONE, Error.INVALID_UPDATE_VERSION]
    assert len(stage.log.decisions) == decided + 1


def test_a_request_of_a_process_that_is_gone_is_refused_as_a_whole() -> None:
    """5.35"""
    stage = staged()
    answer = stage.answer(AlterPartitionRequest(1, stage.epochs[1] - 1, (stage.item((1, 2)),)))
    assert (answer.error_code, answer.partitions) == (Error.STALE_BROKER_EPOCH, ())


def test_a_refusal_is_told() -> None:
    """12: with what was asked and what holds, after the step of 5.37."""
    stage = staged()
    stage.fence(3)
    stage.alter((1, 2, 3))
    (event,) = stage.world.told(AlterPartitionRefusedByController)
    assert (event.error, event.proposed) == ("INELIGIBLE_REPLICA", (1, 2, 3))
    assert (event.asked_partition_epoch, event.partition_epoch) == (1, 2)


def test_unknown_things_have_their_own_errors() -> None:
    """5.35"""
    stage = staged()
    item = stage.item((1, 2))
    for changes, error in (
        ({"topic_id": b"x" * 16}, Error.UNKNOWN_TOPIC_ID),
        ({"partition_index": 7}, Error.UNKNOWN_TOPIC_OR_PARTITION),
    ):
        asked = type(item)(**{**{field: getattr(item, field) for field in item.__struct_fields__}, **changes})
        assert stage.send(asked, 1).error_code is error


# -- elections ------------------------------------------------------------------------------------------------------------


def test_a_preferred_election_moves_the_leader_and_leaves_the_isr_alone() -> None:
    """8.11: a new leader epoch; both stay in sync."""
    stage = staged()
    stage.fence(1)
    stage.unfence(1)
    assert stage.elect() is Error.PREFERRED_LEADER_NOT_AVAILABLE
    stage.alter((1, 2, 3))
    assert stage.elect() is Error.NONE
    assert (*stage.shape(), stage.state().leader_epoch) == (1, {1, 2, 3}, NOBODY, 2)
    assert stage.world.told(LeaderElected)[-1].election == "preferred"
    assert stage.elect() is Error.ELECTION_NOT_NEEDED


def test_an_operator_may_elect_uncleanly_where_nobody_leads() -> None:
    """8.14: never over a leader, and never somebody who is not there."""
    stage = staged()
    stage.alter((1, 2))
    assert stage.elect(unclean=True) is Error.ELECTION_NOT_NEEDED
    for broker_id in (3, 2, 1):
        stage.fence(broker_id)
    assert stage.elect(unclean=True) is Error.ELIGIBLE_LEADERS_NOT_AVAILABLE
    stage.unfence(3)
    assert stage.shape() == (NO_LEADER, NOBODY, {1, 2})
    assert stage.elect(unclean=True) is Error.NONE
    assert stage.shape() == (3, {3}, NOBODY)
    assert stage.state().leader_recovery_state is RecoveryState.RECOVERING


def test_without_a_list_all_partitions_are_meant() -> None:
    """8.14: and only those that needed something are told."""
    stage = staged()
    stage.create((2, 1), name="u")
    stage.fence(1)
    stage.unfence(1)
    stage.alter((1, 2, 3))
    answer = stage.answer(ElectLeadersRequest(100, False, None))
    assert [(result.name, result.error_code) for result in answer.results] == [("t/0", Error.NONE)]


def test_preferred_leaders_come_back_by_themselves() -> None:
    """8.11: every leader.imbalance.check.interval.seconds, if auto.leader.rebalance.enable."""
    for enabled, leader in (("true", 1), ("false", 2)):
        stage = Stage(auto_leader_rebalance_enable=enabled, leader_imbalance_check_interval_seconds="3")
        stage.start(1, 2)
        stage.create((1, 2))
        stage.fence(1)
        stage.unfence(1)
        stage.alter((1, 2))
        assert stage.state().leader == 2
        stage.pass_time(3_000)
        assert stage.state().leader == leader


def test_a_topic_that_may_elect_uncleanly_since_it_lost_its_leader_is_found() -> None:
    """8.9, 8.14: by the periodic check."""
    stage = Stage(unclean_leader_election_interval_ms="2000")
    stage.start(1, 2, 3)
    stage.create()
    stage.alter((1, 2))
    stage.fence(2)
    stage.fence(1)
    stage.configure("unclean.leader.election.enable", "true")
    assert stage.state().leader == NO_LEADER
    stage.pass_time(2_000)
    assert stage.shape() == (3, {3}, NOBODY)


def test_a_full_pass_is_followed_by_another_at_once() -> None:
    """3.12"""

    class OneAtATime(Rules):
        def elections_per_pass(self) -> int:
            return 1

    stage = Stage(OneAtATime(), unclean_leader_election_interval_ms="2000")
    stage.start(1, 2, 3)
    for name in "abc":
        stage.create((1, 3), min_isr=1, name=name)
    stage.fence(3)
    stage.fence(1)
    stage.unfence(3)
    stage.configure("unclean.leader.election.enable", "true", topic=None)
    decided = len(stage.log.decisions)
    stage.pass_time(2_000)
    assert [len(decision.records) for decision in stage.log.decisions[decided:]] == [1, 1, 1]
    assert all(stage.state(name).leader == 3 for name in "abc")


# -- reassignment ---------------------------------------------------------------------------------------------------------


def test_a_move_ends_when_everybody_new_is_in_sync(rules: Rules | None = None) -> None:
    """9.1, 9.2: [1,2,3] to [4,2,3]. At the start no leader epoch; at the end one, for 1 has left."""
    stage = staged(rules, brokers=4)
    assert stage.reassign((4, 2, 3)) is Error.NONE
    state = stage.state()
    assert (state.replicas, state.adding_replicas, state.removing_replicas) == ((4, 2, 3, 1), (4,), (1,))
    assert (state.leader, state.isr, epochs(stage)) == (1, (1, 2, 3), (0, 1))

    assert stage.alter((1, 2)).error_code is Error.NONE
    assert stage.state().removing_replicas == (1,)
    answer = stage.alter((1, 2, 4))
    assert answer.error_code is Error.NEW_LEADER_ELECTED
    state = stage.state()
    assert (state.replicas, state.adding_replicas, state.removing_replicas) == ((4, 2, 3), (), ())
    assert (state.leader, set(state.isr), state.leader_epoch) == (4, {2, 4}, 1)
    assert state.directories == tuple(directory(broker_id) for broker_id in (4, 2, 3))
    assert stage.world.told(ReassignmentEnded)[-1].replicas == (4, 2, 3)


def test_a_move_breaks_with_a_rule_that_does_not_wait() -> None:
    """B52: 1 leaves before 4 holds anything."""

    with pytest.raises(AssertionError):
        test_a_move_ends_when_everybody_new_is_in_sync(wrong.MovesTooEarly())


def test_who_leaves_ends_a_leader_epoch(rules: Rules | None = None) -> None:
    """1.6, 9.2: [1,2,3] to [1,2] completes at once; the same leader leads in a new epoch, which 3's fetches do not know."""
    stage = staged(rules)
    assert stage.reassign((1, 2)) is Error.NONE
    assert (stage.state().replicas, stage.state().isr, stage.state().leader) == ((1, 2), (1, 2), 1)
    assert epochs(stage) == (1, 1)


def test_leaving_breaks_without_a_new_leader_epoch() -> None:
    """B52, the other half."""

    with pytest.raises(AssertionError):
        test_who_leaves_ends_a_leader_epoch(wrong.LeavesQuietly())


def test_a_mere_reorder_is_over_at_once_and_ends_no_leader_epoch() -> None:
    """9.5, 1.6"""
    stage = staged()
    assert stage.reassign((3, 1, 2)) is Error.NONE
    state = stage.state()
    assert (state.replicas, state.leader, epochs(stage), state.adding_replicas) == ((3, 1, 2), 1, (0, 1), ())
    assert state.directories == tuple(directory(broker_id) for broker_id in (3, 1, 2))


def test_another_target_replaces_the_first() -> None:
    """9.5: measured against the replicas that there are now."""
    stage = staged(brokers=5)
    stage.reassign((4, 2, 3))
    assert stage.reassign((5, 2, 3)) is Error.NONE
    state = stage.state()
    assert state.replicas == (5, 2, 3, 4, 1)
    assert (state.adding_replicas, set(state.removing_replicas)) == ((5,), {1, 4})


def test_the_same_target_twice_waits_as_well() -> None:
    """9.2, 3.19: a copy of the request finds nothing to add, and must not end the move before 4 is in sync (KAFKA-19975)."""
    stage = staged(brokers=4)
    stage.reassign((4, 2, 3))
    stage.reassign((4, 2, 3))
    assert set(stage.state().replicas) == {1, 2, 3, 4}
    stage.alter((1, 2, 3, 4))
    assert stage.state().replicas == (4, 2, 3)


def test_a_move_can_be_taken_back() -> None:
    """9.4, 9.5"""
    stage = staged(brokers=4)
    assert stage.reassign(None) is Error.NO_REASSIGNMENT_IN_PROGRESS
    stage.reassign((4, 2, 3))
    assert stage.reassign(None) is Error.NONE
    state = stage.state()
    assert (set(state.replicas), state.adding_replicas, state.removing_replicas) == ({1, 2, 3}, (), ())
    assert (state.leader, state.leader_epoch) == (1, 1)  # 4 has left


@pytest.mark.parametrize("elr", [True, False])
def test_a_way_back_that_costs_the_last_replica_in_sync_is_refused(elr: bool) -> None:
    """9.4, 9.5: [1] to [2,3], only 2 is in sync; with unclean elections on 1 leads without what 2 holds."""
    for unclean, error, leader in (("false", Error.INVALID_REPLICA_ASSIGNMENT, 2), ("true", Error.NONE, 1)):
        stage = Stage(elr=elr)
        stage.start(1, 2, 3)
        stage.create((1,), min_isr=1, unclean_leader_election_enable=unclean)
        stage.reassign((2, 3))
        stage.alter((1, 2))
        stage.fence(1)
        assert stage.shape()[:2] == (2, {2})
        stage.unfence(1)
        assert stage.reassign(None) is error
        assert stage.state().leader == leader


def test_a_target_that_cannot_be_is_refused() -> None:
    """9.5"""
    stage = staged(brokers=4)
    for target in ((), (1, 1, 2), (1, 2, 9)):
        assert stage.reassign(target) is Error.INVALID_REPLICA_ASSIGNMENT
    assert stage.reassign((1, 2), allow_replication_factor_change=False) is Error.INVALID_REPLICATION_FACTOR
    assert stage.reassign((1, 2, 4), allow_replication_factor_change=False) is Error.NONE
    unknown = AlterPartitionReassignmentsRequest(100, (Reassignment("none", 0, (1,)),))
    assert errors(stage.answer(unknown)) == [Error.UNKNOWN_TOPIC_OR_PARTITION]


def test_what_is_on_the_move_is_listed() -> None:
    """9.5"""
    stage = staged(brokers=4)
    stage.create((1, 2), name="u")
    stage.reassign((4, 2, 3))
    (ongoing,) = stage.answer(ListPartitionReassignmentsRequest(100)).reassignments
    assert (ongoing.topic, ongoing.adding_replicas, ongoing.removing_replicas) == ("t", (4,), (1,))
    assert stage.answer(ListPartitionReassignmentsRequest(100, (("u", 0),))).reassignments == ()


def test_a_fenced_member_ends_a_move_that_waited_for_it_alone() -> None:
    """9.2: every later change tests completion."""
    stage = staged(brokers=4)
    stage.reassign((1, 2, 4))
    stage.alter((1, 3, 4))
    assert stage.state().replicas == (1, 2, 4)
    assert set(stage.state().isr) == {1, 4}
