"""As a new user would: a fresh clone, a bare environment, the two commands. Needs the package registries; takes minutes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.spark_analysis.test_java import without_java

pytestmark = pytest.mark.acceptance
ROOT = Path(__file__).parents[2]
# What a login shell of a new user would have, and what the machine's owner set for its package clients.
KEPT = ("HOME", "LANG", "TMPDIR", "TERM")


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("fresh") / "tidemark"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(where)], check=True)
    return where


def bare_environment(links: Path) -> dict[str, str]:
    """Every Java hidden from PATH, JAVA_HOME unset, no environment of ours."""
    kept = {key: value for key, value in os.environ.items() if key in KEPT or key.startswith(("PIP_", "SSL_", "UV_"))}
    links.mkdir(exist_ok=True)
    return {**kept, "PATH": without_java(links)["PATH"]}


def call(clone: Path, environment: dict[str, str], *words: str) -> str:
    started = time.monotonic()
    said = subprocess.run(
        words, cwd=clone, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    print(f"\n$ {' '.join(words)}   ({time.monotonic() - started:.0f} s, exit code {said.returncode})\n{said.stdout[-3_000:]}")
    assert said.returncode == 0
    return said.stdout


def test_the_demo_runs_from_a_fresh_clone_without_java(clone: Path, tmp_path: Path) -> None:
    """`make demo` sets everything up by itself; Spark runs on the wheel's Java."""
    said = call(clone, bare_environment(tmp_path / "bin"), "make", "demo")
    assert "Spark 4" in said
    assert "counts the same" in said


def test_the_tests_run_from_a_fresh_clone_without_java(clone: Path, tmp_path: Path) -> None:
    """`make test` in the same bare environment: all green, and the Spark job with hidden Java among them."""
    said = call(clone, bare_environment(tmp_path / "bin"), "make", "test")
    assert " passed" in said
    assert " failed" not in said


def test_a_second_set_up_has_nothing_to_do(clone: Path, tmp_path: Path) -> None:
    """Nothing is installed twice."""
    assert "installing" not in call(clone, bare_environment(tmp_path / "bin"), "make", "setup")


def test_the_wheel_has_the_packages_and_no_tests(clone: Path, tmp_path: Path) -> None:
    """The distribution carries our packages only, and its core alone explains what is missing."""
    environment = bare_environment(tmp_path / "bin")
    python = str(clone / ".venv" / "bin" / "python")
    call(clone, environment, python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), ".")
    (wheel,) = tmp_path.glob("tidemark-*.whl")
    names = {
        name.split("/")[0] for name in call(clone, environment, python, "-m", "zipfile", "-l", str(wheel)).split() if "/" in name
    }
    assert {"model", "replication", "harness"} <= names
    assert "tests" not in names
    assert "bench" not in names
    core = tmp_path / "core"
    subprocess.run([sys.executable, "-m", "venv", str(core)], check=True)
    call(clone, environment, str(core / "bin" / "python"), "-m", "pip", "install", "--quiet", "-c", "constraints.txt", str(wheel))
    said = subprocess.run([str(core / "bin" / "tidemark"), "doctor"], capture_output=True, text=True, check=False)
    assert said.returncode == 4
    assert "pip install 'tidemark[harness]'" in said.stderr
