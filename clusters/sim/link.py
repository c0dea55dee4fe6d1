"""clusters/sim/link.py: one directed link: the faults in force on it, and what they mean for the next message (DESIGN 11.10).

In     faults, added and taken away by the nemesis
Out    for each stream: whether it stands still, what is added to a message's way, whether a gate catches it
Keeps  two faults add up, and each counts for itself what it touched; `plain` says that there is none, which is what every message
       asks first
Not    connections and what waits in them: connection.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from clusters.sim.latency import jitter_share
from model.cluster import Ability, Link, Streams

if TYPE_CHECKING:
    from clusters.sim.connection import Connection
    from clusters.sim.pipe import Pipe

Stream = Literal["requests", "answers"]
SECOND = 10**9

STANDS_STILL = (Ability.CUT, Ability.HOLD, Ability.SILENT)
LOSES_ON_HEAL = (Ability.CUT, Ability.SILENT)


class LinkFault:
    """One fault in force."""

    __slots__ = ("action", "amount", "gap_ns", "left", "message", "streams", "touched", "verb")

    def __init__(self, verb: Ability, streams: Streams, amount: int = 0, gap_ns: int = 0) -> None:
        self.verb, self.streams = verb, streams
        self.amount, self.gap_ns = amount, gap_ns  # what they mean is the verb's business
        self.message, self.action = "", ""
        self.left: int | None = None  # how many messages a gate will still catch
        self.touched = 0  # messages and connections that it kept, moved or ended

    def concerns(self, stream: Stream) -> bool:
        return self.streams in (stream, "both")


class LinkState:
    """Faults of one link."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.plain = True
        self.connections: dict[Connection, None] = {}  # that have not ended
        self.standing: dict[Pipe, None] = {}  # those in which something waits, also of ended connections
        self.throttled: dict[Pipe, None] = {}  # those on whose line something queued up
        self._faults: list[LinkFault] = []

    def add(self, fault: LinkFault) -> None:
        self._faults.append(fault)
        self.plain = False

    def remove(self, fault: LinkFault) -> bool:
        """Whether it was still in force."""
        if fault not in self._faults:
            return False
        self._faults.remove(fault)
        self.plain = not self._faults
        return True

    def faults(self, *verbs: Ability) -> list[LinkFault]:
        """Those in force, of these verbs."""
        return [fault for fault in self._faults if fault.verb in verbs]

    def has(self, fault: LinkFault) -> bool:
        return fault in self._faults

    def touch(self, verb: Ability) -> bool:
        """Whether a fault of this verb is in force; it has then been felt."""
        found = self.faults(verb)
        for fault in found:
            fault.touched += 1
        return bool(found)

    # -- what a message asks --------------------------------------------------------------------------------------------

    def stands_still(self, stream: Stream) -> bool:
        """Nothing passes now. Whoever is told so has been touched."""
        still = False
        for fault in self._faults:
            if fault.verb in STANDS_STILL and fault.concerns(stream):
                fault.touched += 1
                still = True
        return still

    def is_still(self, stream: Stream) -> bool:
        """Whether it stands still, asked by nobody who would feel it."""
        return any(fault.concerns(stream) for fault in self.faults(*STANDS_STILL))

    def fate_of_the_end(self, stream: Stream) -> Literal["passes", "overtakes", "waits", "vanishes"]:
        """What becomes of the end of a connection (DESIGN 11.10)."""
        concerned = {fault.verb: fault for fault in self._faults if fault.concerns(stream)}
        if Ability.SILENT in concerned:
            concerned[Ability.SILENT].touched += 1
            return "vanishes"
        if Ability.CUT in concerned:
            return "overtakes"
        if Ability.HOLD in concerned:
            concerned[Ability.HOLD].touched += 1
            return "waits"
        return "passes"

    def delay_ns(self, stream: Stream, draw: int, size: int) -> int:
        """What delays and slices add to one message."""
        added = 0
        for fault in self._faults:
            if not fault.concerns(stream):
                continue
            if fault.verb is Ability.DELAY:
                adds = fault.amount + (fault.gap_ns * jitter_share(draw) >> 12)
            elif fault.verb is Ability.SLICE:
                adds = (size - 1) // fault.amount * fault.gap_ns
            else:
                continue
            added += adds
            fault.touched += adds > 0
        return added

    def time_on_the_line_ns(self, stream: Stream, size: int) -> int:
        """How long a throttled stream is busy with one message."""
        slowest = 0
        for fault in self._faults:
            if fault.verb is Ability.THROTTLE and fault.concerns(stream):
                takes = size * SECOND // fault.amount
                fault.touched += takes > 0
                slowest = max(slowest, takes)
        return slowest

    def gate_for(self, stream: Stream, message: str) -> LinkFault | None:
        """The gate that catches this kind of message now; it counts. An answer cannot be repeated: nobody would hear it."""
        for fault in self._faults:
            if fault.verb is not Ability.GATE or (fault.action == "repeat" and stream == "answers"):
                continue
            if fault.concerns(stream) and fault.message == message and fault.left != 0:
                if fault.left is not None:
                    fault.left -= 1
                fault.touched += 1
                return fault
        return None
