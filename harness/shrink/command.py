"""harness/shrink/command.py: `tidemark shrink`, from words to exit code.

In     words that typer has taken apart
Out    1: a promise was broken, and here is the least that breaks it; 130 after Ctrl-C, with the best so far. What cannot be
       shrunk is refused: a run that broke no promise, that does not fail again, that is not simulated
"""

from __future__ import annotations

import json
import os
import time

import msgspec
from rich.markup import escape

from checkers.rule_words import because
from checkers.signature import short_name
from harness.campaign import find_run
from harness.shrink.known import Known
from harness.shrink.result import Found, Shrunk, keep
from harness.shrink.searching import searched
from harness.shrink.told import Telling
from harness.shrink.trial import tried
from harness.terminal import Terminal, put
from harness.worlds import written_out
from model.plan import Plan
from model.quantity import parse_duration, write_duration
from model.refusal import ExitCode, Refusal
from model.run_record import RunRecord


class FailsOtherwise(Refusal):
    """It was executed again, and something else happened than what is stored."""

    afterword = ""


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """How the search came to its end."""

    seconds: float
    budget: str
    finished: bool
    interrupted: bool


def shrink_run(path: str, *, signature: str, budget: str, jobs: int | None, as_json: bool) -> int:
    """Search, be sure, store, tell."""
    began_s, budget_s = time.monotonic(), _budget_s(budget)
    store, campaign, number = find_run(path)
    stored = store.open(campaign, number)
    wanted = _wanted(stored.record, path, signature)
    start = _again(written_out(stored.plan()), path, wanted)
    console = Terminal(stderr=as_json)
    with Telling(console, start, began_s, budget_s) as telling:
        rounds, interrupted = searched(
            start, wanted, jobs or os.cpu_count() or 1, deadline_s=began_s + budget_s, after_a_trial=telling.after_a_trial
        )
    found = Found(source=path, wanted=wanted, start=start, best=rounds.best, trials=rounds.trials)
    ended = Ended(seconds=time.monotonic() - began_s, budget=budget, finished=rounds.finished, interrupted=interrupted)
    shrunk = keep(store, found)
    console.print(escape("\n".join(_lines(found, shrunk, ended))), highlight=False, soft_wrap=True)
    code = ExitCode.INTERRUPTED if interrupted else ExitCode.BROKEN
    if as_json:
        put(json.dumps(_as_data(found, shrunk, ended, code)))
    return code


# -- what cannot be shrunk ----------------------------------------------------------------------------------------------------


def _budget_s(written: str) -> float:
    try:
        budget_ns = parse_duration(written)
    except ValueError as error:
        raise Refusal(str(error), where="--budget", allowed="a duration such as 30s, 10m") from None
    return budget_ns / 10**9


def _wanted(record: RunRecord, path: str, written: str) -> str:
    """The first signature of the verdict, or the one that was asked for, by its short name."""
    verdict = record.verdict
    if verdict is None:
        why = f": {record.reason}" if record.reason else ""
        raise Refusal(f"nobody judged this run, it is {record.status}{why}", where=path, allowed="a run that broke a promise")
    if not verdict.signatures:
        raise Refusal(f"this run broke no promise, it is {verdict.valid}", where=path, allowed="a run that broke a promise")
    known = {short_name(signature): signature for signature in verdict.signatures}
    if not written:
        return verdict.signatures[0]
    if written in known.values():
        return written
    if written not in known:
        raise Refusal(
            f"this run has no signature {written!r}",
            where=f"--signature {written}",
            allowed=", ".join(f"{short} ({signature})" for short, signature in known.items()),
        )
    return known[written]


def _again(plan: Plan, path: str, wanted: str) -> Known:
    """What the search starts from is what happens now, not what was stored."""
    if plan.cluster != "sim":
        problem = f"this run was made in the world {plan.cluster}, which never does the same thing twice"
        raise Refusal(problem, where=path, allowed="runs of the world sim")
    outcome = tried(plan)
    if wanted not in outcome.signatures:
        seen = ", ".join(outcome.signatures) or "no broken promise"
        problem = f"executed again, this run does not fail as it did: {wanted} is gone, there is {seen}"
        raise FailsOtherwise(problem, where=path, allowed="a run that repeats; was it stored by another version?")
    return Known(plan, outcome)


# -- what is said -------------------------------------------------------------------------------------------------------------


def _lines(found: Found, shrunk: Shrunk, ended: Ended) -> list[str]:
    finding = shrunk.finding
    head = f"SHRUNK   {_events(found.start)} to {_events(found.best)}, by {found.trials} trials in {ended.seconds:.0f} s"
    doubt = [] if ended.finished else [f"  {_why_not_finished(ended)}: it may get smaller"]
    name = f"  {finding.name}, forbidden by {because(finding.rule)}   [{short_name(found.wanted)}]"
    plan = [f"  {line}" for line in shrunk.text.splitlines() if not line.startswith("#")]
    return [
        head,
        *doubt,
        name,
        f"    {finding.witness.splitlines()[0] if finding.witness else ''}".rstrip(),
        *plan,
        f"plan:    {shrunk.plan}       as it was: {shrunk.original}",
        f"repeat:  tidemark replay {shrunk.run}       look:  tidemark trace {shrunk.run}",
    ]


def _events(known: Known) -> str:
    """`61 events in 30s`."""
    count = len(known.schedule)
    return f"{count} event{'' if count == 1 else 's'} in {write_duration(known.plan.for_ns)}"


def _why_not_finished(ended: Ended) -> str:
    return "stopped by Ctrl-C" if ended.interrupted else f"the budget of {ended.budget} is spent"


def _as_data(found: Found, shrunk: Shrunk, ended: Ended, code: ExitCode) -> dict[str, object]:
    return {
        "run": found.source,
        "shrunk": shrunk.run,
        "signature": found.wanted,
        "short": short_name(found.wanted),
        "events": {"before": len(found.start.schedule), "after": len(found.best.schedule)},
        "trials": found.trials,
        "seconds": round(ended.seconds, 1),
        "finished": ended.finished,
        "plan": shrunk.plan,
        "original": shrunk.original,
        "digest": shrunk.digest,
        "seed": found.best.plan.seed,
        "witness": shrunk.finding.witness,
        "replay": f"tidemark replay {shrunk.run}",
        "exit_code": int(code),
    }
