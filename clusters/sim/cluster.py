"""clusters/sim/cluster.py: the simulated cluster: every handle of model/cluster over one kernel.

In     a plan; rules, if they are not the right ones
Out    `model.cluster.Cluster`. Nodes are the very objects of replication/, with played controllers (stand_in/) for the time being
Keeps  one seed, one stream of random numbers per purpose, link and node. Nothing in here reads a clock, a hash or an address
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from clusters.clients.raw import RawClient
from clusters.sim.admin import SimAdmin, written
from clusters.sim.clock import NodeClock, SimClocks
from clusters.sim.disk import SimDisk
from clusters.sim.disks import SimDisks
from clusters.sim.env import SimEnv
from clusters.sim.kernel import Kernel, SimTimeline
from clusters.sim.kinds import TOLD
from clusters.sim.network import Network, SimLinks
from clusters.sim.observing import observe
from clusters.sim.processes import NodeProcess, Program, SimProcesses
from clusters.sim.stand_in.node import StandInNode, StandInQuorum
from clusters.sim.tail import MetadataTail
from clusters.sim.watch import Watch
from model.chance import stream
from model.cluster import Ability, ClusterState, NodeId, Told
from model.config import SETTINGS, effective, effective_number
from model.plan import Plan
from model.refusal import Refusal
from replication.client import Client
from replication.env import NANOSECONDS
from replication.events import LeaderChanged
from replication.rules import Rules

ADMIN = -1_000  # dials nodes through links that no fault touches
START_LIMIT_NS = 60_000 * NANOSECONDS
CAN: frozenset[Ability] = frozenset(Ability) - {Ability.REASSIGN}  # the played controllers move no replicas


class SimCluster:
    """A whole cluster in one process."""

    def __init__(self, plan: Plan, rules: Rules | None = None, watch: Watch | None = None) -> None:
        if plan.mutants:
            raise Refusal("no mutant can be switched on yet", where="mutants", allowed="[]")
        self.plan, self.rules = plan, rules or Rules()
        self.nodes = plan.nodes.ids
        self.can = CAN
        self.kernel = Kernel()
        self.time = SimTimeline(self.kernel)
        self.properties = broker_properties(plan.config)
        self.network = Network(self.kernel, plan.seed, self._process_of)
        self.links = SimLinks(self.network)
        processes = [self._node(node) for node in self.nodes]
        self.processes = SimProcesses(self.network, processes, self._build, self._on_told)
        self.clocks = SimClocks(self.time.now_ns, {process.node_id: process.clock for process in processes})
        self.disks = SimDisks({process.node_id: process.disks for process in processes})
        self.tail = MetadataTail(self.time.now_ns, self._was_clean)
        self.quorum = StandInQuorum(plan.nodes.controller_ids, self.processes, self.tail.on_commit)
        self.admin = SimAdmin(Client(self._client_env(ADMIN, 0), plan.nodes.broker_ids, self._client_timeout_ms()))
        self._clients = 0
        self._watch = watch or Watch()
        self.tail.watch = self.processes.watch = self._watch
        self.network.watch = watch

    def _process_of(self, node: NodeId) -> SimEnv | None:
        return self.processes.process_of(node)

    def _node(self, node: NodeId) -> NodeProcess:
        seed, is_broker = self.plan.seed, node in self.plan.nodes.broker_ids
        disks = [SimDisk(self.kernel, stream(seed, "disk", node, 0), node)] if is_broker else []
        for disk in disks:
            disk.write_back(stream(seed, "write back", node, 0))
        return NodeProcess(node, disks, NodeClock())

    def _build(self, env: SimEnv) -> Program:
        return StandInNode(env, self.quorum, self.plan.nodes, self.rules, self.properties)

    # -- life -----------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start every node, and wait until all brokers are let serve."""
        for node in (*self.plan.nodes.controller_ids, *self.plan.nodes.broker_ids):
            self.processes.start(node)
        if not self.time.run_until(self._all_serve, START_LIMIT_NS):
            raise Refusal(f"the brokers were not let serve within {START_LIMIT_NS // 10**9} s of virtual time")

    def _all_serve(self) -> bool:
        return all(self.processes.nodes[broker].program.serving for broker in self.plan.nodes.broker_ids)

    def collect(self, into: Path) -> None:
        """The data directories, as processes would find them now."""
        for node, process in self.processes.nodes.items():
            for number, disk in enumerate(process.disks):
                for path, data in disk.content().items():
                    target = into / f"n{node}" / f"data-{number}" / path
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(data)

    def stop(self) -> None:
        """Nothing runs outside this process, so there is nothing to remove."""
        for process in self.processes.nodes.values():
            if process.env is not None and process.env.alive:
                process.env.end()

    # -- clients --------------------------------------------------------------------------------------------------------

    def client(self, group: int) -> RawClient:
        self._clients += 1
        return RawClient(self._client_env(-group, self._clients), self.plan.nodes.broker_ids, self._client_timeout_ms())

    def _client_env(self, dialer: int, number: int) -> SimEnv:
        chance = stream(self.plan.seed, "client", dialer, number)
        return SimEnv(dialer, self.network, NodeClock(), chance, _NobodyListens())

    def _client_timeout_ms(self) -> int:
        return effective_number(self.plan.config, {}, "request.timeout.ms")

    # -- what can be seen -----------------------------------------------------------------------------------------------

    def observe(self) -> ClusterState:
        return observe(self.kernel.now, self.quorum, self.processes)

    def told(self) -> Told:
        return Told(
            changes=tuple(self.tail.changes),
            registrations=tuple(self.tail.registrations),
            exits=tuple(self.processes.exits),
            complete=True,
            digest=self.kernel.digest.hex(),
        )

    def _on_told(self, node: NodeId, event: Any) -> None:
        self.kernel.note(TOLD, node, zlib.crc32(msgspec.json.encode(event)))
        if isinstance(event, LeaderChanged):
            self.tail.on_leader(node, event)
        self._watch.told(self.kernel.now, node, event)

    def _was_clean(self, node: NodeId) -> bool | None:
        program: Any = self.processes.nodes[node].program
        return None if program is None else bool(program.clean)


class _NobodyListens:
    """Clients tell nothing, and an exception in one is ours, not a node's."""

    def on_told(self, env: SimEnv, event: Any) -> None: ...

    def on_halted(self, env: SimEnv, reason: str, *, allowed: bool) -> None:
        raise RuntimeError(f"a client of the simulator crashed: {reason}")


def broker_properties(config: Mapping[str, object]) -> dict[str, str]:
    """A node's properties file: every setting in force, by Kafka's name, as text."""
    values = {key: effective(config, {}, key) for key in SETTINGS}
    return {key: written(value) for key, value in values.items() if value is not None}
