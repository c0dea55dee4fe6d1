"""Hand-written schedules that wait for a condition, through the whole run loop."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusters.sim.cluster import SimCluster
from harness.run import Recorded, run
from model import plan_file
from model.quantity import parse_duration

MS = parse_duration("1ms")

ISR_SHRINKS_THEN_THE_LEADER_DIES = """
tidemark: 1
seed: 2
for: 8s
workload: {processes: 2, rate: 20/s}
schedule:
  - {at: 1s, fault: cut, target: [n1, n3], for: 5s}
  - {when: {isr: [n1, n2]}, within: 5s, fault: kill, target: leader, for: 2s}
"""

NOBODY_EVER_LEAVES_THE_ISR = """
tidemark: 1
seed: 2
for: 4s
workload: {processes: 2, rate: 20/s}
schedule:
  - {when: {isr: [n1]}, within: 2s, fault: kill, target: leader}
  - {at: 1s, fault: pause, target: n2, for: 200ms}
"""


def carried_out(text: str, tmp_path: Path) -> Recorded:
    path = tmp_path / "plan.yaml"
    path.write_text(text)
    plan = plan_file.read_plan(plan_file.load(path))
    assert not isinstance(plan.schedule, str)
    return run(plan, plan.schedule, SimCluster(plan))


def test_a_kill_that_waits_for_the_isr_to_shrink_comes_after_it_and_not_before(tmp_path: Path) -> None:
    """A cut makes n3 fall out; then the leader dies, and n2, the last one in sync, leads. Nothing is refused, all heals."""
    recorded = carried_out(ISR_SHRINKS_THEN_THE_LEADER_DIES, tmp_path)
    cut, kill = recorded.events[:2]
    shrunk = next(row["at_ns"] for row in recorded.changes if sorted(row["isr"]) == [1, 2])
    assert cut["fired_ns"] == 1_000 * MS
    assert cut["fired_ns"] < shrunk <= kill["fired_ns"] <= shrunk + 10 * MS
    assert (kill["resolved"], kill["refused"], kill["effect"], cut["effect"]) == ([1], None, True, True)
    led = [row["leader"] for row in recorded.changes if row["at_ns"] > kill["fired_ns"] and row["leader"] is not None]
    assert led[0] == 2
    assert (dict(recorded.refused), recorded.toothless, recorded.converged) == ({}, (), True)


def test_a_condition_that_is_never_met_is_recorded_as_refused(tmp_path: Path) -> None:
    """With its limit, and without anything having happened; the other event is not concerned."""
    recorded = carried_out(NOBODY_EVER_LEAVES_THE_ISR, tmp_path)
    kill, pause = recorded.events[:2]
    assert kill["refused"] == "condition not met within 2s"
    assert (kill["fired_ns"], kill["resolved"], kill["effect"], kill["damage"]) == (None, None, None, [])
    assert recorded.refused == {0: "condition not met within 2s"}
    assert (pause["refused"], pause["effect"]) == (None, True)
    assert len({row["leader"] for row in recorded.changes}) == 1
    assert len(recorded.events) == 2  # and no process ended by itself


@pytest.mark.parametrize("text", [ISR_SHRINKS_THEN_THE_LEADER_DIES, NOBODY_EVER_LEAVES_THE_ISR])
def test_the_same_plan_is_the_same_run(text: str, tmp_path: Path) -> None:
    """Also when what happens hangs on conditions."""
    one, other = carried_out(text, tmp_path), carried_out(text, tmp_path)
    assert one.digest == other.digest
    assert one.rows == other.rows
