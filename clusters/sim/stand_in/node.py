"""clusters/sim/stand_in/node.py: one node: the roles it has, and the memory that all played controllers share.

In     a process to run in, the plan's topology
Out    requests to the role that takes them; the orderly end of all roles
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from clusters.sim.env import SimEnv
from clusters.sim.processes import SimProcesses
from clusters.sim.stand_in.broker import StandInBroker
from clusters.sim.stand_in.controller import StandInController
from clusters.sim.stand_in.metadata import Metadata, OnCommit
from model.cluster import NodeId
from model.plan import Nodes
from replication.env import Request
from replication.image import MetadataImage
from replication.rules import Rules

OF_CONTROLLERS = frozenset({"raft", "lifecycle", "alter", "forward"})


class StandInQuorum:
    """The controllers together: the first of them that runs is active."""

    def __init__(self, controllers: tuple[NodeId, ...], processes: SimProcesses, on_commit: OnCommit) -> None:
        self._controllers, self._processes, self._tell = controllers, processes, on_commit
        self.metadata = Metadata(self._on_commit)
        self.epoch = 0
        self._last_active: NodeId | None = None

    def active(self) -> NodeId | None:
        now = next((node for node in self._controllers if self._processes.nodes[node].running), None)
        if now is not None and now != self._last_active:
            self._last_active = now
            self.epoch += 1
        return now

    def _on_commit(self, before: MetadataImage, after: MetadataImage, election: str) -> None:
        self._tell(before, after, election)
        active = self.active()
        if active is not None:
            self._processes.nodes[active].program.on_commit()


class StandInNode:
    """A node process: a broker, a controller, or both."""

    def __init__(self, env: SimEnv, quorum: StandInQuorum, nodes: Nodes, rules: Rules, properties: Mapping[str, str]) -> None:
        self.env = env
        self.controller: StandInController | None = None
        self.broker: StandInBroker | None = None
        env.listens = self._listens
        env.on_request = self._on_request
        if env.node_id in nodes.controller_ids:
            session_ms = int(properties["broker.session.timeout.ms"])
            self.controller = StandInController(env, quorum.metadata, session_ms, lambda: quorum.active() == env.node_id)
        if env.node_id in nodes.broker_ids:
            self.broker = StandInBroker(env, rules, properties, nodes.controller_ids)

    @property
    def serving(self) -> bool:
        return self.broker is not None and self.broker.serving

    @property
    def clean(self) -> bool | None:
        return None if self.broker is None else self.broker.clean

    def on_commit(self) -> None:
        if self.controller is not None:
            self.controller.on_commit()

    def _listens(self, channel: str) -> bool:
        return self.controller is not None if channel in OF_CONTROLLERS else self.serving

    def _on_request(self, request: Request) -> None:
        if self.controller is not None and (self.broker is None or self.controller.takes(request.message)):
            self.controller.on_request(request)
        elif self.broker is not None:
            self.broker.broker.on_request(request)

    def stop(self, then: Callable[[], None]) -> None:
        if self.broker is not None:
            self.broker.stop(then)
        else:
            then()
