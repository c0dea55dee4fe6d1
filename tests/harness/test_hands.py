"""tidemark run --master: what Spark cannot do is refused before anything starts."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest

from harness.main import run as tidemark


def refused(tmp_path: Path, *words: str) -> int:
    code = tidemark(["run", "--store", str(tmp_path / "store"), "--set", "for=2s", *words])
    assert not (tmp_path / "store").exists()
    return code


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--master", "local[2]"), "--master: a run by itself is executed here\n  allowed here: with --runs N"),
        (("--master", "yarn", "--runs", "2"), "--master: not a Spark master: 'yarn'\n  allowed here: local[*], local[4], spark"),
        (("--master", "local[2]", "--runs", "2", "--set", "cluster=local"), "cluster: Spark executes simulated runs only"),
    ],
)
def test_what_is_not_for_spark_is_refused(
    tmp_path: Path, words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 3, with what would be allowed."""
    assert refused(tmp_path, *words) == 3
    assert said in capsys.readouterr().err


@pytest.mark.needs("java")
def test_a_master_that_nobody_answers_for_is_the_machines_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One sentence, exit code 4, and at once: Spark itself would ask for a minute."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and not listening
        url = f"spark://127.0.0.1:{taken.getsockname()[1]}"
        began = time.monotonic()
        assert refused(tmp_path, "--runs", "2", "--master", url) == 4
    assert time.monotonic() - began < 30
    assert capsys.readouterr().err == f"no Spark master can be reached at {url}: Connection refused\n"
