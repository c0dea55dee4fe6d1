"""tests/acceptance/crude_look.py: what a person with a history and no theory would call wrong.

In     the rows of one run, and for which partitions a loss is still forbidden
Out    names of anomalies, each once, as CHECKERS names them
Keeps  nothing is told of a partition that may lose records, or of what a final read did not reach, nor of duplicates, which
       producers that are not idempotent may make. What it tells it has seen;
       what it does not see may be there all the same: the checkers of checkers/ know far more
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from model.cluster import TopicPartition
from model.operation import Row

ACKS_ALL = -1


class PartitionRows:
    """What clients have seen of one partition."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows
        reads = [row for row in rows if row.kind == "read" and row.type == "ok" and row.values]
        self.early = {at for row in reads if not row.final for at in records_of(row)}
        self.final = {at for row in reads if row.final for at in records_of(row)}
        self.acked = {
            (row.offset, row.value) for row in rows if row.kind == "append" and row.type == "ok" and row.acks == ACKS_ALL
        }
        self.epochs = {value: epoch for row in reads for value, epoch in zip(row.values or (), row.epochs or (), strict=False)}

    @property
    def complete(self) -> bool:
        return any(row.final and row.at_end for row in self.rows)


def records_of(row: Row) -> Iterator[tuple[int, int]]:
    """Offset and value of each record that a read returned."""
    values = row.values or ()
    first = row.base_offset or 0
    return zip(row.offsets or range(first, first + len(values)), values, strict=True)


def looked_at(rows: Sequence[Row], forbids_loss: Callable[[TopicPartition], bool]) -> frozenset[str]:
    """Everything that is wrong with a run."""
    by_partition: dict[TopicPartition, list[Row]] = defaultdict(list)
    for row in rows:
        if row.topic is not None and row.partition is not None:
            by_partition[row.topic, row.partition].append(row)
    found: set[str] = set()
    for at, its_rows in by_partition.items():
        if forbids_loss(at):
            found |= _wrong_with(PartitionRows(its_rows))
    return frozenset(found)


def _wrong_with(seen: PartitionRows) -> set[str]:
    found: set[str] = set()
    everywhere = seen.early | seen.final | seen.acked
    if len({offset for offset, _ in everywhere}) < len(everywhere):
        found.add("inconsistent_offset")
    if seen.complete:
        values = {value for _, value in seen.final}
        found |= {"lost_write"} if any(value not in values for _, value in seen.acked) else set()
        found |= {"vanished_read"} if any(value not in values for _, value in seen.early) else set()
    return found | ({"stale_end_offset"} if _end_went_back(seen) else set())


def _end_went_back(seen: PartitionRows) -> bool:
    """A leader told an end below what one of its own or an earlier epoch had shown before it was asked."""
    shown = sorted(_ends_shown(seen))
    asked = [row for row in seen.rows if row.kind == "end_offset" and row.type == "ok"]
    return any(
        end > (row.offset or 0)
        for row in asked
        for done_ns, epoch, end in shown
        if done_ns < row.start_ns and row.leader_epoch is not None and epoch <= row.leader_epoch
    )


def _ends_shown(seen: PartitionRows) -> Iterator[tuple[int, int, int]]:
    """When, in which leader epoch, and how long the log was."""
    for row in seen.rows:
        done_ns = row.start_ns + row.took_ns
        if row.type != "ok":
            continue
        if row.kind == "end_offset" and row.leader_epoch is not None and row.offset is not None:
            yield done_ns, row.leader_epoch, row.offset
        elif row.kind == "read" and row.leader_epoch is not None and row.values:
            yield done_ns, row.leader_epoch, max(offset for offset, _ in records_of(row)) + 1
        elif row.kind == "append" and row.acks == ACKS_ALL and row.value in seen.epochs and row.offset is not None:
            yield done_ns, seen.epochs[row.value], row.offset + 1
