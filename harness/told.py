"""harness/told.py: what the terminal and `--json` say about runs when they are over (REPORTS, Terminal).

In     a summary, or what is known of many so far (harness/so_far.py)
Out    what was found, and the command that repeats it
Not    the line about a campaign that goes on (harness/progress.py), the cells of a matrix (harness/matrix_told.py)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from rich.console import Console
from rich.markup import escape

from checkers.rule_words import because
from checkers.signature import short_name
from harness import findings
from harness.execute import Summary
from harness.progress import WORDS, Telling, counted
from harness.so_far import SoFar, Way
from model.identity import written_number
from model.verdict import exit_code_of_many

MOST_SIGNATURES = 12


def tell_one(console: Console, where: str, summary: Summary) -> None:
    """One run: the verdict first, then why, then how to see it again."""
    run = f"{where}/{written_number(summary.number)}"
    verdict = WORDS[summary.run_class] if summary.status == "done" else summary.status.upper()
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


def tell_many(console: Console, where: str, telling: Telling, total: int) -> None:
    so_far = telling.so_far
    there = f", {telling.already} of them there already" if telling.already else ""
    head = f"{so_far.runs} of {total} runs{there}, in {telling.seconds:.1f} s: {counted(so_far)}   ({where})"
    tell_found(console, where, so_far, head)


def tell_found(console: Console, where: str, so_far: SoFar, head: str, *, faults_of: str = "") -> None:
    """Under a heading: what was found in all runs together, then the first few that are worth a look."""
    lines = [head, *_ways(so_far, where), *_allowed(so_far), *_doubts(so_far), *_faults(so_far, faults_of)]
    console.print(escape("\n".join(lines)), highlight=False, soft_wrap=True)
    for summary in so_far.worth_a_look:
        tell_one(console, where, summary)


def _ways(so_far: SoFar, where: str) -> Iterator[str]:
    """Runs that fail alike, together, with the command that shows the first of them again."""
    ways = so_far.ways_by_runs
    for way in ways[:MOST_SIGNATURES]:
        yield f"  {short_name(way.signature)}  {way.name}: {way.runs} runs   {way.signature}"
        yield f"            first: tidemark replay {where}/{written_number(way.first)}"
    if len(ways) > MOST_SIGNATURES:
        yield f"  and {len(ways) - MOST_SIGNATURES} more ways to fail"


def _allowed(so_far: SoFar) -> Iterator[str]:
    """What the promises allow, and was seen: proof that such losses are noticed."""
    for (rule, name), count in sorted(so_far.allowed.items()):
        yield f"  allowed, and seen in {count} runs: {name} by {because(rule, 'allowed')}"


def _doubts(so_far: SoFar) -> Iterator[str]:
    for reason, count in sorted(so_far.doubts.items()):
        yield f"  not judged in {count} runs: {reason}"


def _faults(so_far: SoFar, faults_of: str) -> Iterator[str]:
    if so_far.fired:
        said = ", ".join(f"{fault} {count}" for fault, count in so_far.toothless.most_common(8))
        yield f"  {so_far.fired} faults fired{faults_of}; toothless: {said or 'none'}"


# -- for programs -------------------------------------------------------------------------------------------------------


def as_data(where: str, summaries: Sequence[Summary], total: int) -> dict[str, Any]:
    """What `run --json` prints: one object, with every run."""
    ordered = sorted(summaries, key=lambda summary: summary.number)
    return {
        "campaign": where,
        "runs": total,
        "counts": dict(Counter(summary.run_class for summary in ordered)),
        "exit_code": int(exit_code_of_many(summary.exit_code for summary in ordered)),
        "failing": [_failing(where, each) for each in ordered if each.valid == "invalid" or each.status != "done"],
        "summaries": [msgspec.to_builtins(summary) for summary in ordered],
    }


def as_data_of_many(where: str, so_far: SoFar) -> dict[str, Any]:
    """What a campaign of any length says: counts, each way to fail with its first run, and the first few failing runs."""
    return {
        "campaign": where,
        "runs": so_far.runs,
        "counts": dict(so_far.classes),
        "signatures": [_as_data(where, way) for way in so_far.ways_by_runs],
        "allowed": [{"rule": rule, "anomaly": name, "runs": runs} for (rule, name), runs in sorted(so_far.allowed.items())],
        "failing": [_failing(where, each) for each in so_far.worth_a_look],
    }


def _as_data(where: str, way: Way) -> dict[str, Any]:
    run = f"{where}/{written_number(way.first)}"
    told = {"signature": way.signature, "short": short_name(way.signature), "anomaly": way.name, "runs": way.runs}
    return {**told, "first": run, "seed": way.seed, "replay": f"tidemark replay {run}"}


def _failing(where: str, summary: Summary) -> dict[str, Any]:
    run = f"{where}/{written_number(summary.number)}"
    said = {"findings": msgspec.to_builtins(summary.findings), "witnesses": summary.witnesses, "reason": summary.reason}
    status = {"status": summary.status, "valid": summary.valid}
    return {"run": run, "seed": summary.seed, "replay": f"tidemark replay {run}", **status, **said}
