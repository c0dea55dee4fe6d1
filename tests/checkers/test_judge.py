"""The verdict of a run, from what its run loop saw."""

from __future__ import annotations

import pytest

from checkers.judge import NO_CHECKERS, NOT_CONVERGED, NOT_READ, REFUSED, Seen, judge
from model.cluster import Violation

LOST = Violation(
    number=1,
    name="leader_completeness",
    text="t/0: n2 leads without 7",
    at_ns=5,
    beliefs=("n1: leads", "n2: follows"),
    story=((4, "n1: dies"),),
)
ALSO = Violation(number=1, name="leader_completeness", text="t/1: n2 leads without 3", at_ns=9)
TWO = Violation(number=18, name="election_safety", text="n4 and n5 lead quorum epoch 3", at_ns=9)


def test_a_run_that_looks_well_from_inside_is_unknown_until_somebody_looks_at_its_history() -> None:
    """Never valid: nobody has checked what clients saw."""
    verdict = judge("r/1", Seen())
    assert (verdict.valid, verdict.reasons, verdict.signatures) == ("unknown", (NO_CHECKERS,), ())
    assert [checker.valid for checker in verdict.checkers] == ["valid", "valid", "valid"]


@pytest.mark.parametrize(
    ("seen", "signature"),
    [
        (Seen(crashed=("n1: ValueError: no",)), "s1:crash:committed:6.6:-:-:"),
        (Seen(violations=(LOST,)), "s1:leader_completeness:committed:1:-:-:"),
        (Seen(converged=False), "s1:stuck:committed:V1:-:-:"),
    ],
)
def test_a_crash_a_broken_invariant_and_a_cluster_that_stays_away_are_broken_promises(seen: Seen, signature: str) -> None:
    """CHECKERS 6.6, 6.8 V1: each with its signature."""
    verdict = judge("r/1", seen)
    assert (verdict.valid, verdict.signatures) == ("invalid", (signature,))


def test_a_doubt_does_not_hide_a_failure() -> None:
    """CHECKERS 7.1"""
    verdict = judge("r/1", Seen(violations=(LOST,), refused=True, read_to_the_end=False))
    assert verdict.valid == "invalid"
    assert verdict.reasons == (NO_CHECKERS, REFUSED, NOT_READ)


def test_a_cluster_that_cannot_be_expected_to_come_back_is_a_doubt() -> None:
    """CHECKERS 6.8 V1: a majority of voters wiped, or bytes that changed."""
    verdict = judge("r/1", Seen(converged=False, excuse="damage beyond what is promised (t/0: Q1)"))
    assert (verdict.valid, verdict.reasons) == ("unknown", (NO_CHECKERS, NOT_CONVERGED))


def test_a_run_that_a_violation_has_stopped_is_not_also_stuck() -> None:
    """It was not given the time to come back."""
    verdict = judge("r/1", Seen(violations=(LOST,), converged=False, read_to_the_end=False))
    assert verdict.signatures == ("s1:leader_completeness:committed:1:-:-:",)


def test_every_invariant_is_an_anomaly_of_its_own_and_tells_what_everybody_believed() -> None:
    """With its number, its time, and the story, a line each."""
    invariants = judge("r/1", Seen(violations=(LOST, ALSO, TWO))).checkers[1]
    assert [(found.name, found.count, found.rule) for found in invariants.anomalies] == [
        ("leader_completeness", 2, "1"),
        ("election_safety", 1, "18"),
    ]
    assert invariants.anomalies[0].witnesses[0].text.splitlines() == [
        "invariant 1, leader completeness, at 0.000000 s: t/0: n2 leads without 7",
        "    n1: leads",
        "    n2: follows",
        "       0.000000  n1: dies",
    ]
