"""harness/matrix_told.py: the cells of a campaign, expected against observed: a table for people, data for programs.

In     cells, and what their runs say together (checkers/cell_state.py)
Out    a row per cell: its state, the rules by which a loss may be allowed there, its runs by verdict class, what they were
       promised; below a cell that is red, or that shows an allowed loss, which promise it was, and a run that shows it
Not    what a state is, and which rules may allow a loss (checkers/)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, get_args

import msgspec
from rich.console import Console
from rich.text import Text

from checkers.cell_state import RED, Count, Promise, RunsOfACell, State
from checkers.expected import expected_losses
from harness.campaign import Campaign
from harness.execute import Summary
from harness.many_plans import ManyPlans, PlanCell
from harness.progress import WORDS
from model.identity import written_number

HEADINGS = ("observed", "loss may be allowed by", "promised of losses", "runs", "cell")
COLOURS: Mapping[State, str] = {"FORBIDDEN loss seen": "bold red", "BROKEN otherwise": "bold red", "unknown": "yellow"}


class Row(msgspec.Struct, frozen=True):
    """One cell."""

    cell: PlanCell
    runs: RunsOfACell

    @property
    def state(self) -> State:
        return self.runs.state

    @property
    def shown(self) -> list[tuple[Promise, Count]]:
        """Promises that were seen broken: forbidden ones first; then rule by rule, losses first."""
        seen = [each for each in self.runs.promises.items() if each[1].seen and each[0].promised != "not judged"]
        return sorted(seen, key=lambda each: (each[0].promised != "forbidden", each[0].rule, not each[0].of_a_loss, each[0]))


class Cells:
    """All cells of a campaign, as its runs come."""

    def __init__(self, campaign: Campaign, many: ManyPlans) -> None:
        self._campaign = campaign
        self.many = many
        self.rows = tuple(Row(cell, RunsOfACell()) for cell in many.cells)

    def take(self, summary: Summary) -> None:
        row = self.rows[self._campaign.cell_of(summary.number)]
        row.runs.add(summary.number, summary.run_class, summary.promises)

    @property
    def states(self) -> Counter[State]:
        return Counter(row.state for row in self.rows)


# -- for people ---------------------------------------------------------------------------------------------------------


def tell_cells(console: Console, where: str, cells: Cells) -> None:
    alike = f"; in each of them: {cells.many.alike}" if cells.many.alike else ""
    console.print(f"{len(cells.rows)} cells{alike}", highlight=False, markup=False, soft_wrap=True)
    columns = [HEADINGS, *map(_columns, cells.rows)]
    widths = [max(len(each[i]) for each in columns) for i in range(len(HEADINGS) - 1)]
    _print(console, HEADINGS, widths, "bold")
    for row in cells.rows:
        _print(console, _columns(row), widths, COLOURS.get(row.state, ""))
        for line in _shown(row, where):
            console.print(f"    {line}", highlight=False, markup=False, soft_wrap=True)
    console.print(_counted(cells.states), highlight=False, markup=False, soft_wrap=True)


def _print(console: Console, columns: Sequence[str], widths: Sequence[int], style: str) -> None:
    padded = [text.ljust(width) for text, width in zip(columns, widths, strict=False)]
    console.print(Text("  ".join((*padded, columns[-1])), style=style), highlight=False, soft_wrap=True)


def _columns(row: Row) -> tuple[str, ...]:
    runs = ", ".join(f"{count} {WORDS[each]}" for each, count in sorted(row.runs.classes.items()))
    promised = ", ".join(f"{each} in {count}" for each, count in sorted(row.runs.losses.items()))
    return row.state, " ".join(expected_losses(row.cell.plan)) or "nothing", promised, runs or "none", row.cell.name


def _shown(row: Row, where: str) -> Iterator[str]:
    if row.state == "BROKEN otherwise" and row.runs.first_broken is not None:
        yield f"a promise was broken: {_replay(where, row.runs.first_broken)}"
    for (promised, rule), shown in groupby(row.shown, key=lambda each: (each[0].promised, each[0].rule)):
        counts = [*shown]
        seen = ", ".join(f"{promise.anomaly} in {count.seen}" for promise, count in counts)
        yield f"{promised} by {rule}, and seen: {seen} runs; {_replay(where, counts[0][1].first or 0)}"


def _counted(states: Mapping[State, int]) -> str:
    """Every state, also those of no cell, but for a red one that is there for completeness."""
    told = [f"{state}: {states.get(state, 0)}" for state in get_args(State) if states.get(state) or state != "BROKEN otherwise"]
    return "cells: " + ", ".join(told)


def _replay(where: str, number: int) -> str:
    return f"tidemark replay {where}/{written_number(number)}"


# -- for programs -------------------------------------------------------------------------------------------------------


def cells_as_data(where: str, cells: Cells) -> list[dict[str, Any]]:
    return [
        {
            "cell": row.cell.name,
            "chosen": row.cell.chosen,
            "state": row.state,
            "red": row.state in RED,
            "expected": list(expected_losses(row.cell.plan)),
            "counts": dict(row.runs.classes),
            "losses_promised": dict(row.runs.losses),
            "promises": [_promise_as_data(where, *each) for each in sorted(row.runs.promises.items())],
            "replay": None if row.runs.first_broken is None else _replay(where, row.runs.first_broken),
        }
        for row in cells.rows
    ]


def _promise_as_data(where: str, promise: Promise, count: Count) -> dict[str, Any]:
    example = None if count.first is None else _replay(where, count.first)
    return {**msgspec.to_builtins(promise), "runs": count.runs, "seen": count.seen, "replay": example}
