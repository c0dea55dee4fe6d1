"""Every rule says in words why (CHECKERS 6.3 to 6.8)."""

from __future__ import annotations

import pytest

from checkers.rule_words import because
from model.promise_level import PROMISES

LOCAL, LIVENESS, OTHERS = ("W0", "W1", "W2", "W3"), ("V1", "V2", "V3", "V4", "V5"), ("6.6", "3.8", "1.6", "6.1", "strict")


@pytest.mark.parametrize("rule", [*PROMISES, *LOCAL, *LIVENESS, *OTHERS])
def test_every_rule_has_words_of_its_own(rule: str) -> None:
    assert because(rule).startswith(f"{rule}: ")
    assert len({because(other).removeprefix(f"{other}: ") for other in (*PROMISES, *LOCAL)}) == len(PROMISES) + len(LOCAL)


def test_what_lies_beyond_a_bound_says_so() -> None:
    assert because("C7+bound") == f"{because('C7').replace('C7', 'C7+bound')}; yet this lies beyond what that may cost"


def test_one_rule_forbids_for_one_reason_and_allows_for_another() -> None:
    assert because("6.6", "forbidden") == "6.6: whatever the config and the faults"
    assert because("6.6", "allowed") == "6.6: what was sent twice, by its producer or by the network, may be there twice"
    assert because("C7", "allowed") == because("C7")


def test_an_invariant_is_named_and_nothing_is_nothing() -> None:
    assert because("invariant 7") == "invariant 7"
    assert because(None) == ""
