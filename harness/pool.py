"""harness/pool.py: many runs over worker processes.

In     `Crew`: which work, its setup, how many workers, how long one task may take; numbers, taken one by one as workers are free.
       A source that waits for a result gives None: no number now, and its workers stay
Out    `on_result(number, Result)` exactly once per number that was handed out, in the order of completion
Keeps  a worker that dies or hangs costs its own task and nothing else: the task is told as lost, the worker is replaced.
       A killed pool leaves no worker (harness/lifeline.py); a worker that is ended takes the processes of its group with it.
       Only JSON passes between the processes, on a socket that what the work prints never reaches
Not    what a number means, what becomes of a lost one (harness/campaign.py); a worker's inside (harness/worker.py)

Ctrl-C: no further number is handed out, running ones may finish, then KeyboardInterrupt is raised; a second one does not wait.
When `run_pool` raises, numbers that were running and not reported are simply not done: whoever resumes may run them again.
"""

from __future__ import annotations

import os
import selectors
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Literal

import msgspec

from harness.interrupts import Interrupts
from harness.worker import END_LIMIT_S, START_LIMIT_S, Answer, Ready, Worker
from model.refusal import InfrastructureFailure

START_TRIES = 3  # in a row


class Crew(msgspec.Struct, frozen=True, kw_only=True):
    """Who works, at what, and for how long at most."""

    name: str  # the campaign's: the value of TIDEMARK_RUN in every worker
    work: str  # "module:function", see harness/worker.py
    setup: bytes  # JSON for the factory
    jobs: int
    limit_s: float  # for one task


class Result(msgspec.Struct, frozen=True):
    """What became of one task."""

    status: Literal["done", "failed", "lost"]  # it answered; it raised; its worker died or hung
    data: bytes = b""  # done: what the work returned, as JSON
    reason: str = ""  # failed, lost: one sentence
    details: str = ""  # failed: the traceback; lost: what the worker printed last


OnResult = Callable[[int, Result], None]
RunPool = Callable[[Crew, Iterable[int], OnResult], None]
"""`run_pool`, or another one that keeps the same promises (harness/spark_pool.py)."""


def run_pool(crew: Crew, tasks: Iterable[int | None], on_result: OnResult) -> None:
    """Returns when every number was reported. jobs = 1 has a worker too: a run that crashes must not take the campaign along.

    `tasks` may give None while a number that it gave has not been reported: it is asked again after the next report.
    """
    if crew.jobs < 1:
        raise ValueError(f"a pool needs a worker, not {crew.jobs}")
    with Interrupts() as interrupts:
        pool = _Pool(crew, tasks, on_result, interrupts)
        try:
            pool.run()
        finally:
            pool.close()
    if interrupts.count:
        raise KeyboardInterrupt


class _Pool:
    """Who is where, and what happens next."""

    def __init__(self, crew: Crew, tasks: Iterable[int | None], on_result: OnResult, interrupts: Interrupts) -> None:
        self._crew = crew
        self._tasks = iter(tasks)
        self._exhausted = False
        self._ahead: deque[int] = deque()  # taken from the tasks because a worker is about to be free for them
        self._on_result = on_result
        self._interrupts = interrupts
        self._workers: list[Worker] = []
        self._failed_starts: list[str] = []  # since the last that went well
        self._selector = selectors.DefaultSelector()
        self._selector.register(interrupts.reader, selectors.EVENT_READ)

    def run(self) -> None:
        self._hand_out()
        while self._workers and self._interrupts.count < 2:
            self._listen()
            self._end_overdue()
            self._hand_out()

    def close(self) -> None:
        for worker in self._workers:
            worker.end()
        self._selector.close()

    # -- handing out --------------------------------------------------------------------------------------------------

    def _hand_out(self) -> None:
        """Numbers for the idle, workers for the numbers; and the door for those that nothing is left for."""
        for worker in self._those("idle"):
            if self._has_work_for(1):
                worker.give(self._ahead.popleft(), self._crew.limit_s)
            elif self._no_more_will_come:
                worker.dismiss()
        self._send_home_the_surplus()
        while len(self._workers) < self._crew.jobs and self._has_work_for(len(self._those("starting")) + 1):
            if len(self._failed_starts) < START_TRIES:
                self._start()
            elif self._workers:
                break  # fewer hands, but the work goes on
            else:
                raise InfrastructureFailure(f"no worker can be started: {self._failed_starts[-1]}")
        if not self._no_more_will_come and all(worker.state == "idle" for worker in self._workers):
            raise RuntimeError("the source of tasks waits for a result, and nobody works at one")

    def _send_home_the_surplus(self) -> None:
        """Others were quicker to start, or Ctrl-C: nobody waits for those that have not even begun."""
        starting = self._those("starting")
        while starting and not self._has_work_for(len(starting)) and self._no_more_will_come:
            worker = starting.pop()
            worker.dismiss()
            self._part_with(worker, "was not needed")

    def _has_work_for(self, hands: int) -> bool:
        if self._interrupts.count:
            return False
        while len(self._ahead) < hands and (number := self._next_number()) is not None:
            self._ahead.append(number)
        return len(self._ahead) >= hands

    def _next_number(self) -> int | None:
        try:
            return None if self._exhausted else next(self._tasks)
        except StopIteration:
            self._exhausted = True
            return None

    @property
    def _no_more_will_come(self) -> bool:
        return self._exhausted or self._interrupts.count > 0

    def _those(self, state: str) -> list[Worker]:
        return [worker for worker in self._workers if worker.state == state]

    def _start(self) -> None:
        crew = self._crew
        try:
            worker = Worker(crew.work, crew.setup, crew.name)
        except OSError as error:
            self._failed_starts.append(str(error))
            return
        self._workers.append(worker)
        self._selector.register(worker.socket, selectors.EVENT_READ, (worker, self._read))
        self._selector.register(worker.noise, selectors.EVENT_READ, (worker, self._read_noise))

    # -- listening ----------------------------------------------------------------------------------------------------

    def _listen(self) -> None:
        nearest = min(worker.deadline for worker in self._workers if worker.state != "idle")
        for key, _ in self._selector.select(max(0.0, nearest - time.monotonic())):
            if key.data is None:
                os.read(self._interrupts.reader, 100)  # it has woken us, and that is all it is for
                continue
            worker, react = key.data
            if worker.state != "gone":  # an earlier event of this round may have been its last
                react(worker)

    def _read_noise(self, worker: Worker) -> None:
        if not worker.listen():
            self._selector.unregister(worker.noise)

    def _read(self, worker: Worker) -> None:
        try:
            messages = worker.receive()
        except ValueError as error:
            self._part_with(worker, f"spoke out of turn: {error}")
            return
        if messages is None:
            self._part_with(worker, "died")
            return
        for message in messages:
            if isinstance(message, Ready):
                self._welcome(worker)
            elif worker.state != "gone":
                self._take(worker, message)

    def _welcome(self, worker: Worker) -> None:
        self._failed_starts.clear()
        if worker.state == "starting":
            worker.state = "idle"

    def _take(self, worker: Worker, answer: Answer) -> None:
        number = worker.task
        if number is None or number != answer.number:
            self._part_with(worker, f"spoke out of turn: an answer to {answer.number}")
            return
        worker.state, worker.task = "idle", None
        if answer.failed:
            self._on_result(number, Result("failed", reason=answer.failed, details=answer.details))
        else:
            self._on_result(number, Result("done", data=bytes(answer.data)))

    # -- ends ---------------------------------------------------------------------------------------------------------

    def _end_overdue(self) -> None:
        limits = {"starting": START_LIMIT_S, "busy": self._crew.limit_s, "ending": END_LIMIT_S}
        now = time.monotonic()
        for worker in [worker for worker in self._workers if worker.deadline <= now and worker.state in limits]:
            self._read(worker)  # were we the ones that slept, the answer lies there
            if worker.state in limits:
                self._part_with(worker, f"gave no answer within {limits[worker.state]:g} s")

    def _part_with(self, worker: Worker, why: str) -> None:
        """Its task is lost; a start that failed is remembered; one that was told to go has gone."""
        state, task = worker.state, worker.task
        self._workers.remove(worker)
        for part in (worker.socket, worker.noise):
            with suppress(KeyError):
                self._selector.unregister(part)
        how, words = worker.end()
        why = f"died ({how})" if why == "died" else why
        if state == "starting":
            self._failed_starts.append(words.splitlines()[-1] if words else f"it {why}")
        elif task is not None:
            self._on_result(task, Result("lost", reason=f"the worker of this run {why}", details=words))
