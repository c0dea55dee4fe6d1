"""model/changes.py: committed metadata, folded into the rows of `changes` and `registrations` (CHECKERS 1.8, DESIGN 11.6).

In     every commit, in order: the partitions that it changed and the broker epochs that hold after it; what nodes tell later of
       the start of a leader epoch, and of the stop before a start
Out    rows as model/evidence.py has them. The kind of an election follows from the two states around it, and from nothing else
Keeps  the last state of every partition, the broker epochs, and which rows still wait for the word of a node. `complete` turns
       false, for good, once the partition epochs show that a change was missed
Not    where commits come from (the tail of each world), what elections are worth (model/promise_level.py)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal

import msgspec

from model.cluster import NodeId, TopicPartition

Election = Literal["none", "preferred", "clean", "elr", "last_known", "unclean"]
Row = dict[str, Any]


class CommittedPartition(msgspec.Struct, frozen=True, kw_only=True):
    """One partition after one change, in the words of any system that has these things."""

    leader: NodeId | None
    leader_epoch: int
    partition_epoch: int
    replicas: tuple[NodeId, ...]
    isr: tuple[NodeId, ...]
    elr: tuple[NodeId, ...] = ()
    last_known: tuple[NodeId, ...] = ()
    adding: tuple[NodeId, ...] = ()
    removing: tuple[NodeId, ...] = ()
    recovering: bool = False
    """P 5.10: elected uncleanly, and it has not yet reported that it took over."""


class Commit(msgspec.Struct, frozen=True, kw_only=True):
    """What became true at once: one batch of the metadata log (P 3.6)."""

    at_ns: int
    broker_epochs: Mapping[NodeId, int]
    """Of every broker that is registered after it."""
    steps: tuple[tuple[TopicPartition, CommittedPartition], ...] = ()
    """Each partition as each record left it, in order: one commit may change a partition twice."""


class Rows(msgspec.Struct, frozen=True):
    """What one commit added."""

    changes: tuple[Row, ...]
    registrations: tuple[Row, ...]


# -- elections ----------------------------------------------------------------------------------------------------------


def election(before: CommittedPartition | None, after: CommittedPartition, gone: Collection[NodeId] = ()) -> Election:
    """P 8.1 to 8.11, 9.2: how a leader came into office. `gone`: brokers whose registration the same commit replaced or ended.

    A creation is `none`: its leader is given, not elected (P 3.9). So is the loss of a leader, and so is the same leader stamped
    with a new epoch because the replica list lost a member (P 1.6).
    """
    if before is None or after.leader is None or after.leader_epoch == before.leader_epoch:
        return "none"
    if _elected_uncleanly(before, after):
        return "last_known" if _was_last_known(before, after, gone) else "unclean"
    if after.leader == before.leader and after.leader_epoch == before.leader_epoch + 1:
        return "none"
    if before.leader is not None and before.leader != after.leader and before.leader in after.isr:
        return "preferred"
    if after.leader in before.elr and not _completed_reassignment(before, after):
        return "elr"
    return "clean"


def _elected_uncleanly(before: CommittedPartition, after: CommittedPartition) -> bool:
    """P 8.8, 8.9: RECOVERING is set by nothing else. It outlives clean elections: where it stood already, membership decides."""
    if not after.recovering or not before.recovering:
        return after.recovering
    return after.leader not in (*before.isr, *before.elr) and not _completed_reassignment(before, after)


def _was_last_known(before: CommittedPartition, after: CommittedPartition, gone: Collection[NodeId]) -> bool:
    """P 8.8: nobody was left in ISR and ELR, counting those whom this very commit took out because their process is another."""
    nobody_left = all(member in gone or member not in after.replicas for member in (*before.isr, *before.elr))
    return nobody_left and before.last_known == (after.leader,)


def _completed_reassignment(before: CommittedPartition, after: CommittedPartition) -> bool:
    """P 9.2: the removed are gone and the added are in sync (with nobody added: all who are left). Who joined the ISR by that
    very change may lead at once. An ISR without them was replaced by an unclean election, in the same change."""
    moving = bool(before.adding or before.removing) and not (after.adding or after.removing)
    in_sync = set(before.adding or after.replicas) <= set(after.isr)
    return moving and in_sync and set(after.replicas) == set(before.replicas) - set(before.removing)


# -- rows ---------------------------------------------------------------------------------------------------------------


def change_row(
    at_ns: int, at: TopicPartition, state: CommittedPartition, kind: Election, epochs: Mapping[NodeId, int], start: int | None
) -> Row:
    """One row of `changes`. A member of the ISR that is not registered has no epoch: null, never a made-up number."""
    return {
        "at_ns": at_ns,
        "topic": at[0],
        "partition": at[1],
        "leader": state.leader,
        "leader_epoch": state.leader_epoch,
        "partition_epoch": state.partition_epoch,
        "replicas": list(state.replicas),
        "isr": list(state.isr),
        "elr": list(state.elr),
        "isr_epochs": [epochs.get(member) for member in state.isr],
        "last_known": state.last_known[0] if len(state.last_known) == 1 else None,
        "election": kind,
        "epoch_start": start,
    }


class _Office(msgspec.Struct):
    """The present leader epoch of one partition: its rows, and where it starts once that is known."""

    leader: NodeId | None
    leader_epoch: int
    rows: list[Row]
    start: int | None = None


class MetadataRows:
    """Grows by a row for every change and every registration. Rows are mappings that learn nulls later, and nothing else."""

    def __init__(self) -> None:
        self.changes: list[Row] = []
        self.registrations: list[Row] = []
        self.complete = True
        self._partitions: dict[TopicPartition, CommittedPartition] = {}
        self._broker_epochs: Mapping[NodeId, int] = {}
        self._offices: dict[TopicPartition, _Office] = {}
        self._clean: dict[NodeId, bool] = {}
        self._registered: dict[tuple[NodeId, int], Row] = {}

    def on_commit(self, commit: Commit) -> Rows:
        """Changes before registrations, as one commit has them: the old process is taken out first (P 3.6)."""
        epochs = commit.broker_epochs
        gone = {node for node, epoch in self._broker_epochs.items() if epochs.get(node) != epoch}
        changed = tuple(self._change(commit, at, state, gone) for at, state in commit.steps)
        new = [node for node, epoch in epochs.items() if self._broker_epochs.get(node) != epoch]
        registered = tuple(self._register(commit.at_ns, node, epochs[node]) for node in new)
        self._broker_epochs = epochs
        self.changes += changed
        self.registrations += registered
        return Rows(changed, registered)

    def _change(self, commit: Commit, at: TopicPartition, state: CommittedPartition, gone: Collection[NodeId]) -> Row:
        before = self._partitions.get(at)
        if before is not None and state.partition_epoch <= before.partition_epoch:
            before = None  # P 3.16: another topic of the same name, whose epochs begin again
        if state.partition_epoch != (0 if before is None else before.partition_epoch + 1):
            self.complete = False
        self._partitions[at] = state
        office = self._office(at, state, begins=before is None or before.leader_epoch != state.leader_epoch)
        kind = election(before, state, gone)
        row = change_row(commit.at_ns, at, state, kind, commit.broker_epochs, office.start)
        office.rows.append(row)
        return row

    def _office(self, at: TopicPartition, state: CommittedPartition, *, begins: bool) -> _Office:
        if begins:
            self._offices[at] = _Office(state.leader, state.leader_epoch, [])
        return self._offices[at]

    def _register(self, at_ns: int, node: NodeId, broker_epoch: int) -> Row:
        row = {"at_ns": at_ns, "node": node, "broker_epoch": broker_epoch, "clean": self._clean.pop(node, None)}
        self._registered[node, broker_epoch] = row
        return row

    # -- what nodes tell ------------------------------------------------------------------------------------------------

    def on_epoch_start(self, node: NodeId, at: TopicPartition, leader_epoch: int, start: int) -> bool:
        """The leader took up its epoch with this LEO. Whether it was news: only the first word of the one in office is."""
        office = self._offices.get(at)
        if office is None or (office.leader, office.leader_epoch) != (node, leader_epoch) or office.start is not None:
            return False
        office.start = start
        for row in office.rows:
            row["epoch_start"] = start
        return True

    def on_process_start(self, node: NodeId, *, clean: bool) -> None:
        """A process opened its logs and found, or missed, the marker of a clean stop (P 4.4); so its next registration was."""
        self._clean[node] = clean

    def on_registered_as(self, node: NodeId, broker_epoch: int, *, clean: bool) -> None:
        """The same, told when the broker epoch is known: that registration learns it if nobody had told before."""
        row = self._registered.get((node, broker_epoch))
        if row is not None and row["clean"] is None:
            row["clean"] = clean
