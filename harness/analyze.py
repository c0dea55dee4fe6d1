"""harness/analyze.py: what `tidemark analyze` does, from words to exit code.

In     words that typer has already taken apart
Out    the tables beside the runs, a summary for people or one JSON object, the exit code of the worst verdict that was read
Keeps  without a usable Java the same analysis runs on worker processes, and says so
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec

from harness import analysis_told
from harness.analysis_pool import OnPool
from harness.terminal import Terminal, put
from model.refusal import Refusal
from spark_analysis.analysis import analyse, baseline_of
from spark_analysis.engines import Engine, OnSpark
from spark_analysis.planning import scope_of
from spark_analysis.session import NoJava, spark_session

POOL = "pool"
EVERYWHERE = "local[*]"


def analyze_store(path: str, *, master: str, baseline: str | None, jobs: int | None, as_json: bool) -> int:
    """Everything that can be refused is refused before anything starts."""
    scope = scope_of(path)
    beside = None if baseline is None else scope_of(baseline)
    master = _checked(master, jobs)
    console = Terminal(stderr=as_json)
    with _engine(master, jobs or os.cpu_count() or 1, console) as engine:
        before = None
        if beside is not None:
            with analysis_told.Telling(console, "baseline") as telling:
                before = baseline_of(beside, engine, telling.show)
        with analysis_told.Telling(console, "runs") as telling:
            found = analyse(scope, engine, telling.show, before)
    analysis_told.tell(console, found)
    if as_json:
        put(json.dumps(analysis_told.as_data(found)))
    return found.exit_code


def _checked(master: str, jobs: int | None) -> str:
    if master == EVERYWHERE and jobs is not None:
        return f"local[{jobs}]"
    if master != POOL and not master.startswith(("local", "spark://", "yarn", "k8s://")):
        raise Refusal(f"no such master: {master!r}", where="--master", allowed="pool, local[*], local[2], spark://host:port")
    return master


@contextmanager
def _engine(master: str, jobs: int, console: Terminal) -> Iterator[Engine]:
    """Spark where it can run, else the pool."""
    if master == POOL:
        yield OnPool(jobs)
        return
    if find_spec("pyspark") is None:
        yield _instead(console, "pyspark is not installed", "pip install 'tidemark[spark]'", jobs)
        return
    with ExitStack() as stack:
        try:
            session = stack.enter_context(spark_session(master, "tidemark analyze"))
        except NoJava:
            yield _instead(console, "Spark needs Java 17 or 21, and this machine has none", "make java", jobs)
        else:
            yield OnSpark(session)


def _instead(console: Terminal, why: str, add: str, jobs: int) -> Engine:
    engine = OnPool(jobs)
    console.print(f"{why}: {engine.name} works instead   (add it: {add})", highlight=False, soft_wrap=True, markup=False)
    return engine
