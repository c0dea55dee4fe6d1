"""Judged by what clients saw alone: the right rules raise no alarm in thousands of random runs, each mutant does within hundreds.

`python -m tests.acceptance.test_by_history [B11 ...]` prints the table of mutants without pytest.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import msgspec
import pytest

from checkers.signature import short_name
from tests.acceptance.by_history import Judged, hunted, judged

pytestmark = pytest.mark.acceptance

RUNS = int(os.environ.get("TIDEMARK_RANDOM_RUNS", "2000"))
MUTANTS = ("B01", "B09", "B11", "B13", "B23", "B28", "B32", "B33", "B35", "B36")
MOST_RUNS = 400
AT_ONCE = 20
REACHED = ("C2", "C7", "C9", "W3")
"""Rows of the promises that allow a loss."""


class Detected(msgspec.Struct, frozen=True):
    """The first run, counted from 1, in which a mutant was found; None: in none of them."""

    mutant: str
    runs: int | None
    anomaly: str = ""
    signature: str = ""
    witness: str = ""

    def __str__(self) -> str:
        if self.runs is None:
            return f"{self.mutant}  not found in {MOST_RUNS} runs"
        named = f"{self.anomaly:20} {short_name(self.signature)}  {self.signature}"
        return f"{self.mutant}  {self.runs:4}  {named}\n      {self.witness}"


def pool() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(os.cpu_count(), mp_context=multiprocessing.get_context("spawn"))


def found_in(mutant: str, workers: ProcessPoolExecutor) -> Detected:
    """A run counts by what its history shows, whatever became of its nodes."""
    for first in range(0, MOST_RUNS, AT_ONCE):
        for each in workers.map(partial(hunted, mutant=mutant), range(first, min(first + AT_ONCE, MOST_RUNS))):
            for anomaly, signature, witness in each.forbidden[:1]:
                return Detected(mutant, each.number + 1, anomaly, signature, witness)
    return Detected(mutant, None)


def table(mutants: tuple[str, ...]) -> Iterator[Detected]:
    with pool() as workers:
        for mutant in mutants:
            found = found_in(mutant, workers)
            print(found, flush=True)
            yield found


def test_the_right_rules_raise_no_alarm_and_every_allowed_loss_is_seen() -> None:
    """acks 0, 1 and all, min ISR 1 and 2, unclean on and off, ELR on and off, every workload, all faults."""
    with pool() as workers:
        runs = list(workers.map(judged, range(RUNS), chunksize=10))
    allowed = Counter(each for run in runs for each in set(run.allowed))
    print(f"\n{len(runs):,} runs: {dict(Counter(run.valid for run in runs))}")
    print(
        "allowed, and seen in so many runs:", *(f"  {rule} {name}: {n}" for (rule, name), n in sorted(allowed.items())), sep="\n"
    )
    print("unknown:", *(f"  {reason}: {n}" for reason, n in Counter(r for run in runs for r in run.reasons).items()), sep="\n")
    assert {run.number: (run.forbidden, run.inside) for run in runs if run.forbidden or run.inside} == {}
    assert {rule for rule, _ in allowed} >= {*REACHED}


def test_every_mutant_is_found_by_its_history() -> None:
    """Nobody looks into the nodes; the swarm knows of no mutant."""
    print("\nmutant, runs to the first detection, anomaly, signature")
    assert [found.mutant for found in table(MUTANTS) if found.runs is None] == []


def test_what_a_run_is_said_to_show_is_what_it_shows() -> None:
    """The judge of this file has teeth: of the first runs of a coarse mutant some are found, of the right rules none."""
    assert any(judged(number, "B36").forbidden for number in range(24))
    assert _clean(judged(0))


def _clean(run: Judged) -> bool:
    return not run.forbidden and not run.inside


if __name__ == "__main__":
    list(table(tuple(sys.argv[1:]) or MUTANTS))
