"""clusters/sim/processes.py: node processes, life after life (`model.cluster.Processes`).

In     start, kill, stop, pause, resume and slow from the nemesis; the end of a node by its own hand
Out    a fresh `SimEnv` and program for every life; what an unclean end cost
Keeps  disks and clock belong to the node and outlive its processes. An end that nobody asked for is an `Exit`
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from clusters.sim.clock import NodeClock
from clusters.sim.damage import batches_of, that_counts, unharmed
from clusters.sim.disk import SimDisk
from clusters.sim.env import SimEnv
from clusters.sim.kinds import PROCESS_ENDED, PROCESS_STARTED
from clusters.sim.network import Network
from clusters.sim.watch import Watch
from model.chance import stream
from model.cluster import Damage, Exit, NodeId
from replication.env import NANOSECONDS

STOP_DEADLINE_NS = 10_000 * NANOSECONDS  # 4.20: a broker that is not let go ends anyway, uncleanly
NOT_LET_GO = "not let go in time"


class Program(Protocol):
    """What runs in a node process."""

    def start(self) -> None: ...

    def stop(self, then: Callable[[], None]) -> None:
        """The orderly end; `then` when nothing is left to do."""
        ...


class NodeProcess:
    """One node: what stays, and its present life."""

    def __init__(self, node_id: NodeId, disks: Sequence[SimDisk], clock: NodeClock) -> None:
        self.node_id, self.disks, self.clock = node_id, disks, clock
        self.starts = 0
        self.env: SimEnv | None = None
        self.program: Any = None
        self.stopping = False
        self.wanted = False  # somebody asked for it to run while it was on its way down

    @property
    def running(self) -> bool:
        return self.env is not None and self.env.alive


class Pace:
    """`model.cluster.Grip` of one pause (no share of a CPU) or slowness, of one life. One that does not run feels nothing."""

    def __init__(self, env: SimEnv | None, share: float | None, on_pace: Callable[[SimEnv, bool], None]) -> None:
        self.share = share
        self._env = env if env is not None and env.alive else None
        self._on_pace = on_pace
        self._waited = 0 if self._env is None else self._env.waited
        self._changes(lambda env: env.paces.append(self))

    def touched(self) -> int:
        return 0 if self._env is None else self._env.waited - self._waited

    def release(self) -> None:
        self._changes(lambda env: env.paces.remove(self) if self in env.paces else None)

    def _changes(self, change: Callable[[SimEnv], None]) -> None:
        env = self._env
        if env is None or not env.alive:
            return
        stood = env.stands
        change(env)
        if stood != env.stands:
            self._on_pace(env, env.stands)
        env.pace_changed()


class SimProcesses:
    """Every node's process, and the handle."""

    def __init__(
        self,
        network: Network,
        nodes: Sequence[NodeProcess],
        build: Callable[[SimEnv], Program],
        told: Callable[[NodeId, Any], None],
    ) -> None:
        self.nodes = {node.node_id: node for node in nodes}
        self.exits: list[Exit] = []
        self.watch = Watch()
        self.may_give_up: Callable[[NodeId, str, bool], bool] = _as_it_says
        """Whether an end by a node's own hand is allowed: its own word, unless somebody knows better."""
        self.on_unclean: Callable[[NodeId], None] = _nobody
        """Told of every end of a process that was not an orderly one."""
        self._network, self._build, self._told = network, build, told

    # -- the handle -----------------------------------------------------------------------------------------------------

    def start(self, node: NodeId) -> None:
        process = self.nodes[node]
        if process.running:
            process.wanted = process.stopping
            return
        process.starts += 1
        process.stopping = process.wanted = False
        chance = stream(self._network.seed, "node", node, process.starts)
        env = process.env = SimEnv(node, self._network, process.clock, chance, self)
        env.disks = process.disks
        for disk in process.disks:
            disk.owner = env
        self._note(PROCESS_STARTED, node, "starts", "")
        process.program = self._build(env)
        env.enter(_call, process.program.start)

    def kill(self, node: NodeId) -> tuple[Damage, ...]:
        """At once; what the process had written stays in the page cache, and becomes durable in its own time."""
        process = self.nodes[node]
        if not process.running:
            return ()
        self._end(process, "killed")
        self.on_unclean(node)
        ended = [(disk, unharmed(node, batches_of(disk.content()))) for disk in process.disks]
        return tuple(damage for disk, each in ended for damage in that_counts(each, votes=disk.votes))

    def stop(self, node: NodeId) -> None:
        process = self.nodes[node]
        env, program = process.env, process.program
        if env is None or not env.alive:
            return

        def deadline() -> None:
            if env.alive:
                self.exits.append(Exit(self._network.kernel.now, node, NOT_LET_GO, allowed=True))
                self.on_unclean(node)
                self._stopped(process, env, NOT_LET_GO)

        process.stopping = True
        env.enter(program.stop, lambda: self._stopped(process, env, "stopped cleanly"))
        self._network.kernel.at(self._network.kernel.now + STOP_DEADLINE_NS, _call, deadline)

    def _stopped(self, process: NodeProcess, life: SimEnv, why: str) -> None:
        if life.alive:
            self._end(process, why, life)
            self._start_if_wanted(process)

    def pause(self, node: NodeId) -> Pace:
        return Pace(self.nodes[node].env, None, self._on_pace)

    def slow(self, node: NodeId, share: float) -> Pace:
        return Pace(self.nodes[node].env, share, self._on_pace)

    def _on_pace(self, env: SimEnv, stands: bool) -> None:
        self.watch.process(self._network.kernel.now, env.node_id, "stands" if stands else "runs", "")

    # -- what nodes do themselves (`env.Witness`) -----------------------------------------------------------------------

    def on_told(self, env: SimEnv, event: Any) -> None:
        self._told(env.node_id, event)

    def on_halted(self, env: SimEnv, reason: str, *, allowed: bool) -> None:
        self._note(PROCESS_ENDED, env.node_id, "ends", reason)
        right = self.may_give_up(env.node_id, reason, allowed)
        self.exits.append(Exit(self._network.kernel.now, env.node_id, reason, right))
        self.on_unclean(env.node_id)
        self._start_if_wanted(self.nodes[env.node_id])

    def _start_if_wanted(self, process: NodeProcess) -> None:
        """Somebody asked for it to run while it was on its way down."""
        if process.wanted:
            self._network.kernel.at(self._network.kernel.now, self.start, process.node_id)

    # -- small words ----------------------------------------------------------------------------------------------------

    def process_of(self, node: NodeId) -> SimEnv | None:
        process = self.nodes.get(node)
        return None if process is None else process.env

    def _end(self, process: NodeProcess, why: str, life: SimEnv | None = None) -> None:
        env = life or process.env
        if env is not None:
            env.end()
            self._note(PROCESS_ENDED, process.node_id, "ends", why)

    def _note(self, kind: int, node: NodeId, what: Any, why: str) -> None:
        kernel = self._network.kernel
        kernel.note(kind, node, self.nodes[node].starts)
        self.watch.process(kernel.now, node, what, why)


def _call(call: Callable[[], None]) -> None:
    call()


def _nobody(_: NodeId) -> None:
    """Nobody wants to know."""


def _as_it_says(node: NodeId, reason: str, allowed: bool) -> bool:
    return allowed
