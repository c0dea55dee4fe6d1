"""model/damage_scope.py: which replicas of one partition are damaged, since when, and until when (CHECKERS 6.2).

In     unclean ends of nodes, their next registrations, committed changes of the partition: in order of time
Out    `Hurt`: one for every unclean end that is in scope, with what it cost; `Rot`: changed bytes that a member carries
Keeps  an end is in scope if its replica is in ISR, ELR or last known at any moment until the broker registers again: also when an
       expand that was in flight, or an election before the session ran out, brings a dead replica in. What is out of scope is
       no damage, whatever it lost. A hurt is over once the ISR shows the replica under a broker epoch given after the end
Room   where changes were only sampled, membership between the samples is unknown: every replica counts as a member
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from model.cluster import Damage, How, NodeId, TopicPartition
from model.damage_inputs import CommittedChange, UncleanEnd

CHANGED_BYTES: frozenset[How] = frozenset({"rot", "deep_tear"})


class End(msgspec.Struct, frozen=True):
    """An unclean end whose broker has not registered again, with its damage by partition. None: nobody knows what it cost."""

    at_ns: int
    node: NodeId
    damage: Mapping[TopicPartition, tuple[Damage, ...]] | None

    def of(self, at: TopicPartition) -> tuple[Damage, ...]:
        """At least one: a replica of which nothing is told was restarted and lost nothing."""
        if self.damage is None:
            return (Damage(self.node, *at, "wipe"),)
        return self.damage.get(at) or (Damage(self.node, *at, "restart", dropped=0),)


def end_of(told: UncleanEnd) -> End:
    if told.damage is None:
        return End(told.at_ns, told.node, None)
    by_partition: dict[TopicPartition, tuple[Damage, ...]] = {}
    for one in told.damage:
        at = one.topic, one.partition
        by_partition[at] = (*by_partition.get(at, ()), one)
    return End(told.at_ns, told.node, by_partition)


class Hurt(msgspec.Struct):
    """One replica, damaged by one end: from the moment at which that came into scope."""

    node: NodeId
    ended_ns: int
    since_ns: int
    how: How
    dropped_from: int | None
    dropped: int | None
    until_ns: int | None = None
    repairs_from: int | None = None
    """The first broker epoch that was given after the end."""
    sole_ns: int | None = None
    """When it was first seen to be the whole ISR."""
    next_epoch: tuple[int, int] | None = None
    """Of one that was the whole ISR: when it led again, and in which leader epoch."""

    def overlaps(self, from_ns: int, to_ns: int) -> bool:
        """It was damaged at some moment of this window."""
        return self.since_ns <= to_ns and (self.until_ns is None or self.until_ns > max(from_ns, self.since_ns))

    def lost_records(self, *, flush_each: bool) -> bool:
        """With each append synced before it is acknowledged, what was never synced was never promised; a wipe takes all."""
        if self.how not in ("lossy", "torn", "wipe") or (flush_each and self.how != "wipe"):
            return False
        return self.dropped != 0  # None, unknown, counts as lost


class Rot(msgspec.Struct):
    """Changed bytes in a replica that is a member; they stay until the log is emptied or leaves the replica list."""

    node: NodeId
    since_ns: int
    until_ns: int | None = None

    def overlaps(self, from_ns: int, to_ns: int) -> bool:
        return self.since_ns <= to_ns and (self.until_ns is None or self.until_ns > from_ns)


class Scope:
    """The damage of one partition's replicas."""

    def __init__(self, at: TopicPartition, *, changes_complete: bool) -> None:
        self.hurts: list[Hurt] = []
        self.rots: list[Rot] = []
        self._at, self._complete = at, changes_complete
        self._last: CommittedChange | None = None
        self._members: tuple[NodeId, ...] = ()
        self._open: dict[NodeId, list[Hurt]] = {}
        self._counted: dict[NodeId, int] = {}  # of the ends of a node that is down, how many were in scope so far
        self._rotten: dict[NodeId, None] = {}  # whose bytes changed, member or not
        self._waiting: list[Hurt] = []  # was the whole ISR, and has not led again

    def on_end(self, ends: Sequence[End]) -> bool:
        """One more end of a node that is down: the last of these. True if anything became damaged."""
        node = ends[-1].node
        self._remember_bytes(ends[-1])
        return self._is_member(node) and self._enter(node, ends, ends[-1].at_ns)

    def on_registration(self, node: NodeId, broker_epoch: int) -> None:
        """Ends before it can no longer come into scope, and repair becomes possible."""
        self._counted.pop(node, None)
        for hurt in self._open.get(node, ()):
            if hurt.repairs_from is None:
                hurt.repairs_from = broker_epoch

    def on_change(self, change: CommittedChange, down: Mapping[NodeId, Sequence[End]]) -> bool:
        """A committed change: who is repaired, who stands alone, who came into scope. True if anything became worse."""
        self._repair(change)
        self._forget_removed(change)
        self._last, self._members = change, self._members_of(change)
        worse = self._note_sole(change)
        self._note_next_epoch(change)
        for node in self._members:
            if node in down or node in self._rotten:
                worse = self._enter(node, down.get(node, ()), change.at_ns) or worse
        return worse

    # -- into scope -----------------------------------------------------------------------------------------------------

    def _members_of(self, change: CommittedChange) -> tuple[NodeId, ...]:
        last_known = () if change.last_known is None else (change.last_known,)
        unseen = () if self._complete else change.replicas
        return tuple(dict.fromkeys((*change.isr, *change.elr, *last_known, *unseen)))

    def _is_member(self, node: NodeId) -> bool:
        """Before the first change: of a complete record the partition does not exist, else anybody may be a member."""
        return node in self._members if self._last is not None else not self._complete

    def _enter(self, node: NodeId, ends: Sequence[End], at_ns: int) -> bool:
        """This node is a member now: every end of it that was not in scope so far is from now on, and its changed bytes are."""
        counted = self._counted.get(node, 0)
        self._counted[node] = len(ends)
        for end in ends[counted:]:
            for damage in end.of(self._at):
                self._hurt(end, damage, at_ns)
        carries = node in self._rotten and not any(rot.node == node and rot.until_ns is None for rot in self.rots)
        if carries:
            self.rots.append(Rot(node, at_ns))
        return carries or counted < len(ends)

    def _hurt(self, end: End, damage: Damage, at_ns: int) -> None:
        hurt = Hurt(end.node, end.at_ns, at_ns, damage.how, damage.dropped_from, damage.dropped)
        if self._last is not None and self._last.isr == (end.node,):
            self._stood_alone(hurt, at_ns)
        self.hurts.append(hurt)
        self._open.setdefault(end.node, []).append(hurt)

    def _remember_bytes(self, end: End) -> None:
        """Whether or not the replica is a member now: it may become one, and nobody would look (P 5.5)."""
        for damage in () if end.damage is None else end.of(self._at):
            if damage.how in CHANGED_BYTES:
                self._rotten[end.node] = None
            elif damage.how == "wipe":
                self._bytes_are_gone(end.node, end.at_ns)

    # -- out of it ------------------------------------------------------------------------------------------------------

    def _repair(self, change: CommittedChange) -> None:
        """An election that puts a replica back under its old epoch repairs nothing, for nobody has seen it catch up."""
        if not self._open:
            return
        for node, epoch in zip(change.isr, change.isr_epochs, strict=False):
            still = [hurt for hurt in self._open.get(node, ()) if not _repairs(epoch, hurt)]
            for hurt in self._open.pop(node, ()):
                if _repairs(epoch, hurt):
                    hurt.until_ns = change.at_ns
            if still:
                self._open[node] = still

    def _forget_removed(self, change: CommittedChange) -> None:
        """P 9.3: who leaves the replica list deletes its log, and what was wrong with it."""
        for node in [node for node in self._rotten if node not in change.replicas]:
            self._bytes_are_gone(node, change.at_ns)

    def _bytes_are_gone(self, node: NodeId, at_ns: int) -> None:
        self._rotten.pop(node, None)
        for rot in self.rots:
            if rot.node == node and rot.until_ns is None:
                rot.until_ns = at_ns

    # -- the last replica standing --------------------------------------------------------------------------------------

    def _note_sole(self, change: CommittedChange) -> bool:
        alone = self._open.get(change.isr[0], ()) if len(change.isr) == 1 else ()
        found = [hurt for hurt in alone if hurt.sole_ns is None]
        for hurt in found:
            self._stood_alone(hurt, change.at_ns)
        return bool(found)

    def _stood_alone(self, hurt: Hurt, at_ns: int) -> None:
        hurt.sole_ns = at_ns
        self._waiting.append(hurt)

    def _note_next_epoch(self, change: CommittedChange) -> None:
        """Given by an election after it came back: one that it won while it was dead it never took up."""
        for hurt in [hurt for hurt in self._waiting if hurt.node == change.leader and hurt.repairs_from is not None]:
            hurt.next_epoch = change.at_ns, change.leader_epoch
            self._waiting.remove(hurt)


def _repairs(epoch: int | None, hurt: Hurt) -> bool:
    return epoch is not None and hurt.repairs_from is not None and epoch >= hurt.repairs_from
