"""tidemark soak: one campaign until a time is used up, however often it is interrupted, killed, and started again."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import pytest

from harness.main import run as tidemark
from harness.soak import missing
from model.store import Store
from tests.harness.campaign_process import numbers, wait_until, workers_of, written
from tests.harness.soak_process import SoakProcess

PLAN = "tidemark: 1\nfor: 2s\n"
CELLS = "matrix: {workload/acks: [all, 1]}\n"


def a_plan(where: Path, text: str = "") -> Path:
    """Workers are known by their campaign's name, and that comes from the plan: tests that run side by side need several."""
    path = where / "mine.yaml"
    path.write_text(PLAN + text)
    return path


def sessions_of(store: Path) -> list[dict[str, object]]:
    (path,) = store.glob("*/sessions.jsonl")
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_killed_three_times_it_goes_on_with_the_time_that_is_left(tmp_path: Path) -> None:
    """No finished run is lost or doubled, no process is left, and each kill is told at the end."""
    store, plan = tmp_path / "store", a_plan(tmp_path, "seed: 31\n" + CELLS)
    for kill in range(3):
        before = written(store)
        SoakProcess(store, plan, "10m").kill_at(len(before) + 2)
        wait_until(lambda: workers_of(store) == [])
        after = written(store)
        assert len(after) >= len(before) + 2
        assert {number: after[number] for number in before} == before
        assert [each["event"] for each in sessions_of(store)].count("begin") == kill + 1
    before = written(store)
    ran_s = sum(session_times(store).values())
    code, said = SoakProcess(store, plan, f"{int(ran_s * 1000) + 1_000}ms").finish()
    assert code == 0, said
    assert "4 sessions, 3 of them killed" in said
    after = written(store)
    assert {number: after[number] for number in before} == before
    assert sorted(numbers(store)) == list(range(len(after)))
    assert f"{len(after)} runs in" in said
    assert "2 cells" in said
    assert sum(session_times(store).values()) >= ran_s + 1
    assert workers_of(store) == []


def session_times(store: Path) -> dict[object, float]:
    """What the last line of each says."""
    return {each["session"]: float(str(each.get("ran_s", 0))) for each in sessions_of(store)}


def test_once_the_time_is_used_up_nothing_is_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same command says so, what to do, and what was found, with its exit code; a longer time goes on."""
    store = tmp_path / "store"
    words = ["soak", str(a_plan(tmp_path, "seed: 32\n")), "--jobs", "1", "--store", str(store), "--mutant", "B28a"]
    assert tidemark([*words, "--for", "1s"]) == 1
    said = capsys.readouterr().out
    assert "1 sessions, 0 of them killed" in said
    assert "invariant 12" in said
    before = written(store)
    assert tidemark([*words, "--for", "1s"]) == 1
    said = capsys.readouterr().out
    assert "the 1s of this soak are used up, so nothing was run: a longer --for than" in said
    assert "another --store begins anew" in said
    assert "first: tidemark replay" in said
    assert written(store) == before
    longer = f"{int(sum(session_times(store).values()) * 1_000) + 1_000}ms"
    assert tidemark([*words, "--for", longer]) == 1
    assert len(written(store)) > len(before)
    assert "2 sessions, 0 of them killed" in capsys.readouterr().out


def test_ctrl_c_ends_it_cleanly_and_the_same_command_goes_on(tmp_path: Path) -> None:
    """130, the summary, the time that is left; what ran was finished, and nothing is left behind."""
    store, plan = tmp_path / "store", a_plan(tmp_path, "seed: 33\n")
    soak = SoakProcess(store, plan, "1h")
    soak.signal_at(2, signal.SIGINT)
    code, said = soak.finish()
    assert code == 130, said
    assert "1 sessions, 0 of them killed" in said
    assert "; Ctrl-C" in said
    assert re.search(r"stopped by Ctrl-C, 5\dm\d\ds left; the same command goes on", said)
    assert workers_of(store) == []
    (campaign,) = Store(store).campaigns()
    assert {entry.status for entry in Store(store).runs(campaign)} == {"done"}
    assert list((store / campaign / ".staging").iterdir()) == []


def test_a_second_ctrl_c_waits_for_nobody(tmp_path: Path) -> None:
    """Every second run takes minutes here: after the first one it waits for those, after the second it gives them up."""
    store, plan = tmp_path / "store", a_plan(tmp_path, "seed: 34\nmatrix: {for: [2s, 10h]}\n")
    soak = SoakProcess(store, plan, "5m")
    soak.signal_at(2, signal.SIGINT)  # runs 0 and 2 are there: 1 goes on, and 3 has begun or is never begun
    beats = len(sessions_of(store))
    wait_until(lambda: len(sessions_of(store)) > beats + 2)
    assert soak.process.poll() is None
    soak.signal_at(0, signal.SIGINT)
    code, said = soak.finish()
    assert code == 130, said
    assert "2 runs in" in said
    assert workers_of(store) == []
    assert numbers(store) == [0, 2]


def test_two_soaks_of_one_campaign_are_one_too_many(tmp_path: Path) -> None:
    """The second is refused, and the first goes on."""
    store, plan = tmp_path / "store", a_plan(tmp_path, "seed: 35\n")
    first = SoakProcess(store, plan, "1h")
    wait_until(lambda: bool(numbers(store)))
    code, said = SoakProcess(store, plan, "1h").finish()
    assert (code, "this soak is running already" in said) == (3, True)
    first.signal_at(0, signal.SIGINT)
    assert first.finish()[0] == 130


def test_all_cells_of_a_matrix_are_run_evenly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As JSON: sessions, rate, and what each cell says."""
    store = tmp_path / "store"
    words = ["soak", str(a_plan(tmp_path, "seed: 36\n" + CELLS)), "--for", "1s", "--jobs", "2", "--store", str(store), "--json"]
    assert tidemark(words) == 0
    said = json.loads(capsys.readouterr().out)
    assert [cell["cell"] for cell in said["cells"]] == ["acks all", "acks 1"]
    counts = [sum(cell["counts"].values()) for cell in said["cells"]]
    assert sum(counts) == said["runs"] >= 2
    assert 0 <= counts[0] - counts[1] <= 1
    (session,) = said["sessions"]
    assert (session["runs"], session["end"], session["killed"]) == (said["runs"], "time is up", False)
    assert said["ran_s"] >= said["for_s"] == 1.0


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--for", "soon"], "--for: "),
        (["--for", "0s"], "a soak of no time runs nothing"),
        (["--for", "1s", "--store", "mock:///store"], "a soak keeps its time on a local disk"),
        (["--for", "1s", "--set", "cluster=local"], "there is no world 'local'"),
    ],
)
def test_what_cannot_be_soaked_is_refused(
    words: list[str], problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything starts: exit code 3, and no store."""
    store = tmp_path / "store"
    assert tidemark(["soak", str(a_plan(tmp_path)), "--store", str(store), *words]) == 3
    assert problem in capsys.readouterr().err
    assert not store.exists()


def test_numbers_that_are_free_come_in_order_until_it_is_over() -> None:
    """Of a killed soak some in between may be missing."""
    left = iter([False] * 4 + [True])
    assert list(missing(bytearray([1, 0, 1, 1, 0]), lambda: next(left))) == [1, 4, 5, 6]
