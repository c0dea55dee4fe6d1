"""The worked examples of CHECKERS 8.2 and 8.3: each violation beside its near miss."""

from __future__ import annotations

import pyarrow as pa
import pytest

from checkers.judge import judge_strict
from checkers.mode import Mode
from model.verdict import Anomaly, Verdict
from tests.checkers.notation import table
from tests.checkers.worked_examples import DENSE, FENCED, FRESHNESS, PAIRS, Freshness, NearMiss, Violation


def looked_at(history: pa.Table, mode: Mode) -> tuple[Verdict, dict[str, Anomaly]]:
    """The verdict, and what was found, by name."""
    verdict = judge_strict("worked/1", history, mode)
    return verdict, {anomaly.name: anomaly for checker in verdict.checkers for anomaly in checker.anomalies}


def history_of(example: Violation | NearMiss) -> pa.Table:
    return table(*example.texts, attempts=1 if example.mode.copies == "forbid" else 2)


@pytest.mark.parametrize("example", [violation for violation, _ in PAIRS], ids=lambda example: example.id)
def test_a_violation_is_found_by_its_name_and_shown_by_its_operations(example: Violation) -> None:
    """Nothing else is found: one fact, one name."""
    verdict, found = looked_at(history_of(example), example.mode)
    assert verdict.valid == "invalid"
    assert {name: anomaly.level for name, anomaly in found.items()} == {
        name: "local" if name in example.local else "committed" for name in example.names
    }
    first = found[example.names[0]]
    shown = set(first.witnesses[0].ops)
    assert set(example.ops) <= shown <= {*example.ops, *example.beside}
    assert {name: getattr(first, name) for name in example.facts} == example.facts


@pytest.mark.parametrize("near_miss", [near_miss for _, near_miss in PAIRS], ids=lambda example: example.id)
def test_its_near_miss_is_valid_and_nothing_is_found(near_miss: NearMiss) -> None:
    verdict, found = looked_at(history_of(near_miss), near_miss.mode)
    assert (verdict.valid, found) == ("valid", {})


@pytest.mark.parametrize("example", [violation for violation, _ in PAIRS if violation.holes], ids=lambda example: example.id)
def test_holes_are_counted_and_not_enumerated(example: Violation) -> None:
    """2^60 - 1 of them, at once."""
    _, found = looked_at(history_of(example), example.mode)
    assert found["unfillable_hole"].count == example.holes


@pytest.mark.parametrize("example", FRESHNESS, ids=lambda example: example.id)
def test_between_leader_epochs_only_comparable_answers_are_judged(example: Freshness) -> None:
    """CHECKERS 3.8; a single log would allow none of them."""
    verdict, found = looked_at(table(example.text), FENCED)
    assert verdict.valid == ("invalid" if example.judged else "valid")
    strict, found = looked_at(table(example.text), DENSE)
    assert (strict.valid, set(found)) == ("invalid", {example.name})


@pytest.mark.parametrize(("attempts", "valid"), [(1, "invalid"), (2, "valid"), (None, "valid")])
def test_a_batch_that_was_sent_again_says_nothing_of_the_epoch_that_acknowledged_it(attempts: int | None, valid: str) -> None:
    """3.8 and P 6.9: a later leader had found it in its log, and one of the epoch of the batch knew nothing of that."""
    verdict, _ = looked_at(table("p:A1@0#0/1 0-1; E0/1 2-3", attempts=attempts), FENCED)
    assert verdict.valid == valid
