"""checkers/found.py: what a checker saw, before anybody has said what was promised about it.

In     a checker: one `Found` per anomaly, level and partition, however many instances there are
Out    columns of equal length, one entry per instance; the witness of an instance is told only for the few that are shown
Keeps  everything that the promises ask (CHECKERS 6) stands here as a fact: they never look at operations themselves
Not    whether any of it is a failure: checkers/promises.py
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from model.cluster import TopicPartition
from model.verdict import Level, Witness

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Words = npt.NDArray[np.object_]


@dataclass(frozen=True, kw_only=True)
class Found:
    """All instances of one anomaly at one level in one partition. Distinct writes, offsets or operations: never pairs (5.6)."""

    name: str
    level: Level
    at: TopicPartition
    from_ns: Numbers
    """Where each instance's window begins (6.1): of a lost write its start, else the first start of the witness."""
    to_ns: Numbers
    """Where it ends: of a lost write the start of its earliest evidence, else the last end of the witness."""
    proof_ns: Numbers
    """When it was proven: the end of the last operation of the proof."""
    tell: Callable[[int], Witness]
    """The witness of one instance, in English and with its operations in the order of the proof."""
    total: int | None = None
    """How many there are, where they are counted and not enumerated (3.6): the columns then have one entry for all of them."""
    offset: Numbers | None = None
    """The offset that is concerned, as the cluster counts it; -1 = none."""
    acked_ns: Numbers | None = None
    """When the write that is gone was acknowledged; -1 = it never was."""
    loss_class: Words | None = None
    """suffix, prefix, middle, all or unclear (5.5)."""
    evidence: Words | None = None
    """across, final or end (5.3)."""
    write_epoch: Numbers | None = None
    """The leader epoch of the write, where 5.5 knows it; -1 = unknown."""
    displaced: Flags | None = None
    """Losses: what lies there in the end was written in an earlier leader epoch, so no start of a later one bounds it."""
    idempotent: Flags | None = None
    """duplicate: the write was an idempotent producer's."""
    resent: Flags | None = None
    """duplicate: the write may have been sent more than once (attempts other than 1, or unknown)."""
    rule: str | None = None
    """liveness: which of V1 to V5 was broken (6.8); everything else gets its rule from the promises."""
    comparable: Flags | None = None
    """stale_read, stale_end_offset, refused_position: whether 3.8 compares this operation with any that proves more."""

    @property
    def count(self) -> int:
        return len(self.proof_ns) if self.total is None else self.total


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What one checker says of one partition, or (None) of the whole run."""

    name: str
    version: int = 1
    at: TopicPartition | None
    mode: tuple[str, ...] = ()
    found: tuple[Found, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    undecided: str = ""
    """Why something could not be decided, in a short, fixed phrase; what was found stays found."""
    seconds: float = 0.0
