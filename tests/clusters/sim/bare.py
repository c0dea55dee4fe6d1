"""tests/clusters/sim/bare.py: a network with nothing behind it: processes that write down what reaches them and answer when told.

In     starts, ends, questions and faults of a test
Out    what arrived, where, when and in which order; how each call ended
Keeps  the same seed gives the same latencies, so a fault is measured against the same story without it, to the nanosecond
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from clusters.sim.clock import NodeClock
from clusters.sim.connection import Call, Connection
from clusters.sim.env import SimEnv
from clusters.sim.kernel import Kernel
from clusters.sim.latency import MS
from clusters.sim.network import Network, SimLinks
from clusters.sim.processes import Pace
from model.cluster import Link
from replication.messages import Message, ProducePartition, ProduceRequest

S = 1_000 * MS
LONG_NS = 10 * S


class NoteRequest(Message, frozen=True):
    """Anything that can be told apart."""

    number: int


class OtherRequest(Message, frozen=True):
    """Of another kind, for gates."""

    number: int


class Echo(Message, frozen=True):
    of: Any


def produce(acks: int, size: int = 10) -> ProduceRequest:
    return ProduceRequest(acks, 1_000, (ProducePartition(b"t" * 16, 0, b"x" * size),))


class Asked:
    """One question, how it ended, and when."""

    def __init__(self, message: Any, connection: Connection | None = None) -> None:
        self.message, self.connection = message, connection
        self.results: list[Any] = []
        self.at_ns: list[int] = []

    @property
    def result(self) -> Any:
        """None while it is open. Ending twice is what must never happen."""
        assert len(self.results) <= 1
        return self.results[0] if self.results else None

    @property
    def answered(self) -> bool:
        return bool(self.results) and self.result == Echo(self.message)


class Listener:
    """One life of a process: what reached it, in order."""

    def __init__(self, bare: Bare, env: SimEnv) -> None:
        self.bare, self.env = bare, env
        self.arrived: list[tuple[int, Call]] = []
        self.answers_at_once = True
        env.listens = lambda channel: channel != "deaf"
        env.on_request = self._on_request

    def _on_request(self, call: Call) -> None:
        self.arrived.append((self.bare.kernel.now, call))
        if self.answers_at_once:
            self.answer(call)

    def answer(self, call: Call) -> None:
        self.env.reply(call, Echo(call.message))

    @property
    def messages(self) -> list[Any]:
        return [call.message for _, call in self.arrived]

    @property
    def times(self) -> list[int]:
        return [at for at, _ in self.arrived]


class Bare:
    """Processes 1, 2, 3 and the network between them."""

    def __init__(self, *nodes: int, seed: int = 1) -> None:
        self.kernel = Kernel()
        self.lives: dict[int, Listener] = {}
        self.told: list[tuple[int, Any]] = []
        self.exits: list[tuple[int, str, bool]] = []
        self.clocks = {node: NodeClock() for node in nodes or (1, 2, 3)}
        self.network = Network(self.kernel, seed, lambda node: self.lives[node].env if node in self.lives else None)
        self.links = SimLinks(self.network)
        for node in self.clocks:
            self.start(node)

    def start(self, node: int) -> Listener:
        env = SimEnv(node, self.network, self.clocks[node], Random(node), self)
        self.lives[node] = Listener(self, env)
        return self.lives[node]

    def end(self, node: int) -> None:
        self.lives[node].env.end()

    def pace(self, node: int, *, paused: bool = False, share: float | None = None) -> None:
        """From now on this, and nothing else, stands in its way."""
        env = self.lives[node].env
        for earlier in list(env.paces):
            earlier.release()
        if paused:
            Pace(env, None, lambda env, stands: None)
        if share is not None:
            Pace(env, share, lambda env, stands: None)

    def __getitem__(self, node: int) -> Listener:
        return self.lives[node]

    # -- what a test does -----------------------------------------------------------------------------------------------

    def ask(self, link: Link, message: Any, timeout_ns: int | None = LONG_NS, channel: str = "client") -> Asked:
        """One question of the dialler's present life."""
        env, asked = self.lives[link.dialer].env, Asked(message)

        def then(result: Any) -> None:
            asked.results.append(result)
            asked.at_ns.append(self.kernel.now)

        env.request(link.node, channel, message, timeout_ns, then)
        asked.connection = env.connections.get((link.node, channel))
        return asked

    def ask_all(self, link: Link, count: int, first: int = 0, timeout_ns: int | None = LONG_NS) -> list[Asked]:
        return [self.ask(link, NoteRequest(first + number), timeout_ns) for number in range(count)]

    def connect(self, link: Link, channel: str = "client") -> None:
        """So that a fault finds an open connection."""
        opened = self.ask(link, NoteRequest(-1), channel=channel)
        self.until(lambda: opened.answered)
        self[link.node].arrived.clear()

    def run(self, ns: int) -> None:
        self.kernel.run_until(lambda: False, self.kernel.now + ns)

    def until(self, done: Callable[[], bool], limit_ns: int = LONG_NS) -> None:
        assert self.kernel.run_until(done, self.kernel.now + limit_ns), "it never came to that"

    # -- what processes tell (`env.Witness`) ----------------------------------------------------------------------------

    def on_told(self, env: SimEnv, event: Any) -> None:
        self.told.append((env.node_id, event))

    def on_halted(self, env: SimEnv, reason: str, *, allowed: bool) -> None:
        self.exits.append((env.node_id, reason, allowed))


def notes(*numbers: int) -> list[NoteRequest]:
    return [NoteRequest(number) for number in numbers]
