"""harness/findings.py: what a verdict says to a person at a terminal: what was seen, what was promised, one witness of each.

In     a verdict
Out    `Finding`: small enough to travel between processes; lines of text
Keeps  what was forbidden comes first, then what was allowed, which shows that such losses can be seen; what nobody judges is left
       to the verdict
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from checkers.rule_words import because
from checkers.signature import short_name, signature
from model.verdict import Anomaly, Promised, Scope, Verdict


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """An anomaly, and the first of its witnesses."""

    name: str
    where: str
    cell: Promised
    rule: str
    level: str
    count: int
    witness: str
    signature: str


def findings(verdict: Verdict) -> tuple[Finding, ...]:
    """Of one name and rule only one: level, class and evidence are told apart in the verdict."""
    found = [
        _finding(anomaly, checker.scope, anomaly.cell)
        for checker in verdict.checkers
        for anomaly in checker.anomalies
        if anomaly.cell in ("forbidden", "allowed")
    ]
    return tuple(sorted(found, key=lambda finding: finding.cell != "forbidden"))


def _finding(anomaly: Anomaly, scope: Scope | None, cell: Promised) -> Finding:
    return Finding(
        name=anomaly.name,
        where="" if scope is None or scope.partition is None else f"{scope.topic}/{scope.partition}",
        cell=cell,
        rule=anomaly.rule or "",
        level=anomaly.level,
        count=anomaly.count,
        witness=anomaly.witnesses[0].text if anomaly.witnesses else "",
        signature=signature(anomaly),
    )


def lines(found: Sequence[Finding]) -> Iterator[str]:
    """`lost_write in t/0, 3 times, forbidden by C3: no replica in scope lost a record`, and the witness below it."""
    for each in found:
        if each.cell == "forbidden":
            where = f" in {each.where}" if each.where else ""
            times = f", {each.count:,} times" if each.count > 1 else ""
            yield f"  {each.name}{where}{times}, forbidden by {because(each.rule)}   [{short_name(each.signature)}]"
            yield f"    {each.witness}"
    for each in found:
        if each.cell == "allowed":
            yield f"  allowed, and seen: {each.name} in {each.where}, {each.count:,} times, by {because(each.rule, each.cell)}"
