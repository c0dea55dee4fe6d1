"""replication/quorum/fatal.py: what must never happen in a quorum. A member that sees it raises, and its process ends.

Not    what a disk did: that is `Env.halt`, and nobody's broken promise
"""

from __future__ import annotations


class QuorumBroken(Exception):
    """A promise of section 2 is broken: nobody may go on acting on this log."""


class TwoLeaders(QuorumBroken):
    """2.16"""

    def __init__(self, epoch: int, known: int, told: int) -> None:
        super().__init__(f"two leaders in quorum epoch {epoch}: {known} is known, {told} was told")


class CutBelowHighWatermark(QuorumBroken):
    """2.29"""

    def __init__(self, target: int, floor: int, leader_id: int) -> None:
        super().__init__(f"leader {leader_id} asks to cut the metadata log to {target}, but all below {floor} is committed")
