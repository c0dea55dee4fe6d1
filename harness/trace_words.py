"""harness/trace_words.py: what nodes, controllers and clients did, each as one sentence.

In     events of replication/events.py, rows of `changes`, rows of the history
Out    plain English that names node, partition, epochs and offsets; for an event also its glyph
Keeps  every event that a node can tell has its sentence here
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from harness import trace_controllers
from harness.trace_lines import Glyph
from model.cluster import TopicPartition
from model.operation import Row
from model.value import spoken
from nemesis import names
from replication import events as told
from replication.identity import NO_LEADER

# -- small words --------------------------------------------------------------------------------------------------------


def nodes(numbers: Iterable[int]) -> str:
    """`n1 n2`"""
    return " ".join(map(names.name, numbers)) or "nobody"


def place(partition: TopicPartition) -> str:
    """`t/0`"""
    return f"{partition[0]}/{partition[1]}"


def counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def acks_word(acks: int) -> str:
    return "all" if acks == -1 else str(acks)


def _at(event: Any) -> str:
    return place((event.topic, event.partition))


# -- what a node tells --------------------------------------------------------------------------------------------------


def _leader_changed(event: told.LeaderChanged) -> str:
    if event.epoch_start is not None:
        return f"leads {_at(event)} in leader epoch {event.leader_epoch}, which starts at offset {event.epoch_start}"
    if event.leader == NO_LEADER:
        return f"has no leader to follow in {_at(event)}, leader epoch {event.leader_epoch}"
    return f"follows {names.name(event.leader)} in {_at(event)}, leader epoch {event.leader_epoch}"


def _isr_changed(event: told.IsrChanged) -> str:
    because = "the controllers accepted it" if event.because == "controller accepted" else "as metadata says"
    return f"leads {_at(event)} with the ISR {nodes(event.now)}, no longer {nodes(event.was)}: {because}"


def _isr_change_proposed(event: told.IsrChangeProposed) -> str:
    if event.kind == "expand":
        joining = nodes(member for member in event.proposed if member not in event.isr)
        return f"asks the controllers to let {joining} join the ISR of {_at(event)}: {nodes(event.proposed)}"
    leaving = nodes(member for member in event.isr if member not in event.proposed)
    return f"asks the controllers to drop {leaving} from the ISR of {_at(event)}: {nodes(event.proposed)}"


def _refused(event: told.AlterPartitionRefused) -> str:
    return f"is refused the ISR {nodes(event.proposed)} for {_at(event)}: {event.error}"


def _truncated(event: told.Truncated) -> str:
    gone = counted(event.was - event.now, "record")
    return f"truncates {_at(event)} from {event.was} to {event.now}, {gone} gone: {event.because}"


def _held_back(event: told.HighWatermarkHeldBack) -> str:
    return f"cannot move the HW of {_at(event)} from {event.hw} to {event.leo}: waits for {nodes(event.by)}"


def _replica_failed(event: told.ReplicaFailed) -> str:
    return f"stops replicating {_at(event)} for good: {event.reason}"


def _corrupt(event: told.CorruptBatchFetched) -> str:
    return f"was sent a corrupt batch of {_at(event)} at offset {event.offset}, and fetches it again"


def _log_recovered(event: told.LogRecovered) -> str:
    empty = event.leo == event.log_start
    holds = f"is empty, and goes on at {event.leo}" if empty else f"holds offsets {event.log_start} to {event.leo - 1}"
    if event.clean:
        return f"opens the log of {_at(event)} after a clean end: it {holds}"
    torn = f", {counted(event.dropped_bytes, 'torn byte')} cut off" if event.dropped_bytes else ""
    return f"recovers the log of {_at(event)} after an unclean end: it {holds}{torn}"


def _directory_failed(event: told.LogDirectoryFailed) -> str:
    gone = ", ".join(map(place, event.partitions)) or "no partition"
    return f"gives up the log directory {event.directory[:8]} with {gone}: {event.reason}"


def _closed(event: told.BrokerClosed) -> str:
    return f"has flushed and closed its logs, broker epoch {event.broker_epoch}"


def _stray(event: told.StrayLogRemoved) -> str:
    return f"removes {event.path}, a log that nobody assigned to it"


def _mutants(event: told.MutantsSwitchedOn) -> str:
    return f"runs with wrong rules: {', '.join(event.names)}"


Sentence = Callable[[Any], str]
SENTENCES: Mapping[type[told.Event], tuple[Glyph, Sentence]] = {
    told.MutantsSwitchedOn: (Glyph.WRONG, _mutants),
    told.LeaderChanged: (Glyph.FOLLOWS, _leader_changed),
    told.IsrChanged: (Glyph.ISR, _isr_changed),
    told.IsrChangeProposed: (Glyph.ISR, _isr_change_proposed),
    told.AlterPartitionRefused: (Glyph.WRONG, _refused),
    told.Truncated: (Glyph.TRUNCATES, _truncated),
    told.HighWatermarkHeldBack: (Glyph.WAITS, _held_back),
    told.ReplicaFailed: (Glyph.WRONG, _replica_failed),
    told.CorruptBatchFetched: (Glyph.WRONG, _corrupt),
    told.LogRecovered: (Glyph.RECOVERS, _log_recovered),
    told.LogDirectoryFailed: (Glyph.WRONG, _directory_failed),
    told.BrokerClosed: (Glyph.NOTED, _closed),
    told.StrayLogRemoved: (Glyph.NOTED, _stray),
    **trace_controllers.SENTENCES,
}


def of_event(event: told.Event) -> tuple[Glyph, str]:
    """Glyph and sentence; the sentence lacks its subject, the node. An event without words is shown as it is."""
    glyph, sentence = SENTENCES.get(type(event), (Glyph.NOTED, repr))
    if isinstance(event, told.LeaderChanged) and event.epoch_start is not None:
        glyph = Glyph.LEADS
    return glyph, sentence(event)


# -- what the controllers committed -------------------------------------------------------------------------------------


def of_change(row: Mapping[str, Any], leader_was: int | None, *, new: bool) -> str:
    """`controllers: n2 leads t/0 in leader epoch 3 (clean), ISR n2 n3`"""
    where, leader, epoch = place((row["topic"], row["partition"])), row["leader"], row["leader_epoch"]
    behind = f"ISR {nodes(row['isr'])}" + (f", ELR {nodes(row['elr'])}" if row["elr"] else "")
    if leader is None:
        return f"controllers: nobody leads {where} in leader epoch {epoch}, {behind}"
    if new:
        return f"controllers: {where} is created, {names.name(leader)} leads in leader epoch {epoch}, {behind}"
    if row["election"] == "none" and leader == leader_was:
        return f"controllers: {where} has the {behind}; {names.name(leader)} leads on in leader epoch {epoch}"
    kind = f" ({row['election']})" if row["election"] != "none" else ""
    return f"controllers: {names.name(leader)} leads {where} in leader epoch {epoch}{kind}, {behind}"


# -- what clients saw ---------------------------------------------------------------------------------------------------


def of_row(row: Row, *, where: bool) -> str:
    """`p3 append v(p3#17) -> ok at 41 (acks=all, 1.8 ms)`; `where` also names the partition."""
    at = f" {place((row.topic, row.partition))}" if where and row.topic is not None and row.partition is not None else ""
    result = _result(row) if row.type == "ok" else f"{row.type} {row.error}"
    with_acks = f"acks={acks_word(row.acks)}, " if row.acks is not None else ""
    final = "final " if row.final else ""
    return f"p{row.process} {final}{row.kind}{at}{_asked(row)} -> {result} ({with_acks}{row.took_ns / 10**6:.1f} ms)"


def _asked(row: Row) -> str:
    if row.kind == "append" and row.value is not None:
        return f" {spoken(row.value)}"
    if row.from_offset is not None:
        return f" from {row.from_offset}"
    key = f" key {row.key}" if row.key is not None else ""
    if row.kind == "reg_cas" and row.expected is not None:
        key += f" if {spoken(row.expected)}"
    if row.kind in ("reg_write", "reg_cas") and row.value is not None:
        key += f" to {spoken(row.value)}"
    return key


def _result(row: Row) -> str:
    end = ", at end" if row.at_end else ""
    if row.values is not None:
        return f"ok {counted(len(row.values), 'record')}{end}"
    if row.kind == "reg_read":
        return f"ok {spoken(row.value) if row.value is not None else 'nothing'}"
    if row.offset is not None:
        return f"ok at {row.offset}" if row.kind not in ("end_offset", "start_offset") else f"ok {row.offset}"
    return f"ok{end}"
