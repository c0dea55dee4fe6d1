"""clusters/sim/invariants/rooms.py: the files that hold invariants. A new one is entered here, and nowhere else."""

from __future__ import annotations

from clusters.sim.invariants import clients, fetching, isr, leaders, logs, metadata, quorum, snapshots, the_end
from clusters.sim.invariants.catalogue import INVARIANTS, Invariant

ROOMS = (leaders, isr, logs, clients, metadata, fetching, quorum, snapshots, the_end)


def every_invariant() -> tuple[Invariant, ...]:
    """In the order in which they are asked."""
    return tuple(INVARIANTS)
