"""tests/model/conftest.py: a store to write to, and an eye on how often it reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from model.run_record import RunRecord
from model.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


@pytest.fixture
def records_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of every run.json that was opened."""
    read_ones: list[int] = []
    real = Store.record

    def record(store: Store, campaign: str, number: int) -> RunRecord:
        read_ones.append(number)
        return real(store, campaign, number)

    monkeypatch.setattr(Store, "record", record)
    return read_ones
