"""What a Python worker of Spark does with a chunk: each number in a process of its own kind, which stays for the next chunk."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from harness import spark_hand
from harness.pool import Crew
from harness.spark_hand import Chunk, Report, carry_out
from tests.harness.pool_watch import alive, wait_until
from tests.harness.pool_work import DIES, EXITS, HANGS, RAISES


@pytest.fixture(autouse=True)
def no_hand_stays() -> Iterator[None]:
    yield
    for hand in spark_hand._hands.values():
        hand.dismiss()
    spark_hand._hands.clear()


def crew(work: str, notes: Path, limit_s: float = 120.0) -> Crew:
    setup = json.dumps({"notes": str(notes)}).encode()
    return Crew(name="night-1", work=f"tests.harness.pool_work:{work}", setup=setup, jobs=8, limit_s=limit_s)


def carried_out(crew: Crew, *numbers: int) -> Report:
    chunk = msgspec.json.encode(Chunk(crew, numbers)).decode()
    return msgspec.json.decode(carry_out(chunk), type=Report)


def test_a_chunk_is_carried_out_number_by_number(tmp_path: Path) -> None:
    """Deaths and exceptions are results of their own numbers; the report says where and how long."""
    report = carried_out(crew("misbehaves", tmp_path), 1, DIES, 2, RAISES, EXITS, 10)
    said = dict(report.results)
    assert [(number, result.status) for number, result in report.results] == [
        (1, "done"), (DIES, "lost"), (2, "done"), (RAISES, "failed"), (EXITS, "lost"), (10, "done"),
    ]  # fmt: skip
    assert said[10].data == b"20"
    assert said[RAISES].reason.startswith("ValueError: no six")
    assert said[DIES].reason == "the worker of this run died (signal 9)"
    assert report.seconds > 0
    assert report.cannot == ""


def test_a_run_that_hangs_is_ended_and_the_next_one_is_executed(tmp_path: Path) -> None:
    """Spark itself would wait for ever."""
    said = dict(carried_out(crew("misbehaves", tmp_path, limit_s=2), HANGS, 1).results)
    assert (said[HANGS].status, said[1].status) == ("lost", "done")
    assert "gave no answer within 2 s" in said[HANGS].reason


def test_one_worker_serves_chunk_after_chunk(tmp_path: Path) -> None:
    """It is started once, and replaced when another campaign comes; then the first one ends in order."""
    first = crew("reports", tmp_path)
    pids = [json.loads(result.data)["pid"] for _ in range(2) for _, result in carried_out(first, 0, 1).results]
    assert len(set(pids)) == 1
    assert carried_out(crew("doubles", tmp_path), 3).results[0][1].data == b"6"
    wait_until(lambda: not alive(pids[:1]))
    assert (tmp_path / "orderly").exists()


def test_a_worker_that_died_between_two_chunks_costs_one_number(tmp_path: Path) -> None:
    """Nobody listens to an idle one: its death is noticed by the number that it is given, and the pool hands that out again."""
    work = crew("reports", tmp_path)
    pid = json.loads(carried_out(work, 0).results[0][1].data)["pid"]
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not alive([pid]))
    assert [result.status for _, result in carried_out(work, 1, 2).results] == ["lost", "done"]


def test_work_that_cannot_be_started_here_is_said_and_tried_again(tmp_path: Path) -> None:
    """No number is touched. The next chunk finds another hand: what was missing may be there by then."""
    work = crew("cannot_be_set_up", tmp_path)
    for _ in range(2):
        report = carried_out(work, 1, 2)
        assert report.results == ()
        assert report.cannot == "no worker can be started: RuntimeError: the setup is wrong"
    assert len(list(tmp_path.glob("tried-*"))) == 6
