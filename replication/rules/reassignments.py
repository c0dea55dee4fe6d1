"""replication/rules/reassignments.py: moving a partition to other brokers (section 9)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from replication.errors import Error
from replication.image import PartitionState


class Layout(msgspec.Struct, frozen=True):
    """Where a partition's replicas are, and which of them are coming or going."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def is_moving(self) -> bool:
        return bool(self.adding or self.removing)

    @property
    def target(self) -> tuple[int, ...]:
        """9.2 What will be left."""
        return tuple(replica for replica in self.replicas if replica not in self.removing)


def layout_of(state: PartitionState) -> Layout:
    return Layout(state.replicas, state.adding_replicas, state.removing_replicas)


class ReassignmentRules:
    """Nobody leaves before the new ones are in sync."""

    def refuse_target(
        self, target: Sequence[int], now: Layout, registered: Collection[int], may_change_factor: bool
    ) -> Error | None:
        """9.5"""
        if not target or len(set(target)) < len(target) or any(replica not in registered for replica in target):
            return Error.INVALID_REPLICA_ASSIGNMENT
        if not may_change_factor and len(target) != len(now.target):
            return Error.INVALID_REPLICATION_FACTOR
        return None

    def layout_towards(self, target: Sequence[int], now: Layout) -> Layout:
        """9.1, 9.5 Everybody of both sides, the target first; measured against the replicas there are now, also when these are
        already on the move."""
        removing = tuple(replica for replica in now.replicas if replica not in target)
        adding = tuple(replica for replica in target if replica not in now.replicas)
        return Layout((*target, *removing), adding, removing)

    def completes_reassignment(self, layout: Layout, isr: Sequence[int]) -> bool:
        """9.2 Whoever was to come is in sync; and where fewer come than go, everybody who is to stay (B52)."""
        staying = [member for member in isr if member not in layout.removing]
        if not staying or not layout.target or not set(layout.adding) <= set(staying):
            return False
        return len(layout.adding) >= len(layout.removing) or set(layout.target) <= set(staying)

    def layout_after(self, layout: Layout, isr: Sequence[int]) -> Layout:
        """9.2 Every change asks whether it was the last one that a reassignment waited for."""
        done = layout.is_moving and self.completes_reassignment(layout, isr)
        return Layout(layout.target) if done else layout

    def refuse_cancel(self, now: Layout, isr: Sequence[int], allows_unclean: bool) -> Error | None:
        """9.4, 9.5 Going back must not cost the last replica in sync, unless the topic would pay that price anyway."""
        if not now.is_moving:
            return Error.NO_REASSIGNMENT_IN_PROGRESS
        left = [member for member in isr if member not in now.adding]
        if left or self.may_cancel_uncleanly(allows_unclean):
            return None
        return Error.INVALID_REPLICA_ASSIGNMENT

    def may_cancel_uncleanly(self, allows_unclean: bool) -> bool:
        """9.4, 9.5"""
        return allows_unclean

    def layout_before(self, now: Layout) -> Layout:
        """9.4 Without those that were to come."""
        return Layout(tuple(replica for replica in now.replicas if replica not in now.adding))
