"""checkers/expected.py: whether a loss may be allowed at all under a plan, and by which rules: known before anything has run.

In     a plan: its config, and the faults that may fire
Out    the rules of 6.3 and 6.5 that could allow a loss in one of its runs; none, where every loss would be forbidden
Keeps  never too few: whatever a run of this plan is allowed by `promises.py`, it is allowed by one of these. What a run is
       promised in the end is decided by what fired in it
"""

from __future__ import annotations

from typing import Final

from model.cluster import Ability
from model.damage_inputs import FLUSH_EACH, FLUSH_INTERVAL, UNCLEAN, partition_setting
from model.plan import Plan
from model.possible import possible_faults
from model.schedule import Event
from model.vocabulary import FAULTS

_FORGETS: Final = frozenset({Ability.LOSE_UNSYNCED, Ability.TEAR, Ability.WIPE})


def expected_losses(plan: Plan) -> tuple[str, ...]:
    """`("C7", "W0", "W3")`; empty: no loss may ever be allowed."""
    faults = possible_faults(plan)
    rules = set()
    for topic in plan.topics:
        setting = partition_setting(plan, topic)
        if faults and (setting.unclean or _permits_unclean(plan, faults)):
            rules.add("C2")
        synced = setting.flush_each and not _flushes_less(plan) and plan.cluster == "sim"  # elsewhere damage may be unknown
        if _forgets(faults, flush_each=synced):
            rules.add("C7" if setting.elr else "C9")
    if faults and _acks_of_the_leader(plan):
        rules |= {"W3"} | ({"W0"} if rules else set())
    return tuple(sorted(rules))


def _forgets(faults: frozenset[str], *, flush_each: bool) -> bool:
    """l ≥ 1: a disk may lose records; those that were synced, only by a wipe (6.2)."""
    losing = {Ability.WIPE} if flush_each else _FORGETS
    return any(FAULTS[fault].needs & losing for fault in faults)


def _permits_unclean(plan: Plan, faults: frozenset[str]) -> bool:
    """By hand, or by a change of the setting."""
    if "elect" in faults and (not isinstance(plan.schedule, tuple) or plan.drawn):
        return True
    return any(event.args.get("kind") == "unclean" or event.args.get("key") == UNCLEAN for event in _written(plan))


def _flushes_less(plan: Plan) -> bool:
    return any(event.args.get("key") in (*FLUSH_EACH, *FLUSH_INTERVAL) for event in _written(plan))


def _written(plan: Plan) -> tuple[Event, ...]:
    """What somebody wrote; of settings the swarm changes none but min.insync.replicas."""
    return plan.schedule if isinstance(plan.schedule, tuple) else ()


def _acks_of_the_leader(plan: Plan) -> bool:
    workload = plan.workload
    phases = tuple(phase.acks for phase in workload.phases if phase.acks is not None)
    return 1 in (*(workload.acks_of_processes or (workload.acks,)), *phases)
