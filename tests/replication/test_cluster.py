"""Three brokers under the scripted controller and the trivial driver: what was acknowledged is there, whatever happened."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from replication.batch import Record, decode, headers
from replication.errors import Error
from replication.events import IsrChanged, Truncated
from replication.rules import Rules
from tests.replication.scripted import Story

BRISK: dict[str, Any] = {
    "replica_lag_time_max_ms": "1500",
    "replica_fetch_wait_max_ms": "100",
    "replica_fetch_backoff_ms": "50",
    "replica_socket_timeout_ms": "2000",
}


def three_brokers() -> Story:
    story = Story((1, 2, 3), **BRISK)
    story.controller.create("t", (1, 2, 3), min_insync_replicas="2")
    story.controller.publish()
    return story


def write(story: Story, leader: int, numbers: range, acked: dict[str, int]) -> None:
    """Append numbered values with acks=all, one after the other; note the offset of each that was acknowledged."""
    for number in numbers:
        answers = story.produce(leader, f"v{number}")
        story.world.advance(1)
        if answers and answers[0].error_code is Error.NONE:
            acked[f"v{number}"] = answers[0].base_offset


def read_all(story: Story, leader: int) -> Iterator[Record]:
    offset = 0
    while True:
        (answer,) = story.consume(leader, offset)
        assert answer.error_code is Error.NONE
        if not answer.records:
            return
        for position, header in headers(answer.records):
            yield from (record for record in decode(answer.records, header, position) if record.offset >= offset)
            end = header.end_offset
        offset = end


def stall(story: Story, follower: int) -> None:
    """Cut a follower off from the other brokers, both ways."""
    others = [node for node in story.nodes if node != follower]
    story.world.cut |= {(follower, other) for other in others} | {(other, follower) for other in others}


def heal(story: Story) -> None:
    story.world.cut.clear()
    story.world.advance(5_000)


def test_everything_acknowledged_is_read_back_after_moves_lag_and_a_lossy_restart() -> None:
    """1,000 records with acks=all; the leader moved, a lagging follower in and out of the ISR, the leader lossily restarted."""
    story = three_brokers()
    acked: dict[str, int] = {}

    write(story, 1, range(250), acked)
    story.controller.fail_over(2, (1, 2, 3))  # a preferred election, say: nobody is fenced
    story.controller.publish()
    write(story, 2, range(250, 500), acked)

    stall(story, 3)
    waiting = story.produce(2, "v500")
    assert waiting == []  # broker 3 is in the ISR, and cannot have it
    story.world.advance(4_000)  # longer than the lag limit
    assert story.controller.state().isr == (1, 2)
    acked["v500"] = waiting[0].base_offset
    write(story, 2, range(501, 750), acked)
    assert story.log(3).leo < story.log(2).leo  # it really lags
    heal(story)
    assert set(story.controller.state().isr) == {1, 2, 3}

    story.nodes[2].crash(lossy=True)
    story.controller.broker(2, fenced=True)
    story.controller.fail_over(3, (1, 3))
    story.controller.publish()
    write(story, 3, range(750, 1_000), acked)
    story.restart(2)
    story.world.advance(5_000)
    assert set(story.controller.state().isr) == {1, 2, 3}

    assert len(acked) == 1_000
    read = {record.value.decode(): record.offset for record in read_all(story, 3) if record.value is not None}
    assert read == acked
    assert [(story.log(node).leo, story.log(node).hw) for node in (1, 2, 3)] == [(1_000, 1_000)] * 3
    assert len({bytes(story.nodes[node].disks[0].files["t-0/00000000000000000000.log"]) for node in (1, 2, 3)}) == 1


def test_the_same_story_loses_records_when_the_ack_does_not_wait_for_the_followers() -> None:
    """The scenario above can fail: with acks=all answered at append (B28), a leader's crash loses what it acknowledged."""

    class AcksAtAppend(Rules):
        def waits_for_hw(self, acks: int, known_copy: bool) -> bool:
            return False

    story = Story((1, 2, 3), rules=AcksAtAppend())
    story.controller.create("t", (1, 2, 3), min_insync_replicas="2")
    story.controller.publish()
    stall(story, 1)
    answers = story.produce(1, "lost")
    assert answers[0].error_code is Error.NONE
    story.nodes[1].crash(lossy=True)
    story.controller.fail_over(2, (2, 3))
    story.controller.publish()
    story.world.cut.clear()
    assert list(read_all(story, 2)) == []


def test_a_follower_that_returns_after_a_lossy_restart_is_filled_up_again() -> None:
    """5.5, 5.31: what the crash forgot is fetched again before the follower may join."""
    story = three_brokers()
    acked: dict[str, int] = {}
    write(story, 1, range(50), acked)
    story.nodes[3].crash(lossy=True)
    story.controller.broker(3, fenced=True)
    story.controller.change(isr=(1, 2))
    story.controller.publish()
    write(story, 1, range(50, 60), acked)
    story.nodes[3].start()
    story.controller.register(story.nodes[3])
    assert story.nodes[3].broker.replicas.logs[(story.controller.image.ids["t"], 0)].leo == 0  # nothing was ever synced
    story.controller.publish()
    story.world.advance(1_000)
    assert story.log(3).leo == 60
    assert set(story.controller.state().isr) == {1, 2, 3}
    assert [event.now for event in story.world.told(IsrChanged)][-1] == (1, 2, 3)


def test_a_deposed_leader_gives_up_what_nobody_else_has() -> None:
    """5.11, 5.16, 5.24: records that only the old leader had are cut, acknowledged or not with acks=1; the rest stays."""
    story = three_brokers()
    acked: dict[str, int] = {}
    write(story, 1, range(10), acked)
    stall(story, 1)
    for number in range(3):
        assert story.produce(1, f"alone{number}", acks=1)[0].error_code is Error.NONE
    assert story.log(1).leo == 13
    story.controller.fail_over(2, (2, 3))
    story.controller.publish(2, 3)
    write(story, 2, range(10, 12), acked)
    story.controller.publish(1)
    heal(story)
    assert [(event.was, event.now) for event in story.world.told(Truncated)] == [(13, 10)]
    assert {record.value for record in read_all(story, 2)} == {value.encode() for value in acked}
    assert story.log(1).epochs == story.log(2).epochs == ((0, 0), (1, 10))


@pytest.mark.parametrize("flush", ["1", "3"])
def test_with_flush_intervals_a_lossy_crash_of_all_brokers_loses_nothing_acknowledged(flush: str) -> None:
    """5.41: where every append is synced before it counts, acks=all survives a power cut of the whole cluster.

    With an interval of 3 at most the last two records may be missing; nothing before them.
    """
    story = Story((1, 2, 3), log_flush_interval_messages=flush)
    story.controller.create("t", (1, 2, 3), min_insync_replicas="2")
    story.controller.publish()
    acked: dict[str, int] = {}
    write(story, 1, range(30), acked)
    for node in story.nodes.values():
        node.crash(lossy=True)
    for node in story.nodes.values():
        node.start()
        story.controller.register(node)
    story.controller.fail_over(1, (1, 2, 3))
    story.controller.publish()
    story.world.advance(5_000)
    read = [record.value for record in read_all(story, 1)]
    assert len(read) >= len(acked) - (int(flush) - 1)
    assert read == [f"v{number}".encode() for number in range(len(read))]


def test_a_topic_created_again_under_its_name_is_another_topic() -> None:
    """3.16: epochs start at 0 again, and nothing of the old topic is left."""
    story = three_brokers()
    write(story, 1, range(5), {})
    old = story.controller.image.ids["t"]
    waiting = story.consume(1, 5, max_wait_ms=60_000)
    story.controller.delete("t")
    story.controller.publish()
    assert waiting[0].error_code is Error.UNKNOWN_TOPIC_ID
    assert (old, 0) not in story.nodes[1].broker.partitions
    assert [path for path in story.nodes[1].disks[0].files if path.startswith("t-0/")] == []
    story.controller.create("t", (1, 2, 3), min_insync_replicas="2")
    story.controller.publish()
    assert story.produce(1, "new")[0].base_offset == 0


def test_a_replica_that_was_moved_away_while_its_broker_was_down_is_set_aside() -> None:
    """4.15: the first image decides which logs are strays."""
    story = three_brokers()
    write(story, 1, range(5), {})
    story.nodes[3].crash()
    story.controller.change(replicas=(1, 2), isr=(1, 2), leader=1)
    story.controller.publish()
    story.restart(3)
    assert story.nodes[3].broker.replicas.logs == {}
    assert [path for path in story.nodes[3].disks[0].files if path.startswith("t-0/")] == []
