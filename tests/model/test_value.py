"""Values describe themselves (CHECKERS 1.3)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.identity import run_id, run_seed, run_tag
from model.value import LAST_COUNTER, LAST_PROCESS, LAST_TAG, Writer, from_payload, make_value, spoken, to_payload, writer_of


@given(st.integers(0, LAST_TAG), st.integers(0, LAST_PROCESS), st.integers(0, LAST_COUNTER), st.integers(8, 100))
def test_a_value_tells_who_wrote_it(tag: int, process: int, counter: int, size: int) -> None:
    """Run, process and counter come back from the value and from the record's bytes; it fits an int64."""
    value = make_value(tag, process, counter)
    assert 0 <= value < 2**63
    assert writer_of(value) == Writer(tag, process, counter)
    payload = to_payload(value, size)
    assert len(payload) == size
    assert from_payload(payload) == value


def test_bits_are_where_the_specification_puts_them() -> None:
    """Bits 62..44 tag, 43..24 process, 23..0 counter."""
    assert make_value(1, 0, 0) == 1 << 44
    assert make_value(0, 1, 0) == 1 << 24
    assert make_value(LAST_TAG, LAST_PROCESS, LAST_COUNTER) == 2**63 - 1
    assert spoken(make_value(5, 7, 12)) == "v(p7#12)"


@pytest.mark.parametrize("parts", [(LAST_TAG + 1, 0, 0), (0, LAST_PROCESS + 1, 0), (0, 0, LAST_COUNTER + 1), (-1, 0, 0)])
def test_what_does_not_fit_is_never_folded_into_another_value(parts: tuple[int, int, int]) -> None:
    """A full counter needs a new process id; it must not run over into its neighbour."""
    with pytest.raises(ValueError, match="outside"):
        make_value(*parts)


def test_foreign_bytes_are_no_value() -> None:
    """Short or negative payloads cannot be ours."""
    assert from_payload(b"1234567") is None
    assert from_payload(b"\xff" * 8) is None


def test_identity_follows_from_campaign_seed_and_number() -> None:
    """DESIGN 11.5, checked against a SHA-256 computed elsewhere (sha256sum)."""
    assert run_id("nightly", 412) == "nightly/00412"
    assert run_seed(1, 412) == int("cad398df242c", 16)
    assert run_tag("nightly", 412) == int("c61e8c22", 16) & LAST_TAG
    assert run_seed(1, 2) != run_seed(2, 1)
