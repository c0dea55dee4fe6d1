"""replication/controller/tenure.py: one time in office: what is outstanding, and who waits for it (3.5).

In     offsets of what was appended, and of what is committed
Out    answers in the order of their requests, each once what it tells is committed; all of them refused at the end
Keeps  nothing that outlives the office: the next tenure, also of the same node, begins with none of this
"""

from __future__ import annotations

from collections import deque
from typing import Any

import msgspec

from replication.admin_messages import AdminResponse
from replication.env import Env, Request
from replication.errors import Error
from replication.rules import Rules


class Waiting(msgspec.Struct, frozen=True):
    """An answer, and the offset that has to be committed before it is true."""

    offset: int
    request: Request
    answer: Any


class Tenure:
    """From `on_active` to `on_inactive`."""

    def __init__(self, env: Env, rules: Rules, epoch: int, committed: int) -> None:
        self.env, self.rules, self.epoch = env, rules, epoch
        self.committed = self.appended = self.activation_offset = committed
        self.last_write_ns = env.monotonic_ns()
        self._waiting: deque[Waiting] = deque()

    @property
    def may_decide(self) -> bool:
        return self.rules.may_decide(self.activation_offset, self.committed)

    @property
    def outstanding(self) -> bool:
        return self.appended > self.committed

    def on_appended(self, last_offset: int) -> None:
        self.appended = last_offset
        self.last_write_ns = self.env.monotonic_ns()

    def on_committed(self, offset: int) -> None:
        self.committed = offset
        while self._waiting and self.rules.may_answer(self._waiting[0].offset, offset):
            ready = self._waiting.popleft()
            self.env.reply(ready.request, ready.answer)

    def answer(self, request: Request, answer: Any) -> None:
        """3.5 Also an answer that only reads tells of what is outstanding."""
        if not self._waiting and self.rules.may_answer(self.appended, self.committed):
            self.env.reply(request, answer)
        else:
            self._waiting.append(Waiting(self.appended, request, answer))

    def end(self) -> None:
        """3.5 What was decided may come to pass or not: nobody is told that it did."""
        while self._waiting:
            refuse(self.env, self._waiting.popleft().request)


def refuse(env: Env, request: Request) -> None:
    """3.13"""
    env.reply(request, AdminResponse(Error.NOT_CONTROLLER))
