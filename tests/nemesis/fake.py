"""tests/nemesis/fake.py: a cluster without nodes. It has its own time, writes every call down, and says what it was told to say.

Handles take exactly the calls that model/cluster.py promises: a wrong argument is an error here, too.
"""

from __future__ import annotations

import heapq
import inspect
from collections.abc import Callable
from itertools import count
from typing import Any

from model import cluster as protocols
from model.cluster import Ability, ClusterState, Damage, Link, NodeId, PartitionState
from model.plan import Plan
from model.schedule import Event, Schedule, Target
from nemesis.names import link_name
from nemesis.nemesis import Nemesis

MS = 10**6
S = 10**9


class FakeTime:
    """Virtual time: whatever is due happens in order, and equal times in the order of asking."""

    def __init__(self, now_ns: int = 0) -> None:
        self.now = now_ns
        self._due: list[tuple[int, int, Callable[[], None]]] = []
        self._order = count()

    def now_ns(self) -> int:
        return self.now

    def after(self, delay_ns: int, call: Callable[[], None]) -> None:
        assert delay_ns >= 0
        heapq.heappush(self._due, (self.now + delay_ns, next(self._order), call))

    def run_until(self, done: Callable[[], bool], limit_ns: int) -> bool:
        end = self.now + limit_ns
        while not done():
            if not self._due or self._due[0][0] > end:
                self.now = end
                return done()
            self.now, _, call = heapq.heappop(self._due)
            call()
        return True

    def run(self, duration_ns: int) -> None:
        self.run_until(lambda: False, duration_ns)


class Recorder:
    """A handle whose calls are bound to the protocol's signature and written down; `answers` says what they return."""

    def __init__(self, protocol: type, calls: list[str], answers: Callable[[str, dict[str, Any]], Any]) -> None:
        self._protocol, self._calls, self._answers = protocol, calls, answers

    def __getattr__(self, name: str) -> Callable[..., Any]:
        signature = inspect.signature(getattr(self._protocol, name))

        def call(*args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(None, *args, **kwargs)
            bound.apply_defaults()
            given = {key: value for key, value in bound.arguments.items() if key != "self"}
            said = " ".join([name, *(_shown(value) for value in given.values() if not callable(value))])
            self._calls.append(said)
            return self._answers(said, given)

        return call


def _shown(value: Any) -> str:
    return link_name(value) if isinstance(value, Link) else str(value)


class FakeGrip:
    """Says what the cluster's `touched` is, and writes down its release."""

    def __init__(self, cluster: FakeCluster, said: str) -> None:
        self._cluster, self._said = cluster, said

    def touched(self) -> int | None:
        return self._cluster.touched

    def release(self) -> None:
        """Healing may take the count of the others away, so whoever asks too late learns nothing."""
        self._cluster.calls.append(f"release {self._said}")
        self._cluster.touched = None if self._cluster.touched is None else 0


class FakeCluster:
    """Set `touched`, `damage`, `error` or `state` to say what the handles shall answer."""

    def __init__(self, nodes: int = 6) -> None:
        self.time = FakeTime()
        self.nodes = tuple(range(1, nodes + 1))
        self.can = frozenset(Ability)
        self.calls: list[str] = []
        self.running: set[NodeId] = set(self.nodes)
        self.touched: int | None = 0
        self.damage: tuple[Damage, ...] = ()
        self.connections = 1  # how many a reset finds
        self.error: str | None = None
        self.answers = True
        self.stop_takes_ns: int | None = 50 * MS
        self.leader: NodeId | None = 1
        self.isr: tuple[NodeId, ...] = (1, 2, 3)
        self.active_controller: NodeId | None = 4
        self.links: Any = Recorder(protocols.Links, self.calls, self._of_links)
        self.processes: Any = Recorder(protocols.Processes, self.calls, self._of_processes)
        self.clocks: Any = Recorder(protocols.Clocks, self.calls, self._of_others)
        self.disks: Any = Recorder(protocols.Disks, self.calls, self._of_others)
        self.admin: Any = Recorder(protocols.Admin, self.calls, self._of_admin)

    def observe(self) -> ClusterState:
        at = PartitionState("t", 0, self.leader, 1, 1, (1, 2, 3), self.isr)
        return ClusterState(self.time.now, {("t", 0): at}, self.active_controller, 1, frozenset(self.running))

    def take(self) -> list[str]:
        """The calls since the last time."""
        calls = list(self.calls)
        self.calls.clear()
        return calls

    def _of_links(self, said: str, given: dict[str, Any]) -> Any:
        if said.startswith("reset"):
            return None if self.touched is None else self.connections
        return FakeGrip(self, said)

    def _of_processes(self, said: str, given: dict[str, Any]) -> Any:
        name, node = said.split(maxsplit=1)[0], given["node"]
        if name == "kill":
            ran = node in self.running
            self.running.discard(node)
            return (Damage(node, "t", 0, "restart", dropped=0),) if ran else ()
        if name == "start":
            self.running.add(node)
        if name == "stop" and self.stop_takes_ns is not None:
            self.time.after(self.stop_takes_ns, lambda: self.running.discard(node))
        return FakeGrip(self, said) if name in ("pause", "slow") else None

    def _of_others(self, said: str, given: dict[str, Any]) -> Any:
        if said.split(maxsplit=1)[0] in ("wipe", "lose_unsynced", "tear", "rot"):
            assert given["node"] not in self.running, "a live process could still sync"
            return self.damage
        return FakeGrip(self, said)

    def _of_admin(self, said: str, given: dict[str, Any]) -> None:
        if self.answers:
            self.time.after(20 * MS, lambda error=self.error: given["done"](error))


class Watched:
    """A schedule under way on a fake cluster, and what was told about it."""

    def __init__(self, cluster: FakeCluster, schedule: Schedule, plan: Plan = Plan(tidemark=1)) -> None:  # noqa: B008
        self.cluster = cluster
        self.acked = 0
        self.told: list[tuple[str, int, str]] = []
        self.nemesis = Nemesis(cluster, plan, schedule, acked=lambda: self.acked, on_event=self._hear)
        self.origin_ns = cluster.time.now_ns()
        self.nemesis.start()

    def _hear(self, kind: str, number: int, event: Event, text: str) -> None:
        self.told.append((kind, number, text))

    def run(self, duration_ns: int) -> Watched:
        self.cluster.time.run(duration_ns)
        return self

    def row(self, number: int = 0) -> dict[str, Any]:
        return self.nemesis.rows(self.origin_ns)[number]


def one_fault(cluster: FakeCluster, fault: str, target: Target | None, **args: object) -> Watched:
    """One event at once, in force until `heal_all`."""
    return Watched(cluster, (Event(at_ns=0, fault=fault, target=target, args=args),)).run(0)
