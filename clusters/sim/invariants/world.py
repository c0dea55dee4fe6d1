"""clusters/sim/invariants/world.py: what every invariant reads: nodes that run, what is committed, what is remembered.

In     lives of node processes, as they begin; commits
Out    who runs, with which registration; effective min ISR (5.30); what is remembered of each partition
Keeps  what is committed is known at once and by nobody's word: the truth that nodes learn later
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from clusters.sim.connection import Call
from clusters.sim.env import SimEnv
from clusters.sim.invariants.replica import Replica
from clusters.sim.invariants.truth import PartitionTruth, Tenant
from replication.broker import Broker
from replication.identity import Key
from replication.image import MetadataImage, PartitionState
from replication.rules import Rules
from replication.settings import topic_settings

if TYPE_CHECKING:
    from clusters.sim.invariants.member import Member, Quorum, QuorumTruth

Forbidden = Callable[[str, int], bool]
"""Whether a partition, by topic and number, may still lose nothing (CHECKERS 6.3)."""

Answered = Callable[["Life", Any, Any], None]
"""Who sees an answer: the life it comes from, what was asked, what is answered."""

NO_BROKER = -1


def always(topic: str, partition: int) -> bool:
    """Loss is forbidden, whatever was done to the cluster."""
    del topic, partition
    return True


def nobody_asked(topic: str, partition: int) -> bool:
    """No operator has asked for an unclean election."""
    del topic, partition
    return False


def still_promised() -> bool:
    """Whatever was done to voters."""
    return True


class Parts:
    """What runs in a node process: any may be missing."""

    def __init__(self, broker: Broker | None, quorum: Quorum | None = None, incarnation_id: bytes = b"") -> None:
        self.broker, self.quorum, self.incarnation_id = broker, quorum, incarnation_id


class Life:
    """One life of a node process, and what was seen of it."""

    def __init__(self, node: int, start: int, env: SimEnv, answered: Mapping[Any, Answered]) -> None:
        self.node, self.start, self.env = node, start, env
        self.broker: Broker | None = None
        self.quorum: Quorum | None = None
        self.incarnation_id = b""
        self.replicas: dict[Key, Replica] = {}
        self.image: MetadataImage | None = None
        self.member: Member | None = None
        self.built = False
        """Whether it is known what runs in it."""
        self.has_standing = False
        """Whether it has told what it is in the quorum: before that it does not know itself."""
        self.closed = False
        """It has told that it leaves everything in order."""
        self._answered = answered

    def on_reply(self, call: Call, answer: Any) -> None:
        """An answer leaves this process."""
        see = self._answered.get(type(answer))
        if see is not None:
            see(self, call.message, answer)

    @property
    def tenant(self) -> Tenant:
        return self.node, self.start


class World:
    """The cluster, seen from inside."""

    def __init__(self, properties: Mapping[str, str], forbidden: Forbidden, quorum: QuorumTruth) -> None:
        self.properties, self.forbidden, self.quorum = properties, forbidden, quorum
        self.asked_for_unclean: Callable[[str, int], bool] = nobody_asked
        """Whether an operator may have asked for an unclean election of a partition."""
        self.copies_survive: Callable[[str, int], bool] = always
        """Whether fewer replicas have lost records than it takes to commit one."""
        self.bytes_changed: Callable[[str, int], bool] = nobody_asked
        """Whether a replica has bytes that nobody wrote: where no CRC covers them, copies may differ and nobody can tell."""
        self.metadata_promised: Callable[[], bool] = still_promised
        """Whether the disks of voters are well enough for anything to be promised of the metadata log (CHECKERS 6.3, Q1)."""
        self.rules = Rules()
        """The right ones, whatever the nodes were given."""
        self.lives: dict[int, Life] = {}
        """The last of each node, also of one that has ended."""
        self.committed = MetadataImage()
        self.before = MetadataImage()
        """What was committed before the last operation."""
        self.partitions: dict[Key, PartitionTruth] = {}
        self.returned: dict[int, None] = {}
        """Brokers that registered again, in the operation that is being looked at, after an unclean end."""
        self.unclean: dict[int, bytes] = {}
        """Brokers that have had an unclean end since they last registered, and the incarnation that ended: a registration that
        it had sent before may still be committed, and brings nobody back."""
        self._min_isr: dict[Key, tuple[object, int]] = {}

    # -- brokers --------------------------------------------------------------------------------------------------------

    def registered(self, node: int) -> int:
        """The broker epoch by which the controllers know a node now."""
        known = self.committed.brokers.get(node)
        return NO_BROKER if known is None else known.broker_epoch

    def is_another_process(self, node: int) -> bool:
        """Whether the operation that is being looked at has registered it anew."""
        before = self.before.brokers.get(node)
        return before is None or before.broker_epoch != self.registered(node)

    def runs(self, life: Life) -> bool:
        """Alive, and the very process that is registered: one that has just restarted does not count until it is."""
        broker = life.broker
        return life.env.alive and broker is not None and broker.state.broker_epoch == self.registered(life.node) != NO_BROKER

    def running_replica(self, truth: PartitionTruth, node: int) -> Replica | None:
        """A replica whose process runs and whose directory is online."""
        replica = truth.replicas.get(node)
        if replica is None or replica.partition.offline or not self.runs(replica.life):
            return None
        return replica

    def leo(self, truth: PartitionTruth, node: int) -> int | None:
        """Where a running broker's replica ends, whether it acts on it yet or not. None: it does not run, or cannot use it."""
        life, replica = self.lives.get(node), truth.replicas.get(node)
        if life is None or not self.runs(life) or life.broker is None:
            return None
        if replica is not None:
            return None if replica.partition.offline else replica.log.leo
        log = life.broker.replicas.logs.get(truth.key)
        return 0 if log is None else log.leo

    # -- partitions -----------------------------------------------------------------------------------------------------

    def truth(self, key: Key, topic: str) -> PartitionTruth:
        found = self.partitions.get(key)
        if found is None:
            found = self.partitions[key] = PartitionTruth(key, topic)
            found.take(self.committed.partition(*key))
        return found

    def leads(self, replica: Replica) -> bool:
        """Leads, and nobody has been elected since, whether it knows that or not."""
        state = replica.truth.state
        return (
            replica.leader is not None
            and state is not None
            and state.leader == replica.life.node
            and state.leader_epoch == replica.leader_epoch
            and replica.life.env.alive
        )

    def leader(self, truth: PartitionTruth) -> Replica | None:
        """The replica that the controllers named, if its process runs; it may not know yet."""
        return None if truth.state is None else self.running_replica(truth, truth.state.leader)

    def min_isr(self, truth: PartitionTruth, state: PartitionState) -> int:
        """5.30 As the controllers see it. 8.6: with as many replicas as the state has."""
        known = self._min_isr.get(truth.key)
        if known is None or known[0] is not self.committed.configs:
            wanted = topic_settings(self.committed, truth.topic, NO_BROKER, self.properties).min_insync_replicas
            known = self._min_isr[truth.key] = self.committed.configs, wanted
        return self.rules.effective_min_isr(known[1], len(state.replicas))

    def weigh(self, truth: PartitionTruth) -> None:
        """Whether loss is still forbidden. When it is again, it is for what was not lost."""
        forbidden = self.forbidden(truth.topic, truth.index)
        if forbidden is not truth.loss_forbidden:
            truth.loss_forbidden = forbidden
            truth.forget()

    def named(self) -> Iterator[tuple[Key, str, PartitionState]]:
        """Every committed partition."""
        for topic_id, topic in self.committed.topics.items():
            for index, state in topic.partitions.items():
                yield (topic_id, index), topic.name, state
