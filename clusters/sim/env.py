"""clusters/sim/env.py: what one life of a process sees of the world: `replication.env.Env` (DESIGN 11.1).

In     requests, answers, timers and events of the node; whatever happens to it comes through `enter`
Out    calls into the node, one at a time, in order; none while it is paused, none after its end
Keeps  an exception that comes out of a node ends that node's process, and nothing else
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from clusters.sim.clock import NodeClock
from clusters.sim.connection import Call, Connection
from clusters.sim.kernel import Kernel
from model.chance import Chance
from replication.env import Close, Disk, Then

if TYPE_CHECKING:
    from clusters.sim.network import Network
    from clusters.sim.processes import Pace

STEP_NS = 20_000  # what one event costs a process that has a whole CPU: only a slowed one feels it


class Witness(Protocol):
    """Who wants to know what a process tells and how it ends."""

    def on_told(self, env: SimEnv, event: Any) -> None: ...

    def on_halted(self, env: SimEnv, reason: str, *, allowed: bool) -> None: ...


class Observer(Protocol):
    """Who sees what happens to a process: for invariants. It changes nothing."""

    def on_reply(self, call: Call, answer: Any) -> None:
        """An answer leaves; the event that made it is not over."""
        ...


class SimEnv:
    """One life of one process: a node's, or a client's."""

    def __init__(self, node_id: int, network: Network, clock: NodeClock, chance: Chance, witness: Witness) -> None:
        self.node_id, self.network, self.clock, self.random, self.witness = node_id, network, clock, chance, witness
        self.kernel: Kernel = network.kernel
        self.disks: Sequence[Disk] = ()
        self.alive = True
        self.observer: Observer | None = None
        self.listens: Callable[[str], bool] = _to_nobody
        """Whether it takes connections for a channel."""
        self.on_request: Callable[[Any], None] = _nothing
        self.connections: dict[tuple[int, str], Connection] = {}
        self.accepted: dict[Connection, None] = {}
        self.waited = 0  # things that could not happen at once
        self.paces: list[Pace] = []  # what stands in its way
        self._free = True  # neither paused nor slowed nor dead: what happens to it happens at once
        self._paused = False
        self._share: float | None = None
        self._inbox: deque[tuple[Callable[[Any], None], Any]] = deque()
        self._working = False  # a slowed process has something in hand
        clock.on_rate = self._on_rate

    # -- Env: what the node asks ----------------------------------------------------------------------------------------

    def request(self, to: int, channel: str, message: Any, timeout_ns: int | None, then: Then) -> None:
        if not self.alive:
            return  # what a node does behind its own end
        connection = self.connections.get((to, channel))
        if connection is None:
            connection = self.connections[to, channel] = self.network.dial(self, to, channel)
        connection.send(message, timeout_ns, then)

    def reply(self, request: Any, answer: Any | Close) -> None:
        call: Call = request
        if self.observer is not None and self.alive:
            self.observer.on_reply(call, answer)
        if call.connection is not None and self.alive:
            call.connection.reply(call, answer)

    def after(self, ns: int, call: Callable[[], None]) -> None:
        kernel, clock = self.kernel, self.clock
        if clock.true:
            kernel.at(kernel.now + ns, self._fire, (kernel.now + ns, call))
        else:
            due = clock.monotonic_ns(kernel.now) + ns
            kernel.at(self.when(due), self._fire, (due, call))

    def monotonic_ns(self) -> int:
        return self.kernel.now if self.clock.true else self.clock.monotonic_ns(self.kernel.now)

    def wall_ms(self) -> int:
        return self.clock.wall_ms(self.kernel.now)

    def emit(self, event: Any) -> None:
        if self.alive:
            self.witness.on_told(self, event)

    def halt(self, reason: str) -> None:
        """10.1, 10.4: the protocol's own way to end a process."""
        if self.alive:
            self.end()
            self.witness.on_halted(self, reason, allowed=True)

    # -- what happens to it ---------------------------------------------------------------------------------------------

    def enter(self, call: Callable[[Any], None], argument: Any) -> None:
        """Everything that happens to this process comes through here."""
        if self._free:
            if self.observer is not None:
                self.kernel.touched.append(self.observer)
            try:
                call(argument)
            except Exception as error:  # noqa: BLE001  a node that raises has crashed, and only that node
                self._crash(error)
        elif self.alive:
            self.waited += 1
            self._inbox.append((call, argument))
            self._work_on()

    def _fire(self, timer: tuple[int, Callable[[], None]]) -> None:
        if self.alive and not self.clock.true:
            self.clock.monotonic_ns(self.kernel.now)  # it counts as a reading: the node wakes by this clock
        self.enter(_call, timer[1])

    def _on_rate(self) -> None:
        """Timers and deadlines are over when the node's own clock says so, even if its rate changed meanwhile."""
        if self.alive:
            self.kernel.move(self._fire, lambda timer: self.when(timer[0]))
            for connection in self.connections.values():
                self.kernel.move(connection.ring, self.when)

    def own_ns(self) -> int:
        return self.kernel.now if self.clock.true else self.clock.own_ns(self.kernel.now)

    def when(self, own_ns: int) -> int:
        """The true time at which this process's clock will show that, or now if it has."""
        now = self.kernel.now
        return own_ns if self.clock.true else now + self.clock.real_ns(max(0, own_ns - self.clock.own_ns(now)))

    def _crash(self, error: Exception) -> None:
        self.end()
        self.witness.on_halted(self, f"{type(error).__name__}: {error}", allowed=False)

    def forget(self, connection: Connection) -> None:
        key = connection.node, connection.channel
        if self.connections.get(key) is connection:
            del self.connections[key]

    # -- pausing, slowing, ending ---------------------------------------------------------------------------------------

    @property
    def stands(self) -> bool:
        return any(pace.share is None for pace in self.paces)

    def pace_changed(self) -> None:
        """Standing still, or with a share of a CPU. What waits is done in order, as soon as it can be."""
        self._paused = self.stands
        self._share = min((pace.share for pace in self.paces if pace.share is not None), default=None)
        self._free = self.alive and not self.paces and not self._inbox
        self._work_on()

    def _work_on(self) -> None:
        if self._inbox and not self._working and not self._paused and self.alive:
            self._working = True
            cost = int(STEP_NS / self._share) if self._share is not None else 0
            self.kernel.at(self.kernel.now + cost, self._work, None)

    def _work(self, _: object) -> None:
        """One thing that waited."""
        self._working = False
        if self._paused or not self.alive:
            return
        call, argument = self._inbox.popleft()
        self._free = not self._inbox and self._share is None
        if self.observer is not None:
            self.kernel.touched.append(self.observer)
        try:
            call(argument)
        except Exception as error:  # noqa: BLE001  as in `enter`
            self._crash(error)
        self._work_on()

    def end(self) -> None:
        """The process is gone: its connections end, and nothing of it happens any more."""
        self.alive = self._free = False
        self._inbox.clear()
        for connection in list(self.connections.values()):
            connection.abandon()
        for connection in list(self.accepted):
            connection.listener_died()


def _call(call: Callable[[], None]) -> None:
    call()


def _to_nobody(_: str) -> bool:
    return False


def _nothing(_: object) -> None:
    """Nobody is there to take requests."""
