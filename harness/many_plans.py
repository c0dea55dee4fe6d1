"""harness/many_plans.py: from the words PLAN... to the cells of one campaign: files, presets, matrices, and what is dropped.

In     paths of plans, `presets` for all that are shipped, `presets/rf1` for one of them; overrides
Out    `ManyPlans`: the campaign's name, its cells with the words that tell them apart, and why others were dropped
Not    which combinations can be dropped (model/pruning.py), running them (harness/campaign.py)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from model import matrix, plan_file
from model.config_cell import facts_of, words_of
from model.matrix import Cell, Impossible
from model.plan import Plan
from model.pruning import prune
from model.refusal import InfrastructureFailure, Refusal, near_miss
from model.version import version

ALL_PRESETS = "presets"
PRESETS = Path(__file__).parents[1] / "plans" / "presets"
"""Beside the packages, in a clone as where they are installed."""
OF_SEVERAL_FILES = "matrix"


class PlanCell(msgspec.Struct, frozen=True):
    """One plan of a campaign, and what it is called among the others."""

    name: str
    chosen: dict[str, object]
    plan: Plan


class ManyPlans(msgspec.Struct, frozen=True):
    """Everything that a campaign runs in turn."""

    name: str
    cells: tuple[PlanCell, ...]
    alike: str
    """What is the same in every cell."""
    dropped: tuple[str, ...] = ()

    @property
    def plans(self) -> tuple[Plan, ...]:
        return tuple(cell.plan for cell in self.cells)


def many_plans(words: Sequence[str], overrides: Sequence[str], *, prunes: bool = True) -> ManyPlans:
    """Not pruned, a combination that cannot be is refused, as by `tidemark plan`."""
    files = [path for word in words for path in paths_of(word)]
    found: list[tuple[str, Cell | Impossible]] = []
    for path in files:
        root = plan_file.load(path, overrides)
        of_a_file: Iterable[Cell | Impossible] = matrix.combinations(root) if prunes else matrix.expand(root)
        found += [(path.stem if len(files) > 1 else "", each) for each in of_a_file]
    dropped = {each.number: each for each in prune([each for _, each in found])} if prunes else {}
    kept = [(file, each) for number, (file, each) in enumerate(found) if number not in dropped and isinstance(each, Cell)]
    told = [
        _told(*found[each.number], each.reason, "" if each.stands_for_it is None else called(*found[each.stands_for_it]))
        for each in dropped.values()
    ]
    name = ALL_PRESETS if [*words] == [ALL_PRESETS] else files[0].stem if len(files) == 1 else OF_SEVERAL_FILES
    return ManyPlans(name, *_named(kept), tuple(told))


def _told(file: str, each: Cell | Impossible, reason: str, stands_for_it: str) -> str:
    return f"{called(file, each)}: {reason}" + (f"; {stands_for_it} stands for it" if stands_for_it else "")


def called(file: str, each: Cell | Impossible) -> str:
    """`rf1: workload/acks = 1, ...`: by what was chosen for it."""
    chosen = ", ".join(f"{path} = {value}" for path, value in each.chosen.items())
    return f"{file}: {chosen}" if file and chosen else file or chosen or "the plan"


# -- files --------------------------------------------------------------------------------------------------------------


def paths_of(word: str) -> list[Path]:
    """A file of that name comes first."""
    path = Path(word)
    if not path.is_file() and word == ALL_PRESETS:
        return presets()
    if not path.exists() and word.startswith(f"{ALL_PRESETS}/"):
        return [_preset(word.removeprefix(f"{ALL_PRESETS}/"))]
    return [path]


def presets() -> list[Path]:
    """In the order of their names: with it, run i of all of them is always the same run."""
    found = sorted(PRESETS.glob("*.yaml"))
    if not found:
        raise InfrastructureFailure(f"this installation has no presets: {PRESETS} is empty")
    return found


def _preset(name: str) -> Path:
    known = {path.stem: path for path in presets()}
    if name not in known:
        allowed = ", ".join(f"{ALL_PRESETS}/{each}" for each in known)
        raise Refusal(f"no such preset: {name!r}", where="PLAN", allowed=allowed, meant=near_miss(name, known))
    return known[name]


# -- names --------------------------------------------------------------------------------------------------------------


def _named(cells: Sequence[tuple[str, Cell]]) -> tuple[tuple[PlanCell, ...], str]:
    """By what people group by, as far as it differs; and where that does not tell them apart, by what was chosen."""
    parts = [words_of(facts_of(cell.plan, version())).split(", ") for _, cell in cells]
    differ = [len(set(column)) > 1 or len(cells) == 1 for column in zip(*parts, strict=True)]
    names = [", ".join(part for part, differs in zip(each, differ, strict=True) if differs) for each in parts]
    alike = ", ".join(part for part, differs in zip(parts[0], differ, strict=True) if not differs)
    taken = Counter(names)
    named = [
        PlanCell(name if taken[name] == 1 else ", ".join(filter(None, (name, called(file, cell)))), cell.chosen, cell.plan)
        for name, (file, cell) in zip(names, cells, strict=True)
    ]
    return tuple(named), alike
