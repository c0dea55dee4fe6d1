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
        self._open: dict[_Call, None] = {}  # that have no answer yet, in the order in which they were asked

    def on_controller(self, controller: int | None) -> None:
        """The quorum has another leader, or none. Nobody waits for an answer of the one before: it may never come."""
        self.controller = controller
        if controller is not None:
            for call in list(self._open):
                if call.target != controller:
                    self._send(call)

    def send(self, channel: str, message: Any, then: Then, timeout_ns: int | None = None) -> None:
        """`then` is called once, with the active controller's answer, or with TIMED_OUT when there is a time limit and it is
        over."""
        call = _Call(channel, message, then)
        self._open[call] = None
        if timeout_ns is not None:
            self.broker.env.after(timeout_ns, lambda: self._end(call, Failure.TIMED_OUT))
        self._send(call)

    def _send(self, call: _Call) -> None:
        if call not in self._open:
            return
        call.target = self.controller
        if self.controller is None:
            return  # it waits until there is one
        call.attempt += 1
        attempt, timeout = call.attempt, self.broker.settings.controller_socket_timeout_ms * NANOSECONDS
        self.broker.env.request(
            self.controller, call.channel, call.message, timeout, lambda answer: self._on_answer(call, attempt, answer)
        )

    def _on_answer(self, call: _Call, attempt: int, answer: Any) -> None:
        if attempt != call.attempt:
            return  # somebody else has been asked since
        if isinstance(answer, Failure) or answer.error_code is Error.NOT_CONTROLLER:
            call.target = None
            self.broker.env.after(RETRY_MS * NANOSECONDS, lambda: self._again(call, attempt))
        else:
            self._end(call, answer)

    def _again(self, call: _Call, attempt: int) -> None:
        if attempt == call.attempt:
            self._send(call)

    def _end(self, call: _Call, result: Any) -> None:
        if call in self._open:
            del self._open[call]
            call.then(result)


class _Call:
    """One request, until it is answered."""

    def __init__(self, channel: str, message: Any, then: Then) -> None:
        self.channel, self.message, self.then = channel, message, then
        self.target: int | None = None  # who is being asked; nobody, while it waits
        self.attempt = 0
