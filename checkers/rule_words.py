"""checkers/rule_words.py: why something was promised, in half a sentence per rule (CHECKERS 6.3 to 6.8).

In     the rule of an anomaly or of a cell, as the promises decided it
Out    what a person reads behind "forbidden" or "allowed"; nothing for a rule that nobody has put into words
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from model.verdict import Promised

BEYOND: Final = "+bound"

_BECAUSE: Final[Mapping[str, str]] = {
    "Q1": "a majority of the controllers' logs was wiped, or one has rotted: what was committed may be forgotten",
    "C1": "stored bytes of a replica in scope have changed, and nothing that recovery looks at would tell",
    "C2": "an unclean election was permitted, and held",
    "C3": "no replica in scope lost a record",
    "C4": "min.insync.replicas changed, which empties the ELR, and the last known leader was elected",
    "C5": "fewer replicas were damaged than min.insync.replicas tolerates",
    "C6": "every leader came from ISR or ELR, whose members are complete",
    "C7": "as many replicas were damaged as it takes to commit, and the last known leader was elected",
    "C8": "no replica that lost records was the whole ISR",
    "C9": "a replica that lost records may have been the whole ISR: the last replica standing",
    "W0": "what was promised of acks=all was promised no more, so neither was this",
    "W1": "no later leader was elected in between: a leader that stays loses nothing",
    "W2": "followers cut only the end of a log, and only what a new leader does not have",
    "W3": "with acks=1 any change of leader may lose what no follower has yet",
    "V1": "a healed cluster accepts acks=all, and can be read to its end, within the recovery bound",
    "V2": "without any fault a partition accepts appends",
    "V3": "those whom the fault spares are enough to go on",
    "V4": "an operation ends with its client's timeout",
    "V5": "an acknowledged write can be read within the recovery bound after the heal",
    "6.6": "whatever the config and the faults",
    "3.8": "answers of different leader epochs are not comparable",
    "1.6": "rows of this history may be missing",
    "6.1": "the plan does not name this partition",
    "strict": "of a history from elsewhere nothing is excused",
}


_WHY_ALLOWED: Final[Mapping[str, str]] = {"6.6": "what was sent twice, by its producer or by the network, may be there twice"}
"""Where one rule forbids and allows."""


def because(rule: str | None, cell: Promised | None = None) -> str:
    """`C3: no replica in scope lost a record`."""
    if rule is None:
        return ""
    why = _BECAUSE.get(rule.removesuffix(BEYOND))
    why = _WHY_ALLOWED.get(rule, why) if cell == "allowed" else why
    beyond = "; yet this lies beyond what that may cost" if rule.endswith(BEYOND) else ""
    return rule if why is None else f"{rule}: {why}{beyond}"
