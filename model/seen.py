"""model/seen.py: what the run loop saw of a run that no table says.

In     the run loop, when a run is over
Out    `Seen`, which stands in run.json, so that whoever judges the stored run again knows what was known when it was judged first
Not    what follows from it (checkers/)
"""

from __future__ import annotations

import msgspec

from model.cluster import Violation


class Seen(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Nothing unusual, unless it says otherwise."""

    crashed: tuple[str, ...] = ()
    """Node processes that ended although neither the schedule nor the protocol ended them."""
    violations: tuple[Violation, ...] = ()
    refused: bool = False
    """An event that somebody wrote down could not fire."""
    converged: bool = True
    excuse: str = ""
    """Why nobody could expect the cluster to come back."""
    read_to_the_end: bool = True
