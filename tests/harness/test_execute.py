"""A run, executed and stored: what a broken rule looks like to whoever ran it."""

from __future__ import annotations

from pathlib import Path

import msgspec
from rich.console import Console

from harness.execute import execute, of_stored
from harness.told import tell_one
from model.refusal import ExitCode
from model.store import Store
from tests.clusters.sim.random_plans import random_plan

SEED = 5003


def test_a_broken_invariant_ends_the_run_with_its_story_and_the_command_that_repeats_it(tmp_path: Path) -> None:
    """B36, an unclean election that nobody allowed: exit code 1, and no debugger needed."""
    store = Store(str(tmp_path))
    found = execute(store, "runs", 0, msgspec.structs.replace(random_plan(SEED), mutants=("B36",)))
    assert (found.valid, found.exit_code) == ("invalid", ExitCode.BROKEN)
    (witness,) = found.witnesses
    first, *details = witness.splitlines()
    assert first.startswith("invariant 7, clean election, at ")
    assert "and unclean elections are not allowed" in first
    assert any("controllers: leader" in line for line in details)
    assert any("LeaderElected" in line for line in details)
    console = Console(record=True, width=200)
    tell_one(console, f"{tmp_path}/runs", found)
    said = console.export_text()
    assert said.startswith(f"BROKEN   run {tmp_path}/runs/00000, seed {SEED}")
    assert f"repeat:  tidemark replay {tmp_path}/runs/00000" in said
    assert of_stored(store.open("runs", 0)) == found
    verdict = store.open("runs", 0).record.verdict
    assert verdict is not None
    assert verdict.signatures == ("i1:clean_election:commit",)


def test_with_the_right_rules_the_same_plan_breaks_nothing(tmp_path: Path) -> None:
    """The near miss."""
    found = execute(Store(str(tmp_path)), "runs", 0, random_plan(SEED))
    assert (found.valid, found.witnesses) == ("valid", ())
