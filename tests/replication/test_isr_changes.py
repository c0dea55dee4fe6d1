"""ISR changes on their way to the controller: one request in flight, what is sent again, what an answer or metadata ends (5.33 to
5.38, 5.47)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from replication.env import Failure
from replication.errors import Error
from replication.events import AlterPartitionRefused, IsrChanged, IsrChangeProposed
from replication.image import RecoveryState
from replication.leader import LeaderRole
from replication.messages import (
    AlteredPartition,
    AlterPartitionRequest,
    AlterPartitionResponse,
    FetchPartition,
    FetchRequest,
    IsrMember,
)
from tests.replication.memory import MemoryEnv
from tests.replication.scripted import CONTROLLER, Story, topic_id

RETRY = 50


def led(partitions: int = 1) -> Story:
    """Broker 1 leads all partitions of t with the ISR {1, 2}; 2 and 3 are played, and so is the controller's answer."""
    story = Story((1,))
    for follower in (2, 3):
        story.controller.broker(follower)
    story.controller.answers = story.controller.publishes_alterations = False
    story.controller.create("t", (1, 2, 3), partitions)
    for index in range(partitions):
        story.controller.change(index=index, isr=(1, 2))
    story.controller.publish()
    return story


def fetch(story: Story, replica: int, *partitions: int, offset: int = 0) -> None:
    """A played follower's fetch for some partitions of t: at offset 0 of an empty log it may join."""
    asked = tuple(
        FetchPartition(topic_id("t"), index, offset, 1 << 20, story.partition(1, index=index).standing.leader_epoch)
        for index in partitions
    )
    story.world.ask(1, FetchRequest(0, 1, 1 << 20, asked, replica, story.controller.image.brokers[replica].broker_epoch))


def leader(story: Story, index: int = 0) -> LeaderRole:
    role = story.partition(1, index=index).leader
    assert role is not None
    return role


def isr_of(story: Story, index: int = 0) -> tuple[tuple[int, ...], frozenset[int], bool]:
    """The committed ISR, the maximal one, and whether a change is pending."""
    state = leader(story, index).state
    return state.isr, state.maximal_isr, state.pending is not None


PENDING = (1, 2), frozenset({1, 2, 3}), True
COMMITTED = (1, 2, 3), frozenset({1, 2, 3}), False
UNCHANGED = (1, 2), frozenset({1, 2}), False


def sent(story: Story) -> list[AlterPartitionRequest]:
    return [message for _, message in story.controller.alterations]


def items(story: Story) -> list[list[int]]:
    """The partitions of each AlterPartition request so far."""
    return [[item.partition_index for item in message.partitions] for message in sent(story)]


def accept(story: Story, number: int = -1) -> None:
    """The controller applies a request and answers it; its metadata stays untold."""
    story.controller.accept(number)
    story.world.run()


def silent_for(story: Story, ms: int) -> bool:
    """Whether the controller hears nothing for so long, and one request right then."""
    heard = len(story.controller.alterations)
    story.world.advance(ms - 1)
    silent = len(story.controller.alterations) == heard
    story.world.advance(1)
    return silent and len(story.controller.alterations) == heard + 1


# -- proposing ----------------------------------------------------------------------------------------------------------------


def test_a_proposal_names_its_epochs_and_those_of_every_member() -> None:
    """5.34: the leader's own broker epoch, that of the joiner's fetch, and -1 for a member that has not fetched yet."""
    story = led()
    fetch(story, 3, 0)
    own = story.controller.image.brokers[1].broker_epoch
    (request,) = sent(story)
    (item,) = request.partitions
    assert (request.broker_id, request.broker_epoch) == (1, own)
    assert (item.topic_id, item.partition_index, item.leader_epoch, item.partition_epoch) == (topic_id("t"), 0, 0, 1)
    assert item.new_isr_with_epochs == (IsrMember(1, own), IsrMember(2, -1), IsrMember(3, 1))
    assert isr_of(story) == PENDING
    assert [(told.kind, told.isr, told.proposed) for told in story.world.told(IsrChangeProposed)] == [
        ("expand", (1, 2), (1, 2, 3))
    ]


def test_an_uncleanly_elected_leader_says_with_its_first_change_that_it_has_taken_over() -> None:
    """5.10"""
    story = led()
    story.controller.change(leader=1, isr=(1,), leader_recovery_state=RecoveryState.RECOVERING)
    story.controller.publish()
    fetch(story, 2, 0)
    assert [item.leader_recovery_state for item in sent(story)[0].partitions] == [RecoveryState.RECOVERED]


def test_proposals_of_one_moment_share_one_request() -> None:
    """5.47"""
    story = led(partitions=3)
    fetch(story, 3, 0, 1, 2)
    assert items(story) == [[0, 1, 2]]


def test_one_request_is_in_flight_and_what_comes_meanwhile_goes_into_the_next() -> None:
    """5.33, 5.47: all that is queued by then, at once, and nothing of it twice."""
    story = led(partitions=4)
    fetch(story, 3, 0)
    for index in (1, 2):
        fetch(story, 3, index)
        story.world.advance(1_000)
    assert items(story) == [[0]]
    accept(story)
    assert items(story) == [[0], [1, 2]]
    accept(story)
    story.world.advance(10_000)
    assert items(story) == [[0], [1, 2]]
    assert [isr_of(story, index)[0] for index in range(4)] == [(1, 2, 3)] * 3 + [(1, 2)]


def test_while_a_change_is_pending_its_partition_proposes_nothing_more() -> None:
    """5.31, 5.33: neither another fetch nor the lag timer."""
    story = led()
    fetch(story, 3, 0)
    fetch(story, 3, 0)
    story.world.advance(20_000)
    fetch(story, 3, 0)
    assert (items(story), len(story.world.told(IsrChangeProposed))) == ([[0]], 1)


def test_a_second_proposal_while_the_first_is_unanswered_never_leaves_the_node() -> None:
    """5.47, 5.37: metadata has ended the first, its request is still out; the second is refused here, and that is definite."""
    story = led()
    fetch(story, 3, 0)
    story.controller.change(isr=(1,))
    story.controller.publish()
    fetch(story, 3, 0)
    assert isr_of(story) == ((1,), frozenset({1}), False)
    assert [(told.error, told.proposed) for told in story.world.told(AlterPartitionRefused)] == [
        ("OPERATION_NOT_ATTEMPTED", (1, 3))
    ]
    assert items(story) == [[0]]
    story.controller.refuse(0, Error.INVALID_UPDATE_VERSION)
    fetch(story, 3, 0)
    assert items(story) == [[0], [0]]
    assert isr_of(story) == ((1,), frozenset({1, 3}), True)


# -- sent again -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [Error.STALE_BROKER_EPOCH, Error.UNKNOWN_SERVER_ERROR])
def test_a_request_refused_as_a_whole_is_sent_again_after_50_ms(error: Error) -> None:
    """5.47: with whatever else is queued by then, and with the broker epoch of then."""
    story = led(partitions=2)
    fetch(story, 3, 0)
    story.controller.answer(0, AlterPartitionResponse(error))
    fetch(story, 3, 1)
    story.nodes[1].broker.registered(99)
    assert isr_of(story) == PENDING
    assert silent_for(story, RETRY)
    assert items(story) == [[0], [0, 1]]
    assert sent(story)[1].broker_epoch == 99


@pytest.mark.parametrize("failure", [Failure.LOST, Failure.REFUSED, Failure.TIMED_OUT])
def test_a_request_whose_connection_failed_is_sent_again_after_50_ms(failure: Failure) -> None:
    """5.34, 3.19: the same one, so the controller may see it twice."""
    story = led()
    fetch(story, 3, 0)
    story.controller.alterations[0][0].answer(failure)
    assert isr_of(story) == PENDING
    assert silent_for(story, RETRY)
    assert sent(story)[0] == sent(story)[1]


def test_a_request_is_sent_until_it_is_answered() -> None:
    """5.34: never timed out; a controller that says nothing is asked again when the connection is given up."""
    story = led()
    fetch(story, 3, 0)
    story.world.cut |= {(1, CONTROLLER)}
    story.world.advance(300_000)
    assert (len(sent(story)), isr_of(story)) == (1, PENDING)
    story.world.cut.clear()
    story.world.advance(30_050)  # one socket timeout and one retry
    assert len(sent(story)) == 2
    accept(story, 1)
    assert isr_of(story) == COMMITTED


def test_a_controller_that_is_none_any_more_is_followed_by_the_same_request_at_the_next() -> None:
    """3.19: at once, since the answer of the one before may never come; and what that one says later counts no more."""
    story = led()
    fetch(story, 3, 0)
    heard: list[Any] = []
    env = MemoryEnv(story.world, CONTROLLER + 1, (), 1)
    env.on_request = lambda request: heard.append(request.message)
    story.world.up[CONTROLLER + 1] = env
    story.nodes[1].broker.on_controller(CONTROLLER + 1)
    story.world.run()
    assert heard == sent(story)
    story.controller.answer(0, AlterPartitionResponse(Error.NOT_CONTROLLER))
    story.world.advance(10 * RETRY)
    assert len(heard) == 1
    assert isr_of(story) == PENDING


def test_a_controller_that_says_it_is_none_is_asked_again_after_the_back_off() -> None:
    """3.19: it may be about to become one."""
    story = led()
    fetch(story, 3, 0)
    story.controller.answer(0, AlterPartitionResponse(Error.NOT_CONTROLLER))
    story.world.advance(RETRY - 1)
    assert len(sent(story)) == 1
    story.world.advance(1)
    assert len(sent(story)) == 2
    assert isr_of(story) == PENDING


def test_without_a_controller_a_request_waits_for_one() -> None:
    """3.19: and leaves at once when there is one."""
    story = led()
    story.nodes[1].broker.on_controller(None)
    fetch(story, 3, 0)
    story.world.advance(100_000)
    assert (sent(story), isr_of(story)) == ([], PENDING)
    story.nodes[1].broker.on_controller(CONTROLLER)
    story.world.run()
    assert items(story) == [[0]]


def test_an_item_that_no_decision_answered_is_sent_again_and_the_others_are_not() -> None:
    """5.37: an error that a controller cannot have decided (5.35), and an item that its answer forgot."""
    story = led(partitions=3)
    fetch(story, 3, 0, 1, 2)
    answer = story.controller.apply(0)
    unknown = AlteredPartition(topic_id("t"), 0, Error.UNKNOWN_SERVER_ERROR)
    story.controller.answer(0, AlterPartitionResponse(Error.NONE, (unknown, answer.partitions[1])))
    assert [isr_of(story, index)[2] for index in range(3)] == [True, False, True]
    assert silent_for(story, RETRY)
    assert items(story)[1] == [0, 2]


def test_what_metadata_has_ended_is_not_sent_again() -> None:
    """5.34: the rest of the request is."""
    story = led(partitions=2)
    fetch(story, 3, 0, 1)
    story.controller.change(isr=(1,))
    story.controller.publish()
    story.controller.answer(0, AlterPartitionResponse(Error.STALE_BROKER_EPOCH))
    assert silent_for(story, RETRY)
    assert items(story) == [[0, 1], [1]]


@pytest.mark.parametrize("end", ["deposed", "deleted", "moved away"])
def test_what_a_leader_proposed_is_not_sent_again_when_it_leads_no_more(end: str) -> None:
    """5.34, 5.11: it forgot the change with the office; a late answer finds nobody, and the next office starts clean."""
    story = led()
    fetch(story, 3, 0)
    answer = story.controller.apply(0)
    if end == "deposed":
        story.controller.fail_over(2, (1, 2, 3))
    elif end == "deleted":
        story.controller.delete("t")
    else:
        story.controller.change(replicas=(2, 3), isr=(2, 3), leader=2)
    story.controller.publish()
    told = len(story.world.events)
    story.controller.answer(0, AlterPartitionResponse(Error.STALE_BROKER_EPOCH))
    story.world.advance(10_000)
    assert items(story) == [[0]]
    story.controller.answer(0, answer)
    assert [event for _, event in story.world.events[told:]] == []


def test_an_office_won_again_proposes_as_if_nothing_had_been_asked() -> None:
    """5.34, 5.47: as soon as the old request is out of the way."""
    story = led()
    fetch(story, 3, 0)
    story.controller.fail_over(2, (1, 2))
    story.controller.publish()
    story.controller.fail_over(1, (1, 2))
    story.controller.publish()
    story.controller.refuse(0, Error.FENCED_LEADER_EPOCH)
    fetch(story, 3, 0)
    assert [item.leader_epoch for request in sent(story) for item in request.partitions] == [0, 2]
    accept(story)
    assert isr_of(story) == COMMITTED


# -- answers --------------------------------------------------------------------------------------------------------------------


def test_an_accepted_change_counts_with_its_answer() -> None:
    """5.37: ISR and partition epoch are the answer's, and the HW moves if it may."""
    story = led()
    story.produce(1, "a", acks=1)
    fetch(story, 2, 0, offset=1)
    fetch(story, 3, 0, offset=1)
    assert story.log(1).hw == 1
    accept(story)
    assert isr_of(story) == COMMITTED
    assert story.partition(1).standing.partition_epoch == 2
    assert [(told.was, told.now, told.because) for told in story.world.told(IsrChanged)] == [
        ((1, 2), (1, 2, 3), "controller accepted")
    ]


@pytest.mark.parametrize(
    "error",
    [
        Error.UNKNOWN_TOPIC_OR_PARTITION,
        Error.UNKNOWN_TOPIC_ID,
        Error.FENCED_LEADER_EPOCH,
        Error.INVALID_REQUEST,
        Error.INVALID_UPDATE_VERSION,
        Error.INELIGIBLE_REPLICA,
        Error.NEW_LEADER_ELECTED,
    ],
)
def test_whatever_a_controller_refused_with_leaves_the_change_pending_until_newer_metadata(error: Error) -> None:
    """5.37 (B14, B54): an earlier copy may have been accepted, or a later one may still be; so the HW waits for everyone."""
    story = led()
    fetch(story, 3, 0)
    story.controller.refuse(0, error)
    story.world.advance(5_000)
    assert (isr_of(story), items(story)) == (PENDING, [[0]])
    story.produce(1, "a", acks=1)
    fetch(story, 2, 0, offset=1)
    assert story.log(1).hw == 0
    assert [(told.error, told.proposed) for told in story.world.told(AlterPartitionRefused)] == [(error.name, (1, 2, 3))]
    story.controller.publish()  # nothing newer
    assert isr_of(story) == PENDING
    story.controller.change(isr=(1, 2))
    story.controller.publish()
    assert isr_of(story) == UNCHANGED
    assert story.log(1).hw == 0  # 3 is at the end of nothing, yet caught up and eligible (5.28)
    story.controller.broker(3, fenced=True)
    story.controller.publish()
    assert story.log(1).hw == 1


@pytest.mark.parametrize(
    "older",
    [{"leader_epoch": 0}, {"leader_epoch": 2}, {"partition_epoch": 0}],
    ids=["an older leader epoch", "a newer leader epoch", "an older partition epoch"],
)
def test_success_for_another_state_is_ignored(older: dict[str, int]) -> None:
    """5.37: it is told as refused, and metadata decides."""
    story = led()
    story.controller.change(leader=1)
    story.controller.publish()
    fetch(story, 3, 0)
    right = story.controller.apply(0).partitions[0]
    story.controller.answer(0, AlterPartitionResponse(Error.NONE, (msgspec.structs.replace(right, **older),)))
    assert isr_of(story) == PENDING
    assert [told.error for told in story.world.told(AlterPartitionRefused)] == ["NONE"]
    story.controller.publish()
    assert isr_of(story) == COMMITTED


def test_an_answer_that_comes_after_the_metadata_changes_nothing() -> None:
    """5.38: the change is committed once, by whoever tells first."""
    story = led()
    fetch(story, 3, 0)
    answer = story.controller.apply(0)
    story.controller.publish()
    assert isr_of(story) == COMMITTED
    story.controller.change(isr=(1,))
    story.controller.publish()
    story.controller.answer(0, answer)
    assert isr_of(story) == ((1,), frozenset({1}), False)
    assert story.partition(1).standing.partition_epoch == 3
    assert [told.because for told in story.world.told(IsrChanged)] == ["metadata", "metadata"]
    assert story.world.told(AlterPartitionRefused) == []


def test_metadata_that_comes_after_the_answer_changes_nothing() -> None:
    """5.38, 3.8 (B53): the same change again does not end the next one, which is already pending."""
    story = led()
    fetch(story, 3, 0)
    accept(story)
    told_late = story.controller.image
    story.world.advance(45_000)  # 2 never fetched: a shrink is proposed
    assert leader(story).state.pending is not None
    before = isr_of(story)
    story.nodes[1].broker.on_image(told_late)
    story.world.run()
    assert isr_of(story) == before
    assert before[0] == (1, 2, 3)


def test_metadata_older_than_the_answer_does_not_take_it_back() -> None:
    """5.38: whichever has the higher partition epoch wins."""
    story = led()
    old = story.controller.image
    fetch(story, 3, 0)
    accept(story)
    later = msgspec.structs.replace(old, topics=dict(old.topics), offset=old.offset + 1)
    story.nodes[1].broker.on_image(later)
    story.world.run()
    assert isr_of(story) == COMMITTED


def test_a_shrink_counts_when_it_is_committed_not_when_it_is_asked_for() -> None:
    """5.33, 5.39 (B13): the leaver is waited for until then."""
    story = led()
    story.produce(1, "a", acks=1)
    story.world.advance(45_000)
    assert [told.proposed for told in story.world.told(IsrChangeProposed)] == [(1,)]
    assert (isr_of(story), story.log(1).hw) == (((1, 2), frozenset({1, 2}), True), 0)
    accept(story)
    assert (isr_of(story), story.log(1).hw) == (((1,), frozenset({1}), False), 1)


def test_a_new_tenure_ends_a_pending_change() -> None:
    """5.7: its ISR is the committed one of the metadata; the old answer is of another epoch."""
    story = led()
    fetch(story, 3, 0)
    answer = story.controller.apply(0)
    story.controller.change(leader=1, isr=(1, 2))
    story.controller.publish()
    assert isr_of(story) == UNCHANGED
    story.controller.answer(0, answer)
    assert isr_of(story) == UNCHANGED
