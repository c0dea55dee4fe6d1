"""tests/harness/fake_spark.py: as much of a Spark session as a pool needs, with executors that do what a test says.

In     `do`: what becomes of a chunk; it may raise, as a job does
Out    `chunks` in the order in which they were begun; whether the jobs were cancelled
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from types import SimpleNamespace

import msgspec

from harness.pool import Crew, Result
from harness.spark_hand import Chunk, Report

CREW = Crew(name="night-1", work="harness.campaign:worker", setup=b"{}", jobs=2, limit_s=60)
Do = Callable[[tuple[int, ...]], Report]


def done(numbers: tuple[int, ...]) -> Report:
    """Everything went well, in no time."""
    return report(numbers, lambda number: Result("done", data=str(2 * number).encode()))


def report(numbers: tuple[int, ...], result: Callable[[int], Result], seconds: float = 0.5) -> Report:
    return Report(host="far", seconds=seconds, results=tuple((number, result(number)) for number in numbers))


class FakeSpark:
    """A session and its context, in one."""

    def __init__(self, do: Do = done, cores: int = 2) -> None:
        self._do = do
        self._lock = threading.Lock()
        self.defaultParallelism = cores
        self.master = "spark://far:7077"
        self.chunks: list[tuple[int, ...]] = []
        self.running = self.most_at_once = 0
        self.active_tasks = 0
        self.cancelled = threading.Event()
        self.groups: set[str] = set()
        self.sparkContext = self

    def setJobGroup(self, group: str, description: str, interruptOnCancel: bool) -> None:  # noqa: N803  Spark's name
        self.groups.add(group)

    def cancelJobGroup(self, group: str) -> None:
        assert group in self.groups
        self.cancelled.set()

    def parallelize(self, tasks: Sequence[str], slices: int) -> SimpleNamespace:
        assert slices == len(tasks)
        return SimpleNamespace(map=lambda _: SimpleNamespace(collect=lambda: [self._carry_out(task) for task in tasks]))

    def statusTracker(self) -> SimpleNamespace:
        return SimpleNamespace(
            getActiveStageIds=lambda: [0], getStageInfo=lambda stage: SimpleNamespace(numActiveTasks=self.active_tasks)
        )

    def getConf(self) -> dict[str, str]:
        return {}

    def _carry_out(self, task: str) -> str:
        chunk = msgspec.json.decode(task, type=Chunk)
        assert chunk.crew == CREW
        with self._lock:
            self.chunks.append(chunk.numbers)
            self.running += 1
            self.most_at_once = max(self.most_at_once, self.running)
        try:
            return msgspec.json.encode(self._do(chunk.numbers)).decode()
        finally:
            with self._lock:
                self.running -= 1
