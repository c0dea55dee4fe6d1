"""checkers/judge.py: the one verdict of a run.

In     what the run loop saw: crashed nodes, broken invariants, refused events, whether the cluster came back and was read
Out    a `Verdict`. A crashed node, a broken invariant and a cluster that did not come back are broken promises; all else is
       `unknown` until checkers look at histories
Keeps  a doubt never hides a failure, and what nobody looked at is never called valid (CHECKERS 7.1)
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from model.cluster import Violation
from model.verdict import Anomaly, CheckerResult, Valid, Verdict, Witness, merge

NO_CHECKERS = "no checker has looked at the history"
REFUSED = "an event could not fire"
NOT_CONVERGED = "the cluster did not come back in time, and could not be expected to"
NOT_READ = "the final read is incomplete"
MOST_WITNESSES = 3


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What the run loop saw."""

    crashed: Sequence[str] = ()
    violations: Sequence[Violation] = ()
    refused: bool = False
    """An event that somebody wrote down could not fire."""
    converged: bool = True
    excuse: str = ""
    read_to_the_end: bool = True


def judge(run_id: str, seen: Seen) -> Verdict:
    """What can be said of a run today."""
    results = crashes(seen.crashed), invariants(seen.violations), comes_back(seen)
    excused = not seen.converged and bool(seen.excuse)
    doubts = (NO_CHECKERS, REFUSED * seen.refused, NOT_CONVERGED * excused, NOT_READ * (not seen.read_to_the_end))
    reasons = tuple(doubt for doubt in doubts if doubt)
    doubt: tuple[Valid, ...] = ("unknown",) if reasons else ()
    return Verdict(
        run_id=run_id,
        valid=merge((*(result.valid for result in results), *doubt)),
        reasons=reasons,
        checkers=results,
        signatures=tuple(_signature(anomaly) for result in results for anomaly in result.anomalies),
    )


def crashes(crashed: Sequence[str]) -> CheckerResult:
    """CHECKERS 6.6 crash: a node process ended, and neither the schedule nor the protocol ended it."""
    witnesses = [Witness(text=text, ops=(), from_ns=0, to_ns=0) for text in crashed]
    return _result("crash", "crash", "6.6", witnesses)


def invariants(violations: Sequence[Violation]) -> CheckerResult:
    """What was seen inside the nodes: each invariant is an anomaly of its own."""
    anomalies: list[Anomaly] = []
    for name in dict.fromkeys(violation.name for violation in violations):
        mine = [violation for violation in violations if violation.name == name]
        witnesses = [Witness(text=_told(violation), ops=(), from_ns=violation.at_ns, to_ns=violation.at_ns) for violation in mine]
        anomalies += _result("invariants", name, str(mine[0].number), witnesses).anomalies
    return CheckerResult(name="invariants", version=1, valid="invalid" if anomalies else "valid", anomalies=tuple(anomalies))


def comes_back(seen: Seen) -> CheckerResult:
    """CHECKERS 6.8 V1: within the recovery bound after the last heal every partition is led and all its replicas are in sync."""
    if seen.converged or seen.excuse or seen.violations or seen.crashed:
        return _result("liveness", "stuck", "V1", [])
    text = "all faults have healed and every node runs, but not every partition came back in time"
    return _result("liveness", "stuck", "V1", [Witness(text=text, ops=(), from_ns=0, to_ns=0)])


def _told(violation: Violation) -> str:
    """What it is, what everybody believed, and how it came to that."""
    name, seconds = violation.name.replace("_", " "), violation.at_ns / 10**9
    head = f"invariant {violation.number}, {name}, at {seconds:.6f} s: {violation.text}"
    story = [f"    {at_ns / 10**9:11.6f}  {line}" for at_ns, line in violation.story]
    return "\n".join([head, *(f"    {line}" for line in violation.beliefs), *story])


def _result(checker: str, anomaly: str, rule: str, witnesses: Sequence[Witness]) -> CheckerResult:
    if not witnesses:
        return CheckerResult(name=checker, version=1, valid="valid")
    shown = tuple(witnesses[:MOST_WITNESSES])
    found = Anomaly(name=anomaly, level="committed", count=len(witnesses), rule=rule, cell="forbidden", witnesses=shown)
    return CheckerResult(name=checker, version=1, valid="invalid", anomalies=(found,))


def _signature(anomaly: Anomaly) -> str:
    return f"s1:{anomaly.name}:{anomaly.level}:{anomaly.rule}:-:-:"
