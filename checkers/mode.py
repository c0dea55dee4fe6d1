"""checkers/mode.py: which log a history is held against (CHECKERS 3.7, 3.8).

dense    every offset is a record; sparse: offsets may be used up by records that nobody sees
forbid   a value has one copy; retry: what was sent again may be there again
fenced   reads are compared only where Kafka promises freshness; strict: always, as a single log would have it
"""

from __future__ import annotations

from typing import Literal

import msgspec

Density = Literal["dense", "sparse"]
Copies = Literal["forbid", "retry"]
Freshness = Literal["strict", "fenced"]


class Mode(msgspec.Struct, frozen=True, kw_only=True):
    """`copies` None: forbid where every append is idempotent or was sent once, else retry."""

    density: Density = "dense"
    copies: Copies | None = None
    freshness: Freshness = "strict"
