"""harness/so_far.py: what is known of a campaign's runs: counters, and the first few that somebody should look at.

In     summaries, as they come, in whatever order
Out    runs by verdict class, ways to fail with their first run, allowed losses, doubts, faults; the exit code of all together
Keeps  nothing grows with the number of runs: a soak may have a million of them. It counts by names, of which there are few
Not    words for people (harness/told.py, harness/progress.py), the cells of a matrix (checkers/cell_state.py)
"""

from __future__ import annotations

from bisect import insort
from collections import Counter

import msgspec

from checkers.cell_state import RunClass
from harness.execute import Summary
from model.refusal import ExitCode
from model.verdict import exit_code_of_many

MOST_SHOWN = 3


class Way(msgspec.Struct):
    """One way to fail: the runs that fail alike, and the least number among them."""

    signature: str
    name: str
    runs: int
    first: int
    seed: int


class SoFar:
    """Counters of one campaign."""

    def __init__(self) -> None:
        self.classes: Counter[RunClass] = Counter()
        self.ways: dict[tuple[str, str], Way] = {}
        self.allowed: Counter[tuple[str, str]] = Counter()
        """Rule and anomaly: what the promises allow, and was seen."""
        self.doubts: Counter[str] = Counter()
        self.toothless: Counter[str] = Counter()
        self.runs = self.rows = self.fired = 0
        self._codes: set[ExitCode] = set()
        self._broken: list[Summary] = []
        self._not_executed: list[Summary] = []

    def take(self, summary: Summary) -> None:
        self.runs += 1
        self.classes[summary.run_class] += 1
        self._codes.add(summary.exit_code)
        self.rows += summary.rows
        self.fired += summary.fired
        self.toothless.update(text.split()[0] for text in summary.toothless)
        self.doubts.update(summary.reasons)
        self.allowed.update({(each.rule, each.name) for each in summary.findings if each.cell == "allowed"})
        for signature, name in dict.fromkeys((f.signature, f.name) for f in summary.findings if f.cell == "forbidden"):
            self._failed(signature, name, summary)
        if summary.valid == "invalid":
            _keep_first(self._broken, summary)
        elif summary.status != "done":
            _keep_first(self._not_executed, summary)

    def _failed(self, signature: str, name: str, summary: Summary) -> None:
        way = self.ways.setdefault((signature, name), Way(signature, name, 0, summary.number, summary.seed))
        way.runs += 1
        if summary.number < way.first:
            way.first, way.seed = summary.number, summary.seed

    @property
    def exit_code(self) -> ExitCode:
        return exit_code_of_many(self._codes)

    @property
    def worth_a_look(self) -> list[Summary]:
        """Broken ones first, then those that the machine failed: those with the least numbers."""
        return [*self._broken, *self._not_executed][:MOST_SHOWN]

    @property
    def ways_by_runs(self) -> list[Way]:
        """The most frequent first."""
        return sorted(self.ways.values(), key=lambda way: (-way.runs, way.signature, way.name))


def _keep_first(kept: list[Summary], summary: Summary) -> None:
    insort(kept, summary, key=lambda each: each.number)
    del kept[MOST_SHOWN:]
