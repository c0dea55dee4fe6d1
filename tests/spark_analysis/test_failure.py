"""Of forty lines of Java, the one that matters."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_analysis.failure import KEPT_LINES, last_lines, words_of

PYTHON = """ An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "/spark/worker.py", line 4327, in invoke_udf
    run_process()
  File "/mine.py", line 13, in bad
    import harness
ModuleNotFoundError: No module named 'harness'

JVM stacktrace:
org.apache.spark.api.python.PythonException: ...
"""
DIED = """An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 2.0 failed 8 times, most recent failure: \
Lost task 0.7 in stage 2.0 (TID 3) (far executor 1): ExecutorLostFailure (executor 1 exited)
\tat org.apache.spark.scheduler.DAGScheduler.failJobAndIndependentStages(DAGScheduler.scala:2898)
Caused by: java.io.EOFException
"""
STOPPED = """An error occurred while calling o27.sc.
: java.lang.IllegalStateException: Cannot call methods on a stopped SparkContext.
This stopped SparkContext was created at:
"""


class Gone(Exception):
    def __str__(self) -> str:
        raise ConnectionRefusedError("the JVM has gone")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (RuntimeError(PYTHON), "ModuleNotFoundError: No module named 'harness'"),
        (
            RuntimeError(DIED),
            "Lost task 0.7 in stage 2.0 (TID 3) (far executor 1): ExecutorLostFailure (executor 1 exited)",
        ),
        (RuntimeError(STOPPED), "java.lang.IllegalStateException: Cannot call methods on a stopped SparkContext."),
        (RuntimeError("plain"), "plain"),
        (RuntimeError(), "RuntimeError"),
        (Gone(), "Gone"),
    ],
)
def test_one_line_says_what_happened(error: Exception, words: str) -> None:
    """Python's own last words, Java's first ones, or at least the kind of the exception."""
    assert words_of(error) == words


@pytest.mark.parametrize("also", ["", "26/11/19 23:39:48 INFO nothing\nCaused by: java.io.EOFException\n"])
def test_the_end_of_a_log_is_told_without_its_stack_traces(tmp_path: Path, also: str) -> None:
    """The last errors, each shortened; where there are none, the last lines; a log that is not there says nothing."""
    log = tmp_path / "spark.log"
    assert last_lines(log) == ""
    level = "ERROR" if also else "Error:"  # of Spark, or of a JVM that did not even start
    log.write_text(
        "".join(f"a {level} {number} {'x' * 1000}\n\tat org.apache.Spark\n  and so on\n\n{also}" for number in range(100))
    )
    lines = last_lines(log).split("\n  ")
    assert lines[0] == ""
    assert [line.split()[2] for line in lines[1:]] == [str(number) for number in range(100 - KEPT_LINES, 100)]
    assert max(map(len, lines)) <= 300
