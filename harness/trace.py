"""harness/trace.py: a run again, with somebody who writes down what happens inside.

In     a plan and its schedule: the same seed, so the same run
Out    what `harness.run` recorded, and one `TraceLine` per thing that happened, in order
Keeps  a traced run has the digest of the run: a trace looks on and never takes part
Not    the words (trace_words.py, trace_messages.py), the page (trace_render.py), where runs are stored
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from clusters.sim.watch import Watch, Way
from harness.run import Recorded, RunWatch, run
from harness.trace_controllers import TOLD_ELSEWHERE
from harness.trace_lines import CLIENTS, Firing, Glyph, Kind, Mark, TraceLine, TraceOptions
from harness.trace_messages import Topics, name_of, of_message
from harness.trace_words import of_change, of_event, of_row
from harness.worlds import simulated
from model.cluster import NodeId, TopicPartition
from model.operation import Row
from model.plan import Plan
from model.quantity import write_duration
from model.schedule import Event, Schedule, written_target
from nemesis import names

_PROCESS: Mapping[str, tuple[Glyph, str]] = {
    "starts": (Glyph.STARTS, "node process starts"),
    "serves": (Glyph.NOTED, "node process serves"),
    "ends": (Glyph.ENDS, "node process ends"),
    "stands": (Glyph.STANDS, "node process stands still"),
    "runs": (Glyph.RUNS, "node process goes on"),
}
_REGISTERED: Mapping[str, tuple[Glyph, str]] = {
    "registered": (Glyph.REGISTERED, "is registered, and fenced until it has caught up"),
    "fenced": (Glyph.FENCED, "is fenced: it may neither lead nor be in sync"),
    "unfenced": (Glyph.UNFENCED, "is unfenced: it may lead and be in sync again"),
}
_OUTCOME: Mapping[str, Glyph] = {"ok": Glyph.OK, "fail": Glyph.FAIL, "info": Glyph.INFO}
_CAUSED_BY_HEALING = frozenset({Glyph.STARTS, Glyph.RUNS, Glyph.RECOVERS})


def trace(plan: Plan, schedule: Schedule, options: TraceOptions | None = None) -> tuple[Recorded, list[TraceLine]]:
    """Execute a plan in the simulator and watch. Of the options only `messages` counts: what nobody asked for is not kept."""
    watch = Trace(plan, options or TraceOptions())
    recorded = run(plan, schedule, simulated(plan, watch), watch)
    return recorded, watch.lines


class Trace(Watch, RunWatch):
    """Writes down everything that it sees."""

    def __init__(self, plan: Plan, options: TraceOptions) -> None:
        self.lines: list[TraceLine] = []
        self._options = options
        self._topics = Topics(tuple(plan.topics))
        self._one_partition = sum(topic.partitions for topic in plan.topics.values()) == 1
        self._leaders: dict[TopicPartition, int | None] = {}
        self._isrs: dict[TopicPartition, tuple[NodeId, ...]] = {}
        self._fault_names: dict[int, str] = {}
        self._origin_ns = 0

    # -- the run --------------------------------------------------------------------------------------------------------

    def began(self, at_ns: int) -> None:
        self._origin_ns = at_ns
        self.lines[:] = [msgspec.structs.replace(line, at_ns=line.at_ns - at_ns) for line in self.lines]
        self._add(self._line(at_ns, "workload", "workload and schedule begin"))

    def fault(self, at_ns: int, kind: Literal["fires", "heals", "refused"], number: int, event: Event, text: str) -> None:
        """What healing made happen at once was told before it was over: the cause is put first."""
        if kind == "fires":
            self._fault_names[number] = fault_name(event, text)
        name = self._fault_names.get(number) or fault_name(event, "")
        lasts = f" fires, for {write_duration(event.for_ns)}" if event.for_ns is not None else " fires"
        words = lasts if kind == "fires" else f" {'ends' if kind == 'heals' else 'is refused'}: {text}"
        line = self._line(at_ns, "fault", name + words, firing=Firing(number, kind, name))
        self._add(line, before=_caused_by_healing if kind == "heals" else None)

    def row(self, at_ns: int, row: Row) -> None:
        where = () if row.topic is None or row.partition is None else ((row.topic, row.partition),)
        line = self._line(at_ns, "operation", of_row(row, where=not self._one_partition), ((CLIENTS, _OUTCOME[row.type]),))
        nodes = () if row.node is None else (row.node,)
        self._add(msgspec.structs.replace(line, nodes=nodes, partitions=where, row=row))

    # -- nodes ----------------------------------------------------------------------------------------------------------

    def process(self, at_ns: int, node: NodeId, what: str, why: str) -> None:
        glyph, words = _PROCESS[what]
        self._add(self._line(at_ns, "process", f"{names.name(node)}: {words}{f': {why}' if why else ''}", ((node, glyph),)))

    def told(self, at_ns: int, node: NodeId, event: Any) -> None:
        if type(event) in TOLD_ELSEWHERE:
            return
        glyph, words = of_event(event)
        line = self._line(at_ns, "told", f"{names.name(node)} {words}", ((node, glyph),))
        where = self._topics.partition_of(event)
        self._add(msgspec.structs.replace(line, partitions=() if where is None else (where,)))

    def message(self, at_ns: int, way: Way, ends: tuple[int, int], message: Any) -> None:
        self._topics.learn(message)
        if not self._options.wants(name_of(message)):
            return
        said = of_message(way, ends, message, self._topics)
        line = self._line(at_ns, "message", said.text, ((max(ends[1], CLIENTS), Glyph.ARRIVES),), message=said.name)
        nodes = tuple(end for end in ends if end > CLIENTS)
        self._add(msgspec.structs.replace(line, nodes=nodes, partitions=said.partitions))

    # -- controllers ----------------------------------------------------------------------------------------------------

    def committed(self, at_ns: int, change: Mapping[str, Any]) -> None:
        where = change["topic"], change["partition"]
        new, leader_was = where not in self._isrs, self._leaders.get(where)
        marks = self._marks_of(change, where)
        self._leaders[where], self._isrs[where] = change["leader"], tuple(change["isr"])
        line = self._line(at_ns, "change", of_change(change, leader_was, new=new), marks)
        self._add(msgspec.structs.replace(line, nodes=tuple(change["replicas"]), partitions=(where,)))

    def _marks_of(self, change: Mapping[str, Any], where: TopicPartition) -> tuple[Mark, ...]:
        """In the columns of those whose lot it changes."""
        isr_was, leader_was, leader = self._isrs.get(where, ()), self._leaders.get(where), change["leader"]
        marks = {leader_was: Glyph.DEPOSED} if leader_was is not None and leader is None else {}
        marks |= {member: Glyph.LEAVES for member in isr_was if member not in change["isr"]}
        marks |= {member: Glyph.JOINS for member in change["isr"] if member not in isr_was}
        if leader is not None and (leader != leader_was or change["election"] != "none"):
            marks[leader] = Glyph.ELECTED
        return tuple(sorted(marks.items()))

    def registered(self, at_ns: int, node: NodeId, what: str) -> None:
        """Fencing is committed together with the elections that it causes: the cause is put first."""
        glyph, words = _REGISTERED[what]
        line = self._line(at_ns, "broker", f"controllers: {names.name(node)} {words}", ((node, glyph),))
        self._add(line, before=_is_change if what == "fenced" else None)

    # -- small words ----------------------------------------------------------------------------------------------------

    def _line(self, at_ns: int, kind: Kind, text: str, marks: tuple[Mark, ...] = (), **more: Any) -> TraceLine:
        plain = " ".join("".join(each if each.isprintable() else " " for each in text).split())
        nodes = tuple(node for node, _ in marks if node != CLIENTS)
        return TraceLine(at_ns=at_ns - self._origin_ns, kind=kind, text=plain, marks=marks, **{"nodes": nodes, **more})

    def _add(self, line: TraceLine, before: Callable[[TraceLine], bool] | None = None) -> None:
        """At the end; or before the last lines of the same instant, as far as `before` says so."""
        index = len(self.lines)
        while before is not None and index and self.lines[index - 1].at_ns == line.at_ns and before(self.lines[index - 1]):
            index -= 1
        self.lines.insert(index, line)


def _is_change(line: TraceLine) -> bool:
    return line.kind == "change"


def _caused_by_healing(line: TraceLine) -> bool:
    return bool(line.marks) and all(glyph in _CAUSED_BY_HEALING for _, glyph in line.marks)


def fault_name(event: Event, aimed: str) -> str:
    """`lossy_kill leader (n1)`; `delay n1 | n2 latency=200ms`"""
    target = written_target(event.target)
    whom = f" {target}" if target else ""
    if aimed and aimed != target:
        whom += f" ({aimed})"
    return f"{event.fault}{whom}" + "".join(f" {key}={value}" for key, value in event.args.items())
