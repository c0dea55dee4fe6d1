"""The final read: complete only if it looked at everything, up to the end (CHECKERS 5.3)."""

from __future__ import annotations

import pytest

from tests.checkers.looking import final_read


@pytest.mark.parametrize(
    ("history", "reason"),
    [
        ("A1@0 0-1; F0=1. 2-3", ""),
        ("F0=. 2-3", ""),
        ("A1@0 0-1; A2@1 0-1; F0=1 2-3; F1=2. 4-5", ""),
        ("A1@0 0-1; R0=1. 2-3", "nobody read it"),
        ("A1@0 0-1; F0=oor 2-3", "nobody could read it"),
        ("A1@0 0-1; F0=1 2-3", "it stopped before the end"),
        ("A1@0 0-1; A2@1 0-1; F1=2. 2-3", "it has gaps"),
        ("A1@0 0-1; A2@1 0-1; A3@2 0-1; F0=1 2-3; F2=3. 4-5", "it has gaps"),
        ("A1@0 0-1; A2@1 0-1; F0=1,2. 2-3; F0=1 4-5", "it stopped before the end"),
    ],
)
def test_it_is_complete_only_if_it_looked_everywhere_and_ended_at_the_end(history: str, reason: str) -> None:
    assert final_read(history).reason == reason


def test_a_record_that_is_missing_inside_is_no_gap_in_the_looking() -> None:
    """Whether it should be there is for durability to ask."""
    assert final_read("A1@0 0-1; A2@1 0-1; A3@2 0-1; F0=0:1,2:3. 4-5").complete


def test_it_began_with_its_first_piece_and_reaches_to_the_last() -> None:
    final = final_read("A1@0 0-1; A2@1 0-1; F0=1 2-3; F1=2. 4-5")
    assert (final.begin_ns, final.end_ns, final.end) == (2_000_000, 5_000_000, 2)
