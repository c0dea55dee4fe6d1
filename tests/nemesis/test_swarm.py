"""The swarm: random schedules that any plan can hold, and that differ from run to run."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model import plan_file
from model.cluster import Ability
from model.plan import Nodes, Plan, Topic, to_data
from model.schedule import Event, Schedule, typed_arguments
from model.vocabulary import FAULTS, OF_A_PARTITION, TARGETS, faults_among
from nemesis.swarm import LONGEST_MS, MS, SHORTEST_MS, draw_schedule
from nemesis.swarm_words import DESTROYING
from tests.nemesis.fake import FakeCluster, Watched

ALL = frozenset(Ability)
MANY = [draw_schedule(Plan(tidemark=1, seed=seed, nodes=Nodes(brokers=4)), ALL) for seed in range(400)]
EVENTS = [event for schedule in MANY for event in schedule]


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Any topology, any length from a moment to a minute."""
    brokers = draw(st.integers(1, 6))
    combined = draw(st.booleans())
    controllers = draw(st.integers(1, brokers if combined else 5))
    topics = {
        name: Topic(partitions=draw(st.integers(1, 3)), replicas=draw(st.integers(1, brokers)))
        for name in draw(st.lists(st.sampled_from(["t", "a.b", "u"]), min_size=1, unique=True))
    }
    return Plan(
        tidemark=1,
        seed=draw(st.integers(0, 2**63 - 1)),
        for_ns=draw(st.one_of(st.integers(1, 10**9), st.integers(10**9, 60 * 10**9))),
        client_groups=draw(st.integers(1, 3)),
        nodes=Nodes(brokers=brokers, controllers=controllers, combined=combined, even_voters=True),
        topics=topics,
    )


abilities = st.one_of(st.just(ALL), st.frozensets(st.sampled_from(list(Ability))))


def is_weather(event: Event) -> bool:
    """A broker that is far away for as long as there are faults."""
    return event.fault == "delay" and event.at_ns == 0 and str(event.target).startswith("n")


def end_ns(schedule: Schedule) -> int:
    return max((latest_ns(event) + (event.for_ns or 0) for event in schedule), default=0)


def latest_ns(event: Event) -> int:
    return event.within_ns or 0 if event.at_ns is None else event.at_ns


@given(plans(), abilities)
def test_a_drawn_schedule_passes_every_check_of_the_plan_that_holds_it(plan: Plan, can: frozenset[Ability]) -> None:
    """It is stored with the run and read back: no form may refuse or change it."""
    schedule = draw_schedule(plan, can)
    held = msgspec.structs.replace(plan, schedule=schedule)
    assert plan_file.from_data(to_data(held), "drawn").schedule == schedule
    for event in schedule:
        typed_arguments(event)


@given(plans(), abilities)
def test_a_drawn_schedule_asks_for_nothing_the_cluster_cannot_do(plan: Plan, can: frozenset[Ability]) -> None:
    """A run is not refused for what chance wanted; and only a few kinds exist in it."""
    schedule = draw_schedule(plan, can)
    kinds = {event.fault for event in schedule if not is_weather(event)}
    assert all(FAULTS[event.fault].needs <= can for event in schedule)
    assert len(kinds) <= 5


@given(plans(), abilities)
def test_a_drawn_schedule_leaves_the_last_tenth_in_peace(plan: Plan, can: frozenset[Ability]) -> None:
    """The cluster gets time to settle; durations are whole milliseconds within their bounds."""
    schedule = draw_schedule(plan, can)
    assert end_ns(schedule) * 10 <= plan.for_ns * 9
    at_ns = [event.at_ns for event in schedule if event.at_ns is not None]
    assert at_ns == sorted(at_ns)
    for event in schedule:
        assert (event.for_ns is not None) == FAULTS[event.fault].heals
        longest_ms = plan.for_ns // MS if is_weather(event) else LONGEST_MS
        assert event.for_ns is None or (event.for_ns <= longest_ms * MS and event.for_ns % MS == 0)
        assert event.for_ns is None or is_weather(event) or event.for_ns >= SHORTEST_MS * MS


@given(plans(), abilities)
def test_the_same_plan_draws_the_same_schedule(plan: Plan, can: frozenset[Ability]) -> None:
    """Also when the set of abilities was built in another order, and whatever mutants are switched on."""
    mutated = msgspec.structs.replace(plan, mutants=("B11",))
    assert draw_schedule(mutated, frozenset(sorted(can, reverse=True))) == draw_schedule(plan, can)


def test_seeds_draw_different_schedules_with_something_in_them() -> None:
    """Thirty seconds are enough for several faults of two to five kinds, as a rule."""
    assert len({str(schedule) for schedule in MANY}) == len(MANY)
    assert {len({event.fault for event in schedule}) for schedule in MANY} >= {2, 3, 4, 5}
    assert sum(len(schedule) >= 4 for schedule in MANY) > 0.9 * len(MANY)


def test_every_fault_and_every_argument_comes_up() -> None:
    """What is never drawn is never tested. Only directories are left alone: a plan does not say how many there are."""
    drawn = {(event.fault, name) for event in EVENTS for name in (*event.args, None)}
    wanted = {(fault, name) for fault, spec in FAULTS.items() for name in (*spec.args, None) if name != "directory"}
    assert wanted - drawn == set()


def test_every_target_comes_up() -> None:
    """Each symbolic one, alone or as a side, and clients by group and as a whole."""
    drawn = {name for event in EVENTS for name in _names(event.target)}
    assert {*TARGETS, "clients", "c1", "c2"} <= drawn


def _names(target: object) -> list[str]:
    return [target] if isinstance(target, str) else [name for entry in target or () for name in _names(entry)]  # type: ignore[attr-defined]


def test_faults_that_destroy_are_rare_and_hit_few() -> None:
    """A run in which everything was lost promises nothing, and so finds nothing."""
    counts = Counter(event.fault for event in EVENTS)
    usual = sorted(counts[name] for name in FAULTS if name not in DESTROYING)[len(FAULTS) // 2]
    assert all(0 < counts[name] * 5 < usual for name in DESTROYING)
    wide = {"all", "brokers", "controllers", "isr", "followers"}
    assert not any(set(_names(event.target)) & wide for event in EVENTS if event.fault in DESTROYING)


def test_quiet_periods_come_up() -> None:
    """Some gaps are much longer than the run's own pace."""
    times = [[event.at_ns for event in schedule if event.at_ns is not None] for schedule in MANY]
    gaps = [later - earlier for at_ns in times for earlier, later in pairwise(at_ns)]
    assert any(gap > 6_000 * MS for gap in gaps)
    assert any(gap < 50 * MS for gap in gaps if gap)
    assert sorted(gaps)[len(gaps) // 2] < 3_000 * MS


def test_in_many_runs_some_brokers_are_far_away_from_beginning_to_end() -> None:
    """Not in all: what goes wrong among neighbours must come up as well. Where nothing can be delayed there is no weather."""
    far = [sum(map(is_weather, schedule)) for schedule in MANY]
    assert {0, 1, 2, 3, 4} == set(far)
    assert 0.2 * len(MANY) < far.count(0) < 0.6 * len(MANY)
    assert all(event.for_ns == 27_000 * MS for event in EVENTS if is_weather(event))
    assert not any(map(is_weather, draw_schedule(Plan(tidemark=1, seed=1), ALL - {Ability.DELAY})))


def test_some_faults_wait_for_somebody_to_lead_or_to_be_in_sync() -> None:
    """Once the last fault with a time has fired; in some runs none does. None of them destroys anything."""
    waiting = [event.when for event in EVENTS if event.when is not None]
    assert {len(when.isr) for when in waiting if when.isr} == {2}
    assert {when.leader for when in waiting if when.leader} == {"n1", "n2", "n3", "n4"}
    assert any(when.after is None for when in waiting)
    assert 0 < sum(all(event.when is None for event in schedule) for schedule in MANY) < len(MANY)
    assert not any(event.fault in DESTROYING for event in EVENTS if event.when is not None)
    before = [
        schedule[event.when.after] for schedule in MANY for event in schedule if event.when and event.when.after is not None
    ]
    assert all(event.at_ns is not None for event in before)


def test_a_run_has_a_victim_or_none() -> None:
    """In some runs most faults of nodes hit whoever leads, in some hardly any does."""
    shares = []
    for schedule in MANY:
        targets = [event.target for event in schedule if FAULTS[event.fault].aim == "nodes"]
        if len(targets) > 8:
            shares.append(sum(target == "leader" for target in targets) / len(targets))
    assert max(shares) > 0.6
    assert min(shares) < 0.1


def test_changed_settings_stay_within_what_the_topic_can_meet() -> None:
    """min.insync.replicas above the number of replicas would only stop all writing."""
    changes = [event for event in EVENTS if event.fault == "change_config"]
    assert changes
    assert {int(str(event.args["value"])) for event in changes} == {1, 2, 3}


def test_targets_of_another_partition_say_which() -> None:
    """The plan's first partition needs no saying."""
    plan = Plan(tidemark=1, topics={"t": Topic(partitions=2), "u": Topic()})
    drawn = {name for seed in range(50) for event in draw_schedule(_seeded(plan, seed), ALL) for name in _names(event.target)}
    said = {name.partition("@")[2] for name in drawn if name.partition("@")[0] in OF_A_PARTITION}
    assert said == {"", "t/1", "u/0"}


def test_a_fault_waits_for_what_becomes_of_the_partition_that_it_is_aimed_at() -> None:
    """Its leader is hit when that one changes, not when another partition's does."""
    plan = Plan(tidemark=1, topics={"t": Topic(partitions=2), "u": Topic()})
    pairs = {
        (event.target.partition("@")[2], event.when.partition or "")
        for seed in range(200)
        for event in draw_schedule(_seeded(plan, seed), ALL)
        if event.when and isinstance(event.target, str) and event.target.partition("@")[0] in OF_A_PARTITION
    }
    assert pairs == {("", ""), ("t/1", "t/1"), ("u/0", "u/0")}


def _seeded(plan: Plan, seed: int) -> Plan:
    return msgspec.structs.replace(plan, seed=seed)


@pytest.mark.parametrize("seed", range(30))
def test_a_drawn_schedule_can_be_carried_out_and_leaves_nothing_in_force(seed: int) -> None:
    """On a cluster where everything works, nothing is refused; in the end everybody runs."""
    plan = Plan(tidemark=1, seed=seed)
    schedule = draw_schedule(plan, ALL)
    run = Watched(FakeCluster(), schedule, plan).run(plan.for_ns)
    run.nemesis.heal_all()
    run.run(plan.for_ns)
    assert all(schedule[number].when is not None for number in run.nemesis.refused)  # it never came to that
    assert len(run.nemesis.fired) + len(run.nemesis.refused) == len(schedule)
    assert run.cluster.running == set(run.cluster.nodes)
    rows = run.nemesis.rows(run.origin_ns)
    assert all((row["healed_ns"] is None) == (row["fired_ns"] is None) for row in rows)


@pytest.mark.parametrize("chosen", [("disk",), ("network", "pause"), ("kill",)])
def test_a_plan_may_choose_what_is_drawn(chosen: tuple[str, ...]) -> None:
    """Families, and faults by name; nobody is far away either, where delays are not wanted."""
    wanted = faults_among(chosen)
    drawn = {event.fault for seed in range(40) for event in draw_schedule(Plan(tidemark=1, seed=seed, faults=chosen), ALL)}
    assert drawn <= wanted
    assert len(drawn) > len(wanted) // 2
