"""spark_analysis/engines.py: who works on the units: one process, or Spark. A process pool is harness/analysis_pool.py.

In     units, in order; the function that turns one into a piece
Out    `take(unit, piece)` for each unit, in the same order, whoever was quicker
Keeps  the same rows in the same order from every engine. What the driver holds does not grow with the number of runs: pieces are
       given on as they come. A run that takes its worker along costs its own row and nothing else
Not    what is done with a unit (spark_analysis/unit.py), with the pieces (spark_analysis/analysis.py)
"""

from __future__ import annotations

import gc
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, Protocol

import pyarrow as pa

from model.refusal import InfrastructureFailure
from spark_analysis.unit import Piece, Unit, Work, judge_unit, lost, together

Take = Callable[[Unit, Piece], None]

PIECES_FOR_SPARK = "unit long, rows binary, notes array<string>"
PIECES = pa.schema([("unit", pa.int64()), ("rows", pa.binary()), ("notes", pa.list_(pa.string()))])
UNITS_PER_CORE = 2  # in one job
JOBS_AHEAD = 2  # while one is ending, the next has begun: no core waits for the slowest unit
RARELY = 200_000, 20, 50  # a judge makes few cycles, and looking for them often costs a tenth of its time


def settle() -> None:
    """A worker works alone: its neighbours have the other cores."""
    gc.set_threshold(*RARELY)
    pa.set_cpu_count(1)


class Engine(Protocol):
    """Whoever works."""

    @property
    def name(self) -> str:
        """For people."""
        ...

    def run(self, units: Sequence[Unit], take: Take) -> None: ...


class OneByOne:
    """In this process: for few runs, and to compare the others with."""

    name = "one process"

    def __init__(self, work: Work = judge_unit) -> None:
        self._work = work

    def run(self, units: Sequence[Unit], take: Take) -> None:
        for unit in units:
            take(unit, self._work(unit))


class OnSpark:
    """Only units travel there and pieces back: whole runs are opened where they are judged, and no operation is ever shuffled."""

    def __init__(self, session: Any, work: Work = judge_unit) -> None:
        self._session, self._work = session, work
        self._stopping = False
        self.name = f"Spark {session.version} on {_as_people_write_it(session.sparkContext.master)}"

    def run(self, units: Sequence[Unit], take: Take) -> None:
        size = UNITS_PER_CORE * max(1, int(self._session.sparkContext.defaultParallelism))
        self._stopping = False
        waiting: deque[tuple[Sequence[Unit], Future[list[Piece]]]] = deque()
        with ThreadPoolExecutor(JOBS_AHEAD) as threads, self._cancelled_when_interrupted():
            for some in _batches(units, size):
                waiting.append((some, threads.submit(self._surely, some)))
                if len(waiting) >= JOBS_AHEAD:
                    _give(*waiting.popleft(), take)
            while waiting:
                _give(*waiting.popleft(), take)

    @contextmanager
    def _cancelled_when_interrupted(self) -> Iterator[None]:
        """Nobody waits for jobs whose pieces nobody will take."""
        try:
            yield
        except BaseException:
            self._stopping = True
            with suppress(Exception):
                self._session.sparkContext.cancelAllJobs()
            raise

    def _surely(self, units: Sequence[Unit]) -> list[Piece]:
        """Where a job fails, its units one by one; where one of these fails, its halves; and a run that fails alone is named."""
        try:
            return self._job(units)
        except Exception as error:
            if self._stopping:
                raise
            if not self._lives():
                raise InfrastructureFailure(f"Spark ended while it was working: {_first_line(error)}") from None
            if len(units) > 1:
                return [piece for unit in units for piece in self._surely([unit])]
            if len(units[0].numbers) > 1:
                return [together([self._surely([half])[0] for half in units[0].halves()])]
            return [lost(units[0], f"its worker was lost: {_first_line(error)}")]

    def _job(self, units: Sequence[Unit]) -> list[Piece]:
        """One task for each unit."""
        work, count = self._work, len(units)

        def judge_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            settle()
            for batch in batches:
                for index in batch.column(0).to_pylist():
                    piece = work(units[index])
                    yield pa.RecordBatch.from_pylist([_sent(index, piece)], schema=PIECES)

        frame = self._session.range(0, count, 1, count).mapInArrow(judge_batches, PIECES_FOR_SPARK)
        found = sorted(frame.toArrow().to_pylist(), key=lambda row: row["unit"])
        if [row["unit"] for row in found] != list(range(count)):
            raise InfrastructureFailure("Spark lost a unit")
        return [_received(row) for row in found]

    def _lives(self) -> bool:
        try:
            return bool(self._session.range(1).count() == 1)
        except Exception:  # noqa: BLE001  see above
            return False


def _give(units: Sequence[Unit], pieces: Future[list[Piece]], take: Take) -> None:
    for unit, piece in zip(units, pieces.result(), strict=True):
        take(unit, piece)


def _batches(units: Sequence[Unit], size: int) -> Iterator[Sequence[Unit]]:
    yield from (units[at : at + size] for at in range(0, len(units), size))


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"


# -- pieces as bytes ----------------------------------------------------------------------------------------------------


def packed_rows(rows: pa.RecordBatch) -> bytes:
    """One batch as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_batch(rows)
    return bytes(sink.getvalue())


def unpacked_rows(data: bytes) -> pa.RecordBatch:
    with pa.ipc.open_stream(data) as reader:
        return reader.read_next_batch()


def _sent(index: int, piece: Piece) -> dict[str, Any]:
    return {"unit": index, "rows": packed_rows(piece.rows), "notes": piece.notes}


def _received(row: dict[str, Any]) -> Piece:
    return Piece(unpacked_rows(row["rows"]), tuple(row["notes"]))


def _as_people_write_it(master: str) -> str:
    """`local[2]`: that such a master is also told how often to try (spark_analysis/settings.py) is nobody's concern."""
    return re.sub(r"^(local\[[^],]+),\d+\]$", r"\1]", master)
