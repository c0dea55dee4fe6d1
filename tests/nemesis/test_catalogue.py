"""The catalogue: every name of the vocabulary is a fault, and every fault is a page that says what it promises."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import nemesis.faults
from model.vocabulary import FAULTS
from nemesis.catalogue import FAULTS_BY_NAME
from nemesis.fault import Fault
from tests.nemesis.fake import FakeCluster, S, one_fault

REQUIRED: dict[str, dict[str, object]] = {
    "delay": {"latency": "5ms"},
    "throttle": {"rate": "1KiB/s"},
    "slice": {"gap": "2us", "size": "3B"},
    "gate": {"message": "Fetch", "action": "drop"},
    "slow": {"share": "0.25"},
    "restart_loop": {"every": "1s"},
    "skew": {"offset": "2ms"},
    "jump": {"by": "2ms"},
    "strobe": {"by": "3ms"},
    "drift": {"ppm": 40},
    "slow_sync": {"delay": "9ms"},
    "io_error": {"on": "sync"},
    "reassign": {"to": ["n1", "n2"]},
    "change_config": {"key": "min.insync.replicas", "value": 1, "topic": "t"},
}
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
def test_a_fault_lasts_where_the_vocabulary_says_so(name: str) -> None:
    """`for` is allowed exactly where there is something to undo: what is in force, or what has its own way back."""
    target = {"links": ("n1", "n4"), "nodes": "n2", "partition": "t/0", "cluster": None}[FAULTS[name].aim]
    run = one_fault(FakeCluster(), name, target, **REQUIRED.get(name, {}))
    run.run(10 * S)
    fault, in_force = FAULTS_BY_NAME[name], any(course.result.grips for course in run.nemesis._courses)
    assert (fault.heal is not None or in_force) == FAULTS[name].heals == fault.lasts
