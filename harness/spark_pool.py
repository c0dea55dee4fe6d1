"""harness/spark_pool.py: many runs over the executors of a Spark: what harness/pool.py does, on other machines.

In     a session; a `Crew`; numbers, taken as executors are free
Out    `on_result(number, Result)` exactly once per number that was handed out, in the order of completion
Keeps  an executor or a worker of Spark that is killed costs time: its tasks are done elsewhere, and what it had stored already is
       found there. A number that was lost with its own process is handed out once more, because a host on its way down takes
       processes along in any order; only then is it told as lost.
       Only JSON passes. Nothing is kept of a number that was told
Not    what happens on an executor (harness/spark_hand.py); what a number means (harness/campaign.py)

Ctrl-C: no further number is handed out, what runs may be told for a few seconds, the rest is cancelled, then KeyboardInterrupt is
raised. Numbers that were not told may have been stored all the same: whoever resumes finds them.
"""

from __future__ import annotations

import os
import time
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import islice
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

import msgspec

from harness.interrupts import Interrupts
from harness.pool import Crew, OnResult, Result
from harness.spark_hand import Chunk, Report, carry_out
from spark_analysis.failure import SparkFailure, words_of

CHUNK_S = 1.0  # a task of Spark costs some 30 ms, and somebody watches the progress
MOST_IN_A_CHUNK = 64
MOST_JOBS = 64  # at once: each has a thread; where there are more cores, a job has several tasks
TRIES = 2  # for a number whose process died
FAILED_JOBS = 3  # in a row; Spark has tried each task several times by then
WATCH_S = 5.0
PATIENCE_S = 180.0  # without any task being executed
GRACE_S = 3.0
END_LIMIT_S = 5.0

Numbers = tuple[int, ...]


class _Ended(msgspec.Struct, frozen=True):
    """A job of Spark has ended: with reports, or as a whole with one reason."""

    chunks: Sequence[Numbers]
    reports: Sequence[Report] = ()
    failed: str = ""


def run_on_spark(session: Any, crew: Crew, tasks: Iterable[int], on_result: OnResult, at_once: int | None = None) -> None:
    """Returns when every number was reported. `at_once` is the most that may be executed at a time; without it, one per core."""
    events: SimpleQueue[_Ended | None] = SimpleQueue()
    with Interrupts(lambda: events.put(None)) as interrupts:
        pool = _SparkPool(session.sparkContext, crew, tasks, events, at_once)
        try:
            pool.run(on_result, interrupts)
        finally:
            pool.close()
    if interrupts.count:
        raise KeyboardInterrupt


class _SparkPool:
    """What was handed out, and what happens next."""

    def __init__(
        self, context: Any, crew: Crew, tasks: Iterable[int], events: SimpleQueue[_Ended | None], at_once: int | None
    ) -> None:
        self._context = context
        self._crew = crew
        self._tasks = iter(tasks)
        self._again: deque[int] = deque()
        self._tries: Counter[int] = Counter()  # of the few that were lost
        self._at_once = at_once
        self._pace_s = CHUNK_S  # of one run
        self._under_way = self._failed_jobs = 0
        self._last_sign = time.monotonic()
        self._events = events
        self._jobs: SimpleQueue[Sequence[Numbers] | None] = SimpleQueue()
        self._lanes: list[Thread] = []
        self._group = f"{crew.name}-{os.urandom(4).hex()}"

    def run(self, on_result: OnResult, interrupts: Interrupts) -> None:
        self._hand_out()
        while self._under_way and not interrupts.count:
            self._listen(on_result, WATCH_S)
            if not interrupts.count:
                self._hand_out()
        until = time.monotonic() + GRACE_S
        while self._under_way and interrupts.count < 2 and (left := until - time.monotonic()) > 0:
            self._listen(on_result, left)

    def close(self) -> None:
        """Whatever is under way is cancelled: Spark ends the Python workers of its tasks, and ours end with them."""
        if self._under_way:
            with suppress(Exception):  # the session may be what failed
                self._context.cancelJobGroup(self._group)
        for _ in self._lanes:
            self._jobs.put(None)
        ends = time.monotonic() + END_LIMIT_S
        for lane in self._lanes:
            lane.join(max(0.0, ends - time.monotonic()))

    # -- handing out --------------------------------------------------------------------------------------------------

    def _hand_out(self) -> None:
        """Some more tasks than there are cores, so that none waits for us."""
        cores = self._context.defaultParallelism
        tasks = self._at_once or cores + cores // 2 + 1
        per_job = -(-tasks // MOST_JOBS)
        while self._under_way * per_job < tasks:
            chunks = [chunk for _ in range(per_job) if (chunk := self._next_chunk())]
            if not chunks:
                break
            if len(self._lanes) == self._under_way:
                self._open_lane()
            self._under_way += 1
            self._jobs.put(chunks)

    def _next_chunk(self) -> Numbers:
        """Those that were lost go alone, so that none of them takes others along."""
        if self._again:
            return (self._again.popleft(),)
        return tuple(islice(self._tasks, max(1, min(MOST_IN_A_CHUNK, int(CHUNK_S / self._pace_s)))))

    def _open_lane(self) -> None:
        lane = Thread(target=self._lane, name=f"lane-{len(self._lanes)}", daemon=True)
        self._lanes.append(lane)
        lane.start()

    def _lane(self) -> None:
        """One job after the other: pyspark has no other way to have several under way than a thread for each."""
        with suppress(Exception):  # without a group it cannot be cancelled; that is no reason not to work
            self._context.setJobGroup(self._group, self._crew.name, interruptOnCancel=True)
        while (chunks := self._jobs.get()) is not None:
            self._events.put(self._carry_out(chunks))

    def _carry_out(self, chunks: Sequence[Numbers]) -> _Ended:
        tasks = [msgspec.json.encode(Chunk(self._crew, chunk)).decode() for chunk in chunks]
        try:
            told = self._context.parallelize(tasks, len(tasks)).map(carry_out).collect()
            return _Ended(chunks, [msgspec.json.decode(report, type=Report) for report in told])
        except Exception as error:  # noqa: BLE001  pyspark, py4j, the JVM: whatever it is, the job has failed
            return _Ended(chunks, failed=words_of(error))

    # -- listening ----------------------------------------------------------------------------------------------------

    def _listen(self, on_result: OnResult, limit_s: float) -> None:
        try:
            ended = self._events.get(timeout=limit_s)
        except Empty:
            self._look_for_executors()
            return
        if ended is None:
            return  # Ctrl-C
        self._under_way -= 1
        self._last_sign = time.monotonic()
        if ended.failed:
            self._take_failure(ended, on_result)
            return
        self._failed_jobs = 0
        for report in ended.reports:
            self._take(report, on_result)

    def _take(self, report: Report, on_result: OnResult) -> None:
        if report.cannot:
            raise SparkFailure(f"on {report.host}, a worker of Spark, {report.cannot}")
        pace_s = report.seconds / len(report.results)
        self._pace_s = pace_s if pace_s < self._pace_s else (self._pace_s + pace_s) / 2  # the first has to start its worker
        for number, result in report.results:
            if result.status == "lost":
                self._take_lost(number, result, on_result)
            else:
                on_result(number, result)

    def _take_failure(self, ended: _Ended, on_result: OnResult) -> None:
        self._failed_jobs += 1
        if self._failed_jobs == FAILED_JOBS:
            raise SparkFailure(f"{FAILED_JOBS} jobs in a row failed: {ended.failed}")
        for number in (number for chunk in ended.chunks for number in chunk):
            self._take_lost(number, Result("lost", reason=f"Spark could not execute it: {ended.failed}"), on_result)

    def _take_lost(self, number: int, result: Result, on_result: OnResult) -> None:
        self._tries[number] += 1
        if self._tries[number] < TRIES:
            self._again.append(number)
        else:
            on_result(number, result)

    def _look_for_executors(self) -> None:
        """A cluster without a free core lets jobs wait for ever, and says so only in its log."""
        tracker = self._context.statusTracker()
        stages = (tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds())
        if any(stage is not None and stage.numActiveTasks for stage in stages):
            self._last_sign = time.monotonic()
        elif time.monotonic() - self._last_sign > PATIENCE_S:
            wanted = self._context.getConf().get("spark.executor.memory", "1g")
            raise SparkFailure(
                f"no executor has taken a task for {PATIENCE_S:g} s: {self._context.master} needs a worker"
                f" with a free core and {wanted} of free memory"
            )
