"""Figures of availability: right to the second, small however long the run, and nothing lost by merging."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.availability import MOST_POINTS, Availability, availability, stats
from checkers.columns import Columns
from checkers.latency import BUCKETS, Latencies, bucket_of, latencies, upper_edge_ns
from checkers.part import parts
from model.history import to_table
from model.operation import Row
from tests.checkers.living import S, append, appends, cut, event, evidence, row

LOST = "CONNECTION_LOST"


def of(rows: list[Row], *events: Any) -> Availability:
    (part,) = parts(Columns(to_table(rows)))
    return availability(part, events)


def read(op: int, start: float, end: float, error: str | None = None, **columns: Any) -> Row:
    return row(op, "read", start, end, error, from_offset=0, max_records=1, **columns)


# -- series -----------------------------------------------------------------------------------------------------------------


def test_successes_are_counted_in_the_second_in_which_they_ended() -> None:
    found = of([append(0, 0, 0.5), append(1, 0.9, 1.1), append(2, 1.5, 1.9), append(3, 2, 2.5, LOST), read(4, 2, 3.2)])
    assert (found.from_ns, found.step_ns) == (0, S)
    assert found.appends.per_point == (1, 2, 0, 0)
    assert found.reads.per_point == (0, 0, 0, 1)
    assert (found.appends.tried, found.appends.succeeded) == (4, 3)


def test_the_final_read_is_no_use() -> None:
    found = of([append(0, 0, 1), read(1, 2, 3, final=True)])
    assert (found.reads.tried, found.reads.per_point) == (0, (0, 0, 0, 0))


def test_an_append_that_nobody_acknowledges_is_neither_tried_nor_accepted() -> None:
    assert of([append(0, 0, 1, "NO_ACK", acks=0)]).appends.tried == 0


@pytest.mark.parametrize("seconds", [1, MOST_POINTS - 1, MOST_POINTS, MOST_POINTS * 7, 10**9])
def test_a_series_has_so_many_points_and_no_more(seconds: int) -> None:
    found = of([append(0, 0, 1), append(1, seconds - 1, seconds)])
    assert len(found.appends.per_point) <= MOST_POINTS
    assert sum(found.appends.per_point) == 2
    assert found.step_ns == S or len(found.appends.per_point) > MOST_POINTS // 2


def test_a_series_begins_where_the_partition_was_first_used() -> None:
    found = of(appends(0, 10**6, 10**6 + 5))
    assert (found.from_ns, found.appends.per_point) == (10**6 * S, (1, 1, 1, 1, 1))


# -- silences ---------------------------------------------------------------------------------------------------------------


def test_the_longest_time_without_success_is_split_where_faults_begin_and_end() -> None:
    """Nothing from 2.5 to 20 s, with a cut from 5 to 12 s: 2.5 s before it, 7 s in it, 8 s after it."""
    found = of([*appends(0, 0, 3), append(9, 3, 4, LOST), append(10, 19, 20)], cut(5, 12, (1,)))
    assert (found.appends.quiet.from_ns, found.appends.quiet.to_ns) == (12 * S, 20 * S)
    assert (found.appends.broken.from_ns, found.appends.broken.to_ns) == (5 * S, 12 * S)


def test_faults_that_overlap_are_one_time_of_faults() -> None:
    rows = [append(0, 0, 1), append(1, 1, 30, LOST)]
    found = of(rows, cut(5, 12, (1,)), cut(10, 20, (1,)), event("pause", 6, 7))
    assert (found.appends.broken.from_ns, found.appends.broken.to_ns) == (5 * S, 20 * S)
    assert found.appends.quiet.to_ns == 30 * S


def test_what_is_over_at_once_only_splits() -> None:
    found = of([append(0, 0, 1), append(1, 1, 11, LOST)], event("elect", 7, None), event("exit", 9, None))
    assert (found.appends.quiet.from_ns, found.appends.quiet.to_ns) == (1 * S, 7 * S)
    assert found.appends.broken.ns == 0


def test_a_fault_that_never_healed_lasts_to_the_end() -> None:
    found = of([append(0, 0, 1), append(1, 1, 11, LOST)], cut(4, None, (1,)), cut(5, 6, (1,)))
    assert (found.appends.broken.from_ns, found.appends.broken.to_ns) == (4 * S, 11 * S)


def test_before_the_first_try_and_after_the_last_nobody_asked() -> None:
    found = of([append(0, 10, 11), append(1, 12, 13), read(2, 0, 50)])
    assert (found.appends.quiet.from_ns, found.appends.quiet.to_ns) == (11 * S, 13 * S)
    assert (found.reads.quiet.from_ns, found.reads.quiet.to_ns) == (0, 50 * S)


# -- recovery ---------------------------------------------------------------------------------------------------------------


def test_recovery_is_the_time_from_the_heal_to_the_first_append_that_all_acknowledged() -> None:
    rows = [append(0, 11, 12, acks=1), append(1, 12, 13, LOST), append(2, 13, 14.5), append(3, 30, 31)]
    found = of(rows, cut(5, 12, (1,)), cut(15, 16, (1,)), cut(17, 18, (1,)))
    assert found.recovered_ns == (int(2.5 * S), None, 13 * S)  # after the second the third came first


# -- latencies --------------------------------------------------------------------------------------------------------------

durations = st.lists(st.integers(0, 2**63 - 1) | st.integers(0, 10**7), max_size=30)


@given(durations)
def test_a_duration_lies_in_its_bucket_and_buckets_are_an_eighth_wide(took: list[int]) -> None:
    for ns, bucket in zip(took, bucket_of(np.array(took, np.int64)).tolist(), strict=True):
        assert 0 <= bucket < BUCKETS
        low = upper_edge_ns(bucket - 1) + 1 if bucket else 0
        assert low <= ns <= upper_edge_ns(bucket)
        assert (upper_edge_ns(bucket) + 1 - low) * 8 <= max(8, low)


@given(durations, durations)
def test_merging_histograms_is_the_histogram_of_everything(one: list[int], other: list[int]) -> None:
    def made(of: list[int]) -> Latencies:
        return latencies(np.array(of, np.int64))

    assert made(one).merge(made(other)) == made([*one, *other])
    assert made(one).merge(made(other)).count == len(one) + len(other)


@given(durations.filter(bool), st.sampled_from([0.0, 0.5, 0.9, 0.99, 1.0]))
def test_a_quantile_is_right_to_within_an_eighth(took: list[int], share: float) -> None:
    exact = sorted(took)[max(0, math.ceil(share * len(took)) - 1)]
    found = latencies(np.array(took, np.int64)).quantile_ns(share)
    assert found is not None
    assert exact <= found <= max(exact + exact // 8, exact + 1)


def test_of_nothing_there_is_no_quantile() -> None:
    assert Latencies().quantile_ns(0.5) is None


# -- a whole run ------------------------------------------------------------------------------------------------------------


def test_the_figures_of_a_run_are_over_all_its_partitions() -> None:
    rows = [*appends(0, 0, 10), *appends(100, 0, 4, partition=1), append(200, 4, 10, LOST, partition=1), read(300, 9, 10)]
    figures = stats(evidence(rows, cut(1, 2, (1,)), cut(5, 8, (1,))))
    assert figures["operations"] == 16
    assert figures["partitions"] == 2
    assert (figures["appends_tried"], figures["appends_ok"]) == (15, 14)
    assert figures["appends_ok_per_s"] == 1.4
    assert figures["longest_without_append_broken_s"] == 3  # partition 1, in the second cut
    assert figures["longest_without_append_quiet_s"] == 2
    assert figures["recovery_s"] == 0.5
    assert figures["append_p50_ms"] == pytest.approx(500, rel=0.125)
    assert figures["read_max_ms"] == pytest.approx(1_000, rel=0.125)


def test_what_is_not_known_of_a_run_is_absent() -> None:
    figures = stats(evidence([]))
    assert figures["operations"] == 0
    assert "recovery_s" not in figures
    assert "append_p50_ms" not in figures
    assert "appends_ok_per_s" not in figures


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 40), st.integers(0, 9), st.sampled_from([None, LOST])), max_size=20),
    st.lists(st.tuples(st.integers(0, 40), st.none() | st.integers(0, 9)), max_size=4),
    st.integers(0, 10**6),
)
def test_the_figures_depend_on_no_origin_of_time(
    calls: list[tuple[bool, int, int, str | None]], faults: list[tuple[int, int | None]], by: int
) -> None:
    """And there are as many of them whatever happened."""

    def figures(origin: int) -> dict[str, float]:
        rows = [
            (append if is_append else read)(op, origin + start, origin + start + took, error)
            for op, (is_append, start, took, error) in enumerate(calls)
        ]
        cuts = [cut(origin + at, None if lasts is None else origin + at + lasts, (1,)) for at, lasts in faults]
        return stats(evidence(rows, *cuts))

    assert figures(by) == figures(0)
    assert len(figures(0)) < 25
