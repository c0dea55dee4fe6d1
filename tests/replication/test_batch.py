"""Kafka's record batch: what `replication.batch` writes, read by the tests' own reader, and the other way round."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.batch import (
    COMPRESSION,
    Header,
    Record,
    crc_is_right,
    decode,
    encode,
    header_at,
    headers,
    is_whole,
    stamped,
    with_append_time,
)
from replication.crc import crc32c
from tests.replication import kafka_files as kafka

contents = st.none() | st.binary(max_size=40) | st.integers(62, 8_300).map(bytes)
"""Also empty, and as long as makes the length take one, two or three bytes."""

timestamps = st.integers(-1, 2**42) | st.sampled_from([-1, 0, 2**63 - 1, -(2**63)])

records = st.builds(
    Record,
    value=contents,
    key=contents,
    timestamp=timestamps,
    headers=st.lists(st.tuples(st.text(max_size=8), contents), max_size=3).map(tuple),
)

producers = st.fixed_dictionaries(
    {},
    optional={
        "producer_id": st.integers(-1, 2**63 - 1),
        "producer_epoch": st.integers(-1, 2**15 - 1),
        "base_sequence": st.integers(-1, 2**31 - 1),
    },
)

offsets = st.integers(0, 2**62)
epochs = st.integers(-1, 2**31 - 1)


def header_of(data: bytes, position: int = 0) -> Header:
    header = header_at(data, position)
    assert header is not None
    return header


def small() -> bytes:
    return encode([Record(b"value", b"key", 1_700_000_000_000, (("h", b"1"), ("none", None))), Record(None, timestamp=5)])


# -- encoding and decoding ----------------------------------------------------------------------------------------------


def test_the_checksum_is_castagnolis() -> None:
    """6.12 CRC-32C, not the CRC-32 of zip files: the standard's own check value."""
    assert crc32c(b"123456789") == 0xE3069283


def test_a_batch_byte_by_byte() -> None:
    """5.51 Every field of a one-record batch where Kafka has it, as literal bytes."""
    data = encode([Record(b"v", b"k", 1_000, (("h", None),))], producer_id=7, producer_epoch=3, base_sequence=9)
    covered = bytes.fromhex(
        "0000 00000000 00000000000003e8 00000000000003e8"  # attributes, last offset delta, first and maximum timestamp
        "0000000000000007 0003 00000009 00000001"  # producer id, producer epoch, base sequence, count
        "16 00 00 00 02 6b 02 76 02 02 68 01"  # length 11, attributes, deltas; k; v; one header: h, nothing
    )
    outside = bytes.fromhex("0000000000000000") + struct.pack(">i", 9 + len(covered)) + bytes.fromhex("ffffffff 02")
    assert data == outside + crc32c(covered).to_bytes(4, "big") + covered


@given(st.lists(records, min_size=1, max_size=5), producers)
def test_what_is_encoded_is_what_kafka_would_read(written: list[Record], producer: dict[str, int]) -> None:
    """6.12 Any records, by the tests' own reader: contents, offsets from 0, times, producer, the largest time in the header."""
    batch = kafka.batch_at(encode(written, **producer))
    assert [(r.key, r.value, r.timestamp, r.headers) for r in kafka.records(batch)] == [
        (r.key, r.value, r.timestamp, r.headers) for r in written
    ]
    assert [r.offset for r in kafka.records(batch)] == list(range(len(written)))
    assert (batch.base_offset, batch.leader_epoch, batch.attributes) == (0, -1, 0)
    assert batch.max_timestamp == max(r.timestamp for r in written)
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (
        producer.get("producer_id", -1),
        producer.get("producer_epoch", -1),
        producer.get("base_sequence", -1),
    )


@given(st.lists(records, min_size=1, max_size=5), offsets, epochs)
def test_what_was_encoded_is_decoded_again(written: list[Record], base: int, epoch: int) -> None:
    """6.12 Any records come back as they were, with the offsets and the leader epoch of the stamp."""
    data = stamped(encode(written), base, epoch)
    read = list(decode(data, header_of(data)))
    assert read == [Record(r.value, r.key, r.timestamp, r.headers, base + number, epoch) for number, r in enumerate(written)]


def test_a_batch_without_records_cannot_be_made() -> None:
    """6.12 A batch holds at least one record."""
    with pytest.raises(ValueError, match="at least one"):
        encode([])


# -- stamping -----------------------------------------------------------------------------------------------------------


@given(st.lists(records, min_size=1, max_size=3), offsets, epochs)
def test_the_stamp_changes_offset_and_epoch_alone(written: list[Record], base: int, epoch: int) -> None:
    """5.1, 6.12 Base offset (bytes 0 to 7) and leader epoch (12 to 15) are the leader's; all else is untouched, the CRC right."""
    before = encode(written)
    after = stamped(before, base, epoch)
    assert (after[8:12], after[16:]) == (before[8:12], before[16:])
    batch = kafka.batch_at(after)  # raises where the CRC is wrong
    assert (batch.base_offset, batch.end, batch.leader_epoch) == (base, base + len(written), epoch)
    assert crc_is_right(after, header_of(after))


@given(st.lists(records, min_size=1, max_size=3), st.integers(0, 2**42))
def test_append_time_is_every_records_time(written: list[Record], now_ms: int) -> None:
    """6.12 LogAppendTime: the broker's time is the maximum, bit 3 says so, the CRC is computed anew, the records' bytes stay."""
    before = encode(written, producer_id=4, producer_epoch=1, base_sequence=2)
    after = with_append_time(before, header_of(before), now_ms)
    batch = kafka.batch_at(after)
    assert (batch.max_timestamp, batch.attributes & 0x08) == (now_ms, 0x08)
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (4, 1, 2)
    assert after[61:] == before[61:]
    assert {r.timestamp for r in decode(after, header_of(after))} == {now_ms}


# -- damage -------------------------------------------------------------------------------------------------------------


def test_any_flipped_bit_behind_the_stamp_is_noticed() -> None:
    """5.45 One wrong bit anywhere from the magic byte on, and the batch is not whole: every single bit is tried."""
    data = stamped(small(), 41, 3)
    assert is_whole(data, header_of(data))
    for position in range(16, len(data)):
        for bit in range(8):
            hurt = bytearray(data)
            hurt[position] ^= 1 << bit
            header = header_of(bytes(hurt))
            assert not is_whole(bytes(hurt), header), f"byte {position}, bit {bit}"
            if position > 16:  # the magic byte is the only one that the CRC leaves to others
                assert not crc_is_right(bytes(hurt), header), f"byte {position}, bit {bit}"


def test_offset_and_epoch_are_outside_the_checksum() -> None:
    """6.12 The limit of the CRC: a wrong base offset or leader epoch is not its business."""
    data = stamped(small(), 41, 3)
    for position in (*range(8), *range(12, 16)):
        hurt = bytearray(data)
        hurt[position] ^= 0x10
        assert is_whole(bytes(hurt), header_of(bytes(hurt)))


@given(st.lists(records, min_size=1, max_size=3), st.data())
def test_a_cut_batch_has_no_header(written: list[Record], data: st.DataObject) -> None:
    """5.5 Where bytes end early, no whole batch starts, wherever the cut is."""
    whole = encode(written)
    cut = data.draw(st.integers(0, len(whole) - 1))
    assert header_at(whole[:cut]) is None
    assert list(headers(whole + whole[:cut])) == [(0, header_of(whole))]


@pytest.mark.parametrize("length", [-(2**31), -1, 0, 48])
def test_a_length_that_cannot_be_ends_the_walk(length: int) -> None:
    """5.5 A batch is never shorter than its header: a walk over garbage ends instead of standing still."""
    data = small()
    hurt = data[:8] + struct.pack(">i", length) + data[12:]
    assert header_at(hurt) is None
    assert list(headers(hurt)) == []


def test_walking_over_several_batches() -> None:
    """5.51 Each batch with its position, in order."""
    parts = [stamped(encode([Record(b"x" * size)] * count), 0, 0) for size, count in ((1, 1), (200, 2), (9, 5))]
    positions = [0, len(parts[0]), len(parts[0]) + len(parts[1])]
    assert [(position, header.records_count) for position, header in headers(b"".join(parts))] == list(
        zip(positions, [1, 2, 5], strict=True)
    )


def sealed(covered: bytes) -> bytes:
    """A batch with these bytes behind its CRC, and a CRC that says that they are right."""
    return struct.pack(">qiibI", 0, 9 + len(covered), -1, 2, crc32c(covered)) + covered


@pytest.mark.parametrize(
    ("delta", "count"), [(0, 0), (0, 2), (1, 1), (-1, 0), (5, 1)], ids=["none", "two in one", "gap", "negative", "long gap"]
)
def test_a_count_that_does_not_fit_is_not_whole(delta: int, count: int) -> None:
    """6.12 At least one record, and offsets without gaps; a right CRC does not help."""
    data = sealed(struct.pack(">hiqqqhii", 0, delta, 0, 0, -1, -1, -1, count) + b"\x0c\0\0\0\1\1\0" * max(count, 0))
    header = header_of(data)
    assert crc_is_right(data, header)
    assert not is_whole(data, header)


def test_records_that_do_not_fill_their_batch_are_an_error() -> None:
    """6.12 A batch whose CRC is right can still lie about its records; decoding says so instead of reading on."""
    head = struct.pack(">hiqqqhii", 0, 0, 0, 0, -1, -1, -1, 1)
    record = b"\x0c\0\0\0\1\1\0"
    for body, reason in (
        (record + b"\0", "left behind"),
        (b"\x0e" + record[1:], "beyond its batch"),
        (b"\x80" * 11, "does not end"),
    ):
        data = sealed(head + body)
        with pytest.raises(ValueError, match=reason):
            list(decode(data, header_of(data)))
    good = sealed(head + record)
    assert list(decode(good, header_of(good))) == [Record(None, None, 0, (), 0, -1)]


def test_compressed_batches_are_not_guessed_at() -> None:
    """6.12 What is compressed is kept and served as bytes, and never decoded here."""
    data = sealed(struct.pack(">hiqqqhii", COMPRESSION & 1, 0, 0, 0, -1, -1, -1, 1) + b"zipped")
    with pytest.raises(ValueError, match="compressed"):
        list(decode(data, header_of(data)))
