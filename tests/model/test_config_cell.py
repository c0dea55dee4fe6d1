"""Runs that stand in one cell of a matrix: of another night, with a mutant, under other draws."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from harness.worlds import written_out
from model.config_cell import cell_of, facts_of, words_of
from model.plan import Plan, Topic, Workload

PLAN = Plan(tidemark=1)


def changed(**fields: Any) -> Plan:
    return msgspec.structs.replace(PLAN, **fields)


@pytest.mark.parametrize("other", [changed(seed=7), changed(tag=3), changed(mutants=("B11",)), written_out(changed(seed=9))])
def test_what_chance_drew_and_what_was_broken_on_purpose_is_the_same_cell(other: Plan) -> None:
    assert cell_of(other) == cell_of(PLAN)


@pytest.mark.parametrize(
    "other",
    [
        changed(workload=Workload(acks=1)),
        changed(topics={"t": Topic(config={"min.insync.replicas": 1})}),
        changed(faults=("disk",)),
        changed(schedule="none"),
        changed(for_ns=10**9),
    ],
)
def test_other_settings_are_another_cell(other: Plan) -> None:
    assert cell_of(other) != cell_of(PLAN)


def test_a_cell_is_called_by_what_people_group_by() -> None:
    assert words_of(facts_of(PLAN, "1.0")) == ("RF 3, min ISR 2, acks all, unclean off, ELR on, flush never, faults all, log")
    flushed = Topic(config={"flush.messages": 1, "unclean.leader.election.enable": True})
    other = changed(topics={"t": flushed}, workload=Workload(acks_of_processes=(-1, 1, -1)), faults=("disk", "kill"))
    assert words_of(facts_of(other, "1.0")) == (
        "RF 3, min ISR 1, acks all 1, unclean on, ELR on, flush each, faults disk kill, log"
    )


def test_a_written_schedule_says_so() -> None:
    assert facts_of(changed(schedule="none"), "1.0").faults == "none"
    assert facts_of(changed(schedule=written_out(PLAN).schedule), "1.0").faults == "written"
    assert facts_of(written_out(PLAN), "1.0").faults == "all"
