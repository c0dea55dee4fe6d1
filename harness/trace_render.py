"""harness/trace_render.py: a trace as text: time, faults in force, a column per node, and what happened.

In     the lines of a run, its plan, which of them are wanted
Out    lines of plain text, one after the other: a heading with the legend of what occurs, then one line per event
Keeps  what is hidden still moves the columns, so they are true beside every line that is shown
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.trace_fold import Beside, folded
from harness.trace_lines import MEANING, TraceLine, TraceOptions
from harness.trace_state import IN_FORCE, IN_SYNC, LEADS, NOT_IN_SYNC, Columns, Margin, clients
from harness.trace_words import counted, nodes, place
from model.cluster import TopicPartition
from model.plan import Plan
from workloads.partitions import partitions_of

WIDTH = 110
HEADING_EVERY = 50  # so that the columns are named on every screen


def render(lines: Sequence[TraceLine], plan: Plan, options: TraceOptions | None = None, run: str = "") -> Iterator[str]:
    """The page. `run` names it; the plan says which nodes and partitions there are."""
    wanted = options or TraceOptions()
    partition = wanted.partition or next(iter(partitions_of(plan)), None)
    yield from _heading(plan, run, partition)
    yield from _legend([line for line in lines if wanted.shows(line)], wanted.fold)
    yield ""
    yield from _body(lines, wanted, Columns(plan.nodes, partition), Margin(lines))


def _heading(plan: Plan, run: str, partition: TopicPartition | None) -> Iterator[str]:
    roles = "brokers and controllers" if plan.nodes.combined else "brokers"
    apart = "" if plan.nodes.combined else f", controllers {nodes(plan.nodes.controller_ids)}"
    yield f"trace of {run or 'a run'}, seed {plan.seed}: {roles} {nodes(plan.nodes.broker_ids)}{apart}"
    for name, topic in plan.topics.items():
        yield f"topic {name}: {counted(topic.partitions, 'partition')}, {counted(topic.replicas, 'replica')}"
    if partition is not None:
        states = f"{LEADS} leads {place(partition)}, as it believes", f"{IN_SYNC} in its ISR, or a controller"
        yield _spaced(*states, f"{NOT_IN_SYNC} not in its ISR", "blank: down")


def _legend(shown: Sequence[TraceLine], fold: bool) -> Iterator[str]:
    """The glyphs that occur, as many to a line as fit."""
    drawn = folded((line, "") for line in shown) if fold else ((line, "") for line in shown)
    occurring = {glyph for line, _ in drawn for _, glyph in line.marks}
    words = [f"{glyph} {meaning}" for glyph, meaning in MEANING.items() if glyph in occurring]
    if any(line.firing is not None for line in shown):
        words += ["A .. Z a fault fires or ends", f"{IN_FORCE} a fault is in force"]
    while words:
        count = max((n for n in range(1, len(words) + 1) if len(_spaced(*words[:n])) <= WIDTH), default=1)
        yield _spaced(*words[:count])
        words = words[count:]


def _spaced(*words: str) -> str:
    return "  " + "   ".join(words)


def _body(lines: Sequence[TraceLine], options: TraceOptions, columns: Columns, margin: Margin) -> Iterator[str]:
    heads = f"{'seconds':>11}  {'':{margin.width}}  {columns.heading}"
    drawn = _drawn(lines, options, columns, margin)
    number = 0
    for number, (line, beside) in enumerate(folded(drawn) if options.fold else drawn, 1):
        if number % HEADING_EVERY == 1:
            yield heads
        yield f"{line.at_ns / 10**9:11.6f}  {beside}{clients(line)} {line.text}".rstrip()
    if not number:
        yield "nothing that happened is among what was asked for"


def _drawn(lines: Sequence[TraceLine], options: TraceOptions, columns: Columns, margin: Margin) -> Iterator[Beside]:
    """What is shown, with its margin and the columns of the nodes. It begins with the faults that are in force already."""

    def beside(line: TraceLine) -> str:
        return f"{margin.beside(line)}  {columns.beside(line)}"

    first = True
    for line in lines:
        shows = options.shows(line)
        if shows and first:
            yield from ((still, beside(still)) for still in margin.in_force(line.at_ns))
            first = False
        columns.note(line)
        margin.begin(line)
        if shows:
            yield line, beside(line)
        margin.end(line)
