"""A controller in small: one partition, changed as PROTOCOL 15 has it (8.3 to 8.9, 9.2), that says how each leader was chosen."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from model.changes import CommittedPartition, Election

START = CommittedPartition(leader=1, leader_epoch=0, partition_epoch=0, replicas=(1, 2, 3), isr=(1, 2, 3))


class PlayedController:
    """Every word is one commit: `commit` is told the partition after it, the kind of election, and who is another process now."""

    def __init__(
        self, commit: Callable[[CommittedPartition, Election, frozenset[int]], None], *, elr: bool, unclean: bool, min_isr: int
    ) -> None:
        self.commit, self.elr, self.unclean, self.min_isr = commit, elr, unclean, min_isr
        self.state = START
        self.active = {1, 2, 3, 4}

    # -- words ----------------------------------------------------------------------------------------------------------

    def fence(self, node: int) -> None:
        """4.8"""
        self.active.discard(node)
        self.change(self.without(node))

    def register_uncleanly(self, node: int) -> None:
        """4.3: with ELR it leaves both, in one commit with its registration."""
        self.active.discard(node)
        self.change(self.without(node), gone=frozenset((node,)))

    def unfence(self, node: int) -> None:
        """4.9"""
        self.active.add(node)
        if self.state.leader is None:
            self.change(self.state.isr)

    def join(self, node: int) -> None:
        """5.31: the leader proposes; whoever is not active is refused. A proposal of a new leader ends its recovery (5.10)."""
        state = self.state
        if state.leader is not None and node in state.replicas and node in self.active and node not in state.isr:
            self.change((*state.isr, node), recovered=True)

    def leave(self, node: int) -> None:
        """5.32: the leader proposes to go on without a follower."""
        if self.state.leader not in (None, node) and node in self.state.isr:
            self.change(tuple(member for member in self.state.isr if member != node), recovered=True)

    def prefer(self, node: int) -> None:
        """8.11: the first replica leads, if it may."""
        first = self.state.replicas[0]
        if self.state.leader not in (None, first) and first in self.state.isr and first in self.active:
            self.emit(self.state, "preferred", leader=first)

    def ask_uncleanly(self, node: int) -> None:
        """8.14: only of a partition without a leader."""
        if self.state.leader is None:
            self.change(self.state.isr, permitted=True)

    def move(self, node: int) -> None:
        """9.1: from this node to the one replica of four that is not there; or back to three."""
        state, other = self.state, next((one for one in (1, 2, 3, 4) if one not in self.state.replicas), None)
        if not state.adding and not state.removing and node in state.replicas and other is not None:
            kept = tuple(one for one in state.replicas if one != node)
            self.emit(state, "none", replicas=(other, *kept, node), adding=(other,), removing=(node,))

    # -- the routine ----------------------------------------------------------------------------------------------------

    def without(self, node: int) -> tuple[int, ...]:
        return tuple(member for member in self.state.isr if member != node)

    def change(
        self, target: tuple[int, ...], *, gone: frozenset[int] = frozenset(), recovered: bool = False, permitted: bool = False
    ) -> None:
        """8.3, 8.6, 8.8, 8.9, 9.2"""
        state = before = self.state
        if recovered:
            state = msgspec.structs.replace(state, recovering=False)
        state, target = self.complete(state, target)
        elr = self.recomputed(before, target, state.replicas, gone)
        kind, leader = self.elect(state, target, elr, permitted)
        isr = target or (() if self.elr else before.isr)
        if kind in ("last_known", "unclean"):
            isr, elr = (leader,) if leader is not None else (), ()
            state = msgspec.structs.replace(state, recovering=True)
        elif leader is not None and leader in elr:
            isr, elr = (leader,), self.kept_below_min((leader,), tuple(one for one in elr if one != leader), state.replicas)
        known = () if leader is not None or not self.elr else before.last_known or (before.leader,)
        lost_member = any(one not in state.replicas for one in before.replicas)
        self.emit(state, kind, gone, isr=isr, elr=elr, leader=leader, last_known=known, stamped=lost_member)

    def complete(self, state: CommittedPartition, target: tuple[int, ...]) -> tuple[CommittedPartition, tuple[int, ...]]:
        isr = tuple(one for one in target if one not in state.removing)
        replicas = tuple(one for one in state.replicas if one not in state.removing)
        if not (state.adding or state.removing) or not isr or not set(state.adding) <= set(isr):
            return state, target
        return msgspec.structs.replace(state, replicas=replicas, adding=(), removing=()), isr

    def recomputed(
        self, before: CommittedPartition, target: tuple[int, ...], replicas: tuple[int, ...], gone: frozenset[int]
    ) -> tuple[int, ...]:
        pool = dict.fromkeys((*before.elr, *before.isr))
        left = tuple(one for one in pool if one in replicas and one not in target and one not in gone)
        return self.kept_below_min(target, left, replicas) if self.elr else ()

    def kept_below_min(self, isr: tuple[int, ...], elr: tuple[int, ...], replicas: tuple[int, ...]) -> tuple[int, ...]:
        return () if len(isr) >= min(self.min_isr, len(replicas)) else elr

    def elect(
        self, state: CommittedPartition, target: tuple[int, ...], elr: tuple[int, ...], permitted: bool
    ) -> tuple[Election, int | None]:
        pool = target or (elr if self.elr else state.isr)
        clean = [one for one in state.replicas if one in pool and one in self.active]
        if state.leader in clean:
            return "none", state.leader
        if clean:
            return ("clean" if clean[0] in target or not self.elr else "elr"), clean[0]
        if self.elr and not target and not elr and state.last_known and state.last_known[0] in self.active:
            return "last_known", state.last_known[0]
        anybody = [one for one in state.replicas if one in self.active]
        return ("unclean", anybody[0]) if anybody and (self.unclean or permitted) else ("none", None)

    def emit(
        self,
        state: CommittedPartition,
        kind: Election,
        gone: frozenset[int] = frozenset(),
        *,
        stamped: bool = False,
        **given: object,
    ) -> None:
        """3.3: a leader that changes, or is stamped again, begins a leader epoch. A change of nothing is none."""
        new = msgspec.structs.replace(state, **given)
        if new == self.state:
            return
        epoch = self.state.leader_epoch + (stamped or new.leader != self.state.leader)
        self.state = msgspec.structs.replace(new, leader_epoch=epoch, partition_epoch=self.state.partition_epoch + 1)
        self.commit(self.state, kind, gone)
