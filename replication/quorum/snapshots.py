"""replication/quorum/snapshots.py: the files that replace the beginning of the metadata log (2.32 to 2.34, 2.43).

In     the whole state as records; chunks of another member's snapshot
Out    snapshot files by id; their records again; how large and how old they are
Keeps  a snapshot is listed here once it is durable and whole: what is on its way has another name, and dies with the process
Form   the records in batches, stamped with the snapshot's epoch and offsets from 0, then a control batch that says: this was all
Not    when one is made, and what it lets the log forget: snapshotting.py; how one is fetched: download.py
"""

from __future__ import annotations

from collections.abc import Sequence

from replication import files
from replication.barrier import Barrier
from replication.batch import header_at, stamped
from replication.directory import LogDirectory, OnDone
from replication.quorum_messages import SnapshotId
from replication.records import METADATA_TOPIC, MetadataRecord, NoOp, batch_of, decisions
from replication.rules import Rules

METADATA_LOG = METADATA_TOPIC, 0
PATH = files.partition_directory(*METADATA_LOG)
_SUFFIX = ".checkpoint"
_PART = ".part"
_PER_BATCH = 500  # records


class Snapshots:
    """The snapshots of one member."""

    def __init__(self, directory: LogDirectory, rules: Rules) -> None:
        self.directory, self.rules = directory, rules
        self.sizes: dict[SnapshotId, int] = {}
        """Oldest first."""
        self._paths: dict[SnapshotId, str] = {}

    @property
    def oldest(self) -> SnapshotId | None:
        return next(iter(self.sizes), None)

    @property
    def newest(self) -> SnapshotId | None:
        return next(reversed(self.sizes), None)

    # -- finding and losing ---------------------------------------------------------------------------------------------

    def find(self, names: Sequence[str], then: OnDone) -> None:
        """2.43 Take up the whole ones, delete the partial ones. `then` comes once what was found would survive a power cut."""
        found = {id_of_name(name): f"{PATH}/{name}" for name in names if self.rules.is_snapshot_file(name)}
        durable = Barrier()
        for snapshot in sorted(found, key=lambda each: (each.end_offset, each.epoch)):
            data = self.directory.read(found[snapshot])
            if data is not None:
                self._paths[snapshot], self.sizes[snapshot] = found[snapshot], len(data)
                self.directory.sync(found[snapshot], durable.begin())
        for name in names:
            if name.endswith(_PART) and f"{PATH}/{name}" not in found.values():
                self.directory.delete(f"{PATH}/{name}")
        durable.then(then)

    def keep_only(self, snapshots: Sequence[SnapshotId]) -> None:
        """Files of the others may come back with a power cut: loading goes by the newest, so that does no harm."""
        for snapshot in tuple(self.sizes):
            if snapshot not in snapshots:
                del self.sizes[snapshot]
                self.directory.delete(self._paths.pop(snapshot))

    # -- writing --------------------------------------------------------------------------------------------------------

    def write(self, snapshot: SnapshotId, data: bytes, then: OnDone) -> None:
        """2.43 The file gets its name when all of it is durable; only then may it be added."""
        self.directory.replace(f"{PATH}/{name_of(snapshot)}", data, then)

    def add(self, snapshot: SnapshotId, size: int) -> None:
        """It is durable, and of use."""
        self._paths[snapshot] = f"{PATH}/{name_of(snapshot)}"
        self.sizes[snapshot] = size
        self.sizes = dict(sorted(self.sizes.items(), key=lambda entry: entry[0].end_offset))

    # -- reading --------------------------------------------------------------------------------------------------------

    def chunk(self, snapshot: SnapshotId, position: int, max_bytes: int) -> bytes | None:
        """2.34"""
        length = min(max_bytes, self.sizes[snapshot] - position)
        return self.directory.read(self._paths[snapshot], position, length)

    def read(self, snapshot: SnapshotId) -> bytes | None:
        return self.directory.read(self._paths[snapshot])

    def written_ms(self, snapshot: SnapshotId) -> int:
        """By the clock of whoever wrote it."""
        data = self.directory.read(self._paths[snapshot])
        header = header_at(data) if data else None
        return header.max_timestamp if header is not None else 0


def snapshot_bytes(records: Sequence[MetadataRecord], epoch: int, now_ms: int) -> bytes:
    parts = [records[first : first + _PER_BATCH] for first in range(0, len(records), _PER_BATCH)]
    batches = [stamped(batch_of(part, now_ms), number * _PER_BATCH, epoch) for number, part in enumerate(parts)]
    return b"".join([*batches, stamped(batch_of((NoOp(),), now_ms, by_quorum=True), len(records), epoch)])


def snapshot_records(data: bytes, rules: Rules) -> tuple[MetadataRecord, ...] | None:
    """None for what is not a whole snapshot."""
    found = list(decisions(data))
    if not rules.trusts_snapshot(bool(found) and found[-1].by_quorum):
        return None
    return tuple(record for part in found if not part.by_quorum for record in part.records)


def name_of(snapshot: SnapshotId) -> str:
    return f"{snapshot.end_offset:020d}-{snapshot.epoch:010d}{_SUFFIX}"


def part_path(snapshot: SnapshotId) -> str:
    return f"{PATH}/{name_of(snapshot)}{_PART}"


def id_of_name(name: str) -> SnapshotId:
    offset, _, epoch = name.partition(".")[0].partition("-")
    return SnapshotId(int(offset), int(epoch))
