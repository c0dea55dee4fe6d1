"""checkers/windows.py: many windows, few questions.

In     the moments at which an answer can change; windows, one per instance of an anomaly
Out    the windows that differ in what happened before, at and after their ends, and which of these each instance has
Keeps  two windows that are taken for one stand to every moment in the same way, at both ends: whoever asks by comparing times
       gets the same answer of both
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from checkers.found import Numbers


@dataclass(frozen=True)
class Distinct:
    """The windows to ask about, and for every instance which of them is like its own."""

    windows: tuple[tuple[int, int], ...]
    which: Numbers


class Windows:
    """Windows over one set of moments."""

    def __init__(self, moments: Iterable[int]) -> None:
        self._moments = np.unique(np.fromiter(moments, np.int64))

    def distinct(self, from_ns: Numbers, to_ns: Numbers) -> Distinct:
        pairs = self._slot(from_ns) * (2 * len(self._moments) + 1) + self._slot(to_ns)
        _, first, which = np.unique(pairs, return_index=True, return_inverse=True)
        windows = zip(from_ns[first].tolist(), to_ns[first].tolist(), strict=True)
        return Distinct(tuple(windows), which.astype(np.int64))

    def _slot(self, at_ns: Numbers) -> Numbers:
        """Odd: at a moment; even: between two of them."""
        slot: Numbers = np.searchsorted(self._moments, at_ns, "left") + np.searchsorted(self._moments, at_ns, "right")
        return slot
