"""clusters/sim/invariants/snapshots.py: what replaces the beginning of the metadata log is what was committed there (24, 25)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from clusters.sim.invariants.catalogue import CUT, SNAPSHOT, THE_END, invariant
from clusters.sim.invariants.member import Member, QuorumTruth
from replication.quorum.election_state import Role
from replication.quorum.snapshots import PATH, name_of, snapshot_records
from replication.quorum_messages import SnapshotId
from replication.rules import Rules


@invariant(25, touching=SNAPSHOT | CUT, of="member")
def snapshot_at_log_start(world: QuorumTruth, at: Member) -> Iterator[str]:
    """A log begins at 0 or where a snapshot ends; a snapshot holds what is committed; leaders load none; HWs are not cut off.

    Why     what lies before the log's start is nowhere else (2.29, 2.32 to 2.34)
    Catches B49 B50
    """
    ends = [snapshot.end_offset for snapshot in at.snapshots]
    if at.log_start > 0 and at.log_start not in ends:
        yield f"n{at.node} has a metadata log that begins at {at.log_start}, and snapshots that end at {ends}"
    if at.hw >= 0 and any(end > at.hw for end in ends):
        yield f"n{at.node} has snapshots that end at {ends}, and HW {at.hw}"
    stayed = at.role is at.was_role is Role.LEADER and at.epoch == at.was_epoch
    if stayed and at.log_start > at.was_leo:
        yield f"n{at.node} leads quorum epoch {at.epoch} and loaded the snapshot that ends at {at.log_start}"
    if at.leo < min(at.was_leo, at.was_hw):
        yield f"n{at.node} cut its metadata log from {at.was_leo} to {at.leo}, below its HW {at.was_hw}"


@invariant(24, touching=SNAPSHOT, of="member")
def snapshot_names_what_was_committed(world: QuorumTruth, at: Member) -> Iterator[str]:
    """A snapshot ends where a committed batch ends, and carries the epoch of that batch.

    Why     followers are compared by it as by a record (2.24, 2.32)
    Except  what begins a cluster comes from no log (2.42)
    Catches B50
    """
    for snapshot in at.snapshots:
        if 0 < snapshot.end_offset <= world.agreed_end:
            epoch = world.ends.get(snapshot.end_offset)
            if epoch != snapshot.epoch:
                yield (
                    f"n{at.node} has the snapshot ({snapshot.end_offset}, {snapshot.epoch}); "
                    + ("no committed batch ends there" if epoch is None else f"the batch that ends there is of epoch {epoch}")
                )


@invariant(24, at=THE_END, of="everything")
def snapshots_agree(world: QuorumTruth) -> Iterator[str]:
    """Two snapshots of one name hold the same state.

    Why     it does not matter from whom one is fetched (2.34)
    Catches B50
    """
    first: dict[SnapshotId, tuple[int, object]] = {}
    for node, member in sorted(world.members.items()):
        for snapshot in member.snapshots if member.life.env.alive else ():
            content = _content(member, snapshot)
            known = first.setdefault(snapshot, (node, content))
            if known[1] != content:
                yield f"n{node} and n{known[0]} have different snapshots ({snapshot.end_offset}, {snapshot.epoch})"


def _content(member: Member, snapshot: SnapshotId) -> object:
    """Its records, in an order of their own: a state has none."""
    disk: Any = member.quorum.directory.disk
    file = disk.files.get(f"{PATH}/{name_of(snapshot)}")
    records = None if file is None else snapshot_records(bytes(getattr(file, "data", file)), Rules())
    return None if records is None else sorted(msgspec.msgpack.encode(record) for record in records)
