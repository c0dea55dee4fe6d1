"""replication/quorum/member.py: one member of the quorum, as its parts share it.

In     identity, world, rules, settings; what transitions.py, following.py and leading.py change
Out    what everybody asks: role, epoch, leader, the end of the log and of what is committed
Keeps  `state` is what the file says, once its write is durable; `hw` never moves back while the process lives
Not    how any of it changes
"""

from __future__ import annotations

from collections.abc import Callable

from replication import files
from replication.directory import LogDirectory
from replication.env import NANOSECONDS, Env
from replication.identity import NO_LEADER
from replication.log import Log
from replication.quorum.election_state import ElectionState, Role
from replication.quorum.settings import QuorumSettings
from replication.quorum.snapshots import METADATA_LOG, Snapshots
from replication.quorum.turnstile import OrderedEnv, Turnstile
from replication.quorum_messages import UNKNOWN_HW, VoterKey
from replication.rules import Rules

CHANNEL = "raft"


class Member:
    """Identity, log and standing."""

    def __init__(
        self, node_id: int, cluster_id: str, voters: tuple[VoterKey, ...], env: Env, rules: Rules, settings: QuorumSettings
    ) -> None:
        self.node_id, self.cluster_id, self.voters, self.rules, self.settings = node_id, cluster_id, voters, rules, settings
        self.turnstile = Turnstile()
        self.env: Env = OrderedEnv(env, self.turnstile)
        self.directory = LogDirectory(
            self.env.disks[0], lambda _, error: self.env.halt(f"the directory of the metadata log failed: {error.reason}")
        )
        self.log = Log(self.directory, METADATA_LOG, self.env, rules, settings.of_the_log)
        self.log.tracks_producers = False
        self.snapshots = Snapshots(self.directory, rules)
        self.role = Role.UNATTACHED
        self.state = ElectionState()
        self.hw = UNKNOWN_HW
        self.applied_end = 0
        self.has_fetched = False
        """2.14 Whether the leader of this epoch has answered a fetch of this member."""
        self.closing = False
        self.key = VoterKey(node_id, bytes(16))
        self.is_voter = False
        self.now_ns: Callable[[], int] = self._wall_ns if settings.tidemark_lag_clock == "wall" else env.monotonic_ns

    def _wall_ns(self) -> int:
        return self.env.wall_ms() * NANOSECONDS

    def take_identity(self) -> None:
        """2.42 Who this member is, its disk tells; one that was formatted for another cluster must not speak in this one."""
        self.directory.open(self.cluster_id, self.node_id, self.env.random)
        data = self.directory.read(files.META_PROPERTIES)
        found = files.read_meta_properties(data) if data is not None else None
        if found is not None and found.get("cluster.id") != self.cluster_id:
            self.env.halt(f"the disk belongs to cluster {found.get('cluster.id')}, not to {self.cluster_id}")
        self.key = VoterKey(self.node_id, self.directory.id)
        self.is_voter = any(self.is_me(voter) for voter in self.voters)

    def is_me(self, voter: VoterKey) -> bool:
        return self.rules.same_voter(voter, self.key)

    def voter_of(self, key: VoterKey) -> VoterKey | None:
        """The voter that somebody is, or None for an observer."""
        return next((voter for voter in self.voters if self.rules.same_voter(voter, key)), None)

    @property
    def others(self) -> tuple[VoterKey, ...]:
        """2.9 Whom a voter asks and tells."""
        return tuple(voter for voter in self.voters if voter.voter_id != self.node_id)

    @property
    def epoch(self) -> int:
        return self.state.epoch

    @property
    def leads(self) -> bool:
        return self.role is Role.LEADER

    @property
    def leader_id(self) -> int:
        """Who leads this epoch, as far as is known; nobody does once this member has laid down the office."""
        return NO_LEADER if self.role is Role.RESIGNED else self.state.leader_id

    @property
    def last_epoch(self) -> int:
        """2.9 The epoch of the last record; 0 for a log that never had one (2.42)."""
        return self.epoch_below(self.log.leo)

    def epoch_below(self, end: int) -> int:
        """The epoch of the last record below `end`, which may lie in the newest snapshot."""
        if end > self.log.log_start and self.log.epochs:
            return self.log.epoch_of(end - 1)
        newest = self.snapshots.newest
        return newest.epoch if newest is not None else 0

    def raise_hw(self, hw: int) -> None:
        self.hw = hw
        self.log.hw = max(self.log.log_start, min(hw, self.log.leo))

    def election_timeout_ns(self) -> int:
        return self.rules.election_timeout_ns(self.settings.election_timeout_ns, self.env.random.random(), len(self.voters))
