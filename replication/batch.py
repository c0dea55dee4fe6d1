"""replication/batch.py: Kafka's record batch, format v2: the bytes that clients write and everybody keeps.

In     records, from the client that encodes them once; bytes, everywhere else
Out    headers by one `struct` call, so that a node never builds an object per record; records again, for the client that reads
Keeps  a batch is immutable bytes; base offset, length and leader epoch lie outside the CRC, so a leader stamps them with one copy
Not    whether a batch may be appended: rules/produce.py, rules/fetch.py
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from struct import Struct as Layout

import msgspec

from replication.crc import crc32c

MAGIC = 2
NO_PRODUCER = -1
LOG_APPEND_TIME = 0x08  # attribute bit: the broker's clock made the timestamps
COMPRESSION = 0x07  # attribute bits
CONTROL = 0x20  # attribute bit: written by the system, not for applications

_HEADER = Layout(">qiibIhiqqqhii")
_STAMP = Layout(">qii")  # base offset, batch length, partition leader epoch: everything before the magic byte
_CRC = Layout(">I")
_CHECKED = Layout(">hiqqqhii")  # from the attributes on: what the CRC covers
HEADER_SIZE = _HEADER.size
_LENGTH_FROM = 12  # the length field does not count itself and the base offset
_CRC_FROM = 21
_CRC_AT = 17
_STAMP_END = 16
_LEAST_RECORD = 6  # attributes, time, offset, no key, an empty value, no headers: a byte each
_NO_KEY = 1  # a length of -1, in zigzag


class Header(msgspec.Struct, frozen=True, gc=False):
    """The 61 bytes before a batch's records."""

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records_count: int

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def end_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def size(self) -> int:
        return self.batch_length + _LENGTH_FROM


class Record(msgspec.Struct, frozen=True, gc=False):
    """One record, as a client sees it. `leader_epoch` is its batch's; offset and epoch are -1 before the leader stamped them."""

    value: bytes | None
    key: bytes | None = None
    timestamp: int = -1
    headers: tuple[tuple[str, bytes | None], ...] = ()
    offset: int = -1
    leader_epoch: int = -1


# -- headers ------------------------------------------------------------------------------------------------------------


def header_at(data: bytes, position: int = 0) -> Header | None:
    """The header at `position`, or None where no whole batch can start: too few bytes left, or a length that cannot be."""
    left = len(data) - position
    if left < HEADER_SIZE:
        return None
    header = Header(*_HEADER.unpack_from(data, position))
    return header if HEADER_SIZE <= header.batch_length + _LENGTH_FROM <= left else None


def headers(data: bytes) -> Iterator[tuple[int, Header]]:
    """Each whole batch of `data` with its position; ends where no further one starts."""
    position = 0
    while header := header_at(data, position):
        yield position, header
        position += header.size


def crc_is_right(data: bytes, header: Header, position: int = 0) -> bool:
    """Whether the bytes from the attributes to the end of the batch are those that were written."""
    return crc32c(data[position + _CRC_FROM : position + header.batch_length + _LENGTH_FROM]) == header.crc


def is_whole(data: bytes, header: Header, position: int = 0) -> bool:
    """Format v2, at least one record, offsets without gaps, right CRC."""
    return is_well_formed(header) and crc_is_right(data, header, position)


def is_well_formed(header: Header) -> bool:
    return header.magic == MAGIC and header.records_count >= 1 and header.last_offset_delta == header.records_count - 1


def stamped(data: bytes, base_offset: int, leader_epoch: int) -> bytes:
    """5.1 The leader's one copy: the same batch with the offsets it got and the epoch under which it was appended."""
    return _STAMP.pack(base_offset, len(data) - _LENGTH_FROM, leader_epoch) + data[_STAMP_END:]


def with_append_time(data: bytes, header: Header, now_ms: int) -> bytes:
    """6.12 The same batch with the broker's time as its maximum; that field is covered, so the CRC is computed anew."""
    attributes = header.attributes | LOG_APPEND_TIME
    checked = _CHECKED.pack(
        attributes,
        header.last_offset_delta,
        header.base_timestamp,
        now_ms,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        header.records_count,
    )
    covered = checked + data[HEADER_SIZE:]
    return data[:_CRC_AT] + _CRC.pack(crc32c(covered)) + covered


# -- records ------------------------------------------------------------------------------------------------------------


def encode(
    records: Sequence[Record],
    *,
    producer_id: int = NO_PRODUCER,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    attributes: int = 0,
) -> bytes:
    """A batch of these records, uncompressed, as a producer sends it: base offset 0, leader epoch -1."""
    if not records:
        raise ValueError("a batch holds at least one record")
    base_timestamp = records[0].timestamp
    body = b"".join(_record(record, index, record.timestamp - base_timestamp) for index, record in enumerate(records))
    covered = (
        _CHECKED.pack(
            attributes,
            len(records) - 1,
            base_timestamp,
            max(record.timestamp for record in records),
            producer_id,
            producer_epoch,
            base_sequence,
            len(records),
        )
        + body
    )
    length = _CRC_FROM + len(covered) - _LENGTH_FROM
    return _STAMP.pack(0, length, -1) + bytes([MAGIC]) + _CRC.pack(crc32c(covered)) + covered


def decode(data: bytes, header: Header, position: int = 0) -> list[Record]:
    """The records of the batch at `position`. Only for batches whose CRC is right; raises ValueError where records do not fit."""
    if header.attributes & COMPRESSION:
        raise ValueError("compressed batches are not decoded here")
    at, end = position + HEADER_SIZE, position + header.size
    append_time = header.max_timestamp if header.attributes & LOG_APPEND_TIME else None
    records = []
    for _ in range(header.records_count):
        length, at = _varint(data, at)
        if length < 0 or at + length > end:
            raise ValueError("a record reaches beyond its batch")
        records.append(_decoded(data, at, at + length, header, append_time))
        at += length
    if at != end:
        raise ValueError("bytes are left behind the last record of a batch")
    return records


def _record(record: Record, offset_delta: int, timestamp_delta: int) -> bytes:
    parts = [b"\0", _zigzag(timestamp_delta), _zigzag(offset_delta), _sized(record.key), _sized(record.value)]
    parts.append(_zigzag(len(record.headers)))
    for name, value in record.headers:
        parts += [_sized(name.encode()), _sized(value)]
    body = b"".join(parts)
    return _zigzag(len(body)) + body


def _decoded(data: bytes, at: int, end: int, header: Header, append_time: int | None) -> Record:
    if end - at >= _LEAST_RECORD and data[at + 3] == _NO_KEY and (data[at + 1] | data[at + 2] | data[at + 4]) < 0x80:
        times, offset, size = data[at + 1], data[at + 2], data[at + 4]
        if not (offset | size) & 1 and at + _LEAST_RECORD + (size >> 1) == end and not data[end - 1]:
            # As nearly all of them are: no key, no headers, every number in one byte.
            timestamp = header.base_timestamp + ((times >> 1) ^ -(times & 1)) if append_time is None else append_time
            plain = data[at + _LEAST_RECORD - 1 : end - 1]
            return Record(plain, None, timestamp, (), header.base_offset + (offset >> 1), header.partition_leader_epoch)
    timestamp_delta, at = _varint(data, at + 1)  # behind the record's own attributes, which are unused
    offset_delta, at = _varint(data, at)
    key, at = _taken(data, at, end)
    value, at = _taken(data, at, end)
    count, at = _varint(data, at)
    pairs: tuple[tuple[str, bytes | None], ...] = ()
    for _ in range(count):
        name, at = _taken(data, at, end)
        content, at = _taken(data, at, end)
        pairs += (((name or b"").decode(), content),)
    if at != end:
        raise ValueError("a record is longer or shorter than it says")
    timestamp = header.base_timestamp + timestamp_delta if append_time is None else append_time
    return Record(value, key, timestamp, pairs, header.base_offset + offset_delta, header.partition_leader_epoch)


def _sized(data: bytes | None) -> bytes:
    return _zigzag(-1) if data is None else _zigzag(len(data)) + data


def _taken(data: bytes, at: int, end: int) -> tuple[bytes | None, int]:
    length, at = _varint(data, at)
    if length < 0:
        return None, at
    if at + length > end:
        raise ValueError("a field reaches beyond its record")
    return data[at : at + length], at + length


def _zigzag(number: int) -> bytes:
    """Seven bits a byte, lowest first; small negatives stay small."""
    rest = number << 1 if number >= 0 else (-number << 1) - 1
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    if at < len(data) and (byte := data[at]) < 0x80:  # most of them are small
        return (byte >> 1) ^ -(byte & 1), at + 1
    result = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("a number in a record does not end")
        byte = data[at]
        at += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (result >> 1) ^ -(result & 1), at
        shift += 7
