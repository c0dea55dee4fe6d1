"""clusters/sim/invariants/violation.py: a broken invariant, as a person reads it."""

from __future__ import annotations

import msgspec


class Violation(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong, when it was seen, what everybody believed then, and how it came to that."""

    number: int
    name: str
    text: str
    where: str
    """The partition it is about, or the quorum."""
    at_ns: int
    event: int
    """So many events had happened in the world."""
    after: str
    """The kind of what was told last that concerns it."""
    beliefs: tuple[str, ...]
    """What the controllers have committed and what each node thinks, one line each."""
    story: tuple[tuple[int, str], ...]
    """The last things told, committed, started and ended that concern it, oldest first, each with its time."""

    def __str__(self) -> str:
        lines = [f"invariant {self.number}, {self.name.replace('_', ' ')}: {self.text}"]
        lines += [f"  {belief}" for belief in self.beliefs]
        return "\n".join([*lines, *(f"  {at_ns / 10**9:11.6f}  {line}" for at_ns, line in self.story)])
