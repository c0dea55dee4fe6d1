"""Schedules: the same events as YAML, as structs and as Parquet."""

from __future__ import annotations

import io

import pyarrow.parquet as pq
from hypothesis import given

from model import document
from model.reading import read, write
from model.schedule import Event, Schedule, from_table, sides_of, to_table, typed_arguments, written_target
from tests.strategies import schedules


@given(schedules())
def test_a_schedule_is_the_same_after_yaml_and_parquet(schedule: Schedule) -> None:
    """It is stored with the run, replayed and shrunk: no form may lose or change anything."""
    as_data = write(schedule, Schedule)
    assert read(document.from_data(as_data), Schedule) == schedule
    file = io.BytesIO()
    pq.write_table(to_table(schedule), file)
    assert from_table(pq.read_table(file)) == schedule


@given(schedules())
def test_arguments_are_typed_when_a_fault_wants_them(schedule: Schedule) -> None:
    """What a plan may say is also what a fault can be handed."""
    for event in schedule:
        typed = typed_arguments(event)
        assert set(event.args) <= set(typed)
        assert all(typed[key] is not None for key in event.args)


def test_defaults_and_units_reach_the_fault() -> None:
    """A fault never parses text."""
    event = Event(at_ns=0, fault="delay", target="n1", args={"latency": "50ms"})
    assert typed_arguments(event) == {"shape": None, "one_way": False, "streams": "both", "latency": 50 * 10**6, "jitter": None}


def test_a_target_has_one_written_form() -> None:
    """Names, lists of names and sides."""
    assert written_target("leader") == "leader"
    assert written_target(("n1", "n2")) == "n1 | n2"
    assert written_target((("n1", "clients"), "n3")) == "n1 clients | n3"
    assert sides_of((("n1", "clients"), "n3")) == (("n1", "clients"), ("n3",))
