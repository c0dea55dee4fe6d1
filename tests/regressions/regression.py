"""tests/regressions/regression.py: a bug that was found, as a small file (STYLE 2.12).

In     a YAML file: its story as a comment; `plan`, as in a plan file, without version, schedule and mutants; `schedule`;
       `expect`: what is seen with the right rules, and with each mutant: valid, or the signature of the failure
Out    a `Regression`: for each line of `expect` the plan to execute
Keeps  a file that says anything else is refused, with its line: an expectation that nobody reads would pass for ever
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec

from model import document
from model.document import Node
from model.plan import Plan
from model.plan_file import read_plan
from model.reading import check_keys, field_names
from model.refusal import near_miss
from model.vocabulary import MUTANTS

KEYS = ("plan", "schedule", "expect")
OF_A_RUN = ("tidemark", "tag", "drawn", "mutants", "schedule", "faults")
"""What a plan file may say, and a regression says elsewhere, or not at all."""
RIGHT, WITH = "right rules", "with "


class Expected(msgspec.Struct, frozen=True):
    """One line: under which rules what is seen."""

    rules: str
    plan: Plan
    seen: str


class Regression(msgspec.Struct, frozen=True):
    name: str
    story: str
    expected: tuple[Expected, ...]


def read_regression(path: Path) -> Regression:
    root = document.load(path)
    check_keys(root, KEYS)
    for key in KEYS:
        if root.entries is None or key not in root.entries:
            raise root.refuse("this key is missing", key, allowed=", ".join(KEYS))
    story = _story(path, root)
    return Regression(path.stem, story, tuple(_expected(root.entries["expect"], _plan(root))))


def _story(path: Path, root: Node) -> str:
    lines = path.read_text().splitlines()
    told = [line.removeprefix("#").strip() for line in lines[: _first_that_is_no_comment(lines)]]
    if not any(told):
        raise root.refuse("a regression begins with its story", allowed="a comment before everything else")
    return " ".join(told)


def _first_that_is_no_comment(lines: list[str]) -> int:
    return next((number for number, line in enumerate(lines) if not line.startswith("#")), len(lines))


def _plan(root: Node) -> Plan:
    """One plan of both sections; a mistake in either is told with its line."""
    plan, schedule = root.descend("plan"), root.descend("schedule")
    if plan.entries is None:
        raise plan.refuse(f"found {plan.kind}", allowed="a mapping, key: value")
    check_keys(plan, [name for name in field_names(Plan) if name not in OF_A_RUN])
    entries = {"tidemark": document.from_data(1), **plan.entries, "schedule": schedule}
    return read_plan(replace(plan, path=(), entries=entries))


def _expected(node: Node, plan: Plan) -> Iterator[Expected]:
    entries = node.entries or {}
    if RIGHT not in entries or len(entries) < 2:
        raise node.refuse("both are expected: what is right, and what is wrong", allowed=f"{RIGHT}: ..., {WITH}B11: ...")
    for key, seen in entries.items():
        mutant = key.removeprefix(WITH)
        if key != RIGHT and (not key.startswith(WITH) or mutant not in MUTANTS):
            known = [RIGHT, *(f"{WITH}{name}" for name in MUTANTS)]
            raise seen.refuse(f"unknown key {key!r}", allowed=", ".join(known), meant=near_miss(key, known))
        if seen.text != "valid" and not (seen.text or "").startswith(("s1:", "i1:")):
            raise seen.refuse(f"found {seen.text!r}", allowed="valid, or a signature")
        mutants = () if key == RIGHT else (mutant,)
        yield Expected(key, msgspec.structs.replace(plan, mutants=mutants), seen.text or "")
