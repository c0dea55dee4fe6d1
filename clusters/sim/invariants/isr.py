"""clusters/sim/invariants/isr.py: the leader's idea of who is in sync covers whoever can be elected (3, 13, 26)."""

from __future__ import annotations

from collections.abc import Iterator

from clusters.sim.invariants.catalogue import COMMITTED, ISR, OFFICE, invariant
from clusters.sim.invariants.replica import Replica
from clusters.sim.invariants.truth import PartitionTruth
from clusters.sim.invariants.world import World
from replication.errors import Error
from replication.events import HighWatermarkHeldBack
from replication.identity import NO_EPOCH
from replication.leader import LeaderRole
from replication.messages import AlterPartitionRequest, AlterPartitionResponse


@invariant(3, touching=ISR | OFFICE | COMMITTED)
def replication_quorum_superset(world: World, at: PartitionTruth) -> Iterator[str]:
    """A leader that has not been superseded waits for everybody who can be elected in its place.

    Why     the controllers may elect any member of ISR and ELR without asking: what one of them lacks must not be promised
    Except  while its ISR is too small its HW is frozen, and then it promises nothing
    Catches B12 B13 B14 B38 B53 B54
    """
    leader = world.leader(at)
    if leader is None or leader.leader is None or not world.leads(leader):
        return
    state = leader.leader.state
    if state.pending is None and state.maximal_isr != frozenset(state.isr):
        yield f"{at.name}: n{leader.node} has no change pending, ISR {state.isr} and maximal ISR {_in_order(state.maximal_isr)}"
    least = world.rules.effective_min_isr(leader.log.settings.min_insync_replicas, len(leader.standing.replicas))
    forgotten = [node for node in at.candidates if node not in state.maximal_isr]
    if forgotten and len(state.isr) >= least:
        yield (
            f"{at.name}: n{leader.node} leads and waits for {_in_order(state.maximal_isr)} only, "
            f"but {_nodes(forgotten)} can be elected as well"
        )


@invariant(13, touching=COMMITTED)
def join(world: World, at: PartitionTruth) -> Iterator[str]:
    """Whoever joins the ISR holds all that its leader has promised, and all that the leader began with.

    Why     the leader's own HW may be behind what its predecessor acknowledged, so reaching it is not enough (5.31)
    Except  a leader that is elected is in its ISR without joining it (8.13); a joiner that has died is judged when it is back
    Catches B11 B17 B18
    """
    leader = world.leader(at)
    if leader is None or leader.leader is None or not world.leads(leader):
        return
    leso = leader.leader.state.leso
    for node in _joined(at):
        leo = world.leo(at, node)
        if leo is not None and leo < max(leso, leader.log.hw):
            yield (
                f"{at.name}: n{node} joined the ISR with LEO {leo}; its leader n{leader.node} has HW {leader.log.hw} "
                f"and began its epoch at {leso}"
            )


def _joined(at: PartitionTruth) -> list[int]:
    state, before = at.state, at.before
    if state is None or before is None:
        return []
    elected = state.leader if state.leader_epoch != before.leader_epoch else None
    return [node for node in state.isr if node not in before.isr and node != elected]


@invariant(13, at=AlterPartitionResponse, of="answer")
def join_of_a_living_process(world: World, asked: AlterPartitionRequest, answer: AlterPartitionResponse) -> Iterator[str]:
    """The process that did the fetching is the one that the controllers know when they let it join.

    Why     its successor may have another log, or none (5.31, 5.35)
    Catches B18
    """
    for item, altered in zip(asked.partitions, answer.partitions, strict=False):
        state = world.committed.partition(item.topic_id, item.partition_index)
        if altered.error_code is not Error.NONE or state is None:
            continue
        for member in item.new_isr_with_epochs:
            known = world.registered(member.broker_id)
            if member.broker_id in state.isr and member.broker_epoch not in (NO_EPOCH, known):
                truth = world.truth((item.topic_id, item.partition_index), "")
                yield (
                    f"{truth.name}: n{member.broker_id} joined the ISR as the process with broker epoch {member.broker_epoch}, "
                    f"but {known} is registered"
                )


@invariant(26, at=HighWatermarkHeldBack, of="replica")
def hw_progress(world: World, at: Replica) -> Iterator[str]:
    """Where nothing holds a high watermark back, it has moved by the end of the next lag tick at the latest.

    Why     a produce may be waiting for it, and no further event need ever come (5.27)
    Except  a leader that has not taken office yet
    Catches B26
    """
    leader = at.leader
    if leader is None or at.partition.taking_office:
        return
    could = _hw_within_reach(world, leader, len(at.standing.replicas))
    if could > at.log.hw:
        ends = ", ".join(f"n{f.broker_id} at {f.leo}" for f in leader.state.followers.values())
        yield f"{at.truth.name}: nothing keeps n{at.node} from moving its HW from {at.log.hw} to {could}, and it stays ({ends})"


def _hw_within_reach(world: World, leader: LeaderRole, replicas: int) -> int:
    """5.28 by the right rules and by what this leader knows."""
    rules, broker, log, state = world.rules, leader.broker, leader.log, leader.state
    least = rules.effective_min_isr(log.settings.min_insync_replicas, replicas)
    if not rules.may_advance_hw(state, least):
        return log.hw
    now, brokers = broker.lag_now(), broker.image.brokers
    followers = state.followers.values()
    counting = [f.leo for f in followers if rules.counts_for_hw(state, f, log.leo, now, broker.lag_max_ns, brokers)]
    return rules.leader_hw(log.hw, rules.hw_candidate(log.counted_end, counting, least))


def _in_order(nodes: frozenset[int]) -> str:
    return _nodes(sorted(nodes))


def _nodes(nodes: list[int]) -> str:
    return " ".join(f"n{node}" for node in nodes) or "nobody"
