"""Topics and their settings at the active controller: one batch each, and the epochs that step with one of them."""

from __future__ import annotations

import pytest

from replication.admin_messages import (
    ConfigAlteration,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    IncrementalAlterConfigsRequest,
    NewTopic,
)
from replication.errors import Error
from replication.records import ConfigRecord, PartitionRecord, TopicRecord
from replication.rules import Rules
from tests.replication.controller import wrong
from tests.replication.controller.stage import SESSION, Stage, errors

NOBODY: set[int] = set()


def staged(rules: Rules | None = None, *, elr: bool = True, brokers: int = 3, **configs: str) -> Stage:
    stage = Stage(rules, elr=elr, checked=rules is None)
    stage.start(*range(1, brokers + 1))
    stage.create((1, 2, 3), **configs)
    return stage


def epochs(stage: Stage) -> tuple[int, int]:
    return stage.state().leader_epoch, stage.state().partition_epoch


# -- settings -------------------------------------------------------------------------------------------------------------


def test_a_new_min_isr_steps_every_partition_concerned() -> None:
    """8.12: a topic with a value of its own is not concerned by the cluster's."""
    stage = staged()
    stage.create((1, 2), name="u", min_isr=2)
    asked = IncrementalAlterConfigsRequest(100, (ConfigAlteration("topic", "u", "min.insync.replicas", None),))
    assert errors(stage.answer(asked)) == [Error.NONE]
    assert (stage.state("u").partition_epoch, stage.state("t").partition_epoch) == (1, 0)
    assert stage.configure("min.insync.replicas", "3", topic=None) is Error.NONE
    assert (stage.state("u").partition_epoch, stage.state("t").partition_epoch) == (2, 0)
    assert stage.configure("min.insync.replicas", "3", topic=None) is Error.NONE  # nothing else holds now
    assert stage.state("u").partition_epoch == 2


def test_a_new_min_isr_empties_the_elr_only_where_somebody_leads() -> None:
    """8.12: a leaderless partition keeps who could lead it."""
    stage = staged()
    stage.create((2, 3), name="u")
    stage.fence(3)
    assert stage.shape() == (1, {1, 2}, NOBODY)
    stage.fence(2)
    assert stage.shape() == (1, {1}, {2})
    assert (stage.state("u").isr, stage.state("u").elr) == ((), (2, 3))
    for topic in ("t", "u"):
        stage.configure("min.insync.replicas", "1", topic)
    assert stage.shape() == (1, {1}, NOBODY)
    assert (stage.state("u").isr, stage.state("u").elr, stage.state("u").last_known_elr) == ((), (2, 3), (2,))


def test_the_alterations_of_one_resource_are_all_or_nothing() -> None:
    """3.14"""
    stage = staged()
    wrong = ConfigAlteration("topic", "t", "min.insync.replicas", "none")
    right = ConfigAlteration("topic", "t", "segment.ms", "100")
    elsewhere = ConfigAlteration("broker", "", "segment.ms", "100")
    answer = stage.answer(IncrementalAlterConfigsRequest(100, (right, wrong, elsewhere)))
    assert errors(answer) == [Error.INVALID_CONFIG, Error.INVALID_CONFIG, Error.NONE]
    assert stage.log.decisions[-1].records == (ConfigRecord("broker", "", "segment.ms", "100"),)
    unknown = ConfigAlteration("topic", "none", "segment.ms", "100")
    assert errors(stage.answer(IncrementalAlterConfigsRequest(100, (unknown,)))) == [Error.UNKNOWN_TOPIC_OR_PARTITION]


# -- topics ---------------------------------------------------------------------------------------------------------------


def test_a_topic_is_one_batch() -> None:
    """3.15, 3.9: id, settings, partitions; those who are not active are not in sync."""
    stage = Stage()
    stage.start(1, 2, 3)
    stage.fence(1)
    topic = NewTopic("t", assignments=((1, 2, 3), (2, 3, 1)), configs=(("min.insync.replicas", "2"),))
    assert errors(stage.answer(CreateTopicsRequest(100, (topic,)))) == [Error.NONE]
    records = stage.log.decisions[-1].records
    assert [type(record) for record in records] == [TopicRecord, ConfigRecord, PartitionRecord, PartitionRecord]
    first = stage.state()
    assert (first.leader, first.isr, epochs(stage)) == (2, (2, 3), (0, 0))


def test_topics_of_one_request_see_each_other() -> None:
    """3.15: the same name twice, and a collision."""
    stage = Stage()
    stage.start(1)
    topics = tuple(NewTopic(name, 1, 1) for name in ("a.b", "a.b", "a_b", "b"))
    assert errors(stage.answer(CreateTopicsRequest(100, topics))) == [
        Error.NONE,
        Error.TOPIC_ALREADY_EXISTS,
        Error.INVALID_TOPIC_EXCEPTION,
        Error.NONE,
    ]
    assert sorted(stage.image.ids) == ["a.b", "b"]


def test_defaults_are_taken_from_the_settings() -> None:
    """3.15: num.partitions and default.replication.factor."""
    stage = Stage(num_partitions="3", default_replication_factor="2")
    stage.start(1, 2)
    assert errors(stage.answer(CreateTopicsRequest(100, (NewTopic("t"),)))) == [Error.NONE]
    (topic,) = stage.image.topics.values()
    assert [len(state.replicas) for state in topic.partitions.values()] == [2, 2, 2]
    assert len({state.leader for state in topic.partitions.values()}) == 2


def test_a_topic_created_again_is_another_one() -> None:
    """3.16: another id, epochs from 0, none of its settings."""
    stage = staged(unclean_leader_election_enable="true")
    stage.alter((1, 2))
    old = stage.image.ids["t"]
    late = stage.item((1, 2, 3))
    assert errors(stage.answer(DeleteTopicsRequest(100, ("t", "t")))) == [Error.NONE, Error.UNKNOWN_TOPIC_OR_PARTITION]
    stage.create()
    assert stage.image.ids["t"] != old
    assert epochs(stage) == (0, 0)
    assert stage.image.configs["topic", "t"] == {"min.insync.replicas": "2"}
    assert stage.send(late, 1).error_code is Error.UNKNOWN_TOPIC_ID


def test_placing_repeats_with_the_controllers_own_chance() -> None:
    """DESIGN 11.5: the same seed, the same ids and places."""

    def made() -> object:
        stage = Stage(num_partitions="5", default_replication_factor="3")
        stage.start(1, 2, 3, 4)
        stage.answer(CreateTopicsRequest(100, (NewTopic("t"),)))
        stage.pass_time(SESSION)
        return stage.image

    assert made() == made()


def test_no_broker_means_another_min_isr_than_its_controllers(rules: Rules | None = None) -> None:
    """3.14, 5.30, B23 (its variant): with ELR on the setting exists for topics and for the cluster, not for one broker."""
    stage = staged(rules)
    asked = IncrementalAlterConfigsRequest(100, (ConfigAlteration("broker", "1", "min.insync.replicas", "1"),))
    assert errors(stage.answer(asked)) == [Error.INVALID_CONFIG]
    assert ("broker", "1") not in stage.image.configs


def test_meaning_the_same_breaks_with_a_min_isr_of_its_own() -> None:
    """B23, the variant: broker 1 would move its HW alone, and the controllers would count on it having stood still."""
    with pytest.raises(AssertionError):
        test_no_broker_means_another_min_isr_than_its_controllers(wrong.MinIsrOfItsOwn())
