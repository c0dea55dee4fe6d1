"""model/outcome.py: the one place where facts become ok, fail or info (CHECKERS section 2).

In   the kind of operation, and the fact of every attempt that was made for it
Out  the outcome and, unless it is ok, the error that goes into the row
Why  the default is info: a wrong `fail` raises false alarms, a needless `info` only weakens the check.
     So `fail` needs an entry in a set below, and reads, which change nothing, are never info.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from model.operation import WRITES, Kind, Type

SUCCESS = "SUCCESS"
NOT_SENT = "NOT_SENT"
TIMED_OUT = "TIMED_OUT"
CONNECTION_LOST = "CONNECTION_LOST"
NO_ACK = "NO_ACK"
OPEN_AT_END = "OPEN_AT_END"
CAS_MISMATCH = "CAS_MISMATCH"
CORRUPT_ANSWER = "CORRUPT_ANSWER"
NO_OFFSET = "NO_OFFSET"  # a success that names no offset: written, but where, nobody can say

NEVER_HAPPENED = frozenset({NOT_SENT, CAS_MISMATCH})
"""Facts that rule out any effect, whoever reports them. CAS_MISMATCH: the log was replayed up to the write's own offset."""

REFUSED_BEFORE_APPEND = frozenset(
    {
        "NOT_ENOUGH_REPLICAS",
        "INVALID_REQUIRED_ACKS",
        "MESSAGE_TOO_LARGE",
        "RECORD_LIST_TOO_LARGE",
        "INVALID_RECORD",
        "CORRUPT_MESSAGE",
        "INVALID_TIMESTAMP",
        "OUT_OF_ORDER_SEQUENCE_NUMBER",
        "INVALID_PRODUCER_EPOCH",
    }
)
"""Errors that a broker gives only before it touches the log. All others may come from the waiting stage (PROTOCOL 6.4)."""


class Outcome(msgspec.Struct, frozen=True):
    """What goes into the columns `type` and `error`."""

    type: Type
    error: str | None = None


def outcome(
    kind: Kind, facts: Sequence[str], *, hidden_retries: bool = False, has_offset: bool = True, acks: int | None = None
) -> Outcome:
    """The outcome of one logical operation from the fact of each of its attempts, in order.

    `hidden_retries`: the client library may have resent behind our back, as librdkafka does unless its retries are 0.
    `has_offset`: the success named an offset.
    """
    if not facts:
        raise ValueError("an operation that was never attempted has no outcome")
    last = facts[-1]
    if kind not in WRITES:
        return Outcome("ok") if last == SUCCESS else Outcome("fail", last)
    if last == SUCCESS:
        return _of_success(has_offset, acks)
    # 2.2: one attempt whose fate is open keeps the whole operation open, whatever a later attempt was told.
    never = all(_never_happened(fact, hidden_retries) for fact in facts)
    return Outcome("fail" if never else "info", last)


def _of_success(has_offset: bool, acks: int | None) -> Outcome:
    if acks == 0:
        return Outcome("info", NO_ACK)
    return Outcome("ok") if has_offset else Outcome("info", NO_OFFSET)


def _never_happened(fact: str, hidden_retries: bool) -> bool:
    """Whether this fact of one attempt proves that it left nothing in any log, now or later."""
    if fact in NEVER_HAPPENED:
        return True
    refused = fact in REFUSED_BEFORE_APPEND or fact.endswith("_AUTHORIZATION_FAILED") or fact.startswith("UNSUPPORTED_")
    return refused and not hidden_retries


def retires_process(result: Outcome) -> bool:
    """2.4: a process whose operation ended `info` never acts again; acks=0 is the one exception."""
    return result.type == "info" and result.error != NO_ACK
