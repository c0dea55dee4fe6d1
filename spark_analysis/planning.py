"""spark_analysis/planning.py: which runs there are, and how they are cut into units of work.

In     `STORE`, or `STORE/campaign`
Out    `Scope`: the store and its campaigns; `units`: every run once, in order, some two hundred to a unit
Keeps  how runs are cut depends on their numbers and sizes only, so the same runs meet in a unit again and have one pack;
       nothing is opened here, and of a run nothing is kept but its number
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import msgspec

from model.pack import RUNS_PER_PACK, packs_of
from model.refusal import Refusal
from model.store import Store
from spark_analysis.unit import Unit

MOST_BYTES = 8 * 2**20  # of histories in a unit: what is larger is read by several workers, and never lies in memory together
RUNS_FAR_AWAY = 50  # in a unit, where nobody asks for sizes


class Scope(msgspec.Struct, frozen=True):
    """What is analysed: everything in a store, or one campaign of it."""

    store: str
    campaigns: tuple[str, ...]
    whole: bool
    shown: str
    """The store as it was written, for the commands that people are told."""

    @property
    def path(self) -> str:
        return self.store if self.whole else f"{self.store}/{self.campaigns[0]}"


def scope_of(path: str) -> Scope:
    """A store has campaigns, a campaign has runs; a `Refusal` where there is neither."""
    written = path.rstrip("/") or path
    store = written if "://" in written else str(Path(written).absolute())  # workers may stand elsewhere
    if campaigns := Store(store).campaigns():
        return Scope(store, tuple(campaigns), whole=True, shown=written)
    above, _, name = store.rpartition("/")
    beside = Store(above).campaigns() if above else []
    if name not in beside:
        allowed = f"a store, or STORE/campaign{': ' if beside else ''}{', '.join(beside[:8])}"
        raise Refusal("there are no runs here", where=path, allowed=allowed)
    return Scope(above, (name,), whole=False, shown=written.rpartition("/")[0] or ".")


def units(scope: Scope) -> Iterator[Unit]:
    """Campaign by campaign, in order of numbers."""
    store = Store(scope.store)
    for campaign in scope.campaigns:
        packs = packs_of(store, campaign)
        for numbers in _cut(store, campaign):
            near = tuple(place for place in packs if place.first <= numbers[-1] and numbers[0] <= place.last)
            yield Unit(scope.store, campaign, numbers, near)


def _cut(store: Store, campaign: str) -> Iterator[tuple[int, ...]]:
    """Blocks of numbers that a pack may hold, and these cut again where their histories are long."""
    per_block = RUNS_PER_PACK if store.local is not None else RUNS_FAR_AWAY
    for _, block in groupby(store.numbers(campaign), lambda number: number // per_block):
        taken: list[int] = []
        size = 0
        for number in block:
            more = _size(store, campaign, number)
            if taken and size + more > MOST_BYTES:
                yield tuple(taken)
                taken, size = [], 0
            taken.append(number)
            size += more
        yield tuple(taken)


def _size(store: Store, campaign: str, number: int) -> int:
    """Of its history; nothing where nobody can tell quickly."""
    if store.local is None:
        return 0
    try:
        return Path(store.directory(campaign, number), "history.parquet").stat().st_size
    except OSError:
        return 0
