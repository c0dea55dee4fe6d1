"""A leader's high watermark under any order of fetches, ISR changes, lost answers, fencing and new epochs (5.27 to 5.39)."""

from __future__ import annotations

from typing import Any

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from replication.errors import Error
from replication.leader import LeaderRole
from replication.rules import Rules
from replication.state import PendingChange
from tests.replication.scripted import Story

FOLLOWERS = (2, 3)
MIN_ISR = 2


class LeaderAmongPlayedFollowers(RuleBasedStateMachine):
    """Broker 1 is real and leads; 2 and 3 are honest followers played here: they have what they say they have."""

    protocol = Rules()

    def __init__(self) -> None:
        super().__init__()
        self.story = Story((1,), rules=self.protocol, replica_lag_time_max_ms="1000")
        for follower in FOLLOWERS:
            self.story.controller.broker(follower)
        self.story.controller.answers = False
        self.story.controller.publishes_alterations = False
        self.story.controller.create("t", (1, 2, 3), min_insync_replicas=str(MIN_ISR))
        self.story.controller.change(isr=(1, 2))  # 3 may join at once, 2 may be shrunk: both kinds of change are near
        self.story.controller.publish()
        self.has = dict.fromkeys(FOLLOWERS, 0)
        self.hw = 0
        self.under_min = False
        self.answered = 0
        self.waiting: list[tuple[int, list[Any]]] = []

    @property
    def leader(self) -> LeaderRole:
        leader = self.story.partition(1).leader
        assert leader is not None
        return leader

    # -- what can happen ------------------------------------------------------------------------------------------------

    @rule(records=st.integers(1, 3), acks=st.sampled_from([1, -1]))
    def produce(self, records: int, acks: int) -> None:
        before = self.story.log(1).leo
        answers = self.story.produce(1, *(["x"] * records), acks=acks)
        if self.story.log(1).leo > before and acks == -1:
            self.waiting.append((self.story.log(1).leo, answers))

    @rule(follower=st.sampled_from(FOLLOWERS), keeps=st.booleans())
    def fetch(self, follower: int, keeps: bool) -> None:
        """A follower tells what it has; sometimes the answer is lost on the way back."""
        epoch = self.story.controller.state().leader_epoch
        standing = self.story.partition(1).standing
        (answer,) = self.story.fetch(1, follower, self.has[follower], epoch=standing.leader_epoch)
        assert answer.error_code in (Error.NONE, Error.NOT_LEADER_OR_FOLLOWER), (answer, epoch)
        if answer.records and keeps:
            self.has[follower] = self.story.log(1).leo

    @rule(ms=st.sampled_from([10, 400, 1_100]))
    def pass_time(self, ms: int) -> None:
        self.story.world.advance(ms)

    @rule(follower=st.sampled_from(FOLLOWERS), fenced=st.booleans(), published=st.booleans())
    def fence_or_unfence(self, follower: int, fenced: bool, published: bool) -> None:
        """4.8: fencing takes the broker out of the ISR in the same breath."""
        controller = self.story.controller
        controller.broker(follower, fenced=fenced)
        if fenced and follower in controller.state().isr:
            controller.change(isr=tuple(member for member in controller.state().isr if member != follower))
        if published:
            controller.publish(1)

    @rule(follower=st.sampled_from(FOLLOWERS))
    def register_again(self, follower: int) -> None:
        """A follower's process restarted, losing nothing; its registration is new, so it left the ISR."""
        controller = self.story.controller
        epoch = controller.image.brokers[follower].broker_epoch + 1
        controller.broker(follower, broker_epoch=epoch, fenced=False)
        if follower in controller.state().isr:
            controller.change(isr=tuple(member for member in controller.state().isr if member != follower))

    @rule()
    def publish(self) -> None:
        self.story.controller.publish(1)

    @rule()
    def reelect(self) -> None:
        """A new leader epoch for the same leader."""
        self.story.controller.change(leader=1)
        self.story.controller.publish(1)

    @precondition(lambda self: self.answered < len(self.story.controller.alterations))
    @rule(what=st.sampled_from(["answer", "refuse", "lose the answer"]))
    def controller_answers(self, what: str) -> None:
        """The controller decides; what it decided may arrive, be a refusal, or never arrive (then metadata tells, some time)."""
        controller, number = self.story.controller, self.answered
        self.answered += 1
        if what == "refuse":
            controller.refuse(number, Error.INELIGIBLE_REPLICA)
            controller.change()  # 5.37: the refusal steps the partition epoch
            return
        answer = controller.apply(number)
        if what == "answer":
            controller.answer(number, answer)

    # -- what must hold -------------------------------------------------------------------------------------------------

    @invariant()
    def the_hw_never_moves_back(self) -> None:
        """5.29"""
        log = self.story.log(1)
        assert self.hw <= log.hw <= log.leo

    @invariant()
    def the_hw_stays_frozen_under_min_isr(self) -> None:
        """5.28: while the committed ISR was too small before the step and after it."""
        under_min = len(self.leader.state.isr) < MIN_ISR
        if under_min and self.under_min:
            assert self.story.log(1).hw == self.hw
        self.under_min = under_min
        self.hw = self.story.log(1).hw

    @invariant()
    def nobody_who_may_be_elected_lacks_what_is_committed(self) -> None:
        """5.28, 5.33: the HW never passes a member of the maximal ISR, nor anyone in the controller's ISR."""
        maximal = self.leader.state.maximal_isr
        for member in maximal.union(self.story.controller.state().isr) - {1}:
            assert self.has[member] >= self.story.log(1).hw, (member, maximal)

    @invariant()
    def the_controllers_isr_is_within_the_maximal_isr(self) -> None:
        """5.33: whatever the controller committed, the leader counts with it."""
        assert self.leader.state.maximal_isr.issuperset(self.story.controller.state().isr)

    @invariant()
    def an_acknowledged_batch_is_below_the_hw(self) -> None:
        """6.3"""
        for end, answers in self.waiting:
            if answers and answers[0].error_code is Error.NONE:
                assert end <= self.story.log(1).hw

    @invariant()
    def at_most_one_change_is_pending(self) -> None:
        """5.33: and it is of this tenure."""
        pending = self.leader.state.pending
        assert pending is None or pending.leader_epoch == self.story.partition(1).standing.leader_epoch


class TestLeaderAmongPlayedFollowers(LeaderAmongPlayedFollowers.TestCase):  # type: ignore[misc,valid-type]  # made by hypothesis
    """The machine, with the right rules."""


def breaks(wrong: type[Rules]) -> bool:
    """Whether the machine finds a contradiction when one rule is wrong."""

    class Wrong(LeaderAmongPlayedFollowers):
        protocol = wrong()

    case = Wrong.TestCase
    case.settings = settings(
        max_examples=300, derandomize=True, database=None, phases=[Phase.generate], report_multiple_bugs=False, deadline=None
    )
    try:
        case("runTest").runTest()
    except AssertionError:
        return True
    return False


def test_the_machine_finds_a_maximal_isr_that_forgets_the_pending_change() -> None:
    """5.33: the machine can fail: with B12 switched on it does."""

    class ForgetsPending(Rules):
        def maximal_isr(self, isr: Any, pending: PendingChange | None) -> frozenset[int]:
            return frozenset(isr)

    assert breaks(ForgetsPending)


def test_the_machine_finds_a_shrink_that_counts_when_it_is_asked_for() -> None:
    """5.39: with B13 switched on the machine fails."""

    class ShrinksAtOnce(Rules):
        def maximal_isr(self, isr: Any, pending: PendingChange | None) -> frozenset[int]:
            return frozenset(pending.new_isr if pending else isr)

    assert breaks(ShrinksAtOnce)
