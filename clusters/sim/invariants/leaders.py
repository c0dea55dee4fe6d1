"""clusters/sim/invariants/leaders.py: whoever leads, or can be elected cleanly, keeps what was promised (1, 2, 11)."""

from __future__ import annotations

from collections.abc import Iterator

from clusters.sim.invariants.catalogue import COMMITTED, CUT, LEADER_HW, NEW, OUT_OF_BOUNDS, TRUE_HW, invariant
from clusters.sim.invariants.replica import Replica
from clusters.sim.invariants.stored import batches
from clusters.sim.invariants.truth import PartitionTruth
from clusters.sim.invariants.world import World


@invariant(1, touching=CUT | NEW | COMMITTED, stands_down=True)
def leader_completeness(world: World, at: PartitionTruth) -> Iterator[str]:
    """The replica that leads holds everything that was ever committed, and every record that a client was told is.

    Why     followers make their logs like the leader's: what the leader lacks is lost everywhere
    Except  a leader whose process does not run, or that has lost its directory: nobody follows it
    Catches what B01, B11, B16 and B19 cause, once an election has made it bad
    """
    if at.state is None:
        return
    leo = world.leo(at, at.state.leader)
    if leo is None:
        return
    if leo < at.true_hw:
        yield f"{at.name}: n{at.state.leader} leads with LEO {leo}, but all below {at.true_hw} was committed by n{at.true_hw_by}"
    if leo < at.acked_end:
        lost = next(each for each in at.acked if each.end > leo)
        yield f"{at.name}: n{at.state.leader} leads with LEO {leo}, but n{lost.by} acknowledged a write at {lost.base}"


@invariant(1, touching=COMMITTED, stands_down=True)
def leader_holds_what_was_agreed(world: World, at: PartitionTruth) -> Iterator[str]:
    """Whoever was just elected has, at each committed offset, the record that was committed there.

    Why     its length says how much it holds, not what
    Catches B02 B39
    """
    leader = world.leader(at)
    if leader is None or at.before is None or at.state is None or at.state.leader_epoch == at.before.leader_epoch:
        return
    for batch in batches(leader.log, leader.compared, at.true_hw):
        known = at.agreed.get(batch[0])
        if known is not None and known[0] != batch:
            yield (
                f"{at.name}: n{leader.node} was elected and holds a batch of leader epoch {batch[2]} at offset {batch[0]}, "
                f"where n{known[1]} had committed one of leader epoch {known[0][2]}"
            )
            return


@invariant(2, touching=TRUE_HW | CUT | NEW | COMMITTED, stands_down=True)
def leader_candidate_completeness(world: World, at: PartitionTruth) -> Iterator[str]:
    """Whoever can be elected cleanly holds everything that was ever committed.

    Why     a clean election looks at membership, never at logs (8.3): an incomplete member is a loss that waits for its election
    Except  a broker that is down, or back and not registered yet: until then it cannot be elected, and by then it must be out of
            both if it may have lost anything (unclean_exclusion)
    Catches B01 B06 B09 B11 B16 B17 B18 B19 B21 B27 B36 B55
    """
    for node in at.candidates:
        replica = at.replicas.get(node)
        if replica is not None and replica.log.leo >= at.true_hw:
            continue
        leo = world.leo(at, node)
        if leo is not None and leo < at.true_hw:
            yield f"{at.name}: n{node} can be elected with LEO {leo}; all below {at.true_hw} was committed by n{at.true_hw_by}"


@invariant(2, touching=COMMITTED)
def unclean_exclusion(world: World, at: PartitionTruth) -> Iterator[str]:
    """A broker that comes back from an unclean end is in no ISR and no ELR.

    Why     it may have lost what it had not synced, and nobody can tell (4.3, 8.6)
    Except  without ELR the last member stays in its ISR, whatever it lost (8.4)
    Catches B19 B21
    """
    if not world.committed.uses_elr:
        return
    for node in at.candidates:
        if node in world.returned:
            role = "ISR" if at.state is not None and node in at.state.isr else "ELR"
            yield f"{at.name}: n{node} registered again after an unclean end and is still in the {role}"


@invariant(11, touching=LEADER_HW | OUT_OF_BOUNDS, of="replica")
def high_watermark_bounds(world: World, at: Replica) -> Iterator[str]:
    """A high watermark stands between its log's start and end; a leader's never moves back, nor while too few are in sync.

    Why     what was readable stays readable (5.29); below min ISR the HW is frozen, so that ELR members stay complete (5.28)
    Except  a follower repeats what its leader says, and goes back with it (5.21)
    Catches B22 B37 B55
    """
    log, where = at.log, at.truth.name
    if not 0 <= log.log_start <= log.hw <= log.leo:
        yield f"{where}: n{at.node} has HW {log.hw} in a log from {log.log_start} to {log.leo}"
    leader = at.leader
    if leader is None:
        return
    if log.hw < at.was_hw and leader is at.was_leader:
        yield f"{where}: n{at.node} leads in leader epoch {at.leader_epoch} and moved its HW back from {at.was_hw} to {log.hw}"
    in_sync, replicas = len(leader.state.isr), len(at.standing.replicas)
    if in_sync == replicas or log.hw <= at.was_hw:
        return
    least = world.rules.effective_min_isr(log.settings.min_insync_replicas, replicas)
    if in_sync < least:
        yield (
            f"{where}: n{at.node} moved the HW from {at.was_hw} to {log.hw} with ISR {leader.state.isr}, "
            f"although {least} must be in sync"
        )
