"""A Java for Spark: whatever is on the machine, the first usable one is found; nothing usable is said, not guessed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from spark_analysis import java
from tests.conftest import absent


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine with an empty PATH, no JAVA_HOME and no wheel."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(java, "wheel_runtime", lambda: None)
    monkeypatch.setattr(java, "PATIENCE_S", 2)
    return tmp_path


def fake_java(home: Path, script: str) -> Path:
    binary = home / "bin" / "java"
    binary.parent.mkdir(parents=True, exist_ok=True)
    binary.write_text(f"#!/bin/sh\n{script}\n")
    binary.chmod(0o755)
    return home


def says(version: str) -> str:
    return f"echo 'openjdk version \"{version}\" 2025-04-15' >&2"


def test_nothing_is_nothing(bare: Path) -> None:
    """No Java anywhere: None, so that the set-up adds the wheel."""
    assert java.find_java() is None


@pytest.mark.parametrize(
    ("version", "usable"), [("17.0.15", True), ("21", True), ("21.0.8.2", True), ("11.0.2", False), ("25", False)]
)
def test_only_17_and_21_will_do(bare: Path, version: str, usable: bool) -> None:
    """Spark 4 runs on these; anything else is passed over."""
    fake_java(bare, says(version))
    found = java.find_java()
    assert (found is not None) == usable
    if found:
        assert (found.version, found.source, found.home) == (version, "PATH", bare)


@pytest.mark.parametrize(
    "script", ["exit 1", "echo nonsense", "printf '\\377\\376'", says("17") + "; exit 3", says("x17"), "exec sleep 60"]
)
def test_a_java_that_does_not_answer_is_no_java(bare: Path, script: str) -> None:
    """Broken shims, wrong architectures, hangs."""
    fake_java(bare, script if "sleep" not in script else "exec /bin/sleep 60")
    assert java.find_java() is None


def test_a_shim_that_hangs_leaves_no_process_behind(bare: Path) -> None:
    """Not the script, and not the program that the script started."""
    told = bare / "child"
    fake_java(bare, f"/bin/sleep 60 & echo $! > {told}; wait")
    assert java.find_java() is None
    stat = Path(f"/proc/{told.read_text().strip()}/stat")
    ends = time.monotonic() + 10
    while runs(stat) and time.monotonic() < ends:  # a killed process still has to be scheduled once more to end
        time.sleep(0.01)
    assert not runs(stat)


def runs(stat: Path) -> bool:
    """Whether the process of this /proc entry is more than a name that nobody has collected yet."""
    try:
        return stat.read_text().split()[2] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_java_home_comes_first_and_a_wrong_one_is_passed_over(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the user set wins; when it cannot be used, PATH is asked."""
    fake_java(bare, says("17.0.1"))
    monkeypatch.setenv("JAVA_HOME", str(fake_java(bare / "own", says("21.0.1"))))
    assert java.find_java() == java.Java(bare / "own", "21.0.1", "JAVA_HOME")
    monkeypatch.setenv("JAVA_HOME", str(bare / "nowhere"))
    found = java.find_java()
    assert found is not None
    assert found.source == "PATH"


def test_the_launcher_drops_one_option_and_nothing_else(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spaces, quotes and empty arguments reach Java as they were given."""
    monkeypatch.setattr(sys, "prefix", str(bare / "it's here"))
    real = fake_java(bare / "wheel", 'for a do printf "[%s]" "$a"; done')
    home = java.launcher_home(real / "bin" / "java")
    given = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "a b", "", "it's", "--add-modules=other"]
    said = subprocess.run(
        [str(home / "bin" / "java"), *given], capture_output=True, text=True, check=True, env={"PATH": "/usr/bin:/bin"}
    )
    assert said.stdout == "[-Xmx1g][a b][][it's][--add-modules=other]"
    assert java.launcher_home(real / "bin" / "java") == home


def test_spark_runs_where_every_java_is_hidden(tmp_path: Path) -> None:
    """PATH without any java, JAVA_HOME unset: the wheel carries a whole Spark job."""
    if java.wheel_runtime() is None:
        absent("the Java wheel", "make java")
    environment = without_java(tmp_path)
    job = (
        "from spark_analysis.session import spark_session\n"
        "from spark_analysis.java import find_java\n"
        "source = find_java().source\n"
        "with spark_session('local[2]') as spark:\n"
        "    print(source, spark.range(1000).mapInArrow(lambda batches: batches, 'id long').count())\n"
    )
    said = subprocess.run([sys.executable, "-c", job], env=environment, capture_output=True, text=True, timeout=180, check=False)
    assert said.stdout.split() == ["wheel", "1000"], said.stderr
    assert said.stderr == "", "Spark's chatter stays in its log"


def without_java(where: Path) -> dict[str, str]:
    """An environment whose PATH has everything this machine has, except any program called java."""
    for directory in os.environ["PATH"].split(os.pathsep):
        for program in Path(directory).glob("*") if Path(directory).is_dir() else ():
            link = where / program.name
            if not program.name.startswith("java") and not link.is_symlink():
                link.symlink_to(program)
    kept = {key: value for key, value in os.environ.items() if key not in ("JAVA_HOME", "SPARK_HOME")}
    return {**kept, "PATH": str(where)}
