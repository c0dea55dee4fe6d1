"""tidemark matrix, as somebody types it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.main import run as tidemark
from model.store import Store
from tests.harness.campaign_process import PATIENCE_S, numbers, wait_until, workers_of, written

CELLS = "matrix: {workload/acks: [all, 1], topics/t/config/min.insync.replicas: [1, 2]}\n"


def a_plan(where: Path, text: str = CELLS, name: str = "mine") -> str:
    path = where / f"{name}.yaml"
    path.write_text(f"tidemark: 1\nfor: 2s\n{text}")
    return str(path)


def said_by(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_every_cell_is_run_as_often_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two runs of each of four cells, each run of the cell that its number says."""
    store = str(tmp_path / "store")
    words = ["matrix", a_plan(tmp_path), "--runs", "2", "--jobs", "2", "--store", store, "--json"]
    assert tidemark(words) == 0
    said = said_by(capsys)
    assert [cell["counts"] for cell in said["cells"]] == [{"valid": 2}] * 4
    assert (said["runs"], said["counts"], said["exit_code"], said["failing"]) == (8, {"valid": 8}, 0, [])
    opened = Store(store)
    (name,) = opened.campaigns()
    for number in range(8):
        plan = opened.open(name, number).plan()
        chosen = said["cells"][number % 4]["chosen"]
        assert chosen["workload/acks"] == {-1: "all", 1: 1}[plan.workload.acks]
        assert plan.topics["t"].config["min.insync.replicas"] == chosen["topics/t/config/min.insync.replicas"]


def test_a_matrix_goes_on_where_it_stopped_and_takes_more_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With or without --resume; what is there is not run again, and counts."""
    store = tmp_path / "store"
    words = ["matrix", a_plan(tmp_path), "--jobs", "1", "--store", str(store)]
    assert tidemark([*words, "--runs", "1", "--resume"]) == 3
    assert "there is nothing to resume: mine-" in capsys.readouterr().err
    assert not store.exists()
    assert tidemark([*words, "--runs", "1"]) == 0
    before = written(store)
    assert sorted(before) == [0, 1, 2, 3]
    capsys.readouterr()
    for more in (["--resume"], []):
        assert tidemark([*words, "--runs", "2", *more]) == 0
        assert "8 of 8 runs" in capsys.readouterr().out
    after = written(store)
    assert sorted(after) == list(range(8))
    assert {number: after[number] for number in before} == before


def test_a_wrong_rule_turns_its_cells_red(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Acks at append break what was promised of acks=all, and nothing that was promised of acks=1; `BROKEN` is exit code 1."""
    plan = a_plan(tmp_path, "matrix: {workload/acks: [all, 1]}\n")
    words = ["matrix", plan, "--runs", "1", "--store", str(tmp_path / "store"), "--mutant", "B28a"]
    assert tidemark([*words, "--json"]) == 1
    said = said_by(capsys)
    assert [(cell["state"], cell["red"]) for cell in said["cells"]] == [("BROKEN otherwise", True), ("kept", False)]
    assert [way["anomaly"] for way in said["signatures"]] != []
    assert said["failing"][0]["replay"] == said["signatures"][0]["replay"] == said["cells"][0]["replay"]
    assert tidemark(words) == 1
    assert "a promise was broken: tidemark replay" in capsys.readouterr().out


def test_what_is_dropped_is_told_before_anything_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the reason; `--no-prune` runs it."""
    plan = a_plan(tmp_path, "matrix: {workload/retries: [1, 2]}\n")
    words = ["matrix", plan, "--runs", "1", "--store", str(tmp_path / "store")]
    assert tidemark(words) == 0
    said = capsys.readouterr().out
    assert said.startswith("dropped: workload/retries = 2: in_flight, retries and deliver_within are asked for by the workload")
    assert "1 of 1 runs" in said
    assert tidemark([*words, "--no-prune", "--json"]) == 0
    said = said_by(capsys)
    assert (len(said["cells"]), said["dropped"]) == (2, [])


def test_the_matrix_of_one_plan_is_the_campaign_that_run_makes_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same runs under the same name: neither command executes them twice."""
    plan, store = a_plan(tmp_path, "seed: 6\n"), tmp_path / "store"
    assert tidemark(["run", plan, "--runs", "2", "--store", str(store)]) == 0
    before = written(store)
    assert tidemark(["matrix", plan, "--runs", "2", "--store", str(store)]) == 0
    assert "2 of them there already" in capsys.readouterr().out
    assert written(store) == before


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("matrix: {workload/name: [log, register]}", "the workload 'register' is not there yet"),
        ("matrix: {cluster: [sim, local]}", "there is no world 'local'"),
        ("matrix: {workload/acks: [all, some]}", "no such acks: 'some'"),
    ],
)
def test_one_cell_that_cannot_be_run_refuses_them_all(
    text: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything starts: nobody wants to learn that after the night."""
    store = tmp_path / "store"
    assert tidemark(["matrix", a_plan(tmp_path, text), "--store", str(store)]) == 3
    assert problem in capsys.readouterr().err
    assert not store.exists()


def test_ctrl_c_shows_the_table_so_far_and_the_same_command_goes_on(tmp_path: Path) -> None:
    """130; all cells have been run as often, give or take one; the rest is done by the next start."""
    store, plan = tmp_path / "store", a_plan(tmp_path, CELLS + "seed: 41\n")
    command = [sys.executable, "-m", "harness", "matrix", plan, "--jobs", "2", "--store", str(store), "--runs"]
    matrix = subprocess.Popen([*command, "50"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    wait_until(lambda: len(numbers(store)) >= 3)
    matrix.send_signal(signal.SIGINT)
    said, _ = matrix.communicate(timeout=PATIENCE_S)
    assert matrix.returncode == 130, said
    assert "stopped by Ctrl-C; the same command goes on" in said
    assert "4 cells" in said
    assert workers_of(store) == []
    there = sorted(numbers(store))
    assert there == list(range(len(there)))
    assert len(there) < 200
    again = subprocess.run([*command, str(len(there) // 4 + 1)], capture_output=True, text=True, check=False)
    assert again.returncode == 0
    assert f"{len(there)} of them there already" in again.stdout
