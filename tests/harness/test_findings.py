"""What a verdict says at a terminal: forbidden first, each with its reason, its name as a failure, and one witness."""

from __future__ import annotations

import pytest

from checkers.judge import judge
from harness.findings import findings, lines
from harness.terminal import Terminal
from model.cluster import Violation
from model.seen import Seen
from model.verdict import Anomaly, CheckerResult, Promised, Scope, Verdict, Witness
from tests.checkers.facts import run_of


def anomaly(name: str, rule: str, cell: Promised, count: int = 1, shape: str = "A≠F") -> Anomaly:
    witness = Witness(text=f"{name} told.", ops=(1, 2), from_ns=0, to_ns=1, shape=shape)
    return Anomaly(name=name, level="committed", count=count, rule=rule, cell=cell, evidence="end", witnesses=(witness,))


def verdict(*anomalies: Anomaly) -> Verdict:
    scope = Scope(topic="t", partition=0)
    return Verdict(
        run_id="r/1",
        valid="invalid",
        checkers=(CheckerResult(name="c", version=1, scope=scope, valid="invalid", anomalies=anomalies),),
    )


LOST, MAY_BE_LOST = anomaly("lost_write", "C3", "forbidden", 3), anomaly("vanished_read", "C7", "allowed", 1_200)


def test_what_is_forbidden_comes_first_and_what_nobody_judges_is_left_out() -> None:
    found = findings(verdict(MAY_BE_LOST, anomaly("stale_read", "3.8", "not judged"), LOST))
    assert [each.name for each in found] == ["lost_write", "vanished_read"]
    head, witness, allowed = lines(found)
    assert head == "  lost_write in t/0, 3 times, forbidden by C3: no replica in scope lost a record   [4ce47341]"
    assert witness == "    lost_write told."
    assert allowed.startswith("  allowed, and seen: vanished_read in t/0, 1,200 times, by C7: as many replicas")


def test_a_broken_invariant_has_the_name_of_what_had_just_happened() -> None:
    """7.2"""
    broken = Violation(number=7, name="clean_election", text="n1 was elected", at_ns=5, after="LeaderElected")
    (found,) = (each for each in findings(judge(run_of(seen=Seen(violations=(broken,))))) if each.name == "clean_election")
    assert (found.signature, found.rule) == ("i1:clean_election:LeaderElected", "invariant 7")


def test_a_signature_reaches_the_terminal_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """A colon on each side of `end` is no picture of an arrow."""
    (found, *_) = findings(verdict(LOST))
    Terminal().print(found.signature, highlight=False, soft_wrap=True)
    assert capsys.readouterr().out == "s1:lost_write:committed:C3:-:end:A≠F\n"
