"""harness/spark_hand.py: what a Python worker of Spark does with the numbers that it is handed.

In     a `Chunk` as JSON: which work, and some numbers
Out    a `Report` as JSON: what became of each number; or why none can be executed on this host
Keeps  Spark's own process runs nothing of ours but this: each number is executed in a worker of harness/pool.py, which is
       replaced when it dies or hangs. It stays for the next chunk, because starting one costs more than a short run, and it ends
       with the process that asked for it, however that ends (harness/lifeline.py)
Not    which numbers, how many at once, what becomes of a lost one (harness/spark_pool.py)
"""

from __future__ import annotations

import socket
import time
from queue import SimpleQueue
from threading import Thread

import msgspec

from harness.pool import Crew, Result, run_pool
from model.refusal import InfrastructureFailure

Told = tuple[int, Result]


class Chunk(msgspec.Struct, frozen=True):
    """One task of Spark."""

    crew: Crew
    numbers: tuple[int, ...]


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a chunk, and where."""

    host: str
    seconds: float
    results: tuple[Told, ...] = ()
    cannot: str = ""  # no worker can be started here


def carry_out(chunk: str) -> str:
    """Called by Spark, for one task after the other in each of its Python workers."""
    asked = msgspec.json.decode(chunk, type=Chunk)
    began = time.monotonic()
    results: tuple[Told, ...] = ()
    cannot = ""
    try:
        results = _hand_for(asked.crew).do(asked.numbers)
    except InfrastructureFailure as failure:
        cannot = str(failure)
    report = Report(host=socket.gethostname(), seconds=time.monotonic() - began, results=results, cannot=cannot)
    return msgspec.json.encode(report).decode()


class _Hand:
    """A pool of one worker that takes numbers as they are put, for as long as there may be more."""

    def __init__(self, crew: Crew) -> None:
        self._crew = msgspec.structs.replace(crew, jobs=1)
        self._numbers: SimpleQueue[int | None] = SimpleQueue()
        self._told: SimpleQueue[Told | Exception] = SimpleQueue()
        Thread(target=self._work, name="hand", daemon=True).start()

    def do(self, numbers: tuple[int, ...]) -> tuple[Told, ...]:
        for number in numbers:
            self._numbers.put(number)
        return tuple(self._next() for _ in numbers)

    def dismiss(self) -> None:
        self._numbers.put(None)

    def _next(self) -> Told:
        told = self._told.get()
        if isinstance(told, Exception):
            _hands.clear()  # its pool has ended: the next task tries another one
            raise told
        return told

    def _work(self) -> None:
        try:
            run_pool(self._crew, iter(self._numbers.get, None), lambda number, result: self._told.put((number, result)))
        except Exception as error:  # noqa: BLE001  whatever it is belongs to the thread that waits for results
            self._told.put(error)


_hands: dict[Crew, _Hand] = {}  # of this process: one at most


def _hand_for(crew: Crew) -> _Hand:
    """The one that is here, if it is for this work; the campaign before has no more use for its own."""
    if crew not in _hands:
        for hand in _hands.values():
            hand.dismiss()
        _hands.clear()
        _hands[crew] = _Hand(crew)
    return _hands[crew]
