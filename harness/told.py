"""harness/told.py: what the terminal and `--json` say about runs (REPORTS, Terminal).

In     summaries, as they come
Out    a progress line on a terminal, plain lines elsewhere; at the end what was found and the command that repeats it
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import msgspec
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from checkers.rule_words import because
from checkers.signature import short_name
from harness import findings
from harness.execute import Summary
from model.identity import written_number
from model.verdict import exit_code_of_many

PLAIN_EVERY_S = 5.0
MOST_SHOWN = 3
MOST_SIGNATURES = 12
WORDS = {"valid": "valid", "unknown": "unknown", "invalid": "BROKEN", None: "no verdict"}


class Telling:
    """Follows a campaign. Everything goes to `console`, which is standard error where standard output belongs to JSON."""

    def __init__(self, console: Console, total: int) -> None:
        self.console, self.total = console, total
        self.summaries: list[Summary] = []
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[found]}"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal or total == 1,
        )
        self._bar = self._progress.add_task("runs", total=total, found="")
        self._last_line = self._began = time.monotonic()

    def __enter__(self) -> Telling:
        self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._progress.stop()

    def take(self, summary: Summary) -> None:
        self.summaries.append(summary)
        self._progress.update(self._bar, advance=1, found=self.counted())
        if not self.console.is_terminal and time.monotonic() - self._last_line > PLAIN_EVERY_S:
            self._last_line = time.monotonic()
            self.console.print(f"{len(self.summaries)} of {self.total} runs: {self.counted()}", highlight=False)

    def counted(self) -> str:
        """`7 valid, 2 BROKEN, 1 infrastructure`."""
        seen = Counter(s.status if s.status != "done" else WORDS[s.valid] for s in self.summaries)
        return ", ".join(f"{count} {word}" for word, count in sorted(seen.items()))

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began


def tell_one(console: Console, where: str, summary: Summary) -> None:
    """One run: the verdict first, then why, then how to see it again."""
    run = f"{where}/{written_number(summary.number)}"
    verdict = WORDS[summary.valid] if summary.status == "done" else summary.status.upper()
    lines = [f"{verdict}   run {run}, seed {summary.seed}: {summary.rows:,} operations, {summary.fired} faults fired"]
    lines += findings.lines(summary.findings)
    lines += [f"  not judged: {reason}" for reason in summary.reasons]
    lines += [f"  {summary.reason}"] if summary.reason else []
    lines += [f"  refused: {text}" for text in _folded(summary.refused)]
    lines += [f"  toothless: {text}" for text in summary.toothless]
    lines += [f"repeat:  tidemark replay {run}       look:  tidemark trace {run}"]
    console.print(escape("\n".join(lines)), highlight=False, soft_wrap=True)


def _folded(refused: Sequence[str]) -> list[str]:
    """What was refused for one reason, together: a swarm waits for many moments that never come."""
    seen = Counter(text.split(" within ")[0] for text in refused)
    return [f"{text}, {count} times" if count > 1 else text for text, count in seen.items()]


def tell_many(console: Console, where: str, telling: Telling, already: int) -> None:
    summaries = sorted(telling.summaries, key=lambda summary: summary.number)
    there = f", {already} of them there already" if already else ""
    head = f"{len(summaries)} of {telling.total} runs{there}, in {telling.seconds:.1f} s: {telling.counted()}"
    lines = [f"{head}   ({where})", *_signatures(summaries), *_allowed(summaries), *_doubts(summaries), *_faults(summaries)]
    console.print(escape("\n".join(lines)), highlight=False, soft_wrap=True)
    for summary in worth_a_look(summaries)[:MOST_SHOWN]:
        tell_one(console, where, summary)


def worth_a_look(summaries: Sequence[Summary]) -> list[Summary]:
    """Broken ones first, then those that the machine failed."""
    return [s for s in summaries if s.valid == "invalid"] + [s for s in summaries if s.status != "done"]


def _signatures(summaries: Sequence[Summary]) -> list[str]:
    """Runs that fail alike, together."""
    runs: dict[tuple[str, str], list[int]] = {}
    for summary in summaries:
        for found in dict.fromkeys((f.signature, f.name) for f in summary.findings if f.cell == "forbidden"):
            runs.setdefault(found, []).append(summary.number)
    ranked = sorted(runs.items(), key=lambda each: (-len(each[1]), each[0]))
    lines = [
        f"  {short_name(signature)}  {name}: {len(numbers)} runs, first {written_number(numbers[0])}   {signature}"
        for (signature, name), numbers in ranked[:MOST_SIGNATURES]
    ]
    more = len(ranked) - MOST_SIGNATURES
    return [*lines, f"  and {more} more ways to fail"] if more > 0 else lines


def _allowed(summaries: Sequence[Summary]) -> list[str]:
    """What the promises allow, and was seen: proof that such losses are noticed."""
    seen = Counter(key for s in summaries for key in {(f.rule, f.name) for f in s.findings if f.cell == "allowed"})
    return [
        f"  allowed, and seen in {count} runs: {name} by {because(rule, 'allowed')}"
        for (rule, name), count in sorted(seen.items())
    ]


def _doubts(summaries: Sequence[Summary]) -> list[str]:
    seen = Counter(reason for summary in summaries for reason in summary.reasons)
    return [f"  not judged in {count} runs: {reason}" for reason, count in sorted(seen.items())]


def _faults(summaries: Sequence[Summary]) -> list[str]:
    fired, toothless = sum(s.fired for s in summaries), Counter(t.split()[0] for s in summaries for t in s.toothless)
    said = ", ".join(f"{fault} {count}" for fault, count in toothless.most_common(8))
    return [f"  {fired} faults fired; toothless: {said or 'none'}"] if fired else []


def as_data(where: str, summaries: Sequence[Summary], total: int) -> dict[str, Any]:
    """What `--json` prints: one object."""
    ordered = sorted(summaries, key=lambda summary: summary.number)
    runs = [f"{where}/{written_number(summary.number)}" for summary in ordered]
    return {
        "campaign": where,
        "runs": total,
        "counts": dict(Counter(s.status if s.status != "done" else (s.valid or "none") for s in ordered)),
        "exit_code": int(exit_code_of_many(summary.exit_code for summary in ordered)),
        "failing": [
            {"run": run, "seed": summary.seed, "replay": f"tidemark replay {run}", **_why(summary)}
            for run, summary in zip(runs, ordered, strict=True)
            if summary in worth_a_look([summary])
        ],
        "summaries": [msgspec.to_builtins(summary) for summary in ordered],
    }


def _why(summary: Summary) -> dict[str, Any]:
    said = {"findings": msgspec.to_builtins(summary.findings), "witnesses": summary.witnesses}
    return {"status": summary.status, "valid": summary.valid, **said, "reason": summary.reason}
