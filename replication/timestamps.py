"""replication/timestamps.py: offsets by time (7.9).

In     a log, a time, the end up to which a client may see
Out    (offset, timestamp) of the record that answers, or None
Why    nodes keep one time per batch; only the one batch that holds the answer is read and decoded
"""

from __future__ import annotations

from collections.abc import Iterator

from replication.batch import decode, header_at
from replication.log import Log
from replication.segment import Segment


def first_at_or_after(log: Log, timestamp: int, end: int) -> tuple[int, int] | None:
    """The first record below `end` that is not older than `timestamp`."""
    for segment, number in _readable_batches(log, end):
        if segment.timestamps[number] >= timestamp:
            found = [record for record in _records(log, segment, number) if record[1] >= timestamp]
            if found:
                return found[0]
    return None


def largest(log: Log, end: int) -> tuple[int, int] | None:
    """The first record below `end` with the largest timestamp."""
    stamps = []
    for segment, number in _readable_batches(log, end):
        if segment.bases[number] >= log.log_start:
            stamps.append(segment.timestamps[number])
        else:  # the log starts inside this batch: its own time may be that of a record that is gone
            stamps += [timestamp for _, timestamp in _records(log, segment, number)]
    most = max(stamps, default=-1)
    return first_at_or_after(log, most, end) if most >= 0 else None


def _readable_batches(log: Log, end: int) -> Iterator[tuple[Segment, int]]:
    for segment in log.segments:
        if segment.end_offset > log.log_start:
            first = max(0, segment.batch_at(log.log_start))
            yield from ((segment, number) for number in range(first, segment.batch_before(end)))


def _records(log: Log, segment: Segment, number: int) -> list[tuple[int, int]]:
    """(offset, timestamp) of the records of one batch that are still in the log."""
    start = segment.positions[number]
    data = log.directory.read(segment.log_path, start, segment.position_of(number + 1) - start)
    header = header_at(data) if data else None
    if data is None or header is None:
        return []
    try:
        return [(record.offset, record.timestamp) for record in decode(data, header) if record.offset >= log.log_start]
    except ValueError:  # compressed, or rotten: the batch is as near as we can come
        return [(max(header.base_offset, log.log_start), header.max_timestamp)]
