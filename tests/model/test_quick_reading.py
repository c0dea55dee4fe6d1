"""Reading quickly what was read strictly once: the same value, or nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given

from model.plan import Plan, to_json
from model.plan_file import from_data, of_stored
from model.quick_reading import NotPlain, quick_reader
from model.refusal import Refusal
from tests.strategies import plans


@given(plans())
def test_a_stored_plan_is_read_as_the_strict_reader_reads_it(plan: Plan) -> None:
    """Whatever can be planned."""
    data = json.loads(to_json(plan))
    assert quick_reader(Plan)(data) == from_data(data, "plan.json") == plan
    assert of_stored(to_json(plan), "plan.json") == plan


def put(path: str, value: object) -> Callable[[dict[str, Any]], None]:
    def change(data: dict[str, Any]) -> None:
        *above, key = path.split("/")
        for name in above:
            data = data[name]
        data[key] = value

    return change


def drop(key: str) -> Callable[[dict[str, Any]], None]:
    return lambda data: data.pop(key)


MISTAKES: dict[str, Callable[[dict[str, Any]], None]] = {
    "an unknown key": put("fourteen", 1),
    "an unknown key below": put("nodes/cats", 1),
    "a missing key": drop("tidemark"),
    "another version": put("tidemark", 2),
    "a list for a number": put("seed", [1]),
    "a number out of range": put("nodes/brokers", 100),
    "nothing for a number": put("seed", None),
    "a word for a truth": put("drawn", "true"),
    "a word that is no choice": put("workload/spread", "wide"),
    "no such schedule": put("schedule", "calm"),
    "a mapping for a list": put("mutants", {}),
    "a list for a mapping": put("topics", []),
    "no topic name": put("topics", {"a b": {}}),
    "a fraction in the config": put("config", {"x": 1.5}),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_what_the_strict_reader_might_refuse_is_not_read(mistake: Callable[[dict[str, Any]], None]) -> None:
    data = json.loads(to_json(Plan(tidemark=1)))
    mistake(data)
    with pytest.raises(ValueError):
        quick_reader(Plan)(data)


def test_a_stored_plan_that_cannot_be_read_is_refused_in_one_sentence() -> None:
    """The strict reader says what is wrong, and where."""
    with pytest.raises(Refusal, match=r"^n/00001: plan\.json: seed: not a whole number"):
        of_stored(to_json(Plan(tidemark=1)).replace(b'"seed":1', b'"seed":"a"'), "n/00001: plan.json")
    with pytest.raises(Refusal, match=r"^plan\.json: not JSON: "):
        of_stored(b"{", "plan.json")


def test_scalars_keep_their_spelling() -> None:
    """A choice, a text and a truth are told apart as the strict reader does."""
    assert quick_reader(str)(12) == "12"
    assert quick_reader(str)(True) == "true"
    assert quick_reader(bool)(False) is False
    with pytest.raises(NotPlain):
        quick_reader(str)(None)
