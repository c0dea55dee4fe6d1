"""workloads/idempotent.py: retrying producers that must neither duplicate nor reorder (PROTOCOL 6.8 to 6.15, DESIGN 5).

In     a Stage
Out    bursts of batches to one partition at a time, several of them in flight; reads and end offsets; a producer id now and then.
       One process in three only looks. The rate counts requests, the first attempts of batches among them
Keeps  producers come and go: after some forty bursts a process waits for what is open and takes a new producer id. Half of the
       ids begin so near the end of their sequences that these wrap. Between bursts an epoch is raised now and then
Not    what is sent again, and under which sequence: lane.py
"""

from __future__ import annotations

from collections.abc import Callable

from model.chance import below, between, happens, pick
from model.cluster import TopicPartition
from model.operation import Operation, Row
from model.workload import Process, Stage
from workloads.lane import SEQUENCES, Identity, Lane
from workloads.log import LogActor
from workloads.looking import Looking
from workloads.partitions import spread_of
from workloads.phases import Leave, Phases
from workloads.ticks import Ticks
from workloads.writing import Writing

LOOKS = 20  # of 100 ticks of a producer, where nothing is open
ONLY_LOOKS = 0, 75  # the shares of the others: no appends, reads, and the rest asks for the end offset
BURSTS = 40  # of one producer id, on average
BURSTS_OF_AN_EPOCH = 20  # in one partition, on average, unless something goes wrong
NEAR_THE_END = 30  # sequences before they wrap


class IdempotentWorkload:
    """Of every three processes two produce and one looks."""

    def __init__(self, stage: Stage) -> None:
        self.phases = Phases(stage)
        self._actors = [self._actor(stage, process) for process in stage.processes]

    def _actor(self, stage: Stage, process: Process) -> LogActor | _Producer:
        writer = process.number - process.number // 3
        if process.number % 3 == 2:
            return LogActor(stage, process, self.phases, writer, ONLY_LOOKS)
        return _Producer(stage, process, self.phases, writer)

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


class _Producer:
    """One process: its producer id, and a lane for each partition that it wrote to under this id."""

    def __init__(self, stage: Stage, process: Process, phases: Phases, writer: int) -> None:
        plan, number = stage.plan, process.number
        self._time, self._process, self._phases, self._workload = stage.time, process, phases, plan.workload
        self._acts = stage.chance(f"idempotent:acts:{number}")
        period_ns = plan.workload.rate.interval_ns * len(stage.processes)
        self._ticks = Ticks(stage.time, stage.chance(f"idempotent:ticks:{number}"), period_ns, self._act)
        self._spread = spread_of(plan)
        self._looking = Looking(plan, self._acts)
        self._writing = Writing(plan.workload, writer, self._acts, idempotent=True)
        self._waits = False  # for an answer to something that is no append
        self._identity: Identity | None = None
        self._lanes: dict[TopicPartition, Lane] = {}

    def start(self) -> None:
        self._ticks.start()

    def stop(self) -> None:
        self._ticks.stopped = True
        for lane in self._lanes.values():
            lane.stop()

    @property
    def idle(self) -> bool:
        return not self._waits and all(lane.idle for lane in self._lanes.values())

    def _act(self) -> None:
        if self._waits:
            return
        where, leave = pick(self._acts, self._spread), self._phases.now
        if below(self._acts, 100) < LOOKS or leave is None:
            if self.idle:
                self._look(where)
        elif self._identity is not None:
            self._burst(where, self._identity, leave)
        elif self.idle:
            self._submit(Operation(kind="init"), self._on_identity)

    # -- appends --------------------------------------------------------------------------------------------------------

    def _burst(self, where: TopicPartition, identity: Identity, leave: Leave) -> None:
        lane = self._lanes.get(where)
        if lane is None:
            lane = self._lanes[where] = Lane(self._time, self._process, self._workload, identity)
        if lane.idle and happens(self._acts, 1, BURSTS_OF_AN_EPOCH):
            lane.raise_epoch()
        begun = min(lane.room, between(self._acts, 1, self._workload.in_flight))
        for _ in range(begun):
            count = leave.take(between(self._acts, 1, self._workload.batch))
            if count:
                lane.begin(self._writing.batch(where, count, leave), lambda rows: self._over(where, leave, rows))
        self._ticks.skip(max(0, begun - 1))
        if lane.worn_out or happens(self._acts, 1, BURSTS):
            self._identity = None

    def _over(self, where: TopicPartition, leave: Leave, rows: tuple[Row, ...]) -> None:
        if rows:
            self._looking.learn(where, rows[-1])
            self._phases.answered(leave, len(rows))

    def _on_identity(self, row: Row) -> None:
        if row.producer_id is None or row.producer_epoch is None:
            return
        near = happens(self._acts, 1, 2)
        first = SEQUENCES - between(self._acts, 1, NEAR_THE_END) if near else 0
        self._identity, self._lanes = Identity(row.producer_id, row.producer_epoch, first), {}

    # -- everything else ------------------------------------------------------------------------------------------------

    def _look(self, where: TopicPartition) -> None:
        reads = below(self._acts, 4) > 0
        asked = self._looking.read(where) if reads else self._looking.end_offset(where)
        self._submit(asked, lambda row: self._looking.learn(where, row))

    def _submit(self, asked: Operation, then: Callable[[Row], None]) -> None:
        def done(rows: tuple[Row, ...]) -> None:
            self._waits = False
            then(rows[0])

        self._waits = True
        self._process.submit((asked,), done)
