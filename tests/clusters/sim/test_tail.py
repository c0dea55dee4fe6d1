"""The metadata tail: every commit as a row (CHECKERS 1.8)."""

from __future__ import annotations

from clusters.sim.stand_in.metadata import Metadata, topic_id
from clusters.sim.tail import MetadataTail
from replication.errors import Error
from replication.events import LeaderChanged
from replication.messages import AlterPartitionItem, IsrMember


class Told:
    """Three brokers, one topic, and a tail that saw all of it."""

    def __init__(self) -> None:
        self.now = 0
        self.tail = MetadataTail(lambda: self.now, lambda node: node == 2)
        self.metadata = Metadata(self.tail.on_commit)
        for broker in (1, 2, 3):
            self.metadata.register(broker, bytes([broker]) * 16)
            self.metadata.unfence(broker)
        self.now = 10
        assert self.metadata.create_topic("t", 2, 3, {}) is Error.NONE

    @property
    def rows(self) -> list[dict[str, object]]:
        return self.tail.changes


def isr_of(told: Told, *members: int) -> AlterPartitionItem:
    """What the leader of t/0 proposes."""
    state = told.metadata.state("t", 0)
    assert state is not None
    proposed = tuple(IsrMember(broker_id, -1) for broker_id in members)
    return AlterPartitionItem(topic_id("t"), 0, state.leader_epoch, state.partition_epoch, proposed)


def leader(*, leader_epoch: int, leader: int, epoch_start: int | None) -> LeaderChanged:
    return LeaderChanged(
        topic="t", partition=0, leader_epoch=leader_epoch, partition_epoch=0, leader=leader, epoch_start=epoch_start
    )


def test_a_new_topic_is_a_row_for_every_partition() -> None:
    """With the time of the commit, and the broker epochs of its ISR."""
    told = Told()
    epochs = [told.metadata.image.brokers[broker].broker_epoch for broker in (2, 3, 1)]
    assert [(row["topic"], row["partition"], row["leader"]) for row in told.rows] == [("t", 0, 1), ("t", 1, 2)]
    assert told.rows[1] == {
        "at_ns": 10,
        "topic": "t",
        "partition": 1,
        "leader": 2,
        "leader_epoch": 0,
        "partition_epoch": 0,
        "replicas": [2, 3, 1],
        "isr": [2, 3, 1],
        "elr": [],
        "isr_epochs": epochs,
        "last_known": None,
        "election": "none",
        "epoch_start": None,
    }


def test_only_what_changed_is_a_row() -> None:
    """A fenced broker leaves both ISRs, and where it led another one does: a clean election there, none here."""
    told = Told()
    told.rows.clear()
    told.now = 20
    told.metadata.fence(1)
    assert [(row["at_ns"], row["partition"], row["leader"], row["isr"], row["election"]) for row in told.rows] == [
        (20, 0, 2, [2, 3], "clean"),
        (20, 1, 2, [2, 3], "none"),
    ]
    assert [row["leader_epoch"] for row in told.rows] == [1, 0]


def test_a_partition_without_a_leader_has_none_in_its_row() -> None:
    """Not Kafka's -1."""
    told = Told()
    for broker in (1, 2, 3):
        told.metadata.fence(broker)
    last = [row for row in told.rows if row["partition"] == 0][-1]
    assert (last["leader"], last["isr"]) == (None, [3])


def test_registrations_say_whether_the_stop_before_was_clean() -> None:
    """One row for every incarnation, none for being fenced or let serve."""
    told = Told()
    told.now = 30
    told.metadata.register(2, b"x" * 16)
    told.metadata.unfence(2)
    assert [(row["node"], row["clean"]) for row in told.tail.registrations] == [(1, False), (2, True), (3, False), (2, True)]
    assert told.tail.registrations[-1]["at_ns"] == 30
    assert told.tail.registrations[-1]["broker_epoch"] == told.metadata.image.brokers[2].broker_epoch


def test_who_leads_again_says_it_of_its_present_epoch_alone() -> None:
    """An earlier one of which it never told stays unknown."""
    told = Told()
    told.metadata.fence(1)
    told.metadata.unfence(1)
    told.metadata.alter(isr_of(told, 1, 2))
    assert told.metadata.elect_preferred("t", 0) is Error.NONE
    told.tail.on_leader(1, leader(leader_epoch=2, leader=1, epoch_start=20))
    starts = {row["leader_epoch"]: row["epoch_start"] for row in told.rows if row["partition"] == 0}
    assert starts == {0: None, 1: None, 2: 20}


def test_a_leader_says_where_its_epoch_starts_and_only_its_own_row_learns_it() -> None:
    """A later word about an epoch that is over changes nothing else."""
    told = Told()
    told.metadata.fence(1)  # n2 leads t/0 in epoch 1
    told.tail.on_leader(2, leader(leader_epoch=1, leader=2, epoch_start=17))
    told.tail.on_leader(2, leader(leader_epoch=1, leader=2, epoch_start=99))
    told.tail.on_leader(1, leader(leader_epoch=0, leader=1, epoch_start=3))
    told.tail.on_leader(3, leader(leader_epoch=1, leader=2, epoch_start=None))
    starts = {(row["partition"], row["leader_epoch"]): row["epoch_start"] for row in told.rows}
    assert starts == {(0, 0): 3, (0, 1): 17, (1, 0): None}
