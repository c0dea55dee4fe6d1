"""bench/figures.py: what a figure is, how it is printed, and the last ones.

In   figures, as they are measured
Out  a line each on stdout, progress on stderr; bench/last.json
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

LAST = Path(__file__).with_name("last.json")
_NOISE = 0.1  # a figure that moved by less than this is not called better or worse


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One measured number."""

    name: str
    value: float
    unit: str
    aim: float | None = None
    higher_is_better: bool = True


class LastFigure(msgspec.Struct, frozen=True):
    value: float
    unit: str


class Last(msgspec.Struct, frozen=True):
    """bench/last.json: the figures by name, and the little that explains why another machine's differ."""

    figures: dict[str, LastFigure]
    python: str
    cpus: int | None


def progress(doing: str) -> None:
    """What takes so long, for whoever is watching."""
    print(f"  ... {doing}", file=sys.stderr, flush=True)


def seconds(work: Callable[[], object]) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def best_of_turns(turns: int, *rivals: Callable[[], object]) -> list[float]:
    """The shortest time of each, taking turns so that a slow moment of the machine meets all of them."""
    times = [[seconds(rival) for rival in rivals] for _ in range(turns)]
    return [min(column) for column in zip(*times, strict=True)]


# -- printing ---------------------------------------------------------------------------------------------------------


def print_figure(figure: Figure, last: LastFigure | None) -> None:
    line = f"{figure.name:<44} {_number(figure.value):>12} {figure.unit:<13} {_aim(figure):<22} {_ratio(figure, last)}"
    print(line, flush=True)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1_000 else f"{value:,.3g}" if value < 1 else f"{value:,.1f}"


def _aim(figure: Figure) -> str:
    if figure.aim is None:
        return ""
    return f"aim {'at least' if figure.higher_is_better else 'at most'} {figure.aim:,.10g}"


def _ratio(figure: Figure, last: LastFigure | None) -> str:
    if last is None or last.unit != figure.unit or not last.value:
        return "first time"
    ratio = figure.value / last.value
    if abs(ratio - 1) < _NOISE:
        return f"{ratio:.2f}x of last"
    return f"{ratio:.2f}x of last, {'better' if (ratio > 1) == figure.higher_is_better else 'worse'}"


# -- the last ones ----------------------------------------------------------------------------------------------------


def read_last() -> dict[str, LastFigure]:
    """The last figures by name. A file that cannot be read is said before anything is measured, not after."""
    try:
        return msgspec.json.decode(LAST.read_bytes(), type=Last).figures
    except FileNotFoundError:
        return {}
    except msgspec.DecodeError as error:
        raise SystemExit(f"bench/last.json cannot be read: {error}. Mend or remove it. Nothing was measured.") from None


def write_last(figures: Iterable[Figure], others: dict[str, LastFigure]) -> None:
    """These, and the others that were not measured this time. Rounded: the disk does not repeat itself to six digits."""
    new = {figure.name: LastFigure(float(f"{figure.value:.4g}"), figure.unit) for figure in figures}
    last = Last(figures=others | new, python=platform.python_version(), cpus=os.cpu_count())
    LAST.write_text(json.dumps(msgspec.to_builtins(last), indent=2, sort_keys=True) + "\n")
