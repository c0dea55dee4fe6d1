"""clusters/sim/invariants/fetching.py: who follows whom, and how many changes are under way (16)."""

from __future__ import annotations

from collections.abc import Iterator

from clusters.sim.invariants.catalogue import ISR, NEW, OFFICE, invariant
from clusters.sim.invariants.replica import Replica
from clusters.sim.invariants.world import World
from replication.broker import Broker


@invariant(16, touching=OFFICE | NEW, of="replica")
def fetchers(world: World, at: Replica) -> Iterator[str]:
    """A leader fetches from nobody; a follower that knows its leader's broker is with one fetcher, and it is that leader's.

    Why     a second fetcher, or one to somebody else, would append twice or from a log that is not the partition's (5.13, 5.46)
    Except  a replica that gave up for good (5.44), or whose directory failed; a broker on its way out may stop following (4.20)
    """
    broker, partition, where = at.life.broker, at.partition, at.truth.name
    if broker is None or partition.offline or broker._closing:
        return
    fetching = _fetching_from(broker, at)
    role = partition.follower
    if partition.leader is not None and role is not None:
        yield f"{where}: n{at.node} leads and follows at once"
    if role is None:
        wanted: list[int] = []
    elif role.failed or role.following.leader not in broker.state.image.brokers:
        return
    else:
        wanted = [role.following.leader]
    if fetching != wanted and not (broker.leaving and not fetching):
        said = "nobody" if not wanted else f"n{wanted[0]}"
        yield f"{where}: n{at.node} should fetch from {said}, and fetches from {fetching or 'nobody'}"


def _fetching_from(broker: Broker, at: Replica) -> list[int]:
    key = at.truth.key
    return [fetcher.leader for fetcher in broker.fetchers._fetchers.values() if key in fetcher.places]


@invariant(16, touching=ISR | OFFICE, of="replica")
def one_pending_change(world: World, at: Replica) -> Iterator[str]:
    """A leader has at most one ISR change under way, and it is a change of the state that it sees.

    Why     the second would be judged by a state that the first has changed (5.33)
    """
    leader = at.leader
    pending = None if leader is None else leader.state.pending
    if pending is None or at.life.broker is None:
        return
    if (pending.leader_epoch, pending.partition_epoch) != (at.leader_epoch, at.partition_epoch):
        yield (
            f"{at.truth.name}: n{at.node} has a change pending from leader epoch {pending.leader_epoch} and partition epoch "
            f"{pending.partition_epoch}, and is by now in {at.leader_epoch} and {at.partition_epoch}"
        )
