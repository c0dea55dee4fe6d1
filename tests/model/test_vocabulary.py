"""The vocabulary: names that agree with each other, so that plans can be checked before anything starts."""

from __future__ import annotations

import pytest

from model import cluster
from model.cluster import Ability
from model.config import SETTINGS
from model.document import from_data
from model.reading import read, write
from model.vocabulary import CLIENTS, CLUSTERS, FAULTS, OF_A_PARTITION, TARGETS, WORKLOADS

HANDLES = (cluster.Links, cluster.Processes, cluster.Clocks, cluster.Disks, cluster.Admin)


@pytest.mark.parametrize("ability", Ability)
def test_every_ability_is_one_method_of_one_handle(ability: Ability) -> None:
    """DESIGN 11.10: each verb is one ability, one handle method and one fault, by the same name."""
    assert [handle.__name__ for handle in HANDLES if hasattr(handle, ability.value)] != []
    assert sum(hasattr(handle, ability.value) for handle in HANDLES) == 1
    assert ability.value in FAULTS
    assert ability in FAULTS[ability.value].needs


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_says_what_it_is_and_needs(name: str) -> None:
    """A sentence for people, abilities a world can be asked for, and arguments whose defaults are of their own type."""
    fault = FAULTS[name]
    assert fault.says
    assert fault.needs <= set(Ability)
    for argument in fault.args.values():
        assert not (argument.required and argument.default is not None)
        if argument.default is not None:
            assert read(from_data(write(argument.default, argument.kind)), argument.kind) == argument.default


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_has_values_of_its_own_type(name: str) -> None:
    """Kafka's default and the brisk one can both be written into a plan."""
    setting = SETTINGS[name]
    for value in (setting.default, setting.brisk):
        if value is not None:
            assert read(from_data(value), setting.kind) == value


def test_brisk_keeps_the_order_of_the_timeouts() -> None:
    """Scaled together: heartbeat < session < lag, as in Kafka's defaults (PROTOCOL 11)."""
    names = ("broker.heartbeat.interval.ms", "broker.session.timeout.ms", "replica.lag.time.max.ms")
    for values in ([SETTINGS[name].default for name in names], [SETTINGS[name].brisk for name in names]):
        assert values == sorted(values)  # type: ignore[type-var]


def test_names_refer_to_names() -> None:
    """Targets, clients and worlds."""
    assert set(TARGETS) >= OF_A_PARTITION
    assert all(set(worlds) <= set(CLUSTERS) for worlds in CLIENTS.values())
    assert all(set(workload.clients) <= set(CLIENTS) for workload in WORKLOADS.values())
