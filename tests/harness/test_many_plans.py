"""From PLAN... to the cells of one campaign: files, presets, what they are called, what is dropped."""

from __future__ import annotations

import tomllib
from itertools import product
from pathlib import Path

import pytest

from harness.many_plans import PRESETS, many_plans, presets
from model.config_cell import facts_of
from model.refusal import InfrastructureFailure, Refusal

ROOT = Path(__file__).parents[2]
SWITCHES = list(product((False, True), (False, True), ("each", "never")))
"""Unclean elections, ELR, flush."""
OF_PRESETS = {
    "rf1": [(1, 1, "all")],
    "rf3-min1-acks-1": [(3, 1, "1")],
    "rf3-min1-acks-all": [(3, 1, "all")],
    "rf3-min2-acks-all": [(3, 2, "all")],
    "rf5": [(5, 2, "all"), (5, 3, "all"), (5, 4, "all")],
}


def a_plan(where: Path, text: str, name: str = "mine") -> str:
    path = where / f"{name}.yaml"
    path.write_text(f"tidemark: 1\n{text}")
    return str(path)


def test_there_is_a_preset_for_each_replication() -> None:
    """And no other."""
    assert [path.stem for path in presets()] == [*OF_PRESETS]


@pytest.mark.parametrize("name", OF_PRESETS)
def test_a_preset_multiplies_its_replication_by_every_switch(name: str) -> None:
    """Unclean elections, ELR, and a flush for each write or never."""
    facts = [facts_of(plan, "1") for plan in many_plans([f"presets/{name}"], []).plans]
    found = {(each.replicas, each.min_isr, each.acks, each.unclean, each.elr, each.flush) for each in facts}
    assert found == {(*of, *switches) for of in OF_PRESETS[name] for switches in SWITCHES}
    assert len(facts) == len(found)
    assert {(each.faults, each.workload) for each in facts} == {("all", "log")}


def test_all_presets_are_56_cells_and_each_has_a_name_of_its_own() -> None:
    """None of them says what another one says."""
    many = many_plans(["presets"], [])
    assert len(many.cells) == len({cell.name for cell in many.cells}) == 56
    assert (many.name, many.alike, many.dropped) == ("presets", "faults all, log", ())
    assert many.cells[0].name == "RF 1, min ISR 1, acks all, unclean off, ELR on, flush never"


def test_presets_are_shipped_beside_the_packages() -> None:
    """In a wheel as in a clone: every file of the directory is one of those that the build takes."""
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    package = ".".join(PRESETS.relative_to(ROOT).parts)
    assert package in setuptools["packages"]["find"]["include"]
    taken = {path for pattern in setuptools["package-data"][package] for path in PRESETS.glob(pattern)}
    assert taken == {*PRESETS.iterdir()} == {*presets()}


def test_an_installation_without_presets_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is the installation's failure."""
    monkeypatch.setattr("harness.many_plans.PRESETS", tmp_path)
    with pytest.raises(InfrastructureFailure, match="this installation has no presets"):
        many_plans(["presets"], [])


def test_a_preset_that_nobody_knows_is_refused_with_those_that_there_are() -> None:
    """And with the one that was probably meant."""
    with pytest.raises(Refusal, match="no such preset: 'rf3-min2-acks-al'") as refused:
        many_plans(["presets/rf3-min2-acks-al"], [])
    assert refused.value.meant == "rf3-min2-acks-all"


def test_a_file_comes_before_a_preset_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has a file called `presets` means that."""
    (tmp_path / "presets").write_text("tidemark: 1\nmatrix: {seed: [1, 2]}\n")
    monkeypatch.chdir(tmp_path)
    assert len(many_plans(["presets"], []).cells) == 2


def test_cells_are_called_by_what_differs(tmp_path: Path) -> None:
    """What is alike is said once; what people do not group by is told by its path."""
    many = many_plans([a_plan(tmp_path, "matrix: {workload/acks: [all, 1], workload/rate: [5/s, 9/s]}")], [])
    assert [cell.name for cell in many.cells] == [
        "acks all, workload/acks = all, workload/rate = 5/s",
        "acks all, workload/acks = all, workload/rate = 9/s",
        "acks 1, workload/acks = 1, workload/rate = 5/s",
        "acks 1, workload/acks = 1, workload/rate = 9/s",
    ]
    assert many.alike == "RF 3, min ISR 2, unclean off, ELR on, flush never, faults all, log"
    (alone,) = many_plans([a_plan(tmp_path, "seed: 4")], []).cells
    assert alone.name == "RF 3, min ISR 2, acks all, unclean off, ELR on, flush never, faults all, log"


def test_several_files_are_one_campaign(tmp_path: Path) -> None:
    """Of one file it has its name, so that `run` and `matrix` of one plan are the same campaign."""
    one, other = a_plan(tmp_path, "seed: 4"), a_plan(tmp_path, "seed: 5", "other")
    many = many_plans([one, other], [])
    assert [cell.name for cell in many.cells] == ["mine", "other"]
    assert (many.name, many_plans([other], []).name) == ("matrix", "other")


def test_what_is_dropped_is_told_with_what_stands_for_it(tmp_path: Path) -> None:
    """By file and by what was chosen."""
    matrix = "matrix: {topics/t/replicas: [1, 2], topics/t/config/min.insync.replicas: [1, 2]}"
    files = [a_plan(tmp_path, matrix), a_plan(tmp_path, "topics: {t: {replicas: 2, config: {min.insync.replicas: 2}}}", "again")]
    many = many_plans(files, [])
    assert [cell.name for cell in many.cells] == ["RF 1, min ISR 1", "RF 2, min ISR 1", "RF 2, min ISR 2"]
    said, same = many.dropped
    assert said.startswith(
        "mine: topics/t/replicas = 1, topics/t/config/min.insync.replicas = 2: min.insync.replicas 2 can never be"
    )
    assert said.endswith("; mine: topics/t/replicas = 1, topics/t/config/min.insync.replicas = 1 stands for it")
    assert (
        same == "again: it is the same plan; mine: topics/t/replicas = 2, topics/t/config/min.insync.replicas = 2 stands for it"
    )


def test_without_pruning_everything_is_run_and_what_cannot_be_is_refused(tmp_path: Path) -> None:
    """As `tidemark plan` does."""
    alike = a_plan(tmp_path, "matrix: {workload/retries: [1, 2]}")
    assert [len(many_plans([alike], [], prunes=prunes).cells) for prunes in (True, False)] == [1, 2]
    impossible = a_plan(tmp_path, "matrix: {topics/t/replicas: [1, 2], topics/t/config/min.insync.replicas: [1, 2]}")
    with pytest.raises(Refusal, match="can never be met"):
        many_plans([impossible], [], prunes=False)


def test_overrides_reach_every_file(tmp_path: Path) -> None:
    """As with every command."""
    many = many_plans([a_plan(tmp_path, "seed: 4"), a_plan(tmp_path, "seed: 5", "other")], ["for=7s"])
    assert {plan.for_ns for plan in many.plans} == {7 * 10**9}
