"""spark_analysis/contradiction.py: whether a stored verdict is what the checkers say now of the same history.

In     the verdict in run.json, and the one that has just been given
Out    one sentence, or nothing
Keeps  what a failure is made of is compared: valid or not, signatures, every anomaly with its count and its cell. Seconds are
       not, nor are reasons, which may be put in other words
"""

from __future__ import annotations

from collections import Counter

from model.run_record import FILE, RunRecord
from model.verdict import Verdict
from model.version import version

_Fact = tuple[str, ...]


def contradiction(record: RunRecord, now: Verdict) -> str:
    """Why this record cannot be believed; empty when it can."""
    stored = record.verdict
    found = "it has no verdict" if stored is None else _difference(stored, now)
    if not found:
        return ""
    of_another = f" (it was stored by Tidemark {record.made_by}, this is {version()})" if record.made_by != version() else ""
    return f"{record.run_id}: {FILE}: its verdict contradicts the checkers: {found}{of_another}"


def _difference(stored: Verdict, now: Verdict) -> str:
    if stored.valid != now.valid:
        return f"it says {stored.valid}, they say {now.valid}{_because(now)}"
    said, found = _facts(stored), _facts(now)
    if missing := found - said:
        return f"it lacks {_told(missing)}"
    if invented := said - found:
        return f"they do not find {_told(invented)}"
    if set(stored.signatures) != set(now.signatures):
        return f"its signatures are {_listed(stored.signatures)}, theirs {_listed(now.signatures)}"
    return ""


def _because(now: Verdict) -> str:
    why = now.signatures or now.reasons
    return f": {_listed(why)}" if why else ""


def _listed(texts: tuple[str, ...]) -> str:
    return ", ".join(texts) or "none"


def _facts(verdict: Verdict) -> Counter[_Fact]:
    facts: Counter[_Fact] = Counter()
    for checker in verdict.checkers:
        scope = checker.scope
        where = "the run" if scope is None else scope.topic if scope.partition is None else f"{scope.topic}/{scope.partition}"
        for a in checker.anomalies:
            kind = a.name, a.level, a.loss_class or "-", a.evidence or "-", a.rule or "-", a.cell or "-"
            facts[(where, str(a.count), *kind)] += 1
    return facts


def _told(facts: Counter[_Fact]) -> str:
    """`lost_write in t/0, 3 times, forbidden by C5`."""
    where, count, name, *_, rule, cell = min(facts)
    return f"{name} in {where}, {count} times, {cell} by {rule}"
