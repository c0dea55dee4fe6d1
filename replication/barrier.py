"""replication/barrier.py: writes that must be durable before anyone leans on them.

In     writes as they begin and become durable
Out    calls that waited until none was open
Keeps  a count. A write on a directory that fails never ends; then the directory's failure ends everything (10.1)
"""

from __future__ import annotations

from collections.abc import Callable

from replication.directory import OnDone, nobody


class Barrier:
    """Open writes, and those who wait for them."""

    def __init__(self, on_quiet: Callable[[], None] = nobody) -> None:
        self._open = 0
        self._waiting: list[OnDone] = []
        self._on_quiet = on_quiet

    @property
    def quiet(self) -> bool:
        return self._open == 0

    def begin(self) -> OnDone:
        """A write begins; call what is returned, once, when it is durable."""
        self._open += 1
        return self._end

    def then(self, call: OnDone) -> None:
        """Call at once if nothing is open, else when nothing is open any more."""
        if self.quiet:
            call()
        else:
            self._waiting.append(call)

    def _end(self) -> None:
        self._open -= 1
        if self._open == 0:
            waiting, self._waiting = self._waiting, []
            for call in waiting:
                call()
            if self._open == 0:
                self._on_quiet()
