"""clusters/sim/network.py: all links and connections, and the handle through which the nemesis breaks them (DESIGN 11.10).

In     dials of processes; faults of links
Out    connections; `model.cluster.Links`
Keeps  one stream of random numbers per link, channel and direction, so that what happens on one link moves no draw of another
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Literal

from clusters.sim.connection import Connection
from clusters.sim.env import SimEnv
from clusters.sim.kernel import Kernel
from clusters.sim.latency import DRAW_BITS, message_latency
from clusters.sim.link import LOSES_ON_HEAL, LinkFault, LinkState
from clusters.sim.watch import Watch
from model.chance import stream
from model.cluster import Ability, Link, NodeId, Streams


class Network:
    """Who is connected to whom."""

    def __init__(self, kernel: Kernel, seed: int, process_of: Callable[[NodeId], SimEnv | None]) -> None:
        self.kernel, self.seed = kernel, seed
        self.watch: Watch | None = None
        self._process_of = process_of
        self._links: dict[tuple[int, NodeId], LinkState] = {}
        self._streams: dict[tuple[int, NodeId, str, str], Random] = {}

    def link(self, dialer: int, node: NodeId) -> LinkState:
        found = self._links.get((dialer, node))
        if found is None:
            found = self._links[dialer, node] = LinkState(Link(dialer, node))
        return found

    def chance(self, dialer: int, node: NodeId, channel: str, purpose: str) -> Random:
        key = dialer, node, channel, purpose
        found = self._streams.get(key)
        if found is None:
            found = self._streams[key] = stream(self.seed, "net", f"{dialer}{purpose}{node}", channel)
        return found

    def listener(self, node: NodeId, channel: str) -> SimEnv | None:
        """The process of that node, if it takes connections for this channel."""
        process = self._process_of(node)
        return process if process is not None and process.alive and process.listens(channel) else None

    # -- dialling -------------------------------------------------------------------------------------------------------

    def dial(self, dialer: SimEnv, node: NodeId, channel: str) -> Connection:
        """There and back once, before anything can be sent."""
        connection = Connection(self, dialer, node, channel)
        connection.link.connections[connection] = None
        there = message_latency(connection.requests.chance.getrandbits(DRAW_BITS))
        back = message_latency(connection.answers.chance.getrandbits(DRAW_BITS))
        self.kernel.at(self.kernel.now + there + back, self._dialled, connection)
        return connection

    def _dialled(self, connection: Connection) -> None:
        link = connection.link
        if connection.ended or connection.listener is not None:
            return
        if link.touch(Ability.SILENT):
            connection.unheard = True  # dialled again when the link heals, unless the calls have given up by then
            return
        listener = self.listener(connection.node, connection.channel)
        if link.touch(Ability.REFUSE) or listener is None:
            connection.refuse()
        else:
            connection.open(listener)

    def heal(self, link: LinkState, fault: LinkFault) -> None:
        """Take one fault away; what it kept goes on, or is lost, as its verb says."""
        if not link.remove(fault):
            return
        connections = list(link.connections)
        if fault.verb in LOSES_ON_HEAL and not link.faults(*LOSES_ON_HEAL):
            self._lose(link, connections)
        for pipe in list(link.standing):
            pipe.release()
        if fault.verb is Ability.THROTTLE and not link.faults(Ability.THROTTLE):
            throttled, link.throttled = link.throttled, {}
            for pipe in throttled:
                pipe.unthrottle()
        if fault.verb is Ability.SILENT and not link.faults(Ability.SILENT):
            for connection in connections:
                if connection.unheard:
                    connection.unheard = False
                    self._dialled(connection)

    def _lose(self, link: LinkState, connections: list[Connection]) -> None:
        """Connections end, and with them what was queued; of one that had ended before, what its dialler sent is lost all the
        same."""
        for connection in connections:
            if connection.listener is not None:
                connection.lose()
        for pipe in list(link.standing):
            pipe.connection.lose()


class LinkGrip:
    """`model.cluster.Grip` of one fault of one link."""

    def __init__(self, network: Network, link: LinkState, fault: LinkFault) -> None:
        self._network, self._link, self._fault = network, link, fault

    def touched(self) -> int:
        return self._fault.touched

    def release(self) -> None:
        self._network.heal(self._link, self._fault)


class SimLinks:
    """`model.cluster.Links`."""

    def __init__(self, network: Network) -> None:
        self._network = network

    def cut(self, link: Link, streams: Streams = "both") -> LinkGrip:
        return self._add(link, LinkFault(Ability.CUT, streams))

    def hold(self, link: Link, streams: Streams = "both") -> LinkGrip:
        return self._add(link, LinkFault(Ability.HOLD, streams))

    def silent(self, link: Link, streams: Streams = "both") -> LinkGrip:
        return self._add(link, LinkFault(Ability.SILENT, streams))

    def refuse(self, link: Link) -> LinkGrip:
        fault = LinkFault(Ability.REFUSE, "both")
        grip = self._add(link, fault)
        fault.touched += self._end_connections(link, lose_requests=True)
        return grip

    def delay(self, link: Link, latency_ns: int, jitter_ns: int = 0, streams: Streams = "both") -> LinkGrip:
        return self._add(link, LinkFault(Ability.DELAY, streams, latency_ns, jitter_ns))

    def throttle(self, link: Link, bytes_per_second: int, streams: Streams = "both") -> LinkGrip:
        return self._add(link, LinkFault(Ability.THROTTLE, streams, bytes_per_second))

    def slice(self, link: Link, size: int, gap_ns: int, streams: Streams = "both") -> LinkGrip:
        return self._add(link, LinkFault(Ability.SLICE, streams, size, gap_ns))

    def reset(self, link: Link, streams: Streams = "both") -> int:
        """With `answers` alone, requests that were sent still arrive."""
        return self._end_connections(link, lose_requests=streams != "answers")

    def gate(
        self, link: Link, message: str, action: Literal["hold", "drop", "repeat"], streams: Streams, count: int | None
    ) -> LinkGrip:
        fault = LinkFault(Ability.GATE, streams)
        fault.message, fault.action, fault.left = message, action, count
        return self._add(link, fault)

    def touched(self, link: Link, verb: Ability) -> int:
        """By all faults of this verb that are in force."""
        return sum(fault.touched for fault in self._state(link).faults(verb))

    def heal(self, link: Link, verb: Ability | None = None) -> None:
        state = self._state(link)
        for fault in state.faults(*(Ability if verb is None else (verb,))):
            self._network.heal(state, fault)

    def _state(self, link: Link) -> LinkState:
        return self._network.link(link.dialer, link.node)

    def _add(self, link: Link, fault: LinkFault) -> LinkGrip:
        state = self._state(link)
        state.add(fault)
        return LinkGrip(self._network, state, fault)

    def _end_connections(self, link: Link, *, lose_requests: bool) -> int:
        """How many there were."""
        open_ones = [connection for connection in self._state(link).connections if connection.listener is not None]
        for connection in open_ones:
            connection.end(lose_requests=lose_requests)
        return len(open_ones)
