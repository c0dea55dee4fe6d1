"""Runs that were really simulated, once per process: copies of them fill the stores of all tests here."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from model.store import Store
from tests.spark_analysis.stores import simulate

CAMPAIGN = "nightly"
SIMULATED = 6


@pytest.fixture(scope="session")
def few_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of a few runs of two seconds."""
    path = tmp_path_factory.mktemp("few") / "store"
    simulate(Store(path), CAMPAIGN, range(SIMULATED))
    return path


@pytest.fixture
def store(few_runs: Path, tmp_path: Path) -> Store:
    """The same, to be ruined."""
    shutil.copytree(few_runs, tmp_path / "store")
    return Store(tmp_path / "store")
