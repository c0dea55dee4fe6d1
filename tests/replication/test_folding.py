"""Metadata records, as bytes and as images: the same log gives the same image, however it is read (3.1 to 3.4, 2.32, 2.43)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.batch import stamped
from replication.folding import CannotFold, changed, fold, image_of, records_of, with_record
from replication.image import MetadataImage, PartitionState, RecoveryState
from replication.records import (
    BrokerRegistrationChange,
    ConfigRecord,
    Decision,
    FeatureLevel,
    LeaderChange,
    MetadataRecord,
    NoOp,
    PartitionChange,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBroker,
    RemoveTopic,
    TopicRecord,
    UnregisterBroker,
    batch_of,
    decisions,
)

T, U = b"t" * 16, b"u" * 16
D = b"d" * 16
EMPTY = MetadataImage(cluster_id="c")


def folded(*records: MetadataRecord, image: MetadataImage = EMPTY) -> MetadataImage:
    for record in records:
        image = with_record(image, record)
    return image


def partition(**given: Any) -> PartitionState:
    whole = {"replicas": (1, 2, 3), "isr": (1, 2), "leader": 1, "leader_epoch": 3, "partition_epoch": 5, **given}
    return PartitionState(**whole)


# -- what records do ------------------------------------------------------------------------------------------------------


def test_a_change_replaces_what_it_gives_and_steps_the_partition_epoch() -> None:
    """3.3, 1.7: also a change that gives nothing."""
    state = partition(elr=(3,))
    assert changed(state, PartitionChange(T, 0)) == msgspec.structs.replace(state, partition_epoch=6)
    after = changed(state, PartitionChange(T, 0, isr=(1,), elr=(), leader_recovery_state=1))
    assert (after.isr, after.elr, after.leader_epoch, after.partition_epoch) == ((1,), (), 3, 6)
    assert after.leader_recovery_state is RecoveryState.RECOVERING


@pytest.mark.parametrize("leader", [2, 1, -1])
def test_a_leader_that_is_given_begins_a_leader_epoch(leader: int) -> None:
    """3.3, 1.6: another one, the same one again, nobody."""
    after = changed(partition(), PartitionChange(T, 0, leader=leader))
    assert (after.leader, after.leader_epoch, after.partition_epoch) == (leader, 4, 6)


def test_a_registration_is_changed_only_in_its_own_epoch() -> None:
    """3.4: a change for another epoch means that metadata is broken."""
    image = folded(RegisterBroker(1, b"i" * 16, 7, (D,)))
    after = with_record(image, BrokerRegistrationChange(1, 7, fenced=False))
    assert (after.brokers[1].fenced, after.brokers[1].log_dirs) == (False, (D,))
    for wrong in (BrokerRegistrationChange(1, 8, fenced=False), BrokerRegistrationChange(2, 7), UnregisterBroker(1, 6)):
        with pytest.raises(CannotFold):
            with_record(image, wrong)
    assert with_record(image, UnregisterBroker(1, 7)).brokers == {}


def test_a_topic_takes_its_settings_with_it() -> None:
    """3.16: the same name again is another topic, without them."""
    image = folded(TopicRecord("t", T), ConfigRecord("topic", "t", "a", "1"), TopicRecord("u", U), RemoveTopic(T))
    assert (image.ids, image.configs, list(image.topics)) == ({"u": U}, {}, [U])
    again = folded(TopicRecord("t", b"v" * 16), image=image)
    assert (again.ids["t"], again.configs) == (b"v" * 16, {})


def test_what_is_not_there_cannot_change() -> None:
    """3.1: whoever folds this has read another log."""
    image = folded(TopicRecord("t", T))
    for wrong in (PartitionChange(T, 0), PartitionChange(U, 0), RemoveTopic(U), PartitionRecord(U, 0, (1,), (1,), 1)):
        with pytest.raises(CannotFold):
            with_record(image, wrong)


def test_a_setting_without_a_value_leaves_its_level() -> None:
    """3.14: and an empty level leaves no trace, so that equal metadata are equal images."""
    image = folded(ConfigRecord("topic", "t", "a", "1"), ConfigRecord("topic", "t", "b", "2"))
    assert image.configs == {("topic", "t"): {"a": "1", "b": "2"}}
    assert folded(ConfigRecord("topic", "t", "a", None), ConfigRecord("topic", "t", "b", None), image=image).configs == {}
    assert folded(ConfigRecord("topic", "x", "a", None), image=image) == image


def test_an_image_shares_what_did_not_change() -> None:
    """3.7: `is` finds the difference."""
    before = folded(
        TopicRecord("t", T), TopicRecord("u", U), PartitionRecord(T, 0, (1,), (1,), 1), PartitionRecord(U, 0, (1,), (1,), 1)
    )
    after = folded(PartitionChange(T, 0, isr=(1,)), image=before)
    assert after.topics[U] is before.topics[U]
    assert after.brokers is before.brokers
    assert after.topics[T].partitions[0] is not before.topics[T].partitions[0]
    assert before.topics[T].partitions[0].partition_epoch == 0
    assert folded(NoOp(), image=before).topics is before.topics


# -- decisions ------------------------------------------------------------------------------------------------------------


def test_a_decision_moves_the_offset_to_its_last_record() -> None:
    """2.35: and the quorum's own batches do that and nothing else (2.17)."""
    image = fold(EMPTY, Decision(0, 0, 1, (LeaderChange(9),), by_quorum=True))
    assert (image.offset, image.epoch) == (0, 1)
    image = fold(image, Decision(1, 2, 1, (FeatureLevel("f", 1), NoOp())))
    assert (image.offset, image.epoch, image.features) == (2, 1, {"f": 1})


@pytest.mark.parametrize("base", [0, 1, 3, 4])
def test_a_decision_is_folded_once_and_in_its_place(base: int) -> None:
    """2.35: not again, and not before what comes before it: somebody has lost a part of the log."""
    image = fold(EMPTY, Decision(0, 1, 1, (NoOp(), NoOp())))
    with pytest.raises(CannotFold):
        fold(image, Decision(base, base, 1, (NoOp(),)))


def test_a_decision_that_cannot_be_folded_leaves_the_image_as_it_was() -> None:
    """3.6: all of it or nothing."""
    image = fold(EMPTY, Decision(0, 0, 1, (TopicRecord("t", T),)))
    with pytest.raises(CannotFold):
        fold(image, Decision(1, 2, 1, (RemoveTopic(T), RemoveTopic(T))))
    assert list(image.topics) == [T]


# -- bytes ----------------------------------------------------------------------------------------------------------------

numbers = st.integers(-1, 2**31 - 1)
offsets = st.integers(-1, 2**63 - 1)
ids = st.binary(min_size=16, max_size=16)
members = st.lists(st.integers(0, 9), max_size=4).map(tuple)
maybe_members = st.none() | members
texts = st.text(max_size=12)
directories = st.lists(ids, max_size=3).map(tuple)
flags = st.booleans()
any_record: st.SearchStrategy[MetadataRecord] = st.one_of(
    st.builds(RegisterBroker, numbers, ids, offsets, directories, texts, st.integers(0, 65_535), st.none() | texts, flags, flags),
    st.builds(BrokerRegistrationChange, numbers, offsets, st.none() | flags, st.none() | flags, st.none() | directories),
    st.builds(UnregisterBroker, numbers, offsets),
    st.builds(TopicRecord, texts, ids),
    st.builds(RemoveTopic, ids),
    st.builds(PartitionRecord, ids, numbers, members, members, numbers, numbers, numbers, st.integers(0, 1), members, members),
    st.builds(PartitionChange, ids, numbers, maybe_members, st.none() | numbers, st.none() | st.integers(0, 1), maybe_members),
    st.builds(
        PartitionChange, ids, numbers, elr=maybe_members, last_known_elr=maybe_members, directories=st.none() | directories
    ),
    st.builds(ConfigRecord, texts, texts, texts, st.none() | texts),
    st.builds(ProducerIdsRecord, numbers, offsets, offsets),
    st.builds(NoOp),
    st.builds(FeatureLevel, texts, st.integers(0, 99)),
    st.builds(LeaderChange, numbers, members),
)


@given(st.lists(st.lists(any_record, min_size=1, max_size=4), max_size=4), st.booleans())
def test_decisions_come_back_from_bytes_as_they_were(written: list[list[MetadataRecord]], by_quorum: bool) -> None:
    """3.2, 3.6: a batch is a decision; its offset and epoch are the log's stamps."""
    data, offset, expected = b"", 10, []
    for epoch, records in enumerate(written):
        data += stamped(batch_of(records, 1_700_000_000_000, by_quorum=by_quorum), offset, epoch)
        expected.append(Decision(offset, offset + len(records) - 1, epoch, tuple(records), by_quorum))
        offset += len(records)
    assert list(decisions(data)) == expected


@given(st.lists(any_record, min_size=1, max_size=3), st.data())
def test_a_damaged_decision_is_no_decision(records: list[MetadataRecord], data: st.DataObject) -> None:
    """5.45: behind the part that the CRC covers nothing can change unseen; what is cut off is not there."""
    batch = batch_of(records, 0)
    position = data.draw(st.integers(21, len(batch) - 1))
    rotten = batch[:position] + bytes([batch[position] ^ 1]) + batch[position + 1 :]
    assert list(decisions(rotten)) == []
    assert list(decisions(batch[:-1])) == []
    assert len(list(decisions(batch + rotten))) == 1


# -- snapshots ------------------------------------------------------------------------------------------------------------


def test_a_snapshot_gives_the_image_again() -> None:
    """2.32, 2.43: everything, also what is rare: recovery, reassignment, ELR, directories, a broker on its way out."""
    image = folded(
        FeatureLevel("f", 1),
        RegisterBroker(2, b"j" * 16, 9, (D,), "host", 99, "rack"),
        RegisterBroker(1, b"i" * 16, 7, (b"e" * 16,)),
        BrokerRegistrationChange(1, 7, fenced=False, in_controlled_shutdown=True),
        ConfigRecord("broker", "", "min.insync.replicas", "2"),
        ConfigRecord("topic", "t", "a", "1"),
        TopicRecord("t", T),
        PartitionRecord(T, 1, (1, 2), (1,), 1, 4, 9, 1, (2,), (1,), (2,), (), (D, D)),
        PartitionRecord(T, 0, (1, 2), (), -1, 4, 9, last_known_elr=(2,)),
        TopicRecord("u", U),
        ProducerIdsRecord(1, 7, 3_000),
    )
    again = image_of(records_of(image), 41, 6, "c")
    assert again == msgspec.structs.replace(image, offset=41, epoch=6)
    assert list(again.topics[T].partitions) == list(image.topics[T].partitions)
    assert list(again.brokers) == list(image.brokers)


def test_a_snapshot_survives_its_bytes() -> None:
    """2.43"""
    image = folded(TopicRecord("t", T), PartitionRecord(T, 0, (1, 2), (1,), 1, elr=(2,)), ConfigRecord("topic", "t", "a", "1"))
    (read,) = decisions(batch_of(records_of(image), 0))
    assert image_of(read.records, -1, -1, "c") == image


def test_an_empty_image_is_its_own_snapshot() -> None:
    """2.32"""
    assert image_of(records_of(EMPTY), -1, -1, "c") == EMPTY
