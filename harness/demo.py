"""harness/demo.py: what Tidemark can show today, on this machine, in a minute.

In   a directory for the store
Out  words on the terminal, a store that stays, and the honest list of what is not there yet
Grows with the product: there is no cluster yet, so the histories are made up, and the demo says so
"""

from __future__ import annotations

import multiprocessing
import random
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import track
from rich.table import Table

from harness import doctor
from model import document, history, identity, matrix
from model.leftovers import sweep
from model.operation import Row
from model.plan import Plan
from model.refusal import Refusal
from model.store import Store
from model.value import make_value
from spark_analysis import tally
from spark_analysis.session import NoJava, spark_session

RUNS, OPERATIONS = 40, 2_000
WRONG_PLAN = "tidemark: 1\nschedule:\n  - {at: 5s, fault: pause, target: isr-minorty}\n"
MATRIX = "tidemark: 1\nmatrix: {workload/acks: [all, 1], topics/t/config/min.insync.replicas: [1, 2]}\n"


def demo(into: Path, console: Console) -> None:
    """Every part in turn; each prints what it did."""
    console.print("[bold]Tidemark[/bold] breaks replicated logs on purpose and checks whether their promises were kept.\n")
    _machine(console)
    _plans(console)
    store = Store(into.absolute())  # Spark's workers may stand elsewhere
    campaign = _free_name(store)
    _record(console, store, campaign)
    _kill(console, store, campaign)
    _analyse(console, store, campaign)
    console.print(
        f"\nThe store: {escape(str(into / campaign))} (any Parquet tool can read it)\n"
        "Not there yet: nodes, faults, checkers, reports. The histories above were made up, so nothing was judged."
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


def _free_name(store: Store) -> str:
    taken = set(store.campaigns())
    return next(name for n in range(1, len(taken) + 2) if (name := f"demo-{n}") not in taken)


def _plan(campaign: str, number: int) -> Plan:
    return Plan(tidemark=1, seed=identity.run_seed(1, number), tag=identity.run_tag(campaign, number))


def _record(console: Console, store: Store, campaign: str) -> None:
    console.print(f"3. Storing {RUNS} made-up runs of {OPERATIONS:,} operations.")
    started = time.monotonic()
    for number in track(range(RUNS), "   storing", console=console, transient=True, disable=not console.is_terminal):
        plan = _plan(campaign, number)
        with store.begin(campaign, number, plan) as writer:
            writer.put_history(history.to_table(list(made_up_rows(plan, OPERATIONS))))
            writer.put_schedule(())
            writer.finish("done", None)
    console.print(f"   done in {time.monotonic() - started:.1f} s, every file synced and with its digest in run.json")


def made_up_rows(plan: Plan, count: int) -> Iterator[Row]:
    """A log that five processes append to and read, as a healthy cluster would have answered."""
    draw = random.Random(f"{plan.seed}:demo")
    log: list[int] = []
    processes = list(range(5))
    now_ns = 0
    for op in range(count):
        process = processes[op % 5]
        now_ns += draw.getrandbits(21)
        row = Row(
            op=op,
            process=process,
            client=f"raw-{op % 5}",
            node=1,
            kind="append",
            type="ok",
            topic="t",
            partition=0,
            start_ns=now_ns,
            took_ns=draw.getrandbits(20),
        )
        if draw.getrandbits(1):
            row.value, row.acks, row.offset = make_value(plan.tag or 0, process, op), -1, len(log)
            log.append(row.value)
            if draw.getrandbits(5) == 0:
                row.type, row.error, row.offset = "info", "TIMED_OUT", None
                processes[op % 5] += 5  # a process that does not know never acts again (CHECKERS 2.4)
        else:
            row.kind, row.from_offset, row.max_records, row.leader_epoch = "read", max(0, len(log) - 5), 10, 1
            row.values, row.at_end = log[row.from_offset :], True
        yield row


def _kill(console: Console, store: Store, campaign: str) -> None:
    """A recorder is killed in the middle of a run; the next start saves its rows."""
    number = RUNS
    context = multiprocessing.get_context("spawn")
    listen, tell = context.Pipe(duplex=False)
    recorder = context.Process(target=_record_slowly, args=(store.uri, campaign, number, tell))
    recorder.start()
    tell.close()
    try:
        listen.recv_bytes()
    finally:
        recorder.kill()
        recorder.join()
    saved = sweep(store, campaign)
    rows = sum(one.rows for one in saved)
    console.print(
        f"4. A recorder was killed (SIGKILL) while it wrote run {number}: {rows:,} rows were durable, and the sweep saved them."
    )


def _record_slowly(uri: str, campaign: str, number: int, tell: Connection) -> None:
    plan = _plan(campaign, number)
    with Store(uri).begin(campaign, number, plan, clock="monotonic") as writer:
        stream = writer.stream()
        for row in made_up_rows(plan, 1_000_000):
            stream.append(row)
            time.sleep(0.0002)
            if stream.durable >= 500:
                tell.send_bytes(b"now")


def _analyse(console: Console, store: Store, campaign: str) -> None:
    runs = [(store.uri, campaign, entry.number) for entry in store.runs(campaign)]
    started = time.monotonic()
    try:
        with spark_session("local[2]", "tidemark demo") as session:
            rows = tally.on_spark(session, runs)
            engine = f"Spark {session.version}"
    except NoJava:
        rows, engine = tally.on_pool(runs), "a process pool (no Java here: make java)"
    console.print(f"5. {engine} read {len(runs)} runs in {time.monotonic() - started:.1f} s:")
    table = Table("operation", "ok", "info", "fail", box=None, pad_edge=False)
    counted = tally.total(rows)
    for kind in sorted({kind for kind, _ in counted}):
        table.add_row(f"   {kind}", *(f"{counted[kind, type_]:,}" for type_ in ("ok", "info", "fail")))
    console.print(table)
    alone = tally.total(row for run in runs for row in tally.tally_run(*run))
    console.print(f"   one process alone counts {'the same' if alone == counted else f'otherwise: {alone}'}")
