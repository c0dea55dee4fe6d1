"""tests/harness/campaign_process.py: a campaign in a process of its own, which can be killed; and who of its workers is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from model.store import Store

PATIENCE_S = 120.0


class CampaignProcess:
    """`tidemark run --runs N` on a store, started as somebody would start it."""

    def __init__(self, store: Path, runs: int, *more: str) -> None:
        self.store = store
        # Workers are known by their campaign's name, and that comes from the plan: tests that run side by side need several.
        words = ["run", "--runs", str(runs), "--seed", str(runs), "--jobs", "2", "--store", str(store), "--set", "for=2s", *more]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "harness", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def kill_at(self, finished: int) -> None:
        """kill -9, as soon as so many runs are in the store."""
        wait_until(lambda: len(numbers(self.store)) >= finished or self.process.poll() is not None)
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.communicate()

    def finish(self) -> tuple[int, str]:
        out, _ = self.process.communicate(timeout=PATIENCE_S * 5)
        return self.process.returncode, out


def numbers(store: Path) -> list[int]:
    """The runs that are whole."""
    opened = Store(str(store))
    return [entry.number for campaign in opened.campaigns() for entry in opened.runs(campaign)]


def written(store: Path) -> dict[int, int]:
    """When each run was written: a run that is executed again has another time."""
    return {int(path.parent.name): path.stat().st_mtime_ns for path in store.glob("*/runs/*/run.json")}


def workers_of(store: Path) -> list[int]:
    """Every process that carries the name of one of the store's campaigns in its environment."""
    names = {f"TIDEMARK_RUN={campaign.name}".encode() for campaign in store.iterdir()} if store.exists() else set()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                environment = (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue  # gone, or not ours to look at
            if names & set(environment):
                found.append(int(entry.name))
    return found


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.02)
