"""bench/replication.py: what the data plane costs, and how many events three brokers sustain on one core (DESIGN 2).

In   the trivial driver of the tests: no sockets, no real disk, no time passing
Out  microseconds per append, replica fetch and high watermark advance; events per second; where the time goes
"""

from __future__ import annotations

import cProfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench.figures import Figure, best_of_turns, progress
from bench.profiles import shares, undisturbed
from replication.batch import header_at, stamped
from replication.messages import FetchPartition, FetchRequest, ProducePartition, ProduceRequest
from tests.replication.scripted import Story, batch, topic_id

_TURNS = 5
_CALLS = 5_000
_PRODUCES = 10_000
_AIM = 100_000
_VALUE = "x" * 8


def figures(scratch: Path) -> Iterator[Figure]:
    del scratch  # nothing here touches a disk
    with undisturbed():
        progress(f"{_CALLS:,} appends, replica fetches and HW advances, the best of {_TURNS}")
        yield _cost("log append, one record", _log_appends)
        yield _cost("produce to a leader alone, one record", _produces)
        yield _cost("replica fetch at the leader, one batch", _replica_fetches)
        yield _cost("HW advance, three replicas", _hw_advances)
        for clients in (1, 8):
            progress(f"{_PRODUCES:,} produces with acks=all through three brokers, {clients} at a time")
            yield from _three_brokers(clients)
        _where_the_time_goes()


def _cost(name: str, prepared: Callable[[], Callable[[], None]]) -> Figure:
    """Best time of one call, over fresh worlds."""
    best = min(best_of_turns(1, prepared())[0] for _ in range(_TURNS))
    return Figure(name=name, value=best / _CALLS * 1e6, unit="us", higher_is_better=False)


# -- single steps -----------------------------------------------------------------------------------------------------


def _log_appends() -> Callable[[], None]:
    log = _cluster(1).log(1)
    data = batch(_VALUE)
    header = header_at(data)
    assert header is not None

    def work() -> None:
        for offset in range(_CALLS):
            log.append(stamped(data, offset, 0), header, offset, 0)

    return work


def _produces() -> Callable[[], None]:
    story = _cluster(1)
    return lambda: _ask_again_and_again(story, _produce_request(acks=-1))


def _replica_fetches() -> Callable[[], None]:
    """Followers 2 and 3 are played: both ask for the one batch there is, so nothing parks and the HW stays."""
    story = _cluster(1, replicas=(1, 2, 3))
    story.produce(1, _VALUE, acks=1)
    asked = FetchPartition(topic_id("t"), 0, 0, 1 << 20, 0, -1, 0)
    request = FetchRequest(500, 1, 1 << 20, (asked,), 2, 1)
    return lambda: _ask_again_and_again(story, request)


def _hw_advances() -> Callable[[], None]:
    """Both played followers report one record more, in turn: every second report moves the HW by one."""
    story = _cluster(1, replicas=(1, 2, 3))
    for _ in range(_CALLS // 2):
        story.produce(1, _VALUE, acks=1)
    leader = story.partition(1).leader
    assert leader is not None
    reports = [FetchPartition(topic_id("t"), 0, offset, 1 << 20, 0, 0, 0) for offset in range(1, _CALLS // 2 + 1)]

    def work() -> None:
        for report in reports:
            leader.remember(2, 1, report)
            leader.remember(3, 1, report)

    return work


def _ask_again_and_again(story: Story, request: Any) -> None:
    world, left = story.world, _CALLS

    def again(_: object = None) -> None:
        nonlocal left
        if left:
            left -= 1
            world.send(None, 1, request, None, again)

    again()
    world.run()


# -- three brokers ------------------------------------------------------------------------------------------------------


def _three_brokers(clients: int) -> Iterator[Figure]:
    rates = []
    for _ in range(_TURNS):
        story = _cluster(3, replicas=(1, 2, 3))
        before = story.world.steps
        (seconds,) = best_of_turns(1, lambda story=story: _closed_loop(story, clients))
        rates.append(((story.world.steps - before) / seconds, _PRODUCES / seconds))
    events, produces = max(rates)
    yield Figure(name=f"events, three brokers, {clients} in flight", value=events, unit="events/s", aim=_AIM)
    yield Figure(name=f"produces acks=all, three brokers, {clients} in flight", value=produces, unit="produces/s")


def _closed_loop(story: Story, clients: int) -> None:
    world, request, left = story.world, _produce_request(acks=-1), _PRODUCES

    def again(_: object = None) -> None:
        nonlocal left
        if left:
            left -= 1
            world.send(None, 1, request, None, again)

    for _ in range(clients):
        again()
    world.run(most=100 * _PRODUCES)
    assert story.log(1).hw == _PRODUCES


def _where_the_time_goes() -> None:
    """By file, from a profile: its shares are right, its times are not."""
    story = _cluster(3, replicas=(1, 2, 3))
    profile = cProfile.Profile()
    profile.runcall(_closed_loop, story, 8)
    for room, share in shares(profile, most=12):
        progress(f"{100 * share:5.1f} %  {room}")


# -- the world ----------------------------------------------------------------------------------------------------------


def _cluster(brokers: int, replicas: tuple[int, ...] = (1,)) -> Story:
    story = Story(tuple(range(1, brokers + 1)))
    for played in set(replicas) - set(story.nodes):
        story.controller.broker(played)
    story.controller.create("t", replicas, min_insync_replicas=str(min(2, len(replicas))))
    story.controller.publish()
    return story


def _produce_request(acks: int) -> ProduceRequest:
    return ProduceRequest(acks, 30_000, (ProducePartition(topic_id("t"), 0, batch(_VALUE)),))
