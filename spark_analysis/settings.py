"""spark_analysis/settings.py: what we tell Spark, and why (docs/spark.md says it to users).

In     a master, the address to listen at, a scratch directory, the name of what is going on
Out    settings of the session; environment variables for the moment in which it starts
Keeps  what a cluster's owner decides stays theirs: executor memory and cores, security, everything in spark-defaults.conf that
       is not named here
"""

from __future__ import annotations

import os
import site
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from spark_analysis.java import Java
from spark_analysis.master import TASK_TRIES, Master

MARK = "TIDEMARK_RUN"  # whatever we start carries it
ROOT = Path(__file__).parents[1]  # where our packages are
# Only paths, numbers and rows of verdicts pass through the JVM, so what it could compile better never pays for itself: with these
# it starts in half the time.
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"
CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")

# Of somebody else's Spark: they would start another one than ours, or start ours otherwise.
FOREIGN = (
    "PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT", "SPARK_REMOTE", "SPARK_API_MODE", "SPARK_CONNECT_MODE_ENABLED", "MASTER",
)  # fmt: skip


def settings_of(master: Master, address: str, scratch: Path, name: str) -> dict[str, str]:
    host = f"[{address}]" if ":" in address else address
    return {
        "spark.master": master.spark_url,
        "spark.app.name": name,
        # Nothing listens beyond loopback unless the master is elsewhere, and nobody looks at a page of ours.
        "spark.driver.host": host,
        "spark.driver.bindAddress": host,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # The driver only passes things on; what it remembers of finished jobs must not grow through a night.
        "spark.driver.memory": f"{driver_memory_mb()}m",
        "spark.ui.retainedJobs": "50",
        "spark.ui.retainedStages": "50",
        "spark.ui.retainedTasks": "1000",
        # Everything that it writes goes with the session.
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": f"{scratch}/warehouse",
        "spark.driver.defaultJavaOptions": f'{QUICK_JAVA} "-Djava.io.tmpdir={scratch}"',
        "spark.log.level": "WARN",
        # A killed worker costs time. No task runs twice at once, no host is shut out for what was done to it.
        "spark.task.maxFailures": str(TASK_TRIES),
        "spark.excludeOnFailure.enabled": "false",
        "spark.speculation": "false",
        # Python workers stay: starting one costs more than a short task. A busy machine may need a while to answer one.
        "spark.python.worker.reuse": "true",
        "spark.python.authenticate.socketTimeout": "60s",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",
        "spark.executorEnv.PYTHONPATH": import_path(),
        f"spark.executorEnv.{MARK}": name,
    }


def environment_of(java: Java, spark_home: Path, address: str, master: Master, name: str) -> Mapping[str, str]:
    """What the driver's JVM and, under a local master, its Python workers inherit."""
    own = {
        **{key: value for key, value in os.environ.items() if key not in FOREIGN},
        "JAVA_HOME": str(java.home),
        "SPARK_HOME": str(spark_home),  # the one that is imported: another version speaks another protocol
        "SPARK_LOCAL_IP": address,
        "SPARK_LAUNCHER_OPTS": QUICK_JAVA,
        MARK: name,
    }
    if foreign := own.get("SPARK_CONF_DIR") is None and os.environ.get("SPARK_HOME"):
        own["SPARK_CONF_DIR"] = f"{foreign}/conf"  # their settings still count
    if master.is_local or "PYSPARK_PYTHON" not in own:
        own["PYSPARK_PYTHON"] = sys.executable  # workers must be able to import what we import
    return own


def import_path() -> str:
    """Where workers find our packages; whatever stood there before comes after. An installed package needs no help."""
    installed = {Path(directory).resolve() for directory in site.getsitepackages()}
    own = [] if ROOT.resolve() in installed else [str(ROOT)]
    return os.pathsep.join([*own, *filter(None, [os.environ.get("PYTHONPATH")])])


def driver_memory_mb() -> int:
    """A quarter of the machine, or of what the container may use: at least 512 MB, at most 4 GB."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with suppress(OSError, ValueError):  # no such limit here, or `max`
        total = min(total, int(CGROUP_LIMIT.read_text()))
    return max(512, min(4096, total // 4 // 2**20))
