"""harness/shrink/rounder.py: rounder and shorter quantities.

In     durations in ns; arguments in the spelling of people
Out    others like them that are easier to remember, the ones that are liked best first
"""

from __future__ import annotations

import re
from collections.abc import Iterator

MS, S = 10**6, 10**9
DURATIONS = (100 * MS, 200 * MS, 500 * MS, *(seconds * S for seconds in (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30)))
"""As people say them, the shortest first."""
GRAINS = (S, 500 * MS, 100 * MS, 50 * MS, 10 * MS, MS)


def shorter(duration_ns: int) -> Iterator[int]:
    """The shortest first; then the same one, rounded up."""
    yield from (each for each in DURATIONS if each < duration_ns)
    yield from (-(-duration_ns // grain) * grain for grain in GRAINS)


def rounder_moments(at_ns: int) -> Iterator[int]:
    """Before and after, ever closer."""
    for grain in GRAINS:
        yield at_ns // grain * grain
        yield -(-at_ns // grain) * grain


def rounder(value: object) -> Iterator[object]:
    """`137ms` -> `100ms`, `140ms`; 17 -> 1, 20, 10: what has digits at its beginning."""
    found = re.fullmatch(r"(-?)([0-9]+)([A-Za-z/]*)", str(value)) if not isinstance(value, bool) else None
    if found is None:
        return
    sign, digits, unit = found.groups()
    for number in _rounder_numbers(int(digits)):
        yield f"{sign}{number}{unit}" if isinstance(value, str) else int(f"{sign}{number}")


def _rounder_numbers(number: int) -> Iterator[int]:
    places = len(str(number))
    yield 10 ** (places - 1)
    for kept in (1, 2):
        grain = 10 ** max(0, places - kept)
        yield (number + grain // 2) // grain * grain
