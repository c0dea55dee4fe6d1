"""spark_analysis/session.py: a Spark that starts anywhere, listens on loopback only, and keeps its chatter to itself.

In     a master (`local[*]`, `local[2]`, `spark://host:port`)
Out    a session for the length of a `with`; or `NoJava`, `SparkFailure` in one sentence, with the last lines of Spark's log
Keeps  the session, its JVM, its scratch files and its log end together. Of a driver that was killed the JVM ends by itself, and
       what it left on the disk goes with the next start. Ctrl-C and the environment are afterwards as they were before
Not    what is set and why (spark_analysis/settings.py), finding a Java (java.py) and the master (master.py)
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from model.files import LocalFiles
from model.staging import Claim, ownerless
from spark_analysis.failure import NoJava, NoSpark, SparkFailure, last_lines, words_of
from spark_analysis.java import Java, find_java
from spark_analysis.master import Master, master_of
from spark_analysis.settings import environment_of, settings_of

__all__ = ["NoJava", "NoSpark", "SparkFailure", "spark_session"]

SET_BY_PYSPARK = ("SPARK_AUTH_SOCKET_TIMEOUT", "SPARK_BUFFER_SIZE")  # for as long as the session lives
END_LIMIT_S = 15.0  # its shutdown hooks tell the master and remove what they wrote


@contextmanager
def spark_session(master: str = "local[*]", name: str = "tidemark") -> Iterator[Any]:
    """A SparkSession. What Spark raises inside comes out as `SparkFailure`."""
    wanted = master_of(master)
    spark_home, java = _parts()
    address = wanted.own_address()
    with _scratch() as scratch:
        log = scratch / "spark.log"
        environment = environment_of(java, spark_home, address, wanted, name)
        gateway = _launch(settings_of(wanted, address, scratch, name), environment, log, java)
        try:
            session = _connect(gateway, environment, wanted, log)
            with _told_in_one_sentence(log):
                yield session
        finally:
            _end(gateway)


def _parts() -> tuple[Path, Java]:
    spark = find_spec("pyspark")
    if spark is None or spark.origin is None:
        raise NoSpark("pyspark is not installed here\n  add: pip install 'tidemark[spark]'")
    java = find_java()
    if java is None:
        raise NoJava("Spark needs Java 17 or 21, and this machine has none\n  add: make java")
    return Path(spark.origin).parent, java


@contextmanager
def _scratch() -> Iterator[Path]:
    """A directory under a lock that the kernel frees when we die; those of the dead are removed first."""
    parent = Path(tempfile.gettempdir()) / f"tidemark-{os.getuid()}" / "spark"
    with ownerless(parent) as directories:
        for directory in directories:
            shutil.rmtree(directory, ignore_errors=True)
    claim = Claim(parent, "session", LocalFiles())
    try:
        yield claim.directory
    finally:
        claim.release()


def _launch(settings: Mapping[str, str], environment: Mapping[str, str], log: Path, java: Java) -> Any:
    """The driver's JVM. It ends when the pipe to its standard input does: with us, however we end."""
    from pyspark import SparkConf
    from pyspark.java_gateway import launch_gateway

    conf = SparkConf(loadDefaults=False)
    for key, value in settings.items():
        conf.set(key, value)
    with log.open("wb") as output, _environment(environment):
        try:
            # In a session of its own: the terminal's Ctrl-C is for us.
            how = {"stdout": output, "stderr": subprocess.STDOUT, "start_new_session": True}
            return launch_gateway(conf, how)  # type: ignore[no-untyped-call]
        except Exception as error:  # noqa: BLE001  pyspark, py4j and the system each have their own way not to start
            said = f"Spark did not start on {java.source} ({java.version}): {words_of(error)}{last_lines(log)}"
            raise SparkFailure(said) from None


def _connect(gateway: Any, environment: Mapping[str, str], master: Master, log: Path) -> Any:
    """The session proper: here a standalone master hears of us for the first time."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    try:
        with _environment(environment), _interrupts_as_before():
            return SparkSession(SparkContext(conf=SparkConf(loadDefaults=False), gateway=gateway))
    except Exception as error:  # noqa: BLE001  as above
        lines = last_lines(log)
        silent = "All masters are unresponsive" in lines
        why = "it does not answer as a Spark master of this version does" if silent else words_of(error)
        raise SparkFailure(f"no session at {master.url}: {why}{lines}") from None


@contextmanager
def _told_in_one_sentence(log: Path) -> Iterator[None]:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except SparkFailure as failure:
        raise SparkFailure(f"{failure}{last_lines(log)}") from None
    except (Py4JError, PySparkException) as error:
        raise SparkFailure(f"Spark: {words_of(error)}{last_lines(log)}") from error


def _end(gateway: Any) -> None:
    """Session and JVM, in whatever state they are: a lost connection, an interrupted call, a JVM that was killed."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if (session := SparkSession._instantiatedSession) is not None:
        with suppress(Exception):
            session.stop()
    if (context := SparkContext._active_spark_context) is not None:
        with suppress(Exception):
            context.stop()
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None
    with suppress(Exception):
        gateway.shutdown()
    _set_variables(SET_BY_PYSPARK, {})
    _end_process(gateway.proc)


def _end_process(jvm: subprocess.Popen[bytes]) -> None:
    with suppress(OSError):
        if jvm.stdin is not None:
            jvm.stdin.close()
    try:
        jvm.wait(END_LIMIT_S)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(jvm.pid, signal.SIGKILL)  # and the Python workers of a local master
        jvm.wait()


@contextmanager
def _environment(wanted: Mapping[str, str]) -> Iterator[None]:
    """Ours, for a moment: pyspark takes these things from nowhere else."""
    before = dict(os.environ)
    changed = {key for key in wanted.keys() | before.keys() if wanted.get(key) != before.get(key)}
    try:
        _set_variables(changed, wanted)
        yield
    finally:
        _set_variables(changed, before)


def _set_variables(names: Iterable[str], values: Mapping[str, str]) -> None:
    for name in names:
        if name in values:
            os.environ[name] = values[name]
        else:
            os.environ.pop(name, None)


@contextmanager
def _interrupts_as_before() -> Iterator[None]:
    """pyspark replaces what Ctrl-C does, and never puts it back."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread() and before is not None:
            signal.signal(signal.SIGINT, before)
