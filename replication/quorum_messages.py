"""replication/quorum_messages.py: what members of the quorum say to each other (section 2), with Kafka's field names.

In     voters and observers; `api` is the name by which gates and wire/ know a message where it is not the class's own
Out    every answer carries what its sender knows of the leader: {leader_id, leader_epoch} (2.22)
Keeps  a voter is (id, directory id): one whose disk was wiped is another one (2.37, 2.42)
"""

from __future__ import annotations

from typing import ClassVar

from replication.errors import Error
from replication.identity import NO_EPOCH, NO_LEADER
from replication.messages import EpochEndOffset, Message

UNKNOWN_HW = -1


class VoterKey(Message, frozen=True):
    voter_id: int
    directory_id: bytes


class SnapshotId(Message, frozen=True):
    """2.32 The end offset is exclusive; the epoch is that of the last record inside."""

    end_offset: int
    epoch: int


class VoteRequest(Message, frozen=True):
    """2.9 `last_offset` is the exclusive end of what the candidate has durably (2.38)."""

    cluster_id: str
    voter: VoterKey
    """Who is asked."""
    replica_id: int
    replica_directory_id: bytes
    replica_epoch: int
    last_offset_epoch: int
    last_offset: int
    pre_vote: bool


class VoteResponse(Message, frozen=True):
    error_code: Error = Error.NONE
    leader_id: int = NO_LEADER
    leader_epoch: int = NO_EPOCH
    vote_granted: bool = False


class BeginQuorumEpochRequest(Message, frozen=True):
    """2.18"""

    cluster_id: str
    voter: VoterKey
    """Who is told."""
    leader_id: int
    leader_epoch: int


class BeginQuorumEpochResponse(Message, frozen=True):
    error_code: Error = Error.NONE
    leader_id: int = NO_LEADER
    leader_epoch: int = NO_EPOCH


class EndQuorumEpochRequest(Message, frozen=True):
    """2.20 The successors that the leader would like, best first."""

    cluster_id: str
    leader_id: int
    leader_epoch: int
    preferred_successors: tuple[VoterKey, ...]


class EndQuorumEpochResponse(Message, frozen=True):
    error_code: Error = Error.NONE
    leader_id: int = NO_LEADER
    leader_epoch: int = NO_EPOCH


class QuorumFetchRequest(Message, frozen=True):
    """2.22 The fetch offset is what a voter has durably (2.26)."""

    api: ClassVar[str] = "Fetch"
    cluster_id: str
    replica_id: int
    replica_directory_id: bytes
    current_leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    max_wait_ms: int
    max_bytes: int
    high_watermark: int = UNKNOWN_HW


class QuorumFetchResponse(Message, frozen=True):
    """2.24 At most one of records, a diverging epoch and a snapshot."""

    api: ClassVar[str] = "Fetch"
    error_code: Error = Error.NONE
    leader_id: int = NO_LEADER
    leader_epoch: int = NO_EPOCH
    high_watermark: int = UNKNOWN_HW
    log_start_offset: int = 0
    records: bytes = b""
    diverging_epoch: EpochEndOffset | None = None
    snapshot_id: SnapshotId | None = None


class FetchSnapshotRequest(Message, frozen=True):
    """2.34"""

    cluster_id: str
    replica_id: int
    replica_directory_id: bytes
    current_leader_epoch: int
    snapshot_id: SnapshotId
    position: int
    max_bytes: int


class FetchSnapshotResponse(Message, frozen=True):
    error_code: Error = Error.NONE
    leader_id: int = NO_LEADER
    leader_epoch: int = NO_EPOCH
    snapshot_id: SnapshotId | None = None
    size: int = 0
    position: int = 0
    unaligned_records: bytes = b""
