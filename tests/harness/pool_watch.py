"""tests/harness/pool_watch.py: what tests of the pool wait for, from inside a worker and from outside."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

ROOT = Path(__file__).parents[2]
DEADLINE_S = 120.0  # reached only when something is wrong


def wait_until(true: Callable[[], bool]) -> None:
    give_up = time.monotonic() + DEADLINE_S
    while not true():
        if time.monotonic() > give_up:
            raise TimeoutError(f"still not so after {DEADLINE_S:g} s")
        time.sleep(0.01)


def noted_pids(notes: Path) -> list[int]:
    return [int(pid) for file in notes.glob("pids-*") for pid in file.read_text().split()]


def alive(pids: Iterable[int]) -> list[int]:
    """Those that still run: a zombie that nobody has waited for does not."""
    return [pid for pid in pids if _state(pid) not in ("", "Z", "X")]


def processes_with(mark: str) -> list[int]:
    """Those that run and have this in their environment: whatever was started by whoever had it."""
    pids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return alive(pid for pid in pids if mark.encode() in read_of(pid, "environ").split(b"\0"))


def read_of(pid: int, file: str) -> bytes:
    """A file of /proc; nothing where the process has gone, or is not ours to look at."""
    try:
        return Path(f"/proc/{pid}/{file}").read_bytes()
    except OSError:
        return b""


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def start_parent(work: str, notes: Path) -> subprocess.Popen[str]:
    """A process with a pool of two workers, when both are at work. In a session of its own, as a shell's job would be."""
    command = [sys.executable, "-m", "tests.harness.pool_parent", work, str(notes), "2"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True)
    wait_until(lambda: len(list(notes.glob("pids-*"))) == 2)
    return process
