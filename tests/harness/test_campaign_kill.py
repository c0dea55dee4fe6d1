"""A campaign that is killed with kill -9 loses nothing that was finished, and goes on when it is started again."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from model.store import Store
from tests.harness.campaign_process import CampaignProcess, numbers, wait_until, workers_of, written


def kill_again_and_again(store: Path, runs: int, kills: list[int]) -> None:
    """Kill the parent at each of these counts, then let it finish."""
    for finished in kills:
        campaign = CampaignProcess(store, runs)
        campaign.kill_at(finished)
        wait_until(lambda: workers_of(store) == [])  # no stray process
        before = written(store)
        assert len(before) >= finished
        opened = Store(str(store))
        (name,) = opened.campaigns()
        for number in before:
            opened.open(name, number).verify()
        again = CampaignProcess(store, runs)
        again.kill_at(min(runs, len(before) + 1))
        assert {number: written(store)[number] for number in before} == before  # none is lost, none was run again
        wait_until(lambda: workers_of(store) == [])


def assert_finishes(store: Path, runs: int) -> None:
    """With the code of what was found: within two seconds of faults it may be that no append succeeds, and that is `unknown`."""
    before = written(store)
    code, said = CampaignProcess(store, runs).finish()
    assert code in (0, 2), said
    assert sorted(numbers(store)) == list(range(runs))
    assert {number: written(store)[number] for number in before} == before
    assert f"{len(before)} of them there already" in said
    assert workers_of(store) == []
    opened = Store(str(store))
    unclear = 0
    for stored in opened.open_all(opened.campaigns()[0]):
        stored.verify()
        verdict = stored.record.verdict
        assert verdict is not None
        assert (stored.record.status, verdict.valid == "valid" or bool(verdict.reasons)) == ("done", True)
        unclear += verdict.valid != "valid"
    assert code == (2 if unclear else 0)


def test_killing_the_parent_loses_no_finished_run_and_leaves_no_process(tmp_path: Path) -> None:
    """Killed twice among 12 runs; the third start does the rest, and only the rest."""
    kill_again_and_again(tmp_path, 12, [2])
    assert_finishes(tmp_path, 12)


@pytest.mark.acceptance
def test_two_hundred_runs_survive_five_kills(tmp_path: Path) -> None:
    """`kill -9` of the parent during 200 runs: no finished run lost or doubled, started again it goes on; no stray process."""
    kill_again_and_again(tmp_path, 200, [3, 40, 90, 130, 170])
    assert_finishes(tmp_path, 200)
    print("\n200 runs, the parent killed ten times: every run once, none lost, none doubled, no process left")


def test_a_worker_that_is_killed_costs_its_run_and_no_other(tmp_path: Path) -> None:
    """The run is marked with the reason and stays in the store; a new worker does the rest; it is the machine's failure: 4."""
    campaign = CampaignProcess(tmp_path, 8, "--set", "workload/rate=2000/s")
    wait_until(lambda: len(workers_of(tmp_path)) == 2 and len(numbers(tmp_path)) >= 1)
    victim = workers_of(tmp_path)[0]
    os.kill(victim, signal.SIGKILL)
    code, said = campaign.finish()
    opened = Store(str(tmp_path))
    (name,) = opened.campaigns()
    status = {entry.number: entry.status for entry in opened.runs(name)}
    assert sorted(status) == list(range(8))
    marked = [number for number, each in status.items() if each == "infrastructure"]
    if marked:  # the worker was in the middle of a run, as it nearly always is
        assert len(marked) == 1
        assert "died (signal 9)" in opened.record(name, marked[0]).reason
        assert (code, "died (signal 9)" in said) == (4, True)
    else:
        assert code == 0
