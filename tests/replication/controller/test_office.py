"""Winning, holding and losing office: what an active controller says, and what it forgets (3.5, 3.10, 3.12, 3.13)."""

from __future__ import annotations

import pytest

from replication.admin_messages import (
    CreatePartitionsRequest,
    DeleteTopicsRequest,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    ListPartitionReassignmentsRequest,
)
from replication.errors import Error
from replication.events import ControllerActivated, ControllerResigned
from replication.image import ELR_FEATURE, MetadataImage
from replication.lifecycle_messages import BrokerHeartbeatRequest, BrokerRegistrationRequest
from replication.messages import AllocateProducerIdsRequest, AlterPartitionRequest
from replication.records import ConfigRecord, FeatureLevel, NoOp
from replication.rules import Rules
from tests.replication.controller import wrong
from tests.replication.controller.stage import CLUSTER, Stage, directory


def staged(rules: Rules | None = None, *, checked: bool = True, **properties: str) -> Stage:
    stage = Stage(rules, checked=checked, **properties)
    stage.start(1, 2, 3)
    stage.create()
    return stage


# -- taking office --------------------------------------------------------------------------------------------------------


def test_the_first_records_of_a_cluster_are_its_features_and_its_min_isr() -> None:
    """3.12, 3.14: with ELR on min.insync.replicas stands at cluster level, whatever the static files of brokers say."""
    first = Stage(min_insync_replicas="2").log.decisions[1].records

    assert [type(record) for record in first] == [FeatureLevel, FeatureLevel, ConfigRecord]
    assert first[1] == FeatureLevel(ELR_FEATURE, 1)
    assert first[2] == ConfigRecord("broker", "", "min.insync.replicas", "2")


def test_without_elr_no_min_isr_is_written() -> None:
    """3.12"""
    stage = Stage(elr=False)
    assert [type(record) for record in stage.log.decisions[1].records] == [FeatureLevel, FeatureLevel]
    assert not stage.image.uses_elr


def test_a_later_controller_writes_no_second_beginning() -> None:
    """3.12: the log is not empty any more."""
    stage = staged()
    decided = len(stage.log.decisions)
    stage.lose_office()
    stage.take_office(2)
    assert len(stage.log.decisions) == decided + 1  # the quorum's own LeaderChange


def decides_before_its_beginning_is_committed(rules: Rules) -> bool:
    stage = Stage(rules)
    stage.lose_office()
    del stage.log.decisions[:]
    stage.image = MetadataImage(cluster_id=CLUSTER)
    stage._new_controller()
    stage.log.holds = True
    stage.take_office(2)
    asked = BrokerRegistrationRequest(1, CLUSTER, b"a" * 16, log_dirs=(directory(1),))
    refused = [answer.error_code for answer in stage.ask(asked)] == [Error.NOT_CONTROLLER]
    stage.commit()
    stage.log.holds = False
    assert stage.answer(asked).error_code is Error.NONE
    return not refused


def test_nothing_is_decided_before_the_beginning_is_committed() -> None:
    """3.12, 3.13: a broker registered on top of records that another controller may write again is registered nowhere."""
    assert not decides_before_its_beginning_is_committed(Rules())


def test_a_controller_that_does_not_wait_decides_at_once() -> None:
    """B48, its neighbour in the controller: the same steps with the wrong rule."""

    with pytest.raises(AssertionError):
        assert not decides_before_its_beginning_is_committed(wrong.DecidesAtOnce())


# -- standing by ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "message",
    [
        BrokerRegistrationRequest(1, CLUSTER, b"a" * 16, log_dirs=(directory(1),)),
        BrokerHeartbeatRequest(1, 4, 4),
        AlterPartitionRequest(1, 4, ()),
        AllocateProducerIdsRequest(1, 4),
        DeleteTopicsRequest(100, ("t",)),
        ListPartitionReassignmentsRequest(100),
    ],
)
def test_a_standby_says_only_that_it_is_one(message: object) -> None:
    """3.13"""
    stage = staged()
    stage.lose_office()
    assert stage.answer(message).error_code is Error.NOT_CONTROLLER


def test_everybody_describes_the_quorum() -> None:
    """3.13"""
    stage = staged()
    stage.lose_office()
    assert isinstance(stage.answer(DescribeQuorumRequest(100)), DescribeQuorumResponse)


def test_a_request_that_nobody_carries_out_is_refused_in_words() -> None:
    """3.17 is not offered."""
    assert staged().answer(CreatePartitionsRequest(100, ())).error_code is Error.UNSUPPORTED_VERSION


def test_a_standby_follows_what_is_committed() -> None:
    """2.35"""
    stage = staged()
    stage.lose_office()
    assert stage.controller.image == stage.controller.speculative == stage.image
    assert not stage.controller.active


# -- deciding -------------------------------------------------------------------------------------------------------------


def test_a_decision_is_answered_once_it_is_committed(rules: Rules | None = None) -> None:
    """3.5: decided, believed by the controller, and told to nobody."""
    stage = staged(rules)
    stage.log.holds = True
    answers = stage.ask(AlterPartitionRequest(1, stage.epochs[1], (stage.item((1, 2)),)))

    assert answers == []
    assert stage.state(image=stage.controller.speculative).isr == (1, 2)
    assert stage.state(image=stage.controller.image).isr == (1, 2, 3)
    stage.commit()
    stage.world.run()
    assert [answer.partitions[0].isr for answer in answers] == [(1, 2)]


def test_answers_come_in_the_order_of_their_offsets() -> None:
    """3.5: what is committed is answered, and no more."""
    stage = staged()
    stage.log.holds = True
    first = stage.ask(AllocateProducerIdsRequest(1, stage.epochs[1]))
    between = stage.log.end_offset - 1
    second = stage.ask(AllocateProducerIdsRequest(2, stage.epochs[2]))

    stage.commit(between)
    stage.world.run()
    assert [answer.producer_id_start for answer in first] == [0]
    assert second == []
    stage.commit()
    stage.world.run()
    assert [answer.producer_id_start for answer in second] == [1_000]


def test_an_answer_that_only_reads_waits_for_what_it_has_read(rules: Rules | None = None) -> None:
    """3.5: it tells of decisions that may never come to be."""
    stage = staged(rules)
    stage.log.holds = True
    stage.ask(AllocateProducerIdsRequest(1, stage.epochs[1]))
    answers = stage.ask(ListPartitionReassignmentsRequest(100))

    assert answers == []
    stage.commit()
    stage.world.run()
    assert len(answers) == 1


@pytest.mark.parametrize(
    "claim",
    [test_a_decision_is_answered_once_it_is_committed, test_an_answer_that_only_reads_waits_for_what_it_has_read],
)
def test_waiting_breaks_with_a_controller_that_blurts(claim: object) -> None:
    """B47"""
    assert callable(claim)
    with pytest.raises(AssertionError):
        claim(wrong.Blurts())


def test_the_next_decision_is_made_on_the_one_before() -> None:
    """3.5: two proposals of one epoch, the second while the first is not committed: it is of the past."""
    stage = staged()
    stage.log.holds = True
    twice = AlterPartitionRequest(1, stage.epochs[1], (stage.item((1, 2)),))
    answers = [stage.ask(twice), stage.ask(twice)]
    stage.commit()
    stage.world.run()
    assert [each[0].partitions[0].error_code for each in answers] == [Error.NONE, Error.INVALID_UPDATE_VERSION]


# -- losing office --------------------------------------------------------------------------------------------------------


def test_with_the_office_goes_exactly_what_was_not_committed(rules: Rules | None = None) -> None:
    """3.5: of two decisions one is committed; the other one is forgotten, and neither caller is told that it happened."""
    stage = staged(rules, checked=rules is None)
    stage.log.holds = True
    first = stage.ask(AlterPartitionRequest(1, stage.epochs[1], (stage.item((1, 2)),)))
    between = stage.log.end_offset - 1
    second = stage.ask(DeleteTopicsRequest(100, ("t",)))
    stage.commit(between)
    stage.world.run()

    stage.lose_office()

    assert [answer.error_code for answer in first] == [Error.NONE]
    assert [answer.error_code for answer in second] == [Error.NOT_CONTROLLER]
    assert stage.controller.speculative == stage.image
    assert stage.state(image=stage.controller.speculative).isr == (1, 2)
    (resigned,) = stage.world.told(ControllerResigned)
    assert (resigned.offset, resigned.decided_offset) == (between, between + 1)


def test_losing_office_breaks_with_a_controller_that_remembers() -> None:
    """B47: the topic is gone for it alone."""
    with pytest.raises(AssertionError):
        test_with_the_office_goes_exactly_what_was_not_committed(wrong.Remembers())


def test_a_decision_that_survived_the_office_is_taken_from_the_log() -> None:
    """3.5: nobody was told that it happened, and it happened: the caller's outcome is unknown."""
    stage = staged()
    stage.log.holds = True
    answers = stage.ask(DeleteTopicsRequest(100, ("t",)))
    stage.lose_office(kept=1)
    assert [answer.error_code for answer in answers] == [Error.NOT_CONTROLLER]

    stage.log.holds = False
    stage.take_office(2)
    assert stage.image.topics == {}
    assert stage.controller.speculative == stage.image


def test_who_is_out_of_office_without_knowing_it_decides_nothing() -> None:
    """2.21: the log refuses the batch, the request is refused, the image stays."""
    stage = staged()
    stage.log.epoch = None
    before = stage.controller.speculative
    assert stage.answer(DeleteTopicsRequest(100, ("t",))).error_code is Error.NOT_CONTROLLER
    assert stage.controller.speculative is before


def test_timers_end_with_the_office() -> None:
    """3.12: an old tenure's tick decides nothing in a new one, and two tenures do not tick twice."""
    stage = Stage(metadata_max_idle_interval_ms="1000")
    stage.lose_office()
    stage.take_office(2)
    decided = len(stage.log.decisions)
    stage.world.advance(4_500)
    assert [decision.records for decision in stage.log.decisions[decided:]] == [(NoOp(),)] * 4
    assert [event.quorum_epoch for event in stage.world.told(ControllerActivated)] == [1, 2]


# -- time -----------------------------------------------------------------------------------------------------------------


def test_silence_is_filled_and_noise_is_not() -> None:
    """3.10: NoOps are written that long after the last write, not on a beat of their own."""
    stage = Stage(metadata_max_idle_interval_ms="1000")
    stage.world.advance(600)
    stage.configure("unclean.leader.election.enable", "true", topic=None)
    decided = len(stage.log.decisions)
    stage.world.advance(900)
    assert len(stage.log.decisions) == decided
    stage.world.advance(100)
    assert stage.log.decisions[-1].records == (NoOp(),)


def test_a_log_that_refuses_is_not_asked_in_a_loop() -> None:
    """3.10: between losing office and hearing of it there may be a while."""
    stage = Stage(metadata_max_idle_interval_ms="1000")
    stage.log.epoch = None
    steps = stage.world.steps
    stage.world.advance(10_000)
    assert stage.world.steps - steps < 200


def test_producer_ids_are_never_handed_out_twice() -> None:
    """6.15: each request gets a block of its own, also the copy of one; a stranger gets none."""
    stage = staged()
    blocks = [stage.answer(AllocateProducerIdsRequest(1, stage.epochs[1])) for _ in range(2)]
    assert [(block.producer_id_start, block.producer_id_len) for block in blocks] == [(0, 1_000), (1_000, 1_000)]
    assert stage.answer(AllocateProducerIdsRequest(1, 999)).error_code is Error.STALE_BROKER_EPOCH
    assert stage.image.next_producer_id == 2_000
