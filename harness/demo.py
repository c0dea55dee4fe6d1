"""harness/demo.py: what Tidemark can show today, on this machine, in a minute.

In   a directory for the store
Out  words on the terminal, a store that stays, and the honest list of what is not there yet
Grows with the product: there are no reports yet, and the demo says so
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from harness import doctor
from harness.campaign import Campaign, by_workers, run_campaign
from harness.progress import SoMany, Telling, counted
from harness.run import run
from harness.trace import trace
from harness.trace_lines import TraceOptions
from harness.trace_render import render
from harness.worlds import schedule_of, world_of
from model import document, matrix, plan_file
from model.plan import Plan, to_json
from model.refusal import Refusal
from model.store import Store
from spark_analysis import tally
from spark_analysis.session import NoJava, spark_session

RUNS = 40
WRONG_PLAN = "tidemark: 1\nschedule:\n  - {at: 5s, fault: pause, target: isr-minorty}\n"
MATRIX = "tidemark: 1\nmatrix: {workload/acks: [all, 1], topics/t/config/min.insync.replicas: [1, 2]}\n"
STORY = """
tidemark: 1
for: 6s
workload: {rate: 20/s}
schedule: [{at: 2s, fault: lossy_kill, target: leader, for: 1500ms}]
"""


def demo(into: Path, console: Console) -> None:
    """Every part in turn; each prints what it did."""
    console.print("[bold]Tidemark[/bold] breaks replicated logs on purpose and checks whether their promises were kept.\n")
    _machine(console)
    _plans(console)
    store = Store(into.absolute())  # Spark's workers may stand elsewhere
    campaign = _campaign(store)
    _simulate(console, store, campaign)
    _again(console, store, campaign.name)
    _story(console)
    _analyse(console, store, campaign.name)
    console.print(
        f"\nThe store: {escape(str(into / campaign.name))} (any Parquet tool can read it)\n"
        "Not there yet: reports to read in a browser."
    )


def _machine(console: Console) -> None:
    findings = doctor.look()
    missing = [finding.part.name for finding in findings if finding.found is None]
    console.print(f"1. This machine has {len(findings) - len(missing)} of {len(findings)} parts that Tidemark can use.")
    if missing:
        console.print(f"   missing: {', '.join(missing)}   (how to add them: tidemark doctor)")


def _plans(console: Console) -> None:
    cells = matrix.expand(document.parse(MATRIX, "example"))
    console.print(f"2. A plan with a matrix of acks and min ISR stands for {len(cells)} plans. A wrong plan is refused:")
    try:
        matrix.expand(document.parse(WRONG_PLAN, "nightly.yaml"))
    except Refusal as refusal:
        for line in str(refusal).splitlines():
            console.print(f"      {escape(line)}", soft_wrap=True)


def _campaign(store: Store) -> Campaign:
    """Each demo has a campaign of its own."""
    taken = set(store.campaigns())
    name = next(name for n in range(1, len(taken) + 2) if (name := f"demo-{n}") not in taken)
    plan = Plan(tidemark=1, for_ns=10 * 10**9)
    return Campaign(store=store.uri, name=name, plans=(msgspec.Raw(to_json(plan)),))


def _simulate(console: Console, store: Store, campaign: Campaign) -> None:
    jobs = os.cpu_count() or 1
    console.print(f"3. {RUNS} runs of three brokers for 10 s of virtual time each, under random faults, on {jobs} processes.")
    with Telling(console, SoMany(RUNS)) as telling:
        run_campaign(store, campaign, range(RUNS), by_workers(store, campaign, jobs), telling.take)
    operations, faults = telling.so_far.rows, telling.so_far.fired
    console.print(f"   {operations:,} operations under {faults} faults in {telling.seconds:.1f} s, everything stored and judged:")
    console.print(f"   {counted(telling.so_far)}")


def _again(console: Console, store: Store, campaign: str) -> None:
    """A seed is all there is to a run."""
    stored = store.open(campaign, 0)
    plan = stored.plan()
    recorded = run(plan, schedule_of(plan), world_of(plan).make(plan))
    same = "the same" if recorded.digest == stored.record.trace_digest else "NOT the same"
    console.print(
        f"4. Run 0 again, from its stored plan: {same} {len(recorded.rows):,} operations, digest {(recorded.digest or '')[:16]}"
    )


def _story(console: Console) -> None:
    """What `tidemark trace` shows, of one fault."""
    console.print("5. The leader loses its power for 1.5 s, with everything it had not synced (tidemark trace shows any run so):")
    plan = plan_file.read_plan(document.parse(STORY, "story"))
    options = TraceOptions(operations=False, from_ns=1_900 * 10**6, to_ns=5 * 10**9)
    _, lines = trace(plan, schedule_of(plan), options)
    for line in render(lines, plan, options, "the story"):
        console.print(f"   {escape(line)}", highlight=False, soft_wrap=True)


def _analyse(console: Console, store: Store, campaign: str) -> None:
    runs = [(store.uri, campaign, entry.number) for entry in store.runs(campaign)]
    started = time.monotonic()
    try:
        with spark_session("local[2]", "tidemark demo") as session:
            rows = tally.on_spark(session, runs)
            engine = f"Spark {session.version}"
    except NoJava:
        rows, engine = tally.on_pool(runs), "a process pool (no Java here: make java)"
    console.print(f"6. {engine} read {len(runs)} runs in {time.monotonic() - started:.1f} s:")
    table = Table("operation", "ok", "info", "fail", box=None, pad_edge=False)
    counted = tally.total(rows)
    for kind in sorted({kind for kind, _ in counted}):
        table.add_row(f"   {kind}", *(f"{counted[kind, type_]:,}" for type_ in ("ok", "info", "fail")))
    console.print(table)
    alone = tally.total(row for run in runs for row in tally.tally_run(*run))
    console.print(f"   one process alone counts {'the same' if alone == counted else f'otherwise: {alone}'}")
