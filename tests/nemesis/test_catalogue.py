"""The catalogue: every name of the vocabulary is a fault, and every fault is a page that says what it promises."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import nemesis.faults
from model.vocabulary import FAULTS
from nemesis.catalogue import FAULTS_BY_NAME
from nemesis.fault import Fault

FILES = sorted(path.stem for path in Path(nemesis.faults.__file__).parent.glob("*.py") if path.stem != "__init__")


def test_every_name_has_its_fault_and_every_fault_its_name() -> None:
    """A plan that passes its checks can be carried out, and nothing here is out of a plan's reach."""
    assert list(FAULTS_BY_NAME) == list(FAULTS)
    assert sorted(FAULTS) == FILES


@pytest.mark.parametrize("name", FILES)
def test_every_file_opens_with_the_contract_of_the_fault_it_exports(name: str) -> None:
    """What it does, how it heals, when it bites, what it costs: in this order, under its own name."""
    module = importlib.import_module(f"nemesis.faults.{name}")
    first, blank, *lines = (module.__doc__ or "").splitlines()
    assert first.startswith(f"{name}: ")
    assert first.endswith(".")
    assert not blank
    words = [line.split()[0] for line in lines if not line.startswith(" ")]
    assert words == ["Does", "Heals", "Bites", "Costs"]
    faults = [value for value in vars(module).values() if isinstance(value, Fault)]
    assert faults == [FAULTS_BY_NAME[name]]
    assert vars(module)[name.upper()] is faults[0]


@pytest.mark.parametrize("name", FILES)
def test_a_fault_heals_where_the_vocabulary_says_so(name: str) -> None:
    """`for` is allowed exactly where there is something to undo."""
    assert (FAULTS_BY_NAME[name].heal is not None) == FAULTS[name].heals
