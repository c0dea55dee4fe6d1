"""Pruning is sound: what was dropped and what stands for it are the same runs, and what was kept is not.

Each pair is run under the same seeds. Histories are compared row by row: whatever a client was told, and when.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from harness.execute import plan_of_run
from harness.run import run
from harness.worlds import schedule_of, world_of
from model import document, matrix
from model.operation import Row
from model.plan import Plan
from model.pruning import prune

RUNS = range(6)
ALONE = "topics: {t: {replicas: 1}}\n"
UNCLEAN = "matrix: {topics/t/config/unclean.leader.election.enable: [false, true]}"
ELR_OFF = "config: {eligible.leader.replicas.version: 0}\n"
MIN_ISR = "matrix: {topics/t/config/min.insync.replicas: [1, 3]}"

Outcome = tuple[list[Row], list[Mapping[str, Any]]]


def pair(text: str) -> tuple[Plan, Plan, bool]:
    """The two plans of a matrix, and whether one of them is dropped."""
    found = matrix.combinations(document.parse(f"tidemark: 1\nfor: 15s\n{text}", "some.yaml"))
    one, other = (cell for cell in found if isinstance(cell, matrix.Cell))
    return one.plan, other.plan, bool(prune(found))


def outcome(plan: Plan, number: int) -> Outcome:
    """What clients saw, and who led when."""
    plan = plan_of_run(plan, "pruning", number, single=False)
    recorded = run(plan, schedule_of(plan), world_of(plan).make(plan))
    return recorded.rows, [{key: row[key] for key in ("at_ns", "leader", "isr", "election")} for row in recorded.changes]


@pytest.mark.parametrize(
    "text",
    [
        f"{ALONE}faults: [network, process, disk, clock]\n{UNCLEAN}",
        f"{ALONE}{ELR_OFF}faults: [network, process, disk, clock]\n{UNCLEAN}",
        f"{ALONE}faults: [lossy_kill, wipe, elect]\n{UNCLEAN}",
        "matrix: {faults: [[disk], [wipe, lose_unsynced, tear, rot, fill, slow_sync, read_only, io_error]]}",
        "matrix: {workload/retries: [0, 10]}",
    ],
)
def test_what_is_dropped_would_have_been_the_same_run(text: str) -> None:
    """Every operation and every election of it."""
    one, other, is_dropped = pair(text)
    assert is_dropped
    assert [outcome(one, number) for number in RUNS] == [outcome(other, number) for number in RUNS]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (f"workload: {{acks: 1}}\n{MIN_ISR}", 7),  # the high watermark, and so who reads, waits for min ISR
        (f"{ALONE}faults: [reassign, kill, cut, stop]\n{UNCLEAN}", 7),  # a second replica comes, and the first one dies
    ],
)
def test_what_looks_alike_and_is_kept_differs(text: str, number: int) -> None:
    """The near misses: runs in which it makes a difference."""
    one, other, is_dropped = pair(text)
    assert not is_dropped
    assert outcome(one, number) != outcome(other, number)
