"""clusters/sim/pipe.py: one direction of a connection: first in, first out, through whatever the link does to it.

In     calls on their way, and None: the end of the connection
Out    the same, later, in order, to the connection that knows what to do with them; or never
Keeps  everything random about a message is drawn when it is sent, before its fate is decided
       What waits is let go in order: at a gate when that gate opens, all else when nothing makes the stream stand still
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from clusters.sim.kinds import kind_of
from clusters.sim.latency import DRAW_BITS, message_latency, size_of
from clusters.sim.link import LinkFault, Stream
from model.chance import Chance

if TYPE_CHECKING:
    from clusters.sim.connection import Call, Connection


class Pipe:
    """Requests one way, or answers the other."""

    __slots__ = (
        "ahead",
        "busy_until",
        "chance",
        "connection",
        "deliver",
        "gate",
        "kernel",
        "last_arrival",
        "link",
        "queued",
        "stream",
        "waiting",
    )

    def __init__(self, connection: Connection, stream: Stream, chance: Chance) -> None:
        self.connection, self.stream, self.chance = connection, stream, chance
        self.link, self.kernel = connection.link, connection.network.kernel
        self.waiting: deque[Call | None] = deque()  # what arrived while nothing passed
        self.gate: LinkFault | None = None  # which holds the first of them
        self.queued: dict[Call | None, int] = {}  # on a throttled line: when each would have arrived without it
        self.ahead = 0  # when what was sent before the queue arrives
        self.last_arrival = 0
        self.busy_until = 0
        self.deliver = connection.deliver_request if stream == "requests" else connection.deliver_answer

    # -- sending --------------------------------------------------------------------------------------------------------

    def send(self, item: Call | None) -> None:
        draw = self.chance.getrandbits(DRAW_BITS)
        kernel = self.kernel
        arrival = kernel.now + message_latency(draw)
        if not self.link.plain:
            arrival += self._slowed(item, draw)
        arrival = max(arrival, self.last_arrival)
        self.last_arrival = arrival
        kernel.at(arrival, self.arrive, item)

    def _slowed(self, item: Call | None, draw: int) -> int:
        """What the link's faults add."""
        message: Any = None if item is None else item.message if self.stream == "requests" else item.answer
        size, now, waits = size_of(message), self.kernel.now, 0
        delay = self.link.delay_ns(self.stream, draw, size)
        on_the_line = self.link.time_on_the_line_ns(self.stream, size)
        if on_the_line or self.queued:
            self._queue(item, now + message_latency(draw) + delay)
            self.busy_until = max(now, self.busy_until) + on_the_line
            waits = self.busy_until - now
        return waits + delay

    def _queue(self, item: Call | None, natural: int) -> None:
        """Remember when it would arrive if the line were free."""
        if not self.queued:
            self.ahead = self.last_arrival
            self.link.throttled[self] = None
        self.queued[item] = natural

    # -- arriving -------------------------------------------------------------------------------------------------------

    def arrive(self, item: Call | None) -> None:
        if self.queued:
            self.queued.pop(item, None)
        if self.link.plain and not self.waiting:
            self.deliver(item)
        elif item is None:
            self._arrive_end()
        elif self.link.stands_still(self.stream) or self.waiting:
            self._wait(item)
        else:
            self._pass_gates(item)

    def _arrive_end(self) -> None:
        """Of a cut connection the end is noticed, of a held one it waits its turn, of a silent one nobody hears."""
        fate = self.link.fate_of_the_end(self.stream)
        if fate == "passes" and not self.waiting:
            self.deliver(None)
        elif fate == "overtakes":
            self.lose()
            self.deliver(None)
        elif fate != "vanishes":
            self._wait(None)

    def _wait(self, item: Call | None) -> None:
        self.waiting.append(item)
        self.link.standing[self] = None

    def _pass_gates(self, item: Call) -> None:
        gate = self.link.gate_for(self.stream, kind_of(item.message))
        if gate is None:
            self.deliver(item)
        elif gate.action == "hold":
            self.gate = gate
            self._wait(item)
        elif gate.action == "drop":
            self.connection.end(lose_requests=True)
        else:
            self.deliver(item)
            self.connection.repeat(item)

    # -- healing --------------------------------------------------------------------------------------------------------

    def release(self) -> None:
        """Let pass what waited, in order, as far as the faults that are left allow."""
        shut = self.gate is not None and self.link.has(self.gate)
        if self.link.is_still(self.stream) or shut:
            return
        opened, self.gate = self.gate is not None, None
        items, self.waiting = self.waiting, deque()
        self.link.standing.pop(self, None)
        for item in items:
            if opened and item is not None:
                self.deliver(item)  # it has waited at this gate, and need not pass it again
                opened = False
            else:
                self.arrive(item)

    def unthrottle(self) -> None:
        """The line is free: what queued up arrives, in order, as it would have."""
        last, times = max(self.kernel.now, self.ahead), dict[Any, int]()
        for item, natural in self.queued.items():
            last = times[item] = max(last, natural)
        self.queued.clear()
        self.kernel.move(self.arrive, times.get)
        self.last_arrival, self.busy_until = last, self.kernel.now

    def lose(self) -> None:
        self.waiting.clear()
        self.gate = None
        self.link.standing.pop(self, None)
