"""tests/workloads/virtual.py: virtual time, and logs that answer as a test says: a cluster small enough to be obvious.

In     operations; faults to answer with, by kind and count
Out    answers after a fixed latency; every request that was made, with its time
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Any

import msgspec

from harness.recorder import Recorder
from model.chance import stream
from model.cluster import TopicPartition
from model.operation import Answer, Operation, Row
from model.plan import Phase, Plan, Topic, Workload
from model.quantity import parse_rate
from model.schedule import Condition
from model.workload import Stage

MS = 1_000_000
SECOND = 1_000 * MS
TAG = 5


class VirtualTime:
    """A Timeline that jumps from one call to the next."""

    def __init__(self, now_ns: int = 0) -> None:
        self._now_ns = now_ns
        self._calls: list[tuple[int, int, Callable[[], None]]] = []
        self._numbers = count()

    def now_ns(self) -> int:
        return self._now_ns

    def after(self, delay_ns: int, call: Callable[[], None]) -> None:
        assert delay_ns >= 0
        heappush(self._calls, (self._now_ns + delay_ns, next(self._numbers), call))

    def run_until(self, done: Callable[[], bool], limit_ns: int) -> bool:
        end_ns = self._now_ns + limit_ns
        while not done():
            if not self._calls or self._calls[0][0] > end_ns:
                self._now_ns = end_ns
                return False
            self._now_ns, _, call = heappop(self._calls)
            call()
        return True

    def advance(self, ns: int) -> None:
        self.run_until(lambda: False, ns)


class LateTime(VirtualTime):
    """A busy machine: every call comes 3 ms late."""

    def after(self, delay_ns: int, call: Callable[[], None]) -> None:
        super().after(delay_ns + 3 * MS, call)


class FakeLogs:
    """A client whose cluster is a list per partition."""

    def __init__(self, time: VirtualTime, *, latency_ns: int = MS, first_offset: int = 0) -> None:
        self.time, self.latency_ns, self.first_offset = time, latency_ns, first_offset
        self.logs: dict[TopicPartition, list[int]] = {}
        self.asked: list[tuple[int, tuple[Operation, ...]]] = []
        self.producer_ids = count()
        self.answering: Callable[[Operation], Answer | None] = lambda asked: None
        """What to answer instead; None = what the log says."""

    def submit(self, batch: tuple[Operation, ...], done: Callable[[tuple[Answer, ...]], None]) -> None:
        self.asked.append((self.time.now_ns(), batch))
        self.time.after(self.latency_ns, lambda: done(tuple(self.answering(each) or self.answer(each) for each in batch)))

    def log(self, topic: str | None, partition: int | None) -> list[int]:
        assert topic is not None
        assert partition is not None
        return self.logs.setdefault((topic, partition), [])

    def answer(self, asked: Operation) -> Answer:
        if asked.kind == "init":
            return Answer(fact="SUCCESS", node=1, producer_id=next(self.producer_ids), producer_epoch=0)
        if asked.kind == "assign":
            return Answer(fact="SUCCESS", offset=asked.offset)
        log = self.log(asked.topic, asked.partition)
        end = self.first_offset + len(log)
        if asked.kind == "append":
            assert asked.value is not None
            log.append(asked.value)
            return Answer(fact="NO_ACK") if asked.acks == 0 else Answer(fact="SUCCESS", node=1, offset=end)
        if asked.kind == "read":
            return self.read(log, asked.from_offset or 0, asked.max_records)
        if asked.kind == "poll":
            return msgspec.structs.replace(self.read(log, asked.from_offset or 0, 500), at_end=None)
        return Answer(fact="SUCCESS", node=1, offset=end if asked.kind == "end_offset" else self.first_offset)

    def read(self, log: list[int], from_offset: int, most: int | None) -> Answer:
        end = self.first_offset + len(log)
        if not self.first_offset <= from_offset <= end:
            return Answer(fact="OFFSET_OUT_OF_RANGE", node=1)
        values = tuple(log[from_offset - self.first_offset :][:most])
        base = from_offset if values else None
        at_end = from_offset + len(values) == end
        return Answer(fact="SUCCESS", node=1, base_offset=base, values=values, epochs=(0,) * len(values), at_end=at_end)

    def operations(self, *kinds: str) -> Iterator[Operation]:
        return (each for _, batch in self.asked for each in batch if each.kind in kinds)


class Scene:
    """A stage over fake logs, and the rows of whatever is played on it."""

    def __init__(self, plan: Plan, *, first_offset: int = 0, latency_ns: int = MS, time: VirtualTime | None = None) -> None:
        self.time = time or VirtualTime()
        self.logs = FakeLogs(self.time, first_offset=first_offset, latency_ns=latency_ns)
        self.rows: list[Row] = []
        self.recorder = Recorder(self.time, TAG, self.rows.append)
        self.holds: Callable[[Condition], bool] = lambda condition: False
        processes = tuple(self.recorder.process(i, self.logs, f"raw-{i}") for i in range(plan.workload.processes))
        self.stage = Stage(plan, self.time, processes, self.chance, self.met)

    def met(self, condition: Condition) -> bool:
        return self.holds(condition)

    def chance(self, purpose: str) -> Random:
        return stream(self.stage.plan.seed, "workload", purpose)


def planned(
    *,
    seed: int = 1,
    processes: int = 5,
    rate: str = "100/s",
    acks: int = -1,
    phases: tuple[Phase, ...] = (),
    topics: dict[str, int] | None = None,
    **more: Any,
) -> Plan:
    """A plan, as far as workloads look at it. `topics`: how many partitions each has; `more`: of the workload."""
    return Plan(
        tidemark=1,
        seed=seed,
        topics={name: Topic(partitions=number) for name, number in (topics or {"t": 1}).items()},
        workload=Workload(processes=processes, rate=parse_rate(rate), acks=acks, phases=phases, **more),
    )
