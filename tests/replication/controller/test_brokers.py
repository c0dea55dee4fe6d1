"""Brokers come, beat, fall silent and go: section 4 at the active controller, and what it costs their partitions."""

from __future__ import annotations

import pytest

from replication.admin_messages import UnregisterBrokerRequest
from replication.errors import Error
from replication.events import (
    BrokerFenced,
    BrokerRegistered,
    ControlledShutdownStarted,
    LogDirectoriesTakenOffline,
    SessionExpired,
)
from replication.identity import NO_LEADER, UNASSIGNED
from replication.lifecycle_messages import BrokerHeartbeatRequest, BrokerRegistrationRequest
from replication.records import BrokerRegistrationChange, PartitionChange, RegisterBroker
from replication.rules import Rules
from tests.replication.controller import wrong
from tests.replication.controller.stage import CLUSTER, SESSION, Stage, directory, errors

NOBODY: set[int] = set()


def staged(rules: Rules | None = None, *, elr: bool = True, checked: bool = True, **configs: str) -> Stage:
    stage = Stage(rules, elr=elr, checked=checked)
    stage.start(1, 2, 3)
    stage.create((1, 2, 3), **configs)
    return stage


def last_records(stage: Stage) -> tuple[object, ...]:
    return stage.log.decisions[-1].records


def kinds_of(records: tuple[object, ...]) -> list[type]:
    return [type(record) for record in records]


# -- registration ---------------------------------------------------------------------------------------------------------


def test_a_broker_epoch_is_the_offset_of_its_registration() -> None:
    """1.4: also behind the records that clean up after the process before it."""
    stage = staged()
    stage.kill(1)
    stage.start(1)
    stage.alter((1, 2, 3))
    stage.kill(1)
    epoch = stage.register(1).broker_epoch

    base = stage.log.decisions[-1].base_offset
    records = last_records(stage)
    assert isinstance(records[epoch - base], RegisterBroker)
    assert stage.image.brokers[1].broker_epoch == epoch
    assert stage.image.brokers[1].fenced


def test_the_same_process_keeps_its_epoch_and_its_standing() -> None:
    """1.5, 3.11: a copy of a registration changes nothing; a new address changes only that."""
    stage = Stage()
    first = stage.register(1, incarnation=b"a" * 16)
    stage.unfence(1)
    decided = len(stage.log.decisions)

    assert stage.register(1, incarnation=b"a" * 16) == first
    assert len(stage.log.decisions) == decided
    assert stage.register(1, incarnation=b"a" * 16, rack="r") == first
    assert (stage.image.brokers[1].rack, stage.image.brokers[1].fenced) == ("r", False)


def test_an_id_belongs_to_one_process_while_its_session_lasts() -> None:
    """4.2: also when that process is fenced; afterwards the id is free."""
    stage = staged()
    stage.fence(1)
    assert stage.register(1).error_code is Error.DUPLICATE_BROKER_REGISTRATION
    stage.world.advance(SESSION - 1)
    assert stage.register(1).error_code is Error.DUPLICATE_BROKER_REGISTRATION
    stage.world.advance(1)
    assert stage.register(1).error_code is Error.NONE


def test_a_process_that_was_never_heard_of_holds_no_id() -> None:
    """4.2: registering is no heartbeat."""
    stage = Stage()
    stage.register(1)
    assert stage.register(1).error_code is Error.NONE


def test_a_new_controller_gives_every_unfenced_broker_a_full_session() -> None:
    """4.2, 4.7: contacts are not in the log; a fenced one has no session to be given."""
    stage = staged()
    stage.fence(3)
    stage.world.advance(SESSION - 100)
    stage.lose_office()
    stage.take_office(2)

    assert stage.register(1).error_code is Error.DUPLICATE_BROKER_REGISTRATION
    assert stage.register(3).error_code is Error.NONE
    stage.world.advance(SESSION - 1)
    assert not stage.image.brokers[1].fenced
    stage.world.advance(1)
    assert stage.image.brokers[1].fenced


@pytest.mark.parametrize(
    ("cluster", "dirs", "error"),
    [
        ("another", (directory(2),), Error.INCONSISTENT_CLUSTER_ID),
        (CLUSTER, (), Error.INVALID_REGISTRATION),
        (CLUSTER, (directory(2), directory(2)), Error.INVALID_REGISTRATION),
        (CLUSTER, (directory(1),), Error.INVALID_REGISTRATION),
    ],
)
def test_a_registration_that_cannot_be_true_is_refused(cluster: str, dirs: tuple[bytes, ...], error: Error) -> None:
    """4.2: another cluster; no directory, one twice, one of another broker."""
    stage = Stage()
    stage.register(1)
    assert stage.answer(BrokerRegistrationRequest(2, cluster, b"z" * 16, log_dirs=dirs)).error_code is error
    assert 2 not in stage.image.brokers


def test_a_clean_restart_is_trusted_and_an_unclean_one_is_not() -> None:
    """4.3, 4.4: the marker names exactly the process that is registered."""
    for clean, elr in ((True, {1, 2}), (False, {2})):
        stage = staged()
        for broker_id in (3, 2, 1):
            stage.fence(broker_id)
        assert stage.shape() == (NO_LEADER, NOBODY, {1, 2})
        stage.world.advance(SESSION)
        stage.restart(1, clean=clean)
        assert stage.shape() == (NO_LEADER, NOBODY, elr)
        assert stage.world.told(BrokerRegistered)[-1].clean is clean


def test_a_marker_of_an_older_process_vouches_for_nothing() -> None:
    """4.4, B19: it was written before the crash."""
    stage = staged()
    older = stage.epochs[1]
    for _ in range(2):
        for broker_id in (3, 2, 1):
            stage.fence(broker_id)
        stage.world.advance(SESSION)
        stage.register(1, previous=older)
        stage.unfence(2)
        stage.unfence(3)
        stage.unfence(1)
        stage.alter((1, 2, 3))
    assert stage.world.told(BrokerRegistered)[-1].clean is False


def test_registration_cleans_up_before_it_registers() -> None:
    """3.6: between the end of a session and the tick that would notice it, one batch does what fencing would have done."""
    stage = staged()
    stage.world.advance(60)
    stage.beat(1)
    stage.world.advance(440)
    stage.beat(2)
    stage.beat(3)
    stage.world.advance(SESSION - 440)
    assert not stage.image.brokers[1].fenced
    stage.register(1)
    assert kinds_of(last_records(stage)) == [PartitionChange, RegisterBroker]
    assert stage.shape() == (2, {2, 3}, NOBODY)


# -- heartbeats -----------------------------------------------------------------------------------------------------------


def test_a_stranger_is_told_that_its_epoch_is_stale() -> None:
    """4.6, 4.17: and nothing else happens; nobody's session is kept alive by it."""
    stage = staged()
    decided = len(stage.log.decisions)
    for broker_id, epoch in ((1, stage.epochs[1] - 1), (7, 1)):
        answer = stage.answer(BrokerHeartbeatRequest(broker_id, epoch, 99))
        assert answer.error_code is Error.STALE_BROKER_EPOCH
    assert len(stage.log.decisions) == decided


def test_a_broker_is_let_serve_once_it_has_seen_its_own_registration(rules: Rules | None = None) -> None:
    """4.9: one offset less is not enough."""
    stage = Stage(rules)
    epoch = stage.register(1).broker_epoch
    early = stage.beat(1, current_metadata_offset=epoch - 1)
    assert (early.is_fenced, early.is_caught_up) == (True, False)
    assert stage.beat(1, want_fence=True).is_fenced
    now = stage.beat(1, current_metadata_offset=epoch)
    assert (now.is_fenced, now.is_caught_up) == (False, True)


def test_serving_breaks_with_a_controller_that_does_not_ask() -> None:
    """B39"""

    with pytest.raises(AssertionError):
        test_a_broker_is_let_serve_once_it_has_seen_its_own_registration(wrong.UnfencesAnybody())


def test_unfencing_elects_and_adds_nobody_to_an_isr() -> None:
    """3.6, 4.9, 8.1, 8.13: the broker first, then what has no leader; where there is a leader nothing changes."""
    stage = staged()
    stage.create((2, 3), name="u")
    for broker_id in (1, 2, 3):
        stage.fence(broker_id)
    stage.unfence(3)
    records = last_records(stage)
    assert kinds_of(records) == [BrokerRegistrationChange, PartitionChange, PartitionChange]
    assert stage.shape() == (3, {3}, {2})
    stage.unfence(2)
    assert kinds_of(last_records(stage)) == [BrokerRegistrationChange]
    assert stage.shape() == (3, {3}, {2})


def test_fencing_changes_partitions_before_the_broker() -> None:
    """3.6, 4.8"""
    stage = staged()
    stage.fence(1)
    records = last_records(stage)
    assert kinds_of(records) == [PartitionChange, BrokerRegistrationChange]
    assert stage.world.told(BrokerFenced)[-1].because == "it asked"


def test_silence_is_noticed_within_an_eighth_of_a_session() -> None:
    """4.7, 3.12"""
    stage = staged()
    stage.beating.pop(2)
    stage.pass_time(SESSION - 125)
    assert not stage.image.brokers[2].fenced
    stage.pass_time(250)
    assert stage.image.brokers[2].fenced
    (expired,) = stage.world.told(SessionExpired)
    assert expired.broker_id == 2
    assert SESSION <= expired.silent_ns // 1_000_000 <= SESSION + SESSION // 8


# -- controlled shutdown --------------------------------------------------------------------------------------------------


def test_a_leader_may_leave_when_everybody_has_heard_of_its_successor() -> None:
    """4.11, 3.20: its own record first; then nobody who serves may still take it for a leader."""
    stage = staged()
    answer = stage.beat(1, want_shut_down=True)
    assert (answer.is_fenced, answer.should_shut_down) == (False, False)
    assert kinds_of(last_records(stage)) == [BrokerRegistrationChange, PartitionChange]
    assert stage.shape() == (2, {2, 3}, NOBODY)
    moved = stage.image.offset

    stage.beat(2, current_metadata_offset=moved)
    assert not stage.beat(1, want_shut_down=True).should_shut_down  # 3 has not told
    stage.beat(3, current_metadata_offset=moved - 1)
    assert not stage.beat(1, want_shut_down=True).should_shut_down
    stage.beat(3, current_metadata_offset=moved)
    answer = stage.beat(1, want_shut_down=True)
    assert (answer.is_fenced, answer.should_shut_down) == (True, True)
    assert stage.image.brokers[1].fenced
    assert len(stage.world.told(ControlledShutdownStarted)) == 1


def test_who_leads_nothing_may_leave_at_once() -> None:
    """4.11, 4.19: and is fenced with it."""
    stage = staged()
    assert stage.beat(3, want_shut_down=True).should_shut_down
    assert stage.shape() == (1, {1, 2}, NOBODY)
    assert stage.image.brokers[3].fenced


def test_the_last_one_may_leave_too() -> None:
    """4.11: with nobody active there is nobody who must hear of it."""
    stage = Stage()
    stage.start(1)
    stage.create((1,), min_isr=1)
    assert not stage.beat(1, want_shut_down=True).should_shut_down
    assert stage.state().leader == NO_LEADER
    assert stage.beat(1, want_shut_down=True).should_shut_down


def test_a_shutdown_outlives_the_controller_that_began_it() -> None:
    """4.11: the flag is in the log, the offset is not; a new controller takes its own end for it."""
    stage = staged()
    stage.beat(1, want_shut_down=True)
    stage.lose_office()
    stage.take_office(2)

    end = stage.image.offset
    assert not stage.beat(1, want_shut_down=True).should_shut_down
    stage.beat(2, current_metadata_offset=end)
    stage.beat(3, current_metadata_offset=end - 1)
    assert not stage.beat(1, want_shut_down=True).should_shut_down
    stage.beat(3, current_metadata_offset=end)
    assert stage.beat(1, want_shut_down=True).should_shut_down


def test_who_is_fenced_on_its_way_out_may_end() -> None:
    """4.19"""
    stage = staged()
    stage.beat(1, want_shut_down=True)
    stage.kill(1)
    assert stage.beat(1, want_shut_down=True).should_shut_down


def test_who_is_shutting_down_joins_nothing_and_leads_nothing() -> None:
    """4.13, B20"""
    stage = staged()
    stage.beat(1, want_shut_down=True)
    assert stage.alter((1, 2, 3)).error_code is Error.INELIGIBLE_REPLICA
    assert stage.elect() is Error.PREFERRED_LEADER_NOT_AVAILABLE


def test_a_clean_stop_and_start_costs_no_eligibility() -> None:
    """4.3, 4.4, 8.6: controlled shutdown under min ISR, then back with the marker."""
    stage = staged()
    stage.alter((1,))
    stage.alter((1, 2))
    stage.fence(2)
    assert stage.shape() == (1, {1}, {2})
    stage.beat(1, want_shut_down=True)
    assert stage.shape() == (NO_LEADER, NOBODY, {1, 2})
    stage.beat(3)
    assert stage.beat(1, want_shut_down=True).should_shut_down
    stage.world.advance(SESSION)
    stage.restart(1, clean=True)
    stage.unfence(1)
    assert stage.shape() == (1, {1}, {2})


# -- leaving for good -----------------------------------------------------------------------------------------------------


def test_an_unregistered_broker_is_in_no_isr_and_no_elr() -> None:
    """8.14, 4.17"""
    stage = staged()
    stage.fence(3)
    stage.fence(2)
    assert stage.shape() == (1, {1}, {2})
    assert errors(stage.answer(UnregisterBrokerRequest(100, 2))) == [Error.NONE]
    assert stage.shape() == (1, {1}, NOBODY)
    assert stage.beat(2).error_code is Error.STALE_BROKER_EPOCH
    assert errors(stage.answer(UnregisterBrokerRequest(100, 2))) == [Error.BROKER_ID_NOT_REGISTERED]


# -- directories ----------------------------------------------------------------------------------------------------------


def test_a_failed_directory_takes_its_partitions_and_no_others() -> None:
    """10.2, 3.20: out of ISR and office first, then the shorter list of directories; told again, nothing more happens."""
    stage = Stage()
    stage.start(1, dirs=2)
    stage.start(2, 3)
    stage.create((1, 2, 3))
    state = stage.state()
    assert state.directories == (UNASSIGNED, directory(2), directory(3))  # 10.5: broker 1 has several

    stage.beat(1, offline_log_dirs=(directory(1, 1),))
    assert kinds_of(last_records(stage)) == [PartitionChange, BrokerRegistrationChange]
    assert stage.shape() == (2, {2, 3}, NOBODY)
    assert stage.image.brokers[1].log_dirs == (directory(1, 0),)
    assert not stage.image.brokers[1].fenced

    decided = len(stage.log.decisions)
    stage.beat(1, offline_log_dirs=(directory(1, 1),))
    assert len(stage.log.decisions) == decided
    assert len(stage.world.told(LogDirectoriesTakenOffline)) == 1


def test_a_replica_in_an_offline_directory_is_not_elected() -> None:
    """8.2, 10.2: broker 2 lives, its disk does not."""
    stage = staged()
    stage.beat(2, offline_log_dirs=(directory(2),))
    assert stage.shape() == (1, {1, 3}, NOBODY)
    stage.fence(3)
    stage.fence(1)
    assert stage.shape() == (NO_LEADER, NOBODY, {1, 3})


def test_a_replaced_directory_is_no_obstacle() -> None:
    """10.5: a wiped broker with another directory id can be elected again once it has caught up."""
    stage = staged()
    stage.kill(2)
    new = bytes([7]) * 16
    answer = stage.answer(BrokerRegistrationRequest(2, CLUSTER, b"w" * 16, log_dirs=(new,)))
    stage.epochs[2] = answer.broker_epoch
    assert stage.state().directories[1] == new
    stage.unfence(2)
    stage.alter((1, 2))
    stage.fence(1)
    assert stage.state().leader == 2
