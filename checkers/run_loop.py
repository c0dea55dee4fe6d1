"""checkers/run_loop.py: what the run loop saw, as results like those of any checker (CHECKERS 6.6, 6.8, 7.2).

In     `Seen`: crashed nodes, broken invariants, whether the cluster came back
Out    a `CheckerResult` each; of the invariants one for every one that was broken
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from checkers.anomalies import MOST_WITNESSES
from checkers.signature import rule_of_invariant
from model.cluster import Violation
from model.seen import Seen
from model.verdict import Anomaly, CheckerResult, Promised, Witness


def crashes(seen: Seen, system: str) -> CheckerResult:
    """6.6 A node process ended, and neither the schedule nor the protocol ended it. Another's system may have its own reasons."""
    witnesses = [Witness(text=text, ops=(), from_ns=0, to_ns=0) for text in seen.crashed]
    return _result("crash", "crash", "6.6", witnesses, "forbidden" if system == "isr" else "not judged")


def invariants(violations: Sequence[Violation]) -> Iterator[CheckerResult]:
    """What was seen inside the nodes."""
    if not violations:
        yield _result("invariants", "", "", [])
    for name, mine in _by_name(violations).items():
        yield _result(f"invariant:{name}", name, rule_of_invariant(mine[0].number), [_witness(each) for each in mine])


def _witness(violation: Violation) -> Witness:
    """Its shape is what had just happened."""
    at_ns = violation.at_ns
    return Witness(text=_told(violation), ops=(), from_ns=at_ns, to_ns=at_ns, shape=violation.after or "-")


def comes_back(seen: Seen) -> CheckerResult:
    """6.8 V1: within the recovery bound after the last heal every partition is led and all its replicas are in sync."""
    if seen.converged or seen.excuse or seen.violations or seen.crashed:
        return _result("convergence", "stuck", "V1", [])
    text = "all faults have healed and every node runs, but not every partition came back in time"
    return _result("convergence", "stuck", "V1", [Witness(text=text, ops=(), from_ns=0, to_ns=0)])


def _by_name(violations: Sequence[Violation]) -> dict[str, list[Violation]]:
    found: dict[str, list[Violation]] = {}
    for violation in violations:
        found.setdefault(violation.name, []).append(violation)
    return found


def _told(violation: Violation) -> str:
    """What it is, what everybody believed, and how it came to that."""
    name, seconds = violation.name.replace("_", " "), violation.at_ns / 10**9
    head = f"invariant {violation.number}, {name}, at {seconds:.6f} s: {violation.text}"
    story = [f"    {at_ns / 10**9:11.6f}  {line}" for at_ns, line in violation.story]
    return "\n".join([head, *(f"    {line}" for line in violation.beliefs), *story])


def _result(checker: str, anomaly: str, rule: str, witnesses: Sequence[Witness], cell: Promised = "forbidden") -> CheckerResult:
    if not witnesses:
        return CheckerResult(name=checker, version=1, valid="valid")
    shown = tuple(witnesses[:MOST_WITNESSES])
    found = Anomaly(name=anomaly, level="committed", count=len(witnesses), rule=rule, cell=cell, witnesses=shown)
    return CheckerResult(name=checker, version=1, valid="invalid" if cell == "forbidden" else "valid", anomalies=(found,))
