"""What Spark is told: everything on loopback and in the scratch directory, unless the master is elsewhere."""

from __future__ import annotations

import os
import site
import sys
from pathlib import Path

import pytest

from spark_analysis import settings
from spark_analysis.java import Java
from spark_analysis.master import master_of
from spark_analysis.settings import driver_memory_mb, environment_of, import_path, settings_of

JAVA = Java(Path("/java"), "21", "PATH")
FAR, HERE = master_of("spark://far:7077"), master_of("local[2]")


def environment(master: str = "local[2]") -> dict[str, str]:
    return dict(environment_of(JAVA, Path("/spark"), "127.0.0.1", master_of(master), "night-1"))


def test_the_driver_listens_where_it_is_told_to(tmp_path: Path) -> None:
    """And writes nowhere but into its scratch directory."""
    told = settings_of(FAR, "192.0.2.1", tmp_path, "night-1")
    assert (told["spark.driver.host"], told["spark.driver.bindAddress"]) == ("192.0.2.1", "192.0.2.1")
    assert settings_of(FAR, "::1", tmp_path, "night-1")["spark.driver.host"] == "[::1]"
    places = ("spark.local.dir", "spark.sql.warehouse.dir", "spark.driver.defaultJavaOptions")
    assert all(str(tmp_path) in told[place] for place in places)


def test_what_belongs_to_the_owner_of_the_cluster_is_not_set(tmp_path: Path) -> None:
    """Memory and cores of executors, security: their defaults and their spark-defaults.conf decide."""
    told = settings_of(FAR, "192.0.2.1", tmp_path, "night-1")
    assert not [key for key in told if key.startswith(("spark.executor.", "spark.cores", "spark.auth", "spark.ssl"))]


def test_workers_find_our_packages_and_carry_our_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkout is put before what is installed; the user's own path stays behind it."""
    monkeypatch.setenv("PYTHONPATH", "/theirs")
    told = settings_of(HERE, "127.0.0.1", tmp_path, "night-1")
    assert told["spark.executorEnv.PYTHONPATH"] == f"{settings.ROOT}{os.pathsep}/theirs"
    assert (settings.ROOT / "harness" / "spark_hand.py").exists()
    assert told["spark.executorEnv.TIDEMARK_RUN"] == "night-1"
    monkeypatch.setattr(site, "getsitepackages", lambda: [str(settings.ROOT)])
    assert import_path() == "/theirs"


def test_somebody_elses_spark_is_not_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """SPARK_HOME may be another version; its settings still count. What would start Spark otherwise is left out."""
    monkeypatch.setenv("SPARK_HOME", "/opt/spark-3")
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--help")
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    told = environment()
    assert (told["SPARK_HOME"], told["SPARK_CONF_DIR"], told["JAVA_HOME"]) == ("/spark", "/opt/spark-3/conf", "/java")
    assert "PYSPARK_SUBMIT_ARGS" not in told
    monkeypatch.setenv("SPARK_CONF_DIR", "/etc/spark")
    assert environment()["SPARK_CONF_DIR"] == "/etc/spark"
    monkeypatch.delenv("SPARK_HOME")
    monkeypatch.delenv("SPARK_CONF_DIR")
    assert "SPARK_CONF_DIR" not in environment()


def test_workers_run_our_python_unless_theirs_is_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """On hosts of a cluster it may have another path: PYSPARK_PYTHON says which. Here there is only ours."""
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    assert environment("spark://far:7077")["PYSPARK_PYTHON"] == sys.executable
    monkeypatch.setenv("PYSPARK_PYTHON", "/opt/tidemark/bin/python")
    assert environment("spark://far:7077")["PYSPARK_PYTHON"] == "/opt/tidemark/bin/python"
    assert environment("local[2]")["PYSPARK_PYTHON"] == sys.executable


@pytest.mark.parametrize(
    ("machine_gb", "container", "memory_mb"),
    [(1, None, 512), (8, None, 2048), (64, None, 4096), (64, "max", 4096), (64, str(4 * 2**30), 1024)],
)
def test_the_driver_takes_a_quarter_of_what_there_is(
    machine_gb: int, container: str | None, memory_mb: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container may have less than its machine."""
    pages = {"SC_PHYS_PAGES": machine_gb * 2**18, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(os, "sysconf", pages.__getitem__)
    monkeypatch.setattr(settings, "CGROUP_LIMIT", tmp_path / "memory.max")
    if container is not None:
        (tmp_path / "memory.max").write_text(f"{container}\n")
    assert driver_memory_mb() == memory_mb
