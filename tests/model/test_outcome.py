"""Outcomes: the table of CHECKERS section 2, row by row."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.operation import KINDS, WRITES
from model.outcome import Outcome, outcome, retires_process

DEFINITE = [
    "NOT_SENT",
    "NOT_ENOUGH_REPLICAS",
    "INVALID_REQUIRED_ACKS",
    "MESSAGE_TOO_LARGE",
    "RECORD_LIST_TOO_LARGE",
    "INVALID_RECORD",
    "CORRUPT_MESSAGE",
    "INVALID_TIMESTAMP",
    "OUT_OF_ORDER_SEQUENCE_NUMBER",
    "INVALID_PRODUCER_EPOCH",
    "TOPIC_AUTHORIZATION_FAILED",
    "UNSUPPORTED_VERSION",
]
OPEN = [
    "NOT_LEADER_OR_FOLLOWER",
    "REQUEST_TIMED_OUT",
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
    "KAFKA_STORAGE_ERROR",
    "UNKNOWN_TOPIC_OR_PARTITION",
    "UNKNOWN_TOPIC_ID",
    "DUPLICATE_SEQUENCE_NUMBER",
    "TIMED_OUT",
    "CONNECTION_LOST",
    "CORRUPT_ANSWER",
    "_MSG_TIMED_OUT",
    "_TRANSPORT",
    "_PURGE_QUEUE",
    "_FATAL",
    "SOME_ERROR_OF_2031",
]
facts = st.sampled_from([*DEFINITE, *OPEN])


@pytest.mark.parametrize("fact", DEFINITE)
def test_a_refusal_before_the_append_is_a_failure(fact: str) -> None:
    """Raw client, or librdkafka that does not retry: nothing was written, and nothing will be."""
    assert outcome("append", [fact]) == Outcome("fail", fact)


@pytest.mark.parametrize("fact", [fact for fact in DEFINITE if fact != "NOT_SENT"])
def test_behind_hidden_retries_a_refusal_proves_nothing(fact: str) -> None:
    """librdkafka may have resent: the first copy may be in the log."""
    assert outcome("append", [fact], hidden_retries=True) == Outcome("info", fact)
    assert outcome("append", ["NOT_SENT"], hidden_retries=True).type == "fail"


@pytest.mark.parametrize("fact", OPEN)
def test_everything_else_is_open(fact: str) -> None:
    """The default is info: also for errors that nobody has heard of yet."""
    assert outcome("append", [fact]) == Outcome("info", fact)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in WRITES])
@pytest.mark.parametrize("fact", [*DEFINITE, *OPEN, "OFFSET_OUT_OF_RANGE", "FENCED_LEADER_EPOCH"])
def test_reads_are_never_open(kind: str, fact: str) -> None:
    """They change nothing (2.3); the error is kept."""
    assert outcome(kind, [fact]) == Outcome("fail", fact)  # type: ignore[arg-type]


def test_success() -> None:
    """With an offset it happened; without one, or with acks=0, nobody can say where or whether."""
    assert outcome("append", ["SUCCESS"]) == Outcome("ok")
    assert outcome("append", ["SUCCESS"], has_offset=False).type == "info"
    assert outcome("append", ["SUCCESS"], acks=0) == Outcome("info", "NO_ACK")
    assert outcome("read", ["SUCCESS"]) == Outcome("ok")


def test_one_open_attempt_keeps_the_operation_open() -> None:
    """2.2: a timeout followed by NOT_ENOUGH_REPLICAS is info, for the first copy may be in the log."""
    assert outcome("append", ["TIMED_OUT", "NOT_ENOUGH_REPLICAS"]) == Outcome("info", "NOT_ENOUGH_REPLICAS")
    assert outcome("append", ["NOT_SENT", "NOT_ENOUGH_REPLICAS"]) == Outcome("fail", "NOT_ENOUGH_REPLICAS")
    assert outcome("append", ["TIMED_OUT", "SUCCESS"]) == Outcome("ok")


@given(st.lists(facts, min_size=1, max_size=6))
def test_fail_needs_every_attempt_to_have_failed_for_certain(attempts: list[str]) -> None:
    """A wrong `fail` would be a false alarm; so one open attempt is enough for info, in any position."""
    assert (outcome("append", attempts).type == "fail") == all(fact in DEFINITE for fact in attempts)


def test_what_was_never_tried_has_no_outcome() -> None:
    """The recorder must not invent one."""
    with pytest.raises(ValueError, match="never attempted"):
        outcome("append", [])


def test_a_process_retires_after_info_but_not_after_acks_0() -> None:
    """2.4."""
    assert retires_process(Outcome("info", "TIMED_OUT"))
    assert not retires_process(Outcome("info", "NO_ACK"))
    assert not retires_process(Outcome("fail", "NOT_SENT"))
    assert not retires_process(Outcome("ok"))
