"""bench/profiles.py: an undisturbed core to measure on, and where the time goes.

In   work, or a profile of it
Out  the work on one core without the garbage collector, as a simulator's worker runs; shares of the time by file
"""

from __future__ import annotations

import cProfile
import gc
import os
import pstats
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def undisturbed() -> Iterator[None]:
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()
        os.sched_setaffinity(0, cores)


def shares(profile: cProfile.Profile, most: int) -> list[tuple[str, float]]:
    """The files in which most of the time was spent, largest first."""
    spent: dict[str, float] = {}
    stats: dict[tuple[str, int, str], tuple[int, int, float, float, object]] = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    for (file, _, _), (_, _, own, _, _) in stats.items():
        room = "/".join(Path(file).parts[-2:]) if file.endswith(".py") else "built-in functions"
        spent[room] = spent.get(room, 0) + own
    whole = sum(spent.values())
    return [(room, own / whole) for room, own in sorted(spent.items(), key=lambda share: -share[1])[:most]]
