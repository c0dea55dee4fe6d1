"""model/value.py: values that describe themselves (CHECKERS 1.3).

A value is a unique int64 >= 0: bits 62..44 the run's tag, bits 43..24 the process, bits 23..0 that process's counter. So a value
that turns up in a log tells who wrote it and in which run, without asking anybody. In a record it is 8 big-endian bytes, then
padding.
"""

from __future__ import annotations

import struct

import msgspec

TAG_BITS, PROCESS_BITS, COUNTER_BITS = 19, 20, 24
LAST_TAG = (1 << TAG_BITS) - 1
LAST_PROCESS = (1 << PROCESS_BITS) - 1
LAST_COUNTER = (1 << COUNTER_BITS) - 1  # a process that has used it up goes on under a new process id


class Writer(msgspec.Struct, frozen=True):
    """Who wrote a value: run, process, and how many values that process had written before."""

    tag: int
    process: int
    counter: int


def make_value(tag: int, process: int, counter: int) -> int:
    """The value that `process` of run `tag` writes as its `counter`-th."""
    for number, last, what in (
        (tag, LAST_TAG, "tag"),
        (process, LAST_PROCESS, "process"),
        (counter, LAST_COUNTER, "counter"),
    ):
        if not 0 <= number <= last:
            raise ValueError(f"{what} {number} is outside 0..{last}")
    return (tag << (PROCESS_BITS + COUNTER_BITS)) | (process << COUNTER_BITS) | counter


def writer_of(value: int) -> Writer:
    """Who wrote this."""
    if not 0 <= value < 1 << 63:
        raise ValueError(f"{value} is not a value: it must be an int64 and not negative")
    return Writer(value >> (PROCESS_BITS + COUNTER_BITS), (value >> COUNTER_BITS) & LAST_PROCESS, value & LAST_COUNTER)


def spoken(value: int) -> str:
    """`v(p7#12)`, as witnesses quote it (CHECKERS 7.4)."""
    writer = writer_of(value)
    return f"v(p{writer.process}#{writer.counter})"


def to_payload(value: int, size: int = 8) -> bytes:
    """The record's bytes: the value, padded to `size`."""
    return struct.pack(">q", value).ljust(size, b"\0")


def from_payload(payload: bytes) -> int | None:
    """The value in a record's bytes; None when it cannot be one of ours."""
    if len(payload) < 8:
        return None
    value: int = struct.unpack_from(">q", payload)[0]
    return value if value >= 0 else None
