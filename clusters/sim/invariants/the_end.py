"""clusters/sim/invariants/the_end.py: what is looked at once, when everything has healed and come to rest (4, 6, 17).

Reads  every batch of every log: too much for every event
"""

from __future__ import annotations

from collections.abc import Iterator

from clusters.sim.invariants.beliefs import called
from clusters.sim.invariants.catalogue import THE_END, invariant
from clusters.sim.invariants.replica import Replica
from clusters.sim.invariants.stored import Batch, batches
from clusters.sim.invariants.truth import PartitionTruth
from clusters.sim.invariants.world import World


@invariant(4, at=THE_END)
def same_name_same_past(world: World, at: PartitionTruth) -> Iterator[str]:
    """Where two logs have a record of the same offset and leader epoch, they are the same up to there.

    Why     a leader appends to one log, and followers copy it in order (1.10)
    Catches B02 B03 B07 B39
    """
    if world.bytes_changed(at.topic, at.index):
        return
    logs = {node: _content(replica) for node, replica in sorted(at.replicas.items()) if replica.life.env.alive}
    nodes = list(logs)
    for number, one in enumerate(nodes):
        for other in nodes[number + 1 :]:
            parting = _parting(logs[one], logs[other])
            if parting is not None:
                yield (
                    f"{at.name}: n{one} and n{other} both have offset {parting[0]} of leader epoch {parting[1]}, "
                    f"and differ at offset {parting[2]}"
                )


def _content(replica: Replica) -> dict[int, Batch]:
    return {batch[0]: batch for batch in batches(replica.log, replica.log.log_start, replica.log.leo)}


def _parting(one: dict[int, Batch], other: dict[int, Batch]) -> tuple[int, int, int] | None:
    """The last offset and epoch that both have, and the first offset up to there at which they differ."""
    common = [base for base, batch in one.items() if base in other and other[base][2] == batch[2]]
    if not common:
        return None
    last = common[-1]
    start = max(min(one), min(other))
    apart = [base for base in sorted(one.keys() | other.keys()) if start <= base <= last and one.get(base) != other.get(base)]
    return (last, one[last][2], apart[0]) if apart else None


@invariant(6, at=THE_END, stands_down=True)
def every_acknowledged_record_is_there(world: World, at: PartitionTruth) -> Iterator[str]:
    """Each single record that was acknowledged is in the log of the leader.

    Why     the same as invariant 6 after events, which looks for the last one only
    """
    leader = world.leader(at)
    if leader is None:
        return
    held = _content(leader)
    lost = [each for each in at.acked if (found := held.get(each.base)) is None or found[3] != each.crc]
    if lost:
        first = lost[0]
        yield (
            f"{at.name}: {len(lost)} acknowledged writes are not in the log of n{leader.node}, which leads; "
            f"the first is that at offset {first.base}, acknowledged by n{first.by}"
        )


@invariant(17, at=THE_END)
def converged_state(world: World, at: PartitionTruth) -> Iterator[str]:
    """Once everything is healed and time has passed, all replicas are equal, committed to the end, and in sync.

    Why     faults end, and their effects must end with them
    Except  replicas whose process is down, or whose directory failed
    """
    if world.bytes_changed(at.topic, at.index):
        return
    state = at.state
    if state is None:
        return
    leader = world.leader(at)
    if leader is None or leader.leader is None or not world.leads(leader):
        yield f"{at.name}: nobody is in office; the controllers named {called(state.leader)} in leader epoch {state.leader_epoch}"
        return
    if leader.log.hw != leader.log.leo:
        yield f"{at.name}: n{leader.node} leads with HW {leader.log.hw} and LEO {leader.log.leo}"
    if state.elr:
        yield f"{at.name}: ELR {state.elr} is left"
    content = _content(leader)
    for node in state.replicas:
        replica = world.running_replica(at, node)
        if replica is None:
            continue
        if node not in state.isr:
            yield f"{at.name}: n{node} runs and is not in the ISR {state.isr}"
        if _content(replica) != content:
            yield f"{at.name}: n{node} (LEO {replica.log.leo}) does not hold what n{leader.node} (LEO {leader.log.leo}) holds"
