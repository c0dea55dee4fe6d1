"""The controller's rules about brokers, office, settings and topics, each with its answer and the near miss beside it."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from replication.errors import Error
from replication.identity import UNASSIGNED
from replication.image import BROKER, TOPIC, BrokerRegistration, MetadataImage, PartitionState
from replication.lifecycle_messages import BrokerHeartbeatRequest, BrokerRegistrationRequest
from replication.rules import ControllerRules, Rules
from replication.rules.registrations import ShutdownProgress, Standing

RULES = Rules()
A, B, C = (bytes([letter]) * 16 for letter in b"abc")


def registered(broker_id: int = 1, **given: Any) -> BrokerRegistration:
    whole = {"broker_id": broker_id, "broker_epoch": 7, "incarnation_id": A, "fenced": False, "log_dirs": (A,)}
    return BrokerRegistration(**{**whole, **given})


def asking(**given: Any) -> BrokerRegistrationRequest:
    return BrokerRegistrationRequest(**{"broker_id": 1, "cluster_id": "c", "incarnation_id": A, "log_dirs": (A,), **given})


def beat(**wants: Any) -> BrokerHeartbeatRequest:
    return BrokerHeartbeatRequest(**{"broker_id": 1, "broker_epoch": 7, "current_metadata_offset": 7, **wants})


# -- the rules themselves -----------------------------------------------------------------------------------------------------


def questions() -> list[str]:
    return [name for name, _ in inspect.getmembers(ControllerRules, inspect.isfunction) if not name.startswith("_")]


@pytest.mark.parametrize("name", questions())
def test_every_rule_opens_with_its_number_and_is_asked_about(name: str) -> None:
    """A reader finds each rule's place in PROTOCOL from its docstring alone, and an example of its answer in these two files."""
    here = "".join(path.read_text() for path in sorted(Path(__file__).parent.glob("test_rules_of_*.py")))
    assert re.match(r"\d+\.\d+\b", inspect.getdoc(getattr(ControllerRules, name)) or "")
    assert re.search(rf"RULES\.{name}\b", here)


# -- registration (4.2 to 4.4, 1.5) -------------------------------------------------------------------------------------------


def test_a_session_is_a_contact_within_its_time() -> None:
    """4.2, 4.7: never is not long ago, it is never."""
    assert RULES.session_is_valid(100, 199, 100)
    assert not RULES.session_is_valid(100, 200, 100)
    assert not RULES.session_is_valid(None, 0, 100)
    assert RULES.contact_at_office(registered(), 5) == 5
    assert RULES.contact_at_office(registered(fenced=True), 5) is None


def test_a_registration_is_refused_for_the_first_reason() -> None:
    """4.2"""
    image = MetadataImage(cluster_id="c", brokers={1: registered(), 2: registered(2, log_dirs=(B,))})
    assert RULES.refuse_registration(asking(cluster_id="d"), image, False) is Error.INCONSISTENT_CLUSTER_ID
    assert RULES.refuse_registration(asking(incarnation_id=B), image, True) is Error.DUPLICATE_BROKER_REGISTRATION
    assert RULES.refuse_registration(asking(incarnation_id=B), image, False) is None
    assert RULES.refuse_registration(asking(), image, True) is None
    assert RULES.refuse_registration(asking(broker_id=3, log_dirs=(C,)), image, False) is None
    for wrong in ((), (B,), (C, C)):
        assert RULES.refuse_log_dirs(asking(log_dirs=wrong), image) is Error.INVALID_REGISTRATION


def test_a_process_is_its_incarnation() -> None:
    """1.5, 1.4: it keeps its epoch, another one gets its record's offset; nobody's marker vouches for another."""
    assert RULES.is_same_process(registered(), A)
    assert not RULES.is_same_process(registered(), B)
    assert RULES.broker_epoch_for(registered(), A, 99) == 7
    assert RULES.broker_epoch_for(registered(), B, 99) == 99
    assert RULES.broker_epoch_for(None, A, 99) == 99
    assert RULES.is_clean_restart(registered(), 7)
    assert not RULES.is_clean_restart(registered(), 6)
    assert not RULES.is_clean_restart(registered(), -1)
    assert not RULES.is_clean_restart(None, 7)
    assert RULES.is_registered_process(registered(), 7)
    assert not RULES.is_registered_process(registered(), 8)
    assert not RULES.is_registered_process(None, 7)


def test_a_directory_that_is_gone_was_replaced_only_if_another_came() -> None:
    """10.3, 10.5: one that is merely missing may be offline, and keeps its replicas."""
    assert RULES.default_directory((A,)) == A
    assert RULES.default_directory((A, B)) == UNASSIGNED
    assert RULES.replaced_directory(A, (A,), (B,)) == B
    assert RULES.replaced_directory(A, (A, B), (B,)) == A  # offline at the start
    assert RULES.replaced_directory(A, (B,), (B,)) == A  # offline since its failure was reported
    assert RULES.replaced_directory(A, (A, B), (B, C)) == UNASSIGNED
    assert RULES.replaced_directory(A, None, (B,)) == B
    assert RULES.replaced_directory(UNASSIGNED, (A,), (B,)) == UNASSIGNED
    assert RULES.replaced_directory(B, (A,), (A, B)) == B


# -- heartbeats (4.9, 4.11, 4.19) ---------------------------------------------------------------------------------------------

HELD = ShutdownProgress(leads=True, changes_offset=20, lowest_reported=30)
FREE = ShutdownProgress(leads=False, changes_offset=20, lowest_reported=20)
UNHEARD = ShutdownProgress(leads=False, changes_offset=20, lowest_reported=19)
FENCED, LEAVING = {"fenced": True}, {"in_controlled_shutdown": True}
END, FENCE = {"want_shut_down": True}, {"want_fence": True}


@pytest.mark.parametrize(
    ("known", "wants", "progress", "standing"),
    [
        (FENCED, END, HELD, Standing.SHUT_DOWN),
        (FENCED, {}, FREE, Standing.UNFENCED),
        (FENCED, {"current_metadata_offset": 6}, FREE, Standing.FENCED),
        (FENCED, FENCE, FREE, Standing.FENCED),
        ({}, FENCE, FREE, Standing.FENCED),
        ({}, {**FENCE, **END}, HELD, Standing.SHUT_DOWN),
        ({}, END, HELD, Standing.CONTROLLED_SHUTDOWN),
        ({}, END, UNHEARD, Standing.SHUT_DOWN),
        ({}, {}, HELD, Standing.UNFENCED),
        (LEAVING, END, FREE, Standing.SHUT_DOWN),
        (LEAVING, END, UNHEARD, Standing.CONTROLLED_SHUTDOWN),
        (LEAVING, END, HELD, Standing.CONTROLLED_SHUTDOWN),
        ({**LEAVING, **FENCED}, END, HELD, Standing.SHUT_DOWN),
    ],
)
def test_the_heartbeat_table(known: Any, wants: Any, progress: ShutdownProgress, standing: Standing) -> None:
    """4.19, row by row."""
    assert RULES.next_standing(registered(**known), beat(**wants), progress) is standing


def test_the_tables_parts() -> None:
    """4.9, 4.11, 4.19"""
    assert RULES.standing(registered(**FENCED, **LEAVING)) is Standing.FENCED
    assert RULES.has_caught_up(7, 7)
    assert not RULES.has_caught_up(6, 7)
    assert RULES.may_unfence(beat())
    assert not RULES.may_unfence(beat(want_fence=True))
    assert RULES.may_leave(FREE)
    assert not RULES.may_leave(UNHEARD)
    assert RULES.may_leave(ShutdownProgress(False, 20, None))
    assert RULES.fencing_rounds([3, 1]) == [(3,), (1,)]
    assert RULES.lies_in(A, (A, B))
    assert RULES.lies_in(UNASSIGNED, (A,))
    assert not RULES.lies_in(C, (A, B))


# -- office (3.5, 3.10, 3.12) -------------------------------------------------------------------------------------------------


def test_what_is_not_committed_is_not_told_and_not_kept() -> None:
    """3.5, 3.10, 3.12"""
    assert RULES.may_answer(5, 5)
    assert not RULES.may_answer(6, 5)
    assert RULES.may_decide(5, 5)
    assert not RULES.may_decide(6, 5)
    committed, ahead = MetadataImage(offset=5), MetadataImage(offset=6)
    assert RULES.believed(committed, ahead) is committed
    assert RULES.must_write_no_op(100, 200, 100)
    assert not RULES.must_write_no_op(101, 200, 100)


# -- settings (3.14, 8.12) ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("resource", "name", "value", "fits"),
    [
        ((TOPIC, "t"), "min.insync.replicas", "2", True),
        ((TOPIC, "t"), "min.insync.replicas", None, True),
        ((TOPIC, "t"), "min.insync.replicas", "0", False),
        ((TOPIC, "t"), "min.insync.replicas", "two", False),
        ((TOPIC, "t"), "segment.bytes", str(2**63), False),
        ((TOPIC, "t"), "unclean.leader.election.enable", "true", True),
        ((TOPIC, "t"), "unclean.leader.election.enable", "maybe", False),
        ((TOPIC, "t"), "replica.lag.time.max.ms", "5", False),
        ((TOPIC, "t"), "leader.replication.throttled.replicas", "0:1,1:2", True),
        ((TOPIC, "t"), "leader.replication.throttled.replicas", "0-1", False),
        ((BROKER, ""), "log.segment.bytes", "x", False),
        ((BROKER, "1"), "log.segment.bytes", "100", True),
        ((BROKER, "one"), "log.segment.bytes", "100", False),
        ((BROKER, "1"), "leader.replication.throttled.rate", "100", True),
        (("group", "g"), "segment.bytes", "100", False),
    ],
)
def test_a_setting_exists_at_its_level_and_can_be_read(
    resource: tuple[str, str], name: str, value: str | None, fits: bool
) -> None:
    """3.14"""
    assert (RULES.refuse_setting(resource, name, value, uses_elr=True) is None) is fits


def test_with_elr_everybody_means_the_same_min_isr() -> None:
    """3.14, 5.30, B23: not per broker, and never none for the cluster; without ELR as one likes."""
    name = "min.insync.replicas"
    assert RULES.refuse_setting((BROKER, ""), name, "2", uses_elr=True) is None
    assert RULES.refuse_setting((BROKER, ""), name, None, uses_elr=True) is Error.INVALID_CONFIG
    assert RULES.refuse_setting((BROKER, "1"), name, "2", uses_elr=True) is Error.INVALID_CONFIG
    assert RULES.refuse_setting((BROKER, "1"), name, "2", uses_elr=False) is None
    assert RULES.refuse_min_isr_of_brokers("1", "2") is Error.INVALID_CONFIG
    assert RULES.setting_in_force("3", "2", "1") == "3"
    assert RULES.setting_in_force(None, "2", "1") == "2"
    assert RULES.setting_in_force(None, None, "1") == "1"
    assert RULES.first_settings(2, True) == {name: "2"}
    assert RULES.first_settings(2, False) == {}


def test_a_new_min_isr_steps_epochs_and_keeps_what_the_leaderless_need() -> None:
    """8.12, B55"""
    assert RULES.steps_epochs_on_min_isr(True)
    assert not RULES.steps_epochs_on_min_isr(False)
    state = PartitionState(replicas=(1, 2), isr=(1,), leader=1, leader_epoch=0, partition_epoch=0, elr=(2,))
    leaderless = PartitionState(replicas=(1, 2), isr=(), leader=-1, leader_epoch=0, partition_epoch=0, elr=(2,))
    assert RULES.forgets_elr_on_min_isr(state)
    assert not RULES.forgets_elr_on_min_isr(leaderless)


# -- topics (3.9, 3.15) -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("new", None),
        ("t.a-b_C9", None),
        ("", Error.INVALID_TOPIC_EXCEPTION),
        ("..", Error.INVALID_TOPIC_EXCEPTION),
        ("a b", Error.INVALID_TOPIC_EXCEPTION),
        ("x" * 250, Error.INVALID_TOPIC_EXCEPTION),
        ("__cluster_metadata", Error.INVALID_TOPIC_EXCEPTION),
        ("old_one", Error.TOPIC_ALREADY_EXISTS),
        ("old.one", Error.INVALID_TOPIC_EXCEPTION),
    ],
)
def test_a_name_is_a_directorys_name_too(name: str, error: Error | None) -> None:
    """3.15"""
    assert RULES.refuse_topic_name(name, {"old_one": A}) is error


def test_a_topic_needs_places_and_a_leader() -> None:
    """3.15: a fenced broker is a place; somebody active must be there."""
    some = [registered(1), registered(2, fenced=True)]
    assert RULES.refuse_placement(1, 2, some) is None
    assert RULES.refuse_placement(0, 2, some) is Error.INVALID_PARTITIONS
    assert RULES.refuse_placement(1, 3, some) is Error.INVALID_REPLICATION_FACTOR
    assert RULES.refuse_placement(1, 0, some) is Error.INVALID_REPLICATION_FACTOR
    assert RULES.refuse_placement(1, 1, some[1:]) is Error.INVALID_REPLICATION_FACTOR


def test_an_assignment_by_hand_is_read_twice() -> None:
    """3.15"""
    brokers = {1: registered(1), 2: registered(2), 3: registered(3, fenced=True)}
    assert RULES.refuse_assignment(((1, 2), (3, 1)), brokers) is None
    for wrong in (((1, 9),), ((1, 1),), ((1, 2), (1,)), ((3,),), ((),)):
        assert RULES.refuse_assignment(wrong, brokers) is Error.INVALID_REPLICA_ASSIGNMENT


def test_replicas_go_round_the_racks_and_begin_with_somebody_alive() -> None:
    """3.15: neighbours on different racks, leaders spread, the fenced last."""
    racked = [registered(number, rack="xy"[number > 2]) for number in (1, 2, 3, 4)]
    assert RULES.placement(racked, 4, 2, start=0) == ((1, 3), (3, 2), (2, 4), (4, 1))
    assert RULES.placement(racked, 1, 3, start=5) == ((3, 2, 4),)
    partly = [registered(1, fenced=True), registered(2), registered(3)]
    assert RULES.placement(partly, 3, 3, start=0) == ((2, 3, 1), (3, 2, 1), (2, 3, 1))


def test_a_new_partition_is_led_by_its_first_active_replica() -> None:
    """3.9"""
    state = RULES.first_state((3, 1, 2), (1, 2), (A, B, C))
    assert (state.leader, state.isr, state.leader_epoch, state.partition_epoch) == (1, (1, 2), 0, 0)
    assert (state.replicas, state.directories) == ((3, 1, 2), (A, B, C))


def test_producer_ids_come_in_blocks() -> None:
    """6.15"""
    assert RULES.producer_id_block(3_000) == (3_000, 1_000)
