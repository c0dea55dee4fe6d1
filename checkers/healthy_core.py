"""checkers/healthy_core.py: who is surely up and connected while others are disturbed (CHECKERS 6.8, V3).

In     the disturbances that a stretch of time has to do with, and the plan
Out    `Core`: nodes and client groups of which no fault touches any, nor any link between two of them
Keeps  in doubt nobody is in it: a link that is slow, held or gated in one direction counts as gone, a node that is slow or has
       a bad disk counts as down, and where it is not written down which links a fault took, there is no core at all
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Final

import msgspec

from checkers.disturbances import Disturbance
from model.plan import Plan
from model.vocabulary import FAULTS

MOST_CHOICES: Final = 256
CLOCKS: Final = frozenset({"skew", "jump", "strobe", "drift"})
ENDING: Final = frozenset({"kill", "lossy_kill", "pause", "wipe", "lose_unsynced", "tear"})
"""Nodes that these concern do not run, or stand still."""
BREAKING: Final = frozenset({"cut", "hold", "refuse", "silent"})
"""Nothing passes."""
SIDED: Final = (None, "between", "isolate")
"""Shapes whose links follow from the sides that the table of events names."""

Members = frozenset[int]


class Core(msgspec.Struct, frozen=True):
    """Nodes, and client groups below zero: all of them up, each connected to each."""

    members: Members

    def brokers(self, plan: Plan) -> Members:
        return self.members & frozenset(plan.nodes.broker_ids)

    def voters(self, plan: Plan) -> Members:
        return self.members & frozenset(plan.nodes.controller_ids)

    @property
    def groups(self) -> Members:
        """As plans count them: from 1."""
        return frozenset(-member for member in self.members if member < 0)


def cores(plan: Plan, told: Sequence[Disturbance]) -> Iterator[Core]:
    """Every core that is as large as can be; none if it cannot be told."""
    choices = [_without(plan, one) for one in told]
    count = 1
    for each in choices:
        count *= len(each)
    if 0 < count <= MOST_CHOICES:
        found = {everybody(plan).difference(*gone) for gone in product(*choices)}
        yield from map(Core, sorted(found, key=lambda members: (-len(members), sorted(members))))


def everybody(plan: Plan) -> Members:
    return frozenset(plan.nodes.ids) | frozenset(range(-plan.client_groups, 0))


def _without(plan: Plan, one: Disturbance) -> list[Members]:
    """Whom to leave out so that this one touches nobody who is left: one set for each way to do so; none if there is no way."""
    known = FAULTS.get(one.fault)
    if one.fault == "exit" or (known is not None and known.aim == "nodes" and one.fault not in CLOCKS):
        return [frozenset(one.nodes)] if one.nodes else []
    if known is None or known.aim != "links" or one.args.get("shape") not in SIDED:
        return [frozenset()] if known is not None and known.aim == "partition" else []
    sides = [frozenset(side) for side in one.args.get("sides", ())]
    if len(sides) == 1:
        sides.append(everybody(plan) - sides[0])
    return list(dict.fromkeys(sides)) if len(sides) == 2 else []


def lost_to_voters(plan: Plan, told: Sequence[Disturbance]) -> Members:
    """Nodes that are surely down, or of which no voter hears anything, while all of these last."""
    gone: set[int] = set()
    for one in told:
        sides = [frozenset(side) for side in one.args.get("sides", ())]
        if one.fault in ENDING:
            gone.update(one.nodes)
        elif one.fault in BREAKING and not one.args.get("one_way") and one.args.get("streams", "both") == "both":
            if len(sides) == 1:
                gone |= sides[0]
            for side, other in (sides, sides[::-1]) if len(sides) == 2 else ():
                gone |= side if other >= frozenset(plan.nodes.controller_ids) else frozenset()
    return frozenset(gone)


def group_of(plan: Plan, client: str) -> int | None:
    """Of a client of the history, such as `raw-3`: processes are dealt out to the groups. None: it has no such name."""
    name, _, number = client.rpartition("-")
    return int(number) % plan.client_groups + 1 if name and number.isdecimal() else None
