"""harness/shrink/spoken.py: a plan without what goes without saying.

In     a plan
Out    plain data in the order of the file; read again it is the same plan, but for its tag, which every run gets anew
"""

from __future__ import annotations

from typing import Any

from model.plan import Plan, Topic, to_data
from model.reading import write

DEFAULTS = to_data(Plan(tidemark=1))
OF_A_TOPIC = write(Topic(), Topic)
BY_FIELD = ("nodes", "workload", "judge")
"""Sections of which each field has a default of its own; the others are said as a whole, or not at all."""


def spoken(plan: Plan) -> dict[str, Any]:
    data = to_data(plan)
    said = {"tidemark": data["tidemark"]}
    for key, value in data.items():
        if key != "tag" and value != DEFAULTS[key]:
            said[key] = _section(key, value)
    return said


def _section(key: str, value: Any) -> Any:
    if key in BY_FIELD:
        return _other_than(DEFAULTS[key], value)
    return {name: _other_than(OF_A_TOPIC, topic) for name, topic in value.items()} if key == "topics" else value


def _other_than(defaults: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if value != defaults[key]}
