"""A session of Spark comes and goes without a trace: no process, file or variable, no changed Ctrl-C, not a word of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from spark_analysis import session as sessions
from spark_analysis.failure import NoSpark, SparkFailure
from spark_analysis.session import spark_session
from tests.harness.pool_watch import processes_with, wait_until

ROOT = Path(__file__).parents[2]


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where sessions of this test keep what they write."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path / f"tidemark-{os.getuid()}" / "spark"


def marked(name: str) -> list[int]:
    return processes_with(f"TIDEMARK_RUN={name}")


def what_workers_see(number: int) -> tuple[int, str | None, str]:
    return number, os.environ.get("TIDEMARK_RUN"), sys.executable


def fails(number: int) -> None:
    raise ValueError(f"no {number}, please")


@pytest.mark.needs("java")
@pytest.mark.xdist_group("spark")
@pytest.mark.timeout(900)
def test_sessions_follow_each_other_without_a_trace(scratch: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Each has a JVM of its own, so that each can have settings of its own. What fails in one is one sentence."""
    before, handler = dict(os.environ), signal.getsignal(signal.SIGINT)
    with spark_session("local[2]", "first") as session:
        assert marked("first") != []
        assert os.environ.keys() - before.keys() <= {*sessions.SET_BY_PYSPARK}
        assert signal.getsignal(signal.SIGINT) == handler
        seen = session.sparkContext.parallelize([1, 2], 2).map(what_workers_see).collect()
        assert seen == [(1, "first", sys.executable), (2, "first", sys.executable)]
    assert marked("first") == []
    with (
        pytest.raises(
            SparkFailure, match=r"^Spark: ValueError: no 2, please\n[^$]*ERROR .* failed 8 times; aborting job$"
        ) as failure,
        spark_session("local[1]", "second") as session,
    ):
        session.sparkContext.parallelize([2], 1).foreach(fails)
    assert not re.search(r"^\s+at ", str(failure.value), re.MULTILINE)
    wait_until(lambda: marked("second") == [])
    assert list(scratch.iterdir()) == []
    assert [path.name for path in tmp_path.iterdir()] == [scratch.parent.name]
    assert dict(os.environ) == before
    assert signal.getsignal(signal.SIGINT) == handler
    assert capfd.readouterr() == ("", "")


@pytest.mark.needs("java")
@pytest.mark.xdist_group("spark")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGINT])
def test_a_driver_that_is_ended_leaves_no_process_and_its_files_no_longer_than_until_the_next(
    by: signal.Signals, scratch: Path, tmp_path: Path
) -> None:
    """kill -9, or Ctrl-C, while its Python workers are busy for ever; after Ctrl-C nothing is left for the next."""
    name = by.name
    command = [sys.executable, "-m", "tests.spark_analysis.spark_driver", "local[2]", name, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as driver:
        assert driver.stdout is not None
        assert driver.stdout.readline() == b"ready\n"
        (log,) = scratch.glob("*/spark.log")
        wait_until(lambda: {"at work 0", "at work 1"} <= {*log.read_text().splitlines()})
        assert len(marked(name)) >= 4  # the JVM, two Python workers and what forks them
        driver.send_signal(by)
    assert driver.returncode == -by
    wait_until(lambda: marked(name) == [])
    assert (list(scratch.iterdir()) == []) is (by == signal.SIGINT)
    with sessions._scratch() as own:
        assert [path.name for path in scratch.iterdir() if path.is_dir()] == [own.name]
    assert list(scratch.iterdir()) == []


def test_a_part_that_is_missing_is_named_with_the_command_that_adds_it(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is started; both are failures that a process pool can stand in for."""
    monkeypatch.setattr(sessions, "find_java", lambda: None)
    with pytest.raises(NoSpark, match=r"Spark needs Java 17 or 21[\s\S]*make java"), spark_session():
        pass
    monkeypatch.setattr(sessions, "find_spec", lambda name: None)
    with pytest.raises(NoSpark, match=r"pyspark is not installed[\s\S]*pip install 'tidemark\[spark\]'"), spark_session():
        pass
    assert not scratch.exists()
