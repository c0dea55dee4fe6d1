"""harness/matrix_command.py: what `matrix` does, from words to exit code.

In     words that typer has taken apart
Out    every cell run so many times, the table of cells; the exit code of all runs together
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import msgspec
from rich.console import Console

from harness import told
from harness.campaign import Campaign, OnSummary, by_workers, campaign_of, run_campaign
from harness.commands import refuse_early
from harness.execute import Summary
from harness.hands import Hands
from harness.many_plans import ManyPlans, many_plans
from harness.matrix_told import Cells, cells_as_data, tell_cells
from harness.progress import SoMany, Telling
from harness.terminal import Terminal, put
from model.refusal import ExitCode, Refusal
from model.store import Store


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What may be said beside the plans."""

    runs: int
    hands: Hands
    store: str
    resume: bool
    prunes: bool
    as_json: bool


def run_matrix(words: Sequence[str], overrides: Sequence[str], options: Options) -> int:
    """Each cell the same number of times, in turn."""
    many = many_plans(words, overrides, prunes=options.prunes)
    store = Store(options.store)
    campaign = campaign_of(store, many.name, *many.plans)
    refuse_all(campaign, options.hands)
    if options.resume and not store.numbers(campaign.name):
        problem = f"there is nothing to resume: {campaign.name} has no runs"
        raise Refusal(problem, where="--resume", allowed="the plans and options it was begun with; or no --resume, to begin it")
    console = Terminal(stderr=options.as_json)
    tell_dropped(console, many)
    return _carry_out(store, campaign, many, options, console)


def _carry_out(store: Store, campaign: Campaign, many: ManyPlans, options: Options, console: Console) -> int:
    numbers = range(options.runs * len(many.cells))
    where = f"{store.uri}/{campaign.name}"
    cells, interrupted = Cells(campaign, many), False
    hands = options.hands
    with hands.pool(campaign.name, console.print) as pool, Telling(console, SoMany(len(numbers))) as telling:
        workers = by_workers(store, campaign, hands.at_most(len(numbers)), pool)
        try:
            on_summary, on_stored = each_of(telling.take, cells.take), each_of(telling.take_stored, cells.take)
            run_campaign(store, campaign, numbers, workers, on_summary, on_stored)
        except KeyboardInterrupt:
            interrupted = True
    code = telling.so_far.exit_code
    told.tell_many(console, where, telling, len(numbers))
    tell_cells(console, where, cells)
    if interrupted:
        console.print("stopped by Ctrl-C; the same command goes on", highlight=False)
        code = ExitCode.INTERRUPTED
    if options.as_json:
        found = {"exit_code": int(code), "cells": cells_as_data(where, cells), "dropped": many.dropped}
        put(json.dumps({**told.as_data_of_many(where, telling.so_far), **found}))
    return code


def refuse_all(campaign: Campaign, hands: Hands) -> None:
    """Every plan is looked at before anything starts."""
    for cell in range(len(campaign.plans)):
        plan = campaign.plan_of(cell)
        hands.refuse(plan, single=False)
        refuse_early(plan)


def tell_dropped(console: Console, many: ManyPlans) -> None:
    for line in many.dropped:
        console.print(f"dropped: {line}", highlight=False, markup=False, soft_wrap=True)


def each_of(*listeners: OnSummary) -> OnSummary:
    """Tells every one of them."""

    def on_summary(summary: Summary) -> None:
        for listener in listeners:
            listener(summary)

    return on_summary
