"""replication/timestamps.py: offsets by time (7.9).

In     a log, a time, the end up to which a client may see
Out    (offset, timestamp) of the record that answers, or None
Why    nodes keep one time per batch; only the one batch that holds the answer is read and decoded
"""

from __future__ import annotations

from replication.batch import decode, header_at
from replication.log import Log
from replication.segment import Segment


def first_at_or_after(log: Log, timestamp: int, end: int) -> tuple[int, int] | None:
    """The first record below `end` that is not older than `timestamp`."""
    for segment in log.segments:
        for number in range(segment.batch_before(end)):
            if segment.timestamps[number] >= timestamp and (found := _first_in_batch(log, segment, number, timestamp)):
                return found
    return None


def largest(log: Log, end: int) -> tuple[int, int] | None:
    """The first record below `end` with the largest timestamp."""
    stamps = (stamp for segment in log.segments for stamp in segment.timestamps[: segment.batch_before(end)])
    most = max(stamps, default=-1)
    return first_at_or_after(log, most, end) if most >= 0 else None


def _first_in_batch(log: Log, segment: Segment, number: int, timestamp: int) -> tuple[int, int] | None:
    start = segment.positions[number]
    data = log.directory.read(segment.log_path, start, segment.position_of(number + 1) - start)
    header = header_at(data) if data else None
    if data is None or header is None:
        return None
    try:
        records = tuple(decode(data, header))
    except ValueError:  # compressed, or rotten: the batch is as near as we can come
        return max(header.base_offset, log.log_start), header.max_timestamp
    return next(((r.offset, r.timestamp) for r in records if r.timestamp >= timestamp and r.offset >= log.log_start), None)
