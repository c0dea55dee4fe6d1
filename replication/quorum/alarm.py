"""replication/quorum/alarm.py: one deadline that is put off again and again (2.6, 2.18, 2.19).

In     how long from now
Out    a call when that time has passed, by the clock that the member goes by (1.12)
Why    a fetch that succeeds puts the fetch timeout off; a timer for each would be an event for nothing. The one that was armed
       first fires early and is armed again for the rest
"""

from __future__ import annotations

from collections.abc import Callable

from replication.directory import OnDone
from replication.env import Env


class Alarm:
    """A deadline, re-armed lazily."""

    def __init__(self, env: Env, now_ns: Callable[[], int], call: OnDone) -> None:
        self._env, self._now_ns, self._call = env, now_ns, call
        self._deadline: int | None = None
        self._armed_for: int | None = None

    def set(self, delay_ns: int) -> None:
        deadline = self._now_ns() + delay_ns
        self._deadline = deadline
        if self._armed_for is None or deadline < self._armed_for:
            self._arm(deadline, delay_ns)

    def cancel(self) -> None:
        self._deadline = None

    def _arm(self, deadline: int, delay_ns: int) -> None:
        self._armed_for = deadline
        self._env.after(delay_ns, lambda: self._on_timer(deadline))

    def _on_timer(self, armed_for: int) -> None:
        if armed_for != self._armed_for:
            return  # another timer, for an earlier deadline, took over
        self._armed_for = None
        if self._deadline is None:
            return
        left = self._deadline - self._now_ns()
        if left > 0:
            self._arm(self._deadline, left)
        else:
            self._deadline = None
            self._call()
