"""The worked traces of PROTOCOL section 16 that concern the data plane, value by value; the controller's part is scripted.

A trace takes the rules to play by, so that a test beside it can play it again with one wrong rule and see it break at the step
that the rule decides.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

from replication import files
from replication.env import Failure
from replication.errors import Error
from replication.events import AlterPartitionRefused, IsrChanged, IsrChangeProposed
from replication.messages import EpochEndOffset, OffsetForLeaderEpochRequest, OffsetForLeaderPartition
from replication.rules import Rules
from replication.rules.isr import Brokers
from replication.rules.leadership import MetadataVerdict
from replication.state import Epochs, Follower, Leadership, PendingChange
from tests.replication.memory import MS
from tests.replication.played import (
    Asked,
    Ear,
    contents,
    cut_from_controllers,
    cuts_of,
    hws,
    lead,
    leadership,
    leos,
    offsets,
    played,
    real,
    reconnect_to_controllers,
    seen,
    start_logs_at,
    told_by,
    untold,
    values,
    write,
)
from tests.replication.scripted import Story, topic_id

PARK = 500
"""replica.fetch.wait.max.ms"""


class FloorForgotten(Rules):
    """Answers for the epoch that was asked, whether or not the log ever had it (B03)."""

    def end_offset_for(self, epochs: Epochs, epoch: int, leo: int) -> EpochEndOffset | None:
        end = super().end_offset_for(epochs, epoch, leo)
        return end and EpochEndOffset(epoch, end.end_offset)


# -- 16.1: commit needs two fetch rounds ------------------------------------------------------------------------------------


def test_a_record_is_committed_by_the_second_fetch_of_the_last_follower(rules: Rules | None = None) -> None:
    """16.1 A fetch tells what its follower had before it: delivering a record to everyone commits nothing."""
    story = played((1, 2, 3), rules=rules)
    write(story, 1, 5, "old")
    for follower in (2, 3):
        story.fetch(1, follower, 5, epoch=0, last_epoch=0)
    assert leos(story, 1) + seen(story, 1, 2, 3) == (5, 5, 5)
    assert story.log(1).hw == 5

    ack = story.produce(1, "new")
    assert story.log(1).leo == 6

    for follower in (2, 3):
        (delivered,) = story.fetch(1, follower, 5, epoch=0, last_epoch=0)
        assert offsets(delivered.records) == [5]
        assert delivered.high_watermark == 5
    assert seen(story, 1, 2, 3) == (5, 5)
    assert story.log(1).hw == 5

    first = story.fetch(1, 2, 6, epoch=0, last_epoch=0, wait=PARK)
    assert seen(story, 1, 2, 3) == (6, 5)
    assert story.log(1).hw == 5
    assert ack == []
    story.world.advance(PARK)
    assert first[0].high_watermark == 5

    second = story.fetch(1, 3, 6, epoch=0, last_epoch=0, wait=PARK)
    assert seen(story, 1, 2, 3) == (6, 6)
    assert story.log(1).hw == 6
    assert [(each.error_code, each.base_offset) for each in ack] == [(Error.NONE, 5)]
    assert second == []  # 5.40: the HW wakes no replica; it learns when its wait is over
    story.world.advance(PARK)
    assert second[0].high_watermark == 6

    (learnt,) = story.fetch(1, 2, 6, epoch=0, last_epoch=0)
    assert learnt.high_watermark == 6


def test_a_fetch_that_does_not_wait_is_told_the_hw_from_before_it_counted() -> None:
    """16.1, the near miss: F2's fetch at 6 moves the HW; its answer, if it does not wait, is from before that (5.17, 5.40)."""
    story = played((1, 2, 3))
    write(story, 1, 6, "old")
    story.fetch(1, 2, 6, epoch=0, last_epoch=0)

    (at_once,) = story.fetch(1, 3, 6, epoch=0, last_epoch=0)

    assert story.log(1).hw == 6
    assert at_once.high_watermark == 0


def test_commit_breaks_with_a_leader_that_waits_for_one_follower() -> None:
    """16.1 as the walk-through in S1 has it (section 13, row 9): the HW moves with F1's second fetch."""

    class FirstFollowerDecides(Rules):
        def counts_for_hw(
            self, leader: Leadership, follower: Follower, leo: int, now: int, lag_max: int, brokers: Brokers
        ) -> bool:
            return follower.broker_id == 2

    with pytest.raises(AssertionError, match="assert 6 == 5"):
        test_a_record_is_committed_by_the_second_fetch_of_the_last_follower(FirstFollowerDecides())


def test_two_brokers_that_follow_commit_a_record_in_two_rounds_each() -> None:
    """16.1 with brokers for followers: fetch at 5, fetch at 6, and the ack comes before either has heard of HW 6."""
    story = five_on_all()
    ear = Ear(story, 1)
    story.world.advance(PARK)
    assert ear.asked_by(2) == ear.asked_by(3) == [Asked(5, 0)]

    ack = story.produce(1, "new")

    assert [(each.error_code, each.base_offset) for each in ack] == [(Error.NONE, 5)]
    assert leos(story, 1, 2, 3) == (6, 6, 6)
    assert hws(story, 1, 2, 3) == (6, 5, 5)
    assert ear.asked_by(2) == ear.asked_by(3) == [Asked(5, 0, hw=5), Asked(6, 0)]
    story.world.advance(PARK)
    assert ear.asked_by(2)[1] == ear.asked_by(3)[1] == Asked(6, 0, hw=6)
    assert hws(story, 1, 2, 3) == (6, 6, 6)


def five_on_all(rules: Rules | None = None) -> Story:
    """Three brokers, LEOs 5/5/5, HW 5, and everybody knows."""
    story = real((1, 2, 3), rules=rules)
    write(story, 1, 5, "old")
    story.world.advance(2 * PARK)
    assert leos(story, 1, 2, 3) == hws(story, 1, 2, 3) == (5, 5, 5)
    return story


# -- 16.2: a stale high watermark after an election -------------------------------------------------------------------------


def test_a_new_leader_tells_no_latest_offset_until_it_knows_what_was_promised(rules: Rules | None = None) -> None:
    """16.2 The record was acked, yet the new leader's own HW is still below it: it says so, rather than show a shorter log."""
    story = five_on_all(rules)
    (ack,) = story.produce(1, "new")
    assert (ack.error_code, ack.base_offset) == (Error.NONE, 5)
    story.nodes[1].crash()

    story.controller.fail_over(2, (2, 3))
    story.controller.publish(2)  # F2 does not know yet whom to fetch from
    assert (story.log(2).hw, story.log(2).leo, leadership(story, 2).leso) == (5, 6, 6)
    assert story.list_offset(2).error_code is Error.OFFSET_NOT_AVAILABLE
    (read,) = story.consume(2, 6)
    assert (read.error_code, read.records) == (Error.NONE, b"")

    ear = Ear(story, 2)
    story.controller.publish(3)
    assert ear.asked_by(3)[0][:2] == (6, 0)
    assert story.log(2).hw == 6
    assert (story.list_offset(2).error_code, story.list_offset(2).offset) == (Error.NONE, 6)
    (read,) = story.consume(2, 5)
    assert values(read.records) == ["new"]


def test_the_stale_hw_breaks_with_a_leader_that_tells_its_hw_at_any_time() -> None:
    """16.2 without KIP-207: the end of the log is told as 5, after a client was told that 5 is written (B33)."""

    class TellsAnyHw(Rules):
        def latest_offset(self, from_replica: bool, hw: int, leo: int, leso: int) -> int | Error:
            return leo if from_replica else hw

    with pytest.raises(AssertionError, match=r"Error.NONE.* is .*OFFSET_NOT_AVAILABLE"):
        test_a_new_leader_tells_no_latest_offset_until_it_knows_what_was_promised(TellsAnyHw())


# -- 16.3: truncation -------------------------------------------------------------------------------------------------------


def test_the_rules_cut_a_long_epoch_where_the_leader_ends_it() -> None:
    """16.3 by the rules alone: the leader's epoch 5 ends at 130, the follower's at 142."""
    rules, leader, follower = Rules(), ((5, 100), (7, 130)), ((5, 100),)

    told = rules.judge_divergence(leader, 135, last_fetched_epoch=5, fetch_offset=142)

    assert told == EpochEndOffset(5, 130)
    assert rules.truncation_point(told, rules.end_offset_for(follower, 5, 142), 142) == 130


def test_a_follower_with_a_longer_epoch_truncates_to_where_it_ended(rules: Rules | None = None) -> None:
    """16.3 A deposed leader went on in epoch 5 up to 142; its successor's epoch 5 ends at 130."""
    story = untold((1, 2), rules=rules)
    start_logs_at(story, 100)
    lead(story, 2, epoch=5)
    assert write(story, 2, 30, "both") == 100
    lead(story, 1, epoch=7, tell=[1])
    assert write(story, 2, 12, "lost") == 130  # broker 2 has not heard of epoch 7
    assert write(story, 1, 5, "kept") == 130
    assert story.log(1).epochs == ((5, 100), (7, 130))
    assert (story.log(2).epochs, story.log(2).leo) == (((5, 100),), 142)

    (told,) = story.fetch(1, 2, 142, epoch=7, last_epoch=5)
    assert (told.diverging_epoch, told.records) == (EpochEndOffset(5, 130), b"")
    assert seen(story, 1, 2) == (-1,)  # 5.16: it taught the leader nothing

    ear = Ear(story, 1)
    story.controller.publish(2)
    assert ear.asked_by(2)[:2] == [Asked(142, 5, EpochEndOffset(5, 130)), Asked(130, 5, hw=100)]
    assert cuts_of(story, 2) == [(142, 130)]
    assert story.log(2).epochs == ((5, 100), (7, 130))
    assert contents(story, 2) == contents(story, 1)


# -- 16.4: different epochs after a common one ------------------------------------------------------------------------------


def test_the_rules_find_the_common_epoch_below_one_the_leader_never_had() -> None:
    """16.4 by the rules alone: floor 1, whose end is 2 on the leader and 1 on the follower."""
    rules, leader, follower = Rules(), ((1, 0), (3, 2)), ((1, 0), (2, 1))

    told = rules.judge_divergence(leader, 3, last_fetched_epoch=2, fetch_offset=4)
    assert told == EpochEndOffset(1, 2)
    own = rules.end_offset_for(follower, 1, 4)
    assert own == EpochEndOffset(1, 1)
    assert rules.truncation_point(told, own, 4) == 1
    assert rules.epochs_below(follower, 1, 4) == ((1, 0),)
    assert rules.judge_divergence(leader, 3, last_fetched_epoch=1, fetch_offset=1) is None


def test_a_follower_cuts_an_epoch_that_its_leader_never_had(rules: Rules | None = None) -> None:
    """16.4 Each led without the other: only the follower has epoch 2, from 1 to 3; only the leader has offset 1 of epoch 1."""
    story = untold((1, 2), rules=rules)
    lead(story, 1, epoch=1)
    assert write(story, 1, 1, "both") == 0
    lead(story, 2, epoch=2, tell=[2])
    assert write(story, 2, 3, "lost") == 1
    assert write(story, 1, 1, "kept") == 1  # broker 1 has not heard of epoch 2
    lead(story, 1, epoch=3, tell=[1])
    write(story, 1, 1, "kept too")
    assert story.log(1).epochs == ((1, 0), (3, 2))
    assert (story.log(2).epochs, story.log(2).leo) == (((1, 0), (2, 1)), 4)

    (told,) = story.fetch(1, 2, 4, epoch=3, last_epoch=2)
    assert (told.diverging_epoch, told.records) == (EpochEndOffset(1, 2), b"")
    assert story.log(2).end_offset_for(1) == EpochEndOffset(1, 1)

    ear = Ear(story, 1)
    story.controller.publish(2)
    assert ear.asked_by(2)[:2] == [Asked(4, 2, EpochEndOffset(1, 2)), Asked(1, 1, hw=1)]
    assert cuts_of(story, 2) == [(4, 1)]
    assert story.log(2).epochs == ((1, 0), (3, 2))
    assert contents(story, 2) == contents(story, 1) == [(0, 1, "both0"), (1, 1, "kept0"), (2, 3, "kept too0")]


def test_convergence_breaks_with_a_leader_that_forgets_the_floor_epoch() -> None:
    """16.4 as before KIP-279: told "epoch 2 ends at 2", the follower would keep a record that its leader never had (B03)."""
    with pytest.raises(AssertionError, match=r"EpochEndOffset\(epoch=2, end_offset=2\)"):
        test_a_follower_cuts_an_epoch_that_its_leader_never_had(FloorForgotten())


# -- 16.5: no common epoch --------------------------------------------------------------------------------------------------


def test_the_rules_cut_everything_where_no_epoch_is_common() -> None:
    """16.5 by the rules alone: the follower has nothing at or below epoch 1, so its epoch 1 ends where its first epoch starts."""
    rules, leader, follower = Rules(), ((1, 0), (3, 5)), ((2, 0),)

    told = rules.judge_divergence(leader, 5, last_fetched_epoch=2, fetch_offset=2)
    assert told == EpochEndOffset(1, 5)
    own = rules.end_offset_for(follower, 1, 2)
    assert own == EpochEndOffset(1, 0)
    assert rules.truncation_point(told, own, 2) == 0


def test_a_follower_without_a_common_epoch_fetches_everything_again(rules: Rules | None = None) -> None:
    """16.5 An uncleanly elected leader without a single record wrote two of its own; the old leader is back."""
    story = untold((1, 2), rules=rules)
    lead(story, 1, epoch=1, tell=[1])
    assert write(story, 1, 5, "kept") == 0
    lead(story, 2, epoch=2, tell=[2])
    assert write(story, 2, 2, "lost") == 0
    lead(story, 1, epoch=3, tell=[1])
    assert story.log(1).epochs == ((1, 0), (3, 5))
    assert (story.log(2).epochs, story.log(2).leo) == (((2, 0),), 2)

    (told,) = story.fetch(1, 2, 2, epoch=3, last_epoch=2)
    assert told.diverging_epoch == EpochEndOffset(1, 5)
    assert told.records == b""
    assert story.log(2).end_offset_for(1) == EpochEndOffset(1, 0)

    ear = Ear(story, 1)
    story.controller.publish(2)
    assert ear.asked_by(2)[:2] == [Asked(2, 2, EpochEndOffset(1, 5)), Asked(0, -1, hw=0)]
    assert cuts_of(story, 2) == [(2, 0)]
    assert contents(story, 2) == contents(story, 1) == [(offset, 1, f"kept{offset}") for offset in range(5)]


def test_refetching_breaks_with_a_leader_that_forgets_the_floor_epoch() -> None:
    """16.5 told of no divergence at all, the follower would keep both of its records."""
    with pytest.raises(AssertionError, match=r"assert None == EpochEndOffset\(epoch=1, end_offset=5\)"):
        test_a_follower_without_a_common_epoch_fetches_everything_again(FloorForgotten())


# -- 16.6: the maximal ISR --------------------------------------------------------------------------------------------------


def proposed_joiner(rules: Rules | None = None) -> tuple[Story, list[Any]]:
    """ISR {1, 2}; replica 3 fetched the empty log and is proposed; 0 to 9 are written and replica 2 has them."""
    story = played((1, 2, 3), rules=rules, isr=(1, 2))
    story.controller.answers = False
    story.fetch(1, 3, 0, epoch=0)
    assert [event.proposed for event in told_by(story, 1, IsrChangeProposed)] == [(1, 2, 3)]
    ack = story.produce(1, *"0123456789", timeout_ms=300_000)
    story.fetch(1, 2, 0, epoch=0)
    story.fetch(1, 2, 10, epoch=0, last_epoch=0)
    assert seen(story, 1, 2, 3) == (10, 0)
    return story, ack


def test_the_hw_waits_for_a_proposed_member_however_long_it_takes(rules: Rules | None = None) -> None:
    """16.6 The controller may have taken replica 3 for a member long ago: the HW stays at 0 until it has come to 10."""
    story, ack = proposed_joiner(rules)
    assert story.log(1).hw == 0

    story.world.advance(60_000)  # no longer caught up by time: nothing but the proposal speaks for it
    assert story.log(1).hw == 0
    assert leadership(story, 1).isr == (1, 2)
    assert leadership(story, 1).maximal_isr == {1, 2, 3}
    assert ack == []

    story.fetch(1, 3, 10, epoch=0, last_epoch=0)
    assert story.log(1).hw == 10
    assert [each.error_code for each in ack] == [Error.NONE]


def test_the_hw_goes_on_without_a_proposed_member_once_metadata_says_so() -> None:
    """16.6 A refusal alone is not definite, for a copy may still arrive (5.37); the partition epoch's next step is."""
    story, ack = proposed_joiner()
    story.controller.broker(3, fenced=True)
    story.controller.publish()
    assert story.log(1).hw == 0

    story.controller.refuse(-1, Error.INELIGIBLE_REPLICA)
    assert leadership(story, 1).maximal_isr == {1, 2, 3}
    assert story.log(1).hw == 0
    assert ack == []

    story.controller.change()  # the same ISR, one partition epoch later
    story.controller.publish()
    assert leadership(story, 1).maximal_isr == {1, 2}
    assert story.log(1).hw == 10
    assert [each.error_code for each in ack] == [Error.NONE]


def test_the_hw_waits_for_a_member_that_was_accepted() -> None:
    """16.6 Acceptance moves nothing either: replica 3 is at 0, and now a member."""
    story, ack = proposed_joiner()

    story.controller.accept(-1)
    story.world.run()
    assert leadership(story, 1).isr == (1, 2, 3)
    assert story.log(1).hw == 0
    assert ack == []

    story.fetch(1, 3, 10, epoch=0, last_epoch=0)
    assert story.log(1).hw == 10
    assert [each.error_code for each in ack] == [Error.NONE]


def test_waiting_for_a_joiner_breaks_with_a_maximal_isr_that_ignores_what_is_pending() -> None:
    """16.6 without 5.33: ten records are acked that the controller's next leader may not have (B12)."""

    class OnlyCommitted(Rules):
        def maximal_isr(self, isr: Sequence[int], pending: PendingChange | None) -> frozenset[int]:
            return frozenset(isr)

    with pytest.raises(AssertionError, match="assert 10 == 0"):
        test_the_hw_waits_for_a_proposed_member_however_long_it_takes(OnlyCommitted())


# -- 16.9: the high watermark as a minimum ----------------------------------------------------------------------------------


def test_the_hw_is_the_least_of_the_members_ends(rules: Rules | None = None) -> None:
    """16.9 LEOs 105/104/102: readable below 102; each member that comes on moves the HW to the next least."""
    story = played((1, 2, 3), rules=rules, min_isr=2)
    write(story, 1, 102, "old")
    story.fetch(1, 2, 102, epoch=0, last_epoch=0)
    story.fetch(1, 3, 102, epoch=0, last_epoch=0)
    acks = [story.produce(1, "102"), story.produce(1, "103")]
    (delivered,) = story.fetch(1, 2, 102, epoch=0, last_epoch=0)
    assert offsets(delivered.records) == [102, 103]
    (nothing,) = story.fetch(1, 2, 104, epoch=0, last_epoch=0)
    assert nothing.records == b""
    acks.append(story.produce(1, "104"))  # only on the leader
    assert leos(story, 1) + seen(story, 1, 2, 3) == (105, 104, 102)
    assert leadership(story, 1).isr == (1, 2, 3)
    assert story.log(1).hw == 102
    (read,) = story.consume(1, 0)
    assert offsets(read.records)[-1] == 101
    assert acks == [[], [], []]

    (delivered,) = story.fetch(1, 3, 102, epoch=0, last_epoch=0)
    assert offsets(delivered.records) == [102, 103, 104]
    assert story.log(1).hw == 102
    story.fetch(1, 3, 105, epoch=0, last_epoch=0)
    assert story.log(1).hw == 104  # replica 2 is known at 104
    assert [[(each.error_code, each.base_offset) for each in ack] for ack in acks] == [[(0, 102)], [(0, 103)], []]

    story.fetch(1, 2, 105, epoch=0, last_epoch=0)
    assert story.log(1).hw == 105
    assert [(each.error_code, each.base_offset) for each in acks[2]] == [(Error.NONE, 104)]


def test_the_least_end_breaks_with_a_leader_for_whom_min_isr_copies_are_enough() -> None:
    """16.9 with two copies for a commit: 102 and 103 are shown and acked while replica 3, a member, has neither."""

    class TwoCopiesAreEnough(Rules):
        def counts_for_hw(
            self, leader: Leadership, follower: Follower, leo: int, now: int, lag_max: int, brokers: Brokers
        ) -> bool:
            return not any(other.leo > follower.leo for other in leader.followers.values())

    with pytest.raises(AssertionError, match="assert 104 == 102"):
        test_the_hw_is_the_least_of_the_members_ends(TwoCopiesAreEnough())


# -- 16.13: the bound on reading --------------------------------------------------------------------------------------------


def test_consumers_read_to_the_hw_and_followers_to_the_end(rules: Rules | None = None) -> None:
    """16.13 LEO 6, HW 4: between the two a consumer finds nothing, beyond them an error; a follower finds records."""
    story = played((1, 2), rules=rules)
    write(story, 1, 4, "low")
    story.fetch(1, 2, 4, epoch=0, last_epoch=0)
    write(story, 1, 1, "high")
    write(story, 1, 1, "high")
    assert (story.log(1).leo, story.log(1).hw) == (6, 4)

    (read,) = story.consume(1, 0)
    assert offsets(read.records) == [0, 1, 2, 3]
    for offset in (4, 5, 6):
        (read,) = story.consume(1, offset)
        assert (read.error_code, read.records) == (Error.NONE, b"")
    (read,) = story.consume(1, 7)
    assert (read.error_code, read.records) == (Error.OFFSET_OUT_OF_RANGE, b"")
    (fetched,) = story.fetch(1, 2, 4, epoch=0, last_epoch=0)
    assert offsets(fetched.records) == [4, 5]
    assert story.log(1).hw == 4


def test_the_bound_breaks_with_a_leader_that_shows_what_may_still_vanish() -> None:
    """16.13 with one bound for all: a consumer reads 4 and 5 (B32)."""

    class ShowsEverything(Rules):
        def readable_end(self, from_replica: bool, hw: int, leo: int) -> int:
            return leo

    with pytest.raises(AssertionError, match=r"assert \[0, 1, 2, 3, 4, 5\] == \[0, 1, 2, 3\]"):
        test_consumers_read_to_the_hw_and_followers_to_the_end(ShowsEverything())


# -- 16.14: fetchers --------------------------------------------------------------------------------------------------------


def test_each_broker_asks_each_leader_for_its_partitions_and_follows_a_leader_that_moves() -> None:
    """16.14 Who asks whom for what: before and after the leadership of p1 moves from b2 to b1."""
    story = Story((1, 2, 3))
    ears = {1: Ear(story, 1), 2: Ear(story, 2)}
    story.controller.create("t", (1, 2, 3), partitions=3)
    for index in (1, 2):
        story.controller.change("t", index, leader=2)
    story.controller.publish()

    assert fetched_by(story, ears) == {(1, 2): {1, 2}, (2, 1): {0}, (3, 1): {0}, (3, 2): {1, 2}}

    story.controller.change("t", 1, leader=1)
    story.controller.publish()

    assert fetched_by(story, ears) == {(1, 2): {2}, (2, 1): {0, 1}, (3, 1): {0, 1}, (3, 2): {2}}


def fetched_by(story: Story, ears: dict[int, Ear]) -> dict[tuple[int, int], set[int]]:
    """(who, whom): the partitions of its latest fetch, once every fetch from before has ended. The fetchers say the same."""
    story.world.advance(2 * PARK)
    heard = {
        (who, whom): ear.latest_partitions(who) for who in (1, 2, 3) for whom, ear in ears.items() if ear.latest_partitions(who)
    }
    placed: dict[tuple[int, int], set[int]] = {}
    for who, node in story.nodes.items():
        for index in range(3):
            if fetcher := node.broker.fetchers.of((topic_id("t"), index)):
                assert {number for _, number in fetcher.places} == heard[who, fetcher.leader]
                placed.setdefault((who, fetcher.leader), set()).add(index)
    assert placed == heard
    return heard


# -- 16.16: split brain -----------------------------------------------------------------------------------------------------


def test_a_leader_cut_off_from_the_controllers_promises_nothing_and_falls_in_line_when_it_heals(
    rules: Rules | None = None,
) -> None:
    """16.16 It accepts x with acks=1 and loses it, never acks y, and ends up with z like everyone else."""
    e = 4
    story = real((1, 2, 3), rules=rules, epoch=e)
    write(story, 1, 1_000, "old")
    story.world.advance(2 * PARK)
    assert leos(story, 1, 2, 3) == hws(story, 1, 2, 3) == (1_000, 1_000, 1_000)
    assert leadership(story, 1).isr == (1, 2, 3)

    cut_from_controllers(story, 1)
    story.controller.broker(1, fenced=True)
    story.controller.fail_over(2, (2, 3))
    story.controller.publish()
    assert (story.partition(2).standing.leader_epoch, leadership(story, 2).isr) == (e + 1, (2, 3))

    (x,) = story.produce(1, "x", acks=1)
    assert (x.error_code, x.base_offset) == (Error.NONE, 1_000)
    y = story.produce(1, "y", timeout_ms=60_000)
    assert (y, story.log(1).leo) == ([], 1_002)
    (z,) = story.produce(2, "z")
    assert (z.error_code, z.base_offset) == (Error.NONE, 1_000)
    (refused,) = story.fetch(1, 3, 1_000, epoch=e + 1, last_epoch=e)
    assert refused.error_code is Error.UNKNOWN_LEADER_EPOCH
    assert story.partition(1).standing.leader_epoch == e

    story.world.advance(59_000)  # 2 and 3 lag in its eyes: it proposes to go on alone, and nobody hears it
    zombie = leadership(story, 1)
    assert zombie.pending is not None
    assert (zombie.pending.kind, zombie.pending.new_isr) == ("shrink", (1,))
    assert story.controller.alterations == []
    assert story.log(1).hw == 1_000
    assert zombie.isr == (1, 2, 3)
    assert zombie.maximal_isr == {1, 2, 3}
    assert y == []
    story.world.advance(1_000)
    assert [each.error_code for each in y] == [Error.REQUEST_TIMED_OUT]
    assert leadership(story, 1) is zombie

    ear = Ear(story, 2)
    reconnect_to_controllers(story, 1)
    story.controller.broker(1, fenced=False)
    story.controller.publish()
    assert story.partition(1).leader is None
    assert ear.asked_by(1)[:2] == [Asked(1_002, e, EpochEndOffset(e, 1_000)), Asked(1_000, e, hw=1_001)]
    assert cuts_of(story, 1) == [(1_002, 1_000)]
    assert contents(story, 1) == contents(story, 2) == contents(story, 3)
    assert contents(story, 1)[1_000:] == [(1_000, e + 1, "z")]

    story.world.advance(60_000)  # time enough for its old proposal to arrive: it is of an office that is gone
    assert story.controller.state().leader == 2
    assert set(leadership(story, 2).isr) == set(story.controller.state().isr) == {1, 2, 3}
    assert hws(story, 1, 2, 3) == (1_001, 1_001, 1_001)
    assert len(y) == 1


def test_split_brain_breaks_with_a_shrink_that_counts_when_it_is_proposed() -> None:
    """16.16 as S4 words the maximal ISR (section 13, row 4): alone in its own eyes, the cut-off leader acks y (B13)."""

    class CountsWhenProposed(Rules):
        def maximal_isr(self, isr: Sequence[int], pending: PendingChange | None) -> frozenset[int]:
            return frozenset(isr if pending is None else pending.new_isr)

    with pytest.raises(AssertionError, match="assert 1002 == 1000"):
        test_a_leader_cut_off_from_the_controllers_promises_nothing_and_falls_in_line_when_it_heals(CountsWhenProposed())


# -- 16.18: the caught-up rule ----------------------------------------------------------------------------------------------

T0 = 14_000
"""The trace's t=0, ms after the leader started: its lag ticks, every 15 s, then come at t=1, 16, 31 and 46."""


def follower_seen_at_10(rules: Rules | None = None) -> Story:
    """Until t=20, before the fetch: fetch at 100 (LEO 110) at t=0, at 110 (LEO 120) at t=10; LEO 130."""
    story = played((1, 2), rules=rules)
    story.controller.answers = False
    write(story, 1, 100, "first")
    write(story, 1, 10, "second")
    story.world.advance(T0)
    story.fetch(1, 2, 100, epoch=0, last_epoch=0)
    write(story, 1, 9, "third")
    write(story, 1, 1, "last of third")
    story.world.advance(10_000)
    story.fetch(1, 2, 110, epoch=0, last_epoch=0)
    write(story, 1, 10, "fourth")
    story.world.advance(10_000)
    assert story.log(1).leo == 130
    return story


def last_caught_up(story: Story) -> int | None:
    """In ms of the trace's time."""
    at = leadership(story, 1).followers[2].last_caught_up
    return None if at is None else at // MS - T0


def is_caught_up(story: Story) -> bool:
    """5.19 as the leader sees replica 2 now, with its limit of 30 s."""
    broker, follower = story.partition(1).broker, leadership(story, 1).followers[2]
    assert broker.lag_max_ns == 30_000 * MS
    return broker.rules.is_caught_up(follower, story.log(1).leo, broker.lag_now(), broker.lag_max_ns)


def test_a_follower_was_caught_up_when_it_asked_for_what_it_now_has(rules: Rules | None = None) -> None:
    """16.18 Having reached at t=10 the end of t=0, it was caught up at t=0; 119 is short of the end of t=10: out at t=31."""
    story = follower_seen_at_10(rules)
    assert last_caught_up(story) == 0

    story.fetch(1, 2, 119, epoch=0, last_epoch=0)
    assert last_caught_up(story) == 0
    story.world.advance(10_000)
    assert is_caught_up(story)  # t=30: at the limit, not beyond
    assert story.controller.alterations == []

    story.world.advance(1_000)
    assert not is_caught_up(story)
    assert [(event.kind, event.proposed) for event in told_by(story, 1, IsrChangeProposed)] == [("shrink", (1,))]
    assert len(story.controller.alterations) == 1


def test_one_record_more_would_have_kept_the_follower_in() -> None:
    """16.18, the other t=20: 120 is the end of t=10, so it was caught up at t=10 and stays until t=40."""
    story = follower_seen_at_10()

    story.fetch(1, 2, 120, epoch=0, last_epoch=0)
    assert last_caught_up(story) == 10_000
    story.world.advance(11_000)
    assert is_caught_up(story)
    assert told_by(story, 1, IsrChangeProposed) == []

    story.world.advance(15_000)  # t=46
    assert not is_caught_up(story)
    assert [event.kind for event in told_by(story, 1, IsrChangeProposed)] == ["shrink"]


def test_a_follower_at_the_leaders_end_is_caught_up_whatever_the_time() -> None:
    """16.18, the last line: silent for ten minutes, with nothing to fetch; one more record, and the silence counts."""
    story = follower_seen_at_10()
    story.fetch(1, 2, 130, epoch=0, last_epoch=0)
    assert last_caught_up(story) == 20_000

    story.world.advance(600_000)
    assert is_caught_up(story)
    assert told_by(story, 1, IsrChangeProposed) == []

    write(story, 1, 1, "more")
    assert not is_caught_up(story)
    story.world.advance(15_000)
    assert [event.kind for event in told_by(story, 1, IsrChangeProposed)] == ["shrink"]


def test_the_caught_up_rule_breaks_with_a_leader_that_credits_the_present() -> None:
    """16.18 with the time of this fetch instead of the one before: t=10 for what was known of t=0."""

    class CreditsThePresent(Rules):
        def last_caught_up(self, follower: Follower, fetch_offset: int, leader_leo: int, now: int) -> int | None:
            reached = fetch_offset >= follower.leader_leo_at_last_fetch
            return now if reached else super().last_caught_up(follower, fetch_offset, leader_leo, now)

    with pytest.raises(AssertionError, match="assert 10000 == 0"):
        test_a_follower_was_caught_up_when_it_asked_for_what_it_now_has(CreditsThePresent())


# -- 16.21: what KIP-101 cuts, and may -----------------------------------------------------------------------------------------


def test_the_rules_cut_what_only_a_former_leader_had() -> None:
    """16.21 by the rules alone: epoch 1 ends at 5 where the next one starts, though nothing is written in it."""
    rules, leader, follower = Rules(), ((1, 0), (2, 5)), ((1, 0),)

    told = rules.judge_divergence(leader, 5, last_fetched_epoch=1, fetch_offset=6)

    assert told == EpochEndOffset(1, 5)
    assert rules.truncation_point(told, rules.end_offset_for(follower, 1, 6), 6) == 5


def test_a_record_that_was_never_committed_is_cut_when_the_other_leads(rules: Rules | None = None) -> None:
    """16.21 A has 0 to 5, B 0 to 4, both HW 5; both crash and B leads: offset 5 goes, and nobody was ever told of it."""
    a, b = 1, 2
    story = untold((a, b), rules=rules)
    lead(story, a, epoch=1)
    write(story, a, 5, "kept")
    story.world.advance(6_000)  # everyone knows the HW, and has checkpointed it
    story.nodes[b].crash()
    ack = story.produce(a, "lost")
    assert leos(story, a, b) == (6, 5)
    assert hws(story, a, b) == (5, 5)
    assert ack == []
    story.nodes[a].crash()
    assert ack == [Failure.LOST]

    story.controller.change(leader=b, leader_epoch=2, isr=(b,))
    story.restart(b)
    assert story.log(b).epochs == ((1, 0), (2, 5))
    assert (story.log(b).leo, story.log(b).hw) == (5, 5)
    ear = Ear(story, b)
    story.restart(a)

    assert ear.asked_by(a)[:2] == [Asked(6, 1, EpochEndOffset(1, 5)), Asked(5, 1)]
    assert cuts_of(story, a) == [(6, 5)]
    assert (story.log(a).leo, story.log(a).hw) == (5, 5)
    assert contents(story, a) == contents(story, b) == [(offset, 1, f"kept{offset}") for offset in range(5)]


def test_the_cut_breaks_with_a_leader_that_records_no_epoch_until_it_writes() -> None:
    """16.21 with B04: B's cache lacks epoch 2, and once it has written, only luck would tell where epoch 1 ended."""

    class RecordsNothing(Rules):
        def epoch_recorded_on_election(self, leader_epoch: int, leo: int) -> tuple[int, int] | None:
            return None

    with pytest.raises(AssertionError, match=r"assert \(\(1, 0\),\) == \(\(1, 0\), \(2, 5\)\)"):
        test_a_record_that_was_never_committed_is_cut_when_the_other_leads(RecordsNothing())


# -- 16.22: the states of an ISR --------------------------------------------------------------------------------------------

Isr = tuple[tuple[int, ...], set[int], tuple[int, ...] | None, int]


def pending_expand(rules: Rules | None = None) -> Story:
    """Committed{1,2,3} at partition epoch 42; replica 4 is caught up and proposed. Replica 5 is there for later."""
    story = played((1, 2, 3, 4, 5), rules=rules, isr=(1, 2, 3), partition_epoch=42)
    story.controller.answers = False
    write(story, 1, 10, "old")
    for follower in (2, 3):
        story.fetch(1, follower, 10, epoch=0, last_epoch=0)
    assert isr_of(story) == ((1, 2, 3), {1, 2, 3}, None, 42)

    story.fetch(1, 4, 10, epoch=0, last_epoch=0)
    assert isr_of(story) == ((1, 2, 3), {1, 2, 3, 4}, (1, 2, 3, 4), 42)
    (item,) = story.controller.alterations[0][1].partitions
    assert (item.partition_epoch, [member.broker_id for member in item.new_isr_with_epochs]) == (42, [1, 2, 3, 4])
    return story


def isr_of(story: Story) -> Isr:
    """Committed ISR, maximal ISR, what is proposed, and the partition epoch, as the leader has them."""
    leader = leadership(story, 1)
    proposed = leader.pending.new_isr if leader.pending else None
    return leader.isr, set(leader.maximal_isr), proposed, story.partition(1).standing.partition_epoch


def test_an_accepted_proposal_becomes_the_committed_isr() -> None:
    """16.22 The reply with partition epoch 43 ends the pending expand."""
    story = pending_expand()

    story.controller.answer(0, story.controller.apply(0))

    assert isr_of(story) == ((1, 2, 3, 4), {1, 2, 3, 4}, None, 43)
    assert [event.because for event in told_by(story, 1, IsrChanged)][-1] == "controller accepted"


def test_metadata_before_the_reply_commits_and_the_reply_is_ignored() -> None:
    """16.22 Both tell the same change, and the first to arrive counts."""
    story = pending_expand()
    reply = story.controller.apply(0)

    story.controller.publish()
    assert isr_of(story) == ((1, 2, 3, 4), {1, 2, 3, 4}, None, 43)
    assert [event.because for event in told_by(story, 1, IsrChanged)][-1] == "metadata"

    story.controller.answer(0, reply)
    assert isr_of(story) == ((1, 2, 3, 4), {1, 2, 3, 4}, None, 43)
    assert [event.because for event in told_by(story, 1, IsrChanged)][-1] == "metadata"


def test_a_reply_does_not_bring_back_what_later_metadata_has_ended() -> None:
    """16.22, later still: metadata was two steps ahead of the reply, which is then neither taken up nor counted as a refusal."""
    story = pending_expand()
    reply = story.controller.apply(0)
    story.controller.change(isr=(1, 2, 3))
    story.controller.publish()
    assert isr_of(story) == ((1, 2, 3), {1, 2, 3}, None, 44)

    story.controller.answer(0, reply)

    assert isr_of(story) == ((1, 2, 3), {1, 2, 3}, None, 44)
    assert told_by(story, 1, AlterPartitionRefused) == []


def test_metadata_after_the_reply_changes_nothing(rules: Rules | None = None) -> None:
    """16.22 The same change told again must not end the proposal that came after it (3.8)."""
    story = pending_expand(rules)
    story.controller.answer(0, story.controller.apply(0))
    assert isr_of(story) == ((1, 2, 3, 4), {1, 2, 3, 4}, None, 43)
    story.fetch(1, 5, 10, epoch=0, last_epoch=0)
    assert isr_of(story) == ((1, 2, 3, 4), {1, 2, 3, 4, 5}, (1, 2, 3, 4, 5), 43)

    story.controller.publish()

    assert isr_of(story) == ((1, 2, 3, 4), {1, 2, 3, 4, 5}, (1, 2, 3, 4, 5), 43)


def test_the_states_break_with_a_leader_that_takes_up_the_same_metadata_twice() -> None:
    """16.22 as Kafka's code has it (B53): the second telling ends the pending expand, and the HW no longer waits for 5."""

    class TakesUpEqual(Rules):
        def judge_metadata(self, own_partition_epoch: int, partition_epoch: int) -> MetadataVerdict:
            return MetadataVerdict.APPLY if partition_epoch >= own_partition_epoch else MetadataVerdict.IGNORE

    with pytest.raises(AssertionError, match=re.escape("{1, 2, 3, 4} != {1, 2, 3, 4, 5}")):
        test_metadata_after_the_reply_changes_nothing(TakesUpEqual())


# -- 16.23: the epoch cache -------------------------------------------------------------------------------------------------


def three_epochs(rules: Rules | None = None) -> Story:
    """One broker that led in three epochs: 0 to 4999, 5000 to 10499, 10500 to 11999."""
    story = played((1,), rules=rules)
    write(story, 1, 5_000, "zero")
    lead(story, 1, epoch=1)
    assert write(story, 1, 5_500, "one") == 5_000
    lead(story, 1, epoch=2)
    assert write(story, 1, 1_500, "two") == 10_500
    assert story.log(1).leo == 12_000
    return story


def test_an_epoch_ends_where_the_next_one_starts(rules: Rules | None = None) -> None:
    """16.23 {0→0, 1→5000, 2→10500}, LEO 12000: asked by a client, epoch by epoch; of epoch 3 nothing is known."""
    story = three_epochs(rules)
    assert story.log(1).epochs == ((0, 0), (1, 5_000), (2, 10_500))

    questions = tuple(OffsetForLeaderPartition("t", 0, epoch) for epoch in (0, 1, 2, 3))
    (answer,) = story.world.ask(1, OffsetForLeaderEpochRequest(questions))

    assert {each.error_code for each in answer.partitions} == {Error.NONE}
    assert [(each.leader_epoch, each.end_offset) for each in answer.partitions] == [
        (0, 5_000),
        (1, 10_500),
        (2, 12_000),
        (-1, -1),
    ]
    assert story.log(1).end_offset_for(3) is None


def test_the_epoch_file_is_a_version_a_count_and_a_line_per_epoch() -> None:
    """16.23 The file's text, as it would survive a power cut; and what a broker reads from it is the same cache."""
    story = three_epochs()
    path = f"t-0/{files.EPOCH_CHECKPOINT}"

    text = story.nodes[1].disks[0].durable[path].decode()

    assert text.splitlines() == ["0", "3", "0 0", "1 5000", "2 10500"]
    assert text.endswith("\n")
    assert files.read_epochs(text.encode()) == story.log(1).epochs


def test_the_cache_breaks_with_an_epoch_that_reaches_to_the_end_of_the_log() -> None:
    """16.23 with LEO for an answer to every known epoch: a follower would never hear where it must cut."""

    class EndsAtTheEnd(Rules):
        def end_offset_for(self, epochs: Epochs, epoch: int, leo: int) -> EpochEndOffset | None:
            end = super().end_offset_for(epochs, epoch, leo)
            return end and EpochEndOffset(end.epoch, leo)

    with pytest.raises(AssertionError, match=r"\(0, 12000\)"):
        test_an_epoch_ends_where_the_next_one_starts(EndsAtTheEnd())
