"""clusters/sim/disk_faults.py: what a log directory refuses, and how slow it is.

In     faults, added and taken away by the nemesis: fill, read_only, io_error, slow_sync
Out    for each kind of call an error or none, and a delay; each fault counts the calls that it touched
Kinds  append, truncate, read (list, too), sync, replace (write, sync, rename, sync the directory), delete
"""

from __future__ import annotations

from collections.abc import Callable

from model.cluster import Ability
from replication.env import IoError

_REFUSED: dict[tuple[Ability, str], tuple[frozenset[str], str]] = {
    (Ability.FILL, ""): (frozenset({"append", "replace"}), "no space left on device"),
    (Ability.READ_ONLY, ""): (frozenset({"append", "truncate", "replace", "delete"}), "read-only file system"),
    (Ability.IO_ERROR, "read"): (frozenset({"read"}), "input/output error on read"),
    (Ability.IO_ERROR, "write"): (frozenset({"append", "truncate", "replace", "delete"}), "input/output error on write"),
    (Ability.IO_ERROR, "sync"): (frozenset({"sync", "replace", "delete"}), "input/output error on sync"),
}
_NOTHING: tuple[frozenset[str], str] = (frozenset(), "")


class DiskFault:
    """One fault in force."""

    def __init__(self, verb: Ability, on: str = "", delay_ns: int = 0) -> None:
        self.verb, self.delay_ns = verb, delay_ns
        self.refused, self.reason = _REFUSED.get((verb, on), _NOTHING)
        self.touched = 0


class DiskFaults:
    """The faults in force on one log directory."""

    def __init__(self, on_quicker: Callable[[], None]) -> None:
        self.active = False
        self._faults: list[DiskFault] = []
        self._on_quicker = on_quicker

    def add(self, fault: DiskFault) -> None:
        self._faults.append(fault)
        self.active = True

    def remove(self, fault: DiskFault) -> None:
        """What waits for a slow sync waits no longer, once nothing makes it slow."""
        if fault in self._faults:
            self._faults.remove(fault)
            self.active = bool(self._faults)
            if fault.delay_ns and not any(each.delay_ns for each in self._faults):
                self._on_quicker()

    def of(self, verb: Ability | None) -> list[DiskFault]:
        return [fault for fault in self._faults if verb in (None, fault.verb)]

    def refuses(self, call: str) -> bool:
        """Without counting: whether a call would be refused."""
        return any(call in fault.refused for fault in self._faults)

    def refuse(self, call: str) -> IoError | None:
        for fault in self._faults:
            if call in fault.refused:
                fault.touched += 1
                return IoError(fault.reason)
        return None

    def slow(self) -> int:
        """What the slowest fault adds to a sync."""
        delays = [fault for fault in self._faults if fault.delay_ns]
        for fault in delays:
            fault.touched += 1
        return max((fault.delay_ns for fault in delays), default=0)


class DiskGrip:
    """`model.cluster.Grip` of one fault of one directory."""

    def __init__(self, faults: DiskFaults, fault: DiskFault) -> None:
        self._faults, self._fault = faults, fault

    def touched(self) -> int:
        return self._fault.touched

    def release(self) -> None:
        self._faults.remove(self._fault)


class NoGrip:
    """Of a directory that does not exist."""

    def touched(self) -> int:
        return 0

    def release(self) -> None:
        """There is nothing in force."""
