"""model/refusal.py: how a mistake of the user, and a failure of the machine, are told.

Out  `Refusal`: bad plan, input or usage. One message with the place, the finding, what is allowed, what was probably meant.
     `InfrastructureFailure`: the machine, a tool or a disk failed. Never a verdict about the system under test.
The exit code lives on the exception, so that whoever ends the program need not know why it ends.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from enum import IntEnum


class ExitCode(IntEnum):
    """What the program's end means (DESIGN 11.9)."""

    VALID = 0
    BROKEN = 1
    UNKNOWN = 2
    REFUSED = 3
    INFRASTRUCTURE = 4
    INTERRUPTED = 130


class TidemarkError(Exception):
    """An end with a sentence for people. Everything else that escapes is a bug of ours, and exit code 4 as well."""

    exit_code = ExitCode.INFRASTRUCTURE


class InfrastructureFailure(TidemarkError):
    """The machine failed, not the system under test: a full disk, a dead proxy, a missing part."""


class Refusal(TidemarkError):
    """Input that cannot be used. Nothing was started."""

    exit_code = ExitCode.REFUSED
    afterword = "Nothing was started (exit code 3)."

    def __init__(self, problem: str, *, where: str = "", allowed: str = "", meant: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.where = where
        self.allowed = allowed
        self.meant = meant

    def __str__(self) -> str:
        lines = [f"{self.where}: {self.problem}" if self.where else self.problem]
        if self.allowed:
            lines.append(f"  allowed here: {self.allowed}")
        if self.meant:
            lines.append(f"  did you mean: {self.meant}")
        return "\n".join(lines)


class UnusableFile(Refusal):
    """A file of data that cannot be used. One sentence says it all: place, field, what was found, what was expected."""

    afterword = ""


def near_miss(found: str, allowed: Iterable[str]) -> str:
    """The allowed word that was probably meant, or nothing: a guess that is too far away only misleads."""
    by_folded = {word.lower().replace("_", "-"): word for word in allowed}
    folded = found.lower().replace("_", "-")
    if folded in by_folded:
        return by_folded[folded]
    close = difflib.get_close_matches(folded, by_folded, n=1, cutoff=0.7)
    return by_folded[close[0]] if close else ""
