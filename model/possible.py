"""model/possible.py: which faults may fire in a run of a plan.

In     a plan, before or after its schedule was written out
Out    names of faults: of a schedule that somebody wrote those in it, else all that the swarm may draw
"""

from __future__ import annotations

from model.plan import Plan
from model.vocabulary import FAULTS, faults_among


def possible_faults(plan: Plan) -> frozenset[str]:
    """Whether one fires is another question; what is not among these cannot."""
    if isinstance(plan.schedule, tuple) and not plan.drawn:
        return frozenset(event.fault for event in plan.schedule)
    if plan.schedule == "none":
        return frozenset()
    return frozenset(FAULTS) if plan.faults == "all" else faults_among(plan.faults)
