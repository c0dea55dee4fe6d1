"""tidemark shrink, as somebody types it: a coarse mutant, a short plan, everything real."""

from __future__ import annotations

import io
import json
import shutil
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import msgspec
import pytest

from checkers.signature import short_name
from harness import pool
from harness.execute import execute, mark
from harness.main import run as tidemark
from harness.shrink import command, result, searching
from harness.shrink.known import Outcome
from model import history
from model.plan import Plan
from model.plan_file import load, read_plan
from model.schedule import Event
from model.store import Store
from model.verdict import Verdict

WHOLE = """
tidemark: 1
for: 4s
seed: 2
mutants: [B36]
workload: {processes: 2, rate: 20/s}
schedule:
- {at: 317ms, fault: skew, target: any-broker, args: {offset: 2113ms}, for: 1s}
- {at: 503ms, fault: rolling_restart, target: all, args: {gap: 200ms}}
- {when: {after: 0, leader: n1}, within: 3s, fault: drift, target: followers, args: {ppm: 137}, for: 719ms}
- {at: 1407ms, fault: delay, target: follower, args: {latency: 3ms}, for: 411ms}
"""
"""One of these four is needed."""


def told(capsys: pytest.CaptureFixture[str]) -> str:
    captured = capsys.readouterr()
    return captured.out + captured.err


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one broken run, and one that was executed with the right rules."""
    where = tmp_path_factory.mktemp("broken")
    plan = where / "whole.yaml"
    plan.write_text(WHOLE)
    store = str(where / "store")
    assert tidemark(["run", str(plan), "--store", store]) == 1
    assert tidemark(["run", str(plan), "--store", store, "--set", "mutants=[]"]) == 0
    return where / "store"


@pytest.fixture
def store(broken: Path, tmp_path: Path) -> str:
    """One's own."""
    shutil.copytree(broken, tmp_path / "store")
    return str(tmp_path / "store")


def verdict_of(store: str, campaign: str, number: int) -> Verdict:
    verdict = Store(store).record(campaign, number).verdict
    assert verdict is not None
    return verdict


def shrunk(store: str, capsys: pytest.CaptureFixture[str], *more: str, code: int = 1) -> dict[str, Any]:
    capsys.readouterr()
    assert tidemark(["shrink", f"{store}/runs/00000", "--json", *more]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


class Once(msgspec.Struct):
    """What shrinking that run once has left, for everybody who only looks."""

    store: str
    found: dict[str, Any]


@pytest.fixture(scope="module")
def once(broken: Path, tmp_path_factory: pytest.TempPathFactory) -> Once:
    store = str(tmp_path_factory.mktemp("shrunk") / "store")
    shutil.copytree(broken, store)
    said = io.StringIO()
    with redirect_stdout(said):
        assert tidemark(["shrink", f"{store}/runs/00000", "--json", "--jobs", "2"]) == 1
    return Once(store, json.loads(said.getvalue()))


def test_a_broken_run_is_shrunk_to_what_broke_it(once: Once, capsys: pytest.CaptureFixture[str]) -> None:
    """Four events to one; stored, it replays to the same digest three times; its file fails alike, by any name and number."""
    store, found = once.store, once.found
    assert found["events"] == {"before": 4, "after": 1}
    assert found["finished"] is True
    assert found["signature"] == verdict_of(store, "runs", 0).signatures[0]
    assert found["shrunk"] == f"{store}/shrunk/00000"
    stored = Store(store).open("shrunk", 0)
    assert stored.record.trace_digest == found["digest"]
    assert [event.fault for event in stored.schedule()] == ["rolling_restart"]
    stored.verify()
    for _ in range(3):
        assert tidemark(["replay", found["shrunk"]]) == 1
        assert f"the same run: digest {found['digest'][:16]}" in told(capsys)
    assert tidemark(["run", found["plan"], "--store", store]) == 1
    assert found["signature"] in verdict_of(store, "runs", 2).signatures
    assert tidemark(["run", found["plan"], "--store", store, "--set", "mutants=[]"]) == 0, "it breaks the right rules too"


def test_with_more_workers_the_result_is_the_same(once: Once, store: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The plan, its digest, and the number of trials that were needed."""
    found = shrunk(store, capsys, "--jobs", "3")
    assert found["digest"] == once.found["digest"]
    assert found["trials"] == once.found["trials"]
    one, other = (Path(each["plan"]).read_text() for each in (once.found, found))
    assert one.replace(once.store, store) == other


def test_the_plan_file_reads_well_and_the_old_one_lies_beside_it(once: Once) -> None:
    """What failed, how much is left of what, where from, how to see it; then a line per entry and event, and no default."""
    store, found = once.store, once.found
    lines = Path(found["plan"]).read_text().splitlines()
    lasts = next(line.removeprefix("for: ") for line in lines if line.startswith("for: "))
    assert [line for line in lines if line.startswith("#")] == [
        "# consistent_read, forbidden by invariant 5",
        f"# Signature: {found['signature']} [{found['short']}]",
        f"# Shrunk from 4 events in 4s to 1 in {lasts}, by {found['trials']} trials.",
        f"# From {store}/runs/00000, seed 2.",
        f"# repeat: tidemark replay {store}/shrunk/00000",
    ]
    said = {line.partition(":")[0] for line in lines if line[0].isalpha()}
    assert said <= {"tidemark", "seed", "for", "mutants", "client_groups", "nodes", "workload", "schedule"}
    assert sum(line.startswith("- {") for line in lines) == 1
    original = read_plan(load(Path(found["original"])))
    assert original == msgspec.structs.replace(Store(store).open("runs", 0).plan(), tag=None)


# -- ends ---------------------------------------------------------------------------------------------------------------------


def test_when_the_budget_is_spent_the_best_so_far_is_kept(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Here it is spent before anything was tried: the run as it was. Of its failures the one that was asked for is told."""
    wanted = verdict_of(store, "runs", 0).signatures[1]
    words = ["shrink", f"{store}/runs/00000", "--budget", "1ms", "--signature", short_name(wanted)]
    assert tidemark(words) == 1
    said = told(capsys)
    assert "SHRUNK   4 events in 4s to 4 events in 4s, by 0 trials" in said
    assert "the budget of 1ms is spent: it may get smaller" in said
    assert f"forbidden by invariant 1   [{short_name(wanted)}]" in said
    assert "- {at: 503ms, fault: rolling_restart, target: all, args: {gap: 200ms}}" in said
    assert f"repeat:  tidemark replay {store}/shrunk/00000       look:  tidemark trace {store}/shrunk/00000" in said
    assert Store(store).open("shrunk", 0).plan() == Store(store).open("runs", 0).plan()
    assert tidemark(words) == 1
    assert Store(store).open("shrunk", 1).plan() == Store(store).open("runs", 0).plan(), "a second time has a number of its own"


def test_ctrl_c_keeps_the_best_so_far(store: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Stored and written like any other, as soon as an event less was known to do; then 130."""

    def interrupted(crew: pool.Crew, tasks: Any, on_result: pool.OnResult) -> None:
        def then(number: int, result: pool.Result) -> None:
            on_result(number, result)
            if len(tasks.best.schedule) < 4:
                raise KeyboardInterrupt

        pool.run_pool(crew, tasks, then)

    monkeypatch.setattr(searching, "run_pool", interrupted)
    found = shrunk(store, capsys, code=130)
    assert (found["exit_code"], found["finished"]) == (130, False)
    assert found["events"]["after"] < 4
    assert found["signature"] in verdict_of(store, "shrunk", 0).signatures
    assert Path(found["plan"]).exists()


def test_a_candidate_that_cannot_be_executed_is_none(
    store: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever happens to every single one: the run as it was is still the best."""

    def never_works(crew: pool.Crew, tasks: Any, on_result: pool.OnResult) -> None:
        number = next(tasks)
        on_result(number, pool.Result("lost", reason="the worker of this run died"))
        on_result(next(tasks), pool.Result("failed", reason="Stuck: nothing is left that could happen"))

    monkeypatch.setattr(searching, "run_pool", never_works)
    assert shrunk(store, capsys)["events"] == {"before": 4, "after": 4}


# -- refusals -----------------------------------------------------------------------------------------------------------------


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    assert tidemark(["shrink", *words]) == 3
    return capsys.readouterr().err


def test_what_cannot_be_shrunk_is_refused(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A sentence each, with what would do."""
    broken = f"{store}/runs/00000"
    assert "this run broke no promise, it is valid" in refused(capsys, f"{store}/runs/00001")
    assert "no such run: runs/00017" in refused(capsys, f"{store}/runs/00017")
    assert "not a run: 'nonsense'" in refused(capsys, "nonsense")
    said = refused(capsys, broken, "--signature", "deadbeef")
    assert "this run has no signature 'deadbeef'" in said
    assert all(signature in said for signature in verdict_of(store, "runs", 0).signatures)
    assert "not a duration: 'soon'" in refused(capsys, broken, "--budget", "soon")
    assert not Path(store, "shrunk").exists()


def test_a_run_that_nobody_judged_is_refused(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It was never executed to its end."""
    mark(Store(store), "runs", 9, Plan(tidemark=1, schedule=()), "the worker of this run died")
    said = refused(capsys, f"{store}/runs/00009")
    assert "nobody judged this run, it is infrastructure: the worker of this run died" in said


def test_a_run_of_a_real_world_is_refused(
    store: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It never does the same thing twice."""
    stored = Store(store).open("runs", 0)
    elsewhere = msgspec.structs.replace(stored.plan(), cluster="local")
    with Store(store).begin("runs", 9, elsewhere) as writer:
        writer.put_history(history.to_table([]))
        writer.finish("done", stored.record.verdict)
    said = refused(capsys, f"{store}/runs/00009")
    assert "this run was made in the world local, which never does the same thing twice" in said
    assert "allowed here: runs of the world sim" in said


def test_a_run_that_does_not_fail_again_is_refused(
    store: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another version stored it; and that is no word about the promise."""
    monkeypatch.setattr(command, "tried", lambda plan: Outcome(signatures=("s1:duplicate:committed:C3:-:-:A≠R",), digest="0"))
    said = refused(capsys, f"{store}/runs/00000")
    assert "executed again, this run does not fail as it did" in said
    assert "there is s1:duplicate:committed:C3:-:-:A≠R" in said
    assert "Nothing was started" not in said


def test_what_does_not_repeat_is_not_called_shrunk(
    store: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last look, twice: another digest is a mistake of ours, and nothing is stored."""
    digests = iter("abcdef")
    wanted = verdict_of(store, "runs", 0).signatures[:1]
    monkeypatch.setattr(result, "tried", lambda plan: Outcome(signatures=wanted, digest=next(digests)))
    assert tidemark(["shrink", f"{store}/runs/00000", "--budget", "1ms"]) == 4
    assert "the shrunk run does not repeat: digest b after a" in told(capsys)
    assert not Path(store, "shrunk").exists()


def test_the_tag_of_a_run_changes_nothing_but_its_values(store: str) -> None:
    """So that the file of a plan, whose runs have tags of their own, fails as the stored run does."""
    plan = Store(store).open("runs", 0).plan()
    found = [execute(Store(store), "tags", tag, msgspec.structs.replace(plan, tag=tag)) for tag in (0, 77, 2**19 - 1)]
    assert len({summary.findings for summary in found}) == 1
    assert isinstance(plan.schedule[0], Event)
