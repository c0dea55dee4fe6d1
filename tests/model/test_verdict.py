"""Verdicts: the lattice, the exit codes, and JSON that loses nothing."""

from __future__ import annotations

from itertools import permutations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.refusal import ExitCode
from model.verdict import (
    Anomaly,
    Cell,
    CheckerResult,
    Scope,
    Verdict,
    Witness,
    exit_code,
    exit_code_of_many,
    from_json,
    merge,
    to_json,
)
from tests.strategies import free_text

verdict_words = st.sampled_from(["valid", "unknown", "invalid"])
numbers = st.integers(0, 2**62)
witnesses = st.builds(
    Witness,
    text=free_text,
    ops=st.lists(st.integers(0, 2**31 - 1), max_size=8).map(tuple),
    offset=st.none() | numbers,
    value=st.none() | numbers,
    from_ns=numbers,
    to_ns=numbers,
    faults=st.lists(st.integers(0, 99), max_size=3).map(tuple),
    shape=free_text,
)
anomalies = st.builds(
    Anomaly,
    name=free_text,
    level=st.sampled_from(["committed", "local"]),
    count=numbers,
    loss_class=st.none() | st.sampled_from(["suffix", "middle"]),
    evidence=st.none() | free_text,
    rule=st.none() | free_text,
    cell=st.none() | st.sampled_from(["forbidden", "allowed", "not judged"]),
    witnesses=st.lists(witnesses, max_size=3).map(tuple),
)
results = st.builds(
    CheckerResult,
    name=free_text,
    version=st.integers(0, 9),
    scope=st.none() | st.builds(Scope, topic=free_text, partition=st.none() | st.integers(0, 9)),
    valid=verdict_words,
    mode=st.lists(free_text, max_size=3).map(tuple),
    anomalies=st.lists(anomalies, max_size=2).map(tuple),
    counts=st.dictionaries(free_text, numbers, max_size=3),
    seconds=st.floats(0, 1e6),
    reason=st.none() | free_text,
)
cells = st.builds(
    Cell,
    topic=free_text,
    partition=st.integers(0, 9),
    anomaly=free_text,
    level=st.sampled_from(["committed", "local"]),
    rule=free_text,
    promised=st.sampled_from(["forbidden", "allowed", "not judged"]),
    seen=numbers,
)
verdicts = st.builds(
    Verdict,
    run_id=free_text,
    valid=verdict_words,
    reasons=st.lists(free_text, max_size=2).map(tuple),
    checkers=st.lists(results, max_size=3).map(tuple),
    cells=st.lists(cells, max_size=3).map(tuple),
    signatures=st.lists(free_text, max_size=2).map(tuple),
    stats=st.dictionaries(free_text, st.floats(0, 1e9), max_size=3),
)


@given(verdicts)
def test_a_verdict_is_the_same_after_json(verdict: Verdict) -> None:
    """Every field of it."""
    assert from_json(to_json(verdict)) == verdict


def test_the_loss_class_is_called_class() -> None:
    """CHECKERS 7.2 names the field `class`, which Python cannot."""
    anomaly = Anomaly(name="lost_write", level="committed", count=1, loss_class="suffix")
    assert msgspec.json.decode(msgspec.json.encode(anomaly))["class"] == "suffix"


@given(st.lists(verdict_words))
def test_merging_takes_the_greatest_in_any_order(words: list[str]) -> None:
    """invalid > unknown > valid; an order of checkers never matters."""
    expected = "invalid" if "invalid" in words else "unknown" if "unknown" in words or not words else "valid"
    assert merge(words) == expected  # type: ignore[arg-type]
    assert merge(reversed(words)) == expected  # type: ignore[call-overload]


def test_nothing_checked_is_unknown() -> None:
    """7.1: an empty input is not valid."""
    assert merge([]) == "unknown"


@pytest.mark.parametrize(
    ("status", "valid", "code"),
    [
        ("done", "valid", 0),
        ("done", "invalid", 1),
        ("done", "unknown", 2),
        ("done", None, 2),
        ("infrastructure", None, 4),
        ("infrastructure", "valid", 4),
        ("infrastructure", "invalid", 1),
        ("killed", None, 2),
        ("killed", "valid", 2),
        ("killed", "invalid", 1),
    ],
)
def test_the_exit_code_of_one_run(status: str, valid: str | None, code: int) -> None:
    """A broken promise that was seen stays broken, whatever else went wrong."""
    assert exit_code(status, valid) == code  # type: ignore[arg-type]


def test_the_exit_code_of_many_runs() -> None:
    """1 before 4 before 2 before 0, whatever the order."""
    for codes in permutations([ExitCode.VALID, ExitCode.BROKEN, ExitCode.UNKNOWN, ExitCode.INFRASTRUCTURE]):
        assert exit_code_of_many(codes) == 1
        assert exit_code_of_many(code for code in codes if code != 1) == 4
        assert exit_code_of_many(code for code in codes if code not in (1, 4)) == 2
    assert exit_code_of_many([ExitCode.VALID]) == 0
    assert exit_code_of_many([]) == 2
