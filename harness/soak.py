"""harness/soak.py: what `soak` does: one campaign until a time is used up, however often it is interrupted meanwhile.

In     words that typer has taken apart
Out    runs, as many as there is time for; at the end which sessions there were, what was found, how to see it again
Keeps  the time of all sessions counts together; what lies in the store is not run again. Once the time is used up nothing is
       executed: the same command tells what was found, with its exit code
Not    how time is kept (harness/sessions.py), what a run is (harness/campaign.py)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path

import msgspec

from harness import told
from harness.campaign import Campaign, by_workers, campaign_of, taken_up, tell_stored
from harness.hands import Hands
from harness.many_plans import ManyPlans, many_plans
from harness.matrix_command import each_of, refuse_all, tell_dropped
from harness.matrix_told import Cells, cells_as_data, tell_cells
from harness.progress import SoLong, Telling, written_seconds
from harness.sessions import Sessions
from harness.soak_told import soak_as_data, tell_soak
from harness.terminal import Terminal, put
from model.quantity import parse_duration
from model.refusal import ExitCode, Refusal
from model.store import Store


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What may be said beside the plan."""

    for_: str
    hands: Hands
    store: str
    prunes: bool
    as_json: bool


def run_soak(word: str, overrides: Sequence[str], options: Options) -> int:
    """All cells of a plan, in turn, until the time is used up."""
    for_s = _for_s(options.for_)
    many = many_plans([word], overrides, prunes=options.prunes)
    store = Store(options.store)
    campaign = campaign_of(store, f"soak-{many.name}", *many.plans)
    refuse_all(campaign, options.hands)
    with Sessions(_directory(store, campaign), for_s) as sessions:
        return _Soak(store, campaign, many, sessions, options).run()


def _for_s(text: str) -> float:
    try:
        for_ns = parse_duration(text)
    except ValueError as error:
        raise Refusal(str(error), where="--for", allowed="a time such as 8h, 90m, 1h30m") from None
    if for_ns == 0:
        raise Refusal("a soak of no time runs nothing", where="--for", allowed="a time such as 8h, 90m, 1h30m")
    return for_ns / 10**9


def _directory(store: Store, campaign: Campaign) -> Path:
    if store.local is None:
        raise Refusal("a soak keeps its time on a local disk", where=f"--store {store.uri}", allowed="a local path")
    return store.local / campaign.name


class _Soak:
    """One session of it."""

    def __init__(self, store: Store, campaign: Campaign, many: ManyPlans, sessions: Sessions, options: Options) -> None:
        self.store, self.campaign, self.many, self.sessions, self.options = store, campaign, many, sessions, options
        self.console = Terminal(stderr=options.as_json)
        self.where = f"{store.uri}/{campaign.name}"
        self.cells = Cells(campaign, many)
        self.telling = Telling(self.console, SoLong(sessions.for_s, sessions.ran_s))

    def run(self) -> int:
        tell_dropped(self.console, self.many)
        used_up, interrupted = self.sessions.used_up, False
        with self.telling:
            try:
                taken = self._taken_up()
                if not used_up:
                    self._execute(missing(taken, lambda: self.sessions.used_up))
            except KeyboardInterrupt:
                interrupted = True
        return self._told(used_up=used_up, interrupted=interrupted)

    def _taken_up(self) -> bytearray:
        """What earlier sessions have done: a byte for each number, for there may be a million of them."""
        there = taken_up(self.store, self.campaign)
        on_stored = each_of(self.telling.take_stored, self.cells.take)
        tell_stored(self.store, self.campaign, there, on_stored, with_faults=False)
        taken = bytearray(max(there, default=-1) + 1)
        for number in there:
            taken[number] = True
        return taken

    def _execute(self, numbers: Iterator[int]) -> None:
        hands = self.options.hands
        with hands.pool(self.campaign.name, self.console.print) as pool, self.sessions.begin(lambda: self.telling.executed):
            workers = by_workers(self.store, self.campaign, hands.at_most(None), pool)
            workers(numbers, each_of(self.telling.take, self.cells.take))

    def _told(self, *, used_up: bool, interrupted: bool) -> int:
        so_far, sessions = self.telling.so_far, self.sessions
        tell_soak(self.console, self.where, so_far, sessions, used_up=used_up)
        if len(self.cells.rows) > 1:
            tell_cells(self.console, self.where, self.cells)
        code = so_far.exit_code
        if interrupted:
            left = written_seconds(max(0.0, sessions.for_s - sessions.ran_s()))
            self.console.print(f"stopped by Ctrl-C, {left} left; the same command goes on", highlight=False)
            code = ExitCode.INTERRUPTED
        if self.options.as_json:
            found = {"exit_code": int(code), **soak_as_data(so_far, sessions)}
            cells = {"cells": cells_as_data(self.where, self.cells), "dropped": self.many.dropped}
            put(json.dumps({**told.as_data_of_many(self.where, so_far), **found, **cells}))
        return code


def missing(taken: bytearray, is_over: Callable[[], bool]) -> Iterator[int]:
    """The numbers that are not taken, from the first on, until it is over."""
    for number in count():
        if number < len(taken) and taken[number]:
            continue
        if is_over():
            return
        yield number
