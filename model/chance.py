"""model/chance.py: random numbers that repeat (DESIGN 11.5).

In   a seed and a purpose: every purpose, link and node has a stream of its own, so that a deleted event moves no other draw
Out  whole numbers, choices and shares, made of `getrandbits` alone: no float, no libm, the same on every machine
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Protocol, TypeVar

_BITS = 53
_T = TypeVar("_T")


class Chance(Protocol):
    """A stream of random numbers."""

    def random(self) -> float: ...

    def getrandbits(self, k: int, /) -> int: ...


def stream(seed: int, *purpose: object) -> Random:
    """The stream of one purpose: `stream(7, "net", "1>2", "fetch-0")` is always the same one."""
    return Random(":".join(str(part) for part in (seed, *purpose)))


def below(chance: Chance, bound: int) -> int:
    """A whole number from 0 to `bound` - 1."""
    return chance.getrandbits(_BITS) * bound >> _BITS


def between(chance: Chance, low: int, high: int) -> int:
    """A whole number from `low` to `high`, both included."""
    return low + below(chance, high - low + 1)


def happens(chance: Chance, times: int, of: int) -> bool:
    """True in `times` of `of` cases."""
    return below(chance, of) < times


def pick(chance: Chance, choices: Sequence[_T]) -> _T:
    """One of them, each as likely."""
    return choices[below(chance, len(choices))]


def some(chance: Chance, choices: Sequence[_T], count: int) -> tuple[_T, ...]:
    """So many different ones, in the order in which they stand."""
    left = list(range(len(choices)))
    drawn = sorted(left.pop(below(chance, len(left))) for _ in range(count))
    return tuple(choices[index] for index in drawn)
