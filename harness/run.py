"""harness/run.py: one run, from a plan to everything that was recorded of it: written once, for every world (DESIGN 3).

In     a plan whose schedule is explicit, a cluster that has not been started
Out    `Recorded`: history, events with their damage, changes, registrations, observations, and what keeps a verdict from being
       clear
Steps  start, create topics, workload and faults, heal, settle, final read, collect. Time zero is where workload and faults begin
Not    which world this is, where it is stored (harness/execute.py), what it proves (checkers/)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from harness.recorder import Recorder
from model.chance import stream
from model.cluster import Ability, Cluster, ClusterState, Told, TopicPartition, Violation
from model.config import recovery_bound_ns
from model.operation import Row
from model.plan import Plan
from model.quantity import write_duration
from model.refusal import InfrastructureFailure, Refusal
from model.schedule import Event, Schedule
from model.vocabulary import FAULTS
from model.workload import Process, Stage, Workload
from nemesis.nemesis import Kind, Nemesis
from workloads.catalogue import workload_named
from workloads.final_read import Expected, FinalRead

OBSERVE_NS = 250 * 10**6
POLL_NS = 10 * 10**6
ADMIN_LIMIT_NS = 30 * 10**9
CLOCK_VERBS = frozenset({Ability.SKEW, Ability.JUMP, Ability.STROBE, Ability.DRIFT})


class RunWatch:
    """Sees faults and operations of a run; for traces. Override what is of interest."""

    def began(self, at_ns: int) -> None:
        """Workload and faults begin: what is told as a time of the run counts from here."""

    def fault(self, at_ns: int, kind: Kind, number: int, event: Event, text: str) -> None: ...

    def row(self, at_ns: int, row: Row) -> None: ...


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is known of a run when it is over. Times count from the moment the workload began."""

    schedule: Schedule
    rows: list[Row]
    events: list[dict[str, Any]]
    changes: list[dict[str, Any]]
    registrations: list[dict[str, Any]]
    observations: list[dict[str, Any]]
    changes_complete: bool
    digest: str | None
    converged: bool  # within the recovery bound after healing
    read_to_the_end: bool  # the final read of every partition is complete
    excuse: str  # why nobody could expect it to converge
    crashed: tuple[str, ...]  # node processes that ended although the protocol does not allow it
    violations: tuple[Violation, ...]
    refused: Mapping[int, str]
    toothless: tuple[int, ...]


def run(plan: Plan, schedule: Schedule, cluster: Cluster, watch: RunWatch | None = None, collect: Path | None = None) -> Recorded:
    """Execute a plan on a cluster. `collect`: where the nodes' directories go. The cluster is stopped, however this ends."""
    check_abilities(plan, schedule, cluster.can)
    make_workload = workload_named(plan.workload.name)
    try:
        recorded = _Run(plan, schedule, cluster, watch or RunWatch()).execute(make_workload)
        if collect is not None:
            cluster.collect(collect)
        return recorded
    finally:
        cluster.stop()


def check_abilities(plan: Plan, schedule: Schedule, can: frozenset[Ability]) -> None:
    """A plan that asks for what this world cannot do is refused before anything starts."""
    wanted = [
        (f"schedule/{i}/fault", ability) for i, event in enumerate(schedule) for ability in sorted(FAULTS[event.fault].needs)
    ]
    wanted += [(f"needs/{i}", Ability(name)) for i, name in enumerate(plan.needs)]
    for where, ability in wanted:
        if ability not in can:
            raise Refusal(f"{plan.cluster} cannot do {ability.value!r} here", where=where, allowed=", ".join(sorted(can)))


class _Run:
    """One run, while it goes on."""

    def __init__(self, plan: Plan, schedule: Schedule, cluster: Cluster, watch: RunWatch) -> None:
        self.plan, self.schedule, self.cluster, self.watch = plan, schedule, cluster, watch
        self.time = cluster.time
        self.rows: list[Row] = []
        self.observations: list[dict[str, Any]] = []
        self.recovery_ns = plan.judge.recovery_ns or recovery_bound_ns(plan.config)
        self.origin_ns = 0

    def execute(self, make_workload: Callable[[Stage], Workload]) -> Recorded:
        try:
            self.cluster.start()
            self._create_topics()
        except InfrastructureFailure:
            told = self.cluster.told()
            if not told.violations and all(end.allowed for end in told.exits):
                raise
            return self._broken_before_it_began(told)
        self._begin()
        workload = make_workload(self._stage("workload"))
        workload.start()
        self.nemesis.start()
        self._observe()
        self.time.run_until(_never, self.plan.for_ns)
        self._heal()
        settled = self._until_converged(self.recovery_ns)
        workload.stop()
        ended = self.time.run_until(lambda: workload.idle, self.recovery_ns)  # the same processes read everything once more
        read = ended and self._final_read()
        self.recorder.close()
        return self._recorded(self.cluster.told(settled=settled and read), settled, read)

    def _broken_before_it_began(self, told: Told) -> Recorded:
        """A cluster that does not come up is the infrastructure's failure, unless its nodes have broken a promise by then."""
        self._begin()
        self.recorder.close()
        return self._recorded(told, settled=False, read=False)

    # -- before ---------------------------------------------------------------------------------------------------------

    def _create_topics(self) -> None:
        answers: dict[str, str | None] = {}
        for name, topic in self.plan.topics.items():
            self.cluster.admin.create_topic(name, topic, partial(answers.__setitem__, name))
        self.time.run_until(lambda: len(answers) == len(self.plan.topics), ADMIN_LIMIT_NS)
        for name in self.plan.topics:
            if (why := answers.get(name, f"no answer within {write_duration(ADMIN_LIMIT_NS)}")) is not None:
                raise InfrastructureFailure(f"the topic {name} could not be created: {why}")
        if not self._until_converged(ADMIN_LIMIT_NS):
            raise InfrastructureFailure(
                f"not every partition had all its replicas in sync within {write_duration(ADMIN_LIMIT_NS)}"
            )

    def _begin(self) -> None:
        self.origin_ns = self.time.now_ns()
        self.watch.began(self.origin_ns)
        tag = self.plan.tag or 0
        self.recorder = Recorder(self.time, tag, self.rows.append, origin_ns=self.origin_ns, on_row=self._on_row)
        self.processes = tuple(self._process(number) for number in range(self.plan.workload.processes))
        self.nemesis = Nemesis(self.cluster, self.plan, self.schedule, lambda: self.recorder.acked, self._on_fault)

    def _process(self, number: int) -> Process:
        """Processes are dealt out to the client groups; each has a client of its own."""
        client = self.cluster.client(number % self.plan.client_groups + 1)
        return self.recorder.process(number, client, f"{self.plan.workload.client}-{number}")

    def _stage(self, purpose: str) -> Stage:
        seed = self.plan.seed
        return Stage(self.plan, self.time, self.processes, lambda name: stream(seed, purpose, name), self.nemesis.met)

    # -- meanwhile ------------------------------------------------------------------------------------------------------

    def _on_row(self, row: Row) -> None:
        self.watch.row(self.time.now_ns(), row)

    def _on_fault(self, kind: Kind, number: int, event: Event, text: str) -> None:
        self.watch.fault(self.time.now_ns(), kind, number, event, text)

    def _observe(self) -> None:
        self.observations += observed(self.cluster.observe(), self.origin_ns)
        self.time.after(OBSERVE_NS, self._observe)

    # -- after ----------------------------------------------------------------------------------------------------------

    def _heal(self) -> None:
        """Every fault ends, every node runs, every clock is right: what happens now happens to a healthy cluster."""
        self.nemesis.heal_all()
        for node in self.cluster.nodes:
            if self.cluster.can & CLOCK_VERBS:
                self.cluster.clocks.restore(node)
            self.cluster.processes.start(node)

    def _until_converged(self, limit_ns: int) -> bool:
        """Looked at now and then: to observe a cluster costs more than most of what happens in it."""
        found = over = False

        def look() -> None:
            nonlocal found
            found = converged(self.cluster.observe(), self.plan)
            if not found and not over:
                self.time.after(POLL_NS, look)

        look()
        over = not self.time.run_until(lambda: found, limit_ns)
        return found

    def _final_read(self) -> bool:
        patience_ns = self.recovery_ns // 2  # the rest is for reading
        final = FinalRead(self._stage("final"), Expected(acknowledged_ends(self.rows), self.time.now_ns() + patience_ns))
        final.start()
        done = self.time.run_until(lambda: final.done, self.recovery_ns)
        final.stop()
        return done

    def _recorded(self, told: Told, settled: bool, read: bool) -> Recorded:
        events = self.nemesis.rows(self.origin_ns)
        for number, end in enumerate(told.exits, len(events)):
            args = json.dumps({"reason": end.reason, "allowed": end.allowed})
            fired = {"fired_ns": end.at_ns - self.origin_ns, "resolved": [end.node]}
            events.append({"event": number, "fault": "exit", "args": args, **fired})
        return Recorded(
            schedule=self.schedule,
            rows=self.rows,
            events=events,
            changes=[self._since_the_beginning(row) for row in told.changes],
            registrations=[self._since_the_beginning(row) for row in told.registrations],
            observations=self.observations,
            changes_complete=told.complete,
            digest=told.digest,
            converged=settled,
            excuse=told.excuse,
            read_to_the_end=read,
            crashed=tuple(f"n{end.node}: {end.reason}" for end in told.exits if not end.allowed),
            violations=tuple(self._counted_from_the_beginning(each) for each in told.violations),
            refused=self.nemesis.refused,
            toothless=self.nemesis.toothless,
        )

    def _counted_from_the_beginning(self, violation: Violation) -> Violation:
        story = tuple((at_ns - self.origin_ns, line) for at_ns, line in violation.story)
        return msgspec.structs.replace(violation, at_ns=violation.at_ns - self.origin_ns, story=story)

    def _since_the_beginning(self, row: Mapping[str, Any]) -> dict[str, Any]:
        return {**row, "at_ns": row["at_ns"] - self.origin_ns}


def converged(state: ClusterState, plan: Plan) -> bool:
    """Every partition of the plan has a leader in office, and all its replicas are in sync; and nobody is about to leave."""
    if state.stopping:
        return False
    for name, topic in plan.topics.items():
        for index in range(topic.partitions):
            at = state.partitions.get((name, index))
            if at is None or at.leader is None or len(at.isr) < len(at.replicas):
                return False
            leader = at.seen.get(at.leader)
            if leader is None or leader.role != "leader" or leader.leader_epoch != at.leader_epoch:
                return False
    return True


def acknowledged_ends(rows: Iterable[Row]) -> dict[TopicPartition, int]:
    """Behind the last append of each partition that was acknowledged, by all or by the leader alone."""
    ends: dict[TopicPartition, int] = {}
    for row in rows:
        if row.kind == "append" and row.type == "ok" and row.offset is not None and row.topic is not None:
            at = row.topic, row.partition or 0
            ends[at] = max(ends.get(at, 0), row.offset + 1)
    return ends


def observed(state: ClusterState, origin_ns: int) -> list[dict[str, Any]]:
    """One row per replica, as its own broker tells it."""
    return [
        {**msgspec.structs.asdict(replica), "topic": topic, "partition": partition, "at_ns": state.at_ns - origin_ns}
        for (topic, partition), at in state.partitions.items()
        for replica in at.seen.values()
    ]


def _never() -> bool:
    return False
