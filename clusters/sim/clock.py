"""clusters/sim/clock.py: one node's two clocks, which need not tell the truth.

In     true time from the kernel; skew, jump, strobe and drift from the nemesis
Out    what the node reads: wall time in ms, monotonic time in ns; how long a wait of the node's own nanoseconds really takes
Keeps  monotonic time never goes back, not even when a drift ends. Each fault counts the readings that it has falsified
"""

from __future__ import annotations

from collections.abc import Callable

from model.cluster import NodeId

MILLION = 1_000_000
SLOWEST_PPM = -900_000  # several drifts together do not stop a clock
NowNs = Callable[[], int]
OffNs = Callable[[int], int]
WALL_START_MS = 1_700_000_000_000  # any moment will do, as long as it is always the same


class ClockFault:
    """One thing that is wrong with a clock, as long as it is."""

    def __init__(self, clock: NodeClock, now_ns: NowNs, off_ns: OffNs, ppm: int = 0) -> None:
        self._clock, self._now_ns = clock, now_ns
        self.off_ns, self.ppm = off_ns, ppm
        self.readings = 0

    def touched(self) -> int:
        """How many readings of this clock it has falsified."""
        return self.readings

    def release(self) -> None:
        self._clock.remove(self._now_ns(), self)


class NodeClock:
    """Wall and monotonic time of one node. What is wrong with it adds up."""

    def __init__(self) -> None:
        self.true = True
        """Nothing was ever wrong with this clock: whoever is in a hurry need not ask it."""
        self._faults: list[ClockFault] = []
        self._jumped_ns = 0
        self._ppm = 0
        self._since = 0  # true time at which the rate last changed
        self._monotonic_at_since = 0
        self.on_rate: Callable[[], None] = _nobody
        """Called when the rate has changed: whoever waits by this clock waits for another time now."""

    # -- reading --------------------------------------------------------------------------------------------------------

    def monotonic_ns(self, now: int) -> int:
        for fault in self._faults:
            fault.readings += fault.ppm != 0
        return self.own_ns(now)

    def wall_ms(self, now: int) -> int:
        off = self._jumped_ns
        for fault in self._faults:
            adds = fault.off_ns(now)
            off += adds
            fault.readings += adds != 0
        return WALL_START_MS + (now + off) // MILLION

    def real_ns(self, own_ns: int) -> int:
        """How long a wait takes that is so long by this node's own clock; rounded up, so that no timer fires early."""
        rate = MILLION + self._ppm
        return -(-own_ns * MILLION // rate)

    def own_ns(self, now: int) -> int:
        """Monotonic time, not read by the node itself."""
        return self._monotonic_at_since + (now - self._since) * (MILLION + self._ppm) // MILLION

    # -- faults ---------------------------------------------------------------------------------------------------------

    def add(self, now: int, fault: ClockFault) -> None:
        self.true = False
        self._faults.append(fault)
        self._change_rate(now)

    def remove(self, now: int, fault: ClockFault) -> None:
        if fault in self._faults:
            self._faults.remove(fault)
            self._change_rate(now)

    def jump(self, by_ns: int) -> None:
        self.true = False
        self._jumped_ns += by_ns

    def restore(self, now: int) -> None:
        """True wall time and a true rate again; monotonic time goes on from where it is."""
        self._faults.clear()
        self._jumped_ns = 0
        self._change_rate(now)

    def _change_rate(self, now: int) -> None:
        ppm = max(SLOWEST_PPM, sum(fault.ppm for fault in self._faults))
        if ppm != self._ppm:
            self._monotonic_at_since = self.own_ns(now)
            self._since, self._ppm = now, ppm
            self.on_rate()


class SimClocks:
    """`model.cluster.Clocks`."""

    def __init__(self, now_ns: NowNs, clocks: dict[NodeId, NodeClock]) -> None:
        self._now_ns, self._clocks = now_ns, clocks

    def skew(self, node: NodeId, offset_ns: int) -> ClockFault:
        return self._add(node, lambda now: offset_ns)

    def jump(self, node: NodeId, by_ns: int) -> None:
        self._clocks[node].jump(by_ns)

    def strobe(self, node: NodeId, by_ns: int, every_ns: int) -> ClockFault:
        since = self._now_ns()
        return self._add(node, lambda now: by_ns * ((now - since) // every_ns % 2))

    def drift(self, node: NodeId, parts_per_million: int) -> ClockFault:
        since = self._now_ns()
        return self._add(node, lambda now: (now - since) * parts_per_million // MILLION, parts_per_million)

    def restore(self, node: NodeId) -> None:
        self._clocks[node].restore(self._now_ns())

    def _add(self, node: NodeId, off_ns: OffNs, ppm: int = 0) -> ClockFault:
        clock = self._clocks[node]
        fault = ClockFault(clock, self._now_ns, off_ns, ppm)
        clock.add(self._now_ns(), fault)
        return fault


def _nobody() -> None:
    """Nothing waits by this clock."""
