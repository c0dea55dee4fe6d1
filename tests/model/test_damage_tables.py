"""Stored tables tell a ledger what the simulator would have told it (CHECKERS 1.7, 1.8, 6.1)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings

from model import evidence
from model.cluster import Damage
from model.damage_inputs import (
    CommittedChange,
    ConfigChange,
    PartitionSetting,
    Registration,
    UncleanEnd,
    UncleanRequest,
    partition_setting,
)
from model.damage_tables import SETTLES_NS, change_of, ledger_of, partition_settings, told_in, voters
from model.plan import Nodes, Plan, Topic
from tests.model.damage_stories import AT, A, B, C, Story
from tests.model.test_damage_scope import steps, told

PLAN = Plan(tidemark=1)
Row = Mapping[str, Any]


def event(fault: str, fired_ns: int | None = 50, **more: Any) -> dict[str, Any]:
    """A row of the table of events, as it comes back from Parquet."""
    columns: dict[str, Any] = dict.fromkeys(evidence.SCHEMAS["events"].names)
    return {**columns, "fault": fault, "fired_ns": fired_ns, "damage": [], "args": "{}", **more}


def lost(node: int, how: str = "lossy", dropped_from: int | None = 3) -> dict[str, Any]:
    return {"node": node, "topic": "t", "partition": 0, "how": how, "dropped_from": dropped_from, "dropped": 1}


def ends(*events: Row) -> list[Any]:
    return told_in(PLAN, events, (), ())


# -- events -------------------------------------------------------------------------------------------------------------


def test_each_node_that_the_damage_names_ended_when_the_fault_fired() -> None:
    """1.7"""
    found = ends(event("lossy_kill", damage=[lost(A), lost(B, "restart"), lost(A, "wipe")]))
    assert found == [
        UncleanEnd(50, A, (Damage(A, "t", 0, "lossy", 3, 1), Damage(A, "t", 0, "wipe", 3, 1))),
        UncleanEnd(50, B, (Damage(B, "t", 0, "restart", 3, 1),)),
    ]


def test_what_never_fired_and_what_ends_no_process_is_no_end() -> None:
    """6.1: only what fired."""
    assert ends(event("kill", None, damage=[lost(A)]), event("cut", resolved=[A]), event("cut", resolved=[A], damage=None)) == []


def test_an_exit_is_an_unclean_end_that_kept_its_page_cache() -> None:
    """6.2: a halt on a disk error, a crash, a stop that was not let go."""
    assert ends(event("exit", resolved=[A], damage=None)) == [UncleanEnd(50, A, ())]


def test_a_fault_that_does_not_tell_what_it_cost_cost_everything() -> None:
    """6.2: effect unknown = lost. A kill keeps the page cache whoever tells."""
    assert ends(event("lossy_kill", resolved=[A, B], damage=None)) == [UncleanEnd(50, A, None), UncleanEnd(50, B, None)]
    assert ends(event("kill", resolved=[A], damage=None)) == [UncleanEnd(50, A, ())]
    changes, registrations = rows_of(Story().told)
    ledger = ledger_of(PLAN, [event("lossy_kill", resolved=[A], damage=None)], changes, registrations, complete=True)
    assert (ledger.facts(AT).lost, ledger.level(AT).rule) == (1, "C5")


def test_a_restart_loop_ends_its_process_every_time_its_interval_is_over() -> None:
    """The damage of all rounds stands in one row, without their times."""
    loop = event("restart_loop", 10, healed_ns=40, args='{"every":"10ns"}', damage=[lost(A, "restart"), lost(A, "restart")])
    assert ends(loop) == [UncleanEnd(at_ns, A) for at_ns in (10, 20, 30)]
    default = event("restart_loop", 10, healed_ns=10 + 5 * 10**9, damage=[lost(A, "restart")])
    assert [end.at_ns - 10 for end in ends(default)] == [0, 2 * 10**9, 4 * 10**9]


def test_a_restart_loop_that_never_healed_went_on_until_the_last_thing_that_is_known() -> None:
    """A run that was killed has no healing."""
    loop = event("restart_loop", 10, args='{"every":"10ns"}', damage=[lost(A, "restart")])
    registration = {"at_ns": 35, "node": A, "broker_epoch": 9, "clean": False}
    assert told_in(PLAN, [loop], (), [registration]) == [
        *(UncleanEnd(at_ns, A) for at_ns in (10, 20, 30, 34)),
        Registration(35, A, 9),
    ]
    assert ends(loop) == [UncleanEnd(10, A)]


def test_a_change_of_config_is_unsettled_until_it_heals_and_a_while_after_it_was_asked_back() -> None:
    """C4: a table does not say when it took effect."""
    args = json.dumps({"key": "min.insync.replicas", "value": 1, "topic": "t", "old": "2"})
    key: dict[str, Any] = {"key": "min.insync.replicas", "topic": "t"}
    assert ends(event("change_config", args=args, healed_ns=80)) == [
        ConfigChange(at_ns=50, value="1", unsettled_ns=30, **key),
        ConfigChange(at_ns=80, value="2", unsettled_ns=SETTLES_NS, **key),
    ]
    assert ends(event("change_config", args=args)) == [ConfigChange(at_ns=50, value="1", unsettled_ns=None, **key)]
    switch = json.dumps({"key": "unclean.leader.election.enable", "value": True})
    assert [one.value for one in ends(event("change_config", args=switch))] == ["true"]


def test_an_operators_unclean_election_is_a_permission_for_its_partition() -> None:
    """C2, P 8.14: where no partition is named, it is the plan's first. A preferred one permits nothing."""
    unclean = {"args": '{"kind":"unclean"}'}
    assert ends(event("elect", target="u/3", **unclean)) == [UncleanRequest(50, "u", 3)]
    assert ends(event("elect", **unclean)) == [UncleanRequest(50, "t", 0)]
    assert ends(event("elect", target="t/0", args='{"kind":"preferred"}')) == []


# -- the order ----------------------------------------------------------------------------------------------------------


def test_at_equal_times_settings_come_before_ends_before_changes_before_registrations() -> None:
    """One commit takes the old process out and then registers the new one (P 3.6)."""
    changes, registrations = rows_of(Story().told)
    row = next(iter(changes))
    events = [event("kill", damage=[lost(A, "restart")]), event("elect", args='{"kind":"unclean"}')]
    found = told_in(PLAN, events, [{**row, "at_ns": 50}], [{**registrations[0], "at_ns": 50}])
    assert [type(one) for one in found] == [UncleanRequest, UncleanEnd, CommittedChange, Registration]


def rows_of(happenings: list[Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Changes and registrations of a story as rows, through Arrow and back."""
    changes = [
        {**{name: getattr(one, name) for name in one.__struct_fields__}, "partition_epoch": number}
        for number, one in enumerate(one for one in happenings if isinstance(one, CommittedChange))
    ]
    registrations = [
        {"at_ns": one.at_ns, "node": one.node, "broker_epoch": one.broker_epoch, "clean": None}
        for one in happenings
        if isinstance(one, Registration)
    ]
    return (
        evidence.to_table("changes", changes, record="complete").to_pylist(),
        evidence.to_table("registrations", registrations).to_pylist(),
    )


def events_of(happenings: list[Any]) -> list[dict[str, Any]]:
    """What the nemesis would have written of the same story."""
    rows = []
    for one in happenings:
        if isinstance(one, UncleanEnd):
            named = one.damage or (Damage(one.node, "__cluster_metadata", 0, "restart", None, 0),)
            damage = [{name: getattr(each, name) for name in each.__struct_fields__} for each in named]
            rows.append(event("kill", one.at_ns, damage=damage))
        elif isinstance(one, UncleanRequest):
            rows.append(event("elect", one.at_ns, args='{"kind":"unclean"}', target=f"{one.topic}/{one.partition}"))
    return evidence.to_table("events", rows).to_pylist()


@settings(max_examples=60, deadline=None)
@given(steps)
def test_tables_tell_what_the_simulator_told(words: list) -> None:  # type: ignore[type-arg]
    """Online and offline agree on every row of 6.3 and its facts, and on the bound; settings and voters come another way."""
    kept = [(word, node) for word, node in words if word.__code__.co_names[0] not in ("min_isr_becomes", "voter")]
    story = told(kept, elr=True, complete=True)
    changes, registrations = rows_of(story.told)
    ledger = ledger_of(PLAN, events_of(story.told), changes, registrations, complete=True)
    ours = ledger.facts(AT)
    assert ours == story.ledger.facts(AT)
    assert ledger.level(AT) == story.ledger.level(AT)
    assert ledger.bound(AT) == story.ledger.bound(AT)


def test_a_kill_and_what_its_disk_lost_may_be_told_together_or_one_after_the_other() -> None:
    """The simulator ends a process first and hurts its directory then; the table has both in one row."""
    apart = Story().kill(A)
    apart.now -= 10
    apart.hurt(A)
    together = Story().hurt(A)
    assert apart.ledger.facts(AT) == together.ledger.facts(AT)


# -- the plan -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cluster", "topic", "expected"),
    [
        ({}, {}, {"min_isr": 1}),
        ({"min.insync.replicas": 2}, {}, {"min_isr": 2}),
        ({"min.insync.replicas": 2}, {"min.insync.replicas": 3}, {"min_isr": 3, "of_the_topic": ("min.insync.replicas",)}),
        ({"unclean.leader.election.enable": True}, {}, {"min_isr": 1, "unclean": True}),
        ({"eligible.leader.replicas.version": 0}, {}, {"min_isr": 1, "elr": False}),
        ({"log.flush.interval.messages": 1}, {}, {"min_isr": 1, "flush_each": True}),
        ({"log.flush.interval.messages": 1}, {"flush.messages": 9}, {"min_isr": 1, "of_the_topic": ("flush.messages",)}),
        ({}, {"flush.messages": 1}, {"min_isr": 1, "flush_each": True, "of_the_topic": ("flush.messages",)}),
        ({"log.flush.interval.ms": 5}, {}, {"min_isr": 1, "flush_interval_ns": 5_000_000}),
    ],
)
def test_a_plan_says_what_a_partition_is_configured_to_be(
    cluster: dict[str, object], topic: dict[str, object], expected: dict[str, Any]
) -> None:
    """6.1: the topic's own value, else the cluster's, else the profile's."""
    plan = Plan(tidemark=1, config={"profile": "brisk", **cluster}, topics={"t": Topic(config=topic)})
    assert partition_setting(plan, "t") == PartitionSetting(**{"replicas": 3, **expected})


def test_every_partition_of_the_plan_has_a_setting_and_every_controller_a_vote() -> None:
    """6.1, Q1"""
    plan = Plan(tidemark=1, topics={"t": Topic(partitions=2), "u": Topic(replicas=1)}, nodes=Nodes(brokers=3, controllers=1))
    found = partition_settings(plan, complete=False)
    assert list(found) == [("t", 0), ("t", 1), ("u", 0)]
    assert (found["u", 0].replicas, found["t", 0].changes_complete) == (1, False)
    assert voters(plan) == (4,)


def test_a_sampled_row_may_know_less() -> None:
    """1.8: nulls where a system has no such thing."""
    row = dict.fromkeys(evidence.SCHEMAS["changes"].names)
    known = change_of({**row, "at_ns": 5, "topic": "t", "partition": 0, "leader_epoch": 1, "replicas": [A, B, C], "isr": [A]})
    assert (known.isr_epochs, known.elr, known.last_known, known.election, known.leader) == ((), (), None, "none", None)
