"""A verdict stays below 64 KB whatever the history, and loses nothing that decides (CHECKERS 7.3)."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.bounded import MOST_BYTES, MOST_WITNESSES, bounded
from checkers.found import Checked
from checkers.judge import judge
from model.plan import Topic
from model.verdict import Anomaly, Cell, CheckerResult, Scope, Verdict, Witness, to_json
from tests.checkers.facts import checked, fact, looks, lost, nothing_wrong, run_of


def judged(*several: Checked, partitions: int = 1) -> Verdict:
    run = run_of()
    run = msgspec.structs.replace(run, plan=msgspec.structs.replace(run.plan, topics={"t": Topic(partitions=partitions)}))
    return judge(run, look=looks(*several), live=nothing_wrong)


def witnesses(verdict: Verdict) -> list[Witness]:
    return [witness for result in verdict.checkers for anomaly in result.anomalies for witness in anomaly.witnesses]


def test_a_hundred_thousand_instances_are_three_witnesses_and_a_count() -> None:
    """7.3"""
    verdict = judged(checked(lost(count=100_000)))
    anomaly = verdict.checkers[-2].anomalies[0]
    assert (anomaly.count, len(anomaly.witnesses), verdict.valid) == (100_000, 3, "invalid")
    assert len(to_json(verdict)) < 4_000


def test_a_run_shows_24_witnesses_and_the_first_of_each_before_anybodys_second() -> None:
    """7.3: the forbidden before the allowed."""
    several = [checked(fact("phantom", at=("t", i), count=3), at=("t", i)) for i in range(20)]
    noise = checked(fact("duplicate", resent=True, count=3, to_ns=5), name="noise")
    verdict = judged(noise, *several, partitions=20)
    assert len(witnesses(verdict)) == MOST_WITNESSES
    shown = [len(result.anomalies[0].witnesses) for result in verdict.checkers if result.anomalies]
    assert shown == [0] + [2] * 4 + [1] * 16


def test_partitions_beyond_32_are_summarised_and_the_one_that_failed_is_not() -> None:
    """7.3: what is left out is together in one result, with the sum of its counts."""
    several = [checked(at=("t", i), counts={"records_read": 2}) for i in range(1_000)]
    several[700] = checked(fact("phantom", at=("t", 700)), at=("t", 700), counts={"records_read": 2})
    several[800] = checked(fact("phantom", at=("t", 800)), at=("t", 800), undecided="no time")
    verdict = judged(*several, partitions=1_000)
    results = [result for result in verdict.checkers if result.name == "log"]
    scopes = {result.scope.partition for result in results if result.scope is not None}
    assert (len(scopes), {700, 800} <= scopes) == (32, True)
    (rest,) = (result for result in results if result.scope is None)
    assert (rest.valid, rest.counts["records_read"], rest.reason) == (
        "valid",
        968 * 2,
        "968 partitions that are not listed, together",
    )
    assert len(to_json(verdict)) < MOST_BYTES


def test_what_failed_in_partitions_that_are_not_listed_is_still_invalid_and_counted() -> None:
    """7.3: anomalies and cells are added up."""
    several = [checked(fact("phantom", at=("t", i), count=2), at=("t", i)) for i in range(500)]
    verdict = judged(*several, partitions=500)
    assert verdict.valid == "invalid"
    assert sum(anomaly.count for result in verdict.checkers for anomaly in result.anomalies) == 1_000
    assert sum(cell.seen for cell in verdict.cells if cell.anomaly == "phantom") == 1_000
    assert [cell.partition for cell in verdict.cells].count(None) == 1
    assert len(to_json(verdict)) < MOST_BYTES


NAMES = ("a", "lost_write", "x" * 200, "\x00" * 100)
CELLS: tuple[Any, ...] = ("forbidden", "allowed", "not judged")
VALID: tuple[Any, ...] = ("valid", "unknown", "invalid")
TEXTS = ("short", "long " * 2_000, "\x01" * 3_000, "≠" * 500)


def verdict_drawn(size: int, kinds: int, counts: int, chance: Random) -> Verdict:
    """Anything that a verdict can be, and more of it than any run would give."""

    def anomaly(i: int) -> Anomaly:
        shape = chance.choice(("A≠F", "A" * 300))
        witness = Witness(text=chance.choice(TEXTS), ops=tuple(range(8)), from_ns=0, to_ns=2**62, shape=shape)
        cell = chance.choice(CELLS)
        name, rule = chance.choice(NAMES), f"rule {i}"
        return Anomaly(name=name, level="committed", count=2**62, rule=rule, cell=cell, witnesses=(witness,) * 3)

    def result(i: int) -> CheckerResult:
        return CheckerResult(
            name=f"{chance.choice(NAMES)}{chance.randrange(50)}",
            version=1,
            scope=Scope(topic=chance.choice(NAMES), partition=i // 7) if chance.random() < 0.7 else None,
            valid=chance.choice(VALID),
            anomalies=tuple(map(anomaly, range(kinds if i % 10 == 0 else 0))),
            counts={f"count {j}": 2**60 for j in range(counts)},
            reason=chance.choice((None, *TEXTS)),
        )

    def cell(i: int) -> Cell:
        name, says = f"a{i % 90}", chance.choice(CELLS)
        return Cell(topic=chance.choice(NAMES), partition=i, anomaly=name, level="local", rule="C1", promised=says, seen=i)

    return Verdict(
        run_id="r/1",
        valid=chance.choice(VALID),
        reasons=tuple(f"{i} {chance.choice(TEXTS)}" for i in range(size)),
        checkers=tuple(map(result, range(size))),
        cells=tuple(map(cell, range(size))),
        signatures=tuple(f"s1:{i}:{'x' * 500}" for i in range(size)),
    )


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 300), st.integers(0, 40), st.integers(0, 40), st.randoms(use_true_random=False))
def test_no_verdict_is_too_large(size: int, kinds: int, counts: int, chance: Random) -> None:
    """7.3: whatever it says; and whether it is valid never changes."""
    verdict = verdict_drawn(size, kinds, counts, Random(chance.random()))
    smaller = bounded(verdict)
    assert len(to_json(smaller)) < MOST_BYTES
    assert smaller.valid == verdict.valid
    assert len(witnesses(smaller)) <= MOST_WITNESSES


def test_a_small_verdict_is_left_as_it_is() -> None:
    """7.3: nothing is cut that needs no cutting."""
    verdict = judged(checked(fact("phantom")))
    assert bounded(verdict) == verdict
