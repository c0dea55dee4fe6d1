"""Simpler words for one event: what is proposed, and what is taken of it."""

from __future__ import annotations

from typing import Any

import pytest

from harness.shrink.events import simpler_events
from harness.shrink.known import Fate, Known, Outcome
from harness.shrink.search import search
from model.plan import Plan
from model.schedule import Condition, Event
from tests.harness.shrink.artificial import MS, WANTED, Fails, S, Searched, a_plan


def always(plan: Plan) -> bool:
    return True


def the_event(plan: Plan) -> Event:
    assert isinstance(plan.schedule, tuple)
    (event,) = plan.schedule
    return event


def simplest(event: Event, fails: Fails = always, **more: Any) -> Event:
    """Of a run that must have an event of its kind, but whose words matter only to `fails`."""
    return the_event(Searched(simpler_events, a_plan(event, **more), fails).best)


def proposed(event: Event, fate: Fate) -> list[Event]:
    """Everything in the order in which it is tried, where nothing is taken."""
    passing = simpler_events(Known(a_plan(event), Outcome(signatures=(WANTED,), fates=(fate,))))
    found: list[Event] = []
    try:
        candidates = next(passing)
        while True:
            found += [the_event(plan) for plan in candidates]
            candidates = passing.send(None)
    except StopIteration:
        return found


def test_a_condition_becomes_a_plain_time_that_can_be_remembered() -> None:
    """It fired half a second into the run; a whole second does as well."""
    event = Event(when=Condition(isr=("n1", "n2"), acked=7), within_ns=9 * S, fault="reset", target="n1")
    assert simplest(event) == Event(at_ns=0, fault="reset", target="n1")


def test_a_condition_stays_where_it_is_needed_and_loses_what_is_not() -> None:
    """Clauses and the limit go one by one."""
    event = Event(when=Condition(isr=("n1", "n2"), acked=7, partition="t/0"), within_ns=9 * S, fault="reset", target="n1")
    found = Searched(search, a_plan(event), lambda plan: bool(plan.schedule) and the_event(plan).when is not None).best
    when = the_event(found).when
    assert when is not None
    assert sum(getattr(when, name) is not None for name in Condition.__struct_fields__) == 1
    assert the_event(found).within_ns is None


def test_an_odd_time_becomes_a_round_one_or_what_was_so_then() -> None:
    """4317 ms is nothing to remember; that n1 led is. 4 s is better still."""
    event, fate = Event(at_ns=4_317 * MS, fault="reset", target="n1"), Fate(fired_ns=4_317 * MS, leader=1, isr=(1, 3))
    found = proposed(event, fate)
    assert found[0] == Event(at_ns=4 * S, fault="reset", target="n1")
    assert Event(when=Condition(leader="n1"), fault="reset", target="n1") in found
    assert Event(when=Condition(isr=("n1", "n3")), fault="reset", target="n1") in found
    at_4_s = Fate(fired_ns=4 * S, leader=1, isr=(1, 3))
    assert not any(each.when for each in proposed(Event(at_ns=4 * S, fault="reset", target="n1"), at_4_s))


def test_a_fault_lasts_no_longer_than_it_must() -> None:
    """At least 1300 ms: two seconds, rather than a number."""
    event = Event(at_ns=0, fault="pause", target="n1", for_ns=4_711 * MS)
    assert simplest(event, lambda plan: (the_event(plan).for_ns or 0) >= 1_300 * MS).for_ns == 2 * S


def test_a_fault_that_lasts_to_the_end_need_not_say_so() -> None:
    """And only then: one that ends before is another fault without its end."""
    long = Event(at_ns=0, fault="pause", target="n1", for_ns=30 * S)
    assert simplest(long, lambda plan: the_event(plan).for_ns in (None, 30 * S), for_ns=30 * S).for_ns is None
    assert simplest(long, lambda plan: the_event(plan).for_ns in (None, 30 * S), for_ns=31 * S).for_ns == 30 * S


def test_a_fault_that_everybody_knows_is_tried_instead() -> None:
    """With the arguments that it has; those that it must have are never missing."""
    event = Event(at_ns=0, fault="restart_loop", target="n1", args={"every": "300ms"}, for_ns=2 * S)
    assert simplest(event, lambda plan: the_event(plan).fault in ("restart_loop", "kill")).fault == "kill"
    assert simplest(event, lambda plan: the_event(plan).fault == "restart_loop").fault == "restart_loop"
    silent = Event(at_ns=0, fault="silent", target="n1", args={"streams": "answers"})
    assert simplest(silent, lambda plan: the_event(plan).args.get("streams") == "answers").fault == "cut"


def test_arguments_that_are_not_needed_go_and_others_get_rounder() -> None:
    """What a fault must have stays."""
    event = Event(at_ns=0, fault="delay", target="n1", args={"latency": "137ms", "jitter": "93ms", "one_way": True})
    assert simplest(event).args == {"latency": "100ms"}
    assert simplest(event, lambda plan: "jitter" in the_event(plan).args).args.keys() == {"latency", "jitter"}


def test_several_targets_become_one() -> None:
    """Whoever it is that matters; a side of a link as well, and the other side keeps its words."""
    event, fate = Event(at_ns=0, fault="kill", target="all"), Fate(fired_ns=0, sides=((1, 2, 3),))
    assert [each.target for each in proposed(event, fate)][:6] == ["n1", "n2", "n3"]
    cut = Event(at_ns=0, fault="cut", target=("leader", ("n2", "n3")))
    found = [each.target for each in proposed(cut, Fate(fired_ns=0, sides=((1,), (2, 3))))]
    assert found == [("leader", "n2"), ("leader", "n3")]


def test_a_group_of_many_loses_one_after_the_other() -> None:
    """Where one alone does not do."""
    event = Event(at_ns=0, fault="kill", target=("n1", "n2", "n3"))
    fate = Fate(fired_ns=0, sides=((1, 2, 3),))
    targets = [each.target for each in proposed(event, fate)]
    assert targets == ["n1", "n2", "n3", ("n2", "n3"), ("n1", "n3"), ("n1", "n2")]


def test_a_ring_becomes_one_of_its_pairs() -> None:
    """Six nodes in a ring: who does not see whom is drawn; a pair can be read."""
    ring = Event(at_ns=0, fault="cut", args={"shape": "ring"})
    found = proposed(ring, Fate(fired_ns=0))
    assert len(found) == 3
    assert all(isinstance(each.target, tuple) and len(each.target) == 2 and not each.args for each in found)


@pytest.mark.parametrize("fault", ["cut", "pause"])
def test_nothing_is_proposed_for_what_is_simple_already(fault: str) -> None:
    """It cannot be said in fewer words."""
    event = Event(at_ns=0, fault=fault, target="leader")
    assert proposed(event, Fate(fired_ns=0, sides=((1,),), leader=1, isr=(1,))) == []
