"""tests/replication/memory.py: the trivial driver: brokers, disks and clients in one process, no faults that nobody asked for.

In     brokers to start, crash and stop; requests of tests; time to pass
Out    calls into the brokers, one at a time: first everything that is ready, then timers as `advance` reaches them
Keeps  messages and disk writes take no time, in order, unless a test holds them back; a crash forgets what was not synced
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from heapq import heappop, heappush
from random import Random
from typing import Any

from replication.broker import Broker
from replication.env import CLOSE, NANOSECONDS, Done, Failure, IoError
from replication.messages import FetchRequest
from replication.rules import Rules

CLIENT = -1
MS = NANOSECONDS


def _call(call: Callable[[], object]) -> None:
    call()


class MemoryDisk:
    """A log directory that knows which of its bytes would survive."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.files: dict[str, bytearray] = {}
        self.durable: dict[str, bytes] = {}
        self.broken: IoError | None = None
        self.held: list[Callable[[], None]] | None = None  # writes that wait to become durable, while a test holds them

    def append(self, path: str, data: bytes) -> IoError | None:
        if self.broken is None:
            self.files.setdefault(path, bytearray()).extend(data)
        return self.broken

    def read(self, path: str, position: int = 0, length: int | None = None) -> bytes | IoError:
        if self.broken is not None or path not in self.files:
            return self.broken or IoError(f"no such file: {path}")
        return bytes(self.files[path][position : None if length is None else position + length])

    def truncate(self, path: str, size: int) -> IoError | None:
        if self.broken is None:
            del self.files[path][size:]
        return self.broken

    def list(self) -> Sequence[str] | IoError:
        return self.broken or tuple(self.files)

    def sync(self, path: str, then: Done) -> None:
        content = bytes(self.files.get(path, b""))
        self._later(lambda: self._keep(path, content), then)

    def replace(self, path: str, data: bytes, then: Done) -> None:
        if self.broken is None:
            self.files[path] = bytearray(data)
        self._later(lambda: self._keep(path, data), then)

    def delete(self, path: str, then: Done) -> None:
        if self.broken is None:
            self.files.pop(path, None)
        self._later(lambda: self.durable.pop(path, None), then)

    def lose_unsynced(self) -> None:
        self.files = {path: bytearray(content) for path, content in self.durable.items()}

    def release(self) -> None:
        """Let the held writes become durable."""
        held, self.held = self.held or [], None
        for call in held:
            self.world.soon(call)
        self.world.run()

    def _keep(self, path: str, content: bytes) -> None:
        self.durable[path] = content

    def _later(self, keep: Callable[[], object], then: Done) -> None:
        def durable() -> None:
            if self.broken is None:
                keep()
            then(self.broken)

        if self.held is None:
            self.world.soon(durable)
        else:
            self.held.append(durable)


class Arrived:
    """A request on its way, and the way back."""

    __slots__ = ("answered", "message", "receiver", "sender", "then", "way_back", "world")

    def __init__(
        self, world: World, message: Any, sender: MemoryEnv | None, receiver: MemoryEnv, then: Callable[[Any], None]
    ) -> None:
        self.world, self.message, self.sender, self.receiver, self.then = world, message, sender, receiver, then
        self.way_back = receiver.node_id, sender.node_id if sender else CLIENT
        self.answered = False

    def answer(self, answer: Any) -> None:
        """Hand the answer, or the failure, to whoever asked: once. Over a cut an answer is lost: only the timeout is left."""
        lost = self.world.cut and not isinstance(answer, Failure) and self.way_back in self.world.cut
        if not self.answered and not lost:
            self.answered = True
            self.receiver.open_requests.pop(self, None)
            if self.sender is None or self.sender.alive:
                self.then(answer)


class MemoryEnv:
    """One process's world: it dies with the process."""

    def __init__(self, world: World, node_id: int, disks: Sequence[MemoryDisk], starts: int) -> None:
        self.world, self.node_id, self.disks = world, node_id, disks
        self.random = Random(f"{world.seed}:{node_id}:{starts}")
        self.alive = True
        self.halted: str | None = None
        self.open_requests: dict[Arrived, None] = {}
        self.on_request: Callable[[Arrived], None] = lambda request: None

    def request(self, to: int, channel: str, message: Any, timeout_ns: int | None, then: Callable[[Any], None]) -> None:
        self.world.send(self, to, message, timeout_ns, then)

    def deliver(self, request: Arrived) -> None:
        if self.alive:
            self.on_request(request)

    def reply(self, request: Any, answer: Any) -> None:
        self.world.hand(request.answer, Failure.LOST if answer is CLOSE else answer)

    def after(self, ns: int, call: Callable[[], None]) -> None:
        self.world.at(self.world.now_ns + ns, lambda: call() if self.alive else None)

    def monotonic_ns(self) -> int:
        return self.world.now_ns

    def wall_ms(self) -> int:
        return self.world.wall_start_ms + self.world.now_ns // NANOSECONDS

    def emit(self, event: Any) -> None:
        self.world.events.append((self.node_id, event))

    def halt(self, reason: str) -> None:
        self.halted = reason
        self.alive = False
        self.world.up.pop(self.node_id, None)
        for request in list(self.open_requests):
            request.answer(Failure.LOST)


class World:
    """Time, messages, and the nodes that are up."""

    def __init__(self, seed: int = 1) -> None:
        self.seed = seed
        self.now_ns = 0
        self.wall_start_ms = 1_700_000_000_000
        self.events: list[tuple[int, Any]] = []
        self.up: dict[int, MemoryEnv] = {}
        self.steps = 0
        self.cut: set[tuple[int, int]] = set()  # (from, to): what is sent that way is never seen again
        self._ready: deque[tuple[Callable[[Any], object], Any]] = deque()
        self._timers: list[tuple[int, int, Callable[[], object]]] = []
        self._count = 0

    # -- time -----------------------------------------------------------------------------------------------------------

    def soon(self, call: Callable[[], object]) -> None:
        self._ready.append((_call, call))

    def hand(self, call: Callable[[Any], object], to: Any) -> None:
        """The same for a call with one argument, which most events are."""
        self._ready.append((call, to))

    def at(self, when_ns: int, call: Callable[[], object]) -> None:
        self._count += 1
        heappush(self._timers, (when_ns, self._count, call))

    def run(self, most: int = 1_000_000) -> None:
        """Everything that can happen without time passing."""
        ready, timers = self._ready, self._timers
        for _ in range(most):
            if timers and timers[0][0] <= self.now_ns:
                ready.append((_call, heappop(timers)[2]))
            if not ready:
                return
            self.steps += 1
            call, argument = ready.popleft()
            call(argument)
        raise AssertionError(f"still busy after {most} steps at {self.now_ns} ns")

    def advance(self, ms: float) -> None:
        """Let time pass, timer by timer."""
        end = self.now_ns + int(ms * MS)
        self.run()
        while self._timers and self._timers[0][0] <= end:
            self.now_ns = max(self.now_ns, self._timers[0][0])
            self.run()
        self.now_ns = end
        self.run()

    # -- messages -------------------------------------------------------------------------------------------------------

    def send(
        self, sender: MemoryEnv | None, to: int, message: Any, timeout_ns: int | None, then: Callable[[Any], None]
    ) -> Arrived | None:
        """One request. To a node that is down it is refused; over a cut it is lost without a word."""
        source = sender.node_id if sender else CLIENT
        receiver = self.up.get(to)
        if receiver is None:
            self.soon(lambda: then(Failure.REFUSED))
            return None
        arrived = Arrived(self, message, sender, receiver, then)
        if timeout_ns is not None:
            self.at(self.now_ns + timeout_ns, lambda: arrived.answer(Failure.TIMED_OUT))
        if not self.cut or (source, to) not in self.cut:
            receiver.open_requests[arrived] = None
            self.hand(receiver.deliver, arrived)
        return arrived

    def ask(self, to: int, message: Any) -> list[Any]:
        """A client's request; the list holds the answer once there is one."""
        answers: list[Any] = []
        self.send(None, to, message, None, answers.append)
        self.run()
        return answers

    def told(self, kind: type) -> list[Any]:
        """Events of one kind, in order."""
        return [event for _, event in self.events if type(event) is kind]


class Node:
    """A broker that can be started, crashed and stopped, and its disks, which stay."""

    def __init__(
        self, world: World, node_id: int, properties: Mapping[str, str], rules: Rules | None = None, disks: int = 1
    ) -> None:
        self.world, self.node_id, self.properties, self.rules = world, node_id, properties, rules or Rules()
        self.disks = [MemoryDisk(world) for _ in range(disks)]
        self.starts = 0
        self.previous_epoch: int | None = None
        self.env: MemoryEnv
        self.broker: Broker

    @property
    def up(self) -> bool:
        return self.world.up.get(self.node_id) is not None

    def start(self) -> None:
        self.starts += 1
        self.env = MemoryEnv(self.world, self.node_id, self.disks, self.starts)
        self.broker = Broker(self.node_id, self.env, self.rules, "tidemark-test", self.properties)
        self.env.on_request = self.broker.on_request
        self.world.up[self.node_id] = self.env
        self.broker.start(self._started)
        self.world.run()

    def _started(self, previous_epoch: int) -> None:
        self.previous_epoch = previous_epoch

    def crash(self, lossy: bool = False) -> None:
        """The process ends; with `lossy` its disks forget what was not synced."""
        self.env.alive = False
        self.world.up.pop(self.node_id, None)
        for request in list(self.env.open_requests):
            request.answer(Failure.LOST)
        for disk in self.disks:
            if disk.held is not None:
                disk.held = []
            if lossy:
                disk.lose_unsynced()
        self.world.run()

    def stop(self) -> None:
        """The orderly end."""
        closed: list[bool] = []
        self.broker.close(lambda: closed.append(True))
        self.world.run()
        assert closed, "the broker did not close"
        self.crash()


def is_fetch(message: Any) -> bool:
    return isinstance(message, FetchRequest)
