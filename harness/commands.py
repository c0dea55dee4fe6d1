"""harness/commands.py: what `run`, `replay` and `trace` do, from words to exit code.

In     words that typer has taken apart
Out    exit codes; everything for people goes to the terminal, or to standard error where `--json` has standard output
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from harness import told
from harness.campaign import Campaign, by_workers, campaign_of, find_run, run_campaign, single_run_of
from harness.execute import Summary, summary, verdict_of
from harness.hands import Hands
from harness.progress import SoMany, Telling
from harness.run import check_abilities, run
from harness.terminal import Terminal, put
from harness.trace import trace
from harness.trace_lines import TraceOptions
from harness.trace_render import render
from harness.worlds import schedule_of, world_of
from model import document, history, matrix, plan_file
from model.identity import run_id
from model.plan import Plan
from model.quantity import parse_duration
from model.refusal import ExitCode, Refusal, near_miss
from model.store import Store
from model.vocabulary import Message
from workloads.catalogue import workload_named

DEFAULT_PLAN = "tidemark: 1\n"
MESSAGES: tuple[str, ...] = get_args(Message)


def run_plan(path: Path | None, overrides: Sequence[str], *, runs: int | None, hands: Hands, store: str, as_json: bool) -> int:
    """One run with the plan's own seed, or a campaign."""
    plan = the_plan(path, overrides)
    hands.refuse(plan, single=runs is None)
    opened = Store(store)
    if runs is None:
        campaign, number = single_run_of(opened, plan)
        numbers = range(number, number + 1)
    else:
        campaign = campaign_of(opened, "default" if path is None else path.stem, plan)
        numbers = range(runs)
    refuse_early(campaign.plan_of(numbers.start))
    return _carry_out(opened, campaign, numbers, hands, as_json)


def the_plan(path: Path | None, overrides: Sequence[str]) -> Plan:
    """The one plan of a file. A matrix is many plans, and another command's."""
    if path is not None:
        root = plan_file.load(path, overrides)
    else:
        root = document.parse(DEFAULT_PLAN, "the default plan")
        for override in overrides:
            root = plan_file.apply_override(root, override)
    cells = matrix.expand(root)
    if len(cells) > 1:
        problem = f"this plan has a matrix and stands for {len(cells)} plans; `run` takes one"
        raise Refusal(problem, where=str(path), allowed="a plan without `matrix`, or --set for each value")
    return cells[0].plan


def refuse_early(plan: Plan) -> None:
    """Everything that would be refused in a worker is refused here, before anything starts."""
    world = world_of(plan)
    workload_named(plan.workload.name)
    check_abilities(plan, schedule_of(plan), world.can)
    world.make(plan)


def _carry_out(store: Store, campaign: Campaign, numbers: range, hands: Hands, as_json: bool) -> int:
    """Only a single run, and `--json`, which shows every run, keep what is known of each."""
    console = Terminal(stderr=as_json)
    where = f"{store.uri}/{campaign.name}"
    interrupted = False
    telling = Telling(console, SoMany(len(numbers)), quiet=campaign.single, keeps=campaign.single or as_json)
    with hands.pool(campaign.name, console.print) as pool, telling:
        workers = by_workers(store, campaign, hands.at_most(len(numbers)), pool)
        try:
            run_campaign(store, campaign, numbers, workers, telling.take, telling.take_stored)
        except KeyboardInterrupt:
            interrupted = True
    if campaign.single and telling.kept:
        told.tell_one(console, where, telling.kept[0])
    else:
        told.tell_many(console, where, telling, len(numbers))
    if as_json:
        put(json.dumps(told.as_data(where, telling.kept, len(numbers))))
    if interrupted:
        console.print("stopped by Ctrl-C; the same command goes on", highlight=False)
        return ExitCode.INTERRUPTED
    return telling.so_far.exit_code


def replay_run(path: str, *, collect: Path | None, as_json: bool) -> int:
    """The same plan again; whether the same things happened is told by the digest of everything that did."""
    store, campaign, number = find_run(path)
    stored = store.open(campaign, number)
    plan = stored.plan()
    if collect is not None and collect.exists() and (not collect.is_dir() or any(collect.iterdir())):
        raise Refusal("there is something already", where=f"--collect {collect}", allowed="an empty directory, or a new one")
    recorded = run(plan, schedule_of(plan), world_of(plan).make(plan), collect=collect)
    verdict = verdict_of(run_id(campaign, number), plan, recorded, history.to_table(recorded.rows))
    found = summary(number, plan, recorded, verdict)
    same = stored.record.trace_digest is None or stored.record.trace_digest == recorded.digest
    console = Terminal(stderr=as_json)
    told.tell_one(console, f"{store.uri}/{campaign}", found)
    console.print(_same_or_not(stored.record.trace_digest, recorded.digest), highlight=False)
    if collect is not None:
        console.print(f"the directories of all nodes: {collect}", highlight=False)
    if as_json:
        put(json.dumps({"run": path, "same": same, "exit_code": int(_replay_code(found, same)), **_data(found)}))
    return _replay_code(found, same)


def _data(found: Summary) -> dict[str, object]:
    return {"valid": found.valid, "reasons": found.reasons, "witnesses": found.witnesses, "digest": found.digest}


def _same_or_not(before: str | None, now: str | None) -> str:
    if before is None:
        return "the stored run has no digest to compare with: it was not executed to its end"
    if before == now:
        return f"the same run: digest {before[:16]}"
    return f"NOT the same run: digest {(now or 'none')[:16]}, stored {before[:16]}. Was it stored by another version?"


def _replay_code(found: Summary, same: bool) -> ExitCode:
    """A broken promise stays one; a run that did not repeat says nothing about the stored one."""
    return found.exit_code if same or found.exit_code is ExitCode.BROKEN else ExitCode.INFRASTRUCTURE


def trace_run(
    path: str, *, nodes: Sequence[str], partition: str | None, window: tuple[str, str], messages: str, everything: bool
) -> None:
    """The same run once more, with somebody who writes down what happens."""
    store, campaign, number = find_run(path)
    stored = store.open(campaign, number)
    plan = stored.plan()
    options = TraceOptions(
        nodes=frozenset(_node(plan, name) for name in nodes),
        partition=None if partition is None else _partition(plan, partition),
        from_ns=_moment(window[0], "--from"),
        to_ns=_moment(window[1], "--to"),
        messages="all" if messages == "all" else frozenset(_messages(messages)),
        fold=not everything,
    )
    recorded, lines = trace(plan, schedule_of(plan), options)
    before = stored.record.trace_digest
    if before != recorded.digest:
        Terminal(stderr=True).print(_same_or_not(before, recorded.digest), highlight=False, soft_wrap=True)
    for line in render(lines, plan, options, path):
        print(line)


def _node(plan: Plan, name: str) -> int:
    names = {f"n{node}": node for node in plan.nodes.ids}
    if name not in names:
        raise Refusal(f"no such node: {name!r}", where="--node", allowed=", ".join(names))
    return names[name]


def _partition(plan: Plan, written: str) -> tuple[str, int]:
    known = {f"{name}/{index}": (name, index) for name, topic in plan.topics.items() for index in range(topic.partitions)}
    if written not in known:
        raise Refusal(f"no such partition: {written!r}", where="--partition", allowed=", ".join([*known][:8]))
    return known[written]


def _moment(written: str, where: str) -> int | None:
    try:
        return parse_duration(written) if written else None
    except ValueError as error:
        raise Refusal(str(error), where=where, allowed="a time of the run, such as 4s or 4500ms") from None


def _messages(written: str) -> list[str]:
    names = [name.strip() for name in written.split(",") if name.strip()]
    for name in names:
        if name not in MESSAGES:
            raise Refusal(
                f"no such message: {name!r}", where="--messages", allowed=", ".join(MESSAGES), meant=near_miss(name, MESSAGES)
            )
    return names
