"""harness/analysis_pool.py: the analysis of many runs on worker processes, without Spark.

In     units, in order
Out    their pieces, in the same order (spark_analysis/engines.py says what an engine keeps)
Keeps  only numbers and notes pass between the processes; rows lie in files until it is their turn, so the memory of this process
       does not grow. A run that takes its worker along costs its own row: its unit is done again, run by run
"""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import msgspec

from harness.pool import Crew, Result, run_pool
from harness.worker import Work as PoolWork
from spark_analysis.engines import Take, packed_rows, settle, unpacked_rows
from spark_analysis.unit import Piece, Unit, lost, together

LIMIT_S = 1800.0  # for one unit: a hundred times what it takes
JUDGE_UNIT = "spark_analysis.unit:judge_unit"

_Load = Callable[[], Piece]


class _Setup(msgspec.Struct, frozen=True):
    """What a worker must know."""

    units: tuple[Unit, ...]
    into: str
    work: str


class OnPool:
    """`jobs` worker processes."""

    def __init__(self, jobs: int, work: str = JUDGE_UNIT) -> None:
        self._jobs, self._work = jobs, work
        self.name = f"a pool of {jobs} process{'es' if jobs > 1 else ''}"

    def run(self, units: Sequence[Unit], take: Take) -> None:
        queue = _InOrder(units, take)
        failed: dict[int, str] = {}
        with tempfile.TemporaryDirectory(prefix="tidemark-analysis-") as scratch:
            self._pass(units, Path(scratch), queue.put, failed.__setitem__)
            for index, why in sorted(failed.items()):
                queue.put(index, self._run_by_run(units[index], why, Path(scratch)))

    def _run_by_run(self, unit: Unit, why: str, scratch: Path) -> _Load:
        """A unit whose worker was lost: now each of its runs has its own task, and those that are lost again are named."""
        alone = unit.alone()
        if len(alone) == 1:
            return partial(lost, unit, why)
        pieces: dict[int, _Load] = {}
        failed: dict[int, str] = {}
        self._pass(alone, scratch, pieces.__setitem__, failed.__setitem__)
        pieces |= {index: partial(lost, alone[index], reason) for index, reason in failed.items()}
        return lambda: together([pieces[index]() for index in range(len(alone))])

    def _pass(
        self, units: Sequence[Unit], scratch: Path, done: Callable[[int, _Load], None], failed: Callable[[int, str], None]
    ) -> None:
        into = Path(tempfile.mkdtemp(dir=scratch))

        def on_result(index: int, result: Result) -> None:
            if result.status == "done":
                notes = msgspec.json.decode(result.data, type=tuple[str, ...])
                done(index, lambda: _load(into / str(index), notes))
            else:
                failed(index, result.reason)

        if not units:
            return
        setup = msgspec.json.encode(_Setup(tuple(units), str(into), self._work))
        crew = Crew(
            name="analysis",
            work="harness.analysis_pool:worker",
            setup=setup,
            jobs=min(self._jobs, len(units)),
            limit_s=LIMIT_S,
        )
        run_pool(crew, range(len(units)), on_result)


def worker(setup: bytes) -> PoolWork:
    """What runs in a worker process (harness/worker.py)."""
    settle()
    told = msgspec.json.decode(setup, type=_Setup)
    module, _, function = told.work.partition(":")
    work = getattr(importlib.import_module(module), function)

    def answer(index: int) -> bytes:
        piece = work(told.units[index])
        Path(told.into, str(index)).write_bytes(packed_rows(piece.rows))
        return msgspec.json.encode(piece.notes)

    return answer


class _InOrder:
    """Gives pieces on in the order of their units; one that is early waits as a file."""

    def __init__(self, units: Sequence[Unit], take: Take) -> None:
        self._units, self._take = units, take
        self._early: dict[int, _Load] = {}
        self._next = 0

    def put(self, index: int, load: _Load) -> None:
        self._early[index] = load
        while self._next in self._early:
            self._take(self._units[self._next], self._early.pop(self._next)())
            self._next += 1


def _load(path: Path, notes: tuple[str, ...]) -> Piece:
    rows = unpacked_rows(path.read_bytes())
    path.unlink()
    return Piece(rows, notes)
