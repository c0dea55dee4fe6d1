"""The pool reports every number once, whatever its workers do, and leaves no process behind."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness import pool, worker
from harness.pool import Crew, Result, run_pool
from model.refusal import InfrastructureFailure
from tests.harness.pool_watch import DEADLINE_S, alive, noted_pids, start_parent, wait_until
from tests.harness.pool_work import ANSWERS_FOR_ANOTHER, BABBLES, DIES, EXITS, HANGS, RAISES, SAYS_NOTHING


def crew(work: str, notes: Path, jobs: int = 2, limit_s: float = DEADLINE_S) -> Crew:
    setup = json.dumps({"notes": str(notes)}).encode()
    return Crew(name="night-1", work=f"tests.harness.pool_work:{work}", setup=setup, jobs=jobs, limit_s=limit_s)


def results(crew: Crew, tasks: Iterable[int]) -> dict[int, Result]:
    """What was reported; a number that is reported twice fails the test."""
    seen: dict[int, Result] = {}

    def on_result(number: int, result: Result) -> None:
        assert number not in seen
        seen[number] = result

    run_pool(crew, tasks, on_result)
    return seen


def begun(notes: Path) -> list[int]:
    return [int(line) for line in (notes / "begun").read_text().split()]


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_every_number_is_reported_once(tmp_path, jobs):
    """However many workers there are, each number has exactly one result, and it is its own."""
    seen = results(crew("doubles", tmp_path, jobs), range(-5, 200))
    assert seen == {number: Result("done", data=b"%d" % (2 * number)) for number in range(-5, 200)}


def test_no_tasks_need_no_worker(tmp_path):
    """Nothing to do is done at once, even by work that cannot be loaded."""
    assert results(crew("there_is_no_such_work", tmp_path), []) == {}


def test_a_pool_without_workers_is_a_mistake(tmp_path):
    """jobs = 0 would never end."""
    with pytest.raises(ValueError, match="not 0"):
        results(crew("doubles", tmp_path, jobs=0), [1])


def test_numbers_are_handed_out_in_order_and_no_sooner_than_needed(tmp_path):
    """A lazy source is asked only for what a worker is about to take: a soak can end when its time is up."""
    taken: list[int] = []

    def tasks() -> Iterator[int]:
        for number in range(10):
            taken.append(number)
            yield number

    ahead: list[int] = []
    run_pool(crew("misbehaves", tmp_path, jobs=1), (n for n in tasks() if n < 3), lambda n, _: ahead.append(taken[-1] - n))
    assert begun(tmp_path) == [0, 1, 2]
    assert ahead == [0, 0, 0]


class Rounds:
    """A source that gives `at_once` numbers, and the next ones only when all of them have been reported."""

    def __init__(self, numbers: int, at_once: int) -> None:
        self.numbers, self.at_once, self.given = numbers, at_once, 0
        self.results: dict[int, Result] = {}

    def __iter__(self) -> Iterator[int | None]:
        return self

    def __next__(self) -> int | None:
        if self.given == self.numbers:
            raise StopIteration
        if self.given % self.at_once == 0 and len(self.results) < self.given:
            return None
        self.given += 1
        return self.given - 1


@pytest.mark.parametrize(("jobs", "at_once"), [(1, 1), (2, 1), (2, 2), (3, 2)])
def test_a_source_may_wait_for_results_and_its_workers_stay(tmp_path, jobs, at_once):
    """As many processes as ever had a number at once, and no new one for any later number."""
    source = Rounds(12, at_once)
    run_pool(crew("tells_who", tmp_path, jobs), source, source.results.__setitem__)
    assert sorted(source.results) == [*range(12)]
    assert len({result.data for result in source.results.values()}) <= min(jobs, at_once)


def test_a_source_that_waits_goes_on_when_the_worker_it_waits_for_has_died(tmp_path):
    """The number is lost, and the next one has a new worker."""
    source = Rounds(DIES + 1 + 1, 1)
    run_pool(crew("misbehaves", tmp_path, jobs=2), source, source.results.__setitem__)
    assert [source.results[number].status for number in range(DIES + 1)] == ["done"] * DIES + ["lost"]


@pytest.mark.parametrize("numbers", [[None] * 1000, [1, *[None] * 1000]])
def test_a_source_that_waits_for_nothing_is_a_mistake(tmp_path, numbers):
    """It would wait for ever."""
    with pytest.raises(RuntimeError, match="nobody works at one"):
        results(crew("doubles", tmp_path), numbers)


def test_ctrl_c_ends_a_source_that_waits(tmp_path):
    """Nothing more is asked of it, and the idle are sent home."""
    source = Rounds(100, 1)

    def on_result(number: int, result: Result) -> None:
        source.results[number] = result
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run_pool(crew("doubles", tmp_path), source, on_result)
    assert source.given == 1


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_worker_that_dies_costs_its_own_number_only(tmp_path, jobs):
    """SIGKILL and an exit are reported as lost, with the reason and the last words; nothing is run twice or left out."""
    seen = results(crew("misbehaves", tmp_path, jobs), [1, DIES, EXITS, 2, 10])
    assert seen.pop(DIES) == Result("lost", reason="the worker of this run died (signal 9)", details="goodbye")
    assert seen.pop(EXITS) == Result("lost", reason="the worker of this run died (exit code 17)")
    assert {number: result.data for number, result in seen.items()} == {1: b"2", 2: b"4", 10: b"20"}
    assert sorted(begun(tmp_path)) == [1, 2, DIES, EXITS, 10]


def test_a_worker_that_hangs_is_ended_and_replaced(tmp_path):
    """No answer within the limit: the number is lost, the next one has a new worker."""
    seen = results(crew("misbehaves", tmp_path, jobs=1, limit_s=5), [HANGS, 1])
    assert seen[HANGS] == Result("lost", reason="the worker of this run gave no answer within 5 s")
    assert seen[1].data == b"2"


def test_an_answer_that_came_while_nobody_listened_counts(tmp_path, monkeypatch):
    """When it was the pool that slept past the limit, the answer that lies there is no silence."""
    late_s = 0.0
    monkeypatch.setattr(worker, "END_LIMIT_S", 0.0)
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + late_s)
    monkeypatch.setattr(pool, "time", clock)
    monkeypatch.setattr(worker, "time", clock)
    seen: dict[int, Result] = {}

    def on_result(number: int, result: Result) -> None:
        nonlocal late_s
        seen[number] = result
        (tmp_path / "go").touch()
        wait_until((tmp_path / "sent").exists)
        late_s = 2 * DEADLINE_S

    run_pool(crew("answers_by_hand", tmp_path), [0, 1], on_result)
    assert seen == {0: Result("done", data=b"null"), 1: Result("done", data=b"2")}


def test_a_worker_that_is_ended_takes_its_children_along(tmp_path):
    """Neither the worker that hung nor the process that it had started is alive."""
    assert results(crew("hangs_with_a_child", tmp_path, jobs=1, limit_s=1), [1])[1].status == "lost"
    pids = noted_pids(tmp_path)
    assert len(pids) == 2
    wait_until(lambda: not alive(pids))


def test_an_exception_is_a_result_and_the_worker_lives_on(tmp_path):
    """The text and the traceback are reported, text that is no UTF-8 included, and the same worker takes the next number."""
    seen = results(crew("misbehaves", tmp_path, jobs=1), [1, RAISES, 2])
    assert (seen[RAISES].status, seen[RAISES].reason) == ("failed", "ValueError: no six, please \\udcff")
    assert "in work" in seen[RAISES].details
    assert seen[2].data == b"4"


def test_an_answer_that_is_not_JSON_is_a_failure(tmp_path):
    """It is the work's mistake, told as such, and it does not reach the one who asked."""
    result = results(crew("misbehaves", tmp_path, jobs=1), [SAYS_NOTHING])[SAYS_NOTHING]
    assert result.status == "failed"
    assert "JSON" in result.reason


@pytest.mark.parametrize("number", [BABBLES, ANSWERS_FOR_ANOTHER])
def test_a_worker_that_breaks_the_protocol_is_replaced(tmp_path, number):
    """Work that writes into the socket loses its number, and nobody else's."""
    seen = results(crew("misbehaves", tmp_path, jobs=1), [number, 1])
    assert seen[number].status == "lost"
    assert "spoke out of turn" in seen[number].reason
    assert seen[1].data == b"2"


def test_what_the_work_prints_stays_out_of_the_protocol(tmp_path):
    """Noise on stdout and stderr, by print, by descriptor and by a child, changes no result."""
    seen = results(crew("reports", tmp_path, jobs=2), range(20))
    assert {result.status for result in seen.values()} == {"done"}


def test_a_worker_is_named_frozen_and_in_a_session_of_its_own(tmp_path):
    """TIDEMARK_RUN says whose it is, collections skip what the set-up made, no terminal reaches it, no child has its socket."""
    inside = json.loads(results(crew("reports", tmp_path, jobs=1), [0])[0].data)
    assert inside["run"] == "night-1"
    assert inside["session"] == inside["pid"]
    assert inside["frozen"] > 1000
    assert inside["bequeathed"] == 0


def test_a_worker_may_end_in_order(tmp_path):
    """Told that nothing more will come, it runs to its own end."""
    results(crew("reports", tmp_path, jobs=1), [0])
    assert (tmp_path / "orderly").exists()


def test_a_worker_that_does_not_go_is_ended(tmp_path, monkeypatch):
    """The pool waits for an orderly end, but not for ever."""
    monkeypatch.setattr(worker, "END_LIMIT_S", 1.0)
    seen = results(crew("ends_badly_when_told_to_go", tmp_path, jobs=1), [0])
    assert not alive([json.loads(seen[0].data)])


def test_workers_share_no_pipe(tmp_path):
    """No worker holds a socket or lifeline of another: each ends when its own parent does."""
    seen = results(crew("meets", tmp_path, jobs=2), [0, 1])
    first, second = (set(json.loads(seen[number].data)) for number in (0, 1))
    assert len(first) == len(second) == 3  # socket, lifeline, noise
    assert not first & second


@pytest.mark.parametrize(
    ("work", "words"),
    [
        ("tests.harness.pool_work:there_is_no_such_work", "there_is_no_such_work"),
        ("tests.harness.no_such_module:work", "ModuleNotFoundError: No module named 'tests.harness.no_such_module'"),
        ("tests.harness.pool_work:cannot_be_set_up", "RuntimeError: the setup is wrong"),
    ],
)
def test_work_that_cannot_be_loaded_is_told_after_a_few_tries(tmp_path, work, words):
    """The last line that a worker printed is the reason; no number is reported, for none was tried."""
    setup = json.dumps({"notes": str(tmp_path)}).encode()
    with pytest.raises(InfrastructureFailure, match="no worker can be started") as failure:
        results(Crew(name="x", work=work, setup=setup, jobs=1, limit_s=DEADLINE_S), range(1000))
    assert words in str(failure.value)
    assert len(list(tmp_path.glob("tried-*"))) in (0, pool.START_TRIES)


def test_a_program_that_cannot_be_started_is_told(tmp_path, monkeypatch):
    """Not even a process: the machine's own words are the reason, and nobody tries for ever."""
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python"))
    with pytest.raises(InfrastructureFailure, match="No such file"):
        results(crew("doubles", tmp_path), range(1000))


def test_fewer_workers_go_on_until_the_last_is_gone(tmp_path):
    """While one worker works, failed starts of others cost nothing; numbers that are left without any worker are told."""
    seen: dict[int, Result] = {}
    with pytest.raises(InfrastructureFailure, match="there is only one of me"):
        run_pool(crew("starts_once", tmp_path, jobs=3), [1, 2, DIES, 10], seen.__setitem__)
    assert [(number, result.status) for number, result in seen.items()] == [(1, "done"), (2, "done"), (DIES, "lost")]


def test_nobody_waits_for_a_worker_that_is_not_needed(tmp_path, monkeypatch):
    """One that still starts when the last number is given away is ended at once."""
    monkeypatch.setattr(worker, "START_LIMIT_S", 1_000_000.0)
    assert len(results(crew("starts_slowly", tmp_path), [0, 1])) == 2
    assert not alive(noted_pids(tmp_path))


def test_an_exception_of_the_one_who_asked_ends_the_workers(tmp_path):
    """It comes through as it is, and the worker that was busy for ever is gone."""
    with pytest.raises(ZeroDivisionError):
        run_pool(crew("spins_but_first", tmp_path), [0, 1], lambda number, result: 1 // 0)
    wait_until(lambda: not alive(noted_pids(tmp_path)))


def test_ctrl_c_hands_out_nothing_more_and_then_is_raised(tmp_path):
    """What runs may finish, and each of it is reported."""
    seen = []

    def on_result(number: int, result: Result) -> None:
        seen.append(number)
        if len(seen) == 1:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run_pool(crew("misbehaves", tmp_path, jobs=2), (n for n in range(100) if n in (0, 1, 2) or n > 9), on_result)
    assert sorted(seen) == sorted(begun(tmp_path))
    assert len(seen) <= 2


def test_a_second_ctrl_c_waits_for_nobody(tmp_path):
    """A worker that is busy for ever is ended, and its number is not reported: it may be run again."""
    seen = []

    def on_result(number: int, result: Result) -> None:
        seen.append(number)
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run_pool(crew("spins_but_first", tmp_path), [0, 1], on_result)
    assert seen == [0]
    wait_until(lambda: not alive(noted_pids(tmp_path)))


def test_ctrl_c_is_as_it_was_afterwards(tmp_path):
    """The handler of before is back, and a SIGINT that was ignored stays ignored throughout."""
    before = signal.getsignal(signal.SIGINT)
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        run_pool(crew("doubles", tmp_path, jobs=1), range(3), lambda *_: signal.raise_signal(signal.SIGINT))
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    results(crew("doubles", tmp_path, jobs=1), [1])
    assert signal.getsignal(signal.SIGINT) == before


def test_a_pool_works_in_any_thread(tmp_path):
    """Only Ctrl-C belongs to the main thread."""
    seen: dict[int, Result] = {}
    thread = threading.Thread(target=run_pool, args=(crew("doubles", tmp_path), range(5), seen.__setitem__))
    thread.start()
    thread.join()
    assert len(seen) == 5


def test_a_killed_parent_leaves_no_worker(tmp_path):
    """kill -9 while every worker is busy in pure Python: soon neither they nor their children are alive."""
    with start_parent("spins", tmp_path) as process:
        pids = noted_pids(tmp_path)
        assert (len(pids), alive(pids)) == (4, pids)
        process.kill()
        wait_until(lambda: not alive(pids))


def test_ctrl_c_at_the_terminal_lets_running_numbers_finish(tmp_path):
    """The whole foreground group is interrupted, as a terminal does it: the workers do not hear it, their numbers are done."""
    with start_parent("waits", tmp_path) as process:
        os.killpg(process.pid, signal.SIGINT)
        (tmp_path / "go").touch()
        said, _ = process.communicate()
    assert sorted(said.split("\n")[:2]) == ["0 done", "1 done"]
    assert said.split("\n")[2:] == ["interrupted", ""]
    assert not alive(noted_pids(tmp_path))
