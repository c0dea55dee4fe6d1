"""The fast checker of logs agrees with the definition, on thousands of random histories of every mode (CHECKERS 9.1)."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable

import pytest

from checkers.mode import Mode
from tests.checkers.random_histories import MODES
from tests.checkers.two_judges import Judged, has_an_order, judged, numbered

MANY = int(os.environ.get("TIDEMARK_RANDOM_HISTORIES", "20000"))
NAMES = {
    *("inconsistent_offset", "phantom", "aborted_read", "duplicate", "read_gap", "stale_read", "stale_end_offset"),
    *("reordered", "nonmonotonic_send", "append_below_end", "future_read", "unfillable_hole", "lost_ack"),
}
WITH_FLOATING = [mode for mode in MODES if (mode.density, mode.copies) != ("dense", "forbid")]


def disagreements(judgements: Iterable[Judged]) -> list[str]:
    return [each.told() for each in judgements if not each.agreed]


def name_of(mode: Mode) -> str:
    return f"{mode.density}-{mode.copies}"


@pytest.mark.parametrize("mode", MODES, ids=name_of)
def test_both_judges_agree_on_five_hundred_histories(mode: Mode) -> None:
    """Anything found means no order; nothing found means some order."""
    assert disagreements(judged(range(500), mode)) == []


@pytest.mark.parametrize("mode", WITH_FLOATING, ids=name_of)
def test_where_the_reduction_is_not_exact_it_never_raises_a_false_alarm(mode: Mode) -> None:
    """CHECKERS 3.7: acknowledgements without an offset count as uncertain there."""
    assert [each.told() for each in judged(range(500), mode, floating=True) if each.found and each.has_an_order] == []


@pytest.mark.parametrize("mode", MODES, ids=name_of)
def test_a_history_without_mutations_has_an_order(mode: Mode) -> None:
    """So the judge, the log that answered, and the variants of 3.7 mean the same."""
    assert [number for number in range(500) if not has_an_order(numbered(number, mode, mutations=0), mode)] == []


@pytest.mark.parametrize("mode", MODES, ids=name_of)
def test_a_quarter_to_a_half_of_the_histories_have_no_order(mode: Mode) -> None:
    """Else agreement would say little."""
    verdicts = [each.has_an_order for each in judged(range(500), mode)]
    assert 0.25 <= verdicts.count(False) / len(verdicts) <= 0.45


@pytest.mark.acceptance
@pytest.mark.parametrize("mode", MODES, ids=name_of)
def test_both_judges_agree_on_twenty_thousand_histories(mode: Mode) -> None:
    assert disagreements(judged(range(MANY), mode)) == []


@pytest.mark.acceptance
@pytest.mark.parametrize("mode", WITH_FLOATING, ids=name_of)
def test_it_never_raises_a_false_alarm_in_twenty_thousand_histories(mode: Mode) -> None:
    assert [each.told() for each in judged(range(MANY), mode, floating=True) if each.found and each.has_an_order] == []


@pytest.mark.acceptance
def test_every_anomaly_of_a_log_appears_a_hundred_times_in_twenty_thousand_histories() -> None:
    """Over all modes, and each found by its name."""
    seen = Counter(name for mode in MODES for each in judged(range(5_000), mode) for name in set(each.found))
    assert set(seen) == NAMES
    assert [name for name, count in seen.items() if count < 100] == []
