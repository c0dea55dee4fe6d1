"""tests/replication/kafka_files.py: Kafka's file formats, read a second time, from the format's facts alone.

In     bytes and texts as a broker's disk holds them
Out    plain values; FormatError, with a reason, where they are not what Kafka writes
Keeps  independent of replication/: it shares no line and no constant with the code that it judges; only CRC-32C is a library's
"""

from __future__ import annotations

import json
import struct
from base64 import urlsafe_b64decode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import google_crc32c

Files = Mapping[str, bytes | bytearray]


class FormatError(Exception):
    """These bytes are not what the format says."""


# -- record batches, format v2 ------------------------------------------------------------------------------------------
#
#    0 base offset, int64          21 attributes, int16            43 producer id, int64
#    8 batch length, int32         23 last offset delta, int32     51 producer epoch, int16
#   12 leader epoch, int32         27 base timestamp, int64        53 base sequence, int32
#   16 magic, int8                 35 maximum timestamp, int64     57 count of records, int32
#   17 CRC-32C of all from 21 on                                   61 records


@dataclass(frozen=True)
class Batch:
    """One record batch as it lies in a file."""

    position: int
    data: bytes
    base_offset: int
    last_offset: int
    leader_epoch: int
    attributes: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    count: int

    @property
    def end(self) -> int:
        return self.last_offset + 1

    @property
    def size(self) -> int:
        return len(self.data)


@dataclass(frozen=True)
class ReadRecord:
    """One record, with the deltas added up."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


def batch_at(data: bytes, position: int = 0) -> Batch:
    """The batch at `position`, if it is whole and its CRC is right."""
    if len(data) - position < 61:
        raise FormatError("no room for a header")
    base, length, epoch = struct.unpack_from(">qii", data, position)
    magic, crc = struct.unpack_from(">bI", data, position + 16)
    end = position + 12 + length
    if length < 49 or end > len(data):
        raise FormatError("the batch is cut short, or its length cannot be")
    if magic != 2:
        raise FormatError(f"magic {magic}")
    if google_crc32c.value(data[position + 21 : end]) != crc:
        raise FormatError("wrong CRC")
    attributes, delta, first_time, last_time, pid, pid_epoch, sequence, count = struct.unpack_from(
        ">hiqqqhii", data, position + 21
    )
    if count < 1 or delta != count - 1:
        raise FormatError("the count of records is not that of the offsets")
    return Batch(
        position,
        data[position:end],
        base,
        base + delta,
        epoch,
        attributes,
        first_time,
        last_time,
        pid,
        pid_epoch,
        sequence,
        count,
    )


def batches(data: bytes) -> list[Batch]:
    """All of a file's batches; every byte must belong to one."""
    found: list[Batch] = []
    position = 0
    while position < len(data):
        found.append(batch_at(data, position))
        position += found[-1].size
    return found


def records(batch: Batch) -> list[ReadRecord]:
    """The records of an uncompressed batch; every byte must belong to one."""
    at, found = 61, []
    for _ in range(batch.count):
        length, start = varint(batch.data, at)
        at = start + length
        found.append(_record(batch, batch.data[start:at]))
    if at != len(batch.data):
        raise FormatError("bytes are left behind the last record")
    return found


def _record(batch: Batch, data: bytes) -> ReadRecord:
    if data[0] != 0:
        raise FormatError("a record has attributes of its own")
    timestamp_delta, at = varint(data, 1)
    offset_delta, at = varint(data, at)
    key, at = _bytes(data, at)
    value, at = _bytes(data, at)
    count, at = varint(data, at)
    headers = []
    for _ in range(count):
        name, at = _bytes(data, at)
        content, at = _bytes(data, at)
        headers.append(((name or b"").decode(), content))
    if at != len(data):
        raise FormatError("a record is longer than its fields")
    return ReadRecord(batch.base_offset + offset_delta, batch.base_timestamp + timestamp_delta, key, value, tuple(headers))


def varint(data: bytes, at: int) -> tuple[int, int]:
    """A zigzag number, seven bits a byte, lowest first; and where the next field starts."""
    raw = 0
    for number in range(10):
        raw += (data[at + number] & 127) << (7 * number)
        if data[at + number] < 128:
            return (-(raw // 2) - 1 if raw % 2 else raw // 2), at + number + 1
    raise FormatError("a number of more than ten bytes")


def _bytes(data: bytes, at: int) -> tuple[bytes | None, int]:
    length, at = varint(data, at)
    if length == -1:
        return None, at
    if length < 0 or at + length > len(data):
        raise FormatError("a field reaches beyond its record")
    return data[at : at + length], at + length


# -- what a stop left of a log ------------------------------------------------------------------------------------------


def segment_bases(files: Files, directory: str = "t-0") -> list[int]:
    """The base offsets of a partition's segments, in order."""
    names = [path.removeprefix(f"{directory}/") for path in files if path.startswith(f"{directory}/") and path.endswith(".log")]
    for name in names:
        if len(name) != 24 or not name[:20].isdigit():
            raise FormatError(f"{name} is not twenty digits and .log")
    return sorted(int(name[:20]) for name in names)


def surviving(files: Files, directory: str = "t-0", *, trusted_below: int = 0) -> list[list[Batch]]:
    """5.5 The batches of each segment before the first that cannot be trusted: broken, or not where its offset says.

    Batches that end at or below `trusted_below`, the recovery point, were durable: their CRC is not looked at.
    """
    found: list[list[Batch]] = []
    end: int | None = None
    for base in segment_bases(files, directory):
        data = bytes(files[f"{directory}/{base:020d}.log"])
        if end is not None and base != end:
            break
        found.append([])
        end, position = base, 0
        while position < len(data):
            try:
                batch = _trusting(data, position, trusted_below)
            except FormatError:
                return found
            if batch.base_offset != end:
                return found
            found[-1].append(batch)
            end, position = batch.end, position + batch.size
    return found


def _trusting(data: bytes, position: int, below: int) -> Batch:
    try:
        return batch_at(data, position)
    except FormatError:
        rest = data[position:]
        if len(rest) < 61:
            raise
        mended = (
            rest[:17] + google_crc32c.value(rest[21 : 12 + struct.unpack_from(">i", rest, 8)[0]]).to_bytes(4, "big") + rest[21:]
        )
        batch = batch_at(mended)  # as if the CRC were right: everything else must be
        if batch.end > below:
            raise
        return replace(batch, position=position, data=rest[: batch.size])


def flat(segments: Iterable[Iterable[Batch]]) -> list[Batch]:
    return [batch for segment in segments for batch in segment]


# -- the index files ----------------------------------------------------------------------------------------------------


def index_entries(data: bytes) -> list[tuple[int, int]]:
    """(offset relative to the segment's base, position), eight bytes each."""
    if len(data) % 8:
        raise FormatError("a torn index entry")
    return [(offset, position) for offset, position in struct.iter_unpack(">ii", data)]


def time_index_entries(data: bytes) -> list[tuple[int, int]]:
    """(timestamp, offset relative to the segment's base), twelve bytes each."""
    if len(data) % 12:
        raise FormatError("a torn time index entry")
    return [(timestamp, offset) for timestamp, offset in struct.iter_unpack(">qi", data)]


# -- texts --------------------------------------------------------------------------------------------------------------


def checkpoint(data: bytes, fields: int) -> list[tuple[str, ...]]:
    """A version, which is 0; a count; that many entries, a line each."""
    text = data.decode("ascii")
    if not text.endswith("\n"):
        raise FormatError("the last line does not end")
    version, count, *lines = text[:-1].split("\n")
    entries = [tuple(line.split(" ")) for line in lines]
    if version != "0" or count != str(len(entries)) or any(len(entry) != fields for entry in entries):
        raise FormatError(f"not a checkpoint: {text!r}")
    return entries


def offset_checkpoint(data: bytes) -> dict[tuple[str, int], int]:
    return {(topic, int(partition)): int(offset) for topic, partition, offset in checkpoint(data, 3)}


def epoch_checkpoint(data: bytes) -> list[tuple[int, int]]:
    return [(int(epoch), int(start)) for epoch, start in checkpoint(data, 2)]


def properties(data: bytes) -> dict[str, str]:
    """Java's properties, as far as Kafka needs them here."""
    lines = [line for line in data.decode("ascii").splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def partition_metadata(data: bytes) -> bytes:
    """The topic id of a partition's directory."""
    version, topic = data.decode("ascii").splitlines()
    if version != "version: 0" or not topic.startswith("topic_id: "):
        raise FormatError(f"not a partition.metadata: {data!r}")
    return uuid(topic.removeprefix("topic_id: "))


def clean_shutdown(data: bytes) -> int:
    """The broker epoch that a clean stop left."""
    marker = json.loads(data)
    if set(marker) != {"version", "brokerEpoch"} or marker["version"] != 0:
        raise FormatError(f"not a marker: {data!r}")
    epoch: int = marker["brokerEpoch"]
    return epoch


def uuid(text: str) -> bytes:
    """Kafka writes an id as 22 characters of base64 for URLs, without padding."""
    if len(text) != 22:
        raise FormatError(f"{text} is not 22 characters long")
    return urlsafe_b64decode(text + "==")
