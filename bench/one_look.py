"""bench/one_look.py: what it takes to check one stored history, in a process that does nothing else.

In     `python -m bench.one_look FILE TURNS`: a Parquet history
Out    one line of JSON: seconds and memory (`Looked`)
Keeps  on one core, Arrow's threads too; loading is not measured. The peak of memory is the first look's: a later one finds room
       that the first one left. Wall time tells of a busy machine what the processor's does not, so both are there
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_RESET_PEAK: Final = "5"


class Looked(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes, and the shortest of some turns in seconds."""

    before: int
    peak: int
    wall_s: float
    cpu_s: float
    log_wall_s: float
    log_cpu_s: float
    names: tuple[str, ...]
    """What was found."""


def looked_at(history: Path, turns: int = 5) -> Looked:
    """From another process."""
    command = [sys.executable, "-m", "bench.one_look", str(history), str(turns)]
    return msgspec.json.decode(subprocess.run(command, capture_output=True, check=True).stdout, type=Looked)


def _main(history: str, turns: str) -> None:
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # before anything starts a thread
    from checkers.columns import Columns
    from checkers.history import look
    from checkers.log import check_log
    from checkers.mode import Mode
    from checkers.part import parts
    from model.history import read_parquet

    table = read_parquet(history, history).table
    look(Columns(table.slice(0, 1)), Mode())  # Arrow imports half of pandas when it is first used
    _CLEAR.write_text(_RESET_PEAK)
    before = _status("VmRSS:")
    checked = look(Columns(table), Mode())
    peak = _status("VmHWM:")
    wall, cpu = _best(int(turns), lambda: look(Columns(table), Mode()))
    log_wall, log_cpu = _best(int(turns), lambda: [check_log(part, Mode()) for part in parts(Columns(table))])
    names = tuple(found.name for each in checked for found in each.found)
    looked = Looked(before=before, peak=peak, wall_s=wall, cpu_s=cpu, log_wall_s=log_wall, log_cpu_s=log_cpu, names=names)
    sys.stdout.buffer.write(msgspec.json.encode(looked))


def _best(turns: int, work: Callable[[], object]) -> tuple[float, float]:
    walls, cpus = [], []
    for _ in range(turns):
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return min(walls), min(cpus)


def _status(name: str) -> int:
    """A line of the kernel's, in bytes. Not ru_maxrss: a child inherits its parent's."""
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    _main(*sys.argv[1:])
