"""harness/shrink/searching.py: a search, carried out by worker processes.

In     what is known of a run, the wanted signature, how many workers, until when
Out    the `Rounds`, with the best plan that was found; whether Ctrl-C ended them
Keeps  a candidate that crashes, hangs or cannot be executed is one that does not fail as it should, and costs nothing else
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec

from harness.campaign import limit_s
from harness.pool import Crew, Result, run_pool
from harness.shrink.known import Known, Outcome
from harness.shrink.result import SHRUNK
from harness.shrink.rounds import Rounds
from harness.shrink.search import search
from harness.shrink.trial import Trials, hand_over

AfterATrial = Callable[[Rounds], None]


def searched(start: Known, wanted: str, jobs: int, *, deadline_s: float, after_a_trial: AfterATrial) -> tuple[Rounds, bool]:
    with tempfile.TemporaryDirectory(prefix="tidemark-shrink-") as directory:
        over = partial(_past, deadline_s)
        rounds = Rounds(search, start, wanted, partial(hand_over, Path(directory)), over)

        def on_result(number: int, result: Result) -> None:
            (Path(directory) / f"{number}.json").unlink()
            rounds.report(number, _outcome(result))
            after_a_trial(rounds)

        crew = Crew(
            name=SHRUNK,
            work="harness.shrink.trial:worker",
            setup=msgspec.json.encode(Trials(directory)),
            jobs=jobs,
            limit_s=limit_s(start.plan),
        )
        try:
            run_pool(crew, rounds, on_result)
        except KeyboardInterrupt:
            return rounds, True
    return rounds, False


def _past(deadline_s: float) -> bool:
    return time.monotonic() >= deadline_s


def _outcome(result: Result) -> Outcome:
    return msgspec.json.decode(result.data, type=Outcome) if result.status == "done" else Outcome()
