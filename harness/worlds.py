"""harness/worlds.py: which worlds there are, and the explicit form of a plan for one of them.

In     a plan
Out    a cluster that has not been started; the plan with its schedule written out, as it is stored and replayed (DESIGN 11.5)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from clusters.sim.cluster import CAN, SimCluster
from clusters.sim.watch import Watch
from model.cluster import Ability, Cluster
from model.plan import Plan
from model.refusal import Refusal
from model.schedule import Schedule
from nemesis.swarm import draw_schedule


class World(msgspec.Struct, frozen=True):
    """Where nodes can run."""

    can: frozenset[Ability]
    make: Callable[[Plan], Cluster]


def simulated(plan: Plan, watch: Watch | None = None) -> SimCluster:
    """With somebody who looks into the nodes after every event, unless the plan says that nobody should."""
    cluster = SimCluster(plan, watch=watch)
    if plan.judge.on_violation == "off":
        cluster.keep_ledger()
    else:
        cluster.assert_invariants(plan.judge.on_violation)
    return cluster


WORLDS: Mapping[str, World] = {"sim": World(CAN, simulated)}


def world_of(plan: Plan) -> World:
    """Refused before anything starts where there is no such world yet."""
    if plan.cluster not in WORLDS:
        raise Refusal(f"there is no world {plan.cluster!r} to run in yet", where="cluster", allowed=", ".join(WORLDS))
    return WORLDS[plan.cluster]


def written_out(plan: Plan) -> Plan:
    """The same plan with an explicit schedule: what the swarm drew for this seed, or what somebody wrote."""
    drawn = plan.drawn or plan.schedule == "swarm"
    return msgspec.structs.replace(plan, schedule=schedule_of(plan), drawn=drawn)


def schedule_of(plan: Plan) -> Schedule:
    if isinstance(plan.schedule, tuple):
        return plan.schedule
    return draw_schedule(plan, world_of(plan).can) if plan.schedule == "swarm" else ()
