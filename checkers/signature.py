"""checkers/signature.py: what a failure is called, so that the same failure of another run has the same name (CHECKERS 7.5).

In     an anomaly and its first witness
Out    `s1:lost_write:committed:C5:suffix:final:A≠F,e+,clean`, or `i1:clean_election:LeaderElected` of a broken invariant and what
       had just happened; eight hex digits as its short name
Keeps  nothing of the run enters: no name, number, offset, time or count; faults and config are attributes to group by. A change
       of this grammar changes the prefix
"""

from __future__ import annotations

import hashlib
from typing import Final

from model.verdict import Anomaly

_INVARIANT: Final = "invariant "


def signature(anomaly: Anomaly) -> str:
    """Of the first witness."""
    shape = anomaly.witnesses[0].shape if anomaly.witnesses else ""
    if (anomaly.rule or "").startswith(_INVARIANT):
        return f"i1:{anomaly.name}:{shape}"
    words = anomaly.name, anomaly.level, anomaly.rule or "-", anomaly.loss_class or "-", anomaly.evidence or "-", shape
    return "s1:" + ":".join(words)


def rule_of_invariant(number: int) -> str:
    """What a broken invariant has instead of a rule of the promises."""
    return f"{_INVARIANT}{number}"


def with_election(shape: str, kind: str | None) -> str:
    """The kind of the last election in the loss window, behind the operations."""
    return shape if kind is None else f"{shape},{kind}"


def short_name(signature: str) -> str:
    return hashlib.sha256(signature.encode()).hexdigest()[:8]
