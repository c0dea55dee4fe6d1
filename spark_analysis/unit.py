"""spark_analysis/unit.py: the unit of work: some two hundred runs of a campaign, judged, and packed where they were not yet.

In     `Unit`: a store, a campaign, numbers, the packs that may hold some of them. Only this travels to a worker
Out    `Piece`: one row for every number, in order, and notes about packs
Keeps  a run that was not touched since it was packed is taken from its pack, any other is opened itself (model/look.py).
       A run that cannot be used is one row with the reason, and spoils neither the others nor the pack they are put into.
       A pack that rots is thrown away, named, and made again from its runs
Not    how a campaign is cut into units (spark_analysis/planning.py), who works on them (spark_analysis/engines.py)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pyarrow as pa

from model.pack import VERSION, OtherVersion, Place, drop_pack, open_pack, write_pack
from model.refusal import Refusal, TidemarkError
from model.store import Store
from model.whole_run import WholeRun, read_whole
from spark_analysis.judged import judged_row
from spark_analysis.rows import ROW, Row, quarantined_row, to_batch

LARGEST_PACKED = 50_000  # operations: of a longer run the fixed costs are nothing
LEAST_PACKED = 10  # runs: so many are worth writing a pack for


class Unit(msgspec.Struct, frozen=True):
    store: str
    campaign: str
    numbers: tuple[int, ...]
    packs: tuple[Place, ...] = ()

    def alone(self) -> list[Unit]:
        """Each run as a unit of its own, for when one of them takes its worker along."""
        return [Unit(self.store, self.campaign, (number,)) for number in self.numbers]

    def halves(self) -> list[Unit]:
        """For the same, where it costs much to ask."""
        middle = len(self.numbers) // 2
        return [msgspec.structs.replace(self, numbers=half) for half in (self.numbers[:middle], self.numbers[middle:])]


class Piece(msgspec.Struct, frozen=True):
    """What became of a unit."""

    rows: pa.RecordBatch
    notes: tuple[str, ...] = ()


Work = Callable[[Unit], Piece]


def judge_unit(unit: Unit) -> Piece:
    """In whatever process."""
    return _Judging(unit).piece()


def lost(unit: Unit, why: str) -> Piece:
    """A unit of one run that its worker did not survive."""
    reason = f"the analysis of this run failed: {why}"
    return Piece(to_batch([quarantined_row(unit.store, unit.campaign, number, reason) for number in unit.numbers]))


class _Judging:
    """One unit, from its packs to a new one."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        self._store = Store(unit.store)
        self._notes: list[str] = []
        self._rotten = False
        self._opened: list[Place] = []
        self._packed = self._from_packs()
        self._good: list[WholeRun] = []

    def piece(self) -> Piece:
        rows = [self._row(number) for number in self._unit.numbers]
        self._pack()
        return Piece(to_batch(rows), tuple(self._notes))

    # -- reading --------------------------------------------------------------------------------------------------------

    def _from_packs(self) -> dict[int, WholeRun]:
        """Everything that can be taken from packs; of a run that lies in two of them, the first."""
        found: dict[int, WholeRun] = {}
        for place in self._unit.packs:
            wanted = set(self._unit.numbers) - found.keys()
            try:
                pack = open_pack(self._store, place)
                self._opened.append(place)
                found |= {run.number: run for run in pack.runs(wanted & pack.current(self._store, self._unit.campaign))}
            except OtherVersion as other:
                if other.found < VERSION:
                    drop_pack(self._store, place)
            except Exception as error:  # noqa: BLE001  whatever it is: it is only a cache, and the runs are still there
                if not Path(place.path).exists():
                    continue  # somebody else has just replaced it
                self._rotten = True
                self._notes.append(f"a rotten pack was made again from its runs: {_sentence(error)}")
                drop_pack(self._store, place)
        return found

    def _row(self, number: int) -> Row:
        where = self._unit.store, self._unit.campaign
        try:
            run = self._packed.get(number) or read_whole(self._store, self._unit.campaign, number)
            row = judged_row(*where, run)
        except Refusal as refusal:
            return quarantined_row(*where, number, _sentence(refusal))
        except Exception as error:  # noqa: BLE001  whatever one run does to us, it does to its own row only
            why = f"the analysis of this run failed: {type(error).__name__}: {error}"
            return quarantined_row(*where, number, why)
        if run.record.rows <= LARGEST_PACKED:
            self._good.append(run)
        return row

    # -- packing --------------------------------------------------------------------------------------------------------

    def _pack(self) -> None:
        """What lies in no pack, together with what does: so a unit has one pack, however its campaign grew."""
        loose = sum(run.number not in self._packed for run in self._good)
        if self._store.local is None or not loose or (loose < LEAST_PACKED and not self._rotten):
            return
        try:
            write_pack(self._store, self._unit.campaign, self._good)
        except (TidemarkError, OSError, pa.ArrowException) as error:
            self._notes.append(f"{self._unit.campaign}: its runs could not be packed: {_sentence(error)}")
            return
        for place in self._opened:
            if self._unit.numbers[0] <= place.first and place.last <= self._unit.numbers[-1]:
                drop_pack(self._store, place)


def _sentence(error: Exception) -> str:
    """On one line: where, and what."""
    if isinstance(error, Refusal):
        return f"{error.where}: {error.problem}" if error.where else error.problem
    return f"{type(error).__name__}: {error}"


def together(pieces: Sequence[Piece]) -> Piece:
    """The pieces of single runs as that of their unit."""
    rows = pa.Table.from_batches([piece.rows for piece in pieces], schema=ROW).combine_chunks().to_batches()
    return Piece(rows[0], tuple(note for piece in pieces for note in piece.notes))
