"""replication/holding.py: requests that wait while a leader takes office (5.41, 6.7).

In     requests, with the partitions they are about; the end of a wait
Out    the same requests, in the order in which they arrived
Keeps  order: a request that shares a partition with one that is held is held behind it
"""

from __future__ import annotations

from collections.abc import Callable, Set

from replication.env import Request
from replication.identity import Key


class Holding:
    """Held requests of one broker."""

    def __init__(self, dispatch: Callable[[Request], None]) -> None:
        self._dispatch = dispatch
        self._held: list[tuple[Request, frozenset[Key]]] = []

    def must_hold(self, keys: frozenset[Key], taking_office: Set[Key]) -> bool:
        return not keys.isdisjoint(taking_office) or any(not keys.isdisjoint(others) for _, others in self._held)

    def hold(self, request: Request, keys: frozenset[Key]) -> None:
        self._held.append((request, keys))

    def __bool__(self) -> bool:
        return bool(self._held)

    def release(self, taking_office: Set[Key]) -> None:
        """Let go what nothing holds back any more."""
        waiting, self._held = self._held, []
        for request, keys in waiting:
            if self.must_hold(keys, taking_office):
                self.hold(request, keys)
            else:
                self._dispatch(request)
