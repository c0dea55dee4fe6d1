"""spark_analysis/session.py: a Spark that starts anywhere, listens on loopback only, and keeps its chatter to itself.

In   a master (`local[2]`, `spark://host:port`)
Out  a session for the length of a `with`; or `NoJava`, with the command that adds one
Keeps what Spark says goes to a log file; whoever asks sees its last lines only when it could not start
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from model.refusal import InfrastructureFailure
from spark_analysis.java import Java, find_java


class NoJava(InfrastructureFailure):
    """Spark needs a Java 17 or 21; the analysis can still run on a process pool."""


@contextmanager
def spark_session(master: str = "local[*]", name: str = "tidemark") -> Iterator[Any]:
    """A SparkSession. Its scratch files and its log live in a temporary directory and go with it."""
    java = find_java()
    if java is None:
        raise NoJava("Spark needs Java 17 or 21, and this machine has none\n  add: make java")
    with tempfile.TemporaryDirectory(prefix="tidemark-spark-", ignore_cleanup_errors=True) as scratch:
        _point_at(java)
        log = Path(scratch) / "spark.log"
        try:
            with _standard_error_into(log):  # the JVM inherits it, and keeps it
                session = _builder(master, name, scratch).getOrCreate()
        except Exception as error:  # noqa: BLE001  Spark, py4j and the system each have their own way not to start
            last = "\n  ".join(log.read_text(errors="replace").splitlines()[-5:])
            raise InfrastructureFailure(f"Spark did not start on {java.source} ({java.version}): {error}\n  {last}") from None
        try:
            yield session
        finally:
            session.stop()


def _point_at(java: Java) -> None:
    os.environ["JAVA_HOME"] = str(java.home)
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = sys.executable  # workers must be able to import what we import


def _builder(master: str, name: str, scratch: str) -> Any:
    from pyspark.sql import SparkSession

    logging.getLogger("py4j").setLevel(logging.WARNING)
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": scratch,
        "spark.sql.warehouse.dir": f"{scratch}/warehouse",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",
        "spark.python.worker.reuse": "true",
    }
    builder = SparkSession.builder.master(master).appName(name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder


@contextmanager
def _standard_error_into(log: Path) -> Iterator[None]:
    """Point descriptor 2 at a file for a moment. Only a descriptor reaches a child; replacing sys.stderr would not."""
    kept = os.dup(2)
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        sys.stderr.flush()
        os.dup2(file, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(file)
