"""workloads/log.py: the log workload: append unique values, read ranges, ask for the end offset (DESIGN 5).

In     a Stage
Out    requests at the plan's rate, all processes together: about 60 % appends, 30 % reads, 10 % end offsets, over all partitions
Keeps  one request open per process: a tick that finds it busy passes. Nothing is sent twice: an append that failed is over, and
       the next tick makes another. When ticks come, and what they would do, are streams of their own for each process
Not    when appends may be made: phases.py; the read of everything at the end: final_read.py
"""

from __future__ import annotations

from model.chance import below, between, happens, pick
from model.cluster import TopicPartition
from model.operation import Operation, Row
from model.plan import Plan
from model.workload import Process, Stage
from workloads.answers import end_as_told
from workloads.phases import Leave, Phases

APPENDS, READS = 60, 30  # of 100 requests; the rest asks for the end offset
RECENT = 20  # a read begins at most so far below the end that the process knows of
BEYOND = 5  # or at most so far beyond it
LIMITS = (1, 10, 100)
BATCH = 4  # an append in eight carries up to so many records at once


class LogWorkload:
    """All processes of the plan, each on its own."""

    def __init__(self, stage: Stage) -> None:
        self.phases = Phases(stage)
        self._actors = [_Actor(stage, process, self.phases) for process in stage.processes]

    def start(self) -> None:
        self.phases.start()
        for actor in self._actors:
            actor.start()

    def stop(self) -> None:
        self.phases.stop()
        for actor in self._actors:
            actor.stopped = True

    @property
    def idle(self) -> bool:
        return not any(actor.busy for actor in self._actors)


class _Actor:
    """One process: its ticks, and what it has learned of the logs from its own answers."""

    def __init__(self, stage: Stage, process: Process, phases: Phases) -> None:
        self.busy = self.stopped = False
        self._time, self._process, self._phases = stage.time, process, phases
        self._period_ns = stage.plan.workload.rate.interval_ns * len(stage.processes)
        self._ticks = stage.chance(f"log:ticks:{process.number}")
        self._acts = stage.chance(f"log:acts:{process.number}")
        self._partitions = partitions_of(stage.plan)
        self._ends = dict.fromkeys(self._partitions, 0)

    def start(self) -> None:
        self._due_ns = self._time.now_ns()
        self._wait(between(self._ticks, 0, self._period_ns))

    def _wait(self, gap_ns: int) -> None:
        """Ticks are counted from when the last one was due, so that a late one delays no other."""
        self._due_ns += gap_ns
        self._time.after(max(0, self._due_ns - self._time.now_ns()), self._tick)

    def _tick(self) -> None:
        if self.stopped:
            return
        self._wait(between(self._ticks, self._period_ns // 2, self._period_ns + self._period_ns // 2))
        if not self.busy:
            self._act()

    def _act(self) -> None:
        where = pick(self._acts, self._partitions)
        drawn = below(self._acts, 100)
        if drawn < APPENDS:
            leave = self._phases.now
            if leave is not None and self._append(where, leave):
                return
        if drawn < APPENDS + READS:
            self._submit(where, (self._read(where),))
        else:
            self._submit(where, (Operation(kind="end_offset", topic=where[0], partition=where[1]),))

    def _append(self, where: TopicPartition, leave: Leave) -> bool:
        count = leave.take(between(self._acts, 2, BATCH) if happens(self._acts, 1, 8) else 1)
        if count:
            operation = Operation(kind="append", topic=where[0], partition=where[1], acks=leave.acks)
            self._submit(where, (operation,) * count, leave)
        return count > 0

    def _read(self, where: TopicPartition) -> Operation:
        end = self._ends[where]
        drawn = below(self._acts, 10)
        if drawn == 0:
            from_offset = 0
        elif drawn == 1:
            from_offset = end + between(self._acts, 1, BEYOND)
        else:
            from_offset = max(0, end - between(self._acts, 0, RECENT))
        most = pick(self._acts, LIMITS)
        return Operation(kind="read", topic=where[0], partition=where[1], from_offset=from_offset, max_records=most)

    def _submit(self, where: TopicPartition, batch: tuple[Operation, ...], leave: Leave | None = None) -> None:
        def done(rows: tuple[Row, ...]) -> None:
            self.busy = False
            self._ends[where] = end_as_told(rows[-1], self._ends[where])
            if leave is not None:
                self._phases.answered(leave, len(rows))

        self.busy = True
        self._process.submit(batch, done)


def partitions_of(plan: Plan) -> tuple[TopicPartition, ...]:
    """Every partition of every topic, in the plan's order."""
    return tuple((name, index) for name, topic in plan.topics.items() for index in range(topic.partitions))
