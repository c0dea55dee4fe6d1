"""model/matrix.py: one plan with lists to multiply becomes many plans without.

In   a document whose `matrix` maps paths to lists of values: `matrix: {topics/t/config/min.insync.replicas: [1, 2]}`
Out  `expand`: one `Cell` per combination, in the order of the file, the last path varying fastest; each checked like any plan.
     `combinations`: the same, with an `Impossible` for each whose values are fine, though not beside each other
Pure functions: nothing is read, drawn or remembered.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import prod

import msgspec

from model.document import Node, plain
from model.plan import Plan
from model.plan_file import read_plan, replace_field
from model.refusal import Refusal

MOST_CELLS = 100_000


class Cell(msgspec.Struct, frozen=True):
    """One combination: what was chosen for each path, and the plan that follows."""

    chosen: dict[str, object]
    plan: Plan


class Impossible(msgspec.Struct, frozen=True):
    """A combination that no plan can have, such as more replicas in sync than there are."""

    chosen: dict[str, object]
    refusal: Refusal


def expand(root: Node) -> tuple[Cell, ...]:
    """Every plan that a document stands for; one, with nothing chosen, when there is no matrix."""
    return tuple(Cell(chosen, read_plan(node)) for chosen, node in _documents(root))


def combinations(root: Node) -> tuple[Cell | Impossible, ...]:
    """As `expand`, and what cannot be stands in its place. A value that no combination can have is refused: it is a mistake."""
    found: list[Cell | Impossible] = []
    for chosen, node in _documents(root):
        try:
            found.append(Cell(chosen, read_plan(node)))
        except Refusal as refusal:
            found.append(Impossible(chosen, refusal))
    fine = {part for each in found if isinstance(each, Cell) for part in _parts(each.chosen)}
    for each in found:
        if isinstance(each, Impossible) and not (fine and fine >= _parts(each.chosen)):
            raise each.refusal
    return tuple(found)


def _parts(chosen: dict[str, object]) -> set[str]:
    """Each path with its value; a value may be a whole section."""
    return {json.dumps([path, value]) for path, value in chosen.items()}


def _documents(root: Node) -> Iterator[tuple[dict[str, object], Node]]:
    """What was chosen for each path, and the document without a matrix that follows."""
    if root.entries is None or "matrix" not in root.entries:
        yield {}, root
        return
    axes = _axes(root.entries["matrix"])
    base = replace(root, entries={key: value for key, value in root.entries.items() if key != "matrix"})
    for values in product(*axes.values()):
        node = base
        for path, value in zip(axes, values, strict=True):
            node = replace_field(node, tuple(path.split("/")), value)
        yield {path: plain(value) for path, value in zip(axes, values, strict=True)}, node


def _axes(matrix: Node) -> dict[str, tuple[Node, ...]]:
    if matrix.entries is None:
        raise matrix.refuse(f"found {matrix.kind}", allowed="a mapping, path: [values]")
    axes: dict[str, tuple[Node, ...]] = {}
    for path, values in matrix.entries.items():
        if not values.items:
            raise values.refuse(
                f"found {values.kind if values.items is None else 'an empty list'}", allowed="a list of values to try"
            )
        seen = [plain(value) for value in values.items]
        for i, value in enumerate(seen):
            if value in seen[:i]:
                raise values.refuse(f"{value!r} stands here twice", i, allowed="each value once")
        if "" in path.split("/") or path.split("/")[0] in ("matrix", "tidemark"):
            raise values.refuse(f"not a path: {path!r}", allowed="a path inside the plan, such as workload/acks")
        axes[path] = values.items
    cells = prod(len(values) for values in axes.values())
    if not axes or cells > MOST_CELLS:
        raise matrix.refuse(f"this makes {cells if axes else 0:,} plans", allowed=f"1 to {MOST_CELLS:,}")
    return axes
