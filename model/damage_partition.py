"""model/damage_partition.py: everything that decides what one partition still promises, and in which window it happened.

In     what a ledger was told, as far as it concerns this partition: in order of time
Out    `facts` of a window (CHECKERS 6.1 to 6.3), and the bound of an allowed loss in it (6.4)
Keeps  what happened after a window ends changes nothing in it: a question asked meanwhile is answered as it will be afterwards.
       `version` steps whenever the answer for the whole time until now may have changed, and only then
Not    which row decides (model/promise_level.py), which replicas are in scope (model/damage_scope.py)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from model.changes import Election
from model.cluster import NodeId, TopicPartition
from model.damage_inputs import FLUSH_EACH, FLUSH_INTERVAL, MIN_ISR, UNCLEAN, CommittedChange, ConfigChange, PartitionSetting
from model.damage_scope import End, Hurt, Scope
from model.promise_level import Facts, Rule

SECOND = 10**9


class Bound(msgspec.Struct, frozen=True):
    """How far an allowed loss may go (6.4). Records below the offset, or acknowledged no later than the time, may not be lost."""

    name: Literal["b1", "b2"]
    least_offset: int = 0
    acked_after_ns: int | None = None


def wider(one: Bound | None, other: Bound | None) -> Bound | None:
    """What may be lost for either of two reasons, one of which is bounded by an offset alone; None bounds nothing."""
    if one is None or other is None:
        return None
    return Bound(one.name, min(one.least_offset, other.least_offset))


class Voters(msgspec.Struct, frozen=True):
    """The controllers' quorum in the same window."""

    count: int = 0
    wiped: int = 0
    rotten: int = 0


class Held(msgspec.Struct, frozen=True):
    """An election."""

    at_ns: int
    kind: Election
    leader_epoch: int


class _MinIsr(msgspec.Struct, frozen=True):
    """A value of min.insync.replicas: it came into force somewhere between the two times."""

    from_ns: int
    settled_ns: int | None
    value: int


class PartitionDamage:
    """The memory of one partition: a line for every change that matters."""

    def __init__(self, at: TopicPartition, setting: PartitionSetting) -> None:
        self.setting = setting
        self.scope = Scope(at, changes_complete=setting.changes_complete)
        self.elections: list[Held] = []
        self.version = 0
        self._starts: dict[int, int] = {}  # by leader epoch
        self._replicas: tuple[NodeId, ...] | None = None
        self._counts: list[tuple[int, int]] = []  # since when there were how many replicas
        self._left: list[tuple[int, int]] = []  # when replicas were removed, and how many were in sync then (P 9.2)
        self._min_isr: list[_MinIsr] = []
        self._permitted_ns: int | None = None  # since when somebody else than the plan permits unclean elections
        self._flushes_less_ns: int | None = None

    # -- what happens ---------------------------------------------------------------------------------------------------

    def on_end(self, ends: Sequence[End]) -> None:
        self.version += self.scope.on_end(ends)

    def on_registration(self, node: NodeId, broker_epoch: int) -> None:
        self.scope.on_registration(node, broker_epoch)

    def on_change(self, change: CommittedChange, down: Mapping[NodeId, Sequence[End]]) -> None:
        self.version += self._note_replicas(change)
        self.version += self._note_election(change)
        self.version += self.scope.on_change(change, down)

    def on_epoch_start(self, leader_epoch: int, offset: int) -> None:
        self._starts.setdefault(leader_epoch, offset)

    def on_config(self, change: ConfigChange) -> None:
        """A change of the cluster's value does not reach a topic that has its own."""
        if change.topic is None and change.key in self.setting.of_the_topic:
            return
        if change.key == MIN_ISR:
            self._note_min_isr(change)
        elif change.key == UNCLEAN and change.value == "true":
            self.on_permitted(change.at_ns)
        elif change.key in FLUSH_INTERVAL or (change.key in FLUSH_EACH and change.value != "1"):
            self._note_fewer_flushes(change.at_ns)

    def on_permitted(self, at_ns: int) -> None:
        """Once permitted, an unclean election may come any time later: the answer to a change tells nothing of its effect."""
        self.version += 1
        if self._permitted_ns is None:
            self._permitted_ns = at_ns

    def _note_min_isr(self, change: ConfigChange) -> None:
        self.version += 1
        settled_ns = None if change.unsettled_ns is None else change.at_ns + change.unsettled_ns
        value = self.setting.min_isr if change.value is None else int(change.value)
        self._min_isr.append(_MinIsr(change.at_ns, settled_ns, value))

    def _note_fewer_flushes(self, at_ns: int) -> None:
        """Whatever was changed, it is no longer what the plan said: neither each append nor that interval."""
        self.version += 1
        if self._flushes_less_ns is None:
            self._flushes_less_ns = at_ns

    def _note_replicas(self, change: CommittedChange) -> bool:
        """P 9.2 A reassignment completes without asking whether enough replicas are in sync."""
        before, self._replicas = self._replicas, change.replicas
        if before is None or len(before) != len(change.replicas):
            self._counts.append((change.at_ns, len(change.replicas)))
        removed = before is not None and any(replica not in change.replicas for replica in before)
        if removed:
            self._left.append((change.at_ns, len(change.isr)))
        return removed or before is None or len(before) != len(change.replicas)

    def _note_election(self, change: CommittedChange) -> bool:
        if change.epoch_start is not None:
            self.on_epoch_start(change.leader_epoch, change.epoch_start)
        if change.election == "none":
            return False
        self.elections.append(Held(change.at_ns, change.election, change.leader_epoch))
        return change.election in ("unclean", "last_known")

    # -- what follows ---------------------------------------------------------------------------------------------------

    def facts(self, from_ns: int, to_ns: int, voters: Voters) -> Facts:
        hurts = self._hurts(from_ns, to_ns)
        lost = self._lost(hurts, to_ns)
        return Facts(
            min_isr=self._least_min_isr(from_ns, to_ns),
            elr=self.setting.elr,
            changes_complete=self.setting.changes_complete,
            most_damaged=most_at_once(hurts, from_ns, to_ns),
            lost=len({hurt.node for hurt in lost}),
            sole_lost=any(hurt.sole_ns is not None and hurt.sole_ns <= to_ns for hurt in lost),
            rotten=any(rot.overlaps(from_ns, to_ns) for rot in self.scope.rots),
            unclean_elections=len(self.held("unclean", from_ns, to_ns)),
            last_known_elections=len(self.held("last_known", from_ns, to_ns)),
            unclean_permitted=self.setting.unclean or (self._permitted_ns is not None and self._permitted_ns <= to_ns),
            min_isr_changed=any(_overlap(change, from_ns, to_ns) for change in self._min_isr),
            voters=voters.count,
            voters_wiped=voters.wiped,
            voters_rotten=voters.rotten,
        )

    def held(self, kind: Election, from_ns: int, to_ns: int) -> list[Held]:
        """The elections of one kind in this window."""
        return [one for one in self.elections if one.kind == kind and from_ns <= one.at_ns <= to_ns]

    def bound(self, rule: Rule, from_ns: int, to_ns: int) -> Bound | None:
        """6.4: of the rows that allow a loss; the others need none."""
        if rule == "C2":
            return Bound("b1", self._least_start(self.held("unclean", from_ns, to_ns)))
        if rule not in ("C7", "C9"):
            return None
        lost = self._lost(self._hurts(from_ns, to_ns), to_ns)
        dropped = _least(hurt.dropped_from for hurt in lost)
        epochs = self._sole_epochs(lost, to_ns) if rule == "C9" else self.held("last_known", from_ns, to_ns)
        return Bound("b2", max(dropped, self._least_start(epochs)), self._acked_after(lost, to_ns))

    # -- parts of it ----------------------------------------------------------------------------------------------------

    def _hurts(self, from_ns: int, to_ns: int) -> list[Hurt]:
        return [hurt for hurt in self.scope.hurts if hurt.overlaps(from_ns, to_ns)]

    def _lost(self, hurts: Sequence[Hurt], to_ns: int) -> list[Hurt]:
        flush_each = self.setting.flush_each and not self._flushes_less(to_ns)
        return [hurt for hurt in hurts if hurt.lost_records(flush_each=flush_each)]

    def _least_min_isr(self, from_ns: int, to_ns: int) -> int:
        """m: of every value and every number of replicas in force in the window, and of every ISR that a reassignment left."""
        settled = [change.value for change in self._min_isr if change.settled_ns is not None and change.settled_ns <= from_ns]
        least = min([settled[-1] if settled else self.setting.min_isr, *self._asked_in(from_ns, to_ns)])
        counts = [count for since_ns, count in self._counts if since_ns <= from_ns][-1:] or [self.setting.replicas]
        counts += [count for since_ns, count in self._counts if from_ns < since_ns <= to_ns]
        left = [in_sync for at_ns, in_sync in self._left if from_ns <= at_ns <= to_ns]
        return min([least, *counts, *left])

    def _asked_in(self, from_ns: int, to_ns: int) -> list[int]:
        return [change.value for change in self._min_isr if _overlap(change, from_ns, to_ns)]

    def _least_start(self, epochs: Sequence[Held]) -> int:
        """Where the earliest of these epochs starts. One that is not known bounds nothing; nor do samples, which may miss one."""
        if not self.setting.changes_complete:
            return 0
        return _least(self._starts.get(epoch.leader_epoch) for epoch in epochs)

    def _sole_epochs(self, lost: Iterable[Hurt], to_ns: int) -> list[Held]:
        """The next epoch of each who was the whole ISR; -1, which nobody knows, for one that has not led again."""
        epochs = []
        for hurt in lost:
            if hurt.sole_ns is not None and hurt.sole_ns <= to_ns:
                at_ns, leader_epoch = hurt.next_epoch or (to_ns, -1)
                epochs.append(Held(at_ns, "clean", leader_epoch if at_ns <= to_ns else -1))
        return epochs

    def _flushes_less(self, to_ns: int) -> bool:
        return self._flushes_less_ns is not None and self._flushes_less_ns <= to_ns

    def _acked_after(self, lost: Sequence[Hurt], to_ns: int) -> int | None:
        """What was synced at the last interval is safe from a crash, though not from a wipe."""
        interval_ns = self.setting.flush_interval_ns
        if interval_ns is None or self._flushes_less(to_ns) or any(hurt.how == "wipe" for hurt in lost):
            return None
        return min(hurt.ended_ns for hurt in lost) - interval_ns - SECOND


def most_at_once(hurts: Iterable[Hurt], from_ns: int, to_ns: int) -> int:
    """D. At the moment of its repair a replica is whole again: of two that pass the baton only one is damaged."""
    steps: list[tuple[int, int, NodeId]] = []
    for hurt in hurts:
        steps.append((max(hurt.since_ns, from_ns), 1, hurt.node))
        if hurt.until_ns is not None and hurt.until_ns <= to_ns:
            steps.append((hurt.until_ns, -1, hurt.node))
    damaged: dict[NodeId, int] = {}
    most = 0
    for _, step, node in sorted(steps):
        damaged[node] = damaged.get(node, 0) + step
        if damaged[node] == 0:
            del damaged[node]
        most = max(most, len(damaged))
    return most


def _overlap(change: _MinIsr, from_ns: int, to_ns: int) -> bool:
    return change.from_ns <= to_ns and (change.settled_ns is None or change.settled_ns >= from_ns)


def _least(numbers: Iterable[int | None]) -> int:
    """0 if there is none, or one is not known."""
    known = list(numbers)
    return min((0 if number is None else number for number in known), default=0)
