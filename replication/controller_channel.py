"""replication/controller_channel.py: how a broker talks to the active controller (3.19).

In     requests for whoever is the active controller; who that is, from the broker's own view of the quorum
Out    the same request again and again until an active controller answers it, so any request may arrive twice and late
Keeps  an order per channel; a forwarded client request has the client's deadline, all others have none
"""

from __future__ import annotations

from typing import Any

from replication.broker_state import BrokerState
from replication.env import NANOSECONDS, Failure, Then
from replication.errors import Error

RETRY_MS = 50


class ControllerChannel:
    """Requests to a moving target."""

    def __init__(self, broker: BrokerState) -> None:
        self.broker = broker
        self.controller: int | None = None
        self._waiting: list[_Call] = []

    def on_controller(self, controller: int | None) -> None:
        """The quorum has another leader, or none."""
        self.controller = controller
        if controller is not None:
            waiting, self._waiting = self._waiting, []
            for call in waiting:
                self._send(call)

    def send(self, channel: str, message: Any, then: Then, timeout_ns: int | None = None) -> None:
        """`then` is called once, with the active controller's answer, or with TIMED_OUT when there is a time limit and it is
        over."""
        call = _Call(channel, message, then)
        if timeout_ns is not None:
            self.broker.env.after(timeout_ns, lambda: self._expire(call))
        self._send(call)

    def _send(self, call: _Call) -> None:
        if call.done:
            return
        if self.controller is None:
            self._waiting.append(call)
            return
        timeout = self.broker.settings.controller_socket_timeout_ms * NANOSECONDS
        self.broker.env.request(
            self.controller, call.channel, call.message, timeout, lambda answer: self._on_answer(call, answer)
        )

    def _on_answer(self, call: _Call, answer: Any) -> None:
        if isinstance(answer, Failure) or answer.error_code is Error.NOT_CONTROLLER:
            self.broker.env.after(RETRY_MS * NANOSECONDS, lambda: self._send(call))
        elif not call.done:
            call.done = True
            call.then(answer)

    def _expire(self, call: _Call) -> None:
        if not call.done:
            call.done = True
            if call in self._waiting:
                self._waiting.remove(call)
            call.then(Failure.TIMED_OUT)


class _Call:
    """One request, until it is answered."""

    def __init__(self, channel: str, message: Any, then: Then) -> None:
        self.channel, self.message, self.then = channel, message, then
        self.done = False
