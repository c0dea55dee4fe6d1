"""replication/crc.py: the one checksum of the protocol, CRC-32C, by the C library."""

from __future__ import annotations

from collections.abc import Callable

import google_crc32c

crc32c: Callable[[bytes], int] = google_crc32c.value
