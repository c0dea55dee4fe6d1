"""clusters/sim/invariants/member.py: one member of the quorum in one life of a process, and what is remembered of the quorum.

In     `look`, after every event that touched its node; votes as they are granted
Out    what has changed since, as a sum of the numbers in catalogue.py
Keeps  what is committed in the metadata log, and by whose word; votes and epochs per voter, which is an id and a directory: a
       wiped one is another (2.37)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from clusters.sim.invariants.catalogue import CUT, HW, LEADER_HW, NEW, SNAPSHOT, STANDING
from clusters.sim.invariants.stored import Batch
from replication.directory import LogDirectory
from replication.log import Log
from replication.quorum.election_state import Role
from replication.quorum_messages import SnapshotId, VoterKey

if TYPE_CHECKING:
    from clusters.sim.invariants.world import Life

Voter = tuple[int, bytes]
"""Node and directory id."""


class Quorum(Protocol):
    """What is read of a member (replication/quorum/quorum.py)."""

    @property
    def role(self) -> Role: ...
    @property
    def epoch(self) -> int: ...
    @property
    def leader_id(self) -> int | None: ...
    @property
    def voted(self) -> VoterKey | None: ...
    @property
    def hw(self) -> int: ...
    @property
    def is_voter(self) -> bool: ...
    @property
    def log(self) -> Log: ...
    @property
    def directory(self) -> LogDirectory: ...
    @property
    def snapshots(self) -> tuple[SnapshotId, ...]: ...


class Member:
    """What was seen of it."""

    def __init__(self, life: Life, quorum: Quorum) -> None:
        self.life, self.quorum, self.log = life, quorum, quorum.log
        self.compared = 0
        """Below this every batch is known to agree with what others have."""
        self._see()
        self._remember()

    @property
    def node(self) -> int:
        return self.life.node

    @property
    def voter(self) -> Voter:
        return self.life.node, self.quorum.directory.id

    def _see(self) -> None:
        quorum, log = self.quorum, self.log
        self.role, self.epoch, self.leader_id, self.voted = quorum.role, quorum.epoch, quorum.leader_id, quorum.voted
        self.hw, self.leo, self.log_start = quorum.hw, log.leo, log.log_start
        self.snapshots: Sequence[SnapshotId] = quorum.snapshots

    def _remember(self) -> None:
        self.was_role, self.was_epoch, self.was_hw = self.role, self.epoch, self.hw
        self.was_leo, self.was_log_start = self.leo, self.log_start

    def look(self) -> int:
        """What has changed since the last look; `was_*` is what it was then."""
        quorum, log = self.quorum, self.log
        if (
            log.leo == self.leo
            and quorum.hw == self.hw
            and quorum.role is self.role
            and quorum.epoch == self.epoch
            and quorum.leader_id == self.leader_id
            and quorum.voted is self.voted
            and log.log_start == self.log_start
            and quorum.snapshots == self.snapshots
        ):
            return 0
        was = self.role, self.epoch, self.leader_id, self.voted
        snapshots = self.snapshots
        self._remember()
        self._see()
        changed = 0 if (self.role, self.epoch, self.leader_id, self.voted) == was else STANDING
        if self.leo < self.was_leo:
            changed |= CUT
            self.compared = min(self.compared, self.leo)
        if self.hw != self.was_hw:
            changed |= HW | LEADER_HW if self.role is Role.LEADER else HW
        if self.snapshots != snapshots or self.log_start != self.was_log_start:
            changed |= SNAPSHOT
        return changed


ENTERED = NEW | HW | STANDING | SNAPSHOT
"""What has just opened its log is looked at from every side."""


class QuorumTruth:
    """The quorum as a whole."""

    def __init__(self, voters: tuple[int, ...]) -> None:
        self.voters = voters
        self.members: dict[int, Member] = {}
        """Of running processes, by node."""
        self.durable: dict[int, int] = {}
        """Where the durable part of each node's log ends, or ended when its process did."""
        self._voters_seen: dict[int, Voter] = {}
        self.leaders: dict[int, tuple[int, int]] = {}
        """By quorum epoch: who leads it, and by whose word."""
        self.votes: dict[tuple[Voter, int], Voter] = {}
        """Who got the vote of a voter in an epoch."""
        self.epochs: dict[Voter, int] = {}
        """The highest that each has been in."""
        self.committed_end = 0
        self.committed_by: int | None = None
        self.highest_led = -1
        """The highest epoch that anybody has led."""
        self.agreed: dict[int, tuple[Batch, int]] = {}
        """What lies below somebody's high watermark, by first offset, and who was the first to have it there."""
        self.ends: dict[int, int] = {}
        """The leader epoch of each of those batches, by its end."""

    def enter(self, member: Member) -> None:
        """A process has opened its log. What it has durably is what its last one had, unless its disk was wiped."""
        self.members[member.node] = member
        if member.quorum.is_voter:
            if self._voters_seen.get(member.node) != member.voter:
                self.durable[member.node] = 0
            self._voters_seen[member.node] = member.voter

    def take_durable(self, member: Member) -> None:
        """A process that has just started knows less about its disk than was known before.

        Whoever is no voter does not count; a voter whose disk was wiped counts as it was: another one has its place (2.37).
        """
        log, known = member.log, self.durable.get(member.node)
        if known is not None and known != log.durable_end and member.quorum.is_voter:
            self.durable[member.node] = max(log.durable_end, min(known, log.leo))

    @property
    def majority(self) -> int:
        return len(self.voters) // 2 + 1

    def take_commit(self, member: Member) -> None:
        """A leader says how much is committed."""
        if member.hw > self.committed_end:
            self.committed_end, self.committed_by = member.hw, member.node

    @property
    def agreed_end(self) -> int:
        return max(self.ends, default=0)

    def agree(self, batch: Batch, node: int) -> tuple[Batch, int]:
        known = self.agreed.setdefault(batch[0], (batch, node))
        self.ends.setdefault(batch[1], batch[2])
        return known


def persisted(member: Member, path: str) -> bytes | None:
    """A file as a power cut would leave it now."""
    disk: Any = member.quorum.directory.disk
    data = disk.durable.get(path)
    return None if data is None else bytes(data)
