"""replication/segment.py: one stretch of a log: which batch lies where, and the two index files beside it (5.49, 5.51).

In     the base offset, size and time of each batch, as it is appended or found while loading
Out    positions in the `.log` file; the bytes that `.index` and `.timeindex` hold
Keeps  three numbers per batch, no batch: the bytes are on the disk, and what is served is what the disk gives back (5.45)
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from struct import Struct as Layout

_INDEX_ENTRY = Layout(">ii")  # offset relative to the segment's base, position in the file
INDEX_ENTRY_SIZE = _INDEX_ENTRY.size
_TIME_ENTRY = Layout(">qi")  # timestamp, offset relative to the segment's base
_MOST_RELATIVE = 2**31 - 1


class Segment:
    """A `.log` file and what is known about it."""

    def __init__(self, directory: str, base_offset: int) -> None:
        stem = f"{directory}/{base_offset:020d}"
        self.log_path, self.index_path, self.time_index_path = f"{stem}.log", f"{stem}.index", f"{stem}.timeindex"
        self.base_offset = base_offset
        self.end_offset = base_offset
        self.size = 0
        self.synced_size = -1  # bytes known to be durable; -1 also after a cut that was not synced
        self.bases = array("q")
        self.positions = array("q")
        self.timestamps = array("q")
        self.index = bytearray()
        self.time_index = bytearray()
        self.time_index_written = 0  # bytes of it that are in the file
        self.max_timestamp = -1
        self._offset_of_max = base_offset
        self._unindexed = 0

    # -- growing and shrinking ------------------------------------------------------------------------------------------

    def add(self, base: int, end: int, size: int, timestamp: int, index_interval: int) -> bool:
        """Note a batch behind the last one. True when the index files got an entry."""
        if timestamp > self.max_timestamp:
            self.max_timestamp, self._offset_of_max = timestamp, end - 1
        indexed = self._unindexed > index_interval
        if indexed:
            self.index += _INDEX_ENTRY.pack(end - 1 - self.base_offset, self.size)
            self._note_time()
            self._unindexed = 0
        self._unindexed += size
        self.bases.append(base)
        self.positions.append(self.size)
        self.timestamps.append(timestamp)
        self.size += size
        self.end_offset = end
        return indexed

    def cut(self, offset: int, index_interval: int) -> Segment:
        """This segment without the batches that reach `offset` or beyond, indexed as if they had never been."""
        kept = Segment(self.log_path.rpartition("/")[0], self.base_offset)
        for number in range(self.batch_before(offset)):
            end = self.bases[number + 1] if number + 1 < len(self.bases) else self.end_offset
            size = self.position_of(number + 1) - self.positions[number]
            kept.add(self.bases[number], end, size, self.timestamps[number], index_interval)
        return kept

    def seal(self) -> None:
        """No more batches will come: the time index ends with the latest time."""
        self._note_time()

    def _note_time(self) -> None:
        last = _TIME_ENTRY.unpack_from(self.time_index, len(self.time_index) - _TIME_ENTRY.size)[0] if self.time_index else -1
        if self.max_timestamp > last:
            self.time_index += _TIME_ENTRY.pack(self.max_timestamp, self._offset_of_max - self.base_offset)

    @property
    def last_index_entry(self) -> bytes:
        return bytes(self.index[-INDEX_ENTRY_SIZE:])

    # -- looking up -----------------------------------------------------------------------------------------------------

    def batch_at(self, offset: int) -> int:
        """The number of the batch that contains `offset`."""
        return bisect_right(self.bases, offset) - 1

    def batch_before(self, end: int) -> int:
        """How many batches lie wholly below `end`."""
        return len(self.bases) if end >= self.end_offset else max(0, bisect_right(self.bases, end) - 1)

    def position_of(self, number: int) -> int:
        return self.positions[number] if number < len(self.positions) else self.size

    def can_index(self, end: int) -> bool:
        """Whether offsets up to `end` can still be written relative to the base."""
        return end - self.base_offset <= _MOST_RELATIVE
