"""clusters/sim/invariants/clients.py: what clients were told and shown (5, 6, 12)."""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct as Layout
from typing import Any

from clusters.sim.invariants.catalogue import COMMITTED, CUT, NEW, invariant
from clusters.sim.invariants.replica import Replica
from clusters.sim.invariants.stored import Batch, batch_at, carried
from clusters.sim.invariants.truth import PartitionTruth
from clusters.sim.invariants.world import Life, World
from replication.messages import ProducedPartition, ProducePartition

_PRODUCED = Layout(">17xI2xi16xq")  # CRC, last offset delta, producer id


class Promise:
    """One partition of a produce with acks=all that is about to be acknowledged."""

    __slots__ = ("alone", "base", "crc", "end", "recognisable")

    def __init__(self, produced: ProducePartition, result: ProducedPartition, *, alone: bool) -> None:
        self.crc, delta, producer_id = _PRODUCED.unpack_from(produced.records)
        self.alone = alone
        """Whether it is acknowledged in the moment in which that was decided."""
        self.base = result.base_offset
        self.end = self.base + delta + 1
        self.recognisable = producer_id < 0 and result.log_append_time_ms < 0
        """Whether its CRC must be in the log: a retry may be another batch, and a leader's own time changes it."""

    def stored_crc(self, replica: Replica) -> int:
        """The CRC of what was acknowledged, as the log has it."""
        held = None if self.recognisable else batch_at(replica.log, self.base)
        return self.crc if held is None else held[3]


@invariant(12, of="promise")
def acknowledgement(world: World, replica: Replica, promise: Promise) -> Iterator[str]:
    """A write with acks=all is acknowledged when everybody who may be elected has it, and there are enough of them.

    Why     this is the promise; everything else in here exists to keep it
    Except  of a request over several partitions only the record itself is looked for: an early one waited for the others
    Catches B09 B28 B29 B30 B31b
    """
    held = batch_at(replica.log, promise.base)
    if held is None or held[1] != promise.end or (promise.recognisable and held[3] != promise.crc):
        yield f"{_acknowledged(replica, promise)}, and does not have them"
    leader = replica.partition.leader
    if leader is None or not promise.alone:
        return
    log, maximal = replica.log, leader.state.maximal_isr
    if log.hw < promise.end:
        yield f"{_acknowledged(replica, promise)} with HW {log.hw}"
    replicas = len(replica.standing.replicas)
    if len(maximal) < replicas and len(maximal) < world.rules.effective_min_isr(log.settings.min_insync_replicas, replicas):
        yield f"{_acknowledged(replica, promise)} with maximal ISR {sorted(maximal)}, which is too small"
    for node, other in replica.truth.replicas.items():
        if other.log.leo < promise.end and node in maximal and _is_the_follower(world, leader.state.followers.get(node), other):
            yield f"{_acknowledged(replica, promise)}, but n{node} has LEO {other.log.leo} and may be elected"


def _acknowledged(replica: Replica, promise: Promise) -> str:
    return f"{replica.truth.name}: n{replica.node} acknowledged offsets {promise.base} to {promise.end - 1}"


def _is_the_follower(world: World, known: Any, replica: Replica) -> bool:
    """Whether this is the process from which the leader has heard: one that restarted since is judged on its own (2)."""
    broker = replica.life.broker
    epoch = None if broker is None else broker.state.broker_epoch
    return (
        known is not None and known.broker_epoch in (None, epoch) and world.runs(replica.life) and not replica.partition.offline
    )


@invariant(5, touching=CUT | NEW | COMMITTED, stands_down=True)
def consistent_read(world: World, at: PartitionTruth) -> Iterator[str]:
    """Every record that a consumer was given is in the log of the leader, at its offset.

    Why     what was read was shown as final (7.6)
    Catches B22 B32 B57
    """
    if not at.served_end:
        return
    for base, (batch, by) in tuple(at.served.items()):
        known = at.agreed.get(base)
        if known is not None:
            del at.served[base]
            if known[0] != batch:
                yield f"{_read(at, batch, by)}, where n{known[1]} has one of leader epoch {known[0][2]} below its HW"
    leader = world.leader(at)
    if leader is None:
        return
    if leader.log.leo < at.served_end:
        yield f"{at.name}: a consumer has read up to {at.served_end}, but n{leader.node} leads with LEO {leader.log.leo}"
    for batch, by in at.served.values():
        held = batch_at(leader.log, batch[0])
        if held is not None and held != batch:
            yield f"{_read(at, batch, by)}, where n{leader.node}, which leads, has one of leader epoch {held[2]}"


def _read(at: PartitionTruth, batch: Batch, by: int) -> str:
    return f"{at.name}: a consumer read a batch of leader epoch {batch[2]} at offset {batch[0]} from n{by}"


def note_served(truth: PartitionTruth, replica: Replica, records: bytes, shown_hw: int) -> None:
    """What a consumer is given. Most of it is known already: then only the end is new, or nothing at all."""
    if shown_hw <= truth.served_end and shown_hw <= replica.compared:
        return
    for batch in carried(records):
        truth.served_end = max(truth.served_end, batch[1])
        known = truth.agreed.get(batch[0])
        if known is None or known[0] != batch:
            truth.served[batch[0]] = batch, replica.node


@invariant(6, touching=CUT | NEW | COMMITTED, stands_down=True)
def no_committed_record_lost_globally(world: World, at: PartitionTruth) -> Iterator[str]:
    """Every record that was acknowledged is on some replica's disk, even if nobody who has it runs.

    Why     as long as one copy is left, waiting can bring it back; afterwards nothing can
    Except  the last acknowledged record stands for those before it; at the end all are looked for. Once as many replicas have
            lost records as it takes to commit one, every copy of it may be gone, and nobody need have been elected yet
    """
    if not at.acked or any(each.log.leo >= at.acked_end for each in at.replicas.values() if each.life.env.alive):
        return
    last = at.acked[-1]
    held = any(_holds(at, life, last.base, last.crc) for life in world.lives.values() if life.env.disks)
    if not held and world.copies_survive(at.topic, at.index):
        yield f"{at.name}: n{last.by} acknowledged the write at offset {last.base}, and no replica has it any more"


def _holds(at: PartitionTruth, life: Life, base: int, crc: int) -> bool:
    """Whether a node has a batch: in its log, or, where none is open, in its files."""
    replica = at.replicas.get(life.node)
    if replica is not None and life.env.alive:
        found = batch_at(replica.log, base)
        return found is not None and found[3] == crc
    disks: Any = life.env.disks
    logs = [
        bytes(file.data)
        for disk in disks
        for path, file in sorted(disk.files.items())
        if path.startswith(f"{at.topic}-{at.index}/") and path.endswith(".log")
    ]
    return any(batch[0] == base and batch[3] == crc for records in logs for batch in carried(records))
