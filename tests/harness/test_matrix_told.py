"""The cells of a campaign, expected against observed."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from rich.console import Console

from checkers.cell_state import Promise, PromiseSeen
from harness.campaign import campaign_of
from harness.execute import Summary
from harness.many_plans import many_plans
from harness.matrix_told import Cells, cells_as_data, tell_cells
from model.store import Store
from tests.harness.summaries import a_summary, broken, not_executed

FORBIDDEN = Promise("lost_write", "committed", "C3", "forbidden")
ALLOWED = Promise("lost_write", "committed", "C7", "allowed")
PLAN = "tidemark: 1\nfaults: [lossy_kill]\nmatrix: {workload/acks: [all, 1], config/eligible.leader.replicas.version: [1, 0]}\n"


def promised(number: int, promise: Promise, times: int = 0) -> Summary:
    return a_summary(number, promises=(PromiseSeen(promise, times),))


@pytest.fixture
def cells(tmp_path: Path) -> Cells:
    """Four of them: run i is of cell i % 4."""
    (tmp_path / "m.yaml").write_text(PLAN)
    many = many_plans([str(tmp_path / "m.yaml")], [])
    return Cells(campaign_of(Store(tmp_path), many.name, *many.plans), many)


RUNS = (
    promised(0, FORBIDDEN),
    broken(1),
    promised(2, ALLOWED),
    not_executed(3),
    promised(4, ALLOWED, 2),
    promised(5, FORBIDDEN),
    promised(8, ALLOWED, 1),
    a_summary(6, "unknown"),
    a_summary(9, "invalid"),
)


def shown(cells: Cells) -> list[str]:
    console = Console(file=io.StringIO(), width=40)
    tell_cells(console, "store/m-1", cells)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_a_row_per_cell_and_below_it_what_was_seen_and_how_to_see_it_again(cells: Cells) -> None:
    """However narrow the terminal is: whoever searches the output finds each cell on one line."""
    for summary in RUNS:
        cells.take(summary)
    head, titles, *rows, last = shown(cells)
    assert head == "4 cells; in each of them: RF 3, min ISR 2, unclean off, flush never, faults lossy_kill, log"
    assert columns(titles) == ["observed", "loss may be allowed by", "promised of losses", "runs", "cell"]
    assert [columns(row) for row in rows] == [
        ["allowed loss seen", "C7", "allowed in 2, forbidden in 1", "3 valid", "acks all, ELR on"],
        ["", "allowed by C7, and seen: lost_write in 2 runs; tidemark replay store/m-1/00004"],
        ["FORBIDDEN loss seen", "C9", "forbidden in 2", "2 BROKEN, 1 valid", "acks all, ELR off"],
        ["", "forbidden by C3, and seen: lost_write in 1 runs; tidemark replay store/m-1/00001"],
        ["not seen yet", "C7 W0 W3", "allowed in 1", "1 unknown, 1 valid", "acks 1, ELR on"],
        ["unknown", "C9 W0 W3", "1 infrastructure", "acks 1, ELR off"],
    ]
    assert {titles.index("cell"), *(row.index("acks") for row in rows if "acks" in row)} == {
        titles.index("cell")
    }  # in one column
    assert last == "cells: FORBIDDEN loss seen: 1, allowed loss seen: 1, not seen yet: 1, kept: 0, not judged: 0, unknown: 1"


def columns(line: str) -> list[str]:
    return re.split(r"\s{2,}", line)


def test_a_promise_that_was_broken_without_a_loss_has_a_run_to_look_at(cells: Cells) -> None:
    """An invariant, a crash: no promise about losses says where."""
    cells.take(a_summary(6, "invalid"))
    lines = shown(cells)
    row = next(i for i, line in enumerate(lines) if line.startswith("BROKEN otherwise"))
    assert lines[row + 1] == "    a promise was broken: tidemark replay store/m-1/00006"
    assert "BROKEN otherwise: 1" in lines[-1]


def test_a_cell_that_nothing_was_run_in_is_there(cells: Cells) -> None:
    """A matrix that was interrupted at once."""
    assert sum(line.startswith("unknown") and "  none  " in line for line in shown(cells)) == 4


def test_programs_are_told_the_same(cells: Cells) -> None:
    """With every promise, and whether the cell is red."""
    for summary in RUNS:
        cells.take(summary)
    said = json.loads(json.dumps(cells_as_data("store/m-1", cells)))
    assert [(cell["state"], cell["red"]) for cell in said] == [
        ("allowed loss seen", False),
        ("FORBIDDEN loss seen", True),
        ("not seen yet", False),
        ("unknown", False),
    ]
    assert said[0]["chosen"] == {"workload/acks": "all", "config/eligible.leader.replicas.version": 1}
    assert (said[0]["expected"], said[0]["counts"], said[0]["losses_promised"]) == (
        ["C7"],
        {"valid": 3},
        {"forbidden": 1, "allowed": 2},
    )
    allowed = {"anomaly": "lost_write", "level": "committed", "rule": "C7", "promised": "allowed", "runs": 2, "seen": 2}
    assert {**allowed, "replay": "tidemark replay store/m-1/00004"} in said[0]["promises"]
    assert said[1]["replay"] == "tidemark replay store/m-1/00001"
