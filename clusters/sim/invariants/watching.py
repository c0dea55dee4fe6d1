"""clusters/sim/invariants/watching.py: when which invariant is asked.

In     lives of node processes as they begin; after every event, which of them it touched; commits; what is told
Out    `violations`
Keeps  after an event only the nodes that it touched are looked at, and of them only what is no longer as it was
Not    commits: commits.py; answers: answers.py; what becomes of a violation: findings.py
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from clusters.sim.env import SimEnv
from clusters.sim.invariants.answers import Answers
from clusters.sim.invariants.catalogue import (
    CUT,
    HW,
    IMAGE,
    LEADER_HW,
    NEW,
    OFFICE,
    STANDING,
    THE_END,
    TRUE_HW,
    Invariant,
    asked_after,
    asked_at,
)
from clusters.sim.invariants.commits import Commits
from clusters.sim.invariants.findings import THE_QUORUM, Findings, OnViolation
from clusters.sim.invariants.member import ENTERED, Member, QuorumTruth
from clusters.sim.invariants.replica import APPEARED, Replica
from clusters.sim.invariants.rooms import every_invariant
from clusters.sim.invariants.story import Listener, Story
from clusters.sim.invariants.truth import PartitionTruth
from clusters.sim.invariants.violation import Violation
from clusters.sim.invariants.waits import pending_waits
from clusters.sim.invariants.world import Forbidden, Life, Parts, World, always
from clusters.sim.kernel import Kernel
from clusters.sim.watch import Watch
from replication.broker_state import BrokerState
from replication.events import BrokerClosed, HighWatermarkHeldBack, QuorumStateChanged
from replication.image import MetadataImage
from replication.quorum.election_state import Role


class Invariants(Listener):
    """All of them, over one world."""

    def __init__(
        self,
        kernel: Kernel,
        parts: Callable[[int], Parts | None],
        properties: Mapping[str, str],
        voters: tuple[int, ...] = (),
        forbidden: Forbidden = always,
        on_violation: OnViolation = "stop",
    ) -> None:
        self.kernel, self.world = kernel, World(properties, forbidden, QuorumTruth(voters))
        self.catalogue = every_invariant()
        self._parts = parts
        self._story = Story(Watch(), self)
        self._findings = Findings(kernel, self.world, self._story, on_violation)
        self._commits = Commits(self.world, self._findings)
        self._answers = Answers(self.world, self._findings)
        self._plans: dict[int, tuple[tuple[Invariant, ...], tuple[Invariant, ...]]] = {}
        self._held_back: list[tuple[int, str, int]] = []
        kernel.look = self.look
        kernel.waits = lambda: pending_waits(self.world.lives.values())

    @property
    def violations(self) -> list[Violation]:
        return self._findings.violations

    def overhearing(self, watch: Watch) -> Watch:
        """The watch to put in the place of this one, so that what is told is heard here too."""
        self._story.behind = watch
        return self._story

    # -- what comes in --------------------------------------------------------------------------------------------------

    def on_start(self, env: SimEnv, start: int) -> None:
        """A node process begins. It is seen from its first event on."""
        node = env.node_id
        self.world.lives[node] = env.observer = Life(node, start, env, self._answers.by_kind)
        for truth in self.world.partitions.values():
            truth.replicas.pop(node, None)
        self.world.quorum.members.pop(node, None)

    def on_ended(self, node: int) -> None:
        """A process that never came to open its logs leaves them, and the mark of the stop before, as they were."""
        life = self.world.lives.get(node)
        if life is not None and not life.closed and life.broker is not None and life.broker.opened:
            self.world.unclean[node] = life.incarnation_id

    def on_told(self, node: int, event: Any) -> None:
        kind, life = type(event), self.world.lives.get(node)
        if kind is HighWatermarkHeldBack:
            self._held_back.append((node, event.topic, event.partition))
        elif kind is BrokerClosed and life is not None:
            life.closed = True
        elif kind is QuorumStateChanged and life is not None:
            life.has_standing = True

    def on_commit(self, before: MetadataImage, after: MetadataImage) -> None:
        """The controllers committed: to be judged when this event is over, whomever it touched."""
        self._commits.take(before, after)
        self.kernel.touched.append(None)

    # -- after every event ----------------------------------------------------------------------------------------------

    def look(self, touched: list[Any]) -> None:
        """What the event that is over has done."""
        if self._commits.to_judge:
            self._commits.judge()
        for life in touched if len(touched) == 1 else dict.fromkeys(touched):
            if life is not None and life.env.alive:
                self._look_at(life)
        touched.clear()
        if self._held_back:
            self._look_at_held_back()

    def _look_at(self, life: Life) -> None:
        if not life.built and not self._find_parts(life):
            return
        if life.has_standing:
            self._look_at_member(life)
        broker = life.broker
        if broker is None:
            return
        if broker.state.image is not life.image:
            self._look_at_image(life, broker.state)
        for replica in life.replicas.values():
            if changed := replica.look():
                self._examine(replica, changed)

    def _find_parts(self, life: Life) -> bool:
        """A program is not yet there while it is being built."""
        parts = self._parts(life.node)
        if parts is None:
            return False
        life.broker, life.quorum, life.incarnation_id, life.built = parts.broker, parts.quorum, parts.incarnation_id, True
        return True

    def _look_at_image(self, life: Life, state: BrokerState) -> None:
        """Replicas come and go with images only."""
        for each in asked_after(IMAGE, "broker"):
            self._findings.ask(each, f"n{life.node}", each.check(self.world, life))
        life.image = state.image
        replicas = life.replicas
        for key in [key for key in replicas if key not in state.partitions]:
            del replicas[key].truth.replicas[life.node]
            del replicas[key]
        for key, partition in state.partitions.items():
            if key not in replicas or replicas[key].partition is not partition:
                truth = self.world.truth(key, partition.standing.topic)
                replica = replicas[key] = truth.replicas[life.node] = Replica(life, partition, truth)
                self._examine(replica, APPEARED)

    def _examine(self, replica: Replica, changed: int) -> None:
        """A replica is not as it was."""
        truth, world = replica.truth, self.world
        if changed & (CUT | NEW):
            world.weigh(truth)
        if changed & (LEADER_HW | OFFICE) and replica.hw > truth.true_hw and truth.loss_forbidden and world.leads(replica):
            truth.true_hw, truth.true_hw_by = replica.hw, replica.node
            changed |= TRUE_HW
        plan = self._plans.get(changed)
        if plan is None:
            plan = self._plans[changed] = asked_after(changed, "replica"), asked_after(changed, "partition")
        for each in plan[0]:
            if truth.loss_forbidden or not each.stands_down:
                for text in each.check(world, replica):
                    self._findings.found(each, truth, text)
        for each in plan[1]:
            if truth.loss_forbidden or not each.stands_down:
                for text in each.check(world, truth):
                    self._findings.found(each, truth, text)

    def _look_at_member(self, life: Life) -> None:
        truth, member, quorum = self.world.quorum, life.member, life.quorum
        if quorum is None:
            return
        if member is None:
            member = life.member = Member(life, quorum)
            truth.enter(member)
            changed = ENTERED
        else:
            changed = member.look()
        truth.take_durable(member)
        if changed:
            self._examine_member(truth, member, changed)

    def _examine_member(self, truth: QuorumTruth, member: Member, changed: int) -> None:
        for each in asked_after(changed, "member"):
            self._findings.ask(each, THE_QUORUM, each.check(truth, member))
        if member.role is Role.LEADER:
            if changed & STANDING:
                truth.highest_led = max(truth.highest_led, member.epoch)
            if changed & LEADER_HW:
                truth.take_commit(member)

    def _look_at_held_back(self) -> None:
        """5.27 This is told at lag ticks, and only while the HW is below the end."""
        held, self._held_back = self._held_back, []
        for node, topic, partition in held:
            life = self.world.lives[node]
            replica = next((each for each in life.replicas.values() if each.log.name == (topic, partition)), None)
            if replica is not None and life.env.alive:
                for each in asked_at(HighWatermarkHeldBack):
                    self._findings.ask(each, replica.truth, each.check(self.world, replica))

    # -- the end --------------------------------------------------------------------------------------------------------

    def at_the_end(self) -> None:
        """Everything has healed and settled: look at all of it once more. The processes must still run."""
        for life in self.world.lives.values():
            for replica in life.replicas.values() if life.env.alive else ():
                self._examine(replica, HW)
        partitions: list[PartitionTruth] = list(self.world.partitions.values())
        for each in asked_at(THE_END):
            if each.of == "everything":
                self._findings.ask(each, THE_QUORUM, each.check(self.world.quorum))
                continue
            for truth in partitions:
                self.world.weigh(truth)
                if truth.loss_forbidden or not each.stands_down:
                    self._findings.ask(each, truth, each.check(self.world, truth))
