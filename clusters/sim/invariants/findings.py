"""clusters/sim/invariants/findings.py: violations, as they are found.

In     what an invariant yields, and where
Out    `violations`; with `stop` the kernel stops at the first event that has any
Keeps  an invariant that was violated somewhere is not told of again there: what follows from one wrong is not ten wrongs
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from clusters.sim.invariants import beliefs
from clusters.sim.invariants.catalogue import Invariant
from clusters.sim.invariants.quorum import of_quorum
from clusters.sim.invariants.story import Story
from clusters.sim.invariants.truth import PartitionTruth
from clusters.sim.invariants.violation import Violation
from clusters.sim.invariants.world import World
from clusters.sim.kernel import Kernel

OnViolation = Literal["stop", "note"]
Where = PartitionTruth | str
"""A partition; or a node, the brokers, the quorum."""

THE_BROKERS = "the brokers"
THE_QUORUM = "the quorum"


class Findings:
    """What is wrong, each thing once."""

    def __init__(self, kernel: Kernel, world: World, story: Story, on_violation: OnViolation) -> None:
        self.violations: list[Violation] = []
        self._kernel, self._world, self._story = kernel, world, story
        self._stops = on_violation == "stop"
        self._noted: dict[tuple[Invariant, str], int] = {}

    def ask(self, asked: Invariant, where: Where, texts: Iterator[str]) -> None:
        for text in texts:
            self.found(asked, where, text)

    def found(self, asked: Invariant, where: Where, text: str) -> None:
        if not self._world.metadata_promised():
            return  # who leads and who is in sync may be anything: nothing above it can be promised
        name = where if isinstance(where, str) else where.name
        if self._noted.setdefault((asked, name), self._kernel.event) != self._kernel.event:
            return
        self.violations.append(self._violation(asked, where, name, text))
        if self._stops:
            self._kernel.stopped = True

    def _violation(self, asked: Invariant, where: Where, name: str, text: str) -> Violation:
        partition = None if isinstance(where, str) else where
        if partition is not None:
            believed = beliefs.of_partition(self._world, partition)
        else:
            believed = of_quorum(self._world) if where == THE_QUORUM else ()
        concerned = (None, None) if partition is None else (partition.topic, partition.index)
        return Violation(
            number=asked.number,
            name=asked.name,
            text=text,
            where=name,
            at_ns=self._kernel.now,
            event=self._kernel.event,
            after=self._story.last_kind(*concerned),
            beliefs=believed,
            story=self._story.lines(*concerned),
        )
