"""nemesis/fault.py: what a fault is: one small file each, with `inject` and sometimes `heal` (DESIGN 11.2).

In     a cluster's handles; targets that are already resolved, nodes or links or partitions; typed arguments
Out    `inject` is a generator: it acts through handles, may wait by yielding, and returns `Fired`, with a grip of everything
       that is in force until it heals; course.py releases them. `heal` undoes what else there is to undo: it is told whether the
       fault had an effect by then, and may know better; None leaves what is known
Waits  are answered True when they are over. False: the limit came first, or the fault is being healed: act no more, return
Not    whom to hit (targets.py, shapes.py), when (the schedule), which world it is: `needs` of model/vocabulary.py sees to that
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from model.cluster import Ability, Args, Cluster, Fired, Link, NodeId, Steps, TopicPartition
from model.vocabulary import FAULTS

T = TypeVar("T", NodeId, Link, TopicPartition)

Heal = Callable[[Cluster, tuple[T, ...], Args, bool | None], bool | None]


class Fault(msgspec.Struct, Generic[T], frozen=True):
    """A fault by its name in the vocabulary."""

    name: str
    inject: Callable[[Cluster, tuple[T, ...], Args], Steps[Fired]]
    heal: Heal[T] | None = None

    @property
    def needs(self) -> frozenset[Ability]:
        return FAULTS[self.name].needs

    @property
    def lasts(self) -> bool:
        """Whether it is in force until it heals, or over when `inject` returns."""
        return FAULTS[self.name].heals
