"""clusters/sim/cluster.py: the simulated cluster: every handle of model/cluster over one kernel.

In     a plan; rules, if they are neither the right ones nor those of the plan's mutants
Out    `model.cluster.Cluster`. Nodes are the very objects of replication/
Keeps  one seed, one stream of random numbers per purpose, link and node. Nothing in here reads a clock, a hash or an address
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import msgspec

from clusters.clients.raw import RawClient
from clusters.sim import invariants
from clusters.sim.admin import SimAdmin
from clusters.sim.clock import NodeClock, SimClocks
from clusters.sim.disk import SimDisk
from clusters.sim.disks import SimDisks
from clusters.sim.env import SimEnv
from clusters.sim.hosts import CLUSTER_ID, Hosts
from clusters.sim.invariants import Invariants, OnViolation
from clusters.sim.invariants.world import Forbidden, Parts
from clusters.sim.kernel import Kernel, SimTimeline
from clusters.sim.kinds import TOLD
from clusters.sim.ledger import SimLedger
from clusters.sim.network import Network, SimLinks
from clusters.sim.observing import observe
from clusters.sim.processes import NodeProcess, Program, SimProcesses
from clusters.sim.tail import MetadataTail
from clusters.sim.watch import Watch
from model.chance import stream
from model.cluster import Ability, ClusterState, NodeId, Told, Violation
from model.config import effective_number
from model.plan import Plan
from model.refusal import InfrastructureFailure, Refusal
from replication.client import Client
from replication.env import NANOSECONDS
from replication.events import MetadataApplied
from replication.mutants import rules_with
from replication.node import Node
from replication.rules import Rules

ADMIN = -1_000  # dials nodes through links that no fault touches
STEPS_AT_START, STEPS_A_SECOND = 5_000_000, 50_000  # a hundred times what a run needs
CONTRADICTIONS, DAMAGED = ("CutBelowHighWatermark:", "TwoLeaders:", "CannotFold:"), "damaged"
BEYOND_REPAIR = ("C1", "Q1")
REST_NS = NANOSECONDS * 1_000  # so that followers have fetched what was appended last
START_LIMIT_NS = 60_000 * NANOSECONDS
CAN: frozenset[Ability] = frozenset(Ability)


class SimCluster:
    """A whole cluster in one process."""

    def __init__(self, plan: Plan, rules: Rules | None = None, watch: Watch | None = None) -> None:
        _check_mutants(plan)
        self.plan, self.rules = plan, rules
        self.nodes = plan.nodes.ids
        self.can = CAN
        self.kernel = Kernel()
        self.time = SimTimeline(self.kernel)
        self.hosts = Hosts(plan)
        self.network = Network(self.kernel, plan.seed, self._process_of)
        self.links = SimLinks(self.network)
        processes = [self._node(node) for node in self.nodes]
        self.processes = SimProcesses(self.network, processes, self._build, self._on_told)
        self.clocks = SimClocks(self.time.now_ns, {process.node_id: process.clock for process in processes})
        self.disks = SimDisks({process.node_id: process.disks for process in processes})
        self.tail = MetadataTail(self.time.now_ns, self._was_clean, CLUSTER_ID)
        self.admin = SimAdmin(Client(self._client_env(ADMIN, 0), plan.nodes.broker_ids, self._client_timeout_ms()))
        self.invariants: Invariants | None = None
        self.ledger: SimLedger | None = None
        self._clients = 0
        self._watch = watch or Watch()
        self.tail.watch = self.processes.watch = self._watch
        self.network.watch = watch

    def _process_of(self, node: NodeId) -> SimEnv | None:
        return self.processes.process_of(node)

    def _node(self, node: NodeId) -> NodeProcess:
        seed = self.plan.seed
        disk = SimDisk(self.kernel, stream(seed, "disk", node, 0), stream(seed, "damage", node, 0), node, votes=self._votes(node))
        disk.write_back(stream(seed, "write back", node, 0))
        return NodeProcess(node, [disk], NodeClock())

    def _votes(self, node: NodeId) -> bool:
        return node in self.plan.nodes.controller_ids

    def _build(self, env: SimEnv) -> Program:
        process = self.processes.nodes[env.node_id]
        self.hosts.format(env.node_id, process.disks, process.starts - 1)
        if self.invariants is not None:
            self.invariants.on_start(env, process.starts)
        node = Node(env, self.hosts.properties(env.node_id), self.rules)
        env.listens, env.on_request = node.listens, node.on_request
        return node

    # -- damage, and white-box invariants ---------------------------------------------------------------------------------

    def keep_ledger(self) -> SimLedger:
        """Keep account of damage: which ends of processes it excuses, and when nobody can expect the cluster to come back.

        To be called before `start`. A run that takes a hundred times as long as it should is stopped.
        """
        ledger = self.ledger = SimLedger(self.plan, self.time.now_ns)
        self.processes.on_unclean = lambda node: ledger.on_hurt(node, ())
        self.processes.may_give_up = self._may_give_up
        self.disks.on_damage = ledger.on_disk_damage
        self.admin.on_unclean_request = ledger.on_unclean_request
        self.tail.on_rows.append(ledger.on_rows)
        self.tail.on_commit.append(ledger.on_commit)
        self.kernel.step_cap = STEPS_AT_START + STEPS_A_SECOND * self.plan.for_ns // 10**9
        return ledger

    def assert_invariants(self, on_violation: OnViolation = "stop", forbidden: Forbidden | None = None) -> Invariants:
        """Look into the nodes after every event. To be called before `start`; what it finds is in `violations`.

        `forbidden`: whether a partition may still lose nothing; without it the ledger of damage says so.
        """
        ledger = self.keep_ledger()
        found = self.invariants = Invariants(
            self.kernel,
            self._parts,
            self.hosts.common,
            self.plan.nodes.controller_ids,
            forbidden or ledger.forbids_loss,
            on_violation,
        )
        self._watch = self.tail.watch = self.processes.watch = found.overhearing(self._watch)
        found.world.bytes_changed = ledger.bytes_changed
        found.world.asked_for_unclean = ledger.asked_for_unclean
        found.world.copies_survive, found.world.metadata_promised = ledger.copies_survive, ledger.metadata_promised
        self.tail.on_commit.append(found.on_commit)
        return found

    def _parts(self, node: NodeId) -> Parts | None:
        program: Any = self.processes.nodes[node].program
        if program is None:
            return None
        return Parts(program.broker, program.quorum, b"" if program.lifecycle is None else program.lifecycle.incarnation_id)

    # -- life -----------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start every node, and wait until a controller is active and all brokers are let serve."""
        for node in (*self.plan.nodes.controller_ids, *self.plan.nodes.broker_ids):
            self.processes.start(node)
        if not self.time.run_until(self._all_serve, START_LIMIT_NS):
            raise InfrastructureFailure(f"the brokers were not let serve within {START_LIMIT_NS // 10**9} s of virtual time")

    def _all_serve(self) -> bool:
        return all(self.processes.nodes[broker].program.lifecycle.serves for broker in self.plan.nodes.broker_ids)

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
        return observe(self.kernel.now, self.tail.image, self.processes)

    def told(self, *, settled: bool = False) -> Told:
        told = Told(
            changes=tuple(self.tail.changes),
            registrations=tuple(self.tail.registrations),
            exits=tuple(self.processes.exits),
            complete=True,
            digest=self.kernel.digest.hex(),
            excuse=self._excuse(),
        )
        if self.invariants is None:
            return told
        if settled and not self.kernel.stopped:
            self.time.run_until(lambda: False, REST_NS)  # no part of the run: without invariants it is the same one
            self.invariants.at_the_end()
        return msgspec.structs.replace(told, violations=tuple(map(_told, self.invariants.violations)))

    def _may_give_up(self, node: NodeId, reason: str, allowed: bool) -> bool:
        """Whether an end that nobody asked for is right.

        A node whose metadata contradicts what it has seen gives up (2.16, 2.29, 3.4): right, once voters' disks have lied. One
        that finds its disk damaged gives up: right, if anybody has hurt that disk.
        """
        if self.ledger is None:
            return allowed
        if allowed:
            return DAMAGED not in reason or self.ledger.disk_was_hurt(node)
        return reason.startswith(CONTRADICTIONS) and not self.ledger.metadata_promised()

    def _excuse(self) -> str:
        """CHECKERS 6.8 V1: damage after which nobody can expect the cluster to come back."""
        rules = {} if self.ledger is None else self.ledger.rules()
        beyond = [f"{topic}/{index}: {rule}" for (topic, index), rule in rules.items() if rule in BEYOND_REPAIR]
        beyond += [] if self.ledger is None or self.ledger.voters_suffice() else ["too few voters were never wiped"]
        return f"damage beyond what is promised ({', '.join(beyond)})" if beyond else ""

    def _on_told(self, node: NodeId, event: Any) -> None:
        key = event.offset if type(event) is MetadataApplied else zlib.crc32(msgspec.json.encode(event))
        self.kernel.note(TOLD, node, key)
        self.tail.on_told(node, event)
        if self.ledger is not None:
            self.ledger.on_told(event)
        self._watch.told(self.kernel.now, node, event)

    def _was_clean(self, node: NodeId, incarnation_id: bytes) -> bool | None:
        """None where the process that registered is gone: its word was lost with it."""
        program: Any = self.processes.nodes[node].program
        mine = None if program is None or program.lifecycle is None else program.lifecycle
        return None if mine is None or mine.incarnation_id != incarnation_id else mine.clean


def _check_mutants(plan: Plan) -> None:
    try:
        rules_with(plan.mutants)
    except ValueError as error:
        raise Refusal(str(error), where="mutants", allowed="mutants that answer different questions") from None


class _NobodyListens:
    """Clients tell nothing, and an exception in one is ours, not a node's."""

    def on_told(self, env: SimEnv, event: Any) -> None: ...

    def on_halted(self, env: SimEnv, reason: str, *, allowed: bool) -> None:
        raise RuntimeError(f"a client of the simulator crashed: {reason}")


def _told(violation: invariants.Violation) -> Violation:
    return Violation(
        number=violation.number,
        name=violation.name,
        text=violation.text,
        at_ns=violation.at_ns,
        after=violation.after,
        beliefs=violation.beliefs,
        story=violation.story,
    )
