"""checkers/log.py: is one partition's history that of a single log? (CHECKERS section 3)

In     a `Part`, its `Places`, the `Mode`
Out    a `Checked`: committed findings are the ways in which it is not linearizable; beside them the claims of level local
Keeps  sound and complete in the modes of 3.7; O(n log n) time, O(n) memory, nothing sized by an offset
How    contents.py (steps 1 to 3), intervals.py (4), pairs.py (5, 3.8), holes.py (6), claims.py (acks=1)
"""

from __future__ import annotations

import numpy as np

from checkers.claims import check_claims
from checkers.contents import check_contents
from checkers.final_read import FinalRead
from checkers.found import Checked
from checkers.heirs import Heirs
from checkers.holes import check_holes
from checkers.intervals import Intervals
from checkers.mode import Mode
from checkers.offices import UNKNOWN, Offices
from checkers.pairs import check_pairs
from checkers.part import Part
from checkers.placing import Places


def check_log(
    part: Part, mode: Mode, places: Places | None = None, offices: Offices = UNKNOWN, *, complete: bool = True
) -> Checked:
    """`complete`: every operation has its row (1.6). `offices`: who led when, if it is known."""
    places = Places(part) if places is None else places
    of, heirs = Intervals(part, places, mode), Heirs(part, FinalRead(part, places), offices)
    found = (
        *check_contents(part, places, mode, heirs, complete=complete),
        *check_pairs(of, one_epoch=offices.one_epoch),
        *(check_holes(of, one_epoch=offices.one_epoch) if mode.density == "dense" and complete else ()),
        *check_claims(of, heirs),
    )
    words = mode.density, "retry" if of.retry else "forbid", mode.freshness
    return Checked(name="linearizability", at=part.at, mode=words, found=found, counts=_counts(of))


def _counts(of: Intervals) -> dict[str, int]:
    return {
        "records_read": len(of.part.records.row),
        "floating": len(of.places.floating),
        "holes": of.longest - int(of.places.known_below(np.array([of.longest]))[0]),
        "sent_unseen": int((of.part.is_append & (of.part.acks == 0) & ~of.places.seen).sum()),
    }
