"""What must hold of the verdict on any history (CHECKERS 9.4): a correct log is never accused, one wrong thing is always named,
and nothing depends on the order of rows, on names, on clocks, or on where a log begins."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Sequence

import msgspec
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from checkers.judge import judge_strict
from checkers.mode import Mode
from model.history import to_table
from model.operation import Row
from model.verdict import Verdict, merge
from tests.checkers.injected import INJECTIONS, copied, numbered, spliced
from tests.checkers.long_histories import Long, long_history
from tests.checkers.notation import TOPIC, spell
from tests.checkers.random_histories import MODES, random_history
from tests.checkers.worked_examples import DENSE, PAIRS, NearMiss, Violation

seeds = st.integers(0, 2**32)
modes = st.sampled_from(MODES)
FAR = 2**60
ONE_PARTITION = [(violation, near_miss) for violation, near_miss in PAIRS if len(near_miss.texts) == 1]
FEW = settings(max_examples=8)
FORBIDDEN_IN_A_LOG = {
    *("lost_write", "vanished_read", "duplicate", "inconsistent_offset", "aborted_read", "phantom", "future_read"),
    *("reordered", "read_gap", "stale_read", "stale_end_offset"),
}


def verdict_on(history: Sequence[Row] | pa.Table, mode: Mode) -> Verdict:
    return judge_strict("any/1", history if isinstance(history, pa.Table) else to_table(history), mode)


def found(verdict: Verdict) -> dict[str, str]:
    """Names of what was found, each with its level."""
    return {anomaly.name: anomaly.level for checker in verdict.checkers for anomaly in checker.anomalies}


def said(verdict: Verdict) -> tuple[object, ...]:
    """What must not change: all but times, numbers and names."""
    counts = sorted((anomaly.name, anomaly.level, anomaly.count) for checker in verdict.checkers for anomaly in checker.anomalies)
    return verdict.valid, verdict.reasons, counts, verdict.signatures


def small(seed: int, mode: Mode) -> list[Row]:
    return random_history(random.Random(seed), mode)


# -- a correct log --------------------------------------------------------------------------------------------------------------


@given(seed=seeds, mode=modes, operations=st.integers(10, 150), freshness=st.sampled_from(["strict", "fenced"]))
def test_a_correct_log_is_never_accused(seed: int, mode: Mode, operations: int, freshness: str) -> None:
    """With a complete final read, in any freshness."""
    history = long_history(random.Random(seed), operations, mode).rows
    verdict = verdict_on(history, msgspec.structs.replace(mode, freshness=freshness))
    assert (verdict.valid, found(verdict)) == ("valid", {})


@given(seed=seeds, mode=st.sampled_from(MODES[:2]), operations=st.integers(10, 100))
def test_which_copies_to_expect_follows_from_the_appends(seed: int, mode: Mode, operations: int) -> None:
    """CHECKERS 3.7, Choosing. That a resent write is there twice stays a fact; whether it may be is another matter."""
    history = to_table(long_history(random.Random(seed), operations, mode).rows)
    verdict = judge_strict("any/1", history, Mode(), allow=frozenset({"duplicate"}))
    assert verdict.valid == "valid"
    assert set(found(verdict)) <= ({"duplicate"} if mode.copies == "retry" else set())


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: f"{mode.density}-{mode.copies}")
def test_nor_are_ten_thousand_operations(mode: Mode) -> None:
    verdict = verdict_on(long_history(random.Random(1), 10_000, mode, clients=30).rows, mode)
    assert (verdict.valid, found(verdict)) == ("valid", {})


@given(seed=seeds, mode=modes)
def test_what_is_linearizable_shows_none_of_these_anomalies(seed: int, mode: Mode) -> None:
    """CHECKERS 5.1"""
    history = small(seed, mode)
    verdict = verdict_on(history, mode)
    log = [checker for checker in verdict.checkers if checker.name == "linearizability"]
    if any(anomaly.level == "committed" for checker in log for anomaly in checker.anomalies):
        return
    committed = {name for name, level in found(verdict).items() if level == "committed"}
    assert not committed & FORBIDDEN_IN_A_LOG, spell(history)


# -- one wrong thing ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", INJECTIONS)
@settings(max_examples=25)
@given(seed=seeds, operations=st.integers(60, 250))
def test_one_wrong_thing_in_a_long_history_is_named(name: str, seed: int, operations: int) -> None:
    rng = random.Random(seed)
    wrong = INJECTIONS[name](rng, copied(long_history(rng, operations, DENSE).rows))
    assume(wrong is not None)
    verdict = verdict_on(numbered(wrong or []), DENSE)
    assert verdict.valid == "invalid"
    assert name in found(verdict)


@pytest.mark.parametrize("example", [violation for violation, _ in ONE_PARTITION], ids=lambda example: example.id)
@FEW
@given(seed=seeds)
def test_a_worked_example_is_found_behind_any_history(example: Violation, seed: int) -> None:
    verdict = verdict_on(spliced(before(seed), example.texts[0]), example.mode)
    levels = {name: "local" if name in example.local else "committed" for name in example.names}
    assert (verdict.valid, found(verdict)) == ("invalid", levels)


@pytest.mark.parametrize("example", [near_miss for _, near_miss in ONE_PARTITION], ids=lambda example: example.id)
@FEW
@given(seed=seeds)
def test_a_near_miss_is_none_behind_any_history(example: NearMiss, seed: int) -> None:
    verdict = verdict_on(spliced(before(seed), example.texts[0]), example.mode)
    assert (verdict.valid, found(verdict)) == ("valid", {})


def before(seed: int) -> Long:
    return long_history(random.Random(seed), 60, DENSE, final=False, certain=True)


# -- what makes no difference ---------------------------------------------------------------------------------------------------


@given(seed=seeds, mode=modes)
def test_the_order_of_rows_makes_no_difference(seed: int, mode: Mode) -> None:
    table = to_table(small(seed, mode))
    order = list(range(table.num_rows))
    random.Random(seed).shuffle(order)
    assert said(verdict_on(table.take(order), mode)) == said(verdict_on(table, mode))


@given(seed=seeds, mode=modes)
def test_the_names_of_processes_make_no_difference(seed: int, mode: Mode) -> None:
    history = small(seed, mode)
    processes = sorted({row.process for row in history})
    names = dict(zip(processes, random.Random(seed).sample(range(10_000), len(processes)), strict=True))
    renamed = [msgspec.structs.replace(row, process=names[row.process], client=f"raw-{names[row.process]}") for row in history]
    assert said(verdict_on(renamed, mode)) == said(verdict_on(history, mode))


@given(seed=seeds, mode=modes, by=st.integers(0, 2**60), times=st.sampled_from([1, 2, 1_000]))
def test_the_clock_makes_no_difference(seed: int, mode: Mode, by: int, times: int) -> None:
    """Neither where it began nor how fast it goes."""
    history = small(seed, mode)
    moved = [msgspec.structs.replace(row, start_ns=row.start_ns * times + by, took_ns=row.took_ns * times) for row in history]
    assert said(verdict_on(moved, mode)) == said(verdict_on(history, mode))


@given(seed=seeds, mode=modes)
def test_where_a_log_begins_makes_no_difference(seed: int, mode: Mode) -> None:
    """A dense log says so itself; in a sparse one the offsets below may have been used up."""
    history = small(seed, mode)
    assume(any(row.type == "ok" for row in history))
    far = far_away(history, say_so=mode.density == "dense")
    assert said(verdict_on(far, mode)) == said(verdict_on(history, mode))


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: f"{mode.density}-{mode.copies}")
def test_where_a_log_begins_costs_no_memory(mode: Mode) -> None:
    history = long_history(random.Random(3), 3_000, mode).rows
    near, far = to_table(history), to_table(far_away(history, say_so=mode.density == "dense"))
    assert peak(far, mode) < 1.5 * peak(near, mode)


def far_away(history: Sequence[Row], *, say_so: bool) -> list[Row]:
    """Everything 2^60 offsets further up."""
    far = [_moved(row) for row in history]
    if say_so:
        op, process = max(row.op for row in history) + 1, max(row.process for row in history) + 1
        kind, start = "start_offset", min(row.start_ns for row in history)
        answer = {"kind": kind, "type": "ok", "offset": FAR, "start_ns": start, "took_ns": 0, "topic": TOPIC, "partition": 0}
        far.append(Row(op=op, process=process, client="raw-0", **answer))  # type: ignore[arg-type]
    return far


def _moved(row: Row) -> Row:
    moved = {
        name: offset + FAR for name in ("offset", "from_offset", "base_offset") if (offset := getattr(row, name)) is not None
    }
    offsets = None if row.offsets is None else [offset + FAR for offset in row.offsets]
    return msgspec.structs.replace(row, offsets=offsets, **moved)


def peak(table: pa.Table, mode: Mode) -> int:
    """How much memory the second verdict on it needs; the first also loads modules."""
    verdict_on(table, mode)
    tracemalloc.start()
    try:
        verdict_on(table, mode)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@given(seed=seeds, mode=modes)
def test_what_failed_makes_no_difference_to_the_verdict(seed: int, mode: Mode) -> None:
    """Except to its name: a refused write that was read is then one that nobody wrote."""
    history = small(seed, mode)
    without = [row for row in history if row.type != "fail"]
    assume(any(row.type == "ok" for row in without))
    assert verdict_on(without, mode).valid == verdict_on(history, mode).valid


@given(seed=seeds, other=seeds, mode=modes)
def test_two_partitions_are_judged_as_each_on_its_own(seed: int, other: int, mode: Mode) -> None:
    """CHECKERS 3.3: the verdict of both is the worse of the two."""
    first, second = small(seed, mode), small(other, mode)
    assume(all(any(row.type == "ok" for row in history) for history in (first, second)))
    beside = [msgspec.structs.replace(row, op=row.op + 8, process=row.process + 8, partition=1) for row in second]
    each = [verdict_on(first, mode).valid, verdict_on(second, mode).valid]
    assert verdict_on(numbered([*first, *beside]), mode).valid == merge(each)


# -- what never makes it worse --------------------------------------------------------------------------------------------------


def _without_a_read(rng: random.Random, history: list[Row]) -> None:
    reads = [row for row in history if row.kind in ("read", "poll", "end_offset")]
    if reads:
        history.remove(rng.choice(reads))


def _with_a_write_in_doubt(rng: random.Random, history: list[Row]) -> None:
    acked = [row for row in history if row.kind == "append" and row.type == "ok"]
    if acked:
        row = rng.choice(acked)
        row.type, row.error, row.offset = "info", "TIMED_OUT", None


def _with_a_longer_operation(rng: random.Random, history: list[Row]) -> None:
    row = rng.choice(history)
    earlier = min(row.start_ns, rng.randrange(5_000_000))
    row.start_ns -= earlier
    row.took_ns += earlier + rng.randrange(5_000_000)


def _with_one_more_write_in_doubt(rng: random.Random, history: list[Row]) -> None:
    start = rng.choice(history).start_ns
    more = {"kind": "append", "type": "info", "error": "TIMED_OUT", "value": 50, "acks": -1, "attempts": 1, "idempotent": False}
    times = {"start_ns": start, "took_ns": 1, "topic": TOPIC, "partition": 0}
    history.append(Row(op=50, process=50, client="raw-50", **more, **times))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "change", [_without_a_read, _with_a_write_in_doubt, _with_a_longer_operation, _with_one_more_write_in_doubt]
)
@given(seed=seeds, mode=modes)
def test_knowing_less_never_makes_it_worse(change: object, seed: int, mode: Mode) -> None:
    history = small(seed, mode)
    assume(verdict_on(history, mode).valid == "valid")
    changed = copied(history)
    change(random.Random(seed), changed)  # type: ignore[operator]
    assert verdict_on(numbered(changed), mode).valid != "invalid", spell(numbered(changed))
