"""clusters/sim/link.py: one directed link: the faults in force on it, and what they mean for the next message (DESIGN 11.10).

In     faults, added and taken away by the nemesis
Out    for each stream: whether it stands still, what is added to a message's way, whether a gate catches it
Keeps  two faults add up; `plain` says that there is none, which is what every message asks first
Not    connections and what waits in them: connection.py
"""

from __future__ import annotations

from collections import Counter
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

    __slots__ = ("action", "amount", "gap_ns", "left", "message", "streams", "verb")

    def __init__(self, verb: Ability, streams: Streams, amount: int = 0, gap_ns: int = 0) -> None:
        self.verb, self.streams = verb, streams
        self.amount, self.gap_ns = amount, gap_ns  # what they mean is the verb's business
        self.message, self.action = "", ""
        self.left: int | None = None  # how many messages a gate will still catch

    def concerns(self, stream: Stream) -> bool:
        return self.streams in (stream, "both")


class LinkState:
    """Faults of one link."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.plain = True
        self.touched: Counter[Ability] = Counter()
        self.connections: dict[Connection, None] = {}  # that have not ended
        self.standing: dict[Pipe, None] = {}  # those in which something waits, also of ended connections
        self._faults: list[LinkFault] = []

    def add(self, fault: LinkFault) -> None:
        self._faults.append(fault)
        self.plain = False

    def remove(self, verb: Ability) -> None:
        """Take the oldest fault of this verb away."""
        found = next((fault for fault in self._faults if fault.verb is verb), None)
        if found is not None:
            self._faults.remove(found)
        if not self.has(verb):
            del self.touched[verb]
        self.plain = not self._faults

    def has(self, verb: Ability) -> bool:
        return any(fault.verb is verb for fault in self._faults)

    @property
    def verbs(self) -> tuple[Ability, ...]:
        return tuple(dict.fromkeys(fault.verb for fault in self._faults))

    # -- what a message asks --------------------------------------------------------------------------------------------

    def stands_still(self, stream: Stream) -> bool:
        """Nothing passes now. Whoever is told so has been touched."""
        still = False
        for fault in self._faults:
            if fault.verb in STANDS_STILL and fault.concerns(stream):
                self.touched[fault.verb] += 1
                still = True
        return still

    def fate_of_the_end(self, stream: Stream) -> Literal["passes", "overtakes", "waits", "vanishes"]:
        """What becomes of the end of a connection (DESIGN 11.10)."""
        verbs = [fault.verb for fault in self._faults if fault.concerns(stream)]
        if Ability.SILENT in verbs:
            self.touched[Ability.SILENT] += 1
            return "vanishes"
        if Ability.CUT in verbs:
            return "overtakes"
        if Ability.HOLD in verbs:
            self.touched[Ability.HOLD] += 1
            return "waits"
        return "passes"

    def delay_ns(self, stream: Stream, draw: int, size: int) -> int:
        """What delays and slices add to one message."""
        added = 0
        for fault in self._faults:
            if not fault.concerns(stream):
                continue
            if fault.verb is Ability.DELAY:
                added += fault.amount + (fault.gap_ns * jitter_share(draw) >> 12)
                self.touched[Ability.DELAY] += 1
            elif fault.verb is Ability.SLICE:
                added += (size - 1) // fault.amount * fault.gap_ns
                self.touched[Ability.SLICE] += size > fault.amount
        return added

    def time_on_the_line_ns(self, stream: Stream, size: int) -> int:
        """How long a throttled stream is busy with one message."""
        rates = [f.amount for f in self._faults if f.verb is Ability.THROTTLE and f.concerns(stream)]
        if not rates:
            return 0
        self.touched[Ability.THROTTLE] += 1
        return size * SECOND // min(rates)

    def gate_for(self, stream: Stream, message: str) -> LinkFault | None:
        """The gate that catches this kind of message now; it counts. An answer cannot be repeated: nobody would hear it."""
        for fault in self._faults:
            if fault.verb is not Ability.GATE or (fault.action == "repeat" and stream == "answers"):
                continue
            if fault.concerns(stream) and fault.message == message and fault.left != 0:
                if fault.left is not None:
                    fault.left -= 1
                self.touched[Ability.GATE] += 1
                return fault
        return None
