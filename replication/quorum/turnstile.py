"""replication/quorum/turnstile.py: one thing after another, and nothing at all while a promise is being written down (2.39).

In     requests, answers, timers, durable writes, as they come
Out    the same, in order of arrival: at once while the turnstile is open, afterwards while it was closed
Keeps  what waits. `shut` is for good: a member that has ended does nothing more
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from replication.directory import OnDone
from replication.env import Chance, Close, Disk, Env, Then


class Turnstile:
    """Where everything that happens to a member comes through."""

    def __init__(self) -> None:
        self.closed = False
        self.shut = False
        self._waiting: deque[OnDone] = deque()

    def enter(self, call: OnDone) -> None:
        if self.shut:
            return
        if self.closed:
            self._waiting.append(call)
        else:
            call()

    def close(self) -> None:
        self.closed = True

    def open(self, first: OnDone) -> None:
        """What was written counts now: `first` takes effect, then whatever has been waiting, until something closes again."""
        if self.shut:
            return
        self.closed = False
        first()
        while self._waiting and not self.closed:
            self._waiting.popleft()()


class OrderedEnv:
    """An `Env` whose callbacks come through the turnstile. Disks are as they are: a log notes at once what became durable."""

    def __init__(self, env: Env, turnstile: Turnstile) -> None:
        self._env, self._turnstile = env, turnstile

    @property
    def random(self) -> Chance:
        return self._env.random

    @property
    def disks(self) -> Sequence[Disk]:
        return self._env.disks

    def request(self, to: int, channel: str, message: Any, timeout_ns: int | None, then: Then) -> None:
        enter = self._turnstile.enter
        self._env.request(to, channel, message, timeout_ns, lambda answer: enter(partial(then, answer)))

    def reply(self, request: Any, answer: Any | Close) -> None:
        self._env.reply(request, answer)

    def after(self, ns: int, call: Callable[[], None]) -> None:
        self._env.after(ns, partial(self._turnstile.enter, call))

    def monotonic_ns(self) -> int:
        return self._env.monotonic_ns()

    def wall_ms(self) -> int:
        return self._env.wall_ms()

    def emit(self, event: Any) -> None:
        self._env.emit(event)

    def halt(self, reason: str) -> None:
        self._turnstile.shut = True
        self._env.halt(reason)
