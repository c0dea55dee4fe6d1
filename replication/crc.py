"""replication/crc.py: the one checksum of the protocol, CRC-32C, by the C library."""

from __future__ import annotations

import google_crc32c


def crc32c(data: bytes) -> int:
    value: int = google_crc32c.value(data)
    return value
