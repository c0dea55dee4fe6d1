"""Which workloads there are."""

from __future__ import annotations

import pytest

from model.refusal import ExitCode, Refusal
from model.vocabulary import WORKLOADS as NAMES
from tests.workloads.virtual import Scene, planned
from workloads.catalogue import WORKLOADS, workload_named


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_workload_that_is_there_is_made_from_its_stage(name: str) -> None:
    """Each starts, asks, stops and comes to rest, as the run loop expects."""
    scene = Scene(planned(rate="100/s", name=name))
    workload = workload_named(name)(scene.stage)
    workload.start()
    scene.time.advance(1_000_000_000)
    workload.stop()
    assert scene.time.run_until(lambda: workload.idle, 1_000_000_000)
    assert len(scene.rows) > 50


@pytest.mark.parametrize("name", [name for name in NAMES if name not in WORKLOADS])
def test_a_workload_that_is_not_there_yet_is_refused(name: str) -> None:
    """A plan may say it; running it is refused with the names of those that can be run."""
    with pytest.raises(Refusal) as refused:
        workload_named(name)
    assert refused.value.exit_code is ExitCode.REFUSED
    assert name in str(refused.value)
    assert "allowed here: log" in str(refused.value)


def test_every_workload_is_one_that_a_plan_can_name() -> None:
    """Nothing is implemented that the vocabulary does not know."""
    assert [name for name in WORKLOADS if name not in NAMES] == []
