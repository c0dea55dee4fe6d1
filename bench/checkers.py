"""bench/checkers.py: how fast histories of a log are checked, how that grows, and how Porcupine does (CHECKERS 9.6).

In     large histories, right by construction (large_log.py); small ones, a third of them wrong (small_logs.py)
Out    seconds and memory of a million operations; growth from 10^4 to 10^7; Porcupine on the same files, as ratios;
       how many verdicts it and we do not share
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

import pyarrow as pa

from bench.figures import Figure, progress
from bench.large_log import large_log, with_stale_end
from bench.one_look import Looked, looked_at
from bench.porcupine import Opinion, Porcupine, build, spelled
from bench.small_logs import small_log
from checkers.columns import Columns
from checkers.log import check_log
from checkers.mode import Mode
from checkers.part import parts
from model.history import About, to_rows, to_table, write_parquet
from model.operation import Row

_MILLION: Final = 1_000_000
_GROWING: Final = (10_000, 100_000, 1_000_000, 10_000_000)
_AGAINST_PORCUPINE: Final = (1_000, 10_000, 100_000)
_CLIENTS: Final = (5, 20)
_TURNS: Final = 3
_LONG_S: Final = 10
_AT_ONCE: Final = 500
_ABOUT: Final = About(run_id="bench/00001", run_tag=1, plan_digest="0" * 64)


def figures(scratch: Path) -> Iterator[Figure]:
    yield from _a_million(scratch)
    yield from _growth(scratch)
    porcupine = build(scratch)
    if porcupine is not None:
        yield from _rivals(scratch, porcupine)
        yield from _agreement(porcupine, "20,000 histories of 2-7 ops", 20_000, (2, 7), patience_s=10)
        yield from _agreement(porcupine, "1,000 histories of 10-60 ops", 1_000, (10, 60), patience_s=0.3)


def _stored(scratch: Path, table: pa.Table) -> Path:
    path = scratch / "history.parquet"
    write_parquet(table, _ABOUT, path)
    return path


# -- alone ----------------------------------------------------------------------------------------------------------------


def _a_million(scratch: Path) -> Iterator[Figure]:
    for info in (0.0, 0.1):
        history = large_log(_MILLION, info=info)
        for table, right in ((history, True), (with_stale_end(history), False)):
            what = f"{info:.0%} info, {'valid' if right else 'stale end'}"
            progress(f"checking {_MILLION:,} operations, {what}")
            looked = looked_at(_stored(scratch, table))
            assert looked.names == (() if right else ("stale_end_offset",)), looked.names
            yield from _one(what, looked)


def _one(what: str, looked: Looked) -> Iterator[Figure]:
    for name, value, unit, aim in (
        ("seconds", looked.wall_s, "s", 0.2),
        ("processor", looked.cpu_s, "s", None),
        ("check_log alone", looked.log_wall_s, "s", None),
        ("processor, check_log alone", looked.log_cpu_s, "s", None),
        ("memory beside table", _megabytes(looked), "MB", 500),
        ("memory of the process", looked.peak / 1e6, "MB", None),
    ):
        yield Figure(name=f"10^6 ops, {what}: {name}", value=value, unit=unit, aim=aim, higher_is_better=False)


def _megabytes(looked: Looked) -> float:
    return (looked.peak - looked.before) / 1e6


def _growth(scratch: Path) -> Iterator[Figure]:
    """By the processor's time: the neighbours of this machine do not grow with our histories."""
    each: dict[int, float] = {}
    for operations in _GROWING:
        progress(f"checking {operations:,} operations")
        looked = looked_at(_stored(scratch, large_log(operations)), turns=max(_TURNS, _MILLION // operations))
        each[operations] = 1e9 * looked.cpu_s / operations
        name = f"each of {operations:,} operations"
        yield Figure(name=name, value=each[operations], unit="ns", higher_is_better=False)
    for few, many in ((_GROWING[0], _GROWING[-1]), *pairwise(_GROWING)):
        name = f"each of {many:,} beside each of {few:,}"
        aim = 1.3 if many // few == _GROWING[-1] // _GROWING[0] else None
        yield Figure(name=name, value=each[many] / each[few], unit="times", aim=aim, higher_is_better=False)


# -- beside Porcupine -----------------------------------------------------------------------------------------------------


def _rivals(scratch: Path, porcupine: Porcupine) -> Iterator[Figure]:
    for clients in _CLIENTS:
        for operations in _AGAINST_PORCUPINE:
            yield from _rival(scratch, porcupine, operations, clients)


def _rival(scratch: Path, porcupine: Porcupine, operations: int, clients: int) -> Iterator[Figure]:
    """No `info`, which would be harder for Porcupine. Neither is timed while it reads."""
    what = f"{operations:,} ops, {clients} clients"
    progress(f"{what}, Tidemark and Porcupine in turns")
    history = large_log(operations, clients=clients, info=0)
    path, rows = _stored(scratch, history), [to_rows(history)]
    ours: list[Looked] = []
    theirs: list[Opinion] = []
    while len(ours) < _TURNS and not (theirs and theirs[-1].took > _LONG_S):
        ours.append(looked_at(path))
        theirs.append(porcupine.judge(rows))
    our_s, our_mb = min(each.wall_s for each in ours), min(map(_megabytes, ours))
    their_s, their_mb = min(each.took for each in theirs), min(each.peak for each in theirs) / 1e6
    finished = all(each.verdicts == ("valid",) for each in theirs)
    ended, more = ("", "") if finished else (", gave up", "at least ")
    yield Figure(name=f"Tidemark, {what}", value=our_s, unit="s", higher_is_better=False)
    yield Figure(name=f"Porcupine, {what}{ended}", value=their_s, unit="s", higher_is_better=False)
    yield Figure(name=f"{what}: Porcupine takes {more}", value=their_s / our_s, unit="times")
    yield Figure(name=f"Tidemark's memory, {what}", value=our_mb, unit="MB", higher_is_better=False)
    yield Figure(name=f"Porcupine's memory, {what}{ended}", value=their_mb, unit="MB", higher_is_better=False)
    yield Figure(name=f"{what}: its memory is {more}", value=their_mb / our_mb, unit="times")


def _agreement(porcupine: Porcupine, what: str, count: int, lengths: tuple[int, int], *, patience_s: float) -> Iterator[Figure]:
    progress(f"{what}, judged by Tidemark and by Porcupine")
    histories = [_numbered(number, lengths) for number in range(count)]
    ours = [names for at in range(0, count, _AT_ONCE) for names in _found(histories[at : at + _AT_ONCE])]
    theirs = porcupine.judge(histories, patience_s).verdicts
    disputed = 0
    for number, (names, verdict) in enumerate(zip(ours, theirs, strict=True)):
        if verdict != "unknown" and bool(names) != (verdict == "invalid"):
            disputed += 1
            said = f"Porcupine: {verdict}; Tidemark: {', '.join(names) or 'valid'}:"
            print(said, *spelled(number, histories[number]), sep="\n")
    yield Figure(name=f"{what}: disagreements", value=disputed, unit="histories", aim=0, higher_is_better=False)
    yield Figure(name=f"{what}: invalid", value=100 * sum(map(bool, ours)) / count, unit="%")
    yield Figure(name=f"{what}: Porcupine undecided", value=theirs.count("unknown"), unit="histories", higher_is_better=False)


def _numbered(number: int, lengths: tuple[int, int]) -> list[Row]:
    chance = random.Random(f"{lengths} {number}")
    return small_log(chance, chance.randint(*lengths))


def _found(histories: Sequence[Sequence[Row]]) -> Iterator[tuple[str, ...]]:
    """Each as a partition of one history (CHECKERS 3.3): what contradicts that it is a log's, at level committed."""
    rows = [row for history in histories for row in history]
    for partition, history in enumerate(histories):
        for row in history:
            row.partition = partition
    for op, row in enumerate(rows):
        row.op = op
    for part in parts(Columns(to_table(rows))):
        checked = check_log(part, Mode(copies="forbid"))
        yield tuple(found.name for found in checked.found if found.level == "committed")
