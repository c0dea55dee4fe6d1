"""tests/replication/played.py: words for traces: played followers, logs with a history, what was asked and what is where.

In     a Story, or the replicas of one to set up
Out    stories at the point where a trace begins; what a leader believes, what a log holds, what a broker was asked
Keeps  logs come about as they would: by produces, by offices that change hands, by brokers that hear of it late
Not    the driver (memory.py) and the controller (scripted.py)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from replication.batch import Record, decode, headers
from replication.errors import Error
from replication.events import Event, Truncated
from replication.messages import (
    EpochEndOffset,
    FetchedPartition,
    FetchRequest,
    FetchResponse,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
)
from replication.rules import Rules
from replication.state import Leadership
from tests.replication.memory import MemoryEnv, World
from tests.replication.scripted import CONTROLLER, Story

FORMER_LEADER = 9


# -- set up ---------------------------------------------------------------------------------------------------------------


def played(replicas: Sequence[int], *, rules: Rules | None = None, epoch: int = 0, min_isr: int = 1, **state: Any) -> Story:
    """The first replica is a broker and leads topic `t`; the test plays all others, which the controller believes to be alive."""
    story = Story(replicas[:1], rules=rules)
    for replica in replicas[1:]:
        story.controller.broker(replica)
    story.controller.configure("t", min_insync_replicas=str(min_isr))
    return _created(story, replicas, epoch, state)


def real(replicas: Sequence[int], *, rules: Rules | None = None, epoch: int = 0, **state: Any) -> Story:
    """A broker for every replica; the first leads topic `t`."""
    return _created(Story(replicas, rules=rules), replicas, epoch, state)


def _created(story: Story, replicas: Sequence[int], epoch: int, state: dict[str, Any]) -> Story:
    story.controller.create("t", replicas)
    story.controller.change(leader_epoch=epoch, **{"partition_epoch": 0, **state})
    story.controller.publish()
    return story


def untold(replicas: Sequence[int], *, rules: Rules | None = None) -> Story:
    """Brokers that have not yet heard of topic `t`: who leads it first, and who is told, is for the test to say."""
    story = Story(replicas, rules=rules)
    story.controller.create("t", replicas)
    return story


def lead(story: Story, leader: int, epoch: int, tell: Sequence[int] = (), **changes: Any) -> None:
    """A leader in a given leader epoch, known to the brokers in `tell`, or to all. Whoever is not told goes on as before."""
    story.controller.change(leader=leader, leader_epoch=epoch, **changes)
    story.controller.publish(*tell)


def write(story: Story, node_id: int, count: int, word: str) -> int:
    """One batch of so many records, appended on this broker alone as far as it can tell (acks=1). Returns the base offset."""
    (produced,) = story.produce(node_id, *(f"{word}{number}" for number in range(count)), acks=1)
    assert produced.error_code is Error.NONE, produced
    base: int = produced.base_offset
    return base


def start_logs_at(story: Story, offset: int) -> None:
    """5.23 Empty logs that start at `offset`: their first leader, since gone, had let go of everything below."""
    replicas = story.controller.state().replicas
    _LeaderWithoutRecords(story.world, offset)
    story.controller.broker(FORMER_LEADER)
    lead(story, FORMER_LEADER, 0, replicas=(*replicas, FORMER_LEADER), isr=(*replicas, FORMER_LEADER))
    story.controller.change(replicas=replicas, isr=replicas)
    story.world.up.pop(FORMER_LEADER)


class _LeaderWithoutRecords:
    """A leader, played, whose log starts and ends at one offset."""

    def __init__(self, world: World, offset: int) -> None:
        self.offset = offset
        self.env = MemoryEnv(world, FORMER_LEADER, (), 1)
        self.env.on_request = self._on_request
        world.up[FORMER_LEADER] = self.env

    def _on_request(self, request: Any) -> None:
        (asked,) = request.message.partitions
        if isinstance(request.message, ListOffsetsRequest):
            listed = ListedOffset(asked.topic, asked.partition_index, offset=self.offset)
            self.env.reply(request, ListOffsetsResponse((listed,)))
        elif asked.fetch_offset != self.offset:
            refused = FetchedPartition(asked.topic_id, asked.partition, Error.OFFSET_OUT_OF_RANGE)
            self.env.reply(request, FetchResponse((refused,)))


# -- links ----------------------------------------------------------------------------------------------------------------


def cut_from_controllers(story: Story, node_id: int) -> None:
    """Neither requests nor images pass; the other brokers and all clients still reach it."""
    story.world.cut |= {(node_id, CONTROLLER), (CONTROLLER, node_id)}
    del story.controller.subscribers[node_id]


def reconnect_to_controllers(story: Story, node_id: int) -> None:
    story.world.cut -= {(node_id, CONTROLLER), (CONTROLLER, node_id)}
    story.controller.subscribers[node_id] = story.nodes[node_id]


class Asked(NamedTuple):
    """One partition of a follower's fetch, and how it was judged."""

    offset: int
    last_epoch: int
    diverging: EpochEndOffset | None = None
    hw: int | None = None
    """None: not yet answered, or diverging."""


class Ear:
    """Every fetch that reaches a broker from now on, with its answer once there is one."""

    def __init__(self, story: Story, node_id: int) -> None:
        self.fetches: list[tuple[FetchRequest, list[FetchResponse]]] = []
        env = story.nodes[node_id].env
        self._pass_on, env.on_request = env.on_request, self._on_request

    def _on_request(self, request: Any) -> None:
        if isinstance(request.message, FetchRequest):
            answers: list[FetchResponse] = []
            self.fetches.append((request.message, answers))
            then = request.then

            def heard(answer: Any) -> None:
                answers.append(answer)
                then(answer)

            request.then = heard
        self._pass_on(request)

    def asked_by(self, replica: int) -> list[Asked]:
        """What this replica asked for, in order; for stories with one partition."""
        return [_asked(request, answers) for request, answers in self.fetches if request.replica_id == replica]

    def latest_partitions(self, replica: int) -> set[int]:
        """The partitions of this replica's latest fetch; none if it never fetched here."""
        fetches = [request for request, _ in self.fetches if request.replica_id == replica]
        return {asked.partition for asked in fetches[-1].partitions} if fetches else set()


def _asked(request: FetchRequest, answers: list[FetchResponse]) -> Asked:
    (asked,) = request.partitions
    answer = answers[0].responses[0] if answers else None
    if answer is None or answer.error_code is not Error.NONE:
        return Asked(asked.fetch_offset, asked.last_fetched_epoch)
    hw = None if answer.diverging_epoch else answer.high_watermark
    return Asked(asked.fetch_offset, asked.last_fetched_epoch, answer.diverging_epoch, hw)


# -- judge ----------------------------------------------------------------------------------------------------------------


def leadership(story: Story, node_id: int) -> Leadership:
    """What this broker believes as the leader of `t`."""
    role = story.partition(node_id).leader
    assert role is not None, f"{node_id} does not lead"
    return role.state


def seen(story: Story, leader: int, *followers: int) -> tuple[int, ...]:
    """The followers' LEOs as their leader knows them."""
    known = leadership(story, leader).followers
    return tuple(known[follower].leo for follower in followers)


def leos(story: Story, *node_ids: int) -> tuple[int, ...]:
    return tuple(story.log(node_id).leo for node_id in node_ids)


def hws(story: Story, *node_ids: int) -> tuple[int, ...]:
    return tuple(story.log(node_id).hw for node_id in node_ids)


def offsets(records: bytes) -> list[int]:
    return [record.offset for record in _records(records)]


def values(records: bytes) -> list[str]:
    return [(record.value or b"").decode() for record in _records(records)]


def contents(story: Story, node_id: int) -> list[tuple[int, int, str]]:
    """Everything in a log: offset, leader epoch, value."""
    log = story.log(node_id)
    data = log.read(log.log_start, log.leo, 1 << 30, True) or b""
    return [(record.offset, record.leader_epoch, (record.value or b"").decode()) for record in _records(data)]


def told_by(story: Story, node_id: int, kind: type[Event]) -> list[Any]:
    return [event for teller, event in story.world.events if teller == node_id and type(event) is kind]


def cuts_of(story: Story, node_id: int) -> list[tuple[int, int]]:
    """Where a leader's answer made this broker truncate: from which LEO, to which."""
    return [(event.was, event.now) for event in told_by(story, node_id, Truncated) if event.because == "diverging epoch"]


def _records(data: bytes) -> Iterable[Record]:
    for position, header in headers(data):
        yield from decode(data, header, position)
