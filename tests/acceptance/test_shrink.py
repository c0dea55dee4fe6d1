"""A failure of every mutant is found by random runs and shrunk to what a person can read. Prints the table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.main import run as tidemark
from model.store import Store

pytestmark = pytest.mark.acceptance

BY_HISTORY = ("--set", "judge/on_violation=off")
MUTANTS: Mapping[str, tuple[str, ...]] = {
    "B01": BY_HISTORY,
    "B09": BY_HISTORY,
    "B11": (),  # by its history one run of three hundred, and that one hangs together in one way only
    "B13": BY_HISTORY,
    "B23": BY_HISTORY,
    "B28": BY_HISTORY,
    "B32": BY_HISTORY,
    "B33": BY_HISTORY,
    "B35": BY_HISTORY,
    "B36": BY_HISTORY,
}
HUNTS = (5, 20, 80, 400)
"""So many runs, until one of them is broken."""
MOST_EVENTS = 6


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    code = tidemark([*words, "--json"])
    return code, json.loads(capsys.readouterr().out)


def hunted(mutant: str, store: str, capsys: pytest.CaptureFixture[str]) -> str:
    """The first broken run of the default plan."""
    for runs in HUNTS:
        code, found = said(capsys, "run", "--runs", str(runs), "--mutant", mutant, "--store", store, *MUTANTS[mutant])
        if code == 1:
            return next(str(each["run"]) for each in found["failing"] if each["valid"] == "invalid")
    pytest.fail(f"{mutant} was not found in {HUNTS[-1]} runs")


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_failure_is_shrunk_to_what_can_be_read(mutant: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At most six events, the same signature, and the same digest each of three times."""
    run = hunted(mutant, str(tmp_path), capsys)
    code, found = said(capsys, "shrink", run, "--budget", "30m")
    assert code == 1
    assert found["finished"]
    assert found["events"]["after"] <= MOST_EVENTS
    assert found["signature"] in _signatures(str(tmp_path), "shrunk", 0)
    assert found["signature"] == _signatures(str(tmp_path), Path(run).parent.name, int(Path(run).name))[0]
    for _ in range(3):
        code, replayed = said(capsys, "replay", found["shrunk"])
        assert (code, replayed["same"], replayed["digest"]) == (1, True, found["digest"])
    code, _ = said(capsys, "run", found["plan"], "--store", str(tmp_path))
    assert code == 1
    assert found["signature"] in _signatures(str(tmp_path), "runs", 0)
    with capsys.disabled():
        print(_line(mutant, run, found))


def _signatures(store: str, campaign: str, number: int) -> tuple[str, ...]:
    verdict = Store(store).record(campaign, number).verdict
    assert verdict is not None
    return verdict.signatures


def _line(mutant: str, run: str, found: dict[str, Any]) -> str:
    before, after = found["events"]["before"], found["events"]["after"]
    how = "history" if MUTANTS[mutant] else "invariant"
    first = f"{how}, run {int(Path(run).name) + 1:3}"
    return (
        f"\n{mutant}  {first:18} {before:3} events -> {after}  {found['trials']:4} trials  {found['seconds']:6.1f} s"
        f"  {found['short']}  {found['signature']}\n{Path(found['plan']).read_text()}"
    )
