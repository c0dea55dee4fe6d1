"""tests/harness/soak_process.py: a soak in a process of its own, which can be killed or interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.harness.campaign_process import PATIENCE_S, numbers, wait_until


class SoakProcess:
    """`tidemark soak PLAN --for ...` on a store, started as somebody would start it."""

    def __init__(self, store: Path, plan: Path, for_: str, *more: str) -> None:
        self.store = store
        words = ["soak", str(plan), "--for", for_, "--jobs", "2", "--store", str(store), *more]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "harness", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def signal_at(self, finished: int, *signals: signal.Signals) -> None:
        """As soon as so many runs are in the store."""
        wait_until(lambda: len(numbers(self.store)) >= finished or self.process.poll() is not None)
        for each in signals:
            os.kill(self.process.pid, each)

    def kill_at(self, finished: int) -> None:
        self.signal_at(finished, signal.SIGKILL)
        self.process.communicate()

    def finish(self) -> tuple[int, str]:
        out, _ = self.process.communicate(timeout=PATIENCE_S * 5)
        return self.process.returncode, out
