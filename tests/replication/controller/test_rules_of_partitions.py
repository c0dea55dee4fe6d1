"""The controller's rules about partitions, each with its answer and the near miss beside it (5.35, 8, 9)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from replication.errors import Error
from replication.identity import NO_LEADER, UNASSIGNED
from replication.image import BrokerRegistration, PartitionState, RecoveryState
from replication.messages import AlterPartitionItem, IsrMember
from replication.rules import Rules
from replication.rules.elections import Ballot, Elected, Election
from replication.rules.reassignments import Layout, layout_of

RULES = Rules()
T = b"t" * 16


def partition(**given: Any) -> PartitionState:
    whole = {"replicas": (1, 2, 3), "isr": (1, 2), "leader": 1, "leader_epoch": 3, "partition_epoch": 5, **given}
    return PartitionState(**whole)


def registered(broker_id: int, **given: Any) -> BrokerRegistration:
    return BrokerRegistration(**{"broker_id": broker_id, "broker_epoch": 7, "fenced": False, **given})


def ballot(**given: Any) -> Ballot:
    whole = {
        "replicas": (1, 2, 3),
        "isr": (1, 2),
        "elr": (),
        "last_known_elr": (),
        "leader": 1,
        "acceptable": (1, 2, 3),
        "min_isr": 2,
        "uses_elr": True,
        "allows_unclean": False,
    }
    return Ballot(**{**whole, **given})


# -- who may lead (8.2, 8.3, 8.8, 8.9) --------------------------------------------------------------------------------------


def test_a_leader_must_be_active_and_its_directory_online() -> None:
    """8.2: fenced, on its way out, unregistered, leaving in this change: no. An unknown directory counts as online (10.5)."""
    online, other = b"d" * 16, b"e" * 16
    alive = registered(1, log_dirs=(online,))
    assert RULES.is_acceptable_leader(alive, online, leaving=False)
    assert RULES.is_acceptable_leader(alive, UNASSIGNED, leaving=False)
    assert not RULES.is_acceptable_leader(alive, other, leaving=False)
    assert not RULES.is_acceptable_leader(alive, online, leaving=True)
    assert not RULES.is_acceptable_leader(None, online, leaving=False)
    for flag in ("fenced", "in_controlled_shutdown"):
        assert not RULES.is_acceptable_leader(msgspec.structs.replace(alive, **{flag: True}), online, leaving=False)


def test_a_clean_leader_stays_or_comes_in_assignment_order() -> None:
    """8.3, 8.11"""
    assert RULES.clean_leader(ballot(leader=2)) == 2
    assert RULES.clean_leader(ballot(leader=3)) == 1
    assert RULES.clean_leader(ballot(isr=(2, 1), leader=NO_LEADER)) == 1
    assert RULES.clean_leader(ballot(leader=2, preferred=True)) == 1
    assert RULES.clean_leader(ballot(leader=2, preferred=True, acceptable=(2, 3))) == 2
    assert RULES.clean_leader(ballot(isr=(1,), acceptable=(2, 3))) is None


def test_the_elr_is_asked_only_when_the_isr_is_empty() -> None:
    """8.3: an ISR of the dead is still an ISR."""
    assert RULES.clean_leader(ballot(isr=(), elr=(2, 3), leader=NO_LEADER)) == 2
    assert RULES.clean_leader(ballot(isr=(1,), elr=(2, 3), acceptable=(2, 3))) is None


def test_the_last_known_leader_is_the_last_resort() -> None:
    """8.8: only with nobody in ISR and ELR, only one name, only alive."""
    last = {"isr": (), "elr": (), "last_known_elr": (3,), "leader": NO_LEADER}
    assert RULES.last_known_leader(ballot(**last)) == 3
    assert RULES.last_known_leader(ballot(**{**last, "elr": (1,), "acceptable": (3,)})) is None
    assert RULES.last_known_leader(ballot(**{**last, "isr": (1,), "acceptable": (3,)})) is None
    assert RULES.last_known_leader(ballot(**{**last, "last_known_elr": (2, 3)})) is None
    assert RULES.last_known_leader(ballot(**{**last, "acceptable": (1, 2)})) is None
    assert RULES.may_elect_last_known(3, (1, 3))
    assert not RULES.may_elect_last_known(3, (1, 2))


def test_an_unclean_leader_needs_permission() -> None:
    """8.9, B36"""
    assert RULES.unclean_leader(ballot(allows_unclean=True, acceptable=(2, 3))) == 2
    assert RULES.unclean_leader(ballot(allows_unclean=True, acceptable=())) is None
    assert RULES.unclean_leader(ballot()) is None
    assert RULES.may_elect_uncleanly(True)
    assert not RULES.may_elect_uncleanly(False)


def test_elections_are_tried_from_safe_to_unsafe() -> None:
    """8.3, 8.8, 8.9: what each of them leaves of ISR and ELR."""
    gone = {"isr": (), "leader": NO_LEADER}
    assert RULES.elect(ballot()) == Elected(1, Election.NONE, (1, 2), ())
    assert RULES.elect(ballot(leader=3)) == Elected(1, Election.CLEAN, (1, 2), ())
    assert RULES.elect(ballot(leader=2, preferred=True)) == Elected(1, Election.PREFERRED, (1, 2), ())
    assert RULES.elect(ballot(**gone, elr=(2, 3))) == Elected(2, Election.ELR, (2,), (3,))
    assert RULES.elect(ballot(**gone, last_known_elr=(3,))) == Elected(3, Election.LAST_KNOWN, (3,), ())
    assert RULES.elect(ballot(**gone, last_known_elr=(3,), uses_elr=False)) == Elected(NO_LEADER, Election.NONE, (), ())
    assert RULES.elect(ballot(**gone, allows_unclean=True)) == Elected(1, Election.UNCLEAN, (1,), ())
    assert RULES.elect(ballot(**gone, elr=(3,), acceptable=(1, 2))) == Elected(NO_LEADER, Election.NONE, (), (3,))


def test_a_leader_from_the_elr_ends_it_where_one_is_enough() -> None:
    """8.6, its first clause applied again: m = 1"""
    empty = {"isr": (), "leader": NO_LEADER, "elr": (2, 3)}
    assert RULES.elected_cleanly(ballot(**empty, min_isr=1), 2) == Elected(2, Election.ELR, (2,), ())
    assert RULES.elected_cleanly(ballot(**empty, min_isr=2), 2) == Elected(2, Election.ELR, (2,), (3,))


# -- ISR and ELR (8.4, 8.6, 8.8, 1.6) -----------------------------------------------------------------------------------------


def test_the_elr_is_who_left_while_the_hw_stood_still() -> None:
    """8.6: old members of both, in assignment order; nobody at min ISR, nobody who restarted uncleanly, nobody moved away."""
    state = partition(isr=(3, 1), elr=(2,))
    assert RULES.empties_elr(2, 2)
    assert not RULES.empties_elr(1, 2)
    assert RULES.elr_after(state, (1, 2, 3), (1,), (), 2) == (2, 3)
    assert RULES.elr_after(state, (1, 2, 3), (1, 3), (), 2) == ()
    assert RULES.elr_after(state, (1, 2, 3), (1,), (3,), 2) == (2,)
    assert RULES.elr_after(state, (1, 2), (1,), (), 2) == (2,)
    assert RULES.distrusted((3,)) == (3,)


def test_without_elr_an_isr_is_never_empty() -> None:
    """8.4, 8.5, 9.5"""
    assert RULES.isr_of_nobody((2,), (1, 2, 3), uses_elr=True) == ()
    assert RULES.isr_of_nobody((2,), (1, 2, 3), uses_elr=False) == (2,)
    assert RULES.isr_of_nobody((4,), (1, 2, 3), uses_elr=False) == (1,)


def test_the_last_leader_is_remembered_while_nobody_leads() -> None:
    """8.8: the first time it goes; not overwritten; forgotten with a successor, at min ISR, or with its replica."""
    replicas = (1, 2, 3)
    leaderless = partition(leader=NO_LEADER, isr=(), last_known_elr=(1,))
    assert RULES.last_known_after(partition(), replicas, NO_LEADER, 0, 2) == (1,)
    assert RULES.last_known_after(leaderless, replicas, NO_LEADER, 0, 2) == (1,)
    assert RULES.last_known_after(leaderless, replicas, 2, 1, 2) == ()
    assert RULES.last_known_after(leaderless, (2, 3), NO_LEADER, 0, 2) == ()
    assert RULES.last_known_after(partition(), replicas, NO_LEADER, 2, 2) == ()


def test_a_leader_epoch_begins_with_a_leader_or_without_a_replica() -> None:
    """1.6: an ISR change alone begins none; neither does a replica more."""
    state = partition()
    assert not RULES.starts_leader_epoch(state, 1, (1, 2, 3))
    assert not RULES.starts_leader_epoch(state, 1, (4, 1, 2, 3))
    assert RULES.starts_leader_epoch(state, 2, (1, 2, 3))
    assert RULES.starts_leader_epoch(state, NO_LEADER, (1, 2, 3))
    assert RULES.starts_leader_epoch(state, 1, (1, 2))


def test_elections_on_request_have_their_refusals() -> None:
    """8.11, 8.14"""
    assert RULES.refuse_preferred(partition(leader=1), ballot()) is Error.ELECTION_NOT_NEEDED
    assert RULES.refuse_preferred(partition(leader=2), ballot(leader=2)) is None
    unfit = ballot(leader=2, isr=(2, 3))
    assert RULES.refuse_preferred(partition(leader=2), unfit) is Error.PREFERRED_LEADER_NOT_AVAILABLE
    assert RULES.refuse_unclean(partition(leader=2), (1,)) is Error.ELECTION_NOT_NEEDED
    assert RULES.refuse_unclean(partition(leader=NO_LEADER), ()) is Error.ELIGIBLE_LEADERS_NOT_AVAILABLE
    assert RULES.refuse_unclean(partition(leader=NO_LEADER), (3,)) is None
    assert RULES.elections_per_pass() == 1_000


# -- AlterPartition (5.35) ----------------------------------------------------------------------------------------------------

BROKERS = {broker_id: registered(broker_id) for broker_id in (1, 2, 3)}


def asked(*isr: int, leader_epoch: int = 3, partition_epoch: int = 5, state: int = 0, epoch: int = 7) -> AlterPartitionItem:
    return AlterPartitionItem(T, 0, leader_epoch, partition_epoch, tuple(IsrMember(each, epoch) for each in isr), state)


@pytest.mark.parametrize(
    ("sender", "item", "error"),
    [
        (1, asked(1, 2, 3), None),
        (1, asked(1, leader_epoch=4), Error.NOT_CONTROLLER),
        (1, asked(1, partition_epoch=6), Error.NOT_CONTROLLER),
        (1, asked(1, leader_epoch=2, partition_epoch=6), Error.NOT_CONTROLLER),
        (2, asked(1, leader_epoch=2, partition_epoch=4), Error.FENCED_LEADER_EPOCH),
        (2, asked(2, partition_epoch=4), Error.INVALID_REQUEST),
        (1, asked(9, partition_epoch=4), Error.INVALID_UPDATE_VERSION),
        (1, asked(1, 1, epoch=6), Error.INVALID_REQUEST),
        (1, asked(2, 3), Error.INVALID_REQUEST),
        (1, asked(1, 4), Error.INVALID_REQUEST),
        (1, asked(1, 2, state=1, epoch=6), Error.INVALID_REQUEST),
        (1, asked(1, 2, epoch=6), Error.INELIGIBLE_REPLICA),
        (1, asked(1, 2, epoch=-1), None),
    ],
)
def test_a_proposal_is_refused_for_the_first_reason_in_order(sender: int, item: AlterPartitionItem, error: Error | None) -> None:
    """5.35: each row is wrong in the named way and, where it can be, in a later one as well."""
    assert RULES.refuse_alter(sender, item, partition(), BROKERS) is error


def test_each_reason_by_itself() -> None:
    """5.35"""
    state = partition()
    assert RULES.refuse_future_epochs(asked(1), state) is None
    assert RULES.refuse_leader_epoch(3, 3) is None
    assert RULES.refuse_leader_epoch(2, 3) is Error.FENCED_LEADER_EPOCH
    assert RULES.refuse_sender(2, state) is Error.INVALID_REQUEST
    assert RULES.refuse_partition_epoch(5, 5) is None
    assert RULES.refuse_partition_epoch(4, 5) is Error.INVALID_UPDATE_VERSION
    assert RULES.refuse_shape(asked(1, 3), state) is None
    assert RULES.refuse_shape(asked(1, 3, 3), state) is Error.INVALID_REQUEST


def test_an_unclean_leader_is_alone_until_it_says_that_it_took_over() -> None:
    """5.10, 5.35"""
    recovering = partition(leader_recovery_state=RecoveryState.RECOVERING)
    assert RULES.refuse_recovery(asked(1, state=1), recovering) is None
    assert RULES.refuse_recovery(asked(1, 2, state=1), recovering) is Error.INVALID_REQUEST
    assert RULES.refuse_recovery(asked(1, 2), recovering) is None
    assert RULES.refuse_recovery(asked(1, state=1), partition()) is Error.INVALID_REQUEST
    assert RULES.refuse_recovery(asked(1, state=2), recovering) is Error.INVALID_REQUEST  # no such state


def test_a_member_is_active_and_the_process_that_was_meant() -> None:
    """5.35, B18, B20"""
    member = IsrMember(3, 7)
    assert RULES.may_be_member(member, registered(3))
    assert not RULES.may_be_member(member, registered(3, broker_epoch=8))
    assert not RULES.may_be_member(member, registered(3, fenced=True))
    assert not RULES.may_be_member(member, registered(3, in_controlled_shutdown=True))
    assert not RULES.may_be_member(member, None)
    assert RULES.refuse_members((member, IsrMember(4, 7)), {3: registered(3)}) is Error.INELIGIBLE_REPLICA
    assert RULES.counts_as_alive(registered(3))
    assert not RULES.counts_as_alive(None)
    assert RULES.is_meant(-1, 7)
    assert RULES.is_meant(7, 7)
    assert not RULES.is_meant(6, 7)


def test_only_a_refusal_that_may_be_accepted_later_steps_the_epoch() -> None:
    """5.37, B54"""
    assert [error for error in Error if RULES.steps_epoch_on_refusal(error)] == [Error.INELIGIBLE_REPLICA]


# -- reassignment (9) ---------------------------------------------------------------------------------------------------------


def test_a_target_names_registered_brokers_once() -> None:
    """9.5: the factor is that of the target of a running move, not of everybody who holds something."""
    now = Layout((4, 2, 3, 1), (4,), (1,))
    assert RULES.refuse_target((1, 2, 3), now, BROKERS, False) is None
    assert RULES.refuse_target((1, 2), now, BROKERS, True) is None
    assert RULES.refuse_target((1, 2), now, BROKERS, False) is Error.INVALID_REPLICATION_FACTOR
    for wrong in ((), (1, 1), (1, 9)):
        assert RULES.refuse_target(wrong, now, BROKERS, True) is Error.INVALID_REPLICA_ASSIGNMENT


def test_a_move_begins_with_everybody() -> None:
    """9.1, 9.5"""
    assert RULES.layout_towards((4, 2, 3), Layout((1, 2, 3))) == Layout((4, 2, 3, 1), (4,), (1,))
    assert RULES.layout_towards((3, 2, 1), Layout((1, 2, 3))) == Layout((3, 2, 1))
    moving = Layout((4, 2, 3, 1), (4,), (1,))
    assert RULES.layout_towards((4, 2, 3), moving) == Layout((4, 2, 3, 1), (), (1,))


@pytest.mark.parametrize(
    ("layout", "isr", "complete"),
    [
        (Layout((4, 2, 3, 1), (4,), (1,)), (1, 4), True),
        (Layout((4, 2, 3, 1), (4,), (1,)), (1, 2, 3), False),
        (Layout((4, 2, 3, 1), (4,), (1,)), (1,), False),
        (Layout((1, 2, 3), (), (3,)), (1, 3), False),
        (Layout((1, 2, 3), (), (3,)), (1, 2), True),
        (Layout((1, 2, 3, 4), (4,), ()), (1, 4), True),
        (Layout((1, 2), (), (1, 2)), (1,), False),
    ],
)
def test_a_move_is_complete_when_nobody_new_is_missing(layout: Layout, isr: tuple[int, ...], complete: bool) -> None:
    """9.2, B52: and with fewer coming than going, nobody who stays."""
    assert RULES.completes_reassignment(layout, isr) is complete
    assert RULES.layout_after(layout, isr) == (Layout(layout.target) if complete else layout)


def test_what_does_not_move_stays() -> None:
    """9.2"""
    assert RULES.layout_after(Layout((1, 2, 3)), (1,)) == Layout((1, 2, 3))
    assert layout_of(partition(adding_replicas=(3,))) == Layout((1, 2, 3), (3,), ())


def test_the_way_back_needs_somebody_in_sync() -> None:
    """9.4, 9.5"""
    now = Layout((4, 2, 3, 1), (4,), (1,))
    assert RULES.layout_before(now) == Layout((2, 3, 1))
    assert RULES.refuse_cancel(now, (4, 1), False) is None
    assert RULES.refuse_cancel(now, (4,), False) is Error.INVALID_REPLICA_ASSIGNMENT
    assert RULES.refuse_cancel(now, (4,), True) is None
    assert RULES.refuse_cancel(Layout((1, 2)), (1,), True) is Error.NO_REASSIGNMENT_IN_PROGRESS
    assert RULES.may_cancel_uncleanly(True)
    assert not RULES.may_cancel_uncleanly(False)
