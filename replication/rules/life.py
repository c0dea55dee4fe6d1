"""replication/rules/life.py: stopping and starting without lying about it (4.4, 4.5)."""

from __future__ import annotations

from collections.abc import Sequence

from replication.identity import NO_EPOCH


class LifeRules:
    """What the marker of a clean stop says, and who may believe it."""

    def clean_epoch(self, markers: Sequence[int | None], any_offline: bool) -> int:
        """4.4 The broker epoch of a clean stop, if every directory tells the same one; -1 otherwise: then anything may be
        missing."""
        told = set(markers)
        return NO_EPOCH if any_offline or len(told) != 1 or None in told else next(epoch for epoch in told if epoch is not None)

    def forgets_marker(self) -> bool:
        """4.5 The marker is deleted before anything is written: it vouches for one stop, not for the next crash (B19)."""
        return True

    def epoch_for_marker(self, own_broker_epoch: int) -> int:
        """4.5 The epoch obtained in this run; -1, which reads as unclean, if it never registered (B19)."""
        return own_broker_epoch
