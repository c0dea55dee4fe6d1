"""clusters/sim/invariants/logs.py: logs agree where it counts, and remember whose records they hold (4, 14, 15)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from clusters.sim.invariants.catalogue import CUT, EPOCHS, HW, NEW, invariant
from clusters.sim.invariants.replica import Replica
from clusters.sim.invariants.stored import Batch, batch_at, batches
from clusters.sim.invariants.world import World


@invariant(4, touching=HW | NEW, of="replica", stands_down=True)
def log_matching(world: World, at: Replica) -> Iterator[str]:
    """Two replicas that both have an offset below their high watermarks have the same record there.

    Why     below the HW is what clients may have read, from either
    Except  the first who has an offset below its HW says what belongs there; each replica is compared once, up to where its HW
            is, a follower some records later (replica.py)
    Catches B02 B03 B04 B05 B07 B08 B35 B39
    """
    agreed, log = at.truth.agreed, at.log
    for batch in batches(log, at.compared, log.hw):
        known = agreed.setdefault(batch[0], (batch, at.life.node))
        if known[0] != batch and not world.bytes_changed(at.truth.topic, at.truth.index):
            yield (
                f"{at.truth.name}: n{at.node} has HW {log.hw} and {_batch(batch)}, "
                f"where n{known[1]} had {_batch(known[0])} below its own HW"
            )
        at.compared = batch[1]


def _batch(batch: Batch) -> str:
    base, end, epoch, crc = batch
    return f"offsets {base} to {end - 1} of leader epoch {epoch} (CRC {crc:08x})"


@invariant(14, touching=CUT, of="replica", stands_down=True)
def truncation(world: World, at: Replica) -> Iterator[str]:
    """Whoever can be elected cleanly never cuts off what is committed.

    Why     one more election, and it is gone everywhere
    Except  a replica outside of ISR and ELR may: it is compared with the leader before it comes back
    Catches B01 B06
    """
    truth = at.truth
    if at.leo < truth.true_hw and at.node in truth.candidates and world.runs(at.life):
        yield (
            f"{truth.name}: n{at.node} can be elected and cut its log from {at.was_leo} to {at.leo}, "
            f"but all below {truth.true_hw} was committed by n{truth.true_hw_by}"
        )


@invariant(15, touching=EPOCHS | CUT | NEW, of="replica")
def epoch_cache(world: World, at: Replica) -> Iterator[str]:
    """A log knows where each leader epoch starts: both columns strictly increase, and the records there are of that epoch.

    Why     followers and consumers are told where to cut by this table (5.2, 5.3)
    Except  the last entry may have no record yet: its leader has written nothing (5.8)
    Catches B07 B10a
    """
    if world.bytes_changed(at.truth.topic, at.truth.index):
        return
    log, where = at.log, at.truth.name
    epochs = log.epochs
    if any(earlier[0] >= later[0] or earlier[1] >= later[1] for earlier, later in pairwise(epochs)):
        yield f"{where}: n{at.node} has an epoch cache that does not increase: {epochs}"
    if not epochs:
        return
    epoch, start = epochs[-1]
    if start > log.leo or (at.leo < at.was_leo and start >= log.leo and at.leader is None):
        yield f"{where}: n{at.node} believes that leader epoch {epoch} starts at {start}, but its log ends at {log.leo}"
    first = batch_at(log, start)
    if first is not None and first[2] != epoch:
        yield f"{where}: n{at.node} believes that leader epoch {epoch} starts at {start}; its batch there is of epoch {first[2]}"
