"""harness/hands.py: who executes the runs of a campaign: worker processes of this machine, or the executors of a Spark.

In     `--jobs`, `--master`
Out    a `RunPool`, for any number of campaigns (`by_workers(..., pool)`), for as long as the context lasts
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import msgspec

from harness.pool import RunPool, run_pool
from harness.spark_pool import run_on_spark
from model.plan import Plan
from model.refusal import Refusal
from spark_analysis.session import spark_session


class Hands(msgspec.Struct, frozen=True, kw_only=True):
    """How many at once, and where."""

    jobs: int | None = None  # without it, one per core
    master: str | None = None  # without it, this machine

    def at_most(self, runs: int | None) -> int:
        """How many worker processes this machine needs for so many runs; None: there is no end of them."""
        jobs = self.jobs or os.cpu_count() or 1
        return jobs if runs is None else min(jobs, runs)

    def refuse(self, plan: Plan, *, single: bool) -> None:
        """What is not for Spark, before anything starts."""
        if self.master is None:
            return
        if single:
            raise Refusal("a run by itself is executed here", where="--master", allowed="with --runs N")
        if plan.cluster != "sim":
            raise Refusal(f"Spark executes simulated runs only, not {plan.cluster!r}", where="cluster", allowed="sim")

    @contextmanager
    def pool(self, name: str, say: Callable[[str], None]) -> Iterator[RunPool]:
        if self.master is None:
            yield run_pool
            return
        say(f"starting Spark at {self.master}")
        with spark_session(self.master, name) as session:
            yield partial(run_on_spark, session, at_once=self.jobs)
