"""tests/spark_cluster.py: a real standalone Spark on loopback: a master and workers, each a process that `spark-class` starts.

In     an empty directory: everything that they write stays below it
Out    `url` for `--master`; workers that can be killed with their executors, and new ones
Keeps  every port is one that the system has given. Processes are ended by pid, and by the kernel when the tests die first;
       whatever an executor starts carries a mark of this cluster in its environment, so that a stray one is found
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from spark_analysis.java import find_java
from spark_analysis.settings import QUICK_JAVA
from tests.harness.pool_watch import processes_with, read_of, wait_until

MARK = "TIDEMARK_TEST_CLUSTER"
WORKERS = 2
# PR_SET_PDEATHSIG, SIGTERM: the kernel ends it when the process of the tests dies. It stays through exec.
BEGIN = "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 15); os.execv(sys.argv[1], sys.argv[1:])"
PORT = re.compile(r"Successfully started service '(\w+)' on port (\d+)")


class SparkCluster:
    """One master and some workers of one core and 1 GB each."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.mark = f"{os.getpid()}-{directory.name}"
        self.workers: list[subprocess.Popen[bytes]] = []
        self._masters: list[subprocess.Popen[bytes]] = []
        self._names: dict[int, str] = {}  # of all workers that there ever were, by pid

    def __enter__(self) -> SparkCluster:
        try:
            self._masters.append(self._start("master", "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1"))
            self.url = f"spark://127.0.0.1:{self._port('master', 'sparkMaster')}"
            self._web_port = self._port("master", "MasterUI")
            self.heal()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Workers first: they end their executors."""
        started = [*self.workers, *self._masters]
        for process in started:
            process.terminate()
        for process in started:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        with suppress(TimeoutError):
            wait_until(lambda: self.processes() == [])
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)

    def heal(self) -> None:
        """As many workers as there were at first."""
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        for _ in range(WORKERS - len(self.workers)):
            name = f"worker-{len(self._names) + 1}"
            words = ("--host", "127.0.0.1", "-c", "1", "-m", "1g", self.url)
            worker = self._start(name, "org.apache.spark.deploy.worker.Worker", *words)
            self.workers.append(worker)
            self._names[worker.pid] = name
        wanted = {self._port(self._names[worker.pid], "sparkWorker") for worker in self.workers}
        wait_until(lambda: wanted <= self._registered() or self._somebody_has_gone())

    def kill(self, worker: subprocess.Popen[bytes]) -> list[int]:
        """SIGKILL, to the worker and to its executors; which these were. Their Python processes have to end by themselves."""
        executors = self.executors(worker)
        for pid in (worker.pid, *executors):
            os.kill(pid, signal.SIGKILL)
        worker.wait()
        return executors

    def executors(self, worker: subprocess.Popen[bytes]) -> list[int]:
        return [pid for pid in self.processes() if _parent(pid) == worker.pid]

    def at_work(self, worker: subprocess.Popen[bytes]) -> bool:
        """Whether runs are executed below it by now."""
        below = {worker.pid}
        for pid in sorted(self.processes()):  # children have greater numbers, or we see it the next time
            if _parent(pid) in below:
                below.add(pid)
        return any(b"harness.worker" in read_of(pid, "cmdline") for pid in below)

    def processes(self) -> list[int]:
        """Everything that was started here, and by whatever was started here."""
        return processes_with(f"{MARK}={self.mark}")

    def _registered(self) -> set[int]:
        """The ports of those that the master knows and takes for alive: for a moment also one that was just killed."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self._web_port}/json/", timeout=30) as answer:
            return {worker["port"] for worker in json.load(answer)["workers"] if worker["state"] == "ALIVE"}

    def said(self, name: str) -> str:
        return (self.directory / f"{name}.log").read_text(errors="replace")

    def _start(self, name: str, main: str, *words: str) -> subprocess.Popen[bytes]:
        pyspark = find_spec("pyspark")
        assert pyspark is not None
        assert pyspark.origin is not None
        home = Path(pyspark.origin).parent
        with (self.directory / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                [
                    sys.executable,
                    "-c",
                    BEGIN,
                    str(home / "bin" / "spark-class"),
                    main,
                    "--port",
                    "0",
                    "--webui-port",
                    "0",
                    *words,
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.directory,
                env=self._environment(home, name),
                start_new_session=True,
            )

    def _environment(self, home: Path, name: str) -> dict[str, str]:
        java = find_java()
        assert java is not None
        own = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_"))}
        return {
            **own,
            MARK: self.mark,
            "JAVA_HOME": str(java.home),
            "JDK_JAVA_OPTIONS": f"{QUICK_JAVA} -Djava.io.tmpdir={self.directory}",
            "SPARK_LAUNCHER_OPTS": QUICK_JAVA,
            "SPARK_HOME": str(home),
            "SPARK_CONF_DIR": str(self.directory),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "512m",
            "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
            "SPARK_WORKER_DIR": str(self.directory / name),
            "SPARK_LOCAL_DIRS": str(self.directory / f"{name}-local"),
        }

    def _port(self, name: str, service: str) -> int:
        wait_until(lambda: service in dict(PORT.findall(self.said(name))) or self._somebody_has_gone())
        return int(dict(PORT.findall(self.said(name)))[service])

    def _somebody_has_gone(self) -> bool:
        for process in (*self._masters, *self.workers):
            assert process.poll() is None, f"a part of the cluster has ended:\n{self._last_words()}"
        return False

    def _last_words(self) -> str:
        return "\n".join(f"{log.name}: {log.read_text(errors='replace')[-1000:]}" for log in self._logs())

    def _logs(self) -> Iterator[Path]:
        yield from sorted(self.directory.glob("*.log"))


def _parent(pid: int) -> int:
    fields = read_of(pid, "stat").rpartition(b")")[2].split()
    return int(fields[1]) if fields else 0
