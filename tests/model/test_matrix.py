"""A matrix: lists to multiply become plans, in the order of the file."""

from __future__ import annotations

from model import document, matrix
from model.plan import digest


def expand(text: str) -> tuple[matrix.Cell, ...]:
    return matrix.expand(document.parse("tidemark: 1\n" + text, "some.yaml"))


def test_every_combination_once_the_last_path_fastest() -> None:
    """2 x 3 values are 6 plans, each with exactly what was chosen for it."""
    cells = expand("matrix: {workload/acks: [all, 1], topics/t/config/min.insync.replicas: [1, 2, 3]}")
    assert [(c.plan.workload.acks, c.plan.topics["t"].config["min.insync.replicas"]) for c in cells] == [
        (-1, 1),
        (-1, 2),
        (-1, 3),
        (1, 1),
        (1, 2),
        (1, 3),
    ]
    assert cells[5].chosen == {"workload/acks": 1, "topics/t/config/min.insync.replicas": 3}
    assert len({digest(c.plan) for c in cells}) == 6


def test_whole_sections_can_be_multiplied() -> None:
    """A value may be a mapping or a list, such as a schedule."""
    cells = expand("matrix: {schedule: [none, swarm, [{at: 5s, fault: kill, target: n1}]], nodes: [{brokers: 3}, {brokers: 5}]}")
    assert [
        (c.plan.schedule if isinstance(c.plan.schedule, str) else len(c.plan.schedule), c.plan.nodes.brokers) for c in cells
    ] == [
        ("none", 3),
        ("none", 5),
        ("swarm", 3),
        ("swarm", 5),
        (1, 3),
        (1, 5),
    ]


def test_expansion_is_pure() -> None:
    """The same document gives the same plans again, and is not changed by it."""
    root = document.parse("tidemark: 1\nseed: 7\nmatrix: {seed: [1, 2]}\n", "some.yaml")
    assert matrix.expand(root) == matrix.expand(root)
    assert document.plain(root) == {"tidemark": 1, "seed": 7, "matrix": {"seed": [1, 2]}}


def test_without_a_matrix_there_is_one_plan() -> None:
    """And nothing was chosen for it."""
    (cell,) = expand("seed: 3")
    assert (cell.chosen, cell.plan.seed) == ({}, 3)
