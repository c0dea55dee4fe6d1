"""The words of a trace: every event, change, operation and message has its sentence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from harness.trace_controllers import TOLD_ELSEWHERE
from harness.trace_lines import MEANING, Glyph
from harness.trace_messages import Topics, of_message
from harness.trace_words import SENTENCES, of_change, of_event, of_row
from model.value import make_value
from replication import events as told
from replication import messages as m
from replication.errors import Error
from tests.harness.trace_by_hand import row

AT: dict[str, Any] = {"topic": "t", "partition": 0, "leader_epoch": 3, "partition_epoch": 9}
ABOUT_N2: dict[str, Any] = {"offset": 41, "broker_id": 2, "broker_epoch": 5}
EVENTS: dict[type[told.Event], tuple[told.Event, str]] = {
    told.MutantsSwitchedOn: (told.MutantsSwitchedOn(names=("B11", "B13")), "runs with wrong rules: B11, B13"),
    told.LeaderChanged: (
        told.LeaderChanged(**AT, leader=2, epoch_start=41),
        "leads t/0 in leader epoch 3, which starts at offset 41",
    ),
    told.IsrChanged: (
        told.IsrChanged(**AT, was=(2, 3), now=(2, 3, 1), because="metadata"),
        "leads t/0 with the ISR n2 n3 n1, no longer n2 n3: as metadata says",
    ),
    told.IsrChangeProposed: (
        told.IsrChangeProposed(**AT, kind="shrink", isr=(2, 3), proposed=(2,)),
        "asks the controllers to drop n3 from the ISR of t/0: n2",
    ),
    told.AlterPartitionRefused: (
        told.AlterPartitionRefused(**AT, error="INVALID_UPDATE_VERSION", proposed=(2,)),
        "is refused the ISR n2 for t/0: INVALID_UPDATE_VERSION",
    ),
    told.Truncated: (
        told.Truncated(**AT, was=44, now=41, because="diverging epoch"),
        "truncates t/0 from 44 to 41, 3 records gone: diverging epoch",
    ),
    told.HighWatermarkHeldBack: (
        told.HighWatermarkHeldBack(**AT, hw=40, leo=44, by=(1, 3)),
        "cannot move the HW of t/0 from 40 to 44: waits for n1 n3",
    ),
    told.ReplicaFailed: (
        told.ReplicaFailed(**AT, reason="a gap at 41"),
        "stops replicating t/0 for good: a gap at 41",
    ),
    told.CorruptBatchFetched: (
        told.CorruptBatchFetched(**AT, offset=41),
        "was sent a corrupt batch of t/0 at offset 41, and fetches it again",
    ),
    told.LogRecovered: (
        told.LogRecovered(topic="t", partition=0, clean=False, log_start=0, leo=41, dropped_bytes=1),
        "recovers the log of t/0 after an unclean end: it holds offsets 0 to 40, 1 torn byte cut off",
    ),
    told.LogDirectoryFailed: (
        told.LogDirectoryFailed(directory="abcdef0123", reason="EIO", partitions=(("t", 0), ("u", 1))),
        "gives up the log directory abcdef01 with t/0, u/1: EIO",
    ),
    told.BrokerClosed: (told.BrokerClosed(broker_epoch=5), "has flushed and closed its logs, broker epoch 5"),
    told.StrayLogRemoved: (told.StrayLogRemoved(path="u-0"), "removes u-0, a log that nobody assigned to it"),
    told.QuorumStateChanged: (
        told.QuorumStateChanged(quorum_epoch=4, was="follower", now="candidate", leader=-1, voted=5),
        "is candidate in quorum epoch 4, voted for n5",
    ),
    told.QuorumLogRecovered: (
        told.QuorumLogRecovered(quorum_epoch=4, log_start=0, leo=41, dropped_bytes=3),
        "opens the metadata log: offsets 0 to 41, quorum epoch 4, 3 torn bytes cut off",
    ),
    told.QuorumLogTruncated: (
        told.QuorumLogTruncated(quorum_epoch=4, was=44, now=41),
        "truncates the metadata log from 44 to 41, which its leader does not have",
    ),
    told.SnapshotTaken: (
        told.SnapshotTaken(quorum_epoch=4, end_offset=41, snapshot_epoch=3, size=512, log_start=41),
        "writes a snapshot of the metadata up to 41, 512 bytes",
    ),
    told.SnapshotLoaded: (
        told.SnapshotLoaded(quorum_epoch=4, end_offset=41, snapshot_epoch=3, was=7),
        "drops its metadata log up to 7 for a snapshot up to 41",
    ),
    told.ControllerActivated: (
        told.ControllerActivated(quorum_epoch=4, offset=41),
        "is the active controller in quorum epoch 4",
    ),
    told.ControllerResigned: (
        told.ControllerResigned(quorum_epoch=4, offset=41, decided_offset=44),
        "is the active controller no more, quorum epoch 4, and forgets 3 records that it had decided and not seen committed",
    ),
    told.SessionExpired: (
        told.SessionExpired(broker_id=2, broker_epoch=5, silent_ns=1_200_000_000),
        "has not heard of n2 for 1200 ms: its session is over",
    ),
    told.ControlledShutdownStarted: (
        told.ControlledShutdownStarted(**ABOUT_N2),
        "begins to let n2 go: it may lead nothing more",
    ),
    told.LogDirectoriesTakenOffline: (
        told.LogDirectoriesTakenOffline(**ABOUT_N2, directories=("a", "b")),
        "learns that n2 has lost 2 log directories",
    ),
    told.BrokerUnregistered: (told.BrokerUnregistered(**ABOUT_N2), "takes n2 out of the cluster"),
    told.AlterPartitionRefusedByController: (
        told.AlterPartitionRefusedByController(
            **AT, sender=2, error="INELIGIBLE_REPLICA", asked_leader_epoch=3, asked_partition_epoch=8, proposed=(2, 3)
        ),
        "refuses n2 the ISR n2 n3 of t/0: INELIGIBLE_REPLICA (asked in partition epoch 8, which is 9)",
    ),
    told.ReassignmentEnded: (
        told.ReassignmentEnded(**AT, offset=41, replicas=(2, 3)),
        "ends the reassignment of t/0: replicas n2 n3",
    ),
    told.BrokerLifeChanged: (
        told.BrokerLifeChanged(was="recovery", now="running", broker_epoch=5),
        "goes from recovery to running, broker epoch 5",
    ),
}


def kinds_of(root: type[told.Event]) -> Iterator[type[told.Event]]:
    for kind in root.__subclasses__():
        yield from kinds_of(kind) if kind.__subclasses__() else [kind]


def test_every_event_has_a_sentence() -> None:
    """Whatever a node can tell is told in English, or by the commit it leads to; a new event fails here until it has words."""
    assert set(SENTENCES) == set(EVENTS)
    assert {*SENTENCES, *TOLD_ELSEWHERE} == set(kinds_of(told.Event))
    assert not TOLD_ELSEWHERE & set(SENTENCES)
    assert {kind: of_event(event)[1] for kind, (event, _) in EVENTS.items()} == {kind: said for kind, (_, said) in EVENTS.items()}


def test_an_event_that_has_two_sides_has_two_sentences() -> None:
    """A leader leads and others follow; an ISR grows or shrinks; a log was closed or not."""
    assert of_event(told.LeaderChanged(**AT, leader=2)) == (Glyph.FOLLOWS, "follows n2 in t/0, leader epoch 3")
    assert of_event(told.LeaderChanged(**AT, leader=-1))[1] == "has no leader to follow in t/0, leader epoch 3"
    assert of_event(told.LeaderChanged(**AT, leader=2, epoch_start=0))[0] is Glyph.LEADS
    grows = told.IsrChangeProposed(**AT, kind="expand", isr=(2,), proposed=(2, 3))
    assert of_event(grows)[1] == "asks the controllers to let n3 join the ISR of t/0: n2 n3"
    opened = told.LogRecovered(topic="t", partition=0, clean=True, log_start=7, leo=7, dropped_bytes=0)
    assert of_event(opened)[1] == "opens the log of t/0 after a clean end: it is empty, and goes on at 7"


def test_every_glyph_has_a_meaning_and_no_other_has_its_sign() -> None:
    """The legend can explain whatever occurs."""
    assert set(MEANING) == set(Glyph)
    assert len({glyph.value for glyph in Glyph}) == len(Glyph) == len(Glyph.__members__)
    assert all(glyph in Glyph for glyph, _ in SENTENCES.values())


CHANGE = {"topic": "t", "partition": 0, "leader": 2, "leader_epoch": 3, "isr": [2, 3], "elr": [], "election": "clean"}


@pytest.mark.parametrize(
    ("change", "was", "new", "said"),
    [
        ({}, 1, False, "controllers: n2 leads t/0 in leader epoch 3 (clean), ISR n2 n3"),
        ({"election": "none"}, 2, False, "controllers: t/0 has the ISR n2 n3; n2 leads on in leader epoch 3"),
        ({"leader": None, "isr": [2]}, 2, False, "controllers: nobody leads t/0 in leader epoch 3, ISR n2"),
        ({"isr": [2], "elr": [1, 3]}, 1, False, "controllers: n2 leads t/0 in leader epoch 3 (clean), ISR n2, ELR n1 n3"),
        ({"election": "none"}, None, True, "controllers: t/0 is created, n2 leads in leader epoch 3, ISR n2 n3"),
    ],
)
def test_a_change_says_who_leads_and_who_is_in_sync(change: dict[str, Any], was: int | None, new: bool, said: str) -> None:
    """In the words of the controllers, with the kind of election."""
    assert of_change({**CHANGE, **change}, was, new=new) == said


VALUE = make_value(5, 3, 17)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"kind": "append", "value": VALUE, "offset": 41, "acks": -1}, "p3 append v(p3#17) -> ok at 41 (acks=all, 1.8 ms)"),
        (
            {"kind": "append", "value": VALUE, "acks": 1, "type": "info", "error": "TIMED_OUT"},
            "p3 append v(p3#17) -> info TIMED_OUT (acks=1, 1.8 ms)",
        ),
        (
            {"kind": "read", "from_offset": 30, "values": (1, 2), "at_end": True},
            "p3 read from 30 -> ok 2 records, at end (1.8 ms)",
        ),
        ({"kind": "read", "from_offset": 30, "values": (1,), "final": True}, "p3 final read from 30 -> ok 1 record (1.8 ms)"),
        (
            {"kind": "read", "from_offset": 30, "type": "fail", "error": "NOT_SENT"},
            "p3 read from 30 -> fail NOT_SENT (1.8 ms)",
        ),
        ({"kind": "end_offset", "offset": 41}, "p3 end_offset -> ok 41 (1.8 ms)"),
        ({"kind": "reg_read", "key": 4, "value": VALUE}, "p3 reg_read key 4 -> ok v(p3#17) (1.8 ms)"),
        (
            {"kind": "reg_cas", "key": 4, "expected": VALUE, "value": VALUE + 1, "offset": 9},
            "p3 reg_cas key 4 if v(p3#17) to v(p3#18) -> ok at 9 (1.8 ms)",
        ),
    ],
)
def test_an_operation_says_what_was_asked_and_what_came_back(fields: dict[str, Any], said: str) -> None:
    """With the error's name, and with its partition where there are several."""
    assert of_row(row(**fields), where=False) == said
    assert " t/0" in of_row(row(**fields, topic="t", partition=0), where=True)


ID = b"0123456789abcdef"


@pytest.mark.parametrize(
    ("way", "ends", "message", "said"),
    [
        ("request", (2, 1), m.FetchRequest(1, 1, 1, (m.FetchPartition(ID, 0, 41, 1),)), "Fetch n2>n1 t/0 from 41"),
        (
            "answer",
            (1, 2),
            m.FetchResponse((m.FetchedPartition(ID, 0, high_watermark=41, records=b"123"),)),
            "Fetch answer n1>n2 t/0 HW 41, 3 bytes",
        ),
        (
            "answer",
            (1, 2),
            m.FetchResponse((m.FetchedPartition(ID, 0, diverging_epoch=m.EpochEndOffset(1, 40)),)),
            "Fetch answer n1>n2 t/0 diverges: leader epoch 1 ends at 40",
        ),
        (
            "answer",
            (1, -2),
            m.ProduceResponse((m.ProducedPartition(ID, 0, Error.NOT_ENOUGH_REPLICAS),)),
            "Produce answer n1>c2 t/0 NOT_ENOUGH_REPLICAS",
        ),
        (
            "copy",
            (-1, 1),
            m.ProduceRequest(-1, 1, (m.ProducePartition(ID, 0, b"1234"),)),
            "copy of Produce c1>n1 t/0 4 bytes acks=all",
        ),
        (
            "request",
            (1, 4),
            m.AlterPartitionRequest(1, 1, (m.AlterPartitionItem(ID, 0, 1, 1, (m.IsrMember(1, 1), m.IsrMember(2, 1))),)),
            "AlterPartition n1>n4 t/0 ISR n1 n2",
        ),
        (
            "request",
            (-1, 1),
            m.ListOffsetsRequest((m.ListOffsetsPartition("t", 0, m.LATEST),)),
            "ListOffsets c1>n1 t/0 latest",
        ),
        ("request", (-1_000, 1), m.MetadataRequest(), "Metadata admin>n1"),
    ],
)
def test_a_message_says_what_it_is_and_where_it_went(way: str, ends: tuple[int, int], message: m.Message, said: str) -> None:
    """By Kafka's name of the request, from whom to whom, with the number that tells most."""
    assert of_message(way, ends, message, Topics(("t",))).text == said


def test_names_of_topics_are_learned_from_answers() -> None:
    """Where there are several topics an id is shown until somebody tells its name."""
    topics, fetch = Topics(("t", "u")), m.FetchRequest(1, 1, 1, (m.FetchPartition(ID, 0, 41, 1),))
    assert of_message("request", (2, 1), fetch, topics).partitions == (("30313233", 0),)
    topics.learn(m.MetadataResponse((), "c", 1, (m.MetadataTopic(Error.NONE, "u", ID),)))
    assert of_message("request", (2, 1), fetch, topics).partitions == (("u", 0),)
