"""clusters/sim/connection.py: one connection: requests one way, answers the other, each in order (DESIGN 11.1).

In     requests of the process that dialled, answers of the one that listens; the faults of the link between them (pipe.py)
Out    each request arrives once or never; each call ends once: with its answer, REFUSED, LOST or TIMED_OUT
Keeps  what was sent before a connection ended still arrives, unless a fault loses it: a request may arrive long after its sender
       gave up. A call that times out ends its connection, as Kafka's clients do
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from clusters.sim.kinds import ANSWER_ARRIVED, CONNECTION_ENDED, COPY_ARRIVED, REQUEST_ARRIVED, key_of
from clusters.sim.latency import MS
from clusters.sim.link import LinkState
from clusters.sim.pipe import Pipe
from model.chance import between
from model.cluster import Ability
from replication.env import CLOSE, Failure, Then
from replication.messages import ProduceRequest

if TYPE_CHECKING:
    from clusters.sim.env import SimEnv
    from clusters.sim.network import Network

_COPY_AFTER = 20 * MS, 1_500 * MS


class Call:
    """A request on its way, and the way back: what `replication.env.Request` is in this world."""

    __slots__ = ("answer", "answered", "channel", "connection", "deadline", "ended", "message", "then")

    def __init__(self, message: Any, channel: str, then: Then, deadline: int | None, connection: Connection | None) -> None:
        self.message, self.channel, self.then, self.deadline, self.connection = message, channel, then, deadline, connection
        self.answer: Any = None
        self.answered = False  # by the node that was asked
        self.ended = False  # for the one who asked

    @property
    def expects_answer(self) -> bool:
        """A produce with acks=0 gets none (6.2)."""
        return not (type(self.message) is ProduceRequest and self.message.acks == 0)

    def end(self, result: Any) -> None:
        """Tell the one who asked: once."""
        if not self.ended:
            self.ended = True
            self.then(result)


class Connection:
    """From one life of a process to one life of another."""

    def __init__(self, network: Network, dialer: SimEnv, node: int, channel: str) -> None:
        self.network, self.dialer, self.node, self.channel = network, dialer, node, channel
        self.link: LinkState = network.link(dialer.node_id, node)
        self.listener: SimEnv | None = None  # none while dialling
        self.ended = False
        self.unheard = False  # dialled over a silent link
        self.calls: deque[Call] = deque()  # of the dialler, not ended
        self.owed: deque[Call] = deque()  # of the listener, not sent back
        self.requests_lost = False
        self.requests = Pipe(self, "requests", network.chance(dialer.node_id, node, channel, ">"))
        self.answers = Pipe(self, "answers", network.chance(dialer.node_id, node, channel, "<"))
        self._alarm: int | None = None

    # -- the dialler ----------------------------------------------------------------------------------------------------

    def send(self, message: Any, timeout_ns: int | None, then: Then) -> None:
        deadline = None if timeout_ns is None else self.dialer.own_ns() + timeout_ns
        call = Call(message, self.channel, then, deadline, self)
        self.calls.append(call)
        if deadline is not None and (self._alarm is None or deadline < self._alarm):
            self._arm(deadline)
        if self.listener is not None:
            self.requests.send(call)

    def open(self, listener: SimEnv) -> None:
        """Somebody listens: what was asked meanwhile is sent."""
        self.listener = listener
        listener.accepted[self] = None
        for call in self.calls:
            self.requests.send(call)

    def _arm(self, deadline: int) -> None:
        self._alarm = deadline
        self.network.kernel.at(self.dialer.when(deadline), self.ring, deadline)

    def ring(self, deadline: int) -> None:
        """One alarm per connection, not one per call: most calls are answered long before their time is up."""
        if deadline == self._alarm and not self.ended:
            self._alarm = None
            self.dialer.enter(self._on_alarm, None)

    def _on_alarm(self, _: object) -> None:
        now = self.dialer.own_ns()
        expired = [call for call in self.calls if call.deadline is not None and call.deadline <= now]
        if self.listener is None:
            for call in expired:
                self.calls.remove(call)
            for call in expired:
                call.end(Failure.REFUSED)  # never sent
        elif any(call.expects_answer for call in expired):
            self.end(timed_out=expired)
        else:
            for call in expired:
                self.calls.remove(call)
                call.end(Failure.TIMED_OUT)
        if not self.ended and self._alarm is None:
            deadlines = [call.deadline for call in self.calls if call.deadline is not None]
            if deadlines:
                self._arm(min(deadlines))

    def _take_answer(self, call: Call) -> None:
        call.ended = True
        call.then(call.answer)

    def refuse(self) -> None:
        """Nobody listens there."""
        self._forget()
        for call in self.calls:
            self.dialer.enter(call.end, Failure.REFUSED)

    # -- the listener ---------------------------------------------------------------------------------------------------

    def reply(self, call: Call, answer: Any) -> None:
        """Answers go back in the order of their requests (DESIGN 11.1)."""
        if answer is CLOSE:
            self.answers.send(None)
            return
        if self.ended:
            return
        call.answer, call.answered = answer, True
        owed = self.owed
        while owed and owed[0].answered:
            self.answers.send(owed.popleft())

    def listener_died(self) -> None:
        """What it had sent still arrives, and then the end."""
        self.owed.clear()
        self.answers.send(None)

    # -- arrivals, from the pipes ---------------------------------------------------------------------------------------

    def deliver_request(self, call: Call | None) -> None:
        listener = self.listener
        if call is None or listener is None or not listener.alive or self.requests_lost:
            return
        if call.expects_answer:
            self.owed.append(call)
        network = self.network
        network.kernel.note(REQUEST_ARRIVED, self.node, key_of(call.message))
        if network.watch is not None:
            network.watch.message(network.kernel.now, "request", (self.dialer.node_id, self.node), call.message)
        listener.enter(listener.on_request, call)

    def deliver_answer(self, call: Call | None) -> None:
        if self.ended:
            return
        if call is None:
            self.end()
            return
        if self.calls[0] is call:  # it has its answer now, however late the dialler comes to read it
            self.calls.popleft()
        else:
            self.calls.remove(call)
        network = self.network
        network.kernel.note(ANSWER_ARRIVED, self.dialer.node_id, key_of(call.answer))
        if network.watch is not None:
            network.watch.message(network.kernel.now, "answer", (self.node, self.dialer.node_id), call.answer)
        self.dialer.enter(self._take_answer, call)

    def repeat(self, call: Call) -> None:
        """A copy comes later, on a connection of its own; nobody hears its answer."""
        copy = Call(call.message, self.channel, _nobody, None, None)
        chance = self.network.chance(self.dialer.node_id, self.node, self.channel, "copies")
        self.network.kernel.at(self.network.kernel.now + between(chance, *_COPY_AFTER), self._deliver_copy, copy)

    def _deliver_copy(self, copy: Call) -> None:
        network, listener = self.network, self.network.listener(self.node, self.channel)
        if listener is not None and not self.link.stands_still("requests") and not self.link.faults(Ability.REFUSE):
            network.kernel.note(COPY_ARRIVED, self.node, key_of(copy.message))
            if network.watch is not None:
                network.watch.message(network.kernel.now, "copy", (self.dialer.node_id, self.node), copy.message)
            listener.enter(listener.on_request, copy)

    # -- the end --------------------------------------------------------------------------------------------------------

    def end(self, *, lose_requests: bool = False, timed_out: list[Call] | None = None) -> None:
        """Over, for the dialler; what the listener still sends goes nowhere."""
        self.requests_lost |= lose_requests
        if self.ended:
            return
        self._forget()
        self.network.kernel.note(CONNECTION_ENDED, self.dialer.node_id, self.node)
        calls, self.calls = self.calls, deque()
        for call in calls:
            late = timed_out is not None and call in timed_out
            self.dialer.enter(call.end, Failure.TIMED_OUT if late else Failure.LOST)

    def lose(self) -> None:
        """A cut has healed: the connection ends on both sides, and what was queued is lost."""
        self.requests.lose()
        self.answers.lose()
        self.end(lose_requests=True)

    def abandon(self) -> None:
        """The dialler is gone: there is nobody to tell."""
        self._forget()
        self.calls.clear()

    def _forget(self) -> None:
        self.ended = True
        self.answers.lose()
        self.dialer.forget(self)
        self.link.connections.pop(self, None)
        if self.listener is not None:
            self.listener.accepted.pop(self, None)


def _nobody(_: object) -> None:
    """Where the answer to a copy goes."""
