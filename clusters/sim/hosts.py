"""clusters/sim/hosts.py: what an operator does before a node can start: a properties file, and formatted directories (2.42).

In     a plan
Out    for every node its properties, by Kafka's names, as text; formatted disks, before the first start and after a wipe
Keeps  every directory that was formatted has an id of its own: a voter whose disk was wiped comes back as another one (2.37)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clusters.sim.admin import written
from clusters.sim.disk import SimDisk
from model.chance import stream
from model.cluster import NodeId
from model.config import SETTINGS, effective
from model.plan import Plan
from replication.files import META_PROPERTIES
from replication.identity import random_id
from replication.mutants import PROPERTY
from replication.node_properties import BROKER_ROLE, CONTROLLER_ROLE, format_files, written_voters
from replication.quorum_messages import VoterKey

CLUSTER_ID = "tidemark-simulated"


class Hosts:
    """The machines that nodes run on."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._common = {key: written(value) for key in SETTINGS if (value := effective(plan.config, {}, key)) is not None}
        voters = [VoterKey(node, self._directory_id(node, 0, 0)) for node in plan.nodes.controller_ids]
        self._common |= {"cluster.id": CLUSTER_ID, "controller.quorum.voters": written_voters(voters)}
        if plan.mutants:
            self._common[PROPERTY] = ",".join(plan.mutants)

    def properties(self, node: NodeId) -> dict[str, str]:
        nodes = self._plan.nodes
        roles = [BROKER_ROLE] * (node in nodes.broker_ids) + [CONTROLLER_ROLE] * (node in nodes.controller_ids)
        own = {
            "node.id": str(node),
            "process.roles": ",".join(roles),
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{9_000 + node}",
        }
        return {**self._common, **own}

    @property
    def common(self) -> Mapping[str, str]:
        """What all nodes have alike."""
        return self._common

    def format(self, node: NodeId, disks: Sequence[SimDisk], starts: int) -> None:
        """Every directory that is not formatted: all of them before the first start, later those that were wiped."""
        for number, disk in enumerate(disks):
            if META_PROPERTIES not in disk.files:
                disk.install(format_files(CLUSTER_ID, node, self._directory_id(node, number, starts)))

    def _directory_id(self, node: NodeId, number: int, starts: int) -> bytes:
        return random_id(stream(self._plan.seed, "format", node, f"{number}:{starts}"))
