"""One broker as a whole: images in their order, forwarded requests, producer ids, what it tells clients, its timers (3.7 to 3.19,
4.4, 4.5, 6.15, section 18)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from replication import files
from replication.admin_messages import (
    AdminResponse,
    AdminResult,
    CreateTopicsRequest,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    ForwardedRequest,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    NewTopic,
)
from replication.env import Failure
from replication.errors import Error
from replication.events import HighWatermarkHeldBack, IsrChangeProposed, LeaderChanged
from replication.identity import NO_LEADER
from replication.image import BROKER, TOPIC
from replication.messages import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeTopicPartitionsRequest,
    InitProducerIdRequest,
    InitProducerIdResponse,
    MetadataBroker,
    MetadataPartition,
    MetadataRequest,
    MetadataResponse,
    MetadataTopic,
    ProduceResponse,
)
from replication.rules import Rules
from tests.replication.memory import MS, Arrived, MemoryEnv
from tests.replication.scripted import CONTROLLER, Story, no_leader, topic_id


def led(*isr: int, min_isr: str = "1", rules: Rules | None = None, **properties: Any) -> Story:
    """Broker 1 leads t; 2 and 3 are played by the test, and nobody answers AlterPartition."""
    story = Story((1,), rules=rules, **properties)
    for follower in (2, 3):
        story.controller.broker(follower, host="127.0.0.1", port=9000 + follower)
    story.controller.answers = False
    story.controller.create("t", (1, 2, 3), min_insync_replicas=min_isr)
    story.controller.change(isr=isr or (1,))
    story.controller.publish()
    return story


def ask(story: Story, message: Any) -> Any:
    (answer,) = story.world.ask(1, message)
    return answer


def journal_of(story: Story) -> list[Any]:
    """What broker 1 says and tells from now on, in one order."""
    env, told = story.nodes[1].env, list[Any]()
    reply, emit = env.reply, env.emit

    def replied(request: Any, answer: Any) -> None:
        told.append(answer)
        reply(request, answer)

    def emitted(event: Any) -> None:
        told.append(event)
        emit(event)

    env.reply, env.emit = replied, emitted  # type: ignore[method-assign]
    return told


class PlayedController:
    """A controller that only the test speaks for."""

    def __init__(self, story: Story, node_id: int = CONTROLLER + 1) -> None:
        self.story, self.node_id = story, node_id
        self.asked: list[Arrived] = []
        self.env = MemoryEnv(story.world, node_id, (), 1)
        self.env.on_request = self.asked.append
        story.world.up[node_id] = self.env
        story.nodes[1].broker.on_controller(node_id)

    def answer(self, answer: Any, number: int = -1) -> None:
        self.asked[number].answer(answer)
        self.story.world.run()


# -- images: order ------------------------------------------------------------------------------------------------------------


def raises_min_isr_and_shrinks(rules: Rules | None) -> Story:
    story = led(1, 2, min_isr="1", rules=rules)
    story.produce(1, "a", acks=1)
    story.controller.configure("t", min_insync_replicas="2")
    story.controller.change(isr=(1,))
    story.controller.publish()
    return story


def test_settings_are_applied_before_the_partitions_of_the_same_image() -> None:
    """3.14 (B55): an ISR of one is judged by the new min ISR; with the order turned round the HW would pass."""

    class PartitionsFirst(Rules):
        def settings_come_first(self) -> bool:
            return False

    assert raises_min_isr_and_shrinks(None).log(1).hw == 0
    assert raises_min_isr_and_shrinks(PartitionsFirst()).log(1).hw == 1


def test_deletions_come_first_then_leaders_then_followers() -> None:
    """3.8: whatever the order in which the image lists them."""
    story = led(1, 2)
    for name in ("follows", "leads"):
        story.controller.create(name, (2, 1))
    story.controller.publish()
    told = journal_of(story)
    story.produce(1, "waits")
    story.controller.fail_over(3, (1, 2), name="follows")
    story.controller.fail_over(1, (1, 2), name="leads")
    story.controller.delete("t")
    story.controller.publish()
    found = [event.topic if isinstance(event, LeaderChanged) else type(event) for event in told]
    assert found == [ProduceResponse, "leads", "follows"]


def test_a_new_partition_starts_with_the_settings_of_its_own_image() -> None:
    """3.14"""
    story = led(1)
    story.controller.create("strict", (1,), min_insync_replicas="1", max_message_bytes="10")
    story.controller.publish()
    assert story.produce(1, "too large", name="strict")[0].error_code is Error.MESSAGE_TOO_LARGE


def test_changed_settings_reach_running_partitions() -> None:
    """3.14: at every level of the image, and back again when they are gone."""
    story = led(1)
    for resource in ((TOPIC, "t"), (BROKER, "1"), (BROKER, "")):
        for value, error in (("10", Error.MESSAGE_TOO_LARGE), (None, Error.NONE)):
            image = story.controller.image
            configs = {key: dict(settings) for key, settings in image.configs.items()}
            configs[resource] = {"max.message.bytes": value} if value else {}
            story.controller.image = msgspec.structs.replace(image, configs=configs, offset=image.offset + 1)
            story.controller.publish()
            assert story.produce(1, "a", acks=1)[0].error_code is error


def test_a_lower_min_isr_lets_the_hw_go_at_once() -> None:
    """5.27: an image is a reason to look; nothing else need happen."""
    story = led(1, min_isr="2")
    story.produce(1, "a", acks=1)
    assert story.log(1).hw == 0
    story.controller.configure("t", min_insync_replicas="1")
    story.controller.publish()
    assert story.log(1).hw == 1


def test_a_fenced_follower_outside_the_isr_is_waited_for_no_longer_than_its_image() -> None:
    """5.27, 5.28 (B26): it may not join any more."""
    story = led(1)
    story.fetch(1, 2, 0, epoch=0)
    leader = story.partition(1).leader
    assert leader is not None
    story.controller.refuse(0, Error.INELIGIBLE_REPLICA)
    story.controller.change(isr=(1,))
    story.controller.publish()
    story.produce(1, "a", acks=1)
    assert (leader.state.pending, story.log(1).hw) == (None, 0)
    story.controller.broker(2, fenced=True)
    story.controller.publish()
    assert story.log(1).hw == 1


# -- images: epochs -----------------------------------------------------------------------------------------------------------


def test_an_older_partition_state_is_ignored() -> None:
    """3.8: a broker never goes back, whatever a replayed image says."""
    story = led(1)
    old = story.controller.image
    story.controller.fail_over(2, (1, 2))
    story.controller.publish()
    story.nodes[1].broker.on_image(old)
    story.world.run()
    assert story.produce(1, "a", acks=1)[0].error_code is Error.NOT_LEADER_OR_FOLLOWER
    assert story.partition(1).standing.leader_epoch == 1


def test_the_same_partition_state_again_refreshes_the_replicas_and_nothing_else() -> None:
    """3.8 (B53): neither the ISR nor a pending change nor what is known of followers."""
    story = led(1)
    story.fetch(1, 2, 0, epoch=0)
    leader = story.partition(1).leader
    assert leader is not None
    pending, known = leader.state.pending, leader.state.followers[2]
    assert pending is not None
    same = story.controller.state().partition_epoch
    story.controller.change(replicas=(1, 2, 4), isr=(1, 4), partition_epoch=same)
    story.controller.publish()
    assert (leader.state.isr, leader.state.pending) == ((1,), pending)
    assert leader.state.followers.keys() == {2, 4}
    assert leader.state.followers[2] is known


def test_a_leader_that_misses_elections_takes_up_the_last_one() -> None:
    """3.7, 5.8: from epoch 0 to 2 in one step: one entry in its cache, its followers unknown again, its log as it was."""
    story = led(1, 2)
    story.produce(1, "a", acks=1)
    story.fetch(1, 2, 1, epoch=0)
    told = journal_of(story)
    story.controller.fail_over(2, (1, 2))
    story.controller.fail_over(1, (1, 2))
    story.controller.publish()
    leader = story.partition(1).leader
    assert leader is not None
    assert (story.log(1).epochs, story.log(1).leo, story.log(1).hw) == (((0, 0), (2, 1)), 1, 1)
    assert (leader.state.leso, leader.state.followers[2].leo, leader.state.followers[2].broker_epoch) == (1, -1, None)
    assert [(event.leader, event.leader_epoch, event.epoch_start) for event in told] == [(1, 2, 1)]


def test_a_change_within_the_epoch_keeps_what_the_leader_knows() -> None:
    """5.9: LESO and followers stay."""
    story = led(1, 2)
    story.produce(1, "a", acks=1)
    story.fetch(1, 2, 1, epoch=0)
    leader = story.partition(1).leader
    assert leader is not None
    known = leader.state.followers[2]
    story.controller.change(isr=(1,))
    story.controller.publish()
    assert (leader.state.followers[2], leader.state.leso, leader.state.isr) == (known, 0, (1,))
    assert story.partition(1).leader is leader


def test_a_topic_that_came_and_went_between_two_images_was_never_there() -> None:
    """3.7"""
    story = led(1)
    story.controller.create("brief", (1,))
    story.controller.delete("brief")
    story.controller.publish()
    assert [path for path in story.nodes[1].disks[0].files if path.startswith("brief")] == []


def test_without_a_leader_nothing_is_served_and_nothing_is_lost() -> None:
    """5.12"""
    story = led(1)
    story.produce(1, "a")
    no_leader(story)
    assert story.produce(1, "b", acks=1)[0].error_code is Error.NOT_LEADER_OR_FOLLOWER
    assert story.consume(1, 0)[0].error_code is Error.NOT_LEADER_OR_FOLLOWER
    assert story.list_offset(1).error_code is Error.NOT_LEADER_OR_FOLLOWER
    story.controller.fail_over(1, (1,))
    story.controller.publish()
    assert story.produce(1, "b")[0].base_offset == 1
    assert story.log(1).epochs == ((0, 0), (2, 1))


def test_a_replica_that_was_removed_and_comes_again_starts_from_nothing() -> None:
    """5.12, 9.3: its log is gone; the leader remembers nothing of it either."""
    story = Story((1, 2))
    story.controller.create("t", (1, 2))
    story.controller.publish()
    story.produce(1, "a")
    story.world.advance(1_000)
    assert story.log(2).leo == 1
    story.controller.change(replicas=(1,), isr=(1,))
    story.controller.publish()
    assert story.nodes[2].broker.partitions == {}
    assert [path for path in story.nodes[2].disks[0].files if path.startswith("t-0/")] == []
    leader = story.partition(1).leader
    assert leader is not None
    assert leader.state.followers == {}
    story.world.cut |= {(2, 1)}
    story.controller.change(replicas=(1, 2))
    story.controller.publish()
    assert (story.log(2).leo, leader.state.followers[2].leo) == (0, -1)
    story.world.cut.clear()
    story.world.advance(40_000)
    assert story.log(2).leo == 1


def test_a_replica_that_was_removed_and_came_again_between_two_images_kept_its_log() -> None:
    """3.7: only the two images count."""
    story = led(1)
    story.produce(1, "a")
    story.controller.change(replicas=(2, 3))
    story.controller.change(replicas=(1, 2, 3))
    story.controller.publish()
    assert story.log(1).leo == 1


def test_an_image_that_comes_before_the_logs_are_open_waits_for_them() -> None:
    """4.5: the marker of the last stop is durably gone before anything is written."""
    story = led(1)
    story.produce(1, "a")
    node = story.nodes[1]
    registered = node.broker.state.broker_epoch
    node.stop()
    node.disks[0].held = []
    node.start()
    story.controller.register(node)
    story.controller.publish()
    assert (node.broker.partitions, node.previous_epoch) == ({}, -1)  # the epoch is that of the first start
    node.disks[0].release()
    assert (story.log(1).leo, node.previous_epoch) == (1, registered)
    assert story.produce(1, "b", acks=1)[0].error_code is Error.NONE


# -- stopping and starting ----------------------------------------------------------------------------------------------------


def test_a_clean_stop_is_told_by_the_next_start_and_only_by_that() -> None:
    """4.4, 4.5: the marker holds the broker epoch of the run that wrote it, and is deleted when it has been read."""
    story = led(1)
    registered = story.nodes[1].broker.state.broker_epoch
    node = story.nodes[1]
    node.stop()
    assert files.read_clean_shutdown(bytes(node.disks[0].durable[files.CLEAN_SHUTDOWN])) == registered
    node.start()
    assert node.previous_epoch == registered
    assert files.CLEAN_SHUTDOWN not in node.disks[0].durable
    node.crash()
    node.start()
    assert node.previous_epoch == -1


def test_a_run_that_never_registered_leaves_a_marker_that_reads_as_unclean() -> None:
    """4.5 (B19)"""
    story = led(1)
    node = story.nodes[1]
    node.stop()
    node.start()
    node.stop()
    node.start()
    assert node.previous_epoch == -1


def test_a_closing_broker_leads_no_more() -> None:
    """4.12: whoever waits is told, and nothing is written behind what was flushed; later images change nothing."""
    story = led(1, 2)
    waiting = story.produce(1, "a")
    node = story.nodes[1]
    node.disks[0].held = []
    node.broker.close(lambda: None)
    story.world.run()
    assert [part.error_code for part in waiting] == [Error.NOT_LEADER_OR_FOLLOWER]
    story.controller.change(leader=1)
    story.controller.publish()
    assert story.produce(1, "b", acks=1)[0].error_code is Error.NOT_LEADER_OR_FOLLOWER
    assert story.log(1).leo == 1


# -- forwarding ---------------------------------------------------------------------------------------------------------------

CREATE = CreateTopicsRequest(1_000, (NewTopic("new", 1, 1),))


def test_what_only_the_controller_can_do_is_passed_on_and_its_answer_passed_back() -> None:
    """3.19"""
    story = led(1)
    controller = PlayedController(story)
    answers = story.world.ask(1, CREATE)
    assert ([request.message for request in controller.asked], answers) == ([CREATE], [])
    answer = AdminResponse(Error.NONE, (AdminResult("new", Error.TOPIC_ALREADY_EXISTS, "there is one"),))
    controller.answer(answer)
    assert answers == [answer]


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        (CREATE, AdminResponse(Error.REQUEST_TIMED_OUT)),
        (ListPartitionReassignmentsRequest(1_000), ListPartitionReassignmentsResponse(Error.REQUEST_TIMED_OUT)),
        (DescribeQuorumRequest(1_000), DescribeQuorumResponse(Error.REQUEST_TIMED_OUT)),
    ],
)
def test_without_a_controller_in_time_the_outcome_is_unknown(message: ForwardedRequest, answer: Any) -> None:
    """3.19: the client's own time limit; a controller that appears later does not hear of it any more."""
    story = led(1)
    story.nodes[1].broker.on_controller(None)
    answers = story.world.ask(1, message)
    story.world.advance(999)
    assert answers == []
    story.world.advance(1)
    assert answers == [answer]
    assert not story.nodes[1].broker.channel._open
    controller = PlayedController(story)
    story.world.advance(10_000)
    assert controller.asked == []


def test_a_request_whose_time_is_up_is_not_sent_again() -> None:
    """3.19: its connection was lost just before; the client has been told, so the retry is off."""
    story = led(1)
    controller = PlayedController(story)
    answers = story.world.ask(1, CREATE)
    story.world.advance(980)
    controller.answer(Failure.LOST)
    story.world.advance(10_000)
    assert (answers, len(controller.asked)) == ([AdminResponse(Error.REQUEST_TIMED_OUT)], 1)


def test_a_controller_that_answers_too_late_is_not_heard() -> None:
    """3.19: the client has been told that nobody knows; it is told nothing else."""
    story = led(1)
    controller = PlayedController(story)
    told = journal_of(story)
    story.world.ask(1, CREATE)
    story.world.advance(1_000)
    controller.answer(AdminResponse())
    story.world.advance(10_000)
    assert told == [AdminResponse(Error.REQUEST_TIMED_OUT)]


@pytest.mark.parametrize("says", [AdminResponse(Error.NOT_CONTROLLER), Failure.LOST, Failure.REFUSED])
def test_a_controller_that_is_none_is_followed_by_the_next_with_the_same_request(says: Any) -> None:
    """3.19: so it may be carried out twice; the client hears one answer."""
    story = led(1)
    first = PlayedController(story)
    answers = story.world.ask(1, CREATE)
    first.answer(says)
    second = PlayedController(story, CONTROLLER + 2)
    story.world.advance(50)
    assert [request.message for request in second.asked] == [CREATE]
    second.answer(AdminResponse(Error.NONE))
    story.world.advance(10_000)
    assert (answers, len(first.asked), len(second.asked)) == ([AdminResponse(Error.NONE)], 1, 1)


def test_requests_wait_for_a_controller_in_their_order() -> None:
    """3.19: no controller known means wait, not fail."""
    story = led(1)
    story.nodes[1].broker.on_controller(None)
    messages = [msgspec.structs.replace(CREATE, timeout_ms=5_000 + number) for number in range(3)]
    for message in messages:
        story.world.ask(1, message)
    story.world.advance(1_000)
    controller = PlayedController(story)
    story.world.run()
    assert [request.message for request in controller.asked] == messages


# -- producer ids -------------------------------------------------------------------------------------------------------------


def producer_id(story: Story) -> InitProducerIdResponse:
    answer: InitProducerIdResponse = ask(story, InitProducerIdRequest())
    return answer


NOT_YET = InitProducerIdResponse(Error.COORDINATOR_LOAD_IN_PROGRESS)


def test_producer_ids_come_from_blocks_of_the_controller() -> None:
    """6.15: each once, with epoch 0; between blocks the client is asked to come again."""
    story = led(1)
    assert producer_id(story) == NOT_YET
    first = [producer_id(story) for _ in range(1_000)]
    assert [(answer.error_code, answer.producer_id, answer.producer_epoch) for answer in first] == [
        (Error.NONE, number, 0) for number in range(1_000, 2_000)
    ]
    assert producer_id(story) == NOT_YET
    assert producer_id(story).producer_id == 2_000


def test_one_block_is_asked_for_at_a_time_and_as_the_broker_that_asks() -> None:
    """6.15"""
    story = led(1)
    controller = PlayedController(story)
    assert [producer_id(story) for _ in range(3)] == [NOT_YET] * 3
    own = story.nodes[1].broker.state.broker_epoch
    assert [request.message for request in controller.asked] == [AllocateProducerIdsRequest(1, own)]
    controller.answer(AllocateProducerIdsResponse(Error.NONE, 70, 2))
    assert [producer_id(story).producer_id for _ in range(3)] == [70, 71, -1]
    assert len(controller.asked) == 2


def test_a_block_that_is_refused_is_asked_for_again_with_the_broker_epoch_of_then() -> None:
    """6.15, 3.19"""
    story = led(1)
    controller = PlayedController(story)
    producer_id(story)
    controller.answer(AllocateProducerIdsResponse(Error.STALE_BROKER_EPOCH))
    story.nodes[1].broker.registered(99)
    story.world.advance(49)
    assert len(controller.asked) == 1
    story.world.advance(1)
    assert [request.message for request in controller.asked[1:]] == [AllocateProducerIdsRequest(1, 99)]
    assert producer_id(story) == NOT_YET


def test_ids_that_a_process_did_not_use_are_nobodys() -> None:
    """6.15: neither another broker's nor its own after a restart."""
    story = Story((1, 2))
    asked = InitProducerIdRequest()
    for node in (1, 2):
        story.world.ask(node, asked)
    found = [story.world.ask(node, asked)[0].producer_id for node in (1, 2, 1)]
    story.restart(1)
    story.world.ask(1, asked)
    found.append(story.world.ask(1, asked)[0].producer_id)
    assert found == [1_000, 2_000, 1_001, 3_000]


# -- what clients are told ----------------------------------------------------------------------------------------------------


def metadata(story: Story, *topics: str | bytes) -> MetadataResponse:
    answer: MetadataResponse = ask(story, MetadataRequest(topics or None))
    return answer


def test_metadata_shows_the_living_brokers_and_every_partition() -> None:
    """3.18: any alive broker is called the controller; replicas of fenced or unknown brokers are offline."""
    story = led(1, 2)
    story.controller.create("u", (1, 2, 9), partitions=2)
    story.controller.broker(3, fenced=True)
    story.controller.publish()
    answer = metadata(story)
    assert answer.brokers == (MetadataBroker(1, "127.0.0.1", 9001), MetadataBroker(2, "127.0.0.1", 9002))
    assert (answer.cluster_id, answer.controller_id) == ("tidemark-test", 1)
    assert [(topic.name, topic.topic_id, len(topic.partitions)) for topic in answer.topics] == [
        ("t", topic_id("t"), 1),
        ("u", topic_id("u"), 2),
    ]
    assert answer.topics[0].partitions == (MetadataPartition(0, Error.NONE, 1, 0, (1, 2, 3), (1, 2), (3,)),)
    assert answer.topics[1].partitions[1].offline_replicas == (9,)


@pytest.mark.parametrize("why", ["no leader", "fenced", "unregistered"])
def test_a_leader_that_cannot_be_reached_is_not_shown(why: str) -> None:
    """3.18: LEADER_NOT_AVAILABLE, leader -1, and the leader epoch that is in force."""
    story = led(1, 2)
    story.controller.change(leader=NO_LEADER if why == "no leader" else 2)
    if why == "fenced":
        story.controller.broker(2, fenced=True)
    elif why == "unregistered":
        image = story.controller.image
        brokers = {key: broker for key, broker in image.brokers.items() if key != 2}
        story.controller.image = msgspec.structs.replace(image, brokers=brokers, offset=image.offset + 1)
    story.controller.publish()
    (partition,) = metadata(story, "t").topics[0].partitions
    assert (partition.error_code, partition.leader_id, partition.leader_epoch) == (Error.LEADER_NOT_AVAILABLE, -1, 1)


def test_metadata_finds_topics_by_name_and_by_id_and_says_which_it_does_not_know() -> None:
    """3.18: in the order asked."""
    story = led(1)
    found = metadata(story, "u", topic_id("t"), topic_id("u"), "t").topics
    assert [(topic.error_code, topic.name, topic.topic_id) for topic in found] == [
        (Error.UNKNOWN_TOPIC_OR_PARTITION, "u", bytes(16)),
        (Error.NONE, "t", topic_id("t")),
        (Error.UNKNOWN_TOPIC_ID, None, topic_id("u")),
        (Error.NONE, "t", topic_id("t")),
    ]


def test_metadata_of_no_topics_names_none() -> None:
    """3.18: an empty list is not the same as no list."""
    story = led(1)
    assert ask(story, MetadataRequest(())).topics == ()


def test_metadata_is_as_old_as_the_brokers_image() -> None:
    """3.18"""
    story = led(1)
    story.controller.fail_over(2, (1, 2))
    assert metadata(story, "t").topics[0].partitions[0].leader_id == 1
    story.controller.publish()
    assert metadata(story, "t").topics[0].partitions[0].leader_id == 2


def test_describing_topics_adds_who_may_be_elected() -> None:
    """3.18, 7.12"""
    story = led(1)
    story.controller.change(elr=(2,), last_known_elr=(3,))
    story.controller.publish()
    known, unknown = ask(story, DescribeTopicPartitionsRequest(("t", "nowhere"))).topics
    assert (known.partitions[0].eligible_leader_replicas, known.partitions[0].last_known_elr) == ((2,), (3,))
    assert unknown == MetadataTopic(Error.UNKNOWN_TOPIC_OR_PARTITION, "nowhere", bytes(16))


def test_the_cluster_is_described_by_its_living_brokers() -> None:
    """3.18"""
    story = led(1)
    story.controller.broker(1, fenced=True)
    story.controller.broker(2, rack="r2")
    story.controller.publish()
    brokers = MetadataBroker(2, "127.0.0.1", 9002, "r2"), MetadataBroker(3, "127.0.0.1", 9003)
    assert ask(story, DescribeClusterRequest()) == DescribeClusterResponse("tidemark-test", 2, brokers)


def configs(story: Story, kind: str, name: str, *keys: str) -> tuple[Error, dict[str, str]]:
    resource = DescribeConfigsResource(kind, name, keys or None)
    (result,) = ask(story, DescribeConfigsRequest((resource,))).results
    assert (result.resource_type, result.resource_name) == (kind, name)
    return result.error_code, dict(result.configs)


def test_a_topics_settings_are_described_as_they_are_in_force() -> None:
    """3.14: from whatever level they come, by the topic's names."""
    story = led(1, min_isr="2", log_flush_interval_messages="7")
    error, found = configs(story, TOPIC, "t")
    assert (error, found["min.insync.replicas"], found["flush.messages"], found["segment.bytes"]) == (
        Error.NONE,
        "2",
        "7",
        "1073741824",
    )
    assert configs(story, TOPIC, "t", "flush.messages", "no.such") == (Error.NONE, {"flush.messages": "7"})
    assert configs(story, TOPIC, "nowhere") == (Error.UNKNOWN_TOPIC_OR_PARTITION, {})


def test_a_brokers_settings_are_described_with_its_own_record_above_the_clusters() -> None:
    """3.14: only this broker's; what another's file says is not known here."""
    story = led(1, num_replica_fetchers="2", replica_lag_time_max_ms="10000")
    image = story.controller.image
    records = {
        (BROKER, ""): {"num.replica.fetchers": "3", "min.insync.replicas": "3"},
        (BROKER, "1"): {"num.replica.fetchers": "4"},
    }
    story.controller.image = msgspec.structs.replace(image, configs={**image.configs, **records}, offset=image.offset + 1)
    story.controller.publish()
    expected = {"num.replica.fetchers": "4", "min.insync.replicas": "3", "replica.lag.time.max.ms": "10000"}
    assert configs(story, BROKER, "1") == (Error.NONE, expected)
    assert configs(story, BROKER, "", "num.replica.fetchers") == (Error.NONE, {"num.replica.fetchers": "3"})
    assert configs(story, BROKER, "2")[0] is Error.INVALID_REQUEST
    assert configs(story, "group", "1")[0] is Error.INVALID_REQUEST


# -- timers -------------------------------------------------------------------------------------------------------------------


def test_the_lag_timer_fires_twice_per_lag_limit() -> None:
    """5.32, section 18: at each tick it is told who keeps records waiting; at the first tick past the limit the ISR shrinks."""
    story = led(1, 2, replica_lag_time_max_ms="1000")
    story.produce(1, "a", acks=1)
    told: list[tuple[int, str]] = []
    emit = story.nodes[1].env.emit

    def timed(event: Any) -> None:
        told.append((story.world.now_ns // MS, type(event).__name__))
        emit(event)

    story.nodes[1].env.emit = timed  # type: ignore[method-assign]
    story.world.advance(2_000)
    held, proposed = HighWatermarkHeldBack.__name__, IsrChangeProposed.__name__
    assert told == [(500, held), (1_000, held), (1_500, proposed), (1_500, held), (2_000, held)]
    assert {event.by for event in story.world.told(HighWatermarkHeldBack)} == {(2,)}


def test_the_hw_is_checkpointed_every_5_seconds() -> None:
    """5.6, section 18: between two of them the file is only a lower bound."""
    story = led(1)

    def checkpoint() -> files.PartitionOffsets | None:
        return files.read_offsets(story.nodes[1].disks[0].durable.get(files.HW_CHECKPOINT, b""))

    story.produce(1, "a")
    story.world.advance(4_999)
    assert checkpoint() is None
    story.world.advance(1)
    assert checkpoint() == {("t", 0): 1}
    story.produce(1, "b")
    story.world.advance(4_999)
    assert checkpoint() == {("t", 0): 1}
    story.world.advance(1)
    assert checkpoint() == {("t", 0): 2}


def test_recovery_points_and_log_starts_are_checkpointed_every_minute() -> None:
    """5.41, 5.49, section 18: what is durable, and where a log starts if its first file does not tell."""
    story = led(1, log_flush_interval_messages="2")
    for value in "abc":
        story.produce(1, value)
    story.log(1).advance_start(1)
    durable = story.nodes[1].disks[0].durable
    story.world.advance(59_999)
    assert not durable.keys() & {files.RECOVERY_CHECKPOINT, files.LOG_START_CHECKPOINT}
    story.world.advance(1)
    assert files.read_offsets(durable[files.RECOVERY_CHECKPOINT]) == {("t", 0): 2}
    assert files.read_offsets(durable[files.LOG_START_CHECKPOINT]) == {("t", 0): 1}


def test_an_idle_broker_says_nothing() -> None:
    """Section 18: timers fire, and nobody hears of it."""
    story = led(1)
    told = journal_of(story)
    story.world.advance(300_000)
    assert told == []
