"""clusters/sim/invariants/stored.py: the batches of a log, read past every fault.

In     a log; bytes of a message
Out    `Batch`: its first offset, its end, its leader epoch and its CRC: two batches that agree in these are one
Keeps  a disk that refuses, or is slow, does not refuse or slow a look at its content: whoever looks must not be felt
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from struct import Struct as Layout
from typing import Any

from replication.log import Log
from replication.segment import Segment

Batch = tuple[int, int, int, int]
"""First offset, end offset, leader epoch, CRC."""

_IDENTITY = Layout(">qiixI2xi")  # base offset, length, leader epoch; magic; CRC; attributes; last offset delta
_LENGTH_FROM = 12


def batches(log: Log, start: int, end: int, most: int | None = None) -> list[Batch]:
    """The batches that begin at `start` or later and lie wholly below `end`, in order; the first few, if `most` says so."""
    segments = log.segments
    if not segments or start >= end:
        return []
    last = segments[-1]
    if start >= last.base_offset:  # the usual case: what has just been added
        return _of_segment(log, last, start, end, most)
    first = max(0, bisect_right(segments, start, key=lambda segment: segment.base_offset) - 1)
    found: list[Batch] = []
    for segment in segments[first:]:
        found += _of_segment(log, segment, start, end, most)
        if most is not None and len(found) >= most:
            break
    return found


def _of_segment(log: Log, segment: Segment, start: int, end: int, most: int | None) -> list[Batch]:
    bases, positions, data = segment.bases, segment.positions, _content(log, segment)
    found: list[Batch] = []
    whole = len(data) - _IDENTITY.size
    for number in range(bisect_left(bases, start), len(bases)):
        if positions[number] > whole or len(found) == most:
            break
        base, _, epoch, crc, delta = _IDENTITY.unpack_from(data, positions[number])
        if base + delta >= end:
            break
        found.append((base, base + delta + 1, epoch, crc))
    return found


def batch_at(log: Log, base: int) -> Batch | None:
    """The batch that begins there."""
    segment = log.segments[-1]
    if base < segment.base_offset:
        found = batches(log, base, log.leo, most=1)
        return found[0] if found and found[0][0] == base else None
    number, data = bisect_left(segment.bases, base), _content(log, segment)
    if number == len(segment.bases) or segment.positions[number] + _IDENTITY.size > len(data):
        return None
    first, _, epoch, crc, delta = _IDENTITY.unpack_from(data, segment.positions[number])
    return (base, base + delta + 1, epoch, crc) if first == base else None


def _content(log: Log, segment: Segment) -> bytes | bytearray:
    disk: Any = log.directory.disk
    file: Any = disk.files.get(segment.log_path, b"")
    content: bytes | bytearray = getattr(file, "data", file)
    return content


def carried(records: bytes) -> Iterator[Batch]:
    """The batches in an answer."""
    position, size = 0, len(records)
    while position + _IDENTITY.size <= size:
        base, length, epoch, crc, delta = _IDENTITY.unpack_from(records, position)
        if length <= 0:
            return
        yield base, base + delta + 1, epoch, crc
        position += length + _LENGTH_FROM
