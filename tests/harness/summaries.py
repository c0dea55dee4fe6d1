"""tests/harness/summaries.py: made-up summaries of runs, for whoever counts and tells them."""

from __future__ import annotations

from typing import Any

from checkers.cell_state import Promise, PromiseSeen
from harness.execute import Summary
from harness.findings import Finding
from model.verdict import Promised, Valid


def a_summary(number: int, valid: Valid | None = "valid", **more: Any) -> Summary:
    return Summary(number=number, seed=1000 + number, status=more.pop("status", "done"), valid=valid, **more)


def broken(number: int, name: str = "lost_write", rule: str = "C3") -> Summary:
    """With the loss that broke it, among its findings and its promises."""
    promises = (PromiseSeen(Promise(name, "committed", rule, "forbidden"), 1),)
    return a_summary(number, "invalid", findings=(a_finding(name, rule, "forbidden"),), promises=promises)


def a_finding(name: str, rule: str, cell: Promised) -> Finding:
    signature = f"s1:{name}:committed:{rule}:-:-:A"
    return Finding(
        name=name, where="t/0", cell=cell, rule=rule, level="committed", count=1, witness=f"a {name}", signature=signature
    )


def not_executed(number: int, reason: str = "the worker died") -> Summary:
    return a_summary(number, None, status="infrastructure", reason=reason)
