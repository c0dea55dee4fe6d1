"""model/matrix.py: one plan with lists to multiply becomes many plans without.

In   a document whose `matrix` maps paths to lists of values: `matrix: {topics/t/config/min.insync.replicas: [1, 2]}`
Out  one `Cell` per combination, in the order of the file, the last path varying fastest; each plan checked like any other
A pure function: nothing is read, drawn or remembered.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import prod

import msgspec

from model.document import Node, plain
from model.plan import Plan
from model.plan_file import read_plan, replace_field

MOST_CELLS = 100_000


class Cell(msgspec.Struct, frozen=True):
    """One combination: what was chosen for each path, and the plan that follows."""

    chosen: dict[str, object]
    plan: Plan


def expand(root: Node) -> tuple[Cell, ...]:
    """Every plan that a document stands for; one, with nothing chosen, when there is no matrix."""
    if root.entries is None or "matrix" not in root.entries:
        return (Cell({}, read_plan(root)),)
    axes = _axes(root.entries["matrix"])
    base = replace(root, entries={key: value for key, value in root.entries.items() if key != "matrix"})
    cells = []
    for values in product(*axes.values()):
        node = base
        for path, value in zip(axes, values, strict=True):
            node = replace_field(node, tuple(path.split("/")), value)
        chosen = {path: plain(value) for path, value in zip(axes, values, strict=True)}
        cells.append(Cell(chosen, read_plan(node)))
    return tuple(cells)


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
