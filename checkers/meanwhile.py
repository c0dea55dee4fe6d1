"""checkers/meanwhile.py: what happened in a window beside the operations: faults, and elections (CHECKERS 7.4, 7.5).

In     rows of `events` and of `changes`
Out    the faults that fired or were active in a window, latest first; the kind of the last election in it; when appends were sent
       twice by the network
Not    what they excuse (checkers/promises.py)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from checkers.words import seconds
from model.cluster import TopicPartition
from model.evidence import arguments_of

MOST_FAULTS: Final = 3

Row = Mapping[str, Any]


class Meanwhile:
    """Of one run; of an imported history it knows nothing."""

    def __init__(self, events: Sequence[Row] = (), changes: Sequence[Row] = ()) -> None:
        fired = [row for row in events if row["fired_ns"] is not None]
        self._faults = sorted(fired, key=lambda row: (row["fired_ns"], row["event"]), reverse=True)
        self._elections: dict[TopicPartition, list[tuple[int, str]]] = {}
        for row in changes:
            if row["election"] not in (None, "none"):
                self._elections.setdefault((row["topic"], row["partition"]), []).append((row["at_ns"], row["election"]))

    def faults(self, from_ns: int, to_ns: int) -> list[Row]:
        """One that nobody healed was active until the end."""
        found = (row for row in self._faults if row["fired_ns"] <= to_ns and _ended(row) >= from_ns)
        return [row for row, _ in zip(found, range(MOST_FAULTS), strict=False)]

    def last_election(self, at: TopicPartition, from_ns: int, to_ns: int) -> str | None:
        kinds = [kind for at_ns, kind in self._elections.get(at, ()) if from_ns <= at_ns <= to_ns]
        return kinds[-1] if kinds else None


def between(faults: Sequence[Row]) -> str:
    """` Between: kill n2 (4.001 s).`"""
    return f" Between: {', '.join(_told(row) for row in faults)}." if faults else ""


def repeats_of_appends(events: Sequence[Row]) -> list[tuple[int, int]]:
    """When the network sent requests twice that a client had sent once: a gate that repeats Produce."""
    fired = (row for row in events if row["fault"] == "gate" and row["fired_ns"] is not None)
    found = ((row, arguments_of(row)) for row in fired)
    return [(row["fired_ns"], _ended(row)) for row, args in found if (args["message"], args["action"]) == ("Produce", "repeat")]


def _told(row: Row) -> str:
    """A link by its two sides, anything else by its nodes."""
    sides = arguments_of(row).get("sides") or [row.get("resolved") or ()]
    targets = " | ".join("+".join(map(_name, side)) for side in sides) or row.get("target") or ""
    return " ".join(word for word in (row["fault"], targets, f"({seconds(row['fired_ns'])})") if word)


def _name(end: int) -> str:
    """A node, or a group of clients, which has a negative number."""
    return f"n{end}" if end > 0 else f"c{-end}"


def _ended(row: Row) -> int:
    healed_ns = row.get("healed_ns")
    if row["fault"] == "exit":
        return int(row["fired_ns"])
    return 2**63 - 1 if healed_ns is None else int(healed_ns)
