"""harness/analysis_told.py: what `tidemark analyze` says: progress, a summary for people, one JSON object.

In     an analysis while it goes on, and when it has ended
Out    a line that stays on a terminal, plain lines elsewhere; then what was found, what is new, and the commands that repeat it
Keeps  every run in quarantine is named with its reason; of signatures and cells the first, and how many there are
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import groupby
from types import TracebackType
from typing import Any, Final

import msgspec
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from checkers.rule_words import because
from harness.progress import PLAIN_EVERY_S
from spark_analysis.analysis import Analysis
from spark_analysis.analysis import Progress as Known
from spark_analysis.comparison import ENOUGH, Change, Comparison, Shift, What

MOST_SIGNATURES: Final = 12
MOST_CELLS: Final = 24
MOST_OF_A_CELL: Final = 6
WORDS: Final = {"broken": "BROKEN", "infrastructure": "infrastructure failure"}
FIGURES: Final = {"recovery_s": "recovery", "append_p99_ms": "append latency p99", "appends_per_s": "throughput"}
UNITS: Final = {"recovery_s": "s", "append_p99_ms": "ms", "appends_per_s": "/s"}


class Telling:
    """Follows an analysis."""

    def __init__(self, console: Console, what: str) -> None:
        self._console, self._what = console, what
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[found]}"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._bar = self._progress.add_task(what, total=None, found="")
        self._last_line = time.monotonic()

    def __enter__(self) -> Telling:
        self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._progress.stop()

    def show(self, known: Known, total: int) -> None:
        found = counted(known.counts)
        self._progress.update(self._bar, completed=known.runs, total=total, found=found)
        if not self._console.is_terminal and time.monotonic() - self._last_line > PLAIN_EVERY_S:
            self._last_line = time.monotonic()
            self._console.print(f"{known.runs:,} of {total:,} {self._what}: {found}", highlight=False)


def counted(counts: dict[str, int]) -> str:
    """`2 BROKEN, 95 valid, 3 quarantined`."""
    order = sorted(counts, key=lambda name: name != "broken")
    return ", ".join(f"{counts[name]:,} {WORDS.get(name, name)}" for name in order)


def tell(console: Console, found: Analysis) -> None:
    """The summary."""
    console.print(escape("\n".join(lines(found))), highlight=False, soft_wrap=True)


def lines(found: Analysis) -> Iterator[str]:
    record = found.record
    rate = found.operations / record.seconds if record.seconds else 0
    yield (
        f"{record.runs:,} runs in {record.seconds:.1f} s on {record.engine}, {found.operations:,} operations "
        f"({rate:,.0f}/s): {counted(dict(record.counts))}   ({_shown(found)})"
    )
    yield from (f"  {note}" for note in record.notes)
    yield from (f"  quarantined  {run}: {_without(run, why)}" for run, why in found.quarantined)
    yield from _signatures(found)
    yield from _allowed(found)
    yield from _cells(found)
    if found.comparison is not None:
        yield from _comparison(found, found.comparison)
    if found.place:
        yield f"tables:  {found.place}"


def _shown(found: Analysis) -> str:
    scope = found.scope
    return scope.shown if scope.whole else f"{scope.shown}/{scope.campaigns[0]}"


def _without(run: str, why: str) -> str:
    """The reason, which may begin with the run."""
    return why.removeprefix(f"{run}: ")


def _signatures(found: Analysis) -> Iterator[str]:
    rows = found.signatures.to_pylist()
    for row in rows[:MOST_SIGNATURES]:
        cells = row["cells"]
        where = f"{len(cells)} cells" if len(cells) > 1 else f"cell {cells[0]['cell']}"
        mutants = f", mutants {' '.join(row['mutants'])}" if row["mutants"] else ""
        yield f"  {row['short']}  {row['name']}: {row['runs']:,} runs in {where}{mutants}   {row['signature']}"
        if row["witness"]:
            yield f"    {row['witness']}"
        yield f"    repeat:  {row['replay']}"
    if len(rows) > MOST_SIGNATURES:
        yield f"  and {len(rows) - MOST_SIGNATURES} more ways to fail"


def _allowed(found: Analysis) -> Iterator[str]:
    """What the promises allow, and was seen: proof that such losses are noticed."""
    (everything,) = [row for row in found.groups.select(["by", "anomalies"]).to_pylist() if row["by"] == "all"]
    for anomaly in everything["anomalies"]:
        if anomaly["cell"] == "allowed":
            yield f"  allowed, and seen in {anomaly['runs']:,} runs: {anomaly['name']} by {because(anomaly['rule'], 'allowed')}"


def _cells(found: Analysis) -> Iterator[str]:
    """The worst first."""
    classes = ["runs", "valid", "unknown", "broken", "infrastructure", "killed"]
    cells = [row for row in found.groups.select(["by", "key", "words", *classes]).to_pylist() if row["by"] == "cell"]
    cells.sort(key=lambda row: (-row["broken"], row["key"]))
    for row in cells[:MOST_CELLS]:
        counts = {name: row[name] for name in classes[1:] if row[name]}
        yield f"  cell {row['key']}  {row['words']}: {counted(counts)}"
    if len(cells) > MOST_CELLS:
        yield f"  and {len(cells) - MOST_CELLS} more cells"


# -- comparison ---------------------------------------------------------------------------------------------------------


def _comparison(found: Analysis, compared: Comparison) -> Iterator[str]:
    baseline = found.baseline
    assert baseline is not None
    judged = "" if baseline.judged_again else ", unchanged since it was analysed"
    path = baseline.scope.shown if baseline.scope.whole else f"{baseline.scope.shown}/{baseline.scope.campaigns[0]}"
    yield f"compared with {path}, {baseline.runs:,} runs{judged}, in {compared.compared} cells: {_changed(compared)}"
    yield from (f"  quarantined there  {run}: {_without(run, why)}" for run, why in baseline.quarantined)
    for (what, cell), changes in groupby(compared.changes, lambda change: (change.what, change.cell)):
        yield from _changes(what, cell, list(changes), (found.scope.shown, baseline.scope.shown))
    yield from map(_shift, compared.shifts)
    yield from _nobody_knows(compared)


def _changed(compared: Comparison) -> str:
    counts: dict[str, int] = {}
    for change in compared.changes:
        counts[change.what] = counts.get(change.what, 0) + 1
    for shift in compared.shifts:
        counts[shift.pace] = counts.get(shift.pace, 0) + 1
    return ", ".join(f"{count} {what}" for what, count in counts.items()) or "nothing has changed"


def _changes(what: What, cell: str, changes: Sequence[Change], stores: tuple[str, str]) -> Iterator[str]:
    """What happened to the signatures of one cell, the most frequent first. `stores`: this one, and the baseline."""
    said = what.upper() if what in ("new", "new here") else what
    luck = ": too few runs to call it fixed" if what == "not seen again" else ""
    yield f"  {said} in cell {cell} ({changes[0].words}){luck}"
    for change in changes[:MOST_OF_A_CELL]:
        rates = f"{_rate(change.failing, change.judged)}, before {_rate(change.failing_before, change.judged_before)}"
        known = f"; known in {_some(change.known_in)}" if change.known_in else ""
        repeat = f"tidemark replay {stores[0] if change.failing else stores[1]}/{change.first.run}"
        yield f"    {change.short}  {change.name}: {rates}{known}   {repeat}"
    if len(changes) > MOST_OF_A_CELL:
        yield f"    and {len(changes) - MOST_OF_A_CELL} more signatures"


def _rate(failing: int, judged: int) -> str:
    return f"{failing:,} of {judged:,} runs" if judged else "not run"


def _shift(shift: Shift) -> str:
    low, high = shift.times
    unit = UNITS[shift.figure]
    return (
        f"  {shift.pace}: {FIGURES[shift.figure]} in cell {shift.cell} ({shift.words}): {shift.now:.3g} {unit}, before "
        f"{shift.before:.3g} {unit}; {low:.2f} to {high:.2f} times what it was ({shift.valid:,} and {shift.valid_before:,} runs)"
    )


def _nobody_knows(compared: Comparison) -> Iterator[str]:
    if compared.only_here:
        yield f"  not in the baseline: cells {_some(compared.only_here)}"
    if compared.only_there:
        yield f"  only in the baseline: cells {_some(compared.only_there)}"
    if compared.too_few:
        yield f"  too few runs to compare figures, fewer than {ENOUGH} valid ones on either side: cells {_some(compared.too_few)}"


def _some(cells: Sequence[str]) -> str:
    more = f" and {len(cells) - MOST_CELLS} more" if len(cells) > MOST_CELLS else ""
    return f"{', '.join(cells[:MOST_CELLS])}{more}"


# -- for programs -------------------------------------------------------------------------------------------------------


def as_data(found: Analysis) -> dict[str, Any]:
    """What `--json` prints: one object."""
    record, store = found.record, found.scope.shown
    compared = found.comparison
    return {
        "store": _shown(found),
        "runs": record.runs,
        "operations": found.operations,
        "counts": dict(record.counts),
        "exit_code": int(found.exit_code),
        "engine": record.engine,
        "seconds": record.seconds,
        "tables": found.place or None,
        "notes": list(record.notes),
        "failing": [
            {"run": f"{store}/{run}", "seed": seed, "replay": f"tidemark replay {store}/{run}"} for run, seed in found.broken
        ],
        "quarantined": [{"run": f"{store}/{run}", "reason": why} for run, why in found.quarantined],
        "signatures": found.signatures.to_pylist(),
        "comparison": None if compared is None else msgspec.to_builtins(compared),
    }
