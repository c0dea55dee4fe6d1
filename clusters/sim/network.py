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
        if link.has(Ability.SILENT):
            link.touched[Ability.SILENT] += 1
            return  # nobody answers; dialled again when the link heals, unless the calls have given up by then
        listener = self.listener(connection.node, connection.channel)
        if link.has(Ability.REFUSE):
            link.touched[Ability.REFUSE] += 1
            connection.refuse()
        elif listener is None:
            connection.refuse()
        else:
            connection.open(listener)

    def heal(self, link: LinkState, verb: Ability) -> None:
        """Take one fault away; what it kept goes on, or is lost, as its verb says."""
        if not link.has(verb):
            return
        link.remove(verb)
        if link.has(verb):
            return
        connections = list(link.connections)
        for connection in connections:
            if verb in LOSES_ON_HEAL and connection.listener is not None:
                connection.lose()
        for pipe in list(link.standing):
            if verb in LOSES_ON_HEAL:
                pipe.connection.lose()  # one that had ended before: what its dialler sent is lost all the same
            else:
                pipe.release()
        for connection in connections:
            if connection.listener is None:
                self._dialled(connection)


class SimLinks:
    """`model.cluster.Links`."""

    def __init__(self, network: Network) -> None:
        self._network = network

    def cut(self, link: Link, streams: Streams = "both") -> None:
        self._add(link, LinkFault(Ability.CUT, streams))

    def hold(self, link: Link, streams: Streams = "both") -> None:
        self._add(link, LinkFault(Ability.HOLD, streams))

    def silent(self, link: Link, streams: Streams = "both") -> None:
        self._add(link, LinkFault(Ability.SILENT, streams))

    def refuse(self, link: Link) -> None:
        state = self._add(link, LinkFault(Ability.REFUSE, "both"))
        self._end_connections(state, Ability.REFUSE, lose_requests=True)

    def delay(self, link: Link, latency_ns: int, jitter_ns: int = 0, streams: Streams = "both") -> None:
        self._add(link, LinkFault(Ability.DELAY, streams, latency_ns, jitter_ns))

    def throttle(self, link: Link, bytes_per_second: int, streams: Streams = "both") -> None:
        self._add(link, LinkFault(Ability.THROTTLE, streams, bytes_per_second))

    def slice(self, link: Link, size: int, gap_ns: int, streams: Streams = "both") -> None:
        self._add(link, LinkFault(Ability.SLICE, streams, size, gap_ns))

    def reset(self, link: Link, streams: Streams = "both") -> None:
        """Over at once. With `answers` alone, requests that were sent still arrive."""
        self._end_connections(self._state(link), Ability.RESET, lose_requests=streams != "answers")

    def gate(
        self, link: Link, message: str, action: Literal["hold", "drop", "repeat"], streams: Streams, count: int | None
    ) -> None:
        fault = LinkFault(Ability.GATE, streams)
        fault.message, fault.action, fault.left = message, action, count
        self._add(link, fault)

    def touched(self, link: Link, verb: Ability) -> int:
        return self._state(link).touched[verb]

    def heal(self, link: Link, verb: Ability | None = None) -> None:
        state = self._state(link)
        if verb is not None:
            self._network.heal(state, verb)
            return
        for each in state.verbs:
            while state.has(each):
                self._network.heal(state, each)

    def _state(self, link: Link) -> LinkState:
        return self._network.link(link.dialer, link.node)

    def _add(self, link: Link, fault: LinkFault) -> LinkState:
        state = self._state(link)
        state.add(fault)
        return state

    def _end_connections(self, state: LinkState, verb: Ability, *, lose_requests: bool) -> None:
        for connection in list(state.connections):
            if connection.listener is not None:
                state.touched[verb] += 1
                connection.end(lose_requests=lose_requests)
