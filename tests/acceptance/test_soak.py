"""A soak of two minutes that is killed three times: it takes two minutes in all, and loses nothing."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest

from tests.harness.campaign_process import numbers, wait_until, workers_of, written
from tests.harness.soak_process import SoakProcess

pytestmark = pytest.mark.acceptance

FOR_S = 120.0
KILLED_AFTER_S = (25.0, 50.0, 80.0)


def times(store: Path) -> dict[int, float]:
    """How long each session ran, as its last line says."""
    found: dict[int, float] = {}
    for path in store.glob("*/sessions.jsonl"):
        for line in path.read_bytes().splitlines(keepends=True):
            if line.endswith(b"\n"):  # it may be about to be written
                told = json.loads(line)
                found[told["session"]] = told.get("ran_s", 0.0)
    return found


def test_two_minutes_killed_three_times_are_two_minutes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`soak --for 2m`, kill -9 after 25, 50 and 80 s of it: the time that is left goes on, no finished run is lost or doubled."""
    plan, store = tmp_path / "night.yaml", tmp_path / "store"
    plan.write_text("tidemark: 1\nfor: 10s\nmatrix: {workload/acks: [all, 1]}\n")
    began = time.monotonic()
    for after_s in KILLED_AFTER_S:
        before = written(store)
        soak = SoakProcess(store, plan, "2m")
        wait_until(lambda after_s=after_s: sum(times(store).values()) >= after_s)  # type: ignore[misc]
        soak.signal_at(0, signal.SIGKILL)
        soak.process.communicate()
        wait_until(lambda: workers_of(store) == [])
        after = written(store)
        assert {number: after[number] for number in before} == before
    before = written(store)
    code, said = SoakProcess(store, plan, "2m").finish()
    took_s = time.monotonic() - began
    with capsys.disabled():
        print(f"\n{said}killed three times, {took_s:.0f} s on the wall")
    after = written(store)
    assert code == 0
    assert "4 sessions, 3 of them killed" in said
    assert {number: after[number] for number in before} == before
    assert sorted(numbers(store)) == list(range(len(after)))
    assert workers_of(store) == []
    assert FOR_S <= sum(times(store).values()) < FOR_S + 30  # the last runs may finish
    code, said = SoakProcess(store, plan, "2m").finish()
    assert (code, "the 2m00s of this soak are used up" in said) == (0, True)
    assert written(store) == after
