"""checkers/history.py: every checker of histories, on every partition.

In     the columns of a history; how to hold it against a log; who led when, where it is known
Out    one `Checked` per checker and partition: facts, never failures
Keeps  a checker that raises is undecided, with its message, and hides nothing that another one found (CHECKERS 7.1)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from checkers.batches import check_batches
from checkers.columns import Columns
from checkers.durability import check_durability
from checkers.final_read import FinalRead
from checkers.found import Checked
from checkers.log import check_log
from checkers.mode import Mode
from checkers.offices import offices_of
from checkers.part import Part, parts
from checkers.placing import Places
from checkers.positions import check_positions
from checkers.sequences import check_sequences
from checkers.sessions import check_sessions


@dataclass(frozen=True)
class Beside:
    """What is known beside the operations. `changes` None: nothing is (a history from elsewhere)."""

    complete: bool = True
    """Every operation has its row (1.6)."""
    changes: Sequence[Mapping[str, Any]] | None = None
    changes_complete: bool = False


class Look:
    """One partition, and what several checkers need of it: made once, when it is first asked for."""

    def __init__(self, part: Part, mode: Mode, beside: Beside) -> None:
        self.part, self.mode, self.beside = part, mode, beside
        self.places = Places(part)
        self.final = FinalRead(part, self.places)
        known = beside.changes is not None and beside.changes_complete
        self.offices = part.offices = offices_of(beside.changes or (), part.at, complete=known)


Checker = Callable[[Look], Checked]


def _log(look: Look) -> Checked:
    return check_log(look.part, look.mode, look.places, look.offices, complete=look.beside.complete)


def _durability(look: Look) -> Checked:
    return check_durability(look.part, look.places, look.final, look.offices)


def _positions(look: Look) -> Checked:
    return check_positions(look.part, look.places, look.mode, one_epoch=look.offices.one_epoch)


CHECKERS: Mapping[str, Checker] = {
    "linearizability": _log,
    "durability": _durability,
    "sessions": lambda look: check_sessions(look.part, look.places),
    "sequences": lambda look: check_sequences(look.part, look.places),
    "batches": lambda look: check_batches(look.part, look.places, look.final),
    "positions": _positions,
}


def look(columns: Columns, mode: Mode, beside: Beside | None = None) -> list[Checked]:
    """In order of partition, then of checker."""
    beside = Beside() if beside is None else beside
    return [checked for part in parts(columns) for checked in look_at(Look(part, mode, beside))]


def look_at(one: Look) -> list[Checked]:
    return [_guarded(name, checker, one) for name, checker in CHECKERS.items()]


def _guarded(name: str, checker: Checker, one: Look) -> Checked:
    began = time.perf_counter()
    try:
        checked = checker(one)
    except Exception as error:  # noqa: BLE001  whatever it is: a checker that fails decides nothing, and the others go on
        checked = Checked(name=name, at=one.part.at, undecided=f"the checker {name} failed: {type(error).__name__}: {error}")
    return replace(checked, seconds=time.perf_counter() - began)
