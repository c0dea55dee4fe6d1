"""clusters/sim/processes.py: node processes, life after life (`model.cluster.Processes`).

In     start, kill, stop, pause, resume and slow from the nemesis; the end of a node by its own hand
Out    a fresh `SimEnv` and program for every life; what an unclean end cost
Keeps  disks and clock belong to the node and outlive its processes. An end that nobody asked for is an `Exit`
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from clusters.sim.clock import NodeClock
from clusters.sim.damage import batches_of, unharmed
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
        self.pauses = 0
        self.share: float | None = None
        self.stopping = False
        self.wanted = False  # somebody asked for it to run while it was on its way down
        self.waited_before = 0  # in lives that are over, since the pause or the slowness in force began

    @property
    def waited(self) -> int:
        return self.waited_before + (0 if self.env is None else self.env.waited)

    def count_anew(self) -> None:
        self.waited_before = 0
        if self.env is not None:
            self.env.waited = 0

    @property
    def running(self) -> bool:
        return self.env is not None and self.env.alive


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
        self._network, self._build, self._told = network, build, told

    # -- the handle -----------------------------------------------------------------------------------------------------

    def start(self, node: NodeId) -> None:
        process = self.nodes[node]
        if process.running:
            process.wanted = process.stopping
            return
        process.starts += 1
        process.waited_before = process.waited
        process.pauses, process.share, process.stopping, process.wanted = 0, None, False, False
        chance = stream(self._network.seed, "node", node, process.starts)
        env = process.env = SimEnv(node, self._network, process.clock, chance, self)
        env.disks = process.disks
        for disk in process.disks:
            disk.owner = env
        self._note(PROCESS_STARTED, node, "starts", "")
        process.program = self._build(env)

    def kill(self, node: NodeId) -> tuple[Damage, ...]:
        """At once; what the process had written stays in the page cache, and becomes durable in its own time."""
        process = self.nodes[node]
        if not process.running:
            return ()
        self._end(process, "killed")
        return tuple(damage for disk in process.disks for damage in unharmed(node, batches_of(disk.content())))

    def stop(self, node: NodeId) -> None:
        process = self.nodes[node]
        env, program = process.env, process.program
        if env is None or not env.alive:
            return

        def deadline() -> None:
            if env.alive:
                self.exits.append(Exit(self._network.kernel.now, node, NOT_LET_GO, allowed=True))
                self._stopped(process, env, NOT_LET_GO)

        process.stopping = True
        env.enter(program.stop, lambda: self._stopped(process, env, "stopped cleanly"))
        self._network.kernel.at(self._network.kernel.now + STOP_DEADLINE_NS, _call, deadline)

    def _stopped(self, process: NodeProcess, life: SimEnv, why: str) -> None:
        if life.alive:
            self._end(process, why, life)
            if process.wanted:
                self._network.kernel.at(self._network.kernel.now, self.start, process.node_id)

    def pause(self, node: NodeId) -> None:
        self._pace(node, self.nodes[node].pauses + 1, self.nodes[node].share)

    def resume(self, node: NodeId) -> None:
        self._pace(node, max(0, self.nodes[node].pauses - 1), self.nodes[node].share)

    def slow(self, node: NodeId, share: float | None) -> None:
        self._pace(node, self.nodes[node].pauses, share)

    def touched(self, node: NodeId) -> int:
        return self.nodes[node].waited

    def _pace(self, node: NodeId, pauses: int, share: float | None) -> None:
        process = self.nodes[node]
        if process.env is None or not process.running:
            return
        if process.pauses == 0 and process.share is None:
            process.count_anew()
        if (process.pauses > 0) != (pauses > 0):
            self.watch.process(self._network.kernel.now, node, "stands" if pauses else "runs", "")
        process.pauses, process.share = pauses, share
        process.env.set_pace(paused=pauses > 0, share=share)

    # -- what nodes do themselves (`env.Witness`) -----------------------------------------------------------------------

    def on_told(self, env: SimEnv, event: Any) -> None:
        self._told(env.node_id, event)

    def on_halted(self, env: SimEnv, reason: str, *, allowed: bool) -> None:
        self._note(PROCESS_ENDED, env.node_id, "ends", reason)
        self.exits.append(Exit(self._network.kernel.now, env.node_id, reason, allowed))

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
