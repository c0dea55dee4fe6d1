"""A pool over Spark keeps the promises of harness/pool.py: every number is told once, whatever becomes of jobs and executors."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable

import pytest

from harness import spark_pool
from harness.pool import Result
from harness.spark_hand import Report
from harness.spark_pool import run_on_spark
from spark_analysis.failure import SparkFailure
from tests.harness.fake_spark import CREW, FakeSpark, done, report

LOST = Result("lost", reason="the worker of this run died (signal 9)")
BAD = 7


def told(spark: FakeSpark, numbers: range, at_once: int | None = None) -> dict[int, Result]:
    seen: dict[int, Result] = {}

    def on_result(number: int, result: Result) -> None:
        assert number not in seen, "told twice"
        seen[number] = result

    run_on_spark(spark, CREW, numbers, on_result, at_once)
    return seen


def times(count: int, numbers: tuple[int, ...], tried: dict[int, int]) -> bool:
    """Whether the bad number is among these, for the first `count` times."""
    if BAD not in numbers:
        return False
    tried[BAD] = tried.get(BAD, 0) + 1
    return tried[BAD] <= count


@pytest.mark.parametrize(("numbers", "cores"), [(0, 2), (1, 2), (100, 2), (1000, 300)])
def test_every_number_is_told_once(numbers: int, cores: int) -> None:
    """Few, many, and more cores than a driver has threads for."""
    spark = FakeSpark(cores=cores)
    seen = told(spark, range(numbers))
    assert sorted(seen) == list(range(numbers))
    assert all(result.data == str(2 * number).encode() for number, result in seen.items())
    assert sorted(number for chunk in spark.chunks for number in chunk) == list(range(numbers))


def test_chunks_grow_while_runs_are_short_and_shrink_when_they_are_not() -> None:
    """A task of about a second: the first tells how long a run takes, and one that only started a worker is soon forgotten."""
    short = FakeSpark(lambda numbers: report(numbers, lambda n: Result("done", data=b"0"), seconds=0.05 * len(numbers)))
    long = FakeSpark(lambda numbers: report(numbers, lambda n: Result("done", data=b"0"), seconds=9.0 * len(numbers)))
    told(short, range(200))
    told(long, range(20))
    assert len(short.chunks[0]) == 1
    assert 15 <= max(map(len, short.chunks)) <= 20
    assert {len(chunk) for chunk in long.chunks} == {1}


def test_no_more_at_once_than_was_asked_for() -> None:
    """`--jobs`; without it there is always one waiting for the core that is free next."""
    together = threading.Barrier(2)

    def meet(numbers: tuple[int, ...]) -> Report:
        together.wait(60)
        return report(numbers, lambda number: Result("done", data=b"0"), seconds=9.0)

    spark = FakeSpark(meet, cores=16)
    told(spark, range(20), at_once=2)
    assert spark.most_at_once == 2


def test_numbers_are_taken_as_they_are_needed() -> None:
    """A soak has no end: what is taken ahead is bounded, whatever is told."""
    taken: list[int] = []
    ahead: list[int] = []

    def numbers():
        for number in range(3000):
            taken.append(number)
            yield number

    run_on_spark(FakeSpark(), CREW, numbers(), lambda number, result: ahead.append(len(taken) - len(ahead)))
    assert len(ahead) == 3000
    assert max(ahead) <= 5 * spark_pool.MOST_IN_A_CHUNK


def test_a_number_that_is_lost_once_is_done_elsewhere() -> None:
    """A host on its way down takes the process of a run along before its own: nothing is marked for that."""
    tried: dict[int, int] = {}
    spark = FakeSpark(
        lambda numbers: report(numbers, lambda n: LOST) if times(1, numbers, tried) else done(numbers),
    )
    assert {result.status for result in told(spark, range(50)).values()} == {"done"}
    assert (BAD,) in spark.chunks


def test_a_number_that_is_lost_again_is_told_as_lost() -> None:
    """A run that kills its process does so everywhere; those that were in its chunk are told as what they are."""
    spark = FakeSpark(lambda numbers: report(numbers, lambda n: LOST if n == BAD else Result("done", data=b"0")))
    seen = told(spark, range(50))
    assert seen.pop(BAD) == LOST
    assert {result.status for result in seen.values()} == {"done"}


def test_what_a_run_raised_is_told_at_once() -> None:
    """It would be raised again."""
    failed = Result("failed", reason="ValueError: no")
    spark = FakeSpark(lambda numbers: report(numbers, lambda n: failed if n == BAD else Result("done", data=b"0")))
    assert told(spark, range(50))[BAD] == failed
    assert sum(chunk.count(BAD) for chunk in spark.chunks) == 1


@pytest.mark.parametrize(("failures", "status"), [(1, "done"), (2, "lost")])
def test_a_job_that_fails_costs_its_chunk_a_second_try(failures: int, status: str) -> None:
    """Alone, so that nothing else is lost with it; the reason names what Spark said."""
    tried: dict[int, int] = {}

    def do(numbers: tuple[int, ...]) -> Report:
        if times(failures, numbers, tried):
            raise RuntimeError("ExecutorLostFailure")
        return done(numbers)

    seen = told(FakeSpark(do, cores=1), range(50))
    result = seen.pop(BAD)
    assert result.status == status
    assert result.reason == ("" if status == "done" else "Spark could not execute it: ExecutorLostFailure")
    assert {result.status for result in seen.values()} == {"done"}
    assert len(seen) == 49


def test_jobs_that_all_fail_end_the_campaign() -> None:
    """Nothing is told of any number: it is Spark that cannot do it, for a reason that stays."""

    def do(numbers: tuple[int, ...]) -> Report:
        raise RuntimeError("ModuleNotFoundError: No module named 'harness'")

    seen: list[int] = []
    with pytest.raises(SparkFailure, match="3 jobs in a row failed: ModuleNotFoundError: No module named 'harness'"):
        run_on_spark(FakeSpark(do), CREW, range(50), lambda number, result: seen.append(number))
    assert seen == []


def test_a_host_that_cannot_work_is_named() -> None:
    """A store that it may not write to, a package that it lacks."""
    spark = FakeSpark(
        lambda numbers: Report(host="far", seconds=1, cannot="no worker can be started: far cannot write to /store")
    )
    with pytest.raises(SparkFailure, match="on far, a worker of Spark, no worker can be started: far cannot write to /store"):
        told(spark, range(50))


def waiting(until: Callable[[FakeSpark], bool], spark: FakeSpark) -> Callable[[tuple[int, ...]], Report]:
    """Executors that begin when something is so, or when they are cancelled."""

    def do(numbers: tuple[int, ...]) -> Report:
        while not until(spark) and not spark.cancelled.wait(0.01):
            pass
        return done(numbers)

    return do


def test_a_cluster_that_gives_no_executor_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a worker would need is said. A task that merely takes long is an executor at work."""
    monkeypatch.setattr(spark_pool, "WATCH_S", 0.02)
    monkeypatch.setattr(spark_pool, "PATIENCE_S", 0.1)
    spark = FakeSpark()
    spark._do = waiting(lambda spark: False, spark)
    with pytest.raises(SparkFailure, match=r"spark://far:7077 needs a worker with a free core and 1g of free memory"):
        told(spark, range(5))
    assert spark.cancelled.is_set()

    busy, looked = FakeSpark(), []
    busy.active_tasks = 1
    tracker = busy.statusTracker()
    busy.statusTracker = lambda: looked.append(1) or tracker  # type: ignore[method-assign,func-returns-value]
    busy._do = waiting(lambda spark: len(looked) > 20, busy)
    assert len(told(busy, range(1))) == 1


def test_ctrl_c_hands_out_nothing_more_and_tells_what_was_done() -> None:
    """What runs may end; then KeyboardInterrupt."""
    seen: list[int] = []

    def on_result(number: int, result: Result) -> None:
        seen.append(number)
        if len(seen) == 1:
            signal.raise_signal(signal.SIGINT)

    spark = FakeSpark()
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        run_on_spark(spark, CREW, range(10_000), on_result)
    assert sorted(seen) == sorted(number for chunk in spark.chunks for number in chunk)
    assert len(spark.chunks) <= 4
    assert signal.getsignal(signal.SIGINT) == before


@pytest.mark.parametrize(("again", "grace_s"), [(False, 0.05), (True, 1_000_000)])
def test_what_does_not_end_after_ctrl_c_is_cancelled(again: bool, grace_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a moment, or at the second Ctrl-C."""
    monkeypatch.setattr(spark_pool, "GRACE_S", grace_s)
    spark, seen = FakeSpark(), []
    stuck = waiting(lambda spark: False, spark)
    spark._do = lambda numbers: done(numbers) if 0 in numbers else stuck(numbers)

    def on_result(number: int, result: Result) -> None:
        seen.append(number)
        for _ in range(1 + again):
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run_on_spark(spark, CREW, range(100), on_result)
    assert spark.cancelled.is_set()
    assert seen == [0]


def test_an_exception_of_the_one_who_asked_cancels_the_jobs() -> None:
    """It comes through as it is."""
    spark = FakeSpark()
    stuck = waiting(lambda spark: False, spark)
    spark._do = lambda numbers: done(numbers) if 0 in numbers else stuck(numbers)
    with pytest.raises(ZeroDivisionError):
        run_on_spark(spark, CREW, range(100), lambda number, result: 1 // 0)
    assert spark.cancelled.is_set()
