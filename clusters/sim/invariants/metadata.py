"""clusters/sim/invariants/metadata.py: what the controllers commit, and what brokers make of it (7, 9, 10)."""

from __future__ import annotations

from collections.abc import Iterator

from clusters.sim.invariants.catalogue import APPENDED, COMMITTED, IMAGE, OFFICE, invariant
from clusters.sim.invariants.replica import Replica
from clusters.sim.invariants.truth import PartitionTruth
from clusters.sim.invariants.world import Life, World
from replication.errors import Error
from replication.identity import NO_LEADER
from replication.image import BROKER, CLUSTER_WIDE, TOPIC, PartitionState
from replication.messages import AlterPartitionRequest, AlterPartitionResponse

UNCLEAN = "unclean.leader.election.enable"


@invariant(7, touching=COMMITTED)
def isr_elr_shape(world: World, at: PartitionTruth) -> Iterator[str]:
    """ISR and ELR are parts of the replicas, and apart; while enough are in sync nobody is merely eligible; leaders live.

    Why     every rule about elections and promises reads these lists and trusts them (8.3, 8.6)
    Except  states within one operation of the controllers: what counts is its end
    Catches B15 B20 B23 B24 B25 B52
    """
    state = at.state
    if state is None:
        return
    members = state.isr + state.elr
    if len(set(members)) < len(members):
        yield f"{at.name}: a broker is in ISR {state.isr} and ELR {state.elr} more than once"
    strangers = [node for node in members if node not in state.replicas]
    if strangers:
        yield f"{at.name}: {strangers} of ISR {state.isr} and ELR {state.elr} are not among the replicas {state.replicas}"
    least = world.min_isr(at, state)
    if state.elr and len(state.isr) >= least:
        yield f"{at.name}: ELR {state.elr}, although ISR {state.isr} has the {least} members that it needs"
    if state.leader != NO_LEADER and state.leader not in state.isr:
        yield f"{at.name}: n{state.leader} leads and is not in the ISR {state.isr}"
    yield from _dead_members(world, at, state)


def _dead_members(world: World, at: PartitionTruth, state: PartitionState) -> Iterator[str]:
    brokers = world.committed.brokers
    fenced = [node for node in state.isr if node not in brokers or brokers[node].fenced]
    if state.leader in fenced:
        yield f"{at.name}: leader n{state.leader} is fenced"
    elif fenced and (world.committed.uses_elr or len(state.isr) > 1):
        yield f"{at.name}: {', '.join(f'n{node}' for node in fenced)} in ISR {state.isr} is fenced"
    before = at.before
    if before is None:
        return
    for node in state.isr:
        known = brokers.get(node)
        leaves = known is not None and known.in_controlled_shutdown and not known.fenced
        if leaves and (node not in before.isr or (node == state.leader and state.leader_epoch > before.leader_epoch)):
            yield f"{at.name}: n{node} is shutting down, and came into office or into the ISR {state.isr} nevertheless"


@invariant(7, touching=COMMITTED)
def clean_election(world: World, at: PartitionTruth) -> Iterator[str]:
    """Nobody is elected who was neither in the ISR nor in the ELR, unless loss was chosen over waiting.

    Why     membership is all that an election knows of logs (8.3)
    Except  unclean.leader.election.enable, an operator who asks for it, and the last known leader with ELR (8.8, 8.9); whoever
            joins the ISR by the very change that completes a reassignment may lead at once (9.2)
    Catches B36
    """
    state, before = at.state, at.before
    if state is None or before is None or state.leader in (NO_LEADER, before.leader):
        return
    between = [at.history[epoch] for epoch in range(before.partition_epoch, state.partition_epoch) if epoch in at.history]
    if any(state.leader in step.isr or state.leader in step.elr for step in between):
        return
    last_known = any(_nobody_left(world, step) and step.last_known_elr == (state.leader,) for step in between)
    if (
        not last_known
        and not _completes_reassignment(state, before)
        and not _unclean_is_allowed(world, at.topic)
        and not world.asked_for_unclean(at.topic, at.index)
    ):
        yield (
            f"{at.name}: n{state.leader} was elected in leader epoch {state.leader_epoch}; it was not among ISR {before.isr} "
            f"and ELR {before.elr}, and unclean elections are not allowed"
        )


def _nobody_left(world: World, state: PartitionState) -> bool:
    """Not counting those whom this very operation takes out because their process is another one."""
    return all(world.is_another_process(node) for node in (*state.isr, *state.elr))


def _completes_reassignment(state: PartitionState, before: PartitionState) -> bool:
    moved = (before.adding_replicas or before.removing_replicas) and not (state.adding_replicas or state.removing_replicas)
    return bool(moved) and state.leader in before.replicas


def _unclean_is_allowed(world: World, topic: str) -> bool:
    configs = world.committed.configs
    levels = configs.get((TOPIC, topic), {}), configs.get((BROKER, CLUSTER_WIDE), {}), world.properties
    return next((level[UNCLEAN] for level in levels if UNCLEAN in level), "false") == "true"


@invariant(9, touching=IMAGE, of="broker")
def metadata_log_matching(world: World, at: Life) -> Iterator[str]:
    """Whatever a broker acts on was committed, and it goes through it forwards.

    Why     an ISR that never was is as good as none: a leader would promise on it (3.5)
    Catches B47
    """
    assert at.broker is not None
    image, seen = at.broker.state.image, at.image
    if image.offset > world.committed.offset:
        yield f"n{at.node} acts on metadata up to offset {image.offset}, but only {world.committed.offset} is committed"
    if seen is not None and image.offset < seen.offset:
        yield f"n{at.node} went back from metadata offset {seen.offset} to {image.offset}"
    for topic_id, topic in image.topics.items():
        if seen is not None and seen.topics.get(topic_id) is topic:
            continue
        for index, state in topic.partitions.items():
            committed = world.truth((topic_id, index), topic.name).history.get(state.partition_epoch)
            if committed is not state and committed != state:
                yield f"{topic.name}/{index}: n{at.node} acts on {_told(state)}, which was never committed: {_told(committed)}"


def _told(state: PartitionState | None) -> str:
    if state is None:
        return "nothing of that partition epoch"
    return (
        f"leader {state.leader} in leader epoch {state.leader_epoch}, ISR {state.isr}, ELR {state.elr} "
        f"(partition epoch {state.partition_epoch})"
    )


@invariant(10, touching=COMMITTED)
def partition_epochs(world: World, at: PartitionTruth) -> Iterator[str]:
    """Epochs of a partition only grow, and no change goes without a step.

    Why     they are how everybody tells old from new (1.6, 1.7)
    Catches B48
    """
    state, before = at.state, at.before
    if state is None or before is None or state is before:
        return
    if state.leader_epoch < before.leader_epoch or state.partition_epoch <= before.partition_epoch:
        yield (
            f"{at.name}: after leader epoch {before.leader_epoch} and partition epoch {before.partition_epoch} came "
            f"{state.leader_epoch} and {state.partition_epoch}"
        )
    if state.leader != before.leader and state.leader_epoch == before.leader_epoch:
        yield f"{at.name}: leader {before.leader} became {state.leader} within leader epoch {state.leader_epoch}"


@invariant(10, touching=IMAGE, of="everything")
def broker_epochs(world: World) -> Iterator[str]:
    """A broker epoch names one process for ever: a later process has a higher one.

    Why     it is how a late request of a dead process is told from its successor's (1.4)
    Catches B48
    """
    for node, known in world.committed.brokers.items():
        old = world.before.brokers.get(node)
        if old is not None and known.broker_epoch < old.broker_epoch:
            yield f"n{node} was registered with broker epoch {old.broker_epoch}, and now with {known.broker_epoch}"
    if world.committed.epoch < world.before.epoch:
        yield f"after metadata of quorum epoch {world.before.epoch} came some of {world.committed.epoch}"


@invariant(10, touching=OFFICE, of="replica")
def epochs_of_a_replica(world: World, at: Replica) -> Iterator[str]:
    """A replica never goes back to an older epoch.

    Why     it would take up an office that is over (3.8, 5.7)
    Catches B38
    """
    if at.leader_epoch < at.was_leader_epoch or at.partition_epoch < at.was_partition_epoch:
        yield (
            f"{at.truth.name}: n{at.node} went back from leader epoch {at.was_leader_epoch} and partition epoch "
            f"{at.was_partition_epoch} to {at.leader_epoch} and {at.partition_epoch}"
        )


@invariant(10, touching=APPENDED, of="replica")
def one_writer_per_epoch(world: World, at: Replica) -> Iterator[str]:
    """In one leader epoch of a partition one process appends.

    Why     offset and leader epoch together name one record for ever (1.10); two writers give two records one name
    Catches B39
    """
    if at.leader is None or at.leo <= at.was_leo:
        return
    tenant = at.life.tenant
    first = at.truth.appended.setdefault(at.leader_epoch, tenant)
    if first != tenant:
        yield (
            f"{at.truth.name}: n{at.node} (start {tenant[1]}) appends in leader epoch {at.leader_epoch}, "
            f"in which n{first[0]} (start {first[1]}) has appended before"
        )


@invariant(10, at=AlterPartitionResponse, of="answer")
def compare_and_set(world: World, asked: AlterPartitionRequest, answer: AlterPartitionResponse) -> Iterator[str]:
    """An ISR change is accepted only by whoever knew the state that it changes.

    Why     a late request speaks of a state that is gone (5.35)
    Except  what is already so may be confirmed
    Catches B15
    """
    for item, altered in zip(asked.partitions, answer.partitions, strict=False):
        if altered.error_code is Error.NONE and item.partition_epoch not in (
            altered.partition_epoch,
            altered.partition_epoch - 1,
        ):
            name = world.truth((item.topic_id, item.partition_index), "").name
            yield (
                f"{name}: n{asked.broker_id} changed the ISR of partition epoch {item.partition_epoch} and was accepted; "
                f"the change made partition epoch {altered.partition_epoch}"
            )
