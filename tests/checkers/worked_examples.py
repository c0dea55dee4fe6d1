"""tests/checkers/worked_examples.py: the tables of CHECKERS 8.2 (L and D) and 8.3, as data.

Each `Violation` stands beside its `NearMiss`: what differs between them is what makes the anomaly one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from checkers.mode import Mode

DENSE: Final = Mode(density="dense", copies="forbid", freshness="strict")
SPARSE: Final = Mode(density="sparse", copies="forbid", freshness="strict")
RETRY: Final = Mode(density="dense", copies="retry", freshness="strict")
FENCED: Final = Mode(density="dense", copies="forbid", freshness="fenced")


@dataclass(frozen=True)
class Violation:
    """`names`: exactly the anomalies that must be found; `ops`: the operations of the first one's witness, in ascending order."""

    id: str
    texts: tuple[str, ...]
    names: tuple[str, ...]
    ops: tuple[int, ...]
    mode: Mode = DENSE
    linearizable: bool = False
    facts: dict[str, str] = field(default_factory=dict)
    """Attributes of the first anomaly: evidence, loss_class."""
    beside: tuple[int, ...] = ()
    """Operations that 5.3 keeps in the witness as well: who wrote the record, who knows it."""
    local: tuple[str, ...] = ()
    """Anomalies of level local; the others are committed."""
    holes: int | None = None


@dataclass(frozen=True)
class NearMiss:
    id: str
    texts: tuple[str, ...]
    mode: Mode = DENSE


def _violation(name: str, text: str, names: str, *ops: int, **more: Any) -> Violation:
    return Violation(name, (text,), tuple(names.split()), ops, **more)


def _near(name: str, text: str, mode: Mode = DENSE) -> NearMiss:
    return NearMiss(name, (text,), mode)


_L4 = _near("L4", "A1@0 0-1; A2@1 2-3; R0=1 4-5")
_L10 = _near("L10", "A1? 0-; A2? 0-; R0=1. 1-2; R0=1,2. 3-4")
_L15 = "A1@0 0-1; R0=1,1. 2-3"
_L16 = "A1@0 0-1; A2@2 2-3; R0=1,1,2. 4-5"
_L29 = "A1@0 0-1; A2@1152921504606846976 2-3"
_L30 = "A1@0 0-1; A2@3 2-3; R0=0:1,3:2. 4-5"
_L31 = "A1@0 0-1; A2@1 2-3; A3@2 4-5; R0=0:1,2:3 6-7"

OF_A_LOG: Final[list[tuple[Violation, NearMiss]]] = [
    (
        _violation("L1", "A1@0 0-1; E0 2-3", "stale_end_offset", 1, 2),
        _near("L2", "A1@0 0-2; E0 2-3"),
    ),
    (
        _violation("L3", "A1@0 0-1; A2@1 2-3; R0=1. 4-5", "stale_read", 2, 3),
        _L4,
    ),
    (
        _violation("L28", "A1? 0-; R0=1. 1-2; R0=. 3-4", "stale_read", 2, 3),
        _near("L14", "A1? 0-; R0=. 1-2; R0=1. 3-4"),
    ),
    (
        _violation("L6", "A1@1 0-1; A2@0 2-3", "reordered", 1, 2),
        _near("L7", "A1@1 0-2; A2@0 1-3"),
    ),
    (
        _violation("L8", "A1@0 0-1; A2@0 2-3", "inconsistent_offset", 1, 2),
        _near("L5", "A1@0 0-1; R1=. 2-3; A2@1 4-5"),
    ),
    (  # by 5.3 record 1 has vanished as well
        _violation("L9", "A1? 0-; A2? 0-; R0=1. 1-2; R0=2. 3-4", "inconsistent_offset vanished_read", 3, 4),
        _L10,
    ),
    (
        _violation("L11", "A1@0 0-1; R0=1,9. 2-3", "phantom", 2),
        _near("L12", "A1@0 0-1; A9? 0-; R0=1,9. 2-3"),
    ),
    (
        _violation("L13", "A1! 0-1; R0=1. 2-3", "aborted_read", 1, 2),
        _near("L32", "a1@0 0-1; R0=. 2-3; R0=1. 4-5"),
    ),
    (
        _violation("L15", _L15, "duplicate", 1, 2),
        _near("L15-retry", _L15, RETRY),
    ),
    (
        _violation("L16-forbid", _L16, "duplicate", 1, 3),
        _near("L16", _L16, RETRY),
    ),
    (
        _violation("L17", "A1@1 0-1", "unfillable_hole", 1),
        _near("L18", "A2? 0-; A1@1 0-1"),
    ),
    (
        _violation("L19", "A1@1 0-1; A2? 2-", "unfillable_hole", 1),
        _near("L22", "A1@- 0-3; A2? 0-; A4@1 5-6"),
    ),
    (
        _violation("L20", "A1@- 0-1; R0=. 2-3", "lost_ack", 1, 2),
        _near("L21", "A1@- 0-2; R0=. 2-3"),
    ),
    (
        _violation("L23", "A1@- 0-3; A2? 0-; E0 4-5; A4@1 6-7", "lost_ack", 1, 3),
        _near("L24", "A1@- 0-9; A2@- 4-5; A3@2 6-7; E0 2-3; R0=2. 5-8"),
    ),
    (
        _violation("L25", "A1@- 0-3; A2@- 0-9; E0 4-5; A3@1 6-7", "lost_ack", 1, 3),
        _near("L34", "A1@0 0-9; E1 1-2; A2@1 3-4; R0=1,2. 5-6"),
    ),
    (
        _violation("L26", "R0=1. 0-1; A1@0 2-3", "future_read", 1, 2),
        _near("L27", "R0=1. 0-2; A1@0 2-3"),
    ),
    (
        Violation("L29", (_L29,), ("unfillable_hole",), (2,), holes=2**60 - 1),
        _near("L29-sparse", _L29, SPARSE),
    ),
    (
        _violation("L30", _L30, "read_gap unfillable_hole", 3),
        _near("L30-sparse", _L30, SPARSE),
    ),
    (  # by 5.3 write 2 is lost as well, as in D1
        _violation("L31", _L31, "read_gap lost_write", 4, beside=(2,)),
        _L4,
    ),
    (
        _violation("L31-sparse", _L31, "read_gap lost_write", 4, beside=(2,), mode=SPARSE),
        _L4,
    ),
]

_LOST = "A1@0 0-1; A2@1 2-3; F0=1. 6-7"
_D2 = _near("D2", "A1@0 0-1; A2? 0-; A3@1 0-1; R0=1,3. 4-5")
_D6 = "a1@0 0-1; F0=. 5-6"
_D13 = _near("D13", "p:A1@1 0-2; q:A2@0 1-3")
_D17 = _near("D17", "A1@0 0-1; A3@2 0-1; c:P=0:1 4-5; c:P=2:3 6-7", SPARSE)
_D25 = _near("D25", "p:A1?#0 0-; p:A2@0#1 3-4; F0=2. 9-9")

WITHOUT_A_TOTAL_ORDER: Final[list[tuple[Violation, NearMiss]]] = [
    (
        _violation(
            "D1",
            "A1@0 0-1; A2@1 0-1; A3@2 0-1; R0=0:1,2:3 4-5",
            "lost_write read_gap",
            2,
            4,
            facts={"evidence": "across"},
        ),
        _D2,
    ),
    (
        _violation("D3", _LOST, "lost_write", 2, 3, facts={"evidence": "final"}),
        _near("D4", "A1@0 0-1; A2@1 2-7; F0=1. 6-8"),
    ),
    (
        _violation("D3", _LOST, "lost_write", 2, 3),
        _near("D5", "A1@0 0-1; A2? 2-; F0=1. 6-7"),
    ),
    (
        _violation("D6", _D6, "lost_write", 1, 2, linearizable=True, local=("lost_write",), facts={"loss_class": "all"}),
        _near("D28", "z1? 0-; F0=. 5-6"),
    ),
    (  # all acknowledged by one node; 1 and 3 were read with batch epoch 1
        _violation(
            "D7",
            "a1@0/1 0-1; a2@1 2-3; a3@2/1 4-5; F0=0:1,2:3. 8-9",
            "lost_write read_gap",
            2,
            4,
            local=("lost_write",),
            facts={"loss_class": "middle"},
        ),
        _D2,
    ),
    (
        _violation(
            "D8",
            "a1@0 0-1; A2@0 4-5; F0=2. 8-9",
            "lost_write inconsistent_offset",
            1,
            3,
            linearizable=True,
            local=("lost_write", "inconsistent_offset"),
        ),
        _L10,
    ),
    (
        _violation("D9", "A1? 0-; R0=1. 2-3; F0=. 8-9", "vanished_read", 2, 3, beside=(1,)),
        _near("D10", "A1? 0-; F0=. 8-9; R0=1. 10-11"),
    ),
    (
        _violation("D11", "p:A1@1 0-1; p:A2@0 2-3", "nonmonotonic_send", 1, 2),
        _D13,
    ),
    (
        _violation("D12", "p:A1@1 0-1; q:A2@0 2-3", "reordered", 1, 2),
        _D13,
    ),
    (
        _violation(
            "D14",
            "A1@0 0-1; A2@1 2-3; c:S0 3-3; c:P=0:1,1:2 4-5; c:P=1:2 6-7",
            "nonmonotonic_poll",
            4,
            5,
            linearizable=True,
        ),
        _near("D15", "A1@0 0-1; A2@1 2-3; c:S0 3-3; c:P=0:1,1:2 4-5; c:S1 5-5; c:P=1:2 6-7"),
    ),
    (
        _violation(
            "D16",
            "A1@0 0-1; A2@1 0-1; A3@2 0-1; c:P=0:1 4-5; c:P=2:3 6-7; d:P=1:2 6-7",
            "poll_skip",
            4,
            5,
            beside=(2, 6),
            linearizable=True,
        ),
        _D17,
    ),
    (
        _violation("D18", "A1@0 0-1; A2@1 2-3; c:P=1:2,0:1 4-5", "int_nonmonotonic_poll", 3, linearizable=True),
        _D17,
    ),
    (
        _violation(
            "D19",
            "A1@0 0-1; A2@1 0-1; A3@2 0-1; c:P=0:1,2:3 4-5; d:P=1:2 6-7",
            "int_poll_skip",
            4,
            beside=(2, 5),
            linearizable=True,
        ),
        _D17,
    ),
    (
        _violation("D21", "A1@0 0-1; A2@1 0-1; R1=oor 2-3", "refused_position", 1, 3, linearizable=True),
        _near("D20", "A1@0 0-1; R2=oor 2-3"),
    ),
    (
        _violation("D22", "p:A1@0#0 0-1; p:A2@1#1 2-3; R0=1,2,1 4-5", "duplicate sequence_reorder", 1, 3),
        _D25,
    ),
    (
        _violation("D23", "p:A1@1#0 0-9; p:A2@0#1 1-8; F0=2,1. 10-11", "sequence_reorder", 1, 2, linearizable=True),
        _D25,
    ),
    (
        _violation("D24", "p:A1@0#0 0-1; p:A2?#1 2-; p:A3@1#2 3-4; F0=1,3. 9-9", "sequence_gap", 1, 3, linearizable=True),
        _D25,
    ),
    (
        _violation(
            "D27",
            "A1@0 0-1; A2@1 2-3; c:P=0:1 4-5; c:P=2:9 6-7",
            "lost_write poll_skip phantom",
            2,
            4,
            facts={"evidence": "across"},
        ),
        _D2,
    ),
]

OF_BATCHES_AND_PARTITIONS: Final[list[tuple[Violation, NearMiss]]] = [
    (  # in a dense log nobody can have written offset 1 either
        _violation("B1", "[A1@0 A2@2] 0-1", "torn_batch unfillable_hole", 1, 2),
        _near("B2", "[A1@0 A2@1] 0-1"),
    ),
    (
        _violation("B1", "[A1@0 A2@2] 0-1", "torn_batch", 1, 2, mode=SPARSE, linearizable=True),
        _near("B2", "[A1@0 A2@1] 0-1", SPARSE),
    ),
    (
        _violation("B3", "[A1@0 A2@1] 0-1; F0=1. 4-5", "torn_batch lost_write", 1, 2, 3),
        NearMiss("F6", ("E0 2-3", "A1@0 0-1")),
    ),
]

PAIRS: Final = OF_A_LOG + WITHOUT_A_TOTAL_ORDER + OF_BATCHES_AND_PARTITIONS


@dataclass(frozen=True)
class Freshness:
    """8.3: `name` is found in strict mode always, and judged between leader epochs only if they are comparable."""

    id: str
    text: str
    name: str
    judged: bool


FRESHNESS: Final = [
    Freshness("F1", "A1@0/1 0-1; E0/1 2-3", "stale_end_offset", True),
    Freshness("F2", "A1@0/2 0-1; E0/1 2-3", "stale_end_offset", False),
    Freshness("F3", "A1@0/1 0-1; E0/2 2-3", "stale_end_offset", True),
    Freshness("F4", "A1@0/1 0-1; R0=./2 2-3", "stale_read", False),
    Freshness("F5", "A1@0/1 0-1; R0=./1 2-3", "stale_read", True),
]
