"""harness/trace_state.py: what stands in a trace's columns: faults in force, and the state of every node.

In     every line of a run, in order, the hidden ones as well
Out    for each line the margin of the faults and the columns of nodes and clients, as text
Keeps  each node's state is as the lines so far tell it: who leads is what the node itself believes, so two may lead at once;
       who is in sync is what the controllers have committed
"""

from __future__ import annotations

import string
from collections.abc import Iterable

from harness.trace_lines import CLIENTS, Firing, Glyph, TraceLine
from model.cluster import NodeId, TopicPartition
from model.plan import Nodes
from nemesis import names

LEADS, IN_SYNC, NOT_IN_SYNC, DOWN, IN_FORCE = "┃", "│", "┊", " ", "|"


class _Group:
    """Nodes that share a state, and the glyphs by which they come and go."""

    def __init__(self, joins: Iterable[Glyph], leaves: Iterable[Glyph], *, of_partition: bool) -> None:
        self.members: set[NodeId] = set()
        self._joins, self._leaves, self.of_partition = frozenset(joins), frozenset(leaves), of_partition

    def note(self, node: NodeId, glyph: Glyph) -> None:
        if glyph in self._joins:
            self.members.add(node)
        elif glyph in self._leaves:
            self.members.discard(node)


class Columns:
    """One narrow column per node, and one for all clients. `partition` is the one whose leader and ISR they show."""

    def __init__(self, nodes: Nodes, partition: TopicPartition | None) -> None:
        self.heading = "".join([*(f"{names.name(node):<3}" for node in nodes.ids), "clients"])
        self._nodes, self._partition = nodes, partition
        self._running = _Group({Glyph.STARTS}, {Glyph.ENDS}, of_partition=False)
        self._standing = _Group({Glyph.STANDS}, {Glyph.RUNS, Glyph.ENDS}, of_partition=False)
        self._leading = _Group({Glyph.LEADS}, {Glyph.FOLLOWS, Glyph.ENDS}, of_partition=True)
        self._in_sync = _Group({Glyph.ELECTED, Glyph.JOINS}, {Glyph.LEAVES}, of_partition=True)

    def note(self, line: TraceLine) -> None:
        """A mark changes the state of its node."""
        shown = not line.partitions or self._partition in line.partitions
        for group in (self._running, self._standing, self._leading, self._in_sync):
            for node, glyph in line.marks if shown or not group.of_partition else ():
                group.note(node, glyph)

    def beside(self, line: TraceLine) -> str:
        """A glyph where something happened, the state everywhere else. The clients' column has no state: `clients` adds it."""
        marks = dict(line.marks)
        return "".join(f" {marks.get(node) or self._state(node)} " for node in self._nodes.ids)

    def _state(self, node: NodeId) -> str:
        if node not in self._running.members:
            return DOWN
        if node in self._standing.members:
            return Glyph.STANDS
        if node in self._leading.members:
            return LEADS
        return IN_SYNC if node in self._in_sync.members or node not in self._nodes.broker_ids else NOT_IN_SYNC


def clients(line: TraceLine) -> str:
    return f"{dict(line.marks).get(CLIENTS, ''):^7}"


class Margin:
    """One lane per fault that is in force at the same time: a letter where it fires and where it ends, a stroke in between."""

    def __init__(self, lines: Iterable[TraceLine]) -> None:
        self._lanes: list[int | None] = [None] * max(_most_at_once(lines), 1)
        self._letters: dict[int, str] = {}
        self._names: dict[int, str] = {}

    @property
    def width(self) -> int:
        return len(self._lanes)

    def in_force(self, at_ns: int) -> list[TraceLine]:
        """A line for each fault that is in force: for whoever begins to read in the middle."""
        firings = [Firing(number, "fires", self._names[number]) for number in self._lanes if number is not None]
        return [TraceLine(at_ns=at_ns, kind="fault", text=f"{each.name} is in force", firing=each) for each in firings]

    def begin(self, line: TraceLine) -> None:
        """Call before `beside`: what fires is in force on its own line."""
        firing = line.firing
        if firing is not None and firing.what == "fires":
            self._letters[firing.number] = string.ascii_uppercase[len(self._letters) % 26]
            self._names[firing.number] = firing.name
            self._lanes[self._lanes.index(None)] = firing.number

    def beside(self, line: TraceLine) -> str:
        number = line.firing.number if line.firing is not None else None
        return "".join(" " if lane is None else self._letters[lane] if lane == number else IN_FORCE for lane in self._lanes)

    def end(self, line: TraceLine) -> None:
        """Call after `beside`: what heals is still in force on its own line."""
        firing = line.firing
        if firing is not None and firing.what == "heals" and firing.number in self._lanes:
            self._lanes[self._lanes.index(firing.number)] = None


def _most_at_once(lines: Iterable[TraceLine]) -> int:
    now = most = 0
    for line in lines:
        if line.firing is not None and line.firing.what != "refused":
            now += 1 if line.firing.what == "fires" else -1
            most = max(most, now)
    return most
