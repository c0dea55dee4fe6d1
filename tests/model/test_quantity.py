"""Durations, sizes and rates: what people write is what is meant, to the nanosecond."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.quantity import (
    Rate,
    parse_bandwidth,
    parse_duration,
    parse_rate,
    parse_size,
    write_bandwidth,
    write_duration,
    write_rate,
    write_size,
)

amounts = st.integers(0, 2**63 - 1)


@given(amounts)
def test_every_amount_survives_its_spelling(amount: int) -> None:
    """Whatever is written can be read, and is the same."""
    assert parse_duration(write_duration(amount)) == amount
    assert parse_size(write_size(amount)) == amount
    assert parse_bandwidth(write_bandwidth(amount)) == amount


@given(st.integers(1, 10**9), st.sampled_from(["s", "m", "h"]))
def test_every_rate_survives_its_spelling(count: int, per: str) -> None:
    """Rates are kept as written, so 3/s stays 3/s although its interval is no whole number."""
    assert parse_rate(write_rate(Rate(count, per))) == Rate(count, per)


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("500ms", 500_000_000),
        ("8h", 28_800 * 10**9),
        ("1.5s", 1_500_000_000),
        ("1m30s", 90 * 10**9),
        ("0s", 0),
        ("0.000001ms", 1),
    ],
)
def test_durations_as_people_write_them(text: str, ns: int) -> None:
    """Units, fractions and sums of parts."""
    assert parse_duration(text) == ns


@pytest.mark.parametrize("text", ["", "5", "s", "5 s", "-5s", "5sec", "1e3s", "1.s", "0.1ns", "99999999999d", "٣s", "5s5"])
def test_what_is_no_duration(text: str) -> None:
    """Refused with a sentence, never guessed."""
    with pytest.raises(ValueError, match=r"duration|unit|exactly"):
        parse_duration(text)


def test_sizes_and_intervals() -> None:
    """Binary and decimal units differ; an interval is rounded down."""
    assert (parse_size("1MiB"), parse_size("1MB"), write_size(65_536)) == (1_048_576, 1_000_000, "64KiB")
    assert parse_rate("3/s").interval_ns == 333_333_333
    for wrong in ("0/s", "50", "50/d", "-1/s", "1.5/s"):
        with pytest.raises(ValueError, match="not a rate"):
            parse_rate(wrong)
