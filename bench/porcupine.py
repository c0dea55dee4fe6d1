"""bench/porcupine.py: Porcupine, built from our small Go program beside this file, as another judge of histories.

In     histories as rows; Go, and whatever module proxy it is set up with
Out    for each history valid, invalid or unknown; the seconds and, at its peak, the memory that judging took
Keeps  what proves nothing of the committed log reaches it as CHECKERS 3.2 says: acknowledged by less than all is an outcome that
       nobody knows. A history that takes too long is unknown; one that takes too much memory ends the program, which is said
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.figures import progress
from harness.doctor import part
from model.operation import Row

_SOURCE: Final = Path(__file__).with_suffix("")
_MEMORY: Final = 8 * 2**30


@dataclass(frozen=True)
class Opinion:
    """What it said, history by history."""

    verdicts: tuple[str, ...]
    """They end where it took more memory than it may have."""
    peak: int
    """Bytes beside what the histories themselves take."""
    took: float
    """Seconds for all of them."""


class Porcupine:
    """The program, on one core."""

    def __init__(self, program: Path) -> None:
        self._program = program

    def judge(self, histories: Iterable[Sequence[Row]], patience_s: float = 60) -> Opinion:
        """`patience_s`: for one history."""
        said = "\n".join(line for number, history in enumerate(histories) for line in spelled(number, history))
        command = [str(self._program), "-patience", f"{patience_s}s", "-memory", str(_MEMORY)]
        one_core = {**os.environ, "GOMAXPROCS": "1"}
        done = subprocess.run(command, input=said, env=one_core, capture_output=True, text=True, check=False)
        *lines, last = [line.split() for line in done.stdout.splitlines()] or [[]]
        if last[:1] not in (["peak"], ["memory"]):
            raise RuntimeError(f"Porcupine ended with {done.returncode}: {done.stderr.strip()[:500]}")
        return Opinion(tuple(verdict for _, verdict in lines), peak=int(last[1]), took=float(last[2]))


def build(into: Path) -> Porcupine | None:
    """None, and one line that says why, where it cannot be built."""
    if shutil.which("go") is None:
        progress(f"no Porcupine, so no figures beside it: Go is missing: {part('go').add}")
        return None
    program = into / "porcupine"
    done = subprocess.run(
        ["go", "build", "-o", str(program.resolve()), "."], cwd=_SOURCE, capture_output=True, text=True, check=False
    )
    if done.returncode:
        progress(f"no Porcupine, so no figures beside it: go build: {' '.join(done.stderr.split())[:500]}")
        return None
    return Porcupine(program)


# -- one line per operation (porcupine/read.go) ---------------------------------------------------------------------------


def spelled(number: int, history: Sequence[Row]) -> Iterator[str]:
    yield f"history {number}"
    for row in history:
        if row.type != "fail":
            yield _operation(row)


def _operation(row: Row) -> str:
    end: int | str = row.start_ns + row.took_ns
    if row.kind == "append":
        proven = row.type == "ok" and row.acks == -1
        offset = row.offset if proven and row.offset is not None else "-"
        return f"append {row.start_ns} {end if proven else '-'} {row.value} {offset}"
    if row.kind == "end_offset":
        return f"end {row.start_ns} {end} {row.offset}"
    if row.kind == "read":
        return f"read {row.start_ns} {end} {row.from_offset} {int(bool(row.at_end))} {_records(row)}"
    if row.kind == "poll":
        return f"poll {row.start_ns} {end} {_records(row)}"
    raise ValueError(f"{row.kind} is no operation of a log")


def _records(row: Row) -> str:
    first = row.from_offset if row.base_offset is None else row.base_offset
    values = row.values or ()
    offsets = row.offsets if row.offsets is not None else range(first or 0, (first or 0) + len(values))
    return " ".join(f"{offset}:{value}" for offset, value in zip(offsets, values, strict=True))
