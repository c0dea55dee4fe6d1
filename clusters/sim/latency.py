"""clusters/sim/latency.py: how long things take: messages, syncs, and what a message costs by its size.

In     one draw of 64 bits per message or write, made before its fate is decided: so no fault moves the draws of what comes after
Out    integer nanoseconds
Shape  most are quick, a few are slow, very few are lost on the way and sent again, which a connection shows as delay
"""

from __future__ import annotations

from typing import Any

from replication.messages import FetchResponse, ProduceRequest

US, MS = 1_000, 1_000_000

DRAW_BITS = 64
_LEAST, _SPREAD = 60 * US, 240 * US  # of every message
_SLOW_OF_256, _SLOW_SPREAD = 2, 6 * MS
_LOST_OF_4096, _RETRANSMISSION = 2, 200 * MS
_SYNC_LEAST, _SYNC_SPREAD = 80 * US, 700 * US
_SYNC_SLOW_OF_256, _SYNC_SLOW_SPREAD = 3, 25 * MS
_ENVELOPE = 120  # bytes of a message besides its records, roughly


def message_latency(draw: int) -> int:
    """One way, for one message: bits 0-19 the spread, 20-27 whether it is slow, 28-39 whether it is lost, 40-51 how slow."""
    latency = _LEAST + (_SPREAD * (draw & 0xFFFFF) >> 20)
    if (draw >> 20) & 0xFF < _SLOW_OF_256:
        latency += _SLOW_SPREAD * ((draw >> 40) & 0xFFF) >> 12
    if (draw >> 28) & 0xFFF < _LOST_OF_4096:
        latency += _RETRANSMISSION
    return latency


def jitter_share(draw: int) -> int:
    """What a fault may add to the same message, in 4096ths: bits 52-63."""
    return draw >> 52


def sync_latency(draw: int) -> int:
    latency = _SYNC_LEAST + (_SYNC_SPREAD * (draw & 0xFFFFF) >> 20)
    if (draw >> 20) & 0xFF < _SYNC_SLOW_OF_256:
        latency += _SYNC_SLOW_SPREAD * ((draw >> 40) & 0xFFF) >> 12
    return latency


def size_of(message: Any) -> int:
    """Bytes on the wire, roughly: what throttling and slicing go by."""
    if isinstance(message, ProduceRequest):
        return _ENVELOPE + sum(len(part.records) for part in message.partitions)
    if isinstance(message, FetchResponse):
        return _ENVELOPE + sum(len(part.records) for part in message.responses)
    return _ENVELOPE
