"""spark_analysis/failure.py: what Spark says when something failed, in one sentence.

In     an exception of pyspark or py4j: forty lines of Java around the one that matters; Spark's own log
Out    that line; `SparkFailure`, exit code 4; the last errors of the log without their stack traces
"""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path

from model.refusal import InfrastructureFailure

KEPT_LINES, KEPT_COLUMNS = 5, 300
KEPT_BYTES = 20_000


class SparkFailure(InfrastructureFailure):
    """Spark did not start, or did not do what it was asked. Nothing is said about any run."""


class NoSpark(SparkFailure):
    """A part of Spark is missing on this machine; a process pool can still do the work."""


class NoJava(NoSpark):
    """Spark needs a Java 17 or 21."""


def words_of(error: BaseException) -> str:
    """The line that says what happened: the last one of a Python traceback, else the first of the Java exception.

    Asked while the session lives: pyspark fetches the text of some exceptions from the JVM.
    """
    try:
        text = str(error)
    except Exception:  # noqa: BLE001  the JVM that had the text has gone
        return type(error).__name__
    lines = takewhile(lambda line: not line.lstrip().startswith(("at ", "JVM stacktrace")), text.splitlines())
    said = [line.strip() for line in lines if line.strip() and not line.startswith("An error occurred while calling")]
    if not said:
        return type(error).__name__
    line = said[-1] if any("Traceback (most recent call last)" in line for line in said) else said[0]
    return (line.rpartition("most recent failure: ")[2] or line).removeprefix(": ")


def last_lines(log: Path) -> str:
    """What Spark wrote last, indented for a message; empty when there is nothing."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - KEPT_BYTES))
            written = file.read().decode(errors="replace").splitlines()
    except OSError:
        return ""
    lines = [line for line in written if " ERROR " in line] or [line for line in written if line[:1].strip()]
    return "".join(f"\n  {line[:KEPT_COLUMNS]}" for line in lines[-KEPT_LINES:])
