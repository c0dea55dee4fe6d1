"""Everything but the schedule: earlier, shorter, smaller, with fewer nodes; and what goes without saying."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from harness.shrink.known import Fate, Known, Outcome, Pass, is_sound
from harness.shrink.moments import earlier, in_order, shorter_run, told_in_order
from harness.shrink.search import search
from harness.shrink.settings import fewer_nodes, fewer_settings, smaller_workload
from harness.shrink.spoken import spoken
from harness.shrink.weight import weight
from harness.shrink.written import plan_text
from model import document
from model.plan import Nodes, Plan, Topic, Workload, to_yaml
from model.plan_file import from_data, read_plan
from model.quantity import Rate
from model.schedule import Condition, Event
from tests.harness.shrink.artificial import MS, WANTED, Fails, S, Searched, a_plan, marked
from tests.strategies import plans

SOME = settings(max_examples=50)


def always(plan: Plan) -> bool:
    return True


def after(passing: Callable[[Known], Pass], plan: Plan, fails: Fails = always) -> Plan:
    """One pass, and no other."""
    return Searched(passing, plan, fails).best


def times(plan: Plan) -> list[int | None]:
    assert isinstance(plan.schedule, tuple)
    return [event.at_ns for event in plan.schedule]


def at(at_ns: int, target: Any = "leader", **more: Any) -> Event:
    return Event(at_ns=at_ns, fault="kill", target=target, **more)


# -- moments ------------------------------------------------------------------------------------------------------------------


def test_the_whole_story_moves_to_the_beginning() -> None:
    """The second event needs the first one to be two seconds old, whenever that is."""

    def fails(plan: Plan) -> bool:
        first, second = times(plan)
        return first is not None and second is not None and second - first >= 1_900 * MS

    assert times(after(earlier, a_plan(at(11_317 * MS), at(17_712 * MS)), fails)) == [0, 2 * S]


def test_a_moment_that_matters_stays() -> None:
    """The near miss: what comes before it moves with it, or not at all."""
    assert times(after(earlier, a_plan(at(3 * S), at(9 * S)), lambda plan: times(plan)[1] == 9 * S)) == [3 * S, 9 * S]


def test_a_run_ends_when_it_may() -> None:
    """But never before its last event begins: that would be no plan."""
    assert after(shorter_run, a_plan(at(4_500 * MS))).for_ns == 5 * S
    assert after(shorter_run, a_plan(at(0)), lambda plan: plan.for_ns > 7 * S).for_ns == 8 * S


def test_events_stand_in_the_order_in_which_they_happened() -> None:
    """Whoever waits for one knows it by its new number."""
    waits = Event(when=Condition(after=0), fault="kill", target="leader")
    plan = a_plan(at(5 * S), at(9 * S), waits, at(1 * S))  # the third fires half a second behind the first
    assert after(told_in_order, plan).schedule == (
        at(1 * S),
        at(5 * S),
        Event(when=Condition(after=1), fault="kill", target="leader"),
        at(9 * S),
    )


def test_times_are_put_in_order_on_the_way() -> None:
    """So that a search that is cut short tells its story from the beginning, too."""
    assert times(after(in_order, a_plan(at(5 * S), at(1 * S)))) == [1 * S, 5 * S]
    assert times(after(in_order, a_plan(at(5 * S), at(1 * S)), lambda plan: times(plan)[0] == 5 * S)) == [5 * S, 1 * S]


# -- settings -----------------------------------------------------------------------------------------------------------------


def test_a_workload_gets_as_small_as_it_may() -> None:
    """Twelve operations a second, and two processes, must be."""
    plan = a_plan(workload=Workload(name="consumer", processes=9, rate=Rate(900, "s"), batch=40, retries=3, spread="hot"))

    def fails(plan: Plan) -> bool:
        return plan.workload.rate.interval_ns <= S // 12 and plan.workload.processes >= 2

    best = after(smaller_workload, plan, fails)
    assert best.workload == Workload(processes=2, rate=Rate(20, "s"), batch=1)
    assert best.client_groups == 1


def test_settings_go_where_nobody_needs_them() -> None:
    """Topics, partitions, settings: whatever is left is needed."""
    topics = {"a": Topic(partitions=7), "b": Topic(partitions=5, config={"min.insync.replicas": 2, "segment.bytes": 99})}
    plan = a_plan(topics=topics, config={"profile": "brisk", "broker.session.timeout.ms": 900, "replica.lag.time.max.ms": 700})

    def fails(plan: Plan) -> bool:
        return "segment.bytes" in plan.topics.get("b", Topic()).config and "replica.lag.time.max.ms" in plan.config

    best = after(fewer_settings, plan, fails)
    assert best.topics == {"b": Topic(config={"segment.bytes": 99})}
    assert best.config == {"replica.lag.time.max.ms": 700}


def test_what_goes_without_saying_is_simpler_than_less() -> None:
    """The default config is not said at all; an empty one would be a word."""
    plan = a_plan(config={"profile": "brisk", "eligible.leader.replicas.version": 1, "num.replica.fetchers": 2})
    assert after(fewer_settings, plan).config == Plan(tidemark=1).config


def test_one_wrong_rule_is_enough_if_it_is() -> None:
    """Whichever."""
    assert after(fewer_settings, a_plan(mutants=("B11", "B13")), lambda plan: "B13" in plan.mutants).mutants == ("B13",)


# -- nodes --------------------------------------------------------------------------------------------------------------------


def test_fewer_nodes_have_other_numbers_and_events_follow_them() -> None:
    """Of five brokers and three controllers, n6 is the first controller; with three brokers and one it is n4."""
    plan = a_plan(
        at(1 * S, ("n2", "n6")),
        Event(when=Condition(isr=("n1", "n3"), leader="n3"), fault="cut", target=("n6", ("n1", "clients"))),
        Event(at_ns=2 * S, fault="reassign", target="t/0", args={"to": ["n3", "n1", "n2"]}),
        nodes=Nodes(brokers=5, controllers=3),
    )
    best = after(fewer_nodes, plan)
    assert best.nodes == Nodes(brokers=3, controllers=1)
    assert best.schedule == (
        at(1 * S, ("n2", "n4")),
        Event(when=Condition(isr=("n1", "n3"), leader="n3"), fault="cut", target=("n4", ("n1", "clients"))),
        Event(at_ns=2 * S, fault="reassign", target="t/0", args={"to": ["n3", "n1", "n2"]}),
    )
    assert is_sound(best)


@pytest.mark.parametrize("named", ["n4", "n8"])
def test_a_node_that_an_event_names_does_not_go(named: str) -> None:
    """As many as there must be for it to be one of them."""
    best = after(fewer_nodes, a_plan(at(1 * S, named), nodes=Nodes(brokers=5, controllers=3)))
    assert best.nodes == (Nodes(brokers=5, controllers=1) if named == "n4" else Nodes(brokers=3, controllers=3))


@pytest.mark.parametrize(
    "event",
    [
        Event(when=Condition(leader="n4"), fault="kill", target="leader"),
        Event(when=Condition(isr=("n1", "n5")), fault="kill", target="leader"),
        Event(at_ns=2 * S, fault="reassign", target="t/0", args={"to": ["n3", "n1", "n4"]}),
    ],
)
def test_a_broker_that_an_event_speaks_of_does_not_go(event: Event) -> None:
    """Not as a target, but as who leads, who is in sync, where a partition moves: with fewer brokers it is a controller."""
    assert after(fewer_nodes, a_plan(event, nodes=Nodes(brokers=5, controllers=3))).nodes == Nodes(brokers=5, controllers=1)


def test_replicas_need_their_brokers() -> None:
    """And a quorum that decides needs an odd number of voters."""
    plan = a_plan(topics={"t": Topic(replicas=4)}, nodes=Nodes(brokers=5, controllers=5))
    assert after(fewer_nodes, plan, lambda plan: plan.nodes.controllers > 1).nodes == Nodes(brokers=4, controllers=3)


# -- words --------------------------------------------------------------------------------------------------------------------


@SOME
@given(plans())
def test_what_is_said_is_the_plan(plan: Plan) -> None:
    """Read again, it is the same one but for its tag."""
    assert from_data(spoken(plan), "") == msgspec.structs.replace(plan, tag=None)


def test_a_default_plan_says_nothing() -> None:
    """But which version it is, and that nothing goes wrong."""
    assert spoken(a_plan(tag=7)) == {"tidemark": 1, "schedule": []}


@SOME
@given(plans())
def test_a_written_plan_is_the_plan(plan: Plan) -> None:
    """Comments, a line per event: `tidemark run` reads the same one."""
    if not isinstance(plan.schedule, tuple):
        plan = msgspec.structs.replace(plan, schedule=())
    text = plan_text(plan, (), ["a first line", "", "tidemark: 7"])
    read = read_plan(document.parse(text, "shrunk.yaml"))
    expected = msgspec.structs.replace(plan, tag=None, schedule=plan.schedule or "none")
    assert to_yaml(read) == to_yaml(expected)
    assert len(text.splitlines()) <= 3 + len(plan.schedule) + len(spoken(plan))


def test_a_written_plan_says_whom_its_words_meant() -> None:
    """And when what waited came; what says it already says it once."""
    plan = a_plan(
        at(1 * S),
        at(1 * S, "n2"),
        at(1 * S, ("n1", "n2"), for_ns=3 * S),
        Event(when=Condition(leader="n3"), fault="cut", target=("leader", "controllers")),
        seed=7,
    )
    fates = (
        Fate(fired_ns=1 * S, sides=((3,),)),
        Fate(fired_ns=1 * S, sides=((2,),)),
        Fate(fired_ns=1 * S, sides=((1, 2),)),
        Fate(fired_ns=2_510 * MS, sides=((3,), (4, 5, 6))),
    )
    assert plan_text(plan, fates, ["why"]) == (
        "# why\n"
        "tidemark: 1\n"
        "seed: 7\n"
        "schedule:\n"
        "- {at: 1s, fault: kill, target: leader}  # n3\n"
        "- {at: 1s, fault: kill, target: n2}\n"
        "- {at: 1s, fault: kill, target: [n1, n2], for: 3s}\n"
        "- {when: {leader: n3}, fault: cut, target: [leader, controllers]}  # n3 | n4 n5 n6, at 2510ms\n"
    )


# -- weight -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lighter", "heavier"),
    [
        (a_plan(at(9 * S)), a_plan(at(1 * S), at(1 * S))),  # fewer events before everything
        (a_plan(at(4 * S)), a_plan(at(4_317 * MS))),
        (a_plan(Event(when=Condition(leader="n1"), fault="kill", target="n1")), a_plan(at(4_317 * MS, "n1"))),
        (a_plan(at(1_500 * MS, "n1")), a_plan(Event(when=Condition(leader="n1"), fault="kill", target="n1"))),
        (a_plan(at(4 * S)), a_plan(at(5 * S))),
        (a_plan(at(0, for_ns=1 * S)), a_plan(at(0, for_ns=2 * S))),
        (a_plan(at(0), for_ns=5 * S), a_plan(at(0), for_ns=6 * S)),
        (a_plan(), a_plan(config={})),
        (a_plan(seed=3), a_plan(seed=77_777)),
    ],
)
def test_what_asks_less_of_its_reader_weighs_less(lighter: Plan, heavier: Plan) -> None:
    """A time that can be remembered is lighter than a condition, and that is lighter than an odd time."""
    assert weight(lighter) < weight(heavier)


def test_every_best_of_a_whole_search_weighs_less_than_the_one_before() -> None:
    """But for the first ones, in which what was drawn is written down; so the search ends."""
    events = [*(marked(i) for i in range(4)), Event(at_ns=9_017 * MS, fault="cut", target=("n1", "n2"), for_ns=3_210 * MS)]
    searched = Searched(search, a_plan(*events, seed=99), lambda plan: any(e.fault == "cut" for e in plan.schedule))  # type: ignore[union-attr]
    weights = [weight(plan) for plan in searched.bests]
    assert weights == sorted(weights, reverse=True)
    assert searched.best == a_plan(
        Event(at_ns=0, fault="cut", target=("n1", "n2"), for_ns=100 * MS),
        for_ns=1 * S,
        client_groups=1,
        nodes=Nodes(controllers=1),
        workload=Workload(processes=1, rate=Rate(1, "s"), batch=1),
    )


def test_a_plan_that_cannot_be_is_no_candidate() -> None:
    """A time behind the end of the run."""
    assert is_sound(a_plan(at(4 * S), for_ns=5 * S))
    assert not is_sound(a_plan(at(6 * S), for_ns=5 * S))
    assert Known(a_plan(), Outcome(signatures=(WANTED,))).schedule == ()
