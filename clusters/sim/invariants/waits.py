"""clusters/sim/invariants/waits.py: who waits for what: for a world in which nothing happens any more.

In     the last life of every node
Out    lines for people: requests under way, produces and fetches that wait in brokers, things not yet done by a paused process
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from clusters.sim.env import SimEnv
from clusters.sim.invariants.world import Life
from clusters.sim.kinds import kind_of


def pending_waits(lives: Iterable[Life]) -> str:
    lines = [f"  n{life.node}: {wait}" for life in lives for wait in _waits(life)]
    return "\n".join(lines) or "  nobody waits for anything"


def _waits(life: Life) -> Iterator[str]:
    if not life.env.alive:
        yield "its process has ended"
        return
    yield from _of_process(life.env)
    if life.broker is None:
        return
    for partition in life.broker.partitions.values():
        topic, index = partition.log.name
        produces, flushes = len(partition.waiting_for_hw), len(partition.waiting_for_flush)
        if produces or flushes:
            yield f"{produces} produces wait for the HW of {topic}/{index} (now {partition.log.hw}), {flushes} for a sync"
        if partition.taking_office:
            yield f"{topic}/{index} is taking office"
    waiters = [each for one in life.broker.partitions.values() for each in (one.replica_fetches, one.consumer_fetches)]
    parked = dict.fromkeys(fetch for each in waiters for fetch in each._parked)
    if parked:
        yield f"{len(parked)} fetches are parked"


def _of_process(env: SimEnv) -> Iterator[str]:
    for (node, channel), connection in sorted(env.connections.items()):
        for call in connection.calls:
            state = "not connected" if connection.listener is None else "sent"
            yield f"{kind_of(call.message)} to n{node} on {channel}, {state}"
    if env._inbox:
        yield f"{len(env._inbox)} things have happened to it that it has not taken up yet"
