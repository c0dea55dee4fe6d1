"""replication/node.py: one node: its roles, and the metadata log that both of them live on (4.18).

In     a world, its properties, rules if they are not the right ones; requests by channel; the order to stop
Out    the quorum, a controller where it has that role, a broker where it has that one; committed metadata, folded once, to both
Keeps  the broker's part ends first, since its controlled shutdown needs a controller; then the quorum's
Not    what the parts do. It decides nothing
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from replication.broker import Broker
from replication.controller.controller import Controller
from replication.directory import OnDone
from replication.env import Env, Request
from replication.events import MetadataApplied, MetadataLoaded, MutantsSwitchedOn
from replication.folding import fold, image_of, records_of
from replication.image import MetadataImage
from replication.lifecycle import Lifecycle, LifecycleSettings
from replication.mutants import names_in, rules_with
from replication.node_properties import BROKER_ROLE, CONTROLLER_ROLE, identity, why_not_formatted
from replication.quorum.quorum import Quorum
from replication.quorum.settings import quorum_settings
from replication.quorum_messages import SnapshotId
from replication.records import Decision, MetadataRecord
from replication.rules import Rules
from replication.settings import read_settings

OF_QUORUM = "raft"
OF_CONTROLLER = frozenset({"lifecycle", "alter", "forward"})


class Node:
    """A node process: a broker, a controller, or both."""

    def __init__(self, env: Env, properties: Mapping[str, str], rules: Rules | None = None) -> None:
        """Without rules, the right ones but for the mutants that the properties name. Raises ValueError for wrong properties."""
        self.env, self.identity = env, identity(properties)
        me, self.mutants = self.identity, names_in(properties) if rules is None else ()
        self.rules = rules = rules_with(self.mutants) if rules is None else rules
        self.image = MetadataImage(cluster_id=me.cluster_id)
        """Everything that is committed, as far as this node knows."""
        self.quorum = Quorum(me.node_id, me.cluster_id, me.voters, env, rules, quorum_settings(properties), self)
        self.controller: Controller | None = None
        self.lifecycle: Lifecycle | None = None
        if CONTROLLER_ROLE in me.roles:
            self.controller = Controller(me.node_id, env, rules, properties, self.quorum)
        if BROKER_ROLE in me.roles:
            broker = Broker(me.node_id, env, rules, me.cluster_id, properties)
            self.lifecycle = Lifecycle(broker, me.cluster_id, me.endpoint, read_settings(LifecycleSettings, [properties]))

    @property
    def broker(self) -> Broker | None:
        return None if self.lifecycle is None else self.lifecycle.broker

    # -- life -----------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """2.42 Only on directories that were formatted for this node of this cluster."""
        if self.mutants:
            self.env.emit(MutantsSwitchedOn(names=self.mutants))
        for disk in self.env.disks:
            reason = why_not_formatted(disk, self.identity)
            if reason is not None:
                self.env.halt(reason)
                return
        self.quorum.open(self._on_quorum_open)

    def _on_quorum_open(self) -> None:
        if self.lifecycle is not None:
            self.lifecycle.start()

    def stop(self, then: OnDone) -> None:
        """The orderly end."""
        if self.lifecycle is None:
            self.quorum.close(then)
        else:
            self.lifecycle.leave(lambda: self.quorum.close(then))

    # -- requests -------------------------------------------------------------------------------------------------------

    def listens(self, channel: str) -> bool:
        """4.14 Controllers take connections from the start, brokers once they are let serve."""
        if channel == OF_QUORUM or channel in OF_CONTROLLER:
            return self.controller is not None
        return self.lifecycle is not None and self.lifecycle.serves

    def on_request(self, request: Request) -> None:
        channel = request.channel
        if channel == OF_QUORUM:
            self.quorum.on_request(request)
        elif channel in OF_CONTROLLER:
            if self.controller is not None:
                self.controller.on_request(request)
        elif self.lifecycle is not None:
            self.lifecycle.broker.on_request(request)

    # -- the state machine above the quorum (`quorum.machine.Machine`) ------------------------------------------------------

    def on_commit(self, decisions: Sequence[Decision]) -> None:
        for decision in decisions:
            self.image = fold(self.image, decision)
        self.env.emit(MetadataApplied(offset=self.image.offset, epoch=self.image.epoch, decisions=tuple(decisions)))
        self._on_image()

    def on_snapshot(self, snapshot: SnapshotId, records: tuple[MetadataRecord, ...]) -> None:
        self.image = image_of(records, snapshot.end_offset - 1, snapshot.epoch, self.identity.cluster_id)
        self.env.emit(MetadataLoaded(offset=self.image.offset, epoch=self.image.epoch))
        self._on_image()

    def _on_image(self) -> None:
        if self.controller is not None:
            self.controller.on_committed(self.image)
        if self.lifecycle is not None:
            self.lifecycle.on_image(self.image)

    def on_active(self, epoch: int) -> None:
        if self.controller is not None:
            self.controller.on_active(epoch)

    def on_inactive(self) -> None:
        if self.controller is not None:
            self.controller.on_inactive()

    def on_leader(self, leader_id: int | None, epoch: int) -> None:
        if self.lifecycle is not None:
            self.lifecycle.broker.on_controller(leader_id)

    def snapshot(self) -> tuple[MetadataRecord, ...]:
        return records_of(self.image)
