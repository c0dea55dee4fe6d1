"""harness/trace_controllers.py: what members of the quorum and controllers tell, each as one sentence.

In     events of replication/events.py about the quorum, the active controller and the life of brokers
Out    glyph and English; None for what another line tells already: what was committed is told by the commit itself
Keeps  every such event is here, so that a new one is noticed
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from harness.trace_lines import Glyph
from nemesis import names
from replication import events as told

Sentence = Callable[[Any], str]


def _nodes(numbers: tuple[int, ...]) -> str:
    return " ".join(map(names.name, numbers)) or "nobody"


# -- the quorum ---------------------------------------------------------------------------------------------------------


def _quorum_state(event: told.QuorumStateChanged) -> str:
    leads = f", {names.name(event.leader)} leads" if event.leader >= 0 else ""
    voted = f", voted for {names.name(event.voted)}" if event.voted >= 0 else ""
    return f"is {event.now} in quorum epoch {event.quorum_epoch}{leads}{voted}"


def _quorum_log(event: told.QuorumLogRecovered) -> str:
    torn = f", {event.dropped_bytes} torn bytes cut off" if event.dropped_bytes else ""
    return f"opens the metadata log: offsets {event.log_start} to {event.leo}, quorum epoch {event.quorum_epoch}{torn}"


def _quorum_cut(event: told.QuorumLogTruncated) -> str:
    return f"truncates the metadata log from {event.was} to {event.now}, which its leader does not have"


def _snapshot_taken(event: told.SnapshotTaken) -> str:
    return f"writes a snapshot of the metadata up to {event.end_offset}, {event.size} bytes"


def _snapshot_loaded(event: told.SnapshotLoaded) -> str:
    return f"drops its metadata log up to {event.was} for a snapshot up to {event.end_offset}"


# -- the active controller ------------------------------------------------------------------------------------------------


def _activated(event: told.ControllerActivated) -> str:
    return f"is the active controller in quorum epoch {event.quorum_epoch}"


def _resigned(event: told.ControllerResigned) -> str:
    undone = event.decided_offset - event.offset
    forgets = f", and forgets {undone} records that it had decided and not seen committed" if undone > 0 else ""
    return f"is the active controller no more, quorum epoch {event.quorum_epoch}{forgets}"


def _session(event: told.SessionExpired) -> str:
    return f"has not heard of {names.name(event.broker_id)} for {event.silent_ns / 10**6:.0f} ms: its session is over"


def _shutdown(event: told.ControlledShutdownStarted) -> str:
    return f"begins to let {names.name(event.broker_id)} go: it may lead nothing more"


def _directories(event: told.LogDirectoriesTakenOffline) -> str:
    return f"learns that {names.name(event.broker_id)} has lost {len(event.directories)} log directories"


def _unregistered(event: told.BrokerUnregistered) -> str:
    return f"takes {names.name(event.broker_id)} out of the cluster"


def _refused(event: told.AlterPartitionRefusedByController) -> str:
    at = f"{event.topic}/{event.partition}"
    asked = f"asked in partition epoch {event.asked_partition_epoch}, which is {event.partition_epoch}"
    return f"refuses {names.name(event.sender)} the ISR {_nodes(event.proposed)} of {at}: {event.error} ({asked})"


def _reassigned(event: told.ReassignmentEnded) -> str:
    return f"ends the reassignment of {event.topic}/{event.partition}: replicas {_nodes(event.replicas)}"


# -- the life of a broker -------------------------------------------------------------------------------------------------


def _life(event: told.BrokerLifeChanged) -> str:
    return f"goes from {event.was} to {event.now}, broker epoch {event.broker_epoch}"


SENTENCES: Mapping[type[told.Event], tuple[Glyph, Sentence]] = {
    told.QuorumStateChanged: (Glyph.QUORUM, _quorum_state),
    told.QuorumLogRecovered: (Glyph.RECOVERS, _quorum_log),
    told.QuorumLogTruncated: (Glyph.TRUNCATES, _quorum_cut),
    told.SnapshotTaken: (Glyph.NOTED, _snapshot_taken),
    told.SnapshotLoaded: (Glyph.NOTED, _snapshot_loaded),
    told.ControllerActivated: (Glyph.ACTIVE, _activated),
    told.ControllerResigned: (Glyph.NOTED, _resigned),
    told.SessionExpired: (Glyph.NOTED, _session),
    told.ControlledShutdownStarted: (Glyph.NOTED, _shutdown),
    told.LogDirectoriesTakenOffline: (Glyph.WRONG, _directories),
    told.BrokerUnregistered: (Glyph.NOTED, _unregistered),
    told.AlterPartitionRefusedByController: (Glyph.WRONG, _refused),
    told.ReassignmentEnded: (Glyph.NOTED, _reassigned),
    told.BrokerLifeChanged: (Glyph.NOTED, _life),
}
TOLD_ELSEWHERE: frozenset[type[told.Event]] = frozenset(
    {
        told.MetadataApplied,
        told.MetadataLoaded,
        told.QuorumHighWatermark,
        told.BrokerRegistered,
        told.BrokerFenced,
        told.BrokerUnfenced,
        told.LeaderElected,
        told.LeaderLost,
    }
)
"""Told by the commit, when it counts: a decision that is never committed has not happened."""
