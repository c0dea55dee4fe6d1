"""Random histories of one controller: whatever brokers, leaders and operators ask for, in whatever order, every committed image
keeps its shape and every epoch goes forward (invariants 7 and 10)."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replication.errors import Error
from replication.folding import fold, image_of, records_of
from replication.image import MetadataImage
from replication.lifecycle_messages import BrokerHeartbeatRequest
from replication.messages import AlterPartitionRequest
from replication.rules import Rules
from tests.replication.controller import wrong
from tests.replication.controller.shape import faults
from tests.replication.controller.stage import CLUSTER, SESSION, Stage

BROKERS = (1, 2, 3, 4)
EXAMPLES = 40


class Life:
    """One random history, repeatable by its seed."""

    def __init__(self, seed: int, *, elr: bool, rules: Rules | None = None) -> None:
        self.random = Random(seed)
        self.stage = Stage(rules, elr=elr, checked=rules is None)
        self.stage.start(*BROKERS)
        self.stage.create((1, 2, 3), min_isr=2)
        self.late: list[tuple[Any, int, int]] = []  # proposals that may arrive once more
        self.quorum_epoch = 1

    def live(self, steps: int) -> None:
        kinds = [*[self.propose] * 5, *[self.beat] * 4, self.repeat, self.fall_silent, self.restart, self.restart]
        kinds += [self.shut_down, self.reassign, self.configure, self.elect, self.let_time_pass, self.change_office]
        for _ in range(steps):
            kind, before = self.pick(kinds), len(self.stage.images)
            kind()
            self.stage.world.run()
            if self.stage.checked and kind not in (self.propose, self.repeat, self.change_office):
                self.require_no_new_members(self.stage.images[before - 1 :])

    def require_no_new_members(self, images: list[MetadataImage]) -> None:
        """8.13 Unless a leader asked for it, an ISR grows only to hold the one that was just elected."""
        for earlier, later in pairwise(images):
            was, now = self.stage.state(image=earlier), self.stage.state(image=later)
            assert set(now.isr) <= set(was.isr) or (len(now.isr) == 1 and now.leader_epoch > was.leader_epoch)

    def pick(self, among: Any) -> Any:
        return among[int(self.random.random() * len(among))]

    def some(self, among: Any) -> tuple[int, ...]:
        return tuple(each for each in among if self.random.random() < 0.6)

    # -- what happens ---------------------------------------------------------------------------------------------------

    def propose(self) -> None:
        """A leader asks for an ISR, mostly a sensible one; the request may be lost on the way and come later."""
        state = self.stage.state()
        isr = tuple(dict.fromkeys((state.leader, *self.some(state.replicas))))
        sender = state.leader if state.has_leader else self.pick(BROKERS)
        epoch = self.stage.epochs[sender]
        item = self.stage.item(isr)
        self.late.append((item, sender, epoch))
        if self.random.random() < 0.7:
            self.stage.ask(AlterPartitionRequest(sender, epoch, (item,)))

    def repeat(self) -> None:
        if self.late:
            item, sender, epoch = self.pick(self.late)
            self.stage.ask(AlterPartitionRequest(sender, epoch, (item,)))

    def beat(self) -> None:
        broker_id = self.pick(BROKERS)
        answer = self.stage.beat(broker_id, want_fence=self.random.random() < 0.2)
        if answer.error_code is Error.NONE and not answer.is_fenced:
            self.stage.beating[broker_id] = None

    def fall_silent(self) -> None:
        for broker_id in self.some(BROKERS):
            self.stage.beating.pop(broker_id, None)
        self.stage.pass_time(SESSION + 250)

    def restart(self) -> None:
        broker_id = self.pick(BROKERS)
        self.stage.beating.pop(broker_id, None)
        clean = self.random.random() < 0.4
        self.stage.register(broker_id, previous=self.stage.epochs[broker_id] if clean else -1)

    def shut_down(self) -> None:
        self.stage.beat(self.pick(BROKERS), want_shut_down=True)

    def reassign(self) -> None:
        target = tuple(self.random.sample(BROKERS, 1 + int(self.random.random() * 3)))
        self.stage.reassign(None if self.random.random() < 0.3 else target)

    def configure(self) -> None:
        if self.random.random() < 0.3:
            self.stage.configure("unclean.leader.election.enable", self.pick(("true", "false", None)))
        else:
            self.stage.configure("min.insync.replicas", self.pick(("1", "2", "3", "4")), self.pick(("t", None)))

    def elect(self) -> None:
        self.stage.elect(unclean=self.random.random() < 0.3)

    def let_time_pass(self) -> None:
        self.stage.pass_time(125 * (1 + int(self.random.random() * 6)))

    def change_office(self) -> None:
        """Some of what was decided last survives the office, some does not."""
        self.stage.log.holds = True
        for _ in range(3):
            item, sender, epoch = self.late[-1] if self.late else (self.stage.item((1,)), 1, self.stage.epochs[1])
            self.stage.ask(AlterPartitionRequest(sender, epoch, (item,)))
            self.stage.ask(self._someone_leaves())
        self.stage.lose_office(kept=int(self.random.random() * 3))
        self.stage.log.holds = False
        self.quorum_epoch += 1
        self.stage.take_office(self.quorum_epoch)

    def _someone_leaves(self) -> Any:
        broker_id = self.pick(BROKERS)
        return BrokerHeartbeatRequest(broker_id, self.stage.epochs[broker_id], self.stage.image.offset, want_fence=True)


@given(st.integers(0, 2**32), st.booleans())
@settings(max_examples=EXAMPLES)
def test_whatever_happens_every_image_has_its_shape(seed: int, elr: bool) -> None:
    """Invariants 7 and 10, after every commit; and what the controller believes is what is committed (3.5)."""
    Life(seed, elr=elr).live(60)


@given(st.integers(0, 2**32), st.booleans(), st.data())
@settings(max_examples=EXAMPLES)
def test_any_split_of_the_log_gives_the_same_image(seed: int, elr: bool, data: st.DataObject) -> None:
    """3.1, 2.32, 2.43: from a snapshot at any batch boundary, with the rest of the log folded on top."""
    life = Life(seed, elr=elr)
    life.live(25)
    decisions = life.stage.log.decisions
    whole = life.stage.image
    cut = data.draw(st.integers(0, len(decisions)))
    part = MetadataImage(cluster_id=CLUSTER)
    for decision in decisions[:cut]:
        part = fold(part, decision)
    part = image_of(records_of(part), part.offset, part.epoch, part.cluster_id)
    for decision in decisions[cut:]:
        part = fold(part, decision)
    assert part == whole


@pytest.mark.parametrize("rules", [wrong.RegisteredIsEnough(), wrong.ElrOnlyGrows(), wrong.AllAtOnce()])
def test_a_wrong_rule_spoils_the_shape_of_some_image(rules: Rules) -> None:
    """Invariant 7 can fail: B20, B23, B24."""

    def spoilt(seed: int) -> bool:
        life = Life(seed, elr=True, rules=rules)
        life.live(60)
        return any(faults(image) for image in life.stage.images)

    assert any(spoilt(seed) for seed in range(20))
