"""tests/clusters/sim/traced.py: words for the worked traces of PROTOCOL section 16, played by whole nodes.

In     rules, if they are not the right ones; the world of world.py: brokers n1 (leads), n2, n3, controllers n4 (active), n5, n6
Out    what each log holds and each leader believes; what the controllers committed; clients that ask one broker, whoever leads
Keeps  the invariants look on. What they find ends the trace as `Violated`, or is noted where a trace goes on to the damage
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from clusters.sim.clock import NodeClock
from clusters.sim.cluster import SimCluster
from clusters.sim.env import SimEnv
from clusters.sim.invariants import OnViolation
from model.cluster import Grip, Link, NodeId, Streams
from model.plan import Plan
from replication.batch import Record, decode, encode, headers
from replication.env import Failure
from replication.identity import NO_EPOCH
from replication.image import BrokerRegistration, PartitionState
from replication.log import Log
from replication.messages import (
    LATEST,
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    ListedOffset,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ProducePartition,
    ProduceRequest,
)
from replication.partition import Partition
from replication.rules import Rules
from replication.state import Leadership
from tests.clusters.sim.world import IN_SYNC, S, Seen, World

PROBE = -9
"""Dials through links that no fault touches."""

SEED = 14_001  # of which n1 leads and n4 is active
CONTROLLERS = (4, 5, 6)

Change = tuple[NodeId | None, tuple[NodeId, ...], tuple[NodeId, ...]]
"""Leader, ISR, ELR."""


class Violated(Exception):
    """An invariant was: its number, and what it said."""

    def __init__(self, number: int, text: str) -> None:
        super().__init__(f"{number}: {text}")
        self.number = number


class Heard(Seen):
    """Also what was in the fetches of brokers, and what nodes told."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[int, int, FetchRequest]] = []
        self.answered: list[tuple[int, int, FetchResponse]] = []  # who asked, and whom
        self.events: list[tuple[NodeId, Any]] = []

    def message(self, at_ns: int, way: Any, ends: tuple[int, int], message: Any) -> None:
        super().message(at_ns, way, ends, message)
        if isinstance(message, FetchRequest):
            self.asked.append((*ends, message))
        elif isinstance(message, FetchResponse):
            self.answered.append((ends[1], ends[0], message))

    def told(self, at_ns: int, node: NodeId, event: Any) -> None:
        self.events.append((node, event))


class Held:
    """Several grips, let go at once."""

    def __init__(self, grips: list[Grip]) -> None:
        self._grips = grips

    @property
    def touched(self) -> int:
        return sum(grip.touched() or 0 for grip in self._grips)

    def release(self) -> None:
        for grip in self._grips:
            grip.release()


class Traced(World):
    """A cluster that is up, looked into after every event."""

    def __init__(
        self,
        rules: Rules | None = None,
        *,
        config: Mapping[str, object] = IN_SYNC,
        elr: bool = True,
        on_violation: OnViolation = "stop",
    ) -> None:
        self._rules, self._on_violation = rules, on_violation
        self._probes = 0
        super().__init__(seed=SEED, config=config, elr=elr)
        self.began_with = len(self.cluster.tail.changes)

    def _make(self, plan: Plan) -> SimCluster:
        self.seen = self.heard_of = Heard()
        cluster = SimCluster(plan, self._rules, watch=self.seen)
        self.invariants = cluster.assert_invariants(self._on_violation)
        return cluster

    # -- time -----------------------------------------------------------------------------------------------------------

    def run(self, ns: int) -> None:
        super().run(ns)
        self._judge()

    def until(self, done: Callable[[], bool], limit_ns: int = 30 * S) -> int:
        began = self.now
        reached = self.cluster.time.run_until(done, limit_ns)
        self._judge()
        assert reached, "it never came to that"
        return self.now - began

    def _judge(self) -> None:
        if self._on_violation == "stop":
            for violation in self.invariants.violations:
                raise Violated(violation.number, violation.text)

    def ends_well(self) -> None:
        """Everything comes back to where it should be, and what is only true at rest is true."""
        self.until_healthy()
        self.run(1 * S)
        self.invariants.at_the_end()
        self._judge()

    @property
    def found(self) -> list[int]:
        """The numbers of the invariants that were violated, each once."""
        return sorted({violation.number for violation in self.invariants.violations})

    # -- what the controllers committed -----------------------------------------------------------------------------------

    @property
    def topic_id(self) -> bytes:
        return self.cluster.tail.image.ids["t"]

    @property
    def state(self) -> PartitionState:
        return self.cluster.tail.image.topics[self.topic_id].partitions[0]

    @property
    def shape(self) -> Change:
        state = self.state
        return (state.leader if state.has_leader else None, tuple(sorted(state.isr)), tuple(sorted(state.elr)))

    @property
    def elections(self) -> list[str]:
        """How each leader since the beginning came into office."""
        rows = self.cluster.tail.changes[self.began_with :]
        return [row["election"] for row in rows if row["election"] != "none"]

    def history(self) -> list[Change]:
        """Everything that was committed of the partition since the beginning."""
        rows = self.cluster.tail.changes[self.began_with :]
        return [(row["leader"], tuple(sorted(row["isr"])), tuple(sorted(row["elr"]))) for row in rows]

    def registration(self, broker: NodeId) -> BrokerRegistration:
        return self.cluster.tail.image.brokers[broker]

    def fenced(self, broker: NodeId) -> bool:
        return self.registration(broker).fenced

    # -- what nodes have ----------------------------------------------------------------------------------------------------

    def replica(self, node: NodeId) -> Partition:
        program: Any = self.cluster.processes.nodes[node].program
        partition: Partition = program.broker.partitions[self.topic_id, 0]
        return partition

    def log(self, node: NodeId) -> Log:
        return self.replica(node).log

    def leos(self, *nodes: NodeId) -> tuple[int, ...]:
        return tuple(self.log(node).leo for node in nodes)

    def hws(self, *nodes: NodeId) -> tuple[int, ...]:
        return tuple(self.log(node).hw for node in nodes)

    def believes_to_lead(self, node: NodeId) -> bool:
        return self.runs(node) and (self.topic_id, 0) in self.broker(node).partitions and self.replica(node).leader is not None

    def broker(self, node: NodeId) -> Any:
        return self.cluster.processes.nodes[node].program.broker

    def leadership(self, node: NodeId) -> Leadership:
        role = self.replica(node).leader
        assert role is not None, f"n{node} does not lead"
        return role.state

    def known(self, leader: NodeId, *followers: NodeId) -> tuple[int, ...]:
        """The followers' LEOs as their leader knows them."""
        return tuple(self.leadership(leader).followers[follower].leo for follower in followers)

    def contents(self, node: NodeId) -> list[tuple[int, int, str]]:
        """Everything in a log that is open: offset, leader epoch, value."""
        log = self.log(node)
        return _records(log.read(log.log_start, log.leo, 1 << 30, True) or b"")

    def told_by(self, node: NodeId, kind: type[Any]) -> list[Any]:
        return [event for teller, event in self.heard_of.events if teller == node and type(event) is kind]

    def last_fetched(self, who: NodeId, whom: NodeId) -> FetchRequest | None:
        return next((asked for one, other, asked in reversed(self.heard_of.asked) if (one, other) == (who, whom)), None)

    def fetches(self, who: NodeId, whom: NodeId, since: int = 0) -> list[tuple[int, int]]:
        """Offset and last epoch of each fetch of `t` from the given one on."""
        return [
            (part.fetch_offset, part.last_fetched_epoch)
            for one, other, asked in self.heard_of.asked[since:]
            for part in asked.partitions
            if (one, other) == (who, whom) and part.topic_id == self.topic_id
        ]

    def diverging(self, who: NodeId, whom: NodeId) -> list[tuple[int, int]]:
        """Epoch and end of each diverging answer."""
        return [
            (part.diverging_epoch.epoch, part.diverging_epoch.end_offset)
            for one, other, answer in self.heard_of.answered
            for part in answer.responses
            if (one, other) == (who, whom) and part.diverging_epoch is not None
        ]

    # -- clients that ask one broker ----------------------------------------------------------------------------------------

    def ask(self, node: NodeId, message: Any) -> list[Any]:
        """Empty until there is an answer."""
        self._probes += 1
        env = SimEnv(PROBE, self.cluster.network, NodeClock(), self._chance(), _Nobody())
        answers: list[Any] = []
        env.request(node, f"probe-{self._probes}", message, None, answers.append)
        return answers

    def _chance(self) -> Any:
        return self.cluster.network.chance(PROBE, 0, "probe", str(self._probes))

    def _answer(self, node: NodeId, message: Any) -> Any:
        answers = self.ask(node, message)
        self.until(lambda: bool(answers))
        assert not isinstance(answers[0], Failure)
        return answers[0]

    def produce(self, node: NodeId, *values: str, acks: int = -1, timeout_ms: int = 60_000) -> Sent:
        """One batch."""
        records = encode([Record(value.encode()) for value in values])
        return Sent(self.ask(node, ProduceRequest(acks, timeout_ms, (ProducePartition(self.topic_id, 0, records),))))

    def write(self, node: NodeId, *values: str, acks: int = -1) -> int:
        """Until it is answered; its base offset."""
        sent = self.produce(node, *values, acks=acks)
        self.until(lambda: sent.fact is not None)
        assert sent.fact == "NONE"
        return sent.base

    def refused(self, node: NodeId, *, acks: int = -1) -> str | None:
        sent = self.produce(node, "refused", acks=acks)
        self.until(lambda: sent.fact is not None)
        return sent.fact

    def latest(self, node: NodeId) -> str | int:
        """What a consumer is told of the end: an offset or an error."""
        answer = self._answer(node, ListOffsetsRequest((ListOffsetsPartition("t", 0, LATEST),)))
        listed: ListedOffset = answer.partitions[0]
        return listed.offset if listed.error_code == 0 else listed.error_code.name

    def consume(
        self, node: NodeId, offset: int, *, epoch: int = NO_EPOCH, last_epoch: int = NO_EPOCH, replica: int = -1
    ) -> FetchedPartition:
        asked = FetchPartition(self.topic_id, 0, offset, 1 << 20, epoch, last_epoch)
        answer = self._answer(node, FetchRequest(0, 1, 1 << 20, (asked,), replica))
        fetched: FetchedPartition = answer.responses[0]
        return fetched

    def read(self, node: NodeId, offset: int) -> list[str]:
        fetched = self.consume(node, offset)
        assert fetched.error_code == 0
        return [value for at, _, value in _records(fetched.records) if at >= offset]

    # -- holding messages ---------------------------------------------------------------------------------------------------

    def hold(self, message: str, streams: Streams, *links: tuple[int, int], count: int | None = None) -> Held:
        """Messages of one kind wait until this is released."""
        return Held([self.cluster.links.gate(Link(*link), message, "hold", streams, count) for link in links])

    def hold_metadata(self, node: NodeId) -> Held:
        """From now on a broker learns no more of what the controllers commit; its heartbeats and requests pass."""
        held = self.hold("Fetch", "requests", *((node, each) for each in CONTROLLERS))
        self.until(lambda: held.touched > 0)
        return held

    def hold_fetches(self, *links: tuple[NodeId, NodeId]) -> Held:
        """From and to."""
        return self.hold("Fetch", "both", *links)

    def power_cut(self, *nodes: NodeId) -> None:
        """At once, with everything that was not synced."""
        for node in nodes:
            self.cluster.processes.kill(node)
        for node in nodes:
            self.cluster.disks.lose_unsynced(node)

    def start(self, *nodes: NodeId) -> None:
        for node in nodes:
            self.cluster.processes.start(node)

    def kill(self, *nodes: NodeId) -> None:
        for node in nodes:
            self.cluster.processes.kill(node)

    def until_unfenced(self, *nodes: NodeId) -> None:
        """As the processes that run now."""
        self.until(lambda: all(self.registration(node).active and self._is_registered(node) for node in nodes))

    def _is_registered(self, node: NodeId) -> bool:
        broker = self.broker(node) if self.runs(node) else None
        return broker is not None and broker.state.broker_epoch == self.registration(node).broker_epoch


class Sent:
    """One produce on its way."""

    def __init__(self, answers: list[Any]) -> None:
        self._answers = answers

    @property
    def fact(self) -> str | None:
        """None while there is no answer."""
        if not self._answers:
            return None
        answer = self._answers[0]
        return answer.name if isinstance(answer, Failure) else str(answer.responses[0].error_code.name)

    @property
    def base(self) -> int:
        return int(self._answers[0].responses[0].base_offset)


class _Nobody:
    """Clients tell nothing."""

    def on_told(self, env: SimEnv, event: Any) -> None: ...

    def on_halted(self, env: SimEnv, reason: str, *, allowed: bool) -> None:
        raise AssertionError(reason)


def _records(data: bytes) -> list[tuple[int, int, str]]:
    return [
        (record.offset, record.leader_epoch, (record.value or b"").decode())
        for position, header in headers(data)
        for record in decode(data, header, position)
    ]
