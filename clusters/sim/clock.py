"""clusters/sim/clock.py: one node's two clocks, which need not tell the truth.

In     true time from the kernel; skew, jump, strobe and drift from the nemesis
Out    what the node reads: wall time in ms, monotonic time in ns; how long a wait of the node's own nanoseconds really takes
Keeps  monotonic time never goes back, not even when a drift ends. `touched` counts readings that were not the true time
"""

from __future__ import annotations

from collections.abc import Callable

from model.cluster import NodeId

MILLION = 1_000_000
NowNs = Callable[[], int]
WALL_START_MS = 1_700_000_000_000  # any moment will do, as long as it is always the same


class NodeClock:
    """Wall and monotonic time of one node."""

    def __init__(self) -> None:
        self.true = True
        """Nothing was ever wrong with this clock: whoever is in a hurry need not ask it."""
        self.touched = 0
        self._ppm = 0
        self._since = 0  # true time at which the rate last changed
        self._monotonic_at_since = 0
        self._skew_ns = self._jumped_ns = self._drifted_ns = 0
        self._strobe: tuple[int, int, int] | None = None  # since, by, every
        self.on_rate: Callable[[], None] = _nobody
        """Called when the rate has changed: whoever waits by this clock waits for another time now."""

    # -- reading --------------------------------------------------------------------------------------------------------

    def monotonic_ns(self, now: int) -> int:
        if self._ppm:
            self.touched += 1
        return self.own_ns(now)

    def wall_ms(self, now: int) -> int:
        off = self._off_ns(now)
        if off:
            self.touched += 1
        return WALL_START_MS + (now + off) // MILLION

    def real_ns(self, own_ns: int) -> int:
        """How long a wait takes that is so long by this node's own clock; rounded up, so that no timer fires early."""
        rate = MILLION + self._ppm
        return -(-own_ns * MILLION // rate)

    def own_ns(self, now: int) -> int:
        """Monotonic time, not read by the node itself."""
        return self._monotonic_at_since + (now - self._since) * (MILLION + self._ppm) // MILLION

    def _off_ns(self, now: int) -> int:
        off = self._skew_ns + self._jumped_ns + self._drifted_ns + (now - self._since) * self._ppm // MILLION
        if self._strobe is not None:
            since, by, every = self._strobe
            off += by * ((now - since) // every % 2)
        return off

    # -- faults ---------------------------------------------------------------------------------------------------------

    def skew(self, offset_ns: int) -> None:
        self.true = False
        self._skew_ns = offset_ns

    def jump(self, by_ns: int) -> None:
        self.true = False
        self._jumped_ns += by_ns

    def strobe(self, now: int, by_ns: int, every_ns: int) -> None:
        self.true = False
        self._strobe = now, by_ns, every_ns

    def drift(self, now: int, parts_per_million: int) -> None:
        self.true = False
        self._monotonic_at_since = self.own_ns(now)
        self._drifted_ns += (now - self._since) * self._ppm // MILLION
        self._since, self._ppm = now, parts_per_million
        self.on_rate()

    def restore(self, now: int) -> None:
        """True wall time and a true rate again; monotonic time goes on from where it is."""
        self.drift(now, 0)
        self._skew_ns = self._jumped_ns = self._drifted_ns = 0
        self._strobe = None
        self.touched = 0


class SimClocks:
    """`model.cluster.Clocks`."""

    def __init__(self, now_ns: NowNs, clocks: dict[NodeId, NodeClock]) -> None:
        self._now_ns, self._clocks = now_ns, clocks

    def skew(self, node: NodeId, offset_ns: int) -> None:
        self._clocks[node].skew(offset_ns)

    def jump(self, node: NodeId, by_ns: int) -> None:
        self._clocks[node].jump(by_ns)

    def strobe(self, node: NodeId, by_ns: int, every_ns: int) -> None:
        self._clocks[node].strobe(self._now_ns(), by_ns, every_ns)

    def drift(self, node: NodeId, parts_per_million: int) -> None:
        self._clocks[node].drift(self._now_ns(), parts_per_million)

    def restore(self, node: NodeId) -> None:
        self._clocks[node].restore(self._now_ns())

    def touched(self, node: NodeId) -> int:
        return self._clocks[node].touched


def _nobody() -> None:
    """Nothing waits by this clock."""
