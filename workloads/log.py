"""workloads/log.py: the log workload: append unique values, read ranges, ask for the end offset (DESIGN 5).

In     a Stage
Out    requests at the plan's rate, all processes together: about 60 % appends, 30 % reads, 10 % end offsets, over all partitions
Keeps  one request open per process: a tick that finds it busy passes. Nothing is sent twice: an append that failed is over, and
       the next tick makes another. When ticks come, and what they would do, are streams of their own for each process
Not    when appends may be made: phases.py; what they carry: writing.py; the read of everything at the end: final_read.py
"""

from __future__ import annotations

from model.chance import below, between, happens, pick
from model.cluster import TopicPartition
from model.operation import Operation, Row
from model.workload import Process, Stage
from workloads.looking import Looking
from workloads.partitions import spread_of
from workloads.phases import Leave, Phases
from workloads.ticks import Ticks
from workloads.writing import Writing

SHARES = 60, 30  # of 100 requests append, read; the rest asks for the end offset


class LogWorkload:
    """All processes of the plan, each on its own."""

    def __init__(self, stage: Stage) -> None:
        self.phases = Phases(stage)
        self._actors = [LogActor(stage, process, self.phases, writer) for writer, process in enumerate(stage.processes)]

    def start(self) -> None:
        self.phases.start()
        for actor in self._actors:
            actor.start()

    def stop(self) -> None:
        self.phases.stop()
        for actor in self._actors:
            actor.stop()

    @property
    def idle(self) -> bool:
        return all(actor.idle for actor in self._actors)


class LogActor:
    """One process: what it does when it ticks."""

    def __init__(self, stage: Stage, process: Process, phases: Phases, writer: int, shares: tuple[int, int] = SHARES) -> None:
        workload = stage.plan.workload
        self.idle = True
        self._process, self._phases = process, phases
        self._appends, self._reads = shares
        self._acts = stage.chance(f"log:acts:{process.number}")
        period_ns = workload.rate.interval_ns * len(stage.processes)
        self._ticks = Ticks(stage.time, stage.chance(f"log:ticks:{process.number}"), period_ns, self._tick)
        self._spread, self._most = spread_of(stage.plan), workload.batch
        self._looking = Looking(stage.plan, self._acts)
        self._writing = Writing(workload, writer, self._acts)

    def start(self) -> None:
        self._ticks.start()

    def stop(self) -> None:
        self._ticks.stopped = True

    def _tick(self) -> None:
        if self.idle:
            self._act()

    def _act(self) -> None:
        where = pick(self._acts, self._spread)
        drawn = below(self._acts, 100)
        if drawn < self._appends:
            leave = self._phases.now
            if leave is not None and self._append(where, leave):
                return
        if drawn < self._appends + self._reads:
            self._submit(where, (self._looking.read(where),))
        else:
            self._submit(where, (self._looking.end_offset(where),))

    def _append(self, where: TopicPartition, leave: Leave) -> bool:
        """An append in eight carries several records at once."""
        several = self._most > 1 and happens(self._acts, 1, 8)
        count = leave.take(between(self._acts, 2, self._most) if several else 1)
        if count:
            self._submit(where, self._writing.batch(where, count, leave), leave)
        return count > 0

    def _submit(self, where: TopicPartition, batch: tuple[Operation, ...], leave: Leave | None = None) -> None:
        def done(rows: tuple[Row, ...]) -> None:
            self.idle = True
            self._looking.learn(where, rows[-1])
            if leave is not None:
                self._phases.answered(leave, len(rows))

        self.idle = False
        self._process.submit(batch, done)
