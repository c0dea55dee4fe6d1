"""What a plan says about looking into nodes, and about the rules they run with."""

from __future__ import annotations

import msgspec
import pytest

from harness.run import Recorded, run
from harness.worlds import schedule_of, simulated
from model.plan import Judge, Plan

BROKEN = Plan(tidemark=1, seed=1, tag=1, for_ns=4 * 10**9, mutants=("B28a",))


def recorded(on_violation: str) -> Recorded:
    plan = msgspec.structs.replace(BROKEN, judge=msgspec.convert({"on_violation": on_violation}, Judge))
    return run(plan, schedule_of(plan), simulated(plan))


def test_with_invariants_off_no_node_is_looked_into() -> None:
    """The same run, and all that is left to find something wrong is its history."""
    noted, off = recorded("note"), recorded("off")
    assert {violation.number for violation in noted.violations} >= {12}
    assert off.violations == ()
    assert off.digest == noted.digest
    assert (off.converged, off.read_to_the_end) == (True, True)


def test_with_invariants_off_a_crash_still_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody asked for it, so the protocol does not allow it."""

    def crash(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("replication.leader.LeaderRole.on_lag_tick", crash)
    assert any("ZeroDivisionError" in end for end in recorded("off").crashed)
