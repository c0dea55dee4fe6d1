"""A stored verdict beside the one that is given now."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from model.run_record import RunRecord
from model.verdict import Anomaly, CheckerResult, Scope, Verdict
from model.version import version
from spark_analysis.contradiction import contradiction

LOST = Anomaly(name="lost_write", level="committed", count=3, loss_class="suffix", evidence="final", rule="C5", cell="forbidden")
CHECKED = CheckerResult(name="durability", version=1, scope=Scope(topic="t", partition=0), valid="invalid", anomalies=(LOST,))
VERDICT = Verdict(run_id="n/00007", valid="invalid", checkers=(CHECKED,), signatures=("s1:lost",), stats={"seconds": 0.5})


def record(verdict: Verdict | None, made_by: str = "") -> RunRecord:
    made_by = made_by or version()
    return RunRecord(
        campaign="n", number=7, status="done", seed=1, tag=1, plan_digest="", rows=3, verdict=verdict, made_by=made_by
    )


def with_anomaly(**changes: Any) -> Verdict:
    anomaly = msgspec.structs.replace(LOST, **changes)
    return msgspec.structs.replace(VERDICT, checkers=(msgspec.structs.replace(CHECKED, anomalies=(anomaly,)),))


def test_the_same_verdict_is_no_contradiction_however_long_it_took() -> None:
    """Seconds are nobody's fault; other words for a doubt are no other verdict."""
    slower = msgspec.structs.replace(CHECKED, seconds=99.0, version=1)
    now = msgspec.structs.replace(VERDICT, checkers=(slower,), stats={"seconds": 99.0}, reasons=("worded otherwise",))
    assert contradiction(record(VERDICT), now) == ""


@pytest.mark.parametrize(
    ("stored", "words"),
    [
        (None, "it has no verdict"),
        (msgspec.structs.replace(VERDICT, valid="valid"), "it says valid, they say invalid: s1:lost"),
        (msgspec.structs.replace(VERDICT, valid="unknown"), "it says unknown, they say invalid: s1:lost"),
        (msgspec.structs.replace(VERDICT, signatures=()), "its signatures are none, theirs s1:lost"),
        (msgspec.structs.replace(VERDICT, signatures=("s1:gone",)), "its signatures are s1:gone, theirs s1:lost"),
        (msgspec.structs.replace(VERDICT, checkers=()), "it lacks lost_write in t/0, 3 times, forbidden by C5"),
        (with_anomaly(count=4), "it lacks lost_write in t/0, 3 times, forbidden by C5"),
        (with_anomaly(cell="allowed"), "it lacks lost_write in t/0, 3 times, forbidden by C5"),
        (with_anomaly(rule="C3"), "it lacks lost_write in t/0, 3 times, forbidden by C5"),
        (with_anomaly(loss_class="all"), "it lacks lost_write in t/0, 3 times, forbidden by C5"),
        (
            msgspec.structs.replace(VERDICT, checkers=(CHECKED, msgspec.structs.replace(CHECKED, name="b"))),
            "they do not find lost_write in t/0, 3 times, forbidden by C5",
        ),
    ],
)
def test_whatever_differs_is_said_in_one_sentence(stored: Verdict | None, words: str) -> None:
    """That names the file."""
    assert contradiction(record(stored), VERDICT) == f"n/00007: run.json: its verdict contradicts the checkers: {words}"


def test_a_verdict_of_another_tidemark_says_so() -> None:
    """It may be the checkers that have changed."""
    said = contradiction(record(None, "0.0.9"), VERDICT)
    assert said.endswith(f"it has no verdict (it was stored by Tidemark 0.0.9, this is {version()})")
