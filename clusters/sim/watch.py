"""clusters/sim/watch.py: for whoever wants to see what happens inside the world: traces, invariants, tests.

In     everything that the digest covers, and more words
Out    nothing: a watch looks on. A run with a watch and one without have the same digest
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from model.cluster import NodeId

Way = Literal["request", "answer", "copy"]


class Watch:
    """Sees nothing. Override what is of interest."""

    def message(self, at_ns: int, way: Way, ends: tuple[int, int], message: Any) -> None:
        """A message arrived at the second of the two ends."""

    def told(self, at_ns: int, node: NodeId, event: Any) -> None:
        """A node told of something (replication/events.py)."""

    def process(self, at_ns: int, node: NodeId, what: Literal["starts", "serves", "ends", "stands", "runs"], why: str) -> None:
        """A node process began, ended, stood still or went on."""

    def committed(self, at_ns: int, change: Mapping[str, Any]) -> None:
        """The controllers committed a change of a partition: a row of `changes`."""

    def registered(self, at_ns: int, node: NodeId, what: Literal["registered", "fenced", "unfenced"]) -> None:
        """The controllers changed their mind about a broker."""
