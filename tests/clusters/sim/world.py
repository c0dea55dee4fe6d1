"""tests/clusters/sim/world.py: a small simulated cluster, and the words in which tests speak of it.

In     a topic with one partition on brokers n1, n2, n3 (n1 leads), controllers n4, n5, n6 (n4 is active); client groups c1, c2
Out    faults fired through the nemesis, one at a time; appends and what became of them; who heard what from whom
Keeps  virtual time, one seed: a test that passes once passes always. Who leads is drawn, so seeds are tried until it is n1 and n4
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import Any

from clusters.sim.clock import NodeClock
from clusters.sim.cluster import SimCluster
from clusters.sim.damage import batches_of
from clusters.sim.env import SimEnv
from clusters.sim.kinds import kind_of
from clusters.sim.latency import MS
from clusters.sim.watch import Watch, Way
from harness.run import converged
from model.cluster import NodeId, PartitionState
from model.operation import Operation
from model.plan import Nodes, Plan, Topic
from model.schedule import Event, Target
from nemesis.nemesis import Nemesis
from replication.env import Failure
from replication.messages import MetadataRequest

S = 1_000 * MS
MOST_TRIES = 200
SOON_NS = 100 * MS  # no append of a healthy cluster takes as long, with the seeds that are used here
LOG = "t-0/00000000000000000000.log"
IN_SYNC = {"min.insync.replicas": 2}
SYNCED = {**IN_SYNC, "flush.messages": 1}  # every append is synced


class Seen(Watch):
    """Writes down what arrives, and which processes begin and end."""

    def __init__(self) -> None:
        self.messages: list[tuple[int, Way, tuple[int, int], str]] = []
        self.processes: list[tuple[int, NodeId, str]] = []

    def message(self, at_ns: int, way: Way, ends: tuple[int, int], message: Any) -> None:
        self.messages.append((at_ns, way, ends, kind_of(message)))

    def process(self, at_ns: int, node: NodeId, what: Any, why: str) -> None:
        self.processes.append((at_ns, node, what))


class Fault:
    """One event of the nemesis."""

    def __init__(self, world: World, event: Event) -> None:
        self._world = world
        self._nemesis = Nemesis(world.cluster, world.plan, (event,), lambda: 0)
        self._nemesis.start()
        world.run(0)

    def heal(self) -> Fault:
        self._nemesis.heal_all()
        return self

    @property
    def row(self) -> dict[str, Any]:
        return self._nemesis.rows(0)[0]

    @property
    def effect(self) -> bool | None:
        assert self.row["healed_ns"] is not None, "an effect is known when it is over"
        return self.row["effect"]  # type: ignore[no-any-return]

    @property
    def dropped(self) -> dict[NodeId, int | None]:
        """How many records each node lost."""
        return {damage["node"]: damage["dropped"] for damage in self.row["damage"]}


class World:
    """A cluster that is up, with its topic in sync."""

    def __init__(self, *, seed: int = 1, config: Mapping[str, object] = IN_SYNC, elr: bool = True, brokers: int = 3) -> None:
        for candidate in range(seed, seed + 1_000 * MOST_TRIES, 1_000):
            self._start(candidate, config, elr, brokers)
            if self.partition.replicas == (1, 2, 3) and self.cluster.observe().active_controller == brokers + 1:
                break
        self._clients = {group: self.cluster.client(group) for group in (1, 2)}
        self._values = 0

    def _start(self, seed: int, config: Mapping[str, object], elr: bool, brokers: int) -> None:
        topics = {"t": Topic(config=dict(config))}
        settings: dict[str, object] = {"profile": "brisk", "eligible.leader.replicas.version": int(elr)}
        nodes = Nodes(brokers=brokers)
        self.plan = Plan(tidemark=1, seed=seed, schedule="none", topics=topics, config=settings, nodes=nodes)
        self.seen = Seen()
        self.cluster = self._make(self.plan)
        self.cluster.start()
        answers: list[str | None] = []
        self.cluster.admin.create_topic("t", topics["t"], answers.append)
        self.until(lambda: answers == [None])
        self.until_healthy()

    def _make(self, plan: Plan) -> SimCluster:
        return SimCluster(plan, watch=self.seen)

    # -- time -----------------------------------------------------------------------------------------------------------

    @property
    def now(self) -> int:
        return self.cluster.kernel.now

    def run(self, ns: int) -> None:
        self.cluster.time.run_until(lambda: False, ns)

    def until(self, done: Callable[[], bool], limit_ns: int = 30 * S) -> int:
        """How long it took."""
        began = self.now
        assert self.cluster.time.run_until(done, limit_ns), "it never came to that"
        return self.now - began

    def until_healthy(self) -> int:
        """Every replica runs, follows or leads, and holds what the leader holds."""
        return self.until(self._healthy)

    def _healthy(self) -> bool:
        state = self.cluster.observe()
        replicas = state.partitions["t", 0].seen.values() if converged(state, self.plan) else ()
        return len({replica.leo for replica in replicas}) == 1 and all(replica.role != "none" for replica in replicas)

    # -- looking --------------------------------------------------------------------------------------------------------

    @property
    def partition(self) -> PartitionState:
        return self.cluster.observe().partitions["t", 0]

    @property
    def leader(self) -> NodeId | None:
        return self.partition.leader

    @property
    def isr(self) -> tuple[NodeId, ...]:
        return tuple(sorted(self.partition.isr))

    def runs(self, node: NodeId) -> bool:
        return node in self.cluster.observe().running

    def env(self, node: NodeId) -> SimEnv:
        env = self.cluster.processes.nodes[node].env
        assert env is not None
        return env

    def starts(self, node: NodeId) -> int:
        return self.cluster.processes.nodes[node].starts

    def disk(self, node: NodeId) -> Any:
        return self.cluster.processes.nodes[node].disks[0]

    def records_on_disk(self, node: NodeId) -> int:
        """Counted by reading the segments."""
        return sum(end - base for base, end, _, _ in batches_of(self.disk(node).content()).get(("t", 0), []))

    def wall_error_ms(self, node: NodeId) -> int:
        """How far a node's wall clock is from that of a client."""
        return self.env(node).wall_ms() - NodeClock().wall_ms(self.now)

    def heard(self, dialer: int, node: int, *, since: int, way: Way = "request", kind: str | None = None) -> list[int]:
        """When requests of one arrived at the other, or the answers to them."""
        ends = (dialer, node) if way != "answer" else (node, dialer)
        return [
            at
            for at, which, between, name in self.seen.messages
            if (which, between) == (way, ends) and at >= since and kind in (None, name)
        ]

    # -- clients --------------------------------------------------------------------------------------------------------

    def append(self, count: int = 1, *, acks: int = -1, group: int = 1) -> list[str]:
        """What became of so many appends, one after the other."""
        return [self.timed_append(acks=acks, group=group)[0] for _ in range(count)]

    def timed_append(self, *, acks: int = -1, group: int = 1) -> tuple[str, int]:
        """What became of it, and how long that took."""
        answers: list[str] = []
        self._values += 1
        asked = Operation(kind="append", topic="t", partition=0, value=self._values, acks=acks)  # type: ignore[arg-type]
        self._clients[group].submit((asked,), lambda answer: answers.append(answer[0].fact))
        took = self.until(lambda: bool(answers))
        return answers[0], took

    # -- faults ---------------------------------------------------------------------------------------------------------

    def fire(self, fault: str, target: Target | None = None, **args: object) -> Fault:
        return Fault(self, Event(at_ns=0, fault=fault, target=target, args=args))

    # -- who can talk to whom -------------------------------------------------------------------------------------------

    def talking(self) -> set[tuple[int, int]]:
        """Every (dialer, node) of which a question is answered within a second, client groups included."""
        answered: set[tuple[int, int]] = set()
        for dialer in (*self.plan.nodes.ids, -1, -2):
            for node in self.plan.nodes.ids:
                if dialer != node:
                    self._probe(dialer, node, answered)
        self.run(1 * S)
        return answered

    def _probe(self, dialer: int, node: int, answered: set[tuple[int, int]]) -> None:
        env = self.env(dialer) if dialer > 0 else SimEnv(dialer, self.cluster.network, NodeClock(), Random(0), _Nobody())
        channel = "forward" if node in self.plan.nodes.controller_ids else f"probe-{self.now}"

        def then(answer: Any) -> None:
            if not isinstance(answer, Failure):
                answered.add((dialer, node))

        env.request(node, channel, MetadataRequest(None), 1 * S, then)

    def everybody(self) -> set[tuple[int, int]]:
        """What `talking` says of a healthy cluster."""
        return {(a, b) for a in (*self.plan.nodes.ids, -1, -2) for b in self.plan.nodes.ids if a != b}


class _Nobody:
    """Probes tell nothing."""

    def on_told(self, env: SimEnv, event: Any) -> None: ...

    def on_halted(self, env: SimEnv, reason: str, *, allowed: bool) -> None:
        raise AssertionError(reason)


def both_ways(pairs: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
    """Client groups dial and are never dialled."""
    return {(a, b) for one, other in pairs for a, b in ((one, other), (other, one)) if b > 0}
