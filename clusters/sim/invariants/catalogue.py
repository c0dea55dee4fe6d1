"""clusters/sim/invariants/catalogue.py: what an invariant is: a numbered claim, and when it has to be asked again.

In     functions that yield one sentence per violation, each with the decorator that says what can break it
Out    `INVARIANTS`, in the order in which they are asked; `asked_after` what changed
Keeps  an invariant is asked only when something happened that could break it. What it reads is in world.py and truth.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Literal, TypeVar

import msgspec

Check = Callable[..., Iterator[str]]
C = TypeVar("C", bound=Check)
Of = Literal["replica", "partition", "broker", "member", "promise", "answer", "everything"]
"""What it is asked about: one replica, one partition, one life of a broker, one life of a member of the quorum, a write that
is about to be acknowledged, an answer that leaves, the whole cluster."""


# What an event can do. Plain numbers, to be added up: this is counted thousands of times a second.
NEW = 1  # a replica is there that was not: a process has opened its log
APPENDED = 2  # the log of a leader is longer
CUT = 4  # a log is shorter than it was in the same process
HW = 8  # a replica's high watermark moved: a leader's at all, a follower's far enough
LEADER_HW = 2048  # that of a leader
OUT_OF_BOUNDS = 4096  # a high watermark stands outside of its log
TRUE_HW = 16  # more is committed than ever before
ISR = 32  # a leader sees another ISR, or has begun or ended a change of it
OFFICE = 64  # role, leader epoch or partition epoch of a replica, or what it does about them
EPOCHS = 128  # the leader epoch cache
COMMITTED = 256  # the controllers committed something about the partition
STANDING = 512  # epoch, role, leader or vote of a member of the quorum
SNAPSHOT = 8192  # snapshots of a member of the quorum, or where its log begins
IMAGE = 1024  # a broker acts on another image


class Invariant(msgspec.Struct, frozen=True):
    """One claim."""

    number: int
    name: str
    check: Check
    of: Of
    touching: int
    """What can break it. Nothing: it is asked at a reply, when something is told, or at the end."""
    at: type | str | None
    """The answer at which, or the telling after which, it is asked."""
    stands_down: bool
    """It says nothing while loss is allowed for the partition."""


THE_END = "the end"

INVARIANTS: list[Invariant] = []


def invariant(
    number: int,
    *,
    touching: int = 0,
    at: type | str | None = None,
    of: Of = "partition",
    stands_down: bool = False,
) -> Callable[[C], C]:
    """Enter a function into the catalogue, under its number in BUGS."""

    def enter(check: C) -> C:
        INVARIANTS.append(Invariant(number, check.__name__, check, of, touching, at, stands_down))
        return check

    return enter


@cache
def asked_after(changed: int, of: Of) -> tuple[Invariant, ...]:
    """Those that such a change can break."""
    return tuple(each for each in INVARIANTS if each.of == of and each.touching & changed)


@cache
def asked_at(at: type | str) -> tuple[Invariant, ...]:
    return tuple(each for each in INVARIANTS if each.at == at)
