"""harness/trace_lines.py: what a trace consists of: its lines, its glyphs, and which of them a reader wants.

In     nothing
Out    `TraceLine`, one thing that happened; `Glyph`, what happened as one character; `TraceOptions`, which lines are shown
Keeps  a line's marks are all that rendering needs to know who runs, leads and is in sync: see trace_state.py
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

import msgspec

from model.cluster import NodeId, TopicPartition
from model.operation import Row

CLIENTS = 0
"""The column of the clients, where others have a node's number."""

Kind = Literal["fault", "process", "broker", "change", "told", "operation", "message", "workload"]


class Glyph(StrEnum):
    """What happened to the node in whose column this stands."""

    STARTS = "^"
    ENDS = "x"
    STANDS = "="
    RUNS = "~"
    REGISTERED = "@"
    FENCED = "!"
    UNFENCED = "i"
    ELECTED = "*"
    DEPOSED = "_"
    JOINS = "+"
    LEAVES = "-"
    LEADS = "L"
    FOLLOWS = "F"
    RECOVERS = "r"
    TRUNCATES = "<"
    ISR = "%"
    WAITS = "w"
    QUORUM = "q"
    ACTIVE = "A"
    WRONG = "#"
    NOTED = "."
    ARRIVES = ">"
    OK = "o"
    FAIL = "/"
    INFO = "?"


MEANING: Mapping[Glyph, str] = {
    Glyph.STARTS: "starts",
    Glyph.ENDS: "ends",
    Glyph.STANDS: "stands still",
    Glyph.RUNS: "goes on",
    Glyph.REGISTERED: "registered",
    Glyph.FENCED: "fenced",
    Glyph.UNFENCED: "unfenced",
    Glyph.ELECTED: "elected",
    Glyph.DEPOSED: "leads no more",
    Glyph.JOINS: "joins ISR",
    Glyph.LEAVES: "leaves ISR",
    Glyph.LEADS: "takes office",
    Glyph.FOLLOWS: "follows",
    Glyph.RECOVERS: "opens log",
    Glyph.TRUNCATES: "truncates",
    Glyph.ISR: "asks for or sees another ISR",
    Glyph.WAITS: "waits for replicas",
    Glyph.QUORUM: "changes its part in the quorum",
    Glyph.ACTIVE: "active controller",
    Glyph.WRONG: "goes wrong",
    Glyph.NOTED: "tells",
    Glyph.ARRIVES: "message arrives",
    Glyph.OK: "ok",
    Glyph.FAIL: "fail",
    Glyph.INFO: "info",
}

Mark = tuple[NodeId, Glyph]


class Firing(msgspec.Struct, frozen=True):
    """Which event of the schedule a line is about, and what became of it."""

    number: int
    what: Literal["fires", "heals", "refused"]
    name: str  # `lossy_kill leader (n1)`


class TraceLine(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that happened. Times count from the moment the workload began; what was before that is negative."""

    at_ns: int
    kind: Kind
    text: str
    marks: tuple[Mark, ...] = ()
    nodes: tuple[NodeId, ...] = ()  # whom it concerns: a node that is asked for brings this line
    partitions: tuple[TopicPartition, ...] = ()  # none: it concerns all of them
    row: Row | None = None  # of an operation, so that many can be told as one
    firing: Firing | None = None
    message: str | None = None  # Kafka's name of the request


class TraceOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Which lines are shown. What is hidden still moves the columns."""

    nodes: frozenset[NodeId] = frozenset()  # none named: all
    partition: TopicPartition | None = None
    from_ns: int | None = None
    to_ns: int | None = None  # exclusive
    messages: frozenset[str] | Literal["all"] = frozenset()  # by Kafka's names, such as Fetch
    operations: bool = True
    fold: bool = True  # operations that follow one another become one line

    def shows(self, line: TraceLine) -> bool:
        """Faults are shown whatever node or partition is asked for: they may explain the rest."""
        if not self.in_window(line.at_ns):
            return False
        if line.kind == "fault":
            return True
        if line.kind == "message" and not self.wants(line.message or ""):
            return False
        if line.kind == "operation" and not self.operations:
            return False
        elsewhere = self.partition is not None and line.partitions and self.partition not in line.partitions
        return not elsewhere and (not self.nodes or not self.nodes.isdisjoint(line.nodes))

    def wants(self, message: str) -> bool:
        return self.messages == "all" or message in self.messages

    def in_window(self, at_ns: int) -> bool:
        return (self.from_ns is None or at_ns >= self.from_ns) and (self.to_ns is None or at_ns < self.to_ns)
