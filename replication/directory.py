"""replication/directory.py: one log directory: its disk, its checkpoints, and what happens when it fails (5.6, 5.41, section 10).

In     reads and writes of the logs that live here; timers of the broker for the checkpoints
Out    the same through `Disk`; at the first I/O error `on_failure`, once, and from then on nothing at all
Keeps  what is asked of a failed directory neither happens nor calls back: whoever waited is told by the failure itself
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from replication import files
from replication.env import Chance, Disk, IoError
from replication.identity import Key, id_of_text, random_id

if TYPE_CHECKING:
    from replication.log import Log

OnDone = Callable[[], None]

_METADATA_LOG = "__cluster_metadata-0"  # lies in the first log directory, and is not a partition's


def nobody() -> None:
    """For writes that nobody waits for."""


class LogDirectory:
    """A disk that can fail as a whole."""

    def __init__(self, disk: Disk, on_failure: Callable[[LogDirectory, IoError], None]) -> None:
        self.disk = disk
        self.id = bytes(16)
        self.failed: IoError | None = None
        self.logs: dict[Key, Log] = {}
        self.recovery_points: files.PartitionOffsets = {}
        """As in the checkpoint file: what a restart would trust."""
        self.checkpointed: set[tuple[str, int]] = set()
        """Names that a checkpoint file may have an entry for, also when their logs are gone."""
        self._on_failure = on_failure
        self._instead: list[OnDone] = []

    def when_failed(self, call: OnDone) -> None:
        """For whoever waits for this directory among others: a failure ends the wait, too."""
        self._instead.append(call)

    # -- the disk, with its errors taken care of ------------------------------------------------------------------------

    def append(self, path: str, data: bytes) -> bool:
        if self.failed is not None:
            return False
        error = self.disk.append(path, data)
        return error is None or self._went_well(error)

    def truncate(self, path: str, size: int) -> bool:
        return self.failed is None and self._went_well(self.disk.truncate(path, size))

    def read(self, path: str, position: int = 0, length: int | None = None) -> bytes | None:
        if self.failed is not None:
            return None
        data = self.disk.read(path, position, length)
        if isinstance(data, IoError):
            self._went_well(data)
            return None
        if length is not None and len(data) < length:
            self._went_well(IoError(f"{path} ends early"))
            return None
        return data

    def paths(self) -> tuple[str, ...]:
        names = self.disk.list()
        if isinstance(names, IoError):
            self._went_well(names)
            return ()
        return tuple(sorted(names))

    def sync(self, path: str, then: OnDone) -> None:
        if self.failed is None:
            self.disk.sync(path, self._followed_by(then))

    def replace(self, path: str, data: bytes, then: OnDone = nobody) -> None:
        if self.failed is None:
            self.disk.replace(path, data, self._followed_by(then))

    def delete(self, path: str, then: OnDone = nobody) -> None:
        if self.failed is None:
            self.disk.delete(path, self._followed_by(then))

    def _followed_by(self, then: OnDone) -> Callable[[IoError | None], None]:
        def done(error: IoError | None) -> None:
            if self._went_well(error) and self.failed is None:
                then()

        return done

    def _went_well(self, error: IoError | None) -> bool:
        """10.1 An I/O error takes the directory offline, all of it and for good."""
        if error is not None and self.failed is None:
            self.failed = error
            self._on_failure(self, error)
            for call in self._instead:
                call()
        return error is None

    # -- opening --------------------------------------------------------------------------------------------------------

    def open(self, cluster_id: str, node_id: int, chance: Chance) -> None:
        """Take the directory's id, or give it one."""
        data = self.read(files.META_PROPERTIES) if files.META_PROPERTIES in self.paths() else None
        properties = files.read_meta_properties(data) if data is not None else None
        if properties is not None:
            self.id = id_of_text(properties["directory.id"])
        else:
            self.id = random_id(chance)
            self.replace(files.META_PROPERTIES, files.meta_properties_text(cluster_id, node_id, self.id))

    def read_checkpoint(self, name: str) -> files.PartitionOffsets:
        """A checkpoint's entries; a missing or damaged one has none, and every reader can live with that."""
        data = self.read(name) if name in self.paths() else None
        offsets = (files.read_offsets(data) if data is not None else None) or {}
        self.checkpointed.update(offsets)
        return offsets

    def partition_directories(self) -> Iterator[tuple[str, list[str]]]:
        """Each partition's directory with the names of its files."""
        found: dict[str, list[str]] = {}
        for path in self.paths():
            directory, slash, name = path.partition("/")
            if slash and directory != _METADATA_LOG and files.partition_of_directory(directory):
                found.setdefault(directory, []).append(name)
        yield from found.items()

    # -- checkpoints ----------------------------------------------------------------------------------------------------

    def checkpoint_hw(self, then: OnDone = nobody) -> None:
        """5.6"""
        self._write_offsets(files.HW_CHECKPOINT, {log.name: log.hw for log in self.logs.values()}, then)

    def checkpoint_recovery_points(self, then: OnDone = nobody) -> None:
        """5.41"""
        self.recovery_points = {log.name: log.durable_end for log in self.logs.values()}
        self._write_offsets(files.RECOVERY_CHECKPOINT, self.recovery_points, then)

    def lower_recovery_point(self, name: tuple[str, int], durable_end: int, then: OnDone) -> None:
        """One log has less that is durable than the file says; the others' entries stay as they are."""
        self.recovery_points[name] = durable_end
        self._write_offsets(files.RECOVERY_CHECKPOINT, self.recovery_points, then)

    def checkpoint_log_starts(self, then: OnDone = nobody) -> None:
        """5.49 Only what a file's name does not tell: a log that starts with its first segment needs no entry."""
        starts = {log.name: log.log_start for log in self.logs.values() if log.log_start > log.first_segment_base}
        self._write_offsets(files.LOG_START_CHECKPOINT, starts, then)

    def _write_offsets(self, file: str, offsets: files.PartitionOffsets, then: OnDone) -> None:
        self.checkpointed.update(offsets)
        self.replace(file, files.offsets_text(offsets), then)
