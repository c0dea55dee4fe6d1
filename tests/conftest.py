"""tests/conftest.py: what every test shares: hypothesis profiles, and tests that need a part of the machine.

A test marked `needs("java")` is skipped where `tidemark doctor` does not find Java; the closing lines name it, the reason and the
command that adds the part. With TIDEMARK_REQUIRE_PARTS=1 (the gate) a missing part is a failure instead.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from functools import cache
from typing import NoReturn

import pytest
from hypothesis import HealthCheck, settings

from harness import doctor
from tests.spark_cluster import SparkCluster

# What a shell without job control puts into the background ignores SIGINT, and so would every process that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)

REQUIRE = os.environ.get("TIDEMARK_REQUIRE_PARTS") == "1"

# The gate must answer the same twice, so its examples follow from the test's name; `make acceptance` looks for new ones.
settings.register_profile("gate", deadline=None, derandomize=True, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "acceptance", deadline=None, max_examples=2_000, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("TIDEMARK_EXAMPLES", "gate"))


@cache
def found(part: str) -> str | None:
    return doctor.look([part])[0].found


@pytest.fixture(autouse=True)
def parts_the_test_needs(request: pytest.FixtureRequest) -> Iterator[None]:
    for marker in request.node.iter_markers("needs"):
        for part in marker.args:
            if found(part) is None:
                absent(part, doctor.part(part).add)
    yield


@pytest.fixture(scope="session")
def _spark_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    if found("java") is None:
        absent("java", doctor.part("java").add)
    with SparkCluster(tmp_path_factory.mktemp("spark")) as cluster:
        yield cluster


@pytest.fixture
def spark_cluster(_spark_cluster: SparkCluster) -> SparkCluster:
    """A real standalone Spark: a master, two workers of one core, all of them alive. Started once, for whoever asks first.

    Tests that use it are marked `needs("java")`, and `xdist_group("spark")` so that one process has them all.
    """
    _spark_cluster.heal()
    return _spark_cluster


def absent(part: str, add: str) -> NoReturn:
    """Skip the test, by name and with the command that would add what it needs; in the gate that is a failure."""
    say = f"needs {part}, which is missing here; add it: {add}"
    if REQUIRE:
        pytest.fail(say, pytrace=False)
    pytest.skip(say)
