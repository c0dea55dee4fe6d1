"""replication/quorum/machine.py: what stands above the quorum: the state machine that lives on committed decisions (2.35, 2.36).

In     calls of the quorum, one at a time, never from inside one of `append`
Out    the contents of a snapshot, when the quorum wants to make one
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from replication.quorum_messages import SnapshotId
from replication.records import Decision, MetadataRecord


class Machine(Protocol):
    """Folded metadata, and whoever acts on it."""

    def on_commit(self, decisions: Sequence[Decision]) -> None:
        """2.35 Decisions below the high watermark, in order, each exactly once; several at once where several became known."""
        ...

    def on_snapshot(self, snapshot: SnapshotId, records: tuple[MetadataRecord, ...]) -> None:
        """2.34, 2.40 Forget everything: this is the state up to the snapshot's end offset."""
        ...

    def on_active(self, epoch: int) -> None:
        """2.36 This node leads the quorum in that epoch, and everything committed before has been applied."""
        ...

    def on_inactive(self) -> None:
        """2.21 It leads no longer; told once for every `on_active`."""
        ...

    def on_leader(self, leader_id: int | None, epoch: int) -> None:
        """Who leads, as far as this node knows; told at every change of either."""
        ...

    def snapshot(self) -> tuple[MetadataRecord, ...]:
        """2.43 Everything that has been applied so far, as records."""
        ...
