"""workloads/final_read.py: everything, once more, after healing (CHECKERS 5.3).

In     a Stage whose processes have nothing open, in a cluster without faults; up to where appends were acknowledged
Out    `final` operations: per partition its start, its end until that is told twice alike, then reads from the one to the other
Keeps  what fails is asked again after 50 ms, for as long as it takes: whoever runs this sets the limit and calls `stop`
Why    what its leader alone acknowledged is not readable yet while a follower lags: an end below it is believed when there was
       time enough to catch up, or a slow message would look like a loss
Not    whether a read was complete, and what is missing from it: checkers/, from the rows alone
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping

import msgspec

from model.cluster import TopicPartition
from model.operation import Kind, Operation, Row
from model.workload import Process, Stage
from workloads.answers import end_of_read
from workloads.partitions import partitions_of

RETRY_NS = 50_000_000
CHUNK = 500


class Expected(msgspec.Struct, frozen=True):
    """Ends that partitions should have by what was acknowledged, and until when a shorter one is asked for again."""

    ends: Mapping[TopicPartition, int] = msgspec.field(default_factory=dict)
    until_ns: int = 0


class FinalRead:
    """Partitions are dealt out to the processes: each reads its own, one after the other, all processes at once."""

    def __init__(self, stage: Stage, expected: Expected | None = None) -> None:
        partitions = partitions_of(stage.plan)
        self.complete = dict.fromkeys(partitions, False)
        """Which partitions were read to their end."""
        count, expected = len(stage.processes), expected or Expected()
        self._readers = [
            _Reader(stage, each, partitions[i::count], self.complete, expected) for i, each in enumerate(stage.processes)
        ]

    def start(self) -> None:
        for reader in self._readers:
            reader.next_partition()

    def stop(self) -> None:
        for reader in self._readers:
            reader.stopped = True

    @property
    def idle(self) -> bool:
        return not any(reader.busy for reader in self._readers)

    @property
    def done(self) -> bool:
        return all(self.complete.values())


class _Reader:
    """One process, on its way through its partitions."""

    def __init__(
        self,
        stage: Stage,
        process: Process,
        partitions: tuple[TopicPartition, ...],
        complete: dict[TopicPartition, bool],
        expected: Expected,
    ) -> None:
        self.busy = self.stopped = False
        self._time, self._process, self._complete, self._expected = stage.time, process, complete, expected
        self._size = stage.plan.workload.value_size.most
        self._left = deque(partitions)
        self._where: TopicPartition
        self._position = 0
        self._end: int | None = None

    def next_partition(self) -> None:
        if self._left:
            self._where = self._left.popleft()
            self._find_start()

    # -- where it starts, where it ends ---------------------------------------------------------------------------------

    def _find_start(self) -> None:
        self._ask(self._on_start, "start_offset")

    def _on_start(self, row: Row) -> None:
        if row.offset is None:
            self._later(self._find_start)
        else:
            self._position = row.offset
            self._find_end()

    def _find_end(self) -> None:
        self._end = None
        self._ask(self._on_end, "end_offset")

    def _on_end(self, row: Row) -> None:
        if row.offset is None or self._may_still_grow(row.offset):
            self._later(self._find_end)
        elif row.offset == self._end:
            self._read()
        else:
            self._end = row.offset
            self._ask(self._on_end, "end_offset")

    def _may_still_grow(self, end: int) -> bool:
        return end < self._expected.ends.get(self._where, 0) and self._time.now_ns() < self._expected.until_ns

    # -- from the one to the other --------------------------------------------------------------------------------------

    def _read(self) -> None:
        self._ask(self._on_read, "read", from_offset=self._position, max_records=CHUNK)

    def _on_read(self, row: Row) -> None:
        """Beyond the end that was told the log may have grown, by writes that nobody knew the fate of: they are read as well."""
        if row.type != "ok":
            self._later(self._find_start if row.error == "OFFSET_OUT_OF_RANGE" else self._read)
            return
        end = end_of_read(row)
        moved = end is not None and end > self._position
        self._position = end if end is not None and moved else self._position
        if row.at_end and self._end is not None and self._position >= self._end:
            self._complete[self._where] = True
            self.next_partition()
        elif moved:
            self._read()
        else:
            self._later(self._find_end)  # the log ends before its end: it was cut off since, and has another one now

    # -- asking ---------------------------------------------------------------------------------------------------------

    def _ask(
        self, then: Callable[[Row], None], kind: Kind, from_offset: int | None = None, max_records: int | None = None
    ) -> None:
        topic, partition = self._where
        asked = Operation(
            kind=kind,
            topic=topic,
            partition=partition,
            from_offset=from_offset,
            max_records=max_records,
            size=self._size,
            final=True,
        )

        def done(rows: tuple[Row, ...]) -> None:
            self.busy = False
            if not self.stopped:
                then(rows[0])

        self.busy = True
        self._process.submit((asked,), done)

    def _later(self, call: Callable[[], None]) -> None:
        self._time.after(RETRY_NS, lambda: None if self.stopped else call())
