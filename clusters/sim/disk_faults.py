"""clusters/sim/disk_faults.py: what a log directory refuses, and how slow it is.

In     faults, added and taken away by the nemesis: fill, read_only, io_error, slow_sync
Out    for each kind of call an error or none, and a delay; how many calls each fault touched
"""

from __future__ import annotations

from collections import Counter

from model.cluster import Ability
from replication.env import IoError

_REFUSED: dict[tuple[Ability, str], tuple[tuple[str, ...], str]] = {
    (Ability.FILL, ""): (("grow",), "no space left on device"),
    (Ability.READ_ONLY, ""): (("grow", "write"), "read-only file system"),
    (Ability.IO_ERROR, "read"): (("read",), "input/output error on read"),
    (Ability.IO_ERROR, "write"): (("grow", "write"), "input/output error on write"),
    (Ability.IO_ERROR, "sync"): (("sync",), "input/output error on sync"),
}


class DiskFaults:
    """The faults in force on one log directory."""

    def __init__(self) -> None:
        self.active = False
        self.touched: Counter[Ability] = Counter()
        self._faults: list[tuple[Ability, str, int]] = []  # verb, which calls, delay

    def add(self, verb: Ability, on: str = "", delay_ns: int = 0) -> None:
        self._faults.append((verb, on, delay_ns))
        self.active = True

    def remove(self, verb: Ability | None) -> None:
        """The oldest fault of this verb; without a verb, all of them."""
        found = next((fault for fault in self._faults if fault[0] is verb), None)
        if verb is None:
            self._faults.clear()
        elif found is not None:
            self._faults.remove(found)
        for gone in [verb for verb in self.touched if not any(fault[0] is verb for fault in self._faults)]:
            del self.touched[gone]
        self.active = bool(self._faults)

    def refuses(self, call: str) -> bool:
        """Without counting: whether a call would be refused."""
        return any(call in _REFUSED[verb, on][0] for verb, on, _ in self._faults if verb is not Ability.SLOW_SYNC)

    def refuse(self, call: str) -> IoError | None:
        for verb, on, _ in self._faults:
            if verb is not Ability.SLOW_SYNC and call in _REFUSED[verb, on][0]:
                self.touched[verb] += 1
                return IoError(_REFUSED[verb, on][1])
        return None

    def slow(self) -> int:
        """What the slowest fault adds to a sync."""
        delays = [delay for verb, _, delay in self._faults if verb is Ability.SLOW_SYNC]
        if not delays:
            return 0
        self.touched[Ability.SLOW_SYNC] += 1
        return max(delays)
