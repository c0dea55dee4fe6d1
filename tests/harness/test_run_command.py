"""tidemark run and replay, as somebody types them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from harness.campaign import _executed, single_run_of
from harness.main import run as tidemark
from model.plan import Plan
from model.store import Store

SHORT = ("--set", "for=2s")


def told(capsys: pytest.CaptureFixture[str]) -> str:
    captured = capsys.readouterr()
    return captured.out + captured.err


def a_plan(where: Path, text: str) -> str:
    path = where / "mine.yaml"
    path.write_text("tidemark: 1\nfor: 4s\n" + text)
    return str(path)


def test_a_run_is_stored_whole_and_can_be_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """History, events, changes, registrations, observations, schedule, plan: and the same digest a second time."""
    store = str(tmp_path / "store")
    assert tidemark(["run", "--seed", "7", "--store", store, *SHORT]) == 0
    assert f"tidemark replay {store}/runs/00000" in told(capsys)
    stored = Store(store).open("runs", 0)
    stored.verify()
    assert set(stored.record.files) == {"history", "schedule", "events", "changes", "registrations", "observations", "plan"}
    assert stored.plan().seed == 7
    assert stored.plan().schedule == stored.schedule()
    assert tidemark(["replay", f"{store}/runs/00000"]) == 0
    assert "the same run: digest" in told(capsys)


def test_every_run_by_itself_gets_a_number_of_its_own(tmp_path: Path) -> None:
    """Typing `tidemark run` twice is two runs."""
    store = str(tmp_path)
    for _ in range(2):
        tidemark(["run", "--store", store, *SHORT])
    assert [entry.number for entry in Store(store).runs("runs")] == [0, 1]


def test_a_campaign_goes_on_where_it_stopped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same command with more runs executes only those that are missing; another plan is another campaign."""
    store = str(tmp_path)
    tidemark(["run", "--runs", "2", "--jobs", "1", "--store", store, *SHORT])
    capsys.readouterr()
    tidemark(["run", "--runs", "4", "--jobs", "2", "--store", store, *SHORT, "--json"])
    said = json.loads(capsys.readouterr().out)
    assert said["runs"] == 4
    assert [summary["number"] for summary in said["summaries"]] == [0, 1, 2, 3]
    assert len({summary["seed"] for summary in said["summaries"]}) == 4
    (campaign,) = Store(store).campaigns()
    assert [entry.number for entry in Store(store).runs(campaign)] == [0, 1, 2, 3]
    tidemark(["run", "--runs", "1", "--store", store, "--set", "for=3s"])
    assert len(Store(store).campaigns()) == 2


def test_a_campaign_that_goes_on_says_of_its_earlier_runs_what_it_said_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Faults, the toothless ones, refusals and reasons: all of it is in the store."""
    words = ["run", "--runs", "3", "--store", str(tmp_path), "--set", "for=12s", "--json"]
    said = []
    for _ in range(2):
        tidemark(words)
        said.append(json.loads(capsys.readouterr().out)["summaries"])
    assert said[0] == said[1]
    assert any(summary["fired"] for summary in said[0])
    assert any(summary["toothless"] for summary in said[0]), "no fault of these runs was toothless: take another seed"


def test_a_single_run_never_passes_for_another_one(tmp_path: Path) -> None:
    """Whoever is quicker gets the number; the other one is executed under the next, and tells its own verdict."""
    store = Store(str(tmp_path))
    first, second = (single_run_of(store, Plan(tidemark=1, seed=seed, for_ns=2 * 10**9)) for seed in (1, 777))
    assert first[1] == second[1] == 0
    found = [_executed(store, campaign, number) for campaign, number in (first, second)]
    assert [(each.number, each.seed) for each in found] == [(0, 1), (1, 777)]
    assert [store.open("runs", number).plan().seed for number in (0, 1)] == [1, 777]


@pytest.mark.parametrize("more", [[], ["--runs", "2"], ["--json"]])
def test_a_reader_that_leaves_early_changes_no_exit_code(tmp_path: Path, more: list[str]) -> None:
    """`tidemark run | true` ends with what the run found: 1 would mean a broken promise, 0 a kept one."""
    command = [sys.executable, "-m", "harness", "run", "--store", str(tmp_path), *SHORT, *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
        assert process.wait(60) == 0
    assert b"Traceback" not in said
    assert b"BrokenPipe" not in said


def test_a_replay_hands_out_the_directories_of_all_nodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As they are at the end, in Kafka's files; never over something that is there."""
    store, into = str(tmp_path / "store"), tmp_path / "directories"
    tidemark(["run", "--store", store, *SHORT])
    assert tidemark(["replay", f"{store}/runs/00000", "--collect", str(into)]) == 0
    assert {path.parent.parent.parent.name for path in into.rglob("t-0/*.log")} == {"n1", "n2", "n3"}
    capsys.readouterr()
    assert tidemark(["replay", f"{store}/runs/00000", "--collect", str(into)]) == 3
    assert "there is something already" in told(capsys)


def test_a_trace_says_when_the_run_did_not_repeat(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its story is then another one."""
    store = str(tmp_path)
    tidemark(["run", "--store", store, *SHORT])
    tidemark(["trace", f"{store}/runs/00000"])
    assert "NOT the same run" not in told(capsys)
    monkeypatch.setattr("clusters.sim.latency._LEAST", 1_000_000)
    assert tidemark(["trace", f"{store}/runs/00000"]) == 0
    assert "NOT the same run" in capsys.readouterr().err


def test_json_is_one_object_and_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What people read goes to standard error."""
    tidemark(["run", "--store", str(tmp_path), *SHORT, "--json"])
    captured = capsys.readouterr()
    said = json.loads(captured.out)
    assert said["exit_code"] == 0
    assert said["counts"] == {"valid": 1}
    assert "tidemark replay" in captured.err


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("cluster: local", "there is no world 'local'"),
        ("mutants: [B28, B28a]", "B28 and B28a answer the same question"),
        ("workload: {name: register}", "the workload 'register' is not there yet"),
        ("matrix: {workload/acks: [all, 1]}", "stands for 2 plans"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_starts(
    text: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 3, one sentence, and no store."""
    assert tidemark(["run", a_plan(tmp_path, text), "--store", str(tmp_path / "store")]) == 3
    assert problem in told(capsys)
    assert not (tmp_path / "store").exists()


def test_mutants_are_switched_on_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They stand in the stored plan, so that it can be replayed, and every node says in its first line what it runs with."""
    store = str(tmp_path / "store")
    assert tidemark(["run", "--mutant", "B28a,B13", "--store", store, *SHORT]) == 1
    assert "invariant 12" in told(capsys)
    assert Store(store).open("runs", 0).plan().mutants == ("B28a", "B13")
    assert tidemark(["replay", f"{store}/runs/00000"]) == 1
    assert tidemark(["trace", f"{store}/runs/00000"]) == 0
    assert "n1 runs with wrong rules: B28a, B13" in told(capsys)


def test_a_mutant_that_nobody_knows_is_refused_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With those that there are."""
    assert tidemark(["run", "--mutant", "B99", "--store", str(tmp_path / "store")]) == 3
    said = told(capsys)
    assert "no such mutant: 'B99'" in said
    assert "B11, B13" in said
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("path", ["nowhere", "store/runs/first", "store/runs/00009", "store/runs/²", "/runs/0", "/runs/00000"])
def test_a_run_that_is_not_there_is_refused(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With the form that a run's name has."""
    assert tidemark(["replay", path]) == 3
    assert "Nothing was started" in told(capsys)


def test_a_condition_that_is_never_met_makes_the_verdict_unknown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Somebody wrote the event down and expects it to happen: without it nothing was tried."""
    schedule = "schedule: [{when: {isr: [n1]}, within: 2s, fault: kill, target: leader, for: 1s}]"
    assert tidemark(["run", a_plan(tmp_path, schedule), "--store", str(tmp_path / "store"), "--json"]) == 2
    (summary,) = json.loads(capsys.readouterr().out)["summaries"]
    assert summary["valid"] == "unknown"
    assert "an event could not fire" in summary["reasons"]
    assert summary["refused"] == ["kill: condition not met within 2s"]
    row = Store(str(tmp_path / "store")).open("runs", 0).table("events").to_pylist()[0]
    assert (row["refused"], row["fired_ns"]) == ("condition not met within 2s", None)


def test_an_event_of_the_swarm_that_could_not_fire_is_no_doubt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The swarm draws without knowing who will lead; the stored plan remembers that it was drawn."""
    tidemark(["run", "--runs", "6", "--seed", "4", "--store", str(tmp_path), "--set", "for=20s", "--json"])
    summaries = json.loads(capsys.readouterr().out)["summaries"]
    refused = [summary for summary in summaries if summary["refused"]]
    assert refused, "no event of these runs was refused: take another seed"
    assert not any("an event could not fire" in summary["reasons"] for summary in refused)
