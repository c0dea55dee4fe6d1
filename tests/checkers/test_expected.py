"""Whether a loss may be allowed at all, known before anything has run."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from checkers.expected import expected_losses
from model.plan import Plan, Topic, Workload
from model.schedule import Event

UNCLEAN, FLUSH, ELR = "unclean.leader.election.enable", "flush.messages", "eligible.leader.replicas.version"


def a_plan(*, topic: dict[str, object] | None = None, elr: int = 1, acks: int = -1, **more: Any) -> Plan:
    config = {"profile": "brisk", ELR: elr}
    topics = {"t": Topic(config={"min.insync.replicas": 2, **(topic or {})})}
    return Plan(tidemark=1, topics=topics, config=config, workload=Workload(acks=acks), **more)


def an_event(fault: str, **args: object) -> Event:
    return Event(at_ns=10**9, fault=fault, target="leader", args=args)


CASES: list[tuple[str, Plan]] = [
    ("", a_plan(schedule="none", topic={UNCLEAN: True}, acks=1)),  # nothing goes wrong
    ("", a_plan(faults=("network",))),
    ("", a_plan(faults=("network", "kill", "stop", "pause", "clock"))),  # kills keep the page cache
    ("C2", a_plan(faults=("network",), topic={UNCLEAN: True})),
    ("C2", a_plan(faults=("elect",))),  # an operator may ask for an unclean one
    ("C7", a_plan(faults=("lossy_kill",))),
    ("C9", a_plan(faults=("lossy_kill",), elr=0)),
    ("C7", a_plan(faults=("tear",))),
    ("", a_plan(faults=("lossy_kill", "tear", "lose_unsynced"), topic={FLUSH: 1})),  # all of it was synced
    ("C7", a_plan(faults=("wipe",), topic={FLUSH: 1})),
    ("C9", a_plan(faults=("wipe",), topic={FLUSH: 1}, elr=0)),
    ("W3", a_plan(faults=("network",), acks=1)),
    ("C2 C9 W0 W3", a_plan(acks=1, elr=0)),
    ("C2 C7", a_plan()),
    ("", a_plan(schedule=(an_event("elect", kind="preferred"),))),
    ("C2", a_plan(schedule=(an_event("elect", kind="unclean"),))),
    ("C2", a_plan(schedule=(an_event("change_config", key=UNCLEAN, value="true"),))),
    ("C7", a_plan(schedule=(an_event("lossy_kill"), an_event("change_config", key=FLUSH, value=5)), topic={FLUSH: 1})),
]


@pytest.mark.parametrize(("rules", "plan"), CASES)
def test_the_rules_that_could_allow_a_loss(rules: str, plan: Plan) -> None:
    """From the config and from what may go wrong."""
    assert " ".join(expected_losses(plan)) == rules


def test_what_the_swarm_drew_expects_no_less_than_what_it_may_draw() -> None:
    """A stored plan stands for its cell, whatever its seed drew."""
    drawn = msgspec.structs.replace(a_plan(), schedule=(an_event("cut"),), drawn=True)
    assert expected_losses(drawn) == expected_losses(a_plan()) == ("C2", "C7")


def test_some_processes_may_have_acks_of_their_own() -> None:
    """Also a phase of the workload."""
    dealt = msgspec.structs.replace(a_plan(faults=("network",)), workload=Workload(acks_of_processes=(-1, 1)))
    assert expected_losses(dealt) == ("W3",)


def test_where_damage_may_be_unknown_a_flush_excuses_nothing() -> None:
    """What could not be counted counts as a wipe (CHECKERS 6.2); in the simulator everything can."""
    plan = a_plan(faults=("lossy_kill",), topic={FLUSH: 1}, cluster="local")
    assert expected_losses(plan) == ("C7",)
