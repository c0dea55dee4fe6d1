"""clusters/sim/invariants/beliefs.py: what everybody believes about a partition, in words: only when something is wrong."""

from __future__ import annotations

from collections.abc import Iterator

from clusters.sim.invariants.replica import Replica
from clusters.sim.invariants.truth import PartitionTruth
from clusters.sim.invariants.world import World


def of_partition(world: World, truth: PartitionTruth) -> tuple[str, ...]:
    """What the controllers have committed, then node after node."""
    state = truth.state
    if state is None:
        return (f"controllers: no partition {truth.name}",)
    known = f"leader {called(state.leader)} in leader epoch {state.leader_epoch}, ISR {state.isr}, ELR {state.elr}"
    ends = f"partition epoch {state.partition_epoch}; committed up to {truth.true_hw}, acknowledged up to {truth.acked_end}"
    lines = [f"controllers: {known}, {ends}"]
    lines += [f"n{node}: {_of_replica(world, truth, node)}" for node in sorted({*state.replicas, *truth.replicas})]
    return tuple(lines)


def _of_replica(world: World, truth: PartitionTruth, node: int) -> str:
    replica, life = truth.replicas.get(node), world.lives.get(node)
    if life is None or not life.env.alive:
        return "down" if replica is None else f"down, its log ended at {replica.leo}"
    if replica is None:
        return "no such replica yet"
    parts = [_role(replica), f"log {replica.log.log_start} to {replica.log.leo}", f"HW {replica.log.hw}"]
    parts += [] if world.runs(life) else ["not registered as this process"]
    return ", ".join([*parts, *_leadership(replica)])


def _role(replica: Replica) -> str:
    partition = replica.partition
    epochs = f"in leader epoch {partition.standing.leader_epoch}, partition epoch {partition.standing.partition_epoch}"
    if partition.leader is not None:
        return f"leads {epochs}"
    if partition.follower is not None:
        return f"follows {called(partition.follower.following.leader)} {epochs}"
    return f"neither leads nor follows {epochs}"


def _leadership(replica: Replica) -> Iterator[str]:
    leader = replica.partition.leader
    if leader is None:
        return
    state = leader.state
    yield f"ISR {state.isr}"
    if state.pending is not None:
        yield f"asks to {state.pending.kind} it to {state.pending.new_isr}"
    yield f"began at {state.leso}"
    for follower in state.followers.values():
        yield f"knows n{follower.broker_id} at {follower.leo}"


def called(node: int | None) -> str:
    """`n2`; `nobody` for what Kafka writes as -1."""
    return "nobody" if node is None or node < 0 else f"n{node}"
