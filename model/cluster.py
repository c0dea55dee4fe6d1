"""model/cluster.py: the handles that every world offers, so that faults, workloads and the run loop are written once.

In     a world (clusters/sim, local, docker, ssh) implements these protocols
Out    nemesis, workloads and harness are written against them and never ask which world they are in
Rules  a verb that a world cannot do is absent from `can`, and a plan that asks for it is refused before anything starts.
       Time is integer nanoseconds on one clock. Handles act at once; only faults wait, by yielding (DESIGN 11.2).
       Faults of one verb on one link or disk add up: each `heal` of that verb takes one of them away. `touched` counts what the
       faults in force there have changed so far, so that a fault can say at its end whether it had teeth; None = cannot be told.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

import msgspec

from model.operation import Answer, Operation

if TYPE_CHECKING:
    from model.plan import Topic

NodeId = int  # from 1, brokers first; written n1 .. n6
TopicPartition = tuple[str, int]


class Ability(StrEnum):
    """What a world may be able to do. Each name is one handle method; most are one fault as well (DESIGN 11.10)."""

    CUT = "cut"
    HOLD = "hold"
    REFUSE = "refuse"
    SILENT = "silent"
    DELAY = "delay"
    THROTTLE = "throttle"
    SLICE = "slice"
    RESET = "reset"
    GATE = "gate"
    KILL = "kill"
    STOP = "stop"
    PAUSE = "pause"
    SLOW = "slow"
    SKEW = "skew"
    JUMP = "jump"
    STROBE = "strobe"
    DRIFT = "drift"
    WIPE = "wipe"
    LOSE_UNSYNCED = "lose_unsynced"
    TEAR = "tear"
    ROT = "rot"
    FILL = "fill"
    SLOW_SYNC = "slow_sync"
    READ_ONLY = "read_only"
    IO_ERROR = "io_error"
    ELECT = "elect"
    REASSIGN = "reassign"
    CHANGE_CONFIG = "change_config"


# -- what faults do and say -------------------------------------------------------------------------------------------

How = Literal["restart", "lossy", "torn", "deep_tear", "wipe", "rot"]


class Damage(msgspec.Struct, frozen=True):
    """What one replica lost: the first offset and the number of records (CHECKERS 1.7). None = could not be counted."""

    node: NodeId
    topic: str
    partition: int
    how: How
    dropped_from: int | None = None
    dropped: int | None = None


class Grip(Protocol):
    """One fault in force, as the handle that began it gives it back: two of one kind that overlap stay two."""

    def touched(self) -> int | None:
        """How much this one kept, moved, refused, held up or falsified so far; None where nobody can count."""
        ...

    def release(self) -> None:
        """Take this one away, and no other. A second time changes nothing."""
        ...


class Fired(msgspec.Struct, frozen=True):
    """How a fault went. `bit` says whether anything observable changed; None = not yet, or not ever, to be told."""

    bit: bool | None
    damage: tuple[Damage, ...] = ()
    note: str = ""
    grips: tuple[Grip, ...] = ()
    """What is in force until it heals."""


class Sleep(msgspec.Struct, frozen=True):
    """A fault yields this to wait, in whatever time its world has; it is resumed with False when it is healed meanwhile."""

    duration_ns: int


class Until(msgspec.Struct, frozen=True):
    """A fault yields this to wait for a condition; it is resumed with False when the limit came first."""

    condition: Callable[[ClusterState], bool]
    limit_ns: int


_Result = TypeVar("_Result")
Steps = Generator[Sleep | Until, bool, _Result]


# -- what can be seen -------------------------------------------------------------------------------------------------


class ReplicaState(msgspec.Struct, frozen=True):
    """One replica, as its own broker tells it."""

    node: NodeId
    role: Literal["leader", "follower", "none"]
    running: bool
    leader_epoch: int | None = None
    broker_epoch: int | None = None
    log_start: int | None = None
    hw: int | None = None
    leo: int | None = None


class PartitionState(msgspec.Struct, frozen=True):
    """One partition, as the controllers have committed it."""

    topic: str
    partition: int
    leader: NodeId | None
    leader_epoch: int | None
    partition_epoch: int | None
    replicas: tuple[NodeId, ...]
    isr: tuple[NodeId, ...]
    elr: tuple[NodeId, ...] = ()
    seen: Mapping[NodeId, ReplicaState] = {}


class ClusterState(msgspec.Struct, frozen=True):
    """Everything `observe()` knows, and as of when: targets are resolved from it, and reports drawn."""

    at_ns: int
    partitions: Mapping[TopicPartition, PartitionState]
    active_controller: NodeId | None
    quorum_epoch: int | None
    running: frozenset[NodeId]
    stopping: frozenset[NodeId] = frozenset()
    """Of those that run: whoever was asked to end in good order, and will."""


# -- the handles ------------------------------------------------------------------------------------------------------

Streams = Literal["requests", "answers", "both"]


class Link(msgspec.Struct, frozen=True, order=True):
    """One direction: who dials, and whom. A client group is written c1, c2, ...; its number is negative here."""

    dialer: int
    node: NodeId


class Timeline(Protocol):
    """Time as a handle: virtual in the simulator, an event loop elsewhere."""

    def now_ns(self) -> int: ...
    def after(self, delay_ns: int, call: Callable[[], None]) -> None: ...
    def run_until(self, done: Callable[[], bool], limit_ns: int) -> bool:
        """For the run loop only, never inside a callback. False = the limit came first."""
        ...


class Links(Protocol):
    """Faults of one directed link (DESIGN 11.10)."""

    def cut(self, link: Link, streams: Streams = "both") -> Grip:
        """Nothing passes, connections stay; on release they end and what was queued is lost."""
        ...

    def hold(self, link: Link, streams: Streams = "both") -> Grip:
        """Nothing passes; on release everything arrives, in order."""
        ...

    def refuse(self, link: Link) -> Grip:
        """Connections end, new ones are refused."""
        ...

    def silent(self, link: Link, streams: Streams = "both") -> Grip:
        """As cut, and not even the end of a connection passes."""
        ...

    def delay(self, link: Link, latency_ns: int, jitter_ns: int = 0, streams: Streams = "both") -> Grip: ...
    def throttle(self, link: Link, bytes_per_second: int, streams: Streams = "both") -> Grip: ...
    def slice(self, link: Link, size: int, gap_ns: int, streams: Streams = "both") -> Grip: ...
    def reset(self, link: Link, streams: Streams = "both") -> int | None:
        """Over at once: how many connections it ended."""
        ...

    def gate(
        self, link: Link, message: str, action: Literal["hold", "drop", "repeat"], streams: Streams, count: int | None
    ) -> Grip:
        """One kind of message is held (its connection waits), dropped (its connection ends) or repeated (a copy later)."""
        ...

    def heal(self, link: Link, verb: Ability | None = None) -> None:
        """Take all faults of this verb away; without a verb, all there are."""
        ...


class Processes(Protocol):
    """Node processes. Whatever ends one uncleanly says what it cost. A pause or a slowness ends with the process it is put on."""

    def start(self, node: NodeId) -> None:
        """A node that runs is left alone; one on its way down is started once it is there."""
        ...

    def kill(self, node: NodeId) -> tuple[Damage, ...]: ...
    def stop(self, node: NodeId) -> None:
        """Ask for the orderly end; it takes its time, and `ClusterState.running` shows when it is over."""
        ...

    def pause(self, node: NodeId) -> Grip:
        """It stands still until the last of its pauses is released."""
        ...

    def slow(self, node: NodeId, share: float) -> Grip:
        """A share of one CPU, such as 0.1; of several the least counts."""
        ...


class Clocks(Protocol):
    """The wall clock of one node (drift: its monotonic clock too, where a world can do that). What is wrong adds up."""

    def skew(self, node: NodeId, offset_ns: int) -> Grip: ...
    def jump(self, node: NodeId, by_ns: int) -> None:
        """For good, until the clock is restored."""
        ...

    def strobe(self, node: NodeId, by_ns: int, every_ns: int) -> Grip: ...
    def drift(self, node: NodeId, parts_per_million: int) -> Grip: ...
    def restore(self, node: NodeId) -> None:
        """The true time again, whatever was done to this clock."""
        ...


class Disks(Protocol):
    """Log directories of one node, numbered from 0. The first four act on a node process that does not run."""

    def wipe(self, node: NodeId, directory: int = 0) -> tuple[Damage, ...]: ...
    def lose_unsynced(self, node: NodeId, directory: int = 0) -> tuple[Damage, ...]: ...
    def tear(self, node: NodeId, directory: int = 0) -> tuple[Damage, ...]: ...
    def rot(self, node: NodeId, directory: int = 0) -> tuple[Damage, ...]: ...
    def fill(self, node: NodeId, directory: int = 0) -> Grip: ...
    def slow_sync(self, node: NodeId, delay_ns: int, directory: int = 0) -> Grip: ...
    def read_only(self, node: NodeId, directory: int = 0) -> Grip: ...
    def io_error(self, node: NodeId, on: Literal["read", "write", "sync"], directory: int = 0) -> Grip: ...
    def heal(self, node: NodeId, verb: Ability | None = None, directory: int = 0) -> None:
        """Take all faults of this verb away; without a verb, all there are. What was lost or changed stays so."""
        ...


class Admin(Protocol):
    """Changes an operator would make, through the Kafka protocol. `done` gets None, or Kafka's error name."""

    def create_topic(self, name: str, topic: Topic, done: AdminDone) -> None: ...
    def elect(self, at: TopicPartition, kind: Literal["preferred", "unclean"], done: AdminDone) -> None: ...
    def reassign(self, at: TopicPartition, replicas: tuple[NodeId, ...] | None, done: AdminDone) -> None:
        """None cancels the reassignment in progress."""
        ...

    def change_config(self, topic: str | None, key: str, value: str | None, done: AdminDone) -> None:
        """topic None = cluster-wide; value None = back to the default."""
        ...


AdminDone = Callable[[str | None], None]


class Client(Protocol):
    """One client group's way in: one request, one answer, no hidden retries (DESIGN 11.3)."""

    def submit(self, batch: tuple[Operation, ...], done: Callable[[tuple[Answer, ...]], None]) -> None:
        """One request. `done` is called exactly once, with one answer per operation."""
        ...


class Exit(msgspec.Struct, frozen=True):
    """The end of a node process that nobody asked for. `allowed`: the protocol says so (PROTOCOL 4.17, 4.20, 10.1, 10.4)."""

    at_ns: int
    node: NodeId
    reason: str
    allowed: bool


class Violation(msgspec.Struct, frozen=True, kw_only=True):
    """Something that must be true inside the nodes at every moment, and was not: seen where a world can look into them."""

    number: int  # of the invariant
    name: str
    text: str
    at_ns: int
    after: str = ""
    """The kind of what happened last before it was seen, without any name."""
    beliefs: tuple[str, ...] = ()
    """What each node believed, a line each."""
    story: tuple[tuple[int, str], ...] = ()
    """How it came to that: the last things that happened, each with its time."""


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What metadata and nodes told about a run: rows of model/evidence.py, in the order in which they happened."""

    changes: tuple[Mapping[str, Any], ...]
    registrations: tuple[Mapping[str, Any], ...]
    exits: tuple[Exit, ...]
    complete: bool  # nothing is missing among the changes (CHECKERS 1.8)
    digest: str | None = None  # of everything that happened, where a world can repeat it
    violations: tuple[Violation, ...] = ()
    excuse: str = ""  # why nobody can expect the cluster to come back, whatever healed (CHECKERS 6.8, V1)


class Cluster(Protocol):
    """A world with nodes in it."""

    @property
    def time(self) -> Timeline: ...

    @property
    def nodes(self) -> tuple[NodeId, ...]: ...

    @property
    def can(self) -> frozenset[Ability]: ...

    @property
    def links(self) -> Links: ...

    @property
    def processes(self) -> Processes: ...

    @property
    def clocks(self) -> Clocks: ...

    @property
    def disks(self) -> Disks: ...

    @property
    def admin(self) -> Admin: ...

    def start(self) -> None: ...
    def client(self, group: int) -> Client:
        """A new client of this group, with connections of its own; groups count from 1."""
        ...

    def observe(self) -> ClusterState: ...
    def told(self, *, settled: bool = False) -> Told:
        """`settled`: everything has healed and come back, so what only a cluster at rest must be can be asked as well."""
        ...

    def collect(self, into: Path) -> None:
        """Logs and data directories."""
        ...

    def stop(self) -> None:
        """Always succeeds, leaves nothing behind, and may be called twice."""
        ...


Args = Mapping[str, Any]  # a fault's arguments, typed by model/vocabulary.py
