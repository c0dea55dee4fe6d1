"""The client against real brokers, and against nodes that do what the test says: one call, one request, one fact (7.11, 5.45)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.admin_messages import (
    AdminResponse,
    AdminResult,
    AlterPartitionReassignmentsRequest,
    ConfigAlteration,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    ElectLeadersRequest,
    ForwardedRequest,
    IncrementalAlterConfigsRequest,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    NewPartitions,
    NewTopic,
    Reassignment,
    UnregisterBrokerRequest,
)
from replication.batch import Record, encode, header_at, with_append_time
from replication.client import NO_WAIT, Client, Limits, Position
from replication.client_results import Source, fetched
from replication.env import CLOSE, Failure
from replication.errors import Error
from replication.image import TOPIC, TopicImage
from replication.messages import (
    EARLIEST,
    LATEST,
    DescribeConfigsResource,
    EpochEndOffset,
    FetchedPartition,
    FetchRequest,
    FetchResponse,
    InitProducerIdResponse,
    LeaderIdAndEpoch,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    Message,
    MetadataBroker,
    MetadataPartition,
    MetadataRequest,
    MetadataResponse,
    MetadataTopic,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderResult,
    ProducedPartition,
    ProduceRequest,
    ProduceResponse,
)
from tests.replication.memory import MemoryEnv, World
from tests.replication.scripted import Story, batch, no_leader, topic_id

CLIENT = 900
TIMEOUT_MS = 2_000
DATA = ProduceRequest, FetchRequest, ListOffsetsRequest, OffsetForLeaderEpochRequest


class WatchedEnv(MemoryEnv):
    """A client's world that notes what was asked, of whom, and with how much time."""

    def __init__(self, world: World) -> None:
        super().__init__(world, CLIENT, (), 1)
        self.asked: list[tuple[int, Message]] = []
        self.timeouts_ns: list[int | None] = []

    def request(self, to: int, channel: str, message: Any, timeout_ns: int | None, then: Callable[[Any], None]) -> None:
        assert channel == "client"
        self.asked.append((to, message))
        self.timeouts_ns.append(timeout_ns)
        super().request(to, channel, message, timeout_ns, then)

    def nodes_asked(self, *kinds: type) -> list[int]:
        return [to for to, message in self.asked if isinstance(message, kinds)]

    def forget(self) -> None:
        self.asked.clear()
        self.timeouts_ns.clear()


class Visit:
    """A client in a world, and short words for its calls: each returns what `then` was told."""

    def __init__(self, world: World, bootstrap: tuple[int, ...] = (1, 2, 3), env: WatchedEnv | None = None) -> None:
        self.world = world
        self.env = env or WatchedEnv(world)
        self.client = Client(self.env, bootstrap, TIMEOUT_MS)

    def begin(self, call: Callable[..., None], *args: Any, **options: Any) -> list[Any]:
        """The list holds the result once there is one. There is none while the call itself is still running."""
        results: list[Any] = []
        call(*args, results.append, **options)
        assert results == []
        self.world.run()
        return results

    def told(self, call: Callable[..., None], *args: Any, **options: Any) -> Any:
        """The one result of a call that needs no time, or, after the deadline, of one that does."""
        results = self.begin(call, *args, **options)
        if not results:
            self.world.advance(options.get("timeout_ms", TIMEOUT_MS))
        (result,) = results
        return result

    def produce(self, *values: str, acks: int = -1, topic: str = "t", **options: Any) -> Any:
        return self.told(self.client.produce, topic, 0, batch(*values), acks, **options)

    def fetch(self, offset: int, limits: Limits = NO_WAIT, *, topic: str = "t", last_epoch: int = -1, **options: Any) -> Any:
        return self.told(self.client.fetch, topic, 0, Position(offset, last_epoch), limits, **options)


class Puppet:
    """A node that answers as the test says: with a message, with CLOSE, or, None, only when the test calls `answer_kept`."""

    def __init__(self, world: World, node_id: int, *answers: Any) -> None:
        self.env = MemoryEnv(world, node_id, (), 1)
        self.env.on_request = self.on_request
        world.up[node_id] = self.env
        self.answers = list(answers)
        self.kept: list[Any] = []

    def on_request(self, request: Any) -> None:
        answer = self.answers.pop(0)
        if answer is None:
            self.kept.append(request)
        else:
            self.env.reply(request, answer)

    def answer_kept(self, answer: Any) -> None:
        self.env.reply(self.kept.pop(0), answer)
        self.env.world.run()


class TimedEnv(WatchedEnv):
    """A world in which each request has the next answer after so many ms, be it in time or not."""

    def __init__(self, world: World, *answers: tuple[int, Any]) -> None:
        super().__init__(world)
        self.answers = list(answers)

    def request(self, to: int, channel: str, message: Any, timeout_ns: int | None, then: Callable[[Any], None]) -> None:
        self.asked.append((to, message))
        delay_ms, answer = self.answers.pop(0)
        self.after(delay_ms * 1_000_000, lambda: then(answer))


def cluster(**config: str) -> tuple[Story, Visit]:
    """Three brokers, the topic t led by broker 1, and a client."""
    story = Story((1, 2, 3), replica_lag_time_max_ms="60000", replica_fetch_wait_max_ms="100")
    story.controller.create("t", (1, 2, 3))
    story.controller.configure("t", **config)
    story.controller.publish()
    return story, Visit(story.world)


def move(story: Story, leader: int, *, told: tuple[int, ...] = ()) -> None:
    """Another leader, the ISR stays. Only the brokers in `told`, or all, hear of it."""
    story.controller.fail_over(leader, (1, 2, 3))
    story.controller.publish(*told)


def metadata(leader: int, leader_epoch: int, identifier: bytes | None = None) -> MetadataResponse:
    """What a puppet knows: broker 1, to be asked for metadata; the topic t with one partition."""
    error = Error.NONE if leader >= 0 else Error.LEADER_NOT_AVAILABLE
    partition = MetadataPartition(0, error, leader, leader_epoch, (1, 2), (1, 2))
    return knows(MetadataTopic(Error.NONE, "t", identifier or topic_id("t"), (partition,)))


def knows(topic: MetadataTopic) -> MetadataResponse:
    return MetadataResponse((MetadataBroker(1, "", 0),), "tidemark-test", 1, (topic,))


def refused_fetch(error: Error, hint: LeaderIdAndEpoch | None = None) -> FetchResponse:
    return FetchResponse((FetchedPartition(topic_id("t"), 0, error, current_leader=hint),))


EMPTY = FetchResponse((FetchedPartition(topic_id("t"), 0, Error.NONE, 0, 0, 0),))


def epochs_sent(env: WatchedEnv) -> list[tuple[int, int]]:
    """(node, current leader epoch) of every fetch."""
    return [(to, message.partitions[0].current_leader_epoch) for to, message in env.asked if isinstance(message, FetchRequest)]


# -- every call, answered -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("acks", [1, -1])
def test_a_produce_tells_where_its_batch_is(acks: int) -> None:
    """6.12 Base offset and log start, who answered, and the leader epoch that the client believed in."""
    _, visit = cluster()
    assert visit.produce("a", "b", acks=acks).base_offset == 0
    result = visit.produce("c", acks=acks)
    assert (result.fact, result.base_offset, result.log_start_offset, result.node, result.leader_epoch) == ("SUCCESS", 2, 0, 1, 0)
    assert result.log_append_time_ms is None  # the producer made the timestamps


def test_a_produce_tells_the_brokers_time_where_that_counts() -> None:
    """6.12 With LogAppendTime the answer carries the timestamp that the records got."""
    story, visit = cluster(message_timestamp_type="LogAppendTime")
    assert visit.produce("a").log_append_time_ms == story.world.wall_start_ms


def test_a_produce_gives_the_broker_as_long_as_the_client_has() -> None:
    """6.4 The broker's waiting time is what is left of the call's own, and so is the world's."""
    _, visit = cluster()
    visit.produce("a", timeout_ms=700)
    (_, message) = visit.env.asked[-1]
    assert isinstance(message, ProduceRequest)
    assert message.timeout_ms == 700
    assert visit.env.timeouts_ns[-1] == 700 * 1_000_000


def test_a_fetch_gives_records_with_their_offsets_and_leader_epochs() -> None:
    """7.1 Each record has its offset and the leader epoch of its batch, also of one written under an earlier leader."""
    story, visit = cluster()
    visit.produce("a", "b")
    move(story, 2)
    assert visit.produce("c").fact == "NOT_LEADER_OR_FOLLOWER"
    visit.produce("d")
    story.world.advance(1_000)
    result = visit.fetch(0)
    assert [(record.value, record.offset, record.leader_epoch) for record in result.records] == [
        (b"a", 0, 0),
        (b"b", 1, 0),
        (b"d", 2, 1),
    ]
    assert (result.fact, result.node, result.leader_epoch) == ("SUCCESS", 2, 1)
    assert (result.high_watermark, result.log_start_offset, result.diverging_epoch) == (3, 0, None)


def test_a_fetch_drops_what_lies_below_the_offset_asked_for() -> None:
    """7.7 The broker sends the whole batch that contains the offset."""
    _, visit = cluster()
    visit.produce("a", "b", "c")
    assert [record.value for record in visit.fetch(2).records] == [b"c"]


def test_a_fetch_waits_as_long_as_it_may() -> None:
    """5.40 With nothing to read the broker answers at the end of `max_wait_ms`, or as soon as there is something."""
    story, visit = cluster()
    waiting = visit.begin(visit.client.fetch, "t", 0, Position(0), Limits(max_wait_ms=500))
    story.world.advance(499)
    assert waiting == []
    story.world.advance(1)
    assert [(result.fact, result.records) for result in waiting] == [("SUCCESS", ())]
    waiting = visit.begin(visit.client.fetch, "t", 0, Position(0), Limits(max_wait_ms=500))
    visit.produce("a")
    assert [record.value for record in waiting[0].records] == [b"a"]


def test_a_fetch_brings_no_more_than_it_may() -> None:
    """7.7 `max_bytes` ends an answer behind the first whole batch."""
    _, visit = cluster()
    visit.produce("a")
    visit.produce("b")
    assert [record.value for record in visit.fetch(0, Limits(max_bytes=1)).records] == [b"a"]
    assert [record.value for record in visit.fetch(0).records] == [b"a", b"b"]


def test_a_reader_from_another_history_is_told_where_it_diverges() -> None:
    """7.5, 5.16 `last_fetched_epoch` travels with the fetch, and the end of the common part comes back."""
    story, visit = cluster()
    visit.produce("a")
    move(story, 2)
    visit.fetch(0)
    visit.produce("b")
    assert visit.fetch(2, last_epoch=0).diverging_epoch == EpochEndOffset(0, 1)
    assert visit.fetch(2, last_epoch=1).diverging_epoch is None


def test_offsets_are_listed_by_time() -> None:
    """7.4, 7.9 Latest, earliest, and the first record that is not older; none is None, never -1."""
    _, visit = cluster()
    visit.told(visit.client.produce, "t", 0, batch("a", timestamp=1_000), -1)
    visit.told(visit.client.produce, "t", 0, batch("b", timestamp=2_000), -1)

    def listed(timestamp: int) -> tuple[Any, ...]:
        result = visit.told(visit.client.list_offsets, "t", 0, timestamp)
        assert (result.fact, result.node, result.leader_epoch) == ("SUCCESS", 1, 0)
        return result.offset, result.timestamp, result.offset_leader_epoch

    assert listed(LATEST) == (2, None, 0)
    assert listed(EARLIEST) == (0, None, 0)
    assert listed(1_001) == (1, 2_000, 0)
    assert listed(2_001) == (None, None, None)


def test_the_end_of_a_leader_epoch_is_told() -> None:
    """7.5 The end offset of an epoch in the leader's log; of one that the leader never heard of, nothing."""
    story, visit = cluster()
    visit.produce("a", "b")
    move(story, 2)
    visit.produce("c")  # finds out that the leader moved
    ended = visit.told(visit.client.offset_for_leader_epoch, "t", 0, 0)
    assert (ended.fact, ended.node, ended.leader_epoch, ended.end_leader_epoch, ended.end_offset) == ("SUCCESS", 2, 1, 0, 2)
    unknown = visit.told(visit.client.offset_for_leader_epoch, "t", 0, 7)
    assert (unknown.fact, unknown.end_leader_epoch, unknown.end_offset) == ("SUCCESS", None, None)


def test_reads_carry_the_leader_epoch_that_the_client_believes_in() -> None:
    """7.3 Fetch, ListOffsets and OffsetForLeaderEpoch send it: without it no broker could say that it is old."""
    story, visit = cluster()
    move(story, 2)
    visit.fetch(0)
    visit.told(visit.client.list_offsets, "t", 0, LATEST)
    visit.told(visit.client.offset_for_leader_epoch, "t", 0, 0)
    sent = [message for _, message in visit.env.asked if isinstance(message, DATA)]
    assert [message.partitions[0].current_leader_epoch for message in sent if not isinstance(message, ProduceRequest)] == [
        1,
        1,
        1,
    ]


def test_a_producer_id_comes_from_a_block_that_must_be_fetched_first() -> None:
    """6.15 The first answer is that there is none yet, which the client does not hide; then every id is another."""
    story, _ = cluster()
    visit = Visit(story.world, (1,))
    assert visit.told(visit.client.init_producer_id).fact == "COORDINATOR_LOAD_IN_PROGRESS"
    first, second = visit.told(visit.client.init_producer_id), visit.told(visit.client.init_producer_id)
    assert (first.fact, first.node, first.producer_id, first.producer_epoch) == ("SUCCESS", 1, 1_000, 0)
    assert second.producer_id == 1_001


def test_metadata_is_told_as_one_broker_knows_it() -> None:
    """3.18 Of the topics named, or of all."""
    story, visit = cluster()
    story.controller.create("u", (2, 3))
    story.controller.publish()
    named = visit.told(visit.client.metadata, ["u", "nowhere"])
    assert (named.fact, named.node) == ("SUCCESS", 1)
    assert [(topic.name, topic.error_code.name) for topic in named.answer.topics] == [
        ("u", "NONE"),
        ("nowhere", "UNKNOWN_TOPIC_OR_PARTITION"),
    ]
    every = visit.told(visit.client.metadata, None)
    assert {topic.name for topic in every.answer.topics} == {"t", "u"}
    assert every.node == 2  # nodes take turns
    visit.produce("a", topic="u")
    assert visit.env.nodes_asked(MetadataRequest) == [1, 2]  # what was told is known: nobody is asked again


def test_the_cluster_describes_itself() -> None:
    """7.12, 3.14 Brokers, partitions with ELR, settings of a topic and of one broker, log directories of one broker."""
    _, visit = cluster(min_insync_replicas="2")
    visit.produce("a")
    client = visit.client
    assert {broker.node_id for broker in visit.told(client.describe_cluster).answer.brokers} == {1, 2, 3}
    assert visit.told(client.describe_topic_partitions, ["t"]).answer.topics[0].partitions[0].leader_id == 1
    asked = [DescribeConfigsResource(TOPIC, "t", ("min.insync.replicas",))]
    assert visit.told(client.describe_configs, None, asked).answer.results[0].configs == (("min.insync.replicas", "2"),)
    directories = visit.told(client.describe_log_dirs, 3)
    assert directories.node == 3
    assert [(held.topic, held.partition_index) for held in directories.answer.results[0].partitions] == [("t", 0)]


ADMINISTRATION: dict[str, tuple[tuple[Any, ...], ForwardedRequest]] = {
    "create_topics": (([NewTopic("u", 1, 3)],), CreateTopicsRequest(TIMEOUT_MS, (NewTopic("u", 1, 3),))),
    "delete_topics": ((["t"],), DeleteTopicsRequest(TIMEOUT_MS, ("t",))),
    "create_partitions": (([NewPartitions("t", 2)],), CreatePartitionsRequest(TIMEOUT_MS, (NewPartitions("t", 2),))),
    "alter_configs": (
        ([ConfigAlteration(TOPIC, "t", "min.insync.replicas", "1")],),
        IncrementalAlterConfigsRequest(TIMEOUT_MS, (ConfigAlteration(TOPIC, "t", "min.insync.replicas", "1"),)),
    ),
    "elect_leaders": (([("t", 0)],), ElectLeadersRequest(TIMEOUT_MS, False, (("t", 0),))),
    "reassign": (
        ([Reassignment("t", 0, (2, 3))],),
        AlterPartitionReassignmentsRequest(TIMEOUT_MS, (Reassignment("t", 0, (2, 3)),)),
    ),
    "list_reassignments": ((None,), ListPartitionReassignmentsRequest(TIMEOUT_MS)),
    "unregister_broker": ((3,), UnregisterBrokerRequest(TIMEOUT_MS, 3)),
    "describe_quorum": ((), DescribeQuorumRequest(TIMEOUT_MS)),
}
ANSWERS = {
    ListPartitionReassignmentsRequest: ListPartitionReassignmentsResponse(),
    DescribeQuorumRequest: DescribeQuorumResponse(leader_id=100),
}


@pytest.mark.parametrize("name", ADMINISTRATION)
def test_administration_reaches_the_controller_once_and_its_answer_comes_back(name: str) -> None:
    """3.19 Any broker forwards it, with the time that the client gives it."""
    arguments, expected = ADMINISTRATION[name]
    answer = ANSWERS.get(type(expected), AdminResponse(Error.NONE, (AdminResult("t"),)))
    story, visit = cluster()
    arrived: list[Any] = []

    def on_request(request: Any) -> None:
        arrived.append(request.message)
        story.controller.env.reply(request, answer)

    story.controller.env.on_request = on_request
    result = visit.told(getattr(visit.client, name), *arguments)
    assert arrived == [expected]
    assert (result.fact, result.node, result.answer) == ("SUCCESS", 1, answer)


def test_an_administrative_answer_is_no_success_while_one_thing_in_it_failed() -> None:
    """The fact is the first error, wherever it stands; the whole answer is handed on."""
    world = World()
    mixed = AdminResponse(Error.NONE, (AdminResult("u"), AdminResult("t", Error.TOPIC_ALREADY_EXISTS)))
    Puppet(world, 1, mixed, AdminResponse(Error.NOT_CONTROLLER))
    visit = Visit(world, (1,))
    result = visit.told(visit.client.create_topics, [NewTopic("u"), NewTopic("t")])
    assert (result.fact, result.answer) == ("TOPIC_ALREADY_EXISTS", mixed)
    assert visit.told(visit.client.delete_topics, ["t"]).fact == "NOT_CONTROLLER"


# -- facts --------------------------------------------------------------------------------------------------------------


def test_an_error_of_kafka_is_told_by_its_name() -> None:
    """6.3 The error, who gave it, and no offset."""
    story, visit = cluster(min_insync_replicas="3")
    story.controller.change(isr=(1, 2))
    story.controller.publish()
    story.world.cut |= {(3, 1)}  # or else broker 3 would be back at once
    result = visit.produce("a")
    assert (result.fact, result.node, result.base_offset) == ("NOT_ENOUGH_REPLICAS", 1, None)
    assert visit.produce("a", acks=7).fact == "INVALID_REQUIRED_ACKS"
    assert visit.fetch(99).fact == "OFFSET_OUT_OF_RANGE"


def test_without_a_leader_nothing_is_sent() -> None:
    """3.18 LEADER_NOT_AVAILABLE: no request, NOT_SENT, and the reason. Asked again, metadata is asked for again."""
    story, visit = cluster()
    no_leader(story)
    result = visit.produce("a")
    assert (result.fact, result.detail, result.node, result.leader_epoch) == ("NOT_SENT", "LEADER_NOT_AVAILABLE", None, None)
    assert visit.env.nodes_asked(*DATA) == []
    move(story, 1)
    assert visit.produce("a").fact == "SUCCESS"


@pytest.mark.parametrize(("topic", "partition"), [("nowhere", 0), ("t", 5)])
def test_to_an_unknown_partition_nothing_is_sent(topic: str, partition: int) -> None:
    """3.18 Neither to a topic nor to a partition that the broker does not know."""
    _, visit = cluster()
    result = visit.told(visit.client.list_offsets, topic, partition, LATEST)
    assert (result.fact, result.detail) == ("NOT_SENT", "UNKNOWN_TOPIC_OR_PARTITION")
    assert visit.env.nodes_asked(*DATA) == []


def test_a_leader_that_is_down_was_sent_nothing() -> None:
    """A refused connection is NOT_SENT; the next call asks for metadata and goes to the new leader."""
    story, visit = cluster()
    visit.produce("a")
    story.nodes[1].crash()
    refused = visit.produce("b")
    assert (refused.fact, refused.detail, refused.node) == ("NOT_SENT", "refused", None)
    story.controller.fail_over(2, (2, 3))
    story.controller.publish()
    assert visit.produce("b").node == 2
    assert visit.env.nodes_asked(ProduceRequest) == [1, 1, 2]


def test_a_node_that_refuses_is_passed_over() -> None:
    """Bootstrap nodes are asked in turn: one that is down costs nothing but the next question."""
    story, _ = cluster()
    story.nodes[1].crash()
    story.controller.fail_over(3, (2, 3))
    story.controller.publish()
    visit = Visit(story.world, (1, 2))
    assert visit.produce("a").node == 3
    assert visit.env.nodes_asked(MetadataRequest) == [1, 2]


def test_where_every_node_refuses_nothing_is_sent_and_each_is_asked_once() -> None:
    """No hidden retries: one round, then NOT_SENT, long before the deadline."""
    visit = Visit(World(), (1, 2))
    assert visit.begin(visit.client.produce, "t", 0, batch("a"), -1)[0].detail == "no metadata: refused"
    assert visit.env.nodes_asked(MetadataRequest) == [1, 2]
    assert visit.told(visit.client.metadata, None).fact == "NOT_SENT"
    assert visit.told(visit.client.create_topics, [NewTopic("u")]).fact == "NOT_SENT"
    assert visit.world.now_ns == 0


def test_a_connection_that_ends_after_the_request_is_lost() -> None:
    """CONNECTION_LOST, never NOT_SENT: the broker may have appended. The next call asks for metadata."""
    story, visit = cluster()
    visit.produce("a")
    story.world.cut |= {(2, 1), (3, 1)}  # nobody follows, so that the produce waits
    waiting = visit.begin(visit.client.produce, "t", 0, batch("b"), -1)
    assert waiting == []
    story.nodes[1].crash()
    assert [(result.fact, result.node, result.base_offset) for result in waiting] == [("CONNECTION_LOST", None, None)]
    visit.env.forget()
    move(story, 2)
    assert visit.fetch(0).node == 2
    assert [type(message) for _, message in visit.env.asked] == [MetadataRequest, FetchRequest]


@pytest.mark.parametrize("way", [(CLIENT, 1), (1, CLIENT)], ids=["requests", "answers"])
def test_behind_a_cut_a_request_times_out_at_the_deadline(way: tuple[int, int]) -> None:
    """TIMED_OUT at the deadline, not before; then the leader is doubtful, because a cut leader is replaced unheard (7.11)."""
    story, visit = cluster()
    visit.produce("a")
    story.world.cut.add(way)
    waiting = visit.begin(visit.client.produce, "t", 0, batch("b"), -1, timeout_ms=300)
    story.world.advance(299)
    assert waiting == []
    story.world.advance(1)
    assert [(result.fact, result.node, result.leader_epoch) for result in waiting] == [("TIMED_OUT", None, 0)]
    move(story, 2)
    result = visit.produce("c")
    assert (result.fact, result.node) == ("SUCCESS", 2)


def test_metadata_behind_a_cut_is_asked_of_the_next_node_in_time() -> None:
    """The lookup changes nothing, so each node has an equal share of the deadline, and the request itself has one too."""
    story, visit = cluster()
    move(story, 3)
    story.world.cut.add((CLIENT, 1))
    waiting = visit.begin(visit.client.produce, "t", 0, batch("a"), -1, timeout_ms=400)
    story.world.advance(99)
    assert waiting == []
    story.world.advance(1)  # a quarter: three nodes, one request
    assert [(result.fact, result.node) for result in waiting] == [("SUCCESS", 3)]
    assert visit.env.nodes_asked(MetadataRequest) == [1, 2]
    (_, message) = visit.env.asked[-1]
    assert isinstance(message, ProduceRequest)
    assert message.timeout_ms == 300  # one deadline covers the lookup and the request


def test_a_client_that_reaches_nobody_has_sent_nothing_by_the_deadline() -> None:
    """NOT_SENT, and within the time given: a request whose leader was never found cannot have happened."""
    story, visit = cluster()
    story.world.cut |= {(CLIENT, 1), (CLIENT, 2), (CLIENT, 3)}
    waiting = visit.begin(visit.client.fetch, "t", 0, Position(0), NO_WAIT)
    story.world.advance(TIMEOUT_MS)
    assert [(result.fact, result.detail) for result in waiting] == [("NOT_SENT", "no metadata: timed out")]


@pytest.mark.parametrize("late", [Failure.REFUSED, metadata(1, 0)], ids=["refused", "answered"])
def test_after_the_deadline_nothing_more_is_sent(late: Any) -> None:
    """A world that stalls may call back late: by then no other node is asked, and the request is not sent any more."""
    world = World()
    visit = Visit(world, env=TimedEnv(world, (TIMEOUT_MS + 1, late)))
    waiting = visit.begin(visit.client.fetch, "t", 0, Position(0), NO_WAIT)
    world.advance(TIMEOUT_MS + 1)
    assert [result.fact for result in waiting] == ["NOT_SENT"]
    assert len(visit.env.asked) == 1


def test_a_request_that_may_change_something_is_not_asked_of_a_second_node() -> None:
    """After silence or a lost connection another node might do it again; only a refusal is safe to pass over."""
    story, visit = cluster()
    story.world.cut.add((CLIENT, 1))
    result = visit.told(visit.client.create_topics, [NewTopic("u")])
    assert (result.fact, result.node, result.answer) == ("TIMED_OUT", None, None)
    assert visit.env.nodes_asked(CreateTopicsRequest) == [1]
    assert visit.env.timeouts_ns == [TIMEOUT_MS * 1_000_000]  # so it need not share its time
    world = World()
    Puppet(world, 1, CLOSE)
    Puppet(world, 2, InitProducerIdResponse(Error.NONE, 5, 0))
    visit = Visit(world, (1, 2))
    assert visit.told(visit.client.init_producer_id).fact == "CONNECTION_LOST"
    assert visit.env.nodes_asked(Message) == [1]
    world.up.pop(1)
    visit = Visit(world, (1, 2))
    assert (visit.told(visit.client.init_producer_id).producer_id, visit.env.nodes_asked(Message)) == (5, [1, 2])


def test_a_broker_that_finds_no_controller_says_so_in_time() -> None:
    """3.19 REQUEST_TIMED_OUT is an answer of the broker; nobody knows what became of the request."""
    story, visit = cluster()
    story.nodes[1].broker.on_controller(None)
    waiting = visit.begin(visit.client.ask, None, DeleteTopicsRequest(100, ("t",)))
    story.world.advance(100)
    assert [(result.fact, result.node) for result in waiting] == [("REQUEST_TIMED_OUT", 1)]


def test_a_call_without_time_is_a_mistake() -> None:
    """So is a client that knows nobody: both are said at once, and nothing is sent."""
    visit = Visit(World())
    with pytest.raises(ValueError, match="needs time, not 0 ms"):
        visit.client.metadata(None, lambda result: None, timeout_ms=0)
    assert visit.env.asked == []
    with pytest.raises(ValueError, match="at least one node"):
        Client(visit.env, (), TIMEOUT_MS)


# -- acks=0 -------------------------------------------------------------------------------------------------------------


def test_without_acks_the_call_ends_when_the_request_is_handed_over() -> None:
    """6.2 NO_ACK at once, from nobody; the batch is there, and the silence that follows casts no doubt on the leader."""
    story, visit = cluster()
    results = visit.begin(visit.client.produce, "t", 0, batch("a"), 0)
    assert [(result.fact, result.node, result.base_offset) for result in results] == [("NO_ACK", None, None)]
    assert story.world.now_ns == 0
    story.world.advance(2 * TIMEOUT_MS)
    assert len(results) == 1
    visit.env.forget()
    assert [record.value for record in visit.fetch(0).records] == [b"a"]
    assert visit.env.nodes_asked(MetadataRequest) == []


def test_without_acks_a_leader_that_is_down_was_sent_nothing() -> None:
    """Where the world knows at once that nobody listens, NOT_SENT is the fact and NO_ACK is not told as well."""
    story, visit = cluster()
    visit.produce("a")
    story.nodes[1].crash()
    results = visit.begin(visit.client.produce, "t", 0, batch("b"), 0)
    story.world.advance(TIMEOUT_MS)
    assert [result.fact for result in results] == ["NOT_SENT"]


def test_without_acks_a_closed_connection_only_makes_the_leader_doubtful() -> None:
    """6.14 The broker closes on an error: the call has ended by then, and the next one asks for metadata."""
    story, visit = cluster()
    visit.produce("a")
    move(story, 2)
    results = visit.begin(visit.client.produce, "t", 0, batch("b"), 0)
    assert [result.fact for result in results] == ["NO_ACK"]
    assert visit.produce("c").node == 2
    assert visit.env.nodes_asked(ProduceRequest) == [1, 1, 2]


def test_without_acks_a_connection_that_ends_at_once_was_sent_all_the_same() -> None:
    """6.14 However fast the broker closes, the fact is NO_ACK, once: it says that the request left."""
    world = World()
    visit = Visit(world, (1,), TimedEnv(world, (0, metadata(1, 0)), (0, Failure.LOST)))
    assert visit.produce("a", acks=0).fact == "NO_ACK"


# -- what readers check -------------------------------------------------------------------------------------------------


def test_rot_on_the_leader_is_found_by_who_reads() -> None:
    """5.45 The leader serves what it has; the reader's CRC finds the damage, and what lies before it is handed over."""
    story, visit = cluster()
    visit.produce("a")
    visit.produce("b")
    (path,) = [path for path in story.nodes[1].disks[0].files if path.startswith("t-0/") and path.endswith(".log")]
    story.nodes[1].disks[0].files[path][-1] ^= 1  # in the second batch
    result = visit.fetch(0)
    assert (result.fact, result.node, [record.value for record in result.records]) == ("CORRUPT_ANSWER", 1, [b"a"])
    assert (visit.fetch(1).fact, visit.fetch(1).records) == ("CORRUPT_ANSWER", ())
    assert visit.fetch(0, Limits(max_bytes=1)).fact == "SUCCESS"  # the first batch alone is whole


def served(records: bytes) -> Any:
    """What a client makes of these bytes."""
    world = World()
    Puppet(world, 1, metadata(1, 0), FetchResponse((FetchedPartition(topic_id("t"), 0, Error.NONE, 9, 9, 0, records),)))
    result = Visit(world, (1,)).fetch(0)
    return result.fact, [record.value for record in result.records]


def test_records_that_cannot_be_decoded_are_a_corrupt_answer() -> None:
    """5.45 Also where the CRC is right: compressed records, and records that do not fill their batch."""
    whole = batch("a")
    header = header_at(whole)
    assert header is not None
    assert served(with_append_time(whole, msgspec.structs.replace(header, attributes=1), 5)) == ("CORRUPT_ANSWER", [])
    two = batch("a", "b")
    one_too_many = msgspec.structs.replace(header, records_count=2, last_offset_delta=1)
    assert served(with_append_time(whole, one_too_many, 5)) == ("CORRUPT_ANSWER", [])
    assert served(two) == ("SUCCESS", [b"a", b"b"])  # the near miss


def test_an_answer_cut_inside_a_batch_is_whole_up_to_there() -> None:
    """7.7 A broker may cut behind the first whole batch: the next fetch brings the rest. A first batch cut short is damage."""
    assert served(batch("a") + batch("b")[:-1]) == ("SUCCESS", [b"a"])
    assert served(batch("a")[:-1]) == ("CORRUPT_ANSWER", [])
    assert served(b"\0") == ("CORRUPT_ANSWER", [])
    assert served(b"") == ("SUCCESS", [])


@given(st.integers(8, 68).filter(lambda position: not 12 <= position < 16), st.integers(1, 255))
def test_no_changed_byte_of_a_batch_gets_past_a_reader(position: int, change: int) -> None:
    """5.45 But for base offset and leader epoch, which the leader stamps, no byte can change unnoticed."""
    rotten = bytearray(encode([Record(b"a", timestamp=1)]))
    rotten[position] ^= change
    result = fetched(FetchedPartition(topic_id("t"), 0, Error.NONE, 1, 1, 0, bytes(rotten)), Source(1, 0), 0)
    assert (result.fact, result.records) == ("CORRUPT_ANSWER", ())


@pytest.mark.parametrize(
    "answer",
    [
        ProduceResponse((ProducedPartition(topic_id("t"), 0),)),
        FetchResponse(()),
        FetchResponse((*EMPTY.responses, *EMPTY.responses)),
        "nonsense",
    ],
    ids=["of another kind", "of no partition", "of two partitions", "no message at all"],
)
def test_what_is_no_answer_to_the_question_is_a_corrupt_answer(answer: Any) -> None:
    """The client tells it as a fact and goes on: nothing that a node sends can break it."""
    world = World()
    Puppet(world, 1, metadata(1, 4), answer, EMPTY)
    visit = Visit(world, (1,))
    result = visit.fetch(0)
    assert (result.fact, result.node, result.leader_epoch) == ("CORRUPT_ANSWER", 1, 4)
    assert visit.fetch(0).fact == "SUCCESS"


def test_no_other_call_is_broken_by_nonsense() -> None:
    """Neither a lookup, which has then sent nothing, nor a request to any node."""
    world = World()
    Puppet(world, 1, "nonsense", "nonsense", AdminResponse())
    visit = Visit(world, (1,))
    assert visit.fetch(0).detail == "no metadata: CORRUPT_ANSWER"
    assert visit.told(visit.client.describe_cluster).fact == "CORRUPT_ANSWER"
    assert visit.told(visit.client.init_producer_id).fact == "CORRUPT_ANSWER"


def test_an_error_of_a_whole_fetch_is_told_by_its_name() -> None:
    """7.8, 7.11 Such an answer speaks of no partition, and may yet say that what the client knows is old."""
    world = World()
    errors = FetchResponse((), Error.FETCH_SESSION_ID_NOT_FOUND), FetchResponse((), Error.UNKNOWN_TOPIC_ID)
    Puppet(world, 1, metadata(1, 0), *errors, metadata(1, 0), EMPTY)
    visit = Visit(world, (1,))
    assert (visit.fetch(0).fact, visit.fetch(0).fact) == ("FETCH_SESSION_ID_NOT_FOUND", "UNKNOWN_TOPIC_ID")
    assert visit.fetch(0).fact == "SUCCESS"
    assert len(visit.env.nodes_asked(MetadataRequest)) == 2


# -- the leader cache (7.11) --------------------------------------------------------------------------------------------


def test_a_known_leader_is_asked_without_asking_for_metadata() -> None:
    """One lookup serves every call until a leader fails."""
    _, visit = cluster()
    visit.produce("a")
    visit.fetch(0)
    visit.told(visit.client.list_offsets, "t", 0, LATEST)
    assert visit.env.nodes_asked(MetadataRequest) == [1]


def test_an_old_leader_is_told_of_once_and_the_next_call_finds_the_new_one() -> None:
    """7.11 No hidden retry: the answer is NOT_LEADER_OR_FOLLOWER, and only the next call refreshes."""
    story, visit = cluster()
    visit.told(visit.client.list_offsets, "t", 0, LATEST)
    move(story, 2)
    visit.env.forget()
    assert visit.told(visit.client.list_offsets, "t", 0, LATEST).fact == "FENCED_LEADER_EPOCH"
    assert [type(message) for _, message in visit.env.asked] == [ListOffsetsRequest]
    result = visit.told(visit.client.list_offsets, "t", 0, LATEST)
    assert (result.fact, result.node, result.leader_epoch) == ("SUCCESS", 2, 1)
    assert [type(message) for _, message in visit.env.asked[1:]] == [MetadataRequest, ListOffsetsRequest]


@pytest.mark.parametrize(
    "error",
    [
        Error.NOT_LEADER_OR_FOLLOWER,
        Error.FENCED_LEADER_EPOCH,
        Error.UNKNOWN_TOPIC_OR_PARTITION,
        Error.UNKNOWN_TOPIC_ID,
        Error.LEADER_NOT_AVAILABLE,
        Error.KAFKA_STORAGE_ERROR,
    ],
)
def test_these_errors_make_the_next_call_ask_for_metadata(error: Error) -> None:
    """7.11 Each of them says that what the client knows is old; the call itself is over."""
    world = World()
    Puppet(world, 1, metadata(1, 0), refused_fetch(error), metadata(1, 0), EMPTY)
    visit = Visit(world, (1,))
    assert visit.fetch(0).fact == error.name
    assert visit.fetch(0).fact == "SUCCESS"
    assert [type(message) for _, message in visit.env.asked] == [MetadataRequest, FetchRequest, MetadataRequest, FetchRequest]


@pytest.mark.parametrize("error", [Error.OFFSET_OUT_OF_RANGE, Error.OFFSET_NOT_AVAILABLE, Error.REQUEST_TIMED_OUT])
def test_these_errors_say_nothing_against_the_leader(error: Error) -> None:
    """7.11 They are about the request. The next call goes to the same node at once."""
    world = World()
    Puppet(world, 1, metadata(1, 0), refused_fetch(error), EMPTY)
    visit = Visit(world, (1,))
    assert visit.fetch(0).fact == error.name
    assert visit.fetch(0).fact == "SUCCESS"
    assert visit.env.nodes_asked(MetadataRequest) == [1]


def test_a_broker_that_lags_cannot_take_the_client_back() -> None:
    """7.11 Metadata with a lower leader epoch is not believed: the request goes to the newer leader all the same."""
    story, visit = cluster()
    visit = Visit(story.world, (2, 3))
    move(story, 2, told=(1, 2))  # broker 3 still believes in leader 1
    assert visit.fetch(0).leader_epoch == 1
    story.world.cut.add((CLIENT, 2))
    assert visit.fetch(0).fact == "TIMED_OUT"
    story.world.cut.clear()
    visit.env.forget()
    result = visit.fetch(0)
    assert visit.env.nodes_asked(MetadataRequest) == [3]
    assert (result.fact, result.node, result.leader_epoch) == ("SUCCESS", 2, 1)
    visit.fetch(0)
    assert len(visit.env.nodes_asked(MetadataRequest)) == 2  # nothing as new was heard, so the doubt remains
    visit.fetch(0)
    assert epochs_sent(visit.env) == [(2, 1)] * 3


def test_a_leaderless_answer_that_is_older_does_not_hide_a_newer_leader() -> None:
    """7.11 LEADER_NOT_AVAILABLE of an earlier leader epoch is history; of the same one it is news."""
    world = World()
    Puppet(world, 1, metadata(2, 5), metadata(-1, 4), metadata(-1, 5), metadata(2, 5))
    Puppet(world, 2, refused_fetch(Error.KAFKA_STORAGE_ERROR), EMPTY, EMPTY)
    visit = Visit(world, (1,))
    assert visit.fetch(0).fact == "KAFKA_STORAGE_ERROR"
    assert visit.fetch(0).fact == "SUCCESS"
    assert visit.fetch(0).detail == "LEADER_NOT_AVAILABLE"
    assert visit.fetch(0).fact == "SUCCESS"  # fenced for a while, and let serve again under its old epoch
    assert epochs_sent(visit.env) == [(2, 5), (2, 5), (2, 5)]


def test_a_topic_created_again_is_another_topic() -> None:
    """3.16 Its leader epochs start at 0 again, below what the client knew of the one that is gone."""
    story, visit = cluster()
    visit.produce("a")
    move(story, 2)
    move(story, 1)
    visit.fetch(0)
    assert visit.fetch(0).leader_epoch == 2
    story.controller.delete("t")
    story.controller.publish()
    assert visit.fetch(0).fact == "UNKNOWN_TOPIC_ID"
    assert visit.fetch(0).detail == "UNKNOWN_TOPIC_OR_PARTITION"
    create_again(story, "t", b"another id of t!", leader=3)
    result = visit.fetch(0)
    assert (result.fact, result.node, result.leader_epoch, result.records) == ("SUCCESS", 3, 0, ())


def create_again(story: Story, name: str, identifier: bytes, leader: int) -> None:
    """The topic's name with another id, which the scripted controller alone would not choose."""
    others = tuple(node for node in (1, 2, 3) if node != leader)
    story.controller.create(name, (leader, *others))
    image = story.controller.image
    topics = {key: topic for key, topic in image.topics.items() if topic.name != name}
    again = TopicImage(name, identifier, image.topics[image.ids[name]].partitions)
    story.controller.image = msgspec.structs.replace(
        image, topics={**topics, identifier: again}, ids={**image.ids, name: identifier}
    )
    story.controller.publish()


def test_a_broker_that_knows_the_new_leader_saves_the_client_a_question() -> None:
    """6.12 The hint of an old leader, with a higher leader epoch, is followed by the next call without metadata."""
    story, visit = cluster()
    visit.produce("a")
    move(story, 3)
    visit.env.forget()
    assert visit.produce("b").fact == "NOT_LEADER_OR_FOLLOWER"
    assert visit.produce("b").node == 3
    assert visit.env.nodes_asked(Message) == [1, 3]


def test_a_hint_that_is_no_newer_is_not_followed() -> None:
    """7.11 A broker that lags may hint at a leader of the past, too; then metadata is asked for."""
    world = World()
    hint = LeaderIdAndEpoch(2, 3)
    Puppet(world, 1, metadata(1, 3), refused_fetch(Error.NOT_LEADER_OR_FOLLOWER, hint), metadata(1, 3), EMPTY)
    visit = Visit(world, (1,))
    assert visit.fetch(0).fact == "NOT_LEADER_OR_FOLLOWER"
    assert visit.fetch(0).fact == "SUCCESS"
    assert visit.env.nodes_asked(FetchRequest) == [1, 1]


def test_a_late_failure_of_an_old_leader_casts_no_doubt_on_its_successor() -> None:
    """7.11 Two calls overlap: the answer to the first comes when the second has found another leader already."""
    world = World()
    not_leader = refused_fetch(Error.NOT_LEADER_OR_FOLLOWER, LeaderIdAndEpoch(2, 1))
    old = Puppet(world, 1, metadata(1, 0), None, not_leader)
    Puppet(world, 2, EMPTY)
    visit = Visit(world, (1,))
    slow = visit.begin(visit.client.fetch, "t", 0, Position(0), NO_WAIT)
    assert visit.fetch(0).fact == "NOT_LEADER_OR_FOLLOWER"
    old.answer_kept(not_leader)
    assert [result.fact for result in slow] == ["NOT_LEADER_OR_FOLLOWER"]
    assert visit.fetch(0).node == 2
    assert visit.env.nodes_asked(MetadataRequest) == [1]


def test_a_late_hint_about_a_topic_that_is_gone_is_not_taken_for_its_successor() -> None:
    """3.16 The hint's leader epoch is higher, but of another topic."""
    world = World()
    node = Puppet(world, 1, metadata(1, 7), None, refused_fetch(Error.UNKNOWN_TOPIC_ID), metadata(1, 0, bytes(16)), EMPTY, EMPTY)
    visit = Visit(world, (1,))
    visit.begin(visit.client.fetch, "t", 0, Position(0), NO_WAIT)
    visit.fetch(0)
    assert visit.fetch(0).leader_epoch == 0
    node.answer_kept(refused_fetch(Error.NOT_LEADER_OR_FOLLOWER, LeaderIdAndEpoch(2, 8)))
    assert (visit.fetch(0).fact, epochs_sent(visit.env)[-1]) == ("SUCCESS", (1, 0))


def test_a_broker_that_never_heard_of_the_topic_does_not_make_the_client_forget() -> None:
    """7.11 Nothing is sent on its word, yet the next answer is still measured by the leader epoch that was known."""
    world = World()
    unknown = knows(MetadataTopic(Error.UNKNOWN_TOPIC_OR_PARTITION, "t", bytes(16)))
    Puppet(world, 1, metadata(1, 5), refused_fetch(Error.KAFKA_STORAGE_ERROR), unknown, metadata(2, 4), EMPTY)
    visit = Visit(world, (1,))
    assert visit.fetch(0).fact == "KAFKA_STORAGE_ERROR"
    assert visit.fetch(0).fact == "NOT_SENT"
    assert visit.fetch(0).fact == "SUCCESS"
    assert epochs_sent(visit.env) == [(1, 5), (1, 5)]


def test_brokers_of_the_last_metadata_answer_are_asked_in_their_turn() -> None:
    """A client that began with one node lives on when that node is gone."""
    story, _ = cluster()
    visit = Visit(story.world, (1,))
    visit.told(visit.client.metadata, None)
    story.nodes[1].crash()
    assert [visit.told(visit.client.describe_cluster).node for _ in range(4)] == [2, 3, 2, 2]
    assert visit.env.nodes_asked(Message) == [1, 2, 3, 1, 2, 2]


# -- whatever happens ---------------------------------------------------------------------------------------------------

Mood = tuple[str, int, int, int]
"""How a node reacts to one request: the reaction, after how many ms, and for metadata a leader and its epoch."""

REACTIONS = ["answer", "answer", "refuse", "close", "silence", "nonsense", "NOT_LEADER_OR_FOLLOWER", "FENCED_LEADER_EPOCH"]
moods: st.SearchStrategy[Mood] = st.tuples(
    st.sampled_from(REACTIONS), st.integers(0, 300), st.sampled_from([-1, 1, 2]), st.integers(0, 5)
)
KINDS = ["produce", "produce without acks", "fetch", "list_offsets", "offset_for_leader_epoch"]


class MoodyEnv(WatchedEnv):
    """A world that keeps the contract of Env, and nothing else: each request meets the next mood, the last one for ever."""

    def __init__(self, world: World, moods: list[Mood]) -> None:
        super().__init__(world)
        self.moods = moods
        self.handed_over: list[Message] = []

    def request(self, to: int, channel: str, message: Any, timeout_ns: int | None, then: Callable[[Any], None]) -> None:
        self.asked.append((to, message))
        mood = self.moods.pop(0) if len(self.moods) > 1 else self.moods[0]
        reaction, delay_ms, leader, leader_epoch = mood
        assert timeout_ns is not None
        assert timeout_ns > 0
        silent = reaction == "silence" or (isinstance(message, ProduceRequest) and message.acks == 0)
        if reaction == "refuse":
            answer: Any = Failure.REFUSED
        else:
            self.handed_over.append(message)
            answer = _moody_answer(message, reaction, leader, leader_epoch)
        late = delay_ms * 1_000_000 >= timeout_ns
        if late or (silent and not isinstance(answer, Failure)):
            self.after(timeout_ns, lambda: then(Failure.TIMED_OUT))
        else:
            self.after(delay_ms * 1_000_000, lambda: then(answer))


def _moody_answer(message: Message, reaction: str, leader: int, leader_epoch: int) -> Any:
    if reaction == "close":
        return Failure.LOST
    if reaction == "nonsense":
        return object()
    if isinstance(message, MetadataRequest):
        return metadata(leader, leader_epoch)
    error = Error.NONE if reaction in ("answer", "silence") else Error[reaction]
    hint = LeaderIdAndEpoch(leader, leader_epoch)
    if isinstance(message, ProduceRequest):
        return ProduceResponse((ProducedPartition(topic_id("t"), 0, error, current_leader=hint),))
    if isinstance(message, FetchRequest):
        return refused_fetch(error, hint)
    if isinstance(message, ListOffsetsRequest):
        return ListOffsetsResponse((ListedOffset("t", 0, error),))
    return OffsetForLeaderEpochResponse((OffsetForLeaderResult("t", 0, error),))


def _start(client: Client, kind: str, tag: int, then: Callable[[Any], None]) -> None:
    """A call whose request can be told from all others by its tag."""
    if kind.startswith("produce"):
        client.produce("t", 0, str(tag).encode(), 0 if "without" in kind else -1, then)
    elif kind == "fetch":
        client.fetch("t", 0, Position(tag), NO_WAIT, then)
    elif kind == "list_offsets":
        client.list_offsets("t", 0, tag, then)
    else:
        client.offset_for_leader_epoch("t", 0, tag, then)


def _tag(message: Any) -> int:
    (asked,) = message.partitions
    if isinstance(message, ProduceRequest):
        return int(asked.records)
    if isinstance(message, FetchRequest):
        return int(asked.fetch_offset)
    return int(asked.timestamp if isinstance(message, ListOffsetsRequest) else asked.leader_epoch)


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 400)), min_size=1, max_size=8), st.lists(moods, min_size=1))
def test_every_call_ends_once_and_sends_at_most_one_request(calls: list[tuple[str, int]], moods: list[Mood]) -> None:
    """Whatever nodes do and however calls overlap: `then` comes once, by the deadline; a call sends its request at most once; and
    NOT_SENT is told exactly where no node was handed it. For one topic id no request goes out under a lower leader epoch than one
    before it (7.11)."""
    world = World()
    env = MoodyEnv(world, moods)
    client = Client(env, (1, 2, 3), TIMEOUT_MS)
    told: dict[int, list[tuple[int, str]]] = {}
    began: dict[int, int] = {}
    for tag, (kind, pause_ms) in enumerate(calls):
        told[tag], began[tag] = [], world.now_ns
        _start(client, kind, tag, lambda result, tag=tag: told[tag].append((world.now_ns, result.fact)))  # type: ignore[misc]
        world.advance(pause_ms)
    world.advance(TIMEOUT_MS)

    sent = Counter(_tag(message) for _, message in env.asked if isinstance(message, DATA))
    taken = {_tag(message) for message in env.handed_over if isinstance(message, DATA)}
    for tag, results in told.items():
        assert len(results) == 1
        ((at_ns, fact),) = results
        assert at_ns <= began[tag] + TIMEOUT_MS * 1_000_000
        assert sent[tag] <= 1
        if calls[tag][0] != "produce without acks":  # handed over before the world could know: see its own tests
            assert (fact == "NOT_SENT") == (tag not in taken)
    epochs = [message.partitions[0].current_leader_epoch for _, message in env.asked if _carries_an_epoch(message)]  # type: ignore[attr-defined]
    assert epochs == sorted(epochs)


def _carries_an_epoch(message: Message) -> bool:
    return isinstance(message, FetchRequest | ListOffsetsRequest | OffsetForLeaderEpochRequest)
