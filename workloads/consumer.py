"""workloads/consumer.py: long-lived consumers behind processes that append (DESIGN 5).

In     a Stage
Out    one process in three appends as the log workload does; the others are consumers, and the rate counts all their requests
Keeps  a consumer has partitions with positions, begins at the start, at the end or where it was, polls them in turn, and goes on
       behind what it was given. Now and then it seeks, or is assigned other partitions. A position out of range is begun anew
Not    sessions: the recorder numbers them
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Literal

from model.chance import below, between, happens, pick, some
from model.cluster import TopicPartition
from model.operation import Kind, Operation, Row
from model.workload import Process, Stage
from workloads.answers import end_of_read
from workloads.log import LogActor
from workloads.partitions import partitions_of, spread_of
from workloads.phases import Phases
from workloads.ticks import Ticks

SHARES = 90, 0  # of 100 requests of the others append; the rest asks for the end offset
POLLS_PER_SEEK, POLLS_PER_ASSIGNMENT = 20, 60  # on average
MOST_ASSIGNED = 3
BACK, FORWARD, FAR = 20, 5, 1_000  # records that a seek skips at most

Where = int | Literal["start", "end"]


class ConsumerWorkload:
    """Of every three processes one appends and two consume."""

    def __init__(self, stage: Stage) -> None:
        self.phases = Phases(stage)
        self._actors = [self._actor(stage, process) for process in stage.processes]

    def _actor(self, stage: Stage, process: Process) -> LogActor | _Consumer:
        writer, role = divmod(process.number, 3)
        return _Consumer(stage, process) if role else LogActor(stage, process, self.phases, writer, SHARES)

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


class _Consumer:
    """One process: what is assigned to it, and where it is in each partition."""

    def __init__(self, stage: Stage, process: Process) -> None:
        plan, number = stage.plan, process.number
        self.idle = True
        self._process = process
        self._acts = stage.chance(f"consumer:acts:{number}")
        period_ns = plan.workload.rate.interval_ns * len(stage.processes)
        self._ticks = Ticks(stage.time, stage.chance(f"consumer:ticks:{number}"), period_ns, self._tick)
        self._partitions, self._spread, self._size = partitions_of(plan), spread_of(plan), plan.workload.value_size.most
        self._assigned: deque[TopicPartition] = deque()
        self._positions: dict[TopicPartition, int] = {}
        """Also of partitions that were assigned once."""
        self._begins: deque[tuple[TopicPartition, Where]] = deque()
        """What is still to be assigned, and where it begins."""

    def start(self) -> None:
        self._ticks.start()

    def stop(self) -> None:
        self._ticks.stopped = True

    def _tick(self) -> None:
        if self.idle:
            self._act()

    def _act(self) -> None:
        if not self._assigned or (not self._begins and happens(self._acts, 1, POLLS_PER_ASSIGNMENT)):
            self._draw_assignment()
        elif not self._begins and happens(self._acts, 1, POLLS_PER_SEEK):
            self._draw_seek(self._assigned[0])
        if self._begins:
            self._begin(*self._begins[0])
        else:
            self._poll(self._assigned[0])

    # -- assignments ----------------------------------------------------------------------------------------------------

    def _draw_assignment(self) -> None:
        """One partition as requests are spread, or several, each as likely."""
        count = between(self._acts, 1, min(MOST_ASSIGNED, len(self._partitions)))
        chosen = some(self._acts, self._partitions, count) if count > 1 else (pick(self._acts, self._spread),)
        self._assigned = deque(chosen)
        self._begins = deque((each, self._place(each)) for each in chosen)

    def _place(self, where: TopicPartition) -> Where:
        drawn = below(self._acts, 4)
        if drawn < 2:
            return ("start", "end")[drawn]
        return self._positions.get(where, "start")

    def _draw_seek(self, where: TopicPartition) -> None:
        position, drawn = self._positions[where], below(self._acts, 8)
        if drawn < 4:
            to = max(0, position - between(self._acts, 1, BACK))
        elif drawn < 7:
            to = position + between(self._acts, 1, FORWARD)
        else:
            to = position + between(self._acts, FORWARD, FAR)
        self._begins.append((where, to))

    def _begin(self, where: TopicPartition, at: Where) -> None:
        if at == "start":
            self._submit("start_offset", where, self._on_place)
        elif at == "end":
            self._submit("end_offset", where, self._on_place)
        else:
            self._submit("assign", where, self._on_assigned, offset=at)

    def _on_place(self, where: TopicPartition, row: Row) -> None:
        """Where the start or the end is; not knowing it, it is asked again with the next tick."""
        if row.offset is not None:
            self._begins[0] = where, row.offset

    def _on_assigned(self, where: TopicPartition, row: Row) -> None:
        if row.offset is not None:
            self._positions[where] = row.offset
            self._begins.popleft()

    # -- polls ----------------------------------------------------------------------------------------------------------

    def _poll(self, where: TopicPartition) -> None:
        self._assigned.rotate(-1)
        self._submit("poll", where, self._on_polled, from_offset=self._positions[where])

    def _on_polled(self, where: TopicPartition, row: Row) -> None:
        if row.error == "OFFSET_OUT_OF_RANGE":
            self._begins.append((where, pick(self._acts, ("start", "end"))))
        elif row.type == "ok" and (end := end_of_read(row)) is not None:
            self._positions[where] = end

    def _submit(
        self,
        kind: Kind,
        where: TopicPartition,
        then: Callable[[TopicPartition, Row], None],
        offset: int | None = None,
        from_offset: int | None = None,
    ) -> None:
        def done(rows: tuple[Row, ...]) -> None:
            self.idle = True
            then(where, rows[0])

        self.idle = False
        topic, partition = where
        asked = Operation(kind=kind, topic=topic, partition=partition, offset=offset, from_offset=from_offset, size=self._size)
        self._process.submit((asked,), done)
