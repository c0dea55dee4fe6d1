"""harness/shrink/told.py: what the terminal says while a run is shrunk.

In     `Rounds`, after each trial
Out    a progress line on a terminal, a plain line now and then elsewhere: events left, trials, time left
"""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from harness.progress import PLAIN_EVERY_S
from harness.shrink.known import Known
from harness.shrink.rounds import Rounds
from model.quantity import write_duration


class Telling:
    """Follows a search until its budget is spent."""

    def __init__(self, console: Console, start: Known, began_s: float, budget_s: float) -> None:
        self._console, self._events = console, len(start.schedule)
        self._began_s, self._budget_s = began_s, budget_s
        self._last_line_s = time.monotonic()
        self._progress = Progress(
            TextColumn("{task.description}"), BarColumn(), console=console, transient=True, disable=not console.is_terminal
        )
        self._bar = self._progress.add_task("", total=budget_s)

    def __enter__(self) -> Telling:
        self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._progress.stop()

    def after_a_trial(self, rounds: Rounds) -> None:
        now_s = time.monotonic()
        said = self._words(rounds, now_s)
        self._progress.update(self._bar, completed=now_s - self._began_s, description=said)
        if not self._console.is_terminal and now_s - self._last_line_s > PLAIN_EVERY_S:
            self._last_line_s = now_s
            self._console.print(said, highlight=False)

    def _words(self, rounds: Rounds, now_s: float) -> str:
        """`4 of 61 events left after 83 trials; at most 480s more`."""
        left_s = max(0, round(self._budget_s - (now_s - self._began_s)))
        events = len(rounds.best.schedule)
        return (
            f"{events} of {self._events} events left after {rounds.tried} trials; at most {write_duration(left_s * 10**9)} more"
        )
