"""The judge that tries all orders agrees with the worked examples, before it judges any other judge."""

from __future__ import annotations

import pytest

from checkers.mode import Mode
from tests.checkers.brute_force import is_linearizable, operations
from tests.checkers.notation import rows
from tests.checkers.worked_examples import FRESHNESS, PAIRS, Freshness, NearMiss, Violation


def has_an_order(texts: tuple[str, ...], mode: Mode) -> bool:
    """3.3: of every partition on its own."""
    return all(
        is_linearizable(operations(rows(text)), sparse=mode.density == "sparse", retry=mode.copies == "retry") for text in texts
    )


@pytest.mark.parametrize("example", [violation for violation, _ in PAIRS], ids=lambda example: example.id)
def test_a_violation_of_the_log_has_no_order(example: Violation) -> None:
    """Those of sessions, sequences, positions and level local have one: they need no total order."""
    assert has_an_order(example.texts, example.mode) is example.linearizable


@pytest.mark.parametrize("near_miss", [near_miss for _, near_miss in PAIRS], ids=lambda example: example.id)
def test_a_near_miss_has_an_order(near_miss: NearMiss) -> None:
    assert has_an_order(near_miss.texts, near_miss.mode)


@pytest.mark.parametrize("example", FRESHNESS, ids=lambda example: example.id)
def test_no_single_log_is_stale(example: Freshness) -> None:
    """What 3.8 does not judge between leaders is a contradiction all the same."""
    assert not is_linearizable(operations(rows(example.text)))


@pytest.mark.parametrize(
    ("text", "sparse", "retry", "expected"),
    [
        ("", False, False, True),
        ("A1? 0-", False, False, True),
        ("R3=. 0-1", False, False, True),  # a position beyond the end
        ("E2 0-1", False, False, False),
        ("E2 0-1", True, False, True),  # two records nobody sees
        ("E2 0-1; E1 2-3", True, False, False),
        ("A1? 0-; E3 1-2", False, True, True),  # three copies of one write
        ("A1? 3-; E1 1-2", False, True, False),  # not before it began
        ("A1! 0-1; E1 2-3", False, True, False),
        ("A1@2 2-3; E1 0-1; A2? 0-; E3 4-5", False, True, True),
        ("A1@0 0-1; R0=1,1 2-3; E1 4-5", False, True, False),
        ("A1@0 0-1; c:P=0:1 2-3; c:P=0:2 4-5", False, False, False),
        ("A1@0 0-1; A2@2 2-3; R0=0:1. 4-5", True, False, False),  # it must have seen 2
        ("A1@0 0-1; A2@2 2-3; R0=0:1 4-5", True, False, True),
        ("A1@0 0-1; E3 2-3; R0=0:1. 4-5", True, False, True),  # what nobody sees does not count as the end
        ("a1@5 0-1; E0 2-3", False, False, True),  # acks=1 proves nothing
        ("A1@- 0-1; A2@- 0-1; E2 2-3; R0=2,1. 4-5", False, False, True),
        ("A1@- 0-1; A2@- 2-3; E2 4-5; R0=2,1. 6-7", False, False, False),
    ],
)
def test_the_variants_of_the_log(text: str, sparse: bool, retry: bool, expected: bool) -> None:
    """CHECKERS 3.7"""
    assert is_linearizable(operations(rows(text) if text else []), sparse=sparse, retry=retry) is expected
