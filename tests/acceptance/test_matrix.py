"""The matrix of all presets: with the right rules nothing forbidden is seen, and every kind of allowed loss is.

A wrong rule turns red what the protocol says it breaks, and nothing else.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from checkers.promises import LOSSES
from harness.main import run as tidemark

pytestmark = pytest.mark.acceptance

RUNS = int(os.environ.get("TIDEMARK_MATRIX_RUNS", "12"))
REACHED = ("C2", "C7", "C9", "W3")
"""Rows of the promises that allow a loss."""
HARSH = "faults=[kill, lossy_kill, cut, pause, stop, restart_loop]"
"""Leaders die and followers fall behind: what a wrong election needs. No operator permits an unclean one."""

Cell = dict[str, Any]


def the_matrix(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, list[Cell]]:
    code = tidemark(["matrix", *words, "--json"])
    captured = capsys.readouterr()
    with capsys.disabled():
        print("\n" + captured.err[captured.err.index("\nobserved ") :])
    cells: list[Cell] = json.loads(captured.out)["cells"]
    return code, cells


def losses_seen(cell: Cell, promised: str) -> dict[str, int]:
    """By rule the first round in which one was seen: round k is the k-th run of every cell."""
    first: dict[str, int] = {}
    for promise in cell["promises"]:
        if promise["anomaly"] in LOSSES and promise["promised"] == promised and promise["seen"]:
            number = int(promise["replay"].rpartition("/")[2])
            first[promise["rule"]] = min(number, first.get(promise["rule"], number))
    return first


def test_right_rules_keep_what_is_forbidden_and_show_every_loss_that_is_allowed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """56 cells; each allowed loss in a cell whose config and faults were expected to allow it."""
    code, cells = the_matrix(capsys, "presets", "--runs", str(RUNS), "--store", str(tmp_path))
    assert code == 0
    assert len(cells) == 56
    assert {cell["cell"]: cell["state"] for cell in cells if cell["red"]} == {}
    assert all(cell["counts"] == {"valid": RUNS} for cell in cells)
    rounds: dict[str, list[int]] = defaultdict(list)
    for cell in cells:
        for rule, number in losses_seen(cell, "allowed").items():
            assert rule in cell["expected"], f"{cell['cell']}: {rule} was not expected"
            rounds[rule].append(number // len(cells) + 1)
    with capsys.disabled():
        for rule, found in sorted(rounds.items()):
            print(f"{rule}: seen in {len(found)} cells, for the first time in run {sorted(found)} of each")
    assert rounds.keys() >= {*REACHED}


def test_unclean_elections_though_forbidden_turn_red_what_forbids_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """B36, judged by histories alone: red where unclean elections are off, and not where they are on (8.9, C2)."""
    words = ["presets/rf3-min2-acks-all", "--runs", "15", "--mutant", "B36", "--set", HARSH, "--set", "judge/on_violation=off"]
    code, cells = the_matrix(capsys, *words, "--store", str(tmp_path))
    assert code == 1
    red = {cell["cell"] for cell in cells if cell["state"] == "FORBIDDEN loss seen"}
    assert red == {cell["cell"] for cell in cells if "unclean off" in cell["cell"]}
    assert len(red) == 4
    assert not any(cell["red"] for cell in cells if cell["cell"] not in red)


def test_the_same_without_the_mutant_is_clean(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same runs but for the wrong rule: what turned red did so because of it."""
    words = ["presets/rf3-min2-acks-all", "--runs", "15", "--set", HARSH, "--set", "judge/on_violation=off"]
    code, cells = the_matrix(capsys, *words, "--store", str(tmp_path))
    assert code == 0
    assert not any(cell["red"] for cell in cells)
