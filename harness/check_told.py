"""harness/check_told.py: what the terminal and `--json` say about a history from elsewhere.

In     how far reading has come; then the verdict and what was counted
Out    a progress line on a terminal, plain lines elsewhere; then the verdict first, its witnesses, the counts
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any

import msgspec
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from harness.progress import PLAIN_EVERY_S, WORDS
from model.operation import KINDS, TYPES
from model.refusal import ExitCode
from model.verdict import Anomaly, CheckerResult, Verdict

Counts = Mapping[str, Mapping[str, int]]


class Reading:
    """Follows a file while it is read. `total` None: nobody knows how long it is."""

    def __init__(self, console: Console, name: str, total: int | None) -> None:
        self._console, self._name = console, name
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[rows]:,} operations"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._bar = self._progress.add_task(name, total=total, rows=0)
        self._last_line = time.monotonic()

    def __enter__(self) -> Reading:
        self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._progress.stop()

    def at(self, done: int, rows: int) -> None:
        self._progress.update(self._bar, completed=done, rows=rows)
        if not self._console.is_terminal and time.monotonic() - self._last_line > PLAIN_EVERY_S:
            self._last_line = time.monotonic()
            self._console.print(f"reading {self._name}: {rows:,} operations", markup=False, highlight=False, soft_wrap=True)


def tell(console: Console, name: str, verdict: Verdict, counts: Counts) -> None:
    """The verdict first, then why, then what was looked at."""
    operations = sum(sum(types.values()) for types in counts.values())
    lines = [f"{WORDS[verdict.valid]}   {name}: {operations:,} operations"]
    lines += [line for result in verdict.checkers for anomaly in result.anomalies for line in _lines(result, anomaly)]
    lines += [f"  not judged: {reason}" for reason in verdict.reasons]
    lines += [f"  {line}" for line in _counted(counts)]
    console.print(escape("\n".join(lines)), highlight=False, soft_wrap=True)


def _lines(result: CheckerResult, anomaly: Anomaly) -> Iterator[str]:
    """What was seen, where and how often; then its witnesses, each with the operations that prove it."""
    allowed = "" if anomaly.cell in ("forbidden", None) else f", {anomaly.cell}"
    where = f" in {result.scope.topic}/{result.scope.partition}" if result.scope else ""
    times = "" if anomaly.count == 1 else f", {anomaly.count:,} times"
    yield f"  {anomaly.name}{where}{times}{allowed}"
    for witness in anomaly.witnesses:
        operations = ", ".join(map(str, witness.ops))
        yield f"    {witness.text} (operations {operations})" if operations else f"    {witness.text}"


def _counted(counts: Counts) -> Iterator[str]:
    for kind in sorted(counts, key=KINDS.index):
        said = ", ".join(f"{counts[kind][outcome]:,} {outcome}" for outcome in TYPES if outcome in counts[kind])
        yield f"{kind}: {said}"


def as_data(name: str, verdict: Verdict, counts: Counts, ending: ExitCode) -> dict[str, Any]:
    """What `--json` prints: one object."""
    return {
        "file": name,
        "valid": verdict.valid,
        "exit_code": int(ending),
        "reasons": list(verdict.reasons),
        "operations": {kind: dict(types) for kind, types in counts.items()},
        "verdict": msgspec.to_builtins(verdict),
    }
