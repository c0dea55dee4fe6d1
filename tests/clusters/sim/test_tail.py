"""The metadata tail: every commit as a row (CHECKERS 1.8)."""

from __future__ import annotations

from clusters.sim.tail import MetadataTail
from replication.events import LeaderChanged, MetadataApplied
from replication.image import MetadataImage
from replication.records import (
    BrokerRegistrationChange,
    Decision,
    MetadataRecord,
    PartitionChange,
    PartitionRecord,
    RegisterBroker,
    TopicRecord,
)

ID = b"t" * 16


class Told:
    """Three brokers, a topic of two partitions, and a tail that hears of every commit from several nodes."""

    def __init__(self) -> None:
        self.now, self.next = 0, 0
        self.tail = MetadataTail(lambda: self.now, lambda node, incarnation_id: node == 2)
        self.seen: list[tuple[MetadataImage, MetadataImage]] = []
        self.tail.on_commit.append(lambda before, after: self.seen.append((before, after)))
        for broker in (1, 2, 3):
            self.register(broker)
        self.now = 10
        partitions = [PartitionRecord(ID, index, replicas, replicas, replicas[0]) for index, replicas in enumerate(PLACED)]
        self.commit(TopicRecord("t", ID), *partitions)

    def register(self, broker: int) -> None:
        self.commit(RegisterBroker(broker, bytes([self.next]) * 16, self.next))
        self.commit(BrokerRegistrationChange(broker, self.next - 1, fenced=False))

    def commit(self, *records: MetadataRecord) -> None:
        """The active controller applies it, and two others a little later."""
        decision = Decision(self.next, self.next + len(records) - 1, 1, records)
        self.next += len(records)
        event = MetadataApplied(offset=decision.last_offset, epoch=1, decisions=(decision,))
        self.tail.on_told(4, event)
        at, self.now = self.now, self.now + 7
        self.tail.on_told(5, event)
        self.tail.on_told(1, event)
        self.now = at

    def change(self, partition: int = 0, **changes: object) -> None:
        self.commit(PartitionChange(ID, partition, **changes))  # type: ignore[arg-type]

    @property
    def rows(self) -> list[dict[str, object]]:
        return self.tail.changes


PLACED = ((1, 2, 3), (2, 3, 1))


def leader(*, leader_epoch: int, leader: int, epoch_start: int | None) -> LeaderChanged:
    return LeaderChanged(
        topic="t", partition=0, leader_epoch=leader_epoch, partition_epoch=0, leader=leader, epoch_start=epoch_start
    )


def test_a_new_topic_is_a_row_for_every_partition() -> None:
    """With the time of the commit, and the broker epochs of its ISR; told once, whoever else applies it later."""
    told = Told()
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
        "isr_epochs": [2, 4, 0],
        "last_known": None,
        "election": "none",
        "epoch_start": None,
    }


def test_only_what_changed_is_a_row() -> None:
    """Each change of each partition, with the kind of election that the two states tell."""
    told = Told()
    told.rows.clear()
    told.now = 20
    told.change(0, isr=(2, 3), leader=2)
    told.change(1, isr=(2, 3))
    told.change(0, leader=-1, isr=(3,))
    assert [(row["at_ns"], row["partition"], row["leader"], row["isr"], row["election"]) for row in told.rows] == [
        (20, 0, 2, [2, 3], "clean"),
        (20, 1, 2, [2, 3], "none"),
        (20, 0, None, [3], "none"),
    ]
    assert [row["leader_epoch"] for row in told.rows] == [1, 0, 2]


def test_registrations_say_whether_the_stop_before_was_clean() -> None:
    """One row for every incarnation, none for being fenced or let serve."""
    told = Told()
    told.now = 30
    told.register(2)
    assert [(row["node"], row["clean"]) for row in told.tail.registrations] == [(1, False), (2, True), (3, False), (2, True)]
    assert told.tail.registrations[-1]["at_ns"] == 30
    assert told.tail.registrations[-1]["broker_epoch"] == told.tail.image.brokers[2].broker_epoch


def test_a_leader_says_where_its_epoch_starts_and_only_its_own_row_learns_it() -> None:
    """A later word about an epoch that is over changes nothing else."""
    told = Told()
    told.tail.on_told(1, leader(leader_epoch=0, leader=1, epoch_start=3))
    told.change(0, isr=(2, 3), leader=2)
    told.tail.on_told(2, leader(leader_epoch=1, leader=2, epoch_start=17))
    told.tail.on_told(2, leader(leader_epoch=1, leader=2, epoch_start=99))
    told.tail.on_told(3, leader(leader_epoch=1, leader=2, epoch_start=None))
    starts = {(row["partition"], row["leader_epoch"]): row["epoch_start"] for row in told.rows}
    assert starts == {(0, 0): 3, (0, 1): 17, (1, 0): None}


def test_whoever_watches_hears_of_every_commit_once() -> None:
    """With the image before and the image after it, which share what did not change."""
    told = Told()
    before = len(told.seen)
    told.change(0, isr=(1, 2))
    told.commit(BrokerRegistrationChange(3, 4, in_controlled_shutdown=True))
    (one, two), (again, three) = told.seen[before:]
    assert two is again
    assert one.brokers is two.brokers
    assert two.topics is three.topics
    assert three is told.tail.image
