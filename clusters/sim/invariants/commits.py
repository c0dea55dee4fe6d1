"""clusters/sim/invariants/commits.py: what the controllers commit, taken up at once and judged when the event is over.

In     every image at its commit, with the one before it
Out    the committed state of each partition in truth.py; the invariants that a commit can break, asked once per operation
Keeps  an operation of the controllers may have several steps in one event; what counts is the state at its end (BUGS 7)
"""

from __future__ import annotations

from clusters.sim.invariants.catalogue import COMMITTED, IMAGE, asked_after
from clusters.sim.invariants.findings import THE_BROKERS, Findings
from clusters.sim.invariants.truth import PartitionTruth
from clusters.sim.invariants.world import World
from replication.image import MetadataImage


class Commits:
    """The truth about metadata, as it grows."""

    def __init__(self, world: World, findings: Findings) -> None:
        self._world, self._findings = world, findings
        self._changed: dict[PartitionTruth, None] = {}
        self._brokers_changed = False
        self.to_judge = False

    def take(self, before: MetadataImage, after: MetadataImage) -> None:
        self._world.committed = after
        self.to_judge = True
        if after.topics is not before.topics:
            self._take_partitions(before, after)
        if after.brokers is not before.brokers or after.configs is not before.configs:
            self._take_brokers(before, after)

    def _take_partitions(self, before: MetadataImage, after: MetadataImage) -> None:
        for topic_id, topic in after.topics.items():
            old = before.topics.get(topic_id)
            if old is topic:
                continue
            for index, state in topic.partitions.items():
                if old is None or old.partitions.get(index) is not state:
                    truth = self._world.truth((topic_id, index), topic.name)
                    self._concerns(truth)
                    truth.take(state)
        for key, truth in self._world.partitions.items():
            if key[0] not in after.topics:
                truth.take(None)

    def _take_brokers(self, before: MetadataImage, after: MetadataImage) -> None:
        """Who is alive concerns every partition of that broker, whether its state changed or not."""
        world = self._world
        changed = [node for node, known in after.brokers.items() if before.brokers.get(node) is not known]
        for node in changed:
            known = before.brokers.get(node)
            registered = after.brokers[node]
            if known is not None and known.broker_epoch == registered.broker_epoch:
                continue
            if world.unclean.get(node, registered.incarnation_id) != registered.incarnation_id:
                del world.unclean[node]
                world.returned[node] = None
        self._brokers_changed = True
        for key, topic, state in world.named():
            if after.configs is not before.configs or any(node in state.replicas for node in changed):
                self._concerns(world.truth(key, topic))

    def _concerns(self, truth: PartitionTruth) -> None:
        if truth not in self._changed:
            self._changed[truth] = None
            truth.before = truth.state

    def judge(self) -> None:
        """The event is over."""
        world, findings = self._world, self._findings
        self.to_judge = False
        if self._brokers_changed:
            self._brokers_changed = False
            for each in asked_after(IMAGE, "everything"):
                findings.ask(each, THE_BROKERS, each.check(world))
        changed, self._changed = self._changed, {}
        for truth in changed:
            world.weigh(truth)
            for each in asked_after(COMMITTED, "partition"):
                if truth.loss_forbidden or not each.stands_down:
                    findings.ask(each, truth, each.check(world, truth))
            truth.before = truth.state
        world.before = world.committed
        world.returned.clear()
