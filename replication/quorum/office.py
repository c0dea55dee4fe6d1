"""replication/quorum/office.py: what a leader of the quorum knows about the others, as plain values (2.17, 2.25).

In     leading.py keeps and changes it
Out    how far each voter is, and when it was last heard of
Keeps  one epoch: an office is never resumed
"""

from __future__ import annotations

import msgspec

from replication.quorum_messages import UNKNOWN_HW, VoterKey
from replication.state import UNKNOWN_OFFSET


class Progress(msgspec.Struct, gc=False):
    """One other member, as its fetches tell. A time of None is never (1.12)."""

    key: VoterKey
    leo: int = UNKNOWN_OFFSET
    last_fetch_ns: int | None = None


class Office(msgspec.Struct, kw_only=True):
    epoch: int
    epoch_start: int
    """The LEO at the moment of the election: the first offset of this leader's own records."""
    since_ns: int
    voters: dict[VoterKey, Progress]
    """All other voters."""
    observers: dict[VoterKey, Progress]
    hw: int = UNKNOWN_HW
    """What this leader has seen committed; unknown until that covers a record of its own (2.27)."""
    is_active: bool = False
    """2.36 Whether the state machine above was told."""
