"""Lines of a trace by hand, a small story made of them, and pages without their headings."""

from __future__ import annotations

from typing import Any

from harness.trace_lines import CLIENTS, MEANING, Firing, Glyph, Mark, TraceLine, TraceOptions
from harness.trace_render import render
from harness.trace_words import of_row
from model.operation import Row
from model.plan import Nodes, Plan, Topic
from model.value import make_value

MS = 10**6
SMALL = Plan(tidemark=1, seed=7, nodes=Nodes(brokers=2, controllers=1), topics={"t": Topic(replicas=2)})
T0 = ("t", 0)


def process(at_ms: int, node: int, glyph: Glyph) -> TraceLine:
    return TraceLine(at_ns=at_ms * MS, kind="process", text=f"n{node} {MEANING[glyph]}", marks=((node, glyph),), nodes=(node,))


def about(at_ms: int, *marks: Mark, text: str = "something", partition: tuple[str, int] = T0) -> TraceLine:
    nodes = tuple(node for node, _ in marks)
    return TraceLine(at_ns=at_ms * MS, kind="told", text=text, marks=marks, nodes=nodes, partitions=(partition,))


def fault(at_ms: int, what: Any, number: int = 0, name: str = "kill n1") -> TraceLine:
    return TraceLine(at_ns=at_ms * MS, kind="fault", text=f"{name} {what}", firing=Firing(number, what, name))


def row(**fields: Any) -> Row:
    return Row(**{"op": 0, "process": 3, "client": "raw-3", "type": "ok", "start_ns": 0, "took_ns": 1_800_000, **fields})


def operation(at_ms: int, glyph: Glyph = Glyph.OK, **fields: Any) -> TraceLine:
    outcome: Any = MEANING[glyph]
    made = row(**{"kind": "end_offset", "topic": "t", "partition": 0, "type": outcome, "node": 1, **fields})
    marks, nodes = ((CLIENTS, glyph),), () if made.node is None else (made.node,)
    text = of_row(made, where=False)
    return TraceLine(at_ns=at_ms * MS, kind="operation", text=text, marks=marks, nodes=nodes, partitions=(T0,), row=made)


STORY = [
    process(-20, 1, Glyph.STARTS),
    process(-20, 2, Glyph.STARTS),
    process(-19, 3, Glyph.STARTS),
    about(-5, (1, Glyph.ELECTED), (2, Glyph.JOINS), text="controllers: t/0 is created"),
    about(-4, (1, Glyph.LEADS), text="n1 leads t/0"),
    operation(10, kind="append", offset=0),
    operation(20, kind="append", offset=1),
    operation(30, Glyph.FAIL, kind="read", error="OFFSET_OUT_OF_RANGE"),
    fault(100, "fires"),
    process(100, 1, Glyph.ENDS),
    operation(110, Glyph.INFO, kind="append", error="CONNECTION_LOST", acks=-1, value=make_value(0, 3, 17)),
    about(900, (1, Glyph.LEAVES), (2, Glyph.ELECTED), text="controllers: n2 leads t/0"),
    about(901, (2, Glyph.LEADS), text="n2 leads t/0"),
    fault(2_000, "heals"),
    process(2_000, 1, Glyph.STARTS),
    about(2_100, (1, Glyph.JOINS), text="controllers: t/0 has the ISR n2 n1"),
    operation(2_200, kind="append", offset=2),
]


def page(lines: list[TraceLine], plan: Plan = SMALL, **options: Any) -> list[str]:
    return list(render(lines, plan, TraceOptions(**options)))


def body(lines: list[TraceLine], plan: Plan = SMALL, **options: Any) -> list[str]:
    """Without the heading and the names of the columns."""
    printed = page(lines, plan, **options)
    return [line for line in printed[printed.index("") + 1 :] if "seconds" not in line]
